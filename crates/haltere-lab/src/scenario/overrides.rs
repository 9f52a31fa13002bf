//! Tables that give only some keys of another table.

use crate::error::ScenarioError;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::marker::PhantomData;

/// Some keys of a `T`, which replace those of another `T`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent, bound = "")]
pub struct Overrides<T> {
    keys: Map<String, Value>,
    #[serde(skip)]
    of: PhantomData<T>,
}

impl<T> Default for Overrides<T> {
    fn default() -> Self {
        Overrides { keys: Map::new(), of: PhantomData }
    }
}

impl<T> Overrides<T> {
    /// True if nothing is overridden.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
    /// True if that key is overridden.
    pub fn has(&self, key: &str) -> bool {
        self.keys.contains_key(key)
    }
}

impl<T: Serialize + DeserializeOwned> Overrides<T> {
    /// `base` with the keys replaced. The keys, which are in the table `path`, were checked against the schema of `T` when
    /// the file was read.
    pub(crate) fn apply(&self, base: &T, path: &str) -> Result<T, ScenarioError> {
        let replaced = serde_json::to_value(base).and_then(|mut table| {
            if let Value::Object(table) = &mut table {
                table.remove("reverse");
                table.extend(self.keys.clone());
            }
            serde_json::from_value(table)
        });
        replaced.map_err(|e| ScenarioError::schema_bug(path, "the table", &e))
    }
}

impl<T: JsonSchema> JsonSchema for Overrides<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Overrides", T::schema_name()).into()
    }
    /// The schema of `T` without defaults (what is absent stays as it was) and without what stands for both directions.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        schema.remove("required");
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.remove("reverse");
            properties.remove("path");
            for property in properties.values_mut().filter_map(Value::as_object_mut) {
                property.remove("default");
            }
        }
        schema
    }
}
