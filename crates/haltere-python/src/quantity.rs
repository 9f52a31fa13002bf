//! Quantities with units, so that Python needs no units of its own.

use crate::error::InputError;
use haltere_units::{Bytes, Dur, Prob, Rate, Size, UnitError};
use pyo3::prelude::*;

/// The kinds that `parse_quantity` reads.
const KINDS: &[&str] = &["duration", "rate", "bytes", "probability"];

/// A quantity in its base unit: seconds, bit/s, bytes, or a number from 0 to 1.
#[pyfunction]
pub(crate) fn parse_quantity(kind: &str, text: &str) -> PyResult<f64> {
    let told = |error: UnitError| InputError::new_err(format!("{kind}: {error}"));
    match kind {
        // Division rounds once: `100.1s` is the same number in Python.
        "duration" => text.parse::<Dur>().map(|span| span.as_ns() as f64 / 1e9).map_err(told),
        "rate" => text.parse::<Rate>().map(Rate::as_bps_f64).map_err(told),
        "bytes" => text.parse::<Bytes>().map(Bytes::as_f64).map_err(told),
        "probability" => text.parse::<Prob>().map(Prob::as_f64).map_err(told),
        _ => Err(InputError::new_err(format!("quantity: kind must be one of `{}`, got `{kind}`", KINDS.join("`, `")))),
    }
}

/// A quantity for people: a space before the unit, and the unit in full. Any other text stays as it is.
#[pyfunction]
pub(crate) fn spell_quantity(text: &str) -> String {
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
    let (number, unit) = (&trimmed[..split], trimmed[split..].trim_start());
    if number.is_empty() || unit.is_empty() {
        return text.into();
    }
    if trimmed.parse::<Rate>().is_ok() {
        return format!("{number} {unit}/s");
    }
    if trimmed.parse::<Dur>().is_ok() {
        return format!("{number} {}", if unit == "us" { "µs" } else { unit });
    }
    match trimmed.parse::<Size>() {
        Ok(Size::Packets(_)) => format!("{number} packets"),
        Ok(_) => format!("{number} {unit}"),
        Err(_) if trimmed.parse::<Prob>().is_ok() => format!("{number} {unit}"),
        Err(_) => text.into(),
    }
}

/// The default name of a traffic entry in the results, from its kind and its position in the file, from 0.
#[pyfunction]
pub(crate) fn traffic_name(kind: &str, place: usize) -> String {
    format!("{kind}{}", place + 1)
}
