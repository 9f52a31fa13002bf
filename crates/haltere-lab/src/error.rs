//! What is wrong with an experiment file.

use crate::limits::ERROR_CHARACTERS;
pub(crate) use haltere_plan::Fault;
use std::fmt;

/// Why a scenario was refused. Nothing has been run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScenarioError {
    /// The text is not TOML or JSON.
    Syntax(Box<Fault>),
    /// A key that does not exist.
    UnknownKey(Box<Fault>),
    /// A key that must be given is not.
    Missing(Box<Fault>),
    /// A value of the wrong type, such as a list for a number.
    WrongType(Box<Fault>),
    /// A quantity that cannot be read: no unit, a wrong one, a negative number.
    WrongUnit(Box<Fault>),
    /// A name that is not in the list: a queue discipline, a congestion control, a node.
    UnknownName(Box<Fault>),
    /// A value outside its range, by itself or beside another.
    OutOfRange(Box<Fault>),
    /// A node that cannot be reached.
    Unreachable(Box<Fault>),
    /// A mistake of Haltere's own: the schema let through what the types do not take.
    Bug(Box<Fault>),
}

impl ScenarioError {
    /// The mistake.
    pub fn fault(&self) -> &Fault {
        match self {
            ScenarioError::Syntax(f)
            | ScenarioError::UnknownKey(f)
            | ScenarioError::Missing(f)
            | ScenarioError::WrongType(f)
            | ScenarioError::WrongUnit(f)
            | ScenarioError::UnknownName(f)
            | ScenarioError::OutOfRange(f)
            | ScenarioError::Unreachable(f)
            | ScenarioError::Bug(f) => f,
        }
    }
    /// The mistake, to add to it.
    pub fn fault_mut(&mut self) -> &mut Fault {
        match self {
            ScenarioError::Syntax(f)
            | ScenarioError::UnknownKey(f)
            | ScenarioError::Missing(f)
            | ScenarioError::WrongType(f)
            | ScenarioError::WrongUnit(f)
            | ScenarioError::UnknownName(f)
            | ScenarioError::OutOfRange(f)
            | ScenarioError::Unreachable(f)
            | ScenarioError::Bug(f) => f,
        }
    }
    /// A word for the kind of mistake, for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            ScenarioError::Syntax(_) => "syntax",
            ScenarioError::UnknownKey(_) => "unknown_key",
            ScenarioError::Missing(_) => "missing",
            ScenarioError::WrongType(_) => "wrong_type",
            ScenarioError::WrongUnit(_) => "wrong_unit",
            ScenarioError::UnknownName(_) => "unknown_name",
            ScenarioError::OutOfRange(_) => "out_of_range",
            ScenarioError::Unreachable(_) => "unreachable",
            ScenarioError::Bug(_) => "bug",
        }
    }
}

macro_rules! shorthands {
    ($($name:ident = $variant:ident),+) => {
        /// A fault as an error of that kind.
        pub(crate) trait FaultKind {
            $(fn $name(self) -> ScenarioError;)+
        }
        impl FaultKind for Fault {
            $(fn $name(self) -> ScenarioError { ScenarioError::$variant(Box::new(self)) })+
        }
    };
}
shorthands!(
    syntax = Syntax,
    unknown_key = UnknownKey,
    missing = Missing,
    wrong_type = WrongType,
    wrong_unit = WrongUnit,
    unknown_name = UnknownName,
    out_of_range = OutOfRange,
    unreachable = Unreachable,
    bug = Bug
);

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shortened(self.fault().to_string()))
    }
}

/// The text with its middle left out if it is longer than an error may be.
fn shortened(text: String) -> String {
    const GAP: &str = " ... ";
    let length = text.chars().count();
    if length <= ERROR_CHARACTERS {
        return text;
    }
    let half = (ERROR_CHARACTERS - GAP.len()) / 2;
    let (first, last) = (text.chars().take(half), text.chars().skip(length - half));
    first.chain(GAP.chars()).chain(last).collect()
}

impl std::error::Error for ScenarioError {}

/// `names` as a sentence lists them: `` `a`, `b`, `c` ``.
pub(crate) fn listed<S: AsRef<str>>(names: &[S]) -> String {
    const SHOWN: usize = 40;
    let mut out = names.iter().take(SHOWN).map(|n| format!("`{}`", n.as_ref())).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        out.push_str(", ...");
    }
    out
}

/// "did you mean ..." with the nearest of `names`, or nothing if none is near.
pub(crate) fn did_you_mean<S: AsRef<str>>(got: &str, names: &[S]) -> String {
    // Of one or two letters anything is near.
    if got.chars().count() < 3 {
        return String::new();
    }
    let near = names.iter().map(|n| (distance(got, n.as_ref()), n.as_ref())).min_by_key(|(d, _)| *d);
    match near {
        Some((d, name)) if d <= 1 + got.chars().count().min(name.chars().count()) / 3 => {
            format!("did you mean `{name}`?")
        }
        _ => String::new(),
    }
}

/// Edit distance with transpositions (optimal string alignment), capped by comparing at most 64 characters.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(64).flat_map(char::to_lowercase).collect();
    let b: Vec<char> = b.chars().take(64).flat_map(char::to_lowercase).collect();
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let swap = usize::from(a[i - 1] != b[j - 1]);
                let mut best = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + swap);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_proposed_and_a_far_one_is_not() {
        let names = ["drop_tail", "codel", "fq_codel", "red"];
        assert_eq!(did_you_mean("codl", &names), "did you mean `codel`?");
        assert_eq!(did_you_mean("edr", &names), "did you mean `red`?");
        assert_eq!(did_you_mean("blue_moon", &names), "");
    }
}
