//! Errors of the user's code during a run.

use super::FIND;
use haltere_units::outside::{Fault, raise};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::fmt::Display;

thread_local! {
    /// The error behind the first fault of this thread's run.
    static CAUSE: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// The error behind the fault of this thread's run.
pub(crate) fn cause() -> Option<PyErr> {
    CAUSE.take()
}

/// The call `name` of `mechanism` raised that error.
pub(super) fn raised(py: Python<'_>, mechanism: &str, name: &str, error: PyErr) {
    let (text, details) = told(py, &error);
    let is_users = error.is_instance_of::<PyException>(py);
    let hint = "`haltere --traceback` prints how it came there".into();
    raise(Fault { hint, details, ..Fault::new(mechanism, name, "return without an error", text) });
    // An interrupt is no fault of the mechanism, and wins over one.
    CAUSE.with_borrow_mut(|cause| {
        if cause.is_none() || !is_users {
            *cause = Some(error);
        }
    });
}

/// The call `name` of `mechanism` must do something else.
pub(super) fn wrong(mechanism: &str, name: &str, rule: &str, got: impl Display) {
    raise(Fault::new(mechanism, name, rule, got));
}

/// An error with the line of the user's code, and the whole traceback.
pub(super) fn told(py: Python<'_>, error: &PyErr) -> (String, String) {
    let told = py.import(FIND).and_then(|find| {
        let value = error.value(py);
        // Python knows the traceback of an error that it has caught itself.
        if let Some(traceback) = error.traceback(py) {
            value.setattr("__traceback__", traceback)?;
        }
        find.call_method1("told", (value,))?.extract()
    });
    told.unwrap_or_else(|_| (error.to_string(), String::new()))
}
