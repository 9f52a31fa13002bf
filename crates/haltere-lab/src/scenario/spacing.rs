//! Values of an axis between two ends, in equal steps or in equal ratios.

use super::sweep::text;
use crate::error::{Fault, FaultKind, ScenarioError};
use haltere_units::{Bytes, Dur, Rate};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// Values from one end to the other, both included.
///
/// With whole numbers at both ends, all values are rounded to whole numbers.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Range {
    /// The first value: a number (`10`, `0.5`) or a quantity (`"1Mbit"`).
    from: Value,
    /// The last value.
    to: Value,
    /// How many values, both ends included.
    #[schemars(range(min = 2, max = 100_000))]
    count: u32,
}

/// How values lie between the ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Spacing {
    /// In equal steps (`linspace`).
    Linear,
    /// In equal ratios (`logspace`).
    Logarithmic,
}

impl Spacing {
    /// The key of such an axis.
    fn key(self) -> &'static str {
        match self {
            Spacing::Linear => "linspace",
            Spacing::Logarithmic => "logspace",
        }
    }
    /// Significant digits of the values between the ends.
    fn digits(self) -> usize {
        match self {
            Spacing::Linear => 6,
            Spacing::Logarithmic => 3,
        }
    }
    /// The value at `part` of the way from one end to the other.
    fn between(self, from: f64, to: f64, part: f64) -> f64 {
        match self {
            Spacing::Linear => from + (to - from) * part,
            Spacing::Logarithmic => from * (to / from).powf(part),
        }
    }
}

/// How the values are written.
enum Form {
    Whole,
    Real,
    /// A number with this unit behind it.
    Unit(String),
    Rate,
    Duration,
    Bytes,
}

impl Form {
    fn write(&self, x: f64) -> Value {
        match self {
            Form::Whole => Value::from(x.round() as i64),
            Form::Real => Value::from(x),
            // Units that cannot be divided.
            Form::Unit(unit) if ["p", "B", "bit", "ns"].contains(&unit.as_str()) => {
                format!("{}{unit}", x.round()).into()
            }
            Form::Unit(unit) => format!("{x}{unit}").into(),
            Form::Rate => Rate::from_bps(x.round() as u64).to_string().into(),
            Form::Duration => Dur::from_ns(x.round() as u64).to_string().into(),
            Form::Bytes => Bytes::new(x.round() as u64).to_string().into(),
        }
    }
}

/// The values of an axis; `place` is where it is.
pub(super) fn values(range: &Range, spacing: Spacing, place: &str) -> Result<Vec<Value>, ScenarioError> {
    let place = format!("{place}.{}", spacing.key());
    let fault = |name: &str, rule: &str, got: String| Fault::new(&place, name, rule, got);
    let Some((from, to, form)) = ends(&range.from, &range.to) else {
        let got = format!("`{}` and `{}`", text(&range.from), text(&range.to));
        let fault = fault("from", "a number or a quantity, as `to` is, in a unit of the same sort", got);
        return Err(fault.wrong_type());
    };
    if spacing == Spacing::Logarithmic && (from <= 0.0 || to <= 0.0) {
        let got = format!("`{}` to `{}`", text(&range.from), text(&range.to));
        return Err(fault("from", "above zero, as `to`", got)
            .hint("`linspace` has values from zero on")
            .out_of_range());
    }
    let last = range.count - 1;
    let inner = (1..last)
        .map(|i| form.write(rounded(spacing.between(from, to, f64::from(i) / f64::from(last)), spacing.digits())));
    let all: Vec<Value> =
        std::iter::once(range.from.clone()).chain(inner).chain(std::iter::once(range.to.clone())).collect();
    if let Some(twice) = all.windows(2).find(|pair| pair[0] == pair[1]) {
        let got = format!("`{}` twice", text(&twice[0]));
        let hint = "fewer values, or `0.0` for `0` if the values need not be whole";
        return Err(fault("count", "such that all values differ", got).hint(hint).out_of_range());
    }
    Ok(all)
}

/// The ends as numbers, and how values between them are written.
fn ends(from: &Value, to: &Value) -> Option<(f64, f64, Form)> {
    if let (Some(a), Some(b)) = (from.as_f64(), to.as_f64()) {
        let whole = from.is_i64() && to.is_i64();
        return Some((a, b, if whole { Form::Whole } else { Form::Real }));
    }
    let (from, to) = (from.as_str()?.trim(), to.as_str()?.trim());
    if let (Some((a, unit)), Some((b, other))) = (quantity(from), quantity(to))
        && unit == other
    {
        return Some((a, b, Form::Unit(unit.into())));
    }
    if let (Ok(a), Ok(b)) = (from.parse::<Rate>(), to.parse::<Rate>()) {
        return Some((a.as_bps_f64(), b.as_bps_f64(), Form::Rate));
    }
    if let (Ok(a), Ok(b)) = (from.parse::<Dur>(), to.parse::<Dur>()) {
        return Some((a.as_ns() as f64, b.as_ns() as f64, Form::Duration));
    }
    if let (Ok(a), Ok(b)) = (from.parse::<Bytes>(), to.parse::<Bytes>()) {
        return Some((a.as_f64(), b.as_f64(), Form::Bytes));
    }
    None
}

/// `3.5Mbit` as its number and its unit.
fn quantity(text: &str) -> Option<(f64, &str)> {
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    Some((text[..split].parse().ok()?, text[split..].trim_start()))
}

/// `x` with so many significant digits.
fn rounded(x: f64, digits: usize) -> f64 {
    format!("{x:.*e}", digits - 1).parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spaced(from: Value, to: Value, count: u32, spacing: Spacing) -> Result<Value, String> {
        let range = Range { from, to, count };
        values(&range, spacing, "sweep.x").map(Value::from).map_err(|e| e.to_string())
    }

    #[test]
    fn logarithmic_values_have_equal_ratios_and_three_digits() {
        let log = |from, to, count| spaced(from, to, count, Spacing::Logarithmic).unwrap();
        assert_eq!(
            log(json!("1Mbit"), json!("100Mbit"), 5),
            json!(["1Mbit", "3.16Mbit", "10Mbit", "31.6Mbit", "100Mbit"])
        );
        assert_eq!(log(json!("100kbit"), json!("10Mbit"), 3), json!(["100kbit", "1Mbit", "10Mbit"]));
        assert_eq!(log(json!("500us"), json!("50ms"), 3), json!(["500us", "5ms", "50ms"]));
        assert_eq!(log(json!(2), json!(64), 6), json!([2, 4, 8, 16, 32, 64]));
        assert_eq!(log(json!("0.25bdp"), json!("4bdp"), 5), json!(["0.25bdp", "0.5bdp", "1bdp", "2bdp", "4bdp"]));
        assert_eq!(log(json!("10p"), json!("1000p"), 4), json!(["10p", "46p", "215p", "1000p"]));
    }
    #[test]
    fn linear_values_have_equal_steps() {
        let linear = |from, to, count| spaced(from, to, count, Spacing::Linear).unwrap();
        assert_eq!(linear(json!("10ms"), json!("100ms"), 4), json!(["10ms", "40ms", "70ms", "100ms"]));
        assert_eq!(linear(json!(0.0), json!(1.0), 3), json!([0.0, 0.5, 1.0]));
        assert_eq!(linear(json!("5%"), json!("0%"), 3), json!(["5%", "2.5%", "0%"]));
    }
    #[test]
    fn ends_that_do_not_fit_are_refused() {
        let refused = |from, to, count, spacing| spaced(from, to, count, spacing).unwrap_err();
        let told = refused(json!("1Mbit"), json!("1ms"), 3, Spacing::Linear);
        assert!(told.starts_with("sweep.x.linspace: from must be a number or a quantity"), "{told}");
        let told = refused(json!(0), json!(8), 3, Spacing::Logarithmic);
        assert_eq!(
            told,
            "sweep.x.logspace: from must be above zero, as `to`, got `0` to `8`; `linspace` has values from zero on"
        );
        let told = refused(json!(0), json!(1), 4, Spacing::Linear);
        assert!(told.contains("count must be such that all values differ, got `0` twice"), "{told}");
    }
}
