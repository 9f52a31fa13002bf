//! Errors of the wire.

use haltere_plan::Fault;
use std::fmt;
use std::io;

/// An error on the wire. It prints as one line that says what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum WireError {
    /// The plan or an argument is impossible: where, and why.
    Plan(String, String),
    /// The experiment asks for what the wire cannot do: the place in its file, the rule, what to do instead.
    Refused(Box<Fault>),
    /// The process lacks a privilege: for what.
    Privilege(&'static str),
    /// The machine lacks something: what, and how to get it.
    Missing(String),
    /// A program of the experiment failed: which, and its last words.
    Program(String),
    /// The machine is not fit for this run: what was measured, and its bound.
    Calibration(String),
    /// The kernel refused: what was being done, and its answer.
    Os(String, io::Error),
    /// The interface of that name disappeared during the run.
    Gone(String),
    /// A mechanism from outside the tree failed.
    Outside(Box<haltere_units::outside::Fault>),
    /// The user asked to stop.
    Interrupted,
}

impl WireError {
    /// `place`: what is wrong.
    pub fn plan(place: &str, what: impl fmt::Display) -> WireError {
        WireError::Plan(place.to_string(), what.to_string())
    }
    /// The key `name` of a flow's traffic entry must be `rule` on the wire.
    pub fn refused(place: &str, name: &str, rule: &str, got: impl fmt::Display, hint: &str) -> WireError {
        WireError::Refused(Box::new(Fault::new(place, name, format!("{rule} on the wire"), got).hint(hint)))
    }
    /// The kernel refused while `doing`; a refusal for lack of privilege says so.
    pub fn os(doing: impl Into<String>, error: impl Into<io::Error>) -> WireError {
        WireError::Os(doing.into(), error.into())
    }
}

/// What was being done when the kernel refused.
pub(crate) trait Doing<T> {
    /// The error says so.
    fn doing(self, what: impl Into<String>) -> Result<T, WireError>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, what: impl Into<String>) -> Result<T, WireError> {
        self.map_err(|error| WireError::os(what, error))
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WireError::Plan(place, what) => write!(f, "{place}: {what}"),
            WireError::Refused(fault) => fault.fmt(f),
            WireError::Privilege(what) => {
                write!(f, "{what} needs root or CAP_NET_ADMIN; run it as root, or inside `unshare -Urn`")
            }
            WireError::Missing(what) | WireError::Calibration(what) | WireError::Program(what) => write!(f, "{what}"),
            WireError::Os(doing, error) => write!(f, "{doing}: {error}"),
            WireError::Gone(name) => {
                write!(f, "router: interface `{name}` is gone: it was deleted, or moved to another network namespace")
            }
            WireError::Outside(fault) => fault.fmt(f),
            WireError::Interrupted => write!(f, "interrupted"),
        }
    }
}

impl std::error::Error for WireError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            WireError::Os(_, error) => Some(error),
            _ => None,
        }
    }
}
