//! The schema, made from the types.

use super::{examples, kinds};
use crate::scenario::experiment::Experiment;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use std::sync::LazyLock;

static SCHEMA: LazyLock<Value> = LazyLock::new(generate);

/// The JSON Schema (draft 2020-12) of an experiment file, with defaults.
pub fn schema() -> &'static Value {
    &SCHEMA
}

fn generate() -> Value {
    let mut schema = schemars::schema_for!(Experiment).to_value();
    tidy(&mut schema);
    kinds::mark(&mut schema);
    examples::add(&mut schema);
    schema
}

/// Makes the derived schema say what a file may say:
/// an absent key is left out, not null; unknown keys are refused everywhere; a name stands for a table with defaults.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Object(keys) => {
            keys.iter_mut()
                .filter(|(key, _)| !matches!(key.as_str(), "default" | "const" | "enum"))
                .for_each(|(_, v)| tidy(v));
            drop_null(keys);
            if keys.contains_key("properties") {
                keys.remove("unevaluatedProperties");
                keys.entry("additionalProperties").or_insert(json!(false));
            }
            let names = tagged(keys.get("oneOf")).map(|names| json!(names));
            if let Some(names) = names.filter(|_| !keys.contains_key("anyOf")) {
                let tables = keys.remove("oneOf").unwrap_or_default();
                keys.insert("anyOf".into(), json!([{ "enum": names }, { "oneOf": tables }]));
            }
        }
        _ => {}
    }
}

/// `anyOf: [X, null]` becomes X; `type: [T, null]` becomes T.
fn drop_null(keys: &mut serde_json::Map<String, Value>) {
    if let Some(Value::Array(types)) = keys.get_mut("type") {
        types.retain(|t| t != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            keys.insert("type".into(), only);
        }
    }
    if keys.get("default").is_some_and(Value::is_null) {
        keys.remove("default");
    }
    let Some(Value::Array(options)) = keys.get_mut("anyOf") else { return };
    let before = options.len();
    options.retain(|o| o.get("type").is_none_or(|t| t != "null"));
    if options.len() < before && options.len() == 1 {
        let only = options.remove(0);
        keys.remove("anyOf");
        if let Value::Object(only) = only {
            for (key, value) in only {
                keys.entry(key).or_insert(value);
            }
        }
    }
}

/// A table, or the value of one of its keys, which then stands for the table.
pub(crate) fn short_or_table<S: JsonSchema, T: JsonSchema>(key: &str, generator: &mut SchemaGenerator) -> Schema {
    let options = [generator.subschema_for::<S>(), generator.subschema_for::<T>()];
    json_schema!({ "anyOf": options, "x-short": key })
}

/// Whether an experiment has that key at its top.
pub(crate) fn is_top(key: &str) -> bool {
    schema()["properties"].get(key).is_some()
}

/// The names of a union of tables distinguished by `kind`, or `None` if it is no such union.
fn tagged(options: Option<&Value>) -> Option<Vec<&str>> {
    let options = options?.as_array()?;
    options.iter().map(|o| o.get("properties")?.get("kind")?.get("const")?.as_str()).collect()
}
