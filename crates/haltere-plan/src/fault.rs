//! One mistake in an experiment file or a plan.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use haltere_units::ParamError;

/// One mistake: where it is, what must be, what is.
///
/// Prints as `<where>: <name> must be <rule>, got <value with unit>[; hint]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fault {
    /// Name of the file, and the line where known: `experiment.toml:12`.
    pub file: String,
    /// Dotted path of the table that holds the key; empty at the top.
    pub path: String,
    /// The key whose value is wrong.
    pub name: String,
    /// What it must be.
    pub rule: String,
    /// What it is, with its unit.
    pub got: String,
    /// What to write instead, or empty.
    pub hint: String,
}

impl Fault {
    /// The key `name` in the table `path` must be `rule`, but is `got`.
    pub fn new(
        path: impl Into<String>,
        name: impl Into<String>,
        rule: impl Into<String>,
        got: impl fmt::Display,
    ) -> Fault {
        let (path, name, rule) = (path.into(), name.into(), rule.into());
        Fault { file: String::new(), path, name, rule, got: got.to_string(), hint: String::new() }
    }
    /// The same with a hint on what to write instead.
    pub fn hint(self, hint: impl Into<String>) -> Fault {
        Fault { hint: hint.into(), ..self }
    }
    /// A mechanism's own complaint about its parameters, which are in the table `path`.
    pub fn param(path: impl Into<String>, error: ParamError) -> Fault {
        Fault::new(path, error.name, error.rule, error.got).hint(error.hint)
    }
    /// Dotted path of the key itself.
    pub fn key(&self) -> String {
        if self.path.is_empty() {
            self.name.clone()
        } else if self.name.starts_with('[') {
            format!("{}{}", self.path, self.name)
        } else {
            format!("{}.{}", self.path, self.name)
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for place in [&self.file, &self.path] {
            if !place.is_empty() {
                write!(f, "{place}: ")?;
            }
        }
        write!(f, "{} must be {}, got {}", self.name, self.rule, self.got)?;
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_prints_where_name_rule_value_and_hint() {
        let mut fault = Fault::new("topology.chain.links[0]", "rate", "above zero", "0bit").hint("leave it out");
        fault.file = "x.toml:3".into();
        assert_eq!(
            fault.to_string(),
            "x.toml:3: topology.chain.links[0]: rate must be above zero, got 0bit; leave it out"
        );
        assert_eq!(fault.key(), "topology.chain.links[0].rate");
    }
}
