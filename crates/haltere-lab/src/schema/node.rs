//! A node of the schema, and what values it is for.

use super::value::rule_of;
use serde_json::{Map, Value};

/// A schema with the definitions that it refers to; the nearest says what counts.
#[derive(Clone)]
pub(super) struct Node<'a>(pub(super) Vec<&'a Value>);

impl<'a> Node<'a> {
    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        self.0.iter().find_map(|schema| schema.get(key))
    }
    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        self.get(key)?.as_str()
    }
    pub(super) fn list(&self, key: &str) -> Option<&'a [Value]> {
        Some(self.get(key)?.as_array()?.as_slice())
    }
    pub(super) fn properties(&self) -> Option<&'a Map<String, Value>> {
        self.get("properties")?.as_object()
    }
    /// The argument of `haltere explain` that describes this table: its kind, or the name of its definition.
    pub(super) fn explained(&self) -> Option<&'a str> {
        let definition = || self.text("$ref")?.rsplit('/').next().map(|name| name.trim_end_matches("Overrides"));
        self.kind().or_else(definition)
    }
    pub(super) fn kind(&self) -> Option<&'a str> {
        self.properties()?.get("kind")?.get("const")?.as_str()
    }
    /// The key of a table that has exactly this one key, as in `{ exponential = "1s" }`.
    pub(super) fn only_key(&self) -> Option<&'a str> {
        let required = self.list("required")?;
        let properties = self.properties()?;
        if required.len() == 1 && properties.len() == 1 { required[0].as_str() } else { None }
    }
}

/// The texts that a schema names one by one.
pub(super) fn constants<'a>(node: &Node<'a>) -> Vec<&'a str> {
    match (node.get("const").and_then(Value::as_str), node.list("enum")) {
        (Some(text), _) => vec![text],
        (None, Some(names)) => texts(names),
        (None, None) => Vec::new(),
    }
}

pub(super) fn texts(names: &[Value]) -> Vec<&str> {
    names.iter().filter_map(Value::as_str).collect()
}

/// True where a value of that type can be meant by this alternative.
pub(super) fn takes(option: &Node<'_>, value: &Value) -> bool {
    let quantity = option.text("format").and_then(rule_of).is_some();
    match option.text("type") {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("boolean") => value.is_boolean(),
        Some("string") => value.is_string() || (quantity && value.is_number()),
        _ => value.is_number() || value.is_string(),
    }
}

/// True if this alternative is a quantity that the text, which begins with no digit, cannot be: a name is meant.
pub(super) fn reads_no_quantity(option: &Node<'_>, value: &Value) -> bool {
    let quantity = option.text("format").and_then(rule_of).is_some();
    quantity
        && value.as_str().is_some_and(|text| !text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.'))
}

/// A key that is null is a key that is not given.
pub(crate) fn strip_nulls(value: &mut Value) {
    match value {
        Value::Object(keys) => {
            keys.retain(|_, v| !v.is_null());
            keys.values_mut().for_each(strip_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_nulls),
        _ => {}
    }
}
