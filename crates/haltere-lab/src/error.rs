//! Errors of experiment files.

use crate::limits::ERROR_CHARACTERS;
pub(crate) use haltere_plan::Fault;
use std::fmt;

/// Why a scenario was refused: what kind of mistake, and the mistake. Nothing has been run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioError {
    kind: ErrorKind,
    fault: Box<Fault>,
}

impl ScenarioError {
    /// What kind of mistake it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
    /// The mistake: where it is, and what must be there.
    pub fn fault(&self) -> &Fault {
        &self.fault
    }
    /// The mistake, to add to it.
    pub fn fault_mut(&mut self) -> &mut Fault {
        &mut self.fault
    }
}

impl ScenarioError {
    /// The schema let through what the types refuse.
    pub(crate) fn schema_bug(path: &str, name: &str, error: &serde_json::Error) -> ScenarioError {
        let fault = Fault::new(path, name, "what its schema says", format!("what the types refuse: {error}"));
        fault.hint("this is a bug of Haltere: please report it with the file").bug()
    }
}

/// A value outside its range is the usual mistake.
impl From<Fault> for ScenarioError {
    fn from(fault: Fault) -> ScenarioError {
        fault.out_of_range()
    }
}

/// Returns the fault as an error if the condition holds.
macro_rules! refuse_if {
    ($wrong:expr, $fault:expr) => {
        if $wrong {
            return Err($fault.into());
        }
    };
}
pub(crate) use refuse_if;

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $variant:ident, $name:ident;)+) => {
        /// Kinds of mistakes in a scenario.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[doc = $doc])+ $variant,)+
        }
        impl ErrorKind {
            /// A word for it, for programs.
            pub fn name(self) -> &'static str {
                match self { $(ErrorKind::$variant => stringify!($name)),+ }
            }
        }
        /// A fault as an error of that kind.
        pub(crate) trait FaultKind {
            $($(#[doc = $doc])+ fn $name(self) -> ScenarioError;)+
        }
        impl FaultKind for Fault {
            $(fn $name(self) -> ScenarioError {
                ScenarioError { kind: ErrorKind::$variant, fault: Box::new(self) }
            })+
        }
    };
}

kinds! {
    /// The text is not TOML or JSON.
    Syntax, syntax;
    /// A key that does not exist.
    UnknownKey, unknown_key;
    /// A key that must be given is not.
    Missing, missing;
    /// A value of the wrong type, such as a list for a number.
    WrongType, wrong_type;
    /// A quantity that cannot be read: no unit, a wrong one, a negative number.
    WrongUnit, wrong_unit;
    /// A name that is not in the list: a queue discipline, a congestion control, a node.
    UnknownName, unknown_name;
    /// A value outside its range, by itself or beside another.
    OutOfRange, out_of_range;
    /// A node that cannot be reached.
    Unreachable, unreachable;
    /// A mistake of Haltere's own: the schema let through what the types do not take.
    Bug, bug;
}

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
