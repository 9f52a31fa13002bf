//! An example of each mechanism and of each table, in TOML, under `x-example` in the schema.
//!
//! The example of a mechanism follows from its kind's pattern and its own defaults: a new mechanism has one at once. A
//! type may bring its example along, as a block of TOML in its doc comment. The others are in `examples.toml`. Tests read
//! them all, and run those of topologies and traffic kinds.

use super::kinds::{self, ALL};
use serde_json::{Map, Value};
use std::sync::LazyLock;
use toml::Table;

/// Parameters that an example shows.
const SHOWN: usize = 2;

/// The examples of tables that need one of their own.
static EXAMPLES: LazyLock<Table> = LazyLock::new(|| include_str!("examples.toml").parse().expect("a table of texts"));

/// Writes the examples into the schema.
pub(super) fn add(schema: &mut Value) {
    take_blocks(schema);
    let definitions = schema["$defs"].clone();
    for kind in ALL {
        kinds::variants(&mut schema["$defs"][kind.union], &mut |name, table| {
            let own = listed(&format!("{}/{name}", kind.name));
            let patterned = || patterned(listed(kind.name)?, name, table);
            set(table, own.map(str::to_owned).or_else(patterned).or_else(|| brought(table, name, &definitions)));
        });
    }
    for (name, definition) in schema["$defs"].as_object_mut().into_iter().flatten() {
        set(definition, listed(name).map(str::to_owned));
    }
}

fn listed(key: &str) -> Option<&'static str> {
    let text = EXAMPLES.get(key)?.as_str()?;
    Some(listed(text).unwrap_or(text))
}

/// Sets the example, unless the type brought one along.
fn set(table: &mut Value, text: Option<String>) {
    if let (Some(text), Some(keys)) = (text, table.as_object_mut()) {
        keys.entry("x-example").or_insert(Value::String(text.trim_end().into()));
    }
}

/// The example of the type to which the only key of a table refers, such as that of `[topology.NAME]`.
fn brought(table: &Value, name: &str, definitions: &Value) -> Option<String> {
    let definition = table["properties"][name]["$ref"].as_str()?.rsplit('/').next()?;
    definitions[definition]["x-example"].as_str().map(str::to_owned)
}

/// A block of TOML in a description is the example.
fn take_blocks(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(take_blocks),
        Value::Object(keys) => {
            keys.values_mut().for_each(take_blocks);
            let Some(Value::String(text)) = keys.get("description") else { return };
            let Some((before, rest)) = text.split_once("```toml\n") else { return };
            let Some((example, after)) = rest.split_once("```") else { return };
            let about = format!("{}\n\n{}", before.trim_end(), after.trim_start());
            let example = Value::String(example.trim_end().into());
            keys.insert("description".into(), Value::String(about.trim().into()));
            keys.insert("x-example".into(), example);
        }
        _ => {}
    }
}

/// The example of a mechanism: its kind's pattern with its first parameters at their defaults.
fn patterned(pattern: &str, name: &str, table: &Value) -> Option<String> {
    let empty = Map::new();
    let parameters = table["properties"].as_object().unwrap_or(&empty).iter();
    let shown = parameters.filter_map(|(key, one)| Some((key, written(one.get("default")?)?))).take(SHOWN);
    let keys: String = shown.map(|(key, value)| format!(", {key} = {value}")).collect();
    let inline = format!("{{ kind = \"{name}\"{keys} }}");
    Some(pattern.replace("{name}", name).replace("{table}", &inline))
}

/// A plain value as TOML writes it; `None` for tables and lists.
fn written(value: &Value) -> Option<String> {
    match value {
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value.to_string()),
        _ => None,
    }
}

#[cfg(test)]
#[path = "examples_tests.rs"]
mod tests;
