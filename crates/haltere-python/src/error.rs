//! The Python exceptions. A panic in any call becomes an exception that says it is a bug.

use haltere_lab::{ErrorKind, ScenarioError};
use haltere_sim::RunError;
use haltere_units::outside::Fault;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

create_exception!(haltere._core, HaltereError, PyException, "Whatever goes wrong in Haltere.");
create_exception!(haltere._core, InputError, HaltereError, "The experiment is wrong; nothing has been run.");

/// The Python error of a refused scenario.
pub(crate) fn input(error: ScenarioError) -> PyErr {
    match error.kind() {
        ErrorKind::Bug => HaltereError::new_err(error.to_string()),
        _ => InputError::new_err(error.to_string()),
    }
}

/// The Python error of a run that failed.
pub(crate) fn run(error: RunError) -> PyErr {
    match error {
        RunError::Param { .. } | RunError::Unreachable { .. } => InputError::new_err(error.to_string()),
        RunError::Outside { fault, .. } => outside(&fault),
        error => HaltereError::new_err(error.to_string()),
    }
}

/// The Python error of a mechanism from outside that failed. The user's own error is its cause. An interrupt is passed on
/// unchanged.
fn outside(fault: &Fault) -> PyErr {
    let text = fault.to_string();
    let Some(cause) = crate::outside::fault::cause(fault) else { return HaltereError::new_err(text) };
    Python::attach(|py| {
        let cause = cause.clone_ref(py);
        if !cause.is_instance_of::<PyException>(py) {
            return cause;
        }
        let error = HaltereError::new_err(text);
        error.set_cause(py, Some(cause));
        error
    })
}

thread_local! {
    /// Source location of this thread's last panic.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
    /// Whether a panic of this thread is caught by us.
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Keeps panics that [`guard`] catches off standard error; others are printed as ever.
fn quiet_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if CAUGHT.get() {
                PLACE.set(info.location().map(ToString::to_string).unwrap_or_default());
            } else {
                before(info);
            }
        }));
    });
}

/// Runs `work`; a panic inside becomes a [`HaltereError`].
pub(crate) fn guard<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    quiet_hook();
    let outer = CAUGHT.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    CAUGHT.set(outer);
    result.map_err(|panic| {
        let place = PLACE.take();
        HaltereError::new_err(format!(
            "a bug in haltere, please report it with the experiment: {} ({place})",
            told(&panic)
        ))
    })
}

fn told(panic: &Box<dyn Any + Send>) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "a panic without words",
    }
}
