//! Why a run failed.

use haltere_units::outside::Fault;
use haltere_units::{ParamError, Time};
use std::fmt;

/// Why a run failed. All errors except [`Cancelled`](RunError::Cancelled), [`Capture`](RunError::Capture) and
/// [`Outside`](RunError::Outside) are found before it starts.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError {
    /// A parameter is outside its rule.
    Param {
        /// The link or flow.
        place: String,
        /// The parameter and its rule.
        error: ParamError,
    },
    /// The links do not lead from one end of a flow to the other.
    Unreachable {
        /// The flow.
        flow: String,
        /// The node from which there is no path.
        from: String,
        /// The node that cannot be reached.
        to: String,
    },
    /// A captured packet could not be written.
    Capture {
        /// The link.
        link: String,
        /// The writer's error.
        error: std::io::Error,
    },
    /// The caller set the cancel flag.
    Cancelled {
        /// The virtual time reached.
        at: Time,
    },
    /// A mechanism from outside the tree failed.
    Outside {
        /// The virtual time at which the run ended, at most 1024 events later.
        at: Time,
        /// What it did.
        fault: Box<Fault>,
    },
}

impl From<haltere_plan::Fault> for RunError {
    fn from(fault: haltere_plan::Fault) -> RunError {
        let error = ParamError::new(fault.name, fault.rule, fault.got).hint(fault.hint);
        RunError::Param { place: fault.path, error }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Param { place, error } => write!(f, "{place}: {error}"),
            RunError::Unreachable { flow, from, to } => {
                write!(
                    f,
                    "flow {flow}: its ends must be joined by links, got no path from `{from}` to `{to}`; \
                     add the missing link (each link is one direction)"
                )
            }
            RunError::Capture { link, error } => write!(f, "link {link}: the capture could not be written: {error}"),
            RunError::Outside { fault, .. } => write!(f, "{fault}"),
            RunError::Cancelled { at } => write!(f, "cancelled at {at} of virtual time"),
        }
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RunError::Param { error, .. } => Some(error),
            RunError::Capture { error, .. } => Some(error),
            RunError::Unreachable { .. } | RunError::Cancelled { .. } | RunError::Outside { .. } => None,
        }
    }
}
