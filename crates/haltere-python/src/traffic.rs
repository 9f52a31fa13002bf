//! Descriptions of traffic kinds, for the code that shows their results.

use haltere_lab::Traffic;
use haltere_units::outside::KIND;
use pyo3::prelude::*;
use serde_json::{Map, Value};

/// The description of each traffic kind, by name, as JSON. A source from outside the tree is the kind `outside`.
#[pyfunction]
pub(crate) fn traffic_kinds() -> String {
    let told = |name: &&str| Some(((*name).to_owned(), serde_json::to_value(Traffic::about(name)?).ok()?));
    Value::Object(Traffic::NAMES.iter().chain(&[KIND]).filter_map(told).collect::<Map<_, _>>()).to_string()
}
