//! The one error of this crate.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;

/// A text that is not the quantity it should be.
///
/// Prints as `must be <rule>, got <text>[; <hint>]`, so that a caller puts `<where>: <name> ` before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitError {
    /// What the text must be, e.g. "a duration such as `5ms`".
    pub rule: &'static str,
    /// The text as given.
    pub got: String,
    /// What to write instead, or empty.
    pub hint: String,
}

impl UnitError {
    pub(crate) fn new(rule: &'static str, got: &str, hint: impl Into<String>) -> Self {
        UnitError { rule, got: got.into(), hint: hint.into() }
    }
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "must be {}, got `{}`", self.rule, self.got)?;
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        Ok(())
    }
}

impl core::error::Error for UnitError {}

/// A parameter that breaks its rule. Prints as `<name> must be <rule>, got <value>[; <hint>]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamError {
    /// The parameter's name as the user writes it.
    pub name: Cow<'static, str>,
    /// What it must be.
    pub rule: String,
    /// What it is, with its unit.
    pub got: String,
    /// What to write instead, or empty.
    pub hint: String,
}

impl ParamError {
    /// `name` must be `rule`, got `got`.
    pub fn new(name: impl Into<Cow<'static, str>>, rule: impl Into<String>, got: impl fmt::Display) -> ParamError {
        ParamError { name: name.into(), rule: rule.into(), got: alloc::format!("{got}"), hint: String::new() }
    }
    /// The same with a hint on what to write instead.
    pub fn hint(self, hint: impl Into<String>) -> ParamError {
        ParamError { hint: hint.into(), ..self }
    }
    /// The same with the default as the hint. The value comes from `Params::default()`, the only place that has it.
    pub fn default_is(self, value: impl fmt::Display) -> ParamError {
        self.hint(alloc::format!("the default is `{value}`"))
    }
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} must be {}, got {}", self.name, self.rule, self.got)?;
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        Ok(())
    }
}

impl core::error::Error for ParamError {}
