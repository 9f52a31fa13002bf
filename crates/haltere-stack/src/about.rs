//! What a library says of itself.

use haltere_units::outside::{Format, Parameter};
use serde::Deserialize;
use serde_json::Value;

/// The JSON of `about`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Told {
    pub name: String,
    #[serde(default)]
    pub version: String,
    pub summary: String,
    /// The stack's own congestion controls.
    pub controls: Vec<String>,
    /// It takes Haltere's.
    #[serde(default)]
    pub ours: bool,
    #[serde(default)]
    parameters: Vec<ToldParameter>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToldParameter {
    name: String,
    #[serde(default)]
    format: Option<String>,
    default: Value,
    meaning: String,
    minimum: Option<f64>,
    maximum: Option<f64>,
    #[serde(default)]
    values: Vec<String>,
}

impl Told {
    /// How the value of one of them is written. `None`: there is no such parameter.
    pub fn format(&self, name: &str) -> Option<Format> {
        let told = self.parameters.iter().find(|one| one.name == name)?;
        Format::of(told.format.as_deref().unwrap_or("string"))
    }
    /// The stack's own parameters.
    pub fn parameters(&self) -> Result<Vec<Parameter>, String> {
        let one = |told: &ToldParameter| {
            let name = told.format.as_deref().unwrap_or("string");
            let format = Format::of(name).ok_or_else(|| format!("{}: `{name}` is no format", told.name))?;
            let (minimum, maximum, values) = (told.minimum, told.maximum, told.values.clone());
            let plain = Parameter::new(&told.name, format, told.default.clone(), &told.meaning);
            Ok(Parameter { minimum, maximum, values, ..plain })
        };
        self.parameters.iter().map(one).collect()
    }
}
