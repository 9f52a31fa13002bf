//! Single values of an experiment: names, quantities and numbers, and how errors show them.

use super::kinds;
use super::node::Node;
use crate::error::{Fault, FaultKind, ScenarioError, refuse_if};
use crate::limits::LONGEST;
use crate::names::{did_you_mean, rule};
use haltere_queue::ce_threshold::Selector;
use haltere_queue::threshold::Level;
use haltere_units::{Bytes, Dur, Prob, Rate, Size, UnitError};
use serde_json::Value;

/// Where a value is: the table and the key.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) path: String,
    pub(super) name: String,
}

impl Place {
    pub(super) fn key(&self) -> String {
        if self.path.is_empty() && self.name == "the experiment" {
            return String::new();
        }
        Fault::new(&self.path, &self.name, "", "").key()
    }
    pub(super) fn below(&self, name: &str) -> Place {
        Place { path: self.key(), name: name.into() }
    }
    pub(super) fn fault(&self, rule: impl Into<String>, got: impl std::fmt::Display) -> Fault {
        Fault::new(&self.path, &self.name, rule, got)
    }
}

/// What a name of these must be. If they are those of a registry, `haltere list` prints them, too.
pub(super) fn rule_of_names(names: &[&str]) -> String {
    match kinds::of(names) {
        Some(kind) => rule(kind.names, "names", Some(&format!("haltere list {}", kind.name))),
        None => rule(names, "names", None),
    }
}

pub(super) fn one_of(value: &Value, names: &[&str], place: &Place) -> Result<(), ScenarioError> {
    let rule = || rule_of_names(names);
    match value {
        Value::String(text) if names.contains(&text.as_str()) => Ok(()),
        Value::String(text) => Err(place.fault(rule(), shown(value)).hint(did_you_mean(text, names)).unknown_name()),
        _ => Err(place.fault(rule(), shown(value)).wrong_type()),
    }
}

/// Reads a quantity with the units' own parsers; `None` where the format is not one of theirs.
pub(super) fn quantity(value: &mut Value, format: &str, place: &Place) -> Option<Result<(), ScenarioError>> {
    let rule = rule_of(format)?;
    let text = match &*value {
        Value::String(text) => text.clone(),
        Value::Number(number) if format == "probability" => {
            return Some(Prob::new(number.as_f64().unwrap_or(f64::NAN)).map(drop).map_err(|e| wrong(e, place)));
        }
        Value::Number(number) => number.to_string(),
        other => return Some(Err(place.fault(rule, shown(other)).wrong_type())),
    };
    Some(read(format, &text).map_err(|e| wrong(e, place)).and_then(|span| {
        refuse_if!(span > LONGEST, place.fault(format!("at most {LONGEST}, a year"), span));
        if value.is_number() {
            *value = Value::String(text);
        }
        Ok(())
    }))
}

fn wrong(error: UnitError, place: &Place) -> ScenarioError {
    place.fault(error.rule, format!("`{}`", error.got)).hint(error.hint).wrong_unit()
}

/// Reads a quantity. The result is the span of a duration, and zero for all others.
fn read(format: &str, text: &str) -> Result<Dur, UnitError> {
    let other = |read: Result<(), UnitError>| read.map(|()| Dur::ZERO);
    match format {
        "duration" => text.parse(),
        "rate" => other(text.parse::<Rate>().map(drop)),
        "bytes" => other(text.parse::<Bytes>().map(drop)),
        "size" => other(text.parse::<Size>().map(drop)),
        "probability" => other(text.parse::<Prob>().map(drop)),
        "level" => other(text.parse::<Level>().map(drop)),
        "selector" => other(Selector::try_from(text.to_owned()).map(drop).map_err(|e| UnitError {
            rule: "VALUE/MASK, two bytes, the value within the mask",
            got: text.into(),
            hint: e.hint,
        })),
        _ => Ok(Dur::ZERO),
    }
}

/// What a quantity must be, in the units' own words.
pub(super) fn rule_of(format: &str) -> Option<&'static str> {
    read(format, "?").err().map(|e| e.rule)
}

pub(super) fn integer(value: &Value, node: &Node<'_>, place: &Place) -> Result<(), ScenarioError> {
    let format = node.text("format").unwrap_or_default();
    let limit = |key: &str| node.get(key).and_then(|n| n.as_i64().map(i128::from).or(n.as_f64().map(|x| x as i128)));
    let bits = match format {
        "uint8" => Some((0, i128::from(u8::MAX))),
        "uint16" => Some((0, i128::from(u16::MAX))),
        "uint32" => Some((0, i128::from(u32::MAX))),
        "int32" => Some((i128::from(i32::MIN), i128::from(i32::MAX))),
        "uint64" | "uint" => Some((0, i128::from(u64::MAX))),
        _ => None,
    };
    let (least, most) = bits.unwrap_or((i128::from(i64::MIN), i128::from(u64::MAX)));
    let (least, most) =
        (limit("minimum").map_or(least, |n| n.max(least)), limit("maximum").map_or(most, |n| n.min(most)));
    let Some(number) = value.as_i64().map(i128::from).or(value.as_u64().map(i128::from)) else {
        return Err(place.fault("a whole number", shown(value)).wrong_type());
    };
    refuse_if!(number < least, place.fault(format!("at least {least}"), number));
    refuse_if!(number > most, place.fault(format!("at most {most}"), number));
    Ok(())
}

pub(super) fn number(value: &Value, node: &Node<'_>, place: &Place) -> Result<(), ScenarioError> {
    let Some(x) = value.as_f64() else {
        return Err(place.fault("a number", shown(value)).wrong_type());
    };
    let limit = |key: &str| node.get(key).and_then(Value::as_f64);
    let broken = [
        (limit("minimum").is_some_and(|n| x < n), "at least", limit("minimum")),
        (limit("maximum").is_some_and(|n| x > n), "at most", limit("maximum")),
        (limit("exclusiveMinimum").is_some_and(|n| x <= n), "above", limit("exclusiveMinimum")),
        (limit("exclusiveMaximum").is_some_and(|n| x >= n), "below", limit("exclusiveMaximum")),
    ];
    match broken.iter().find(|(bad, _, _)| *bad) {
        Some((_, word, limit)) => Err(place.fault(format!("{word} {}", limit.unwrap_or_default()), x).out_of_range()),
        None => Ok(()),
    }
}

/// A value as an error message shows it.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".into(),
        Value::Bool(on) => format!("`{on}`"),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.chars().count() > 80 => {
            format!("`{}...`", text.chars().take(77).collect::<String>())
        }
        Value::String(text) => format!("`{}`", text.replace(char::is_control, " ")),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "a table".into(),
    }
}
