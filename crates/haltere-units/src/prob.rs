//! Probabilities.

use crate::error::UnitError;
use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

/// A probability: a number from 0 to 1. Written `0.02` or `"2%"`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Prob(f64);

const RULE: &str = "a probability from 0 to 1 such as 0.02 or `2%`";

impl Prob {
    /// The probability of what never happens.
    pub const ZERO: Prob = Prob(0.0);
    /// The probability of what always happens.
    pub const ONE: Prob = Prob(1.0);

    /// The probability `p`; an error outside 0 to 1.
    pub fn new(p: f64) -> Result<Prob, UnitError> {
        if (0.0..=1.0).contains(&p) { Ok(Prob(p)) } else { Err(UnitError::new(RULE, &p.to_string(), "")) }
    }
    /// For constants in code: the probability `p`, which must be from 0 to 1.
    pub const fn of(p: f64) -> Prob {
        assert!(p >= 0.0 && p <= 1.0, "a probability is from 0 to 1");
        Prob(p)
    }
    /// The probability as a number.
    pub const fn as_f64(self) -> f64 {
        self.0
    }
}

impl FromStr for Prob {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Prob, UnitError> {
        let trimmed = text.trim();
        let (number, scale) = match trimmed.strip_suffix('%') {
            Some(number) => (number.trim_end(), 100.0),
            None => (trimmed, 1.0),
        };
        let p: f64 = number.parse().map_err(|_| UnitError::new(RULE, text, ""))?;
        Prob::new(p / scale).map_err(|e| UnitError { got: text.into(), ..e })
    }
}
impl fmt::Display for Prob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl serde::Serialize for Prob {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_f64(self.0)
    }
}
impl<'de> serde::Deserialize<'de> for Prob {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(untagged, expecting = "must be a probability from 0 to 1 such as 0.02 or `2%`")]
        enum Written {
            Number(f64),
            Text(String),
        }
        match Written::deserialize(d)? {
            Written::Number(p) => Prob::new(p),
            Written::Text(text) => text.parse(),
        }
        .map_err(serde::de::Error::custom)
    }
}
impl schemars::JsonSchema for Prob {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "probability".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "a probability: `0.02` or `\"2%\"`", "format": "probability",
            "anyOf": [
                { "type": "number", "minimum": 0, "maximum": 1 },
                { "type": "string", "pattern": r"^\s*[0-9.]+\s*%?\s*$" }
            ]
        })
    }
}
