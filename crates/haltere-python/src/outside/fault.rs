//! Errors of the user's code during a run.

use super::FIND;
use haltere_units::outside::{Cause, Fault, Reporter};
use pyo3::prelude::*;
use std::sync::Arc;

/// The error behind that fault.
pub(crate) fn cause(fault: &Fault) -> Option<&PyErr> {
    fault.cause.0.as_deref()?.downcast_ref()
}

/// The call `name` of a mechanism raised that error.
pub(super) fn raised(py: Python<'_>, reporter: &Reporter, name: &str, error: PyErr) {
    let (text, details) = told(py, &error);
    let hint = "`haltere --traceback` prints how it came there".into();
    let cause = Cause(Some(Arc::new(error)));
    reporter.raise_fault(Fault { hint, details, cause, ..Fault::new("", name, "return without an error", text) });
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
