//! What can be written in an experiment file.

use crate::error::InputError;
use crate::outside::languages;
use haltere_lab::limits::{ALL, Limit};
use haltere_lab::schema as lab;
use pyo3::prelude::*;

/// The JSON Schema of experiment files, as JSON.
#[pyfunction]
pub(crate) fn schema() -> String {
    lab::schema().to_string()
}

/// The kinds of names: what `names` takes.
#[pyfunction]
pub(crate) fn kinds() -> Vec<&'static str> {
    lab::kinds().collect()
}

/// What inputs may hold at most, as JSON: a list of objects with `input`, `what`, `most` and `unit`.
#[pyfunction]
pub(crate) fn limits() -> String {
    let record = u64::from(haltere_capture::reader::MAX_RECORD_BYTES);
    let capture = Limit { input: "capture", what: "size of a packet or block", most: record, unit: "bytes" };
    let all: Vec<Limit> = ALL.iter().copied().chain([capture]).collect();
    serde_json::json!(all).to_string()
}

/// The names of a kind, such as those of all queue disciplines.
#[pyfunction]
pub(crate) fn names(kind: &str) -> PyResult<Vec<&'static str>> {
    let names = lab::names(kind).map(<[_]>::to_vec);
    names.ok_or_else(|| {
        let kinds: Vec<_> = lab::kinds().collect();
        InputError::new_err(format!("kind must be one of `{}`, got `{kind}`", kinds.join("`, `")))
    })
}

/// What a name stands for, with its parameters, as JSON.
#[pyfunction]
pub(crate) fn describe(name: &str) -> PyResult<String> {
    lab::describe(name, languages()).map(|told| told.to_string()).map_err(crate::error::input)
}
