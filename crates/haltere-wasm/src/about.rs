//! The description of a module: a JSON text from which `explain`, errors and the checks of parameters follow.

use crate::abi::{PARAMETERS, STATE_VARIABLES};
use haltere_congestion::EcnUse;
use haltere_units::outside::{Format, Parameter};
use haltere_units::{Bytes, Dur, ParamError, Prob, Rate};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a module is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The module is a congestion control.
    Control,
    /// The module is a queue discipline.
    Queue,
}

impl Kind {
    /// Its name in an error.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Control => "a congestion control",
            Kind::Queue => "a queue discipline",
        }
    }
}

/// How a control uses ECN: see [`EcnUse`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ecn {
    /// ECN of RFC 3168.
    #[default]
    Classic,
    /// RFC 8257: the receiver echoes each packet's mark.
    PerPacket,
    /// RFC 9331: data is ECT(1).
    L4s,
}

impl From<Ecn> for EcnUse {
    fn from(ecn: Ecn) -> EcnUse {
        match ecn {
            Ecn::Classic => EcnUse::Classic,
            Ecn::PerPacket => EcnUse::PerPacket,
            Ecn::L4s => EcnUse::L4s,
        }
    }
}

/// The description that `haltere_about` returns.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Control or queue discipline.
    pub kind: Kind,
    /// What it does, in a sentence.
    pub summary: String,
    /// How a control uses ECN.
    #[serde(default)]
    pub ecn: Ecn,
    /// True if a control sets its window during recovery itself.
    #[serde(default)]
    pub owns_recovery: bool,
    /// False if a queue discipline may let packets of one flow overtake each other.
    #[serde(default = "yes")]
    pub keeps_flow_order: bool,
    #[serde(default, rename = "parameters")]
    written: Vec<Written>,
    /// The parameters, in the order in which the module has their values.
    #[serde(skip)]
    pub parameters: Vec<Parameter>,
    /// The state variables, in the order in which they follow the answer.
    #[serde(default)]
    pub state: Vec<State>,
}

fn yes() -> bool {
    true
}

/// A parameter as the module writes it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    format: String,
    default: Value,
    #[serde(default)]
    minimum: Option<f64>,
    #[serde(default)]
    maximum: Option<f64>,
    #[serde(default)]
    values: Vec<String>,
    meaning: String,
}

/// A state variable that a module shows.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// The name of its column in tables.
    pub name: String,
    /// Its unit, or empty.
    #[serde(default)]
    pub unit: String,
}

/// The formats that a module's parameter may have; the others are not numbers.
const FORMATS: [Format; 8] = [
    Format::Number,
    Format::Integer,
    Format::Boolean,
    Format::Text,
    Format::Duration,
    Format::Rate,
    Format::Bytes,
    Format::Probability,
];

impl Written {
    fn parameter(self) -> Result<Parameter, String> {
        let format = Format::of(&self.format).filter(|format| FORMATS.contains(format)).ok_or_else(|| {
            let names: Vec<String> = FORMATS.iter().map(|format| format!("`{}`", format.name())).collect();
            format!("the format of {} must be one of {}, got `{}`", self.name, names.join(", "), self.format)
        })?;
        Ok(Parameter {
            minimum: self.minimum,
            maximum: self.maximum,
            values: self.values,
            ..Parameter::new(&self.name, format, self.default, &self.meaning)
        })
    }
}

/// The number that the module gets for a value: nanoseconds, bit/s, bytes, 0 or 1, or the position of a text among its
/// values.
fn number(parameter: &Parameter, value: &Value) -> Option<f64> {
    let text = value.as_str();
    let number = match parameter.format {
        Format::Number => value.as_f64(),
        Format::Integer => value.as_i64().map(|n| n as f64),
        Format::Boolean => value.as_bool().map(f64::from),
        Format::Duration => text?.parse::<Dur>().ok().map(|span| span.as_ns() as f64),
        Format::Bytes => text?.parse::<Bytes>().ok().map(Bytes::as_f64),
        Format::Rate => text?.parse::<Rate>().ok().map(Rate::as_bps_f64),
        Format::Probability => value.as_f64().or_else(|| Some(text?.parse::<Prob>().ok()?.as_f64())),
        _ => parameter.values.iter().position(|one| Some(one.as_str()) == text).map(|i| i as f64),
    };
    let inside = |x: &f64| parameter.minimum.is_none_or(|m| *x >= m) && parameter.maximum.is_none_or(|m| *x <= m);
    number.filter(|x| x.is_finite()).filter(inside)
}

/// What a value must be.
fn rule(parameter: &Parameter) -> String {
    let what = match parameter.format {
        Format::Number => "a number",
        Format::Integer => "a whole number",
        Format::Boolean => "`true` or `false`",
        Format::Duration => "a duration such as `5ms`",
        Format::Bytes => "bytes such as `90kB`",
        Format::Rate => "a rate such as `10Mbit`",
        Format::Probability => "a probability such as `0.1`",
        _ => return format!("one of `{}`", parameter.values.join("`, `")),
    };
    match (parameter.minimum, parameter.maximum) {
        (Some(low), Some(high)) => format!("{what} from {low} to {high}"),
        (Some(low), None) => format!("{what} of at least {low}"),
        (None, Some(high)) => format!("{what} of at most {high}"),
        (None, None) => what.to_owned(),
    }
}

/// The default, which every parameter of a module has.
fn default(parameter: &Parameter) -> &Value {
    parameter.default.as_ref().unwrap_or(&Value::Null)
}

/// A value as it is written.
fn written(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl About {
    /// Reads and checks the description.
    pub(crate) fn parse(text: &str) -> Result<About, String> {
        let mut about: About = serde_json::from_str(text)
            .map_err(|error| format!("`haltere_about` must return the JSON of a description, got {error}"))?;
        about.parameters = about.written.drain(..).map(Written::parameter).collect::<Result<_, _>>()?;
        about.check()?;
        Ok(about)
    }

    fn check(&self) -> Result<(), String> {
        let at_most = |what: &str, most: usize, got: usize| match got > most {
            true => Err(format!("{what} of `haltere_about` must be at most {most}, got {got}")),
            false => Ok(()),
        };
        at_most("the number of parameters", PARAMETERS, self.parameters.len())?;
        at_most("the number of state variables", STATE_VARIABLES, self.state.len())?;
        let names = self.parameters.iter().map(|p| &p.name).chain(self.state.iter().map(|s| &s.name));
        let plain = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if let Some(name) = names.clone().find(|name| !plain(name) || *name == "kind") {
            return Err(format!(
                "a name of `haltere_about` must be letters, digits and `_`, and not `kind`, got `{name}`"
            ));
        }
        for (i, one) in self.parameters.iter().enumerate() {
            if self.parameters[..i].iter().any(|earlier| earlier.name == one.name) {
                return Err(format!("the parameters of `haltere_about` must differ in name, got `{}` twice", one.name));
            }
            if number(one, default(one)).is_none() {
                let (name, rule, got) = (&one.name, rule(one), written(default(one)));
                return Err(format!("the default of {name} must be {rule}, got `{got}`"));
            }
        }
        Ok(())
    }

    /// The values of all parameters in order: those given, and the defaults of the rest.
    pub fn values(&self, given: &Map<String, Value>) -> Result<Vec<f64>, ParamError> {
        if let Some(unknown) = given.keys().find(|key| self.parameters.iter().all(|one| one.name != **key)) {
            let names: Vec<String> = self.parameters.iter().map(|one| format!("`{}`", one.name)).collect();
            let all = if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) };
            return Err(ParamError::new(unknown.clone(), "a parameter of the module", "one that is not").hint(all));
        }
        let value = |one: &Parameter| {
            let value = given.get(&one.name).unwrap_or(default(one));
            number(one, value).ok_or_else(|| {
                let got = format!("`{}`", written(value));
                ParamError::new(one.name.clone(), rule(one), got).default_is(written(default(one)))
            })
        };
        self.parameters.iter().map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{ "kind": "control", "summary": "It waits.", "parameters": [
        { "name": "beta", "format": "number", "default": 0.5, "minimum": 0.1, "maximum": 0.9, "meaning": "What is left after a loss." },
        { "name": "target", "format": "duration", "default": "5ms", "minimum": 1000, "meaning": "The delay." },
        { "name": "fast", "format": "boolean", "default": true, "meaning": "Or slow." },
        { "name": "count", "format": "string", "values": ["bytes", "acks"], "default": "bytes", "meaning": "What counts." } ] }"#;

    fn values(given: &str) -> Result<Vec<f64>, String> {
        About::parse(TEXT).unwrap().values(&serde_json::from_str(given).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn values_come_in_order_in_the_units_of_the_module() {
        assert_eq!(values("{}"), Ok(vec![0.5, 5e6, 1.0, 0.0]));
        let given = r#"{ "fast": false, "target": "2us", "beta": 0.7, "count": "acks" }"#;
        assert_eq!(values(given), Ok(vec![0.7, 2e3, 0.0, 1.0]));
    }

    #[test]
    fn a_value_out_of_its_range_is_an_error_with_the_range_and_the_default() {
        let error = |given| values(given).unwrap_err();
        assert_eq!(
            error(r#"{ "beta": 1.5 }"#),
            "beta must be a number from 0.1 to 0.9, got `1.5`; the default is `0.5`"
        );
        assert_eq!(
            error(r#"{ "target": "1ns" }"#),
            "target must be a duration such as `5ms` of at least 1000, got `1ns`; the default is `5ms`"
        );
        assert_eq!(
            error(r#"{ "count": "x" }"#),
            "count must be one of `bytes`, `acks`, got `x`; the default is `bytes`"
        );
        assert_eq!(
            error(r#"{ "gamma": 1 }"#),
            "gamma must be a parameter of the module, got one that is not; it has `beta`, `target`, `fast`, `count`"
        );
    }

    #[test]
    fn a_description_with_a_default_out_of_its_range_is_refused() {
        let error = |text: String| About::parse(&text).unwrap_err();
        let text = TEXT.replace(r#""default": 0.5"#, r#""default": 5"#);
        assert_eq!(error(text), "the default of beta must be a number from 0.1 to 0.9, got `5`");
        assert!(error(TEXT.replace("target", "beta")).contains("`beta` twice"));
        assert!(error(TEXT.replace("beta", "be ta")).contains("got `be ta`"));
        assert!(error(TEXT.replace("duration", "hours")).starts_with("the format of target must be one of `number`"));
        assert!(error("{".into()).contains("must return the JSON of a description"));
    }
}
