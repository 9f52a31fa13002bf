//! Errors of the user's code during a run.

use haltere_units::ParamError;
use haltere_units::outside::{Cause, Fault, Reporter};
use pyo3::prelude::*;
use std::sync::Arc;

/// The module that finds classes.
pub(super) const FIND: &str = "haltere.mechanisms.find";

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

/// The error of a class that cannot be used. Any exception but `Refused` comes from the user's class.
pub(super) fn refused(error: PyErr) -> ParamError {
    Python::attach(|py| {
        let value = error.value(py);
        let text = |name: &str| value.getattr(name).and_then(|text| text.extract::<String>());
        match (text("name"), text("rule"), text("got"), text("hint")) {
            (Ok(name), Ok(rule), Ok(got), Ok(hint)) => ParamError::new(name, rule, got).hint(hint),
            _ => ParamError::new("kind", "a class that can be used", told(py, &error).0),
        }
    })
}
