//! Exact reading and printing of decimal numbers with a unit.

use crate::UnitError;
use alloc::format;
use alloc::string::String;
use core::fmt;

/// A unit: its name and how many base units it is.
pub(crate) type Unit = (&'static str, u64);

/// Reads `text` as a decimal number followed by one of `units`, as a count of base units.
///
/// The value must be a whole number of base units and fit in a `u64`.
pub(crate) fn parse(text: &str, units: &[Unit], rule: &'static str) -> Result<u64, UnitError> {
    let error = |hint: String| Err(UnitError::new(rule, text, hint));
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
    let (number, unit) = (&trimmed[..split], trimmed[split..].trim_start());
    if trimmed.starts_with('-') {
        return error("it cannot be negative".into());
    }
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return error("write a number and a unit".into());
    }
    let Some(&(_, scale)) = units.iter().find(|(name, _)| *name == unit) else {
        if unit.is_empty() {
            if whole.bytes().all(|b| b == b'0') && fraction.bytes().all(|b| b == b'0') {
                return Ok(0);
            }
            return error(format!("add a unit: {}", names(units)));
        }
        return match units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)) {
            Some((name, _)) => error(format!("write the unit as `{name}`")),
            None => error(format!("the units are {}", names(units))),
        };
    };
    let overflow = || UnitError::new(rule, text, "it is too large");
    let mut value: u128 = 0;
    for digit in whole.bytes() {
        value = value.checked_mul(10).and_then(|v| v.checked_add(u128::from(digit - b'0'))).ok_or_else(overflow)?;
    }
    value = value.checked_mul(u128::from(scale)).ok_or_else(overflow)?;
    let mut place = u128::from(scale);
    for digit in fraction.trim_end_matches('0').bytes() {
        if place % 10 != 0 {
            return error("it has more decimals than the unit can hold".into());
        }
        place /= 10;
        value = value.checked_add(u128::from(digit - b'0') * place).ok_or_else(overflow)?;
    }
    u64::try_from(value).map_err(|_| overflow())
}

fn names(units: &[Unit]) -> String {
    let mut out = String::new();
    for (i, (name, _)) in units.iter().enumerate() {
        out.push_str(if i == 0 { "`" } else { ", `" });
        out.push_str(name);
        out.push('`');
    }
    out
}

/// Prints `value` base units in the largest of `units` (ascending) that is not larger than it.
///
/// The decimals are exact, so [`parse`] gives `value` again.
pub(crate) fn print(f: &mut fmt::Formatter<'_>, value: u64, units: &[Unit]) -> fmt::Result {
    let &(name, scale) = units.iter().rev().find(|&&(_, scale)| scale <= value).unwrap_or(&units[0]);
    let (whole, rest) = (value / scale, value % scale);
    if rest == 0 {
        return f.pad(&format!("{whole}{name}"));
    }
    let mut digits = format!("{rest:0width$}", width = scale.ilog10() as usize);
    digits.truncate(digits.trim_end_matches('0').len());
    f.pad(&format!("{whole}.{digits}{name}"))
}
