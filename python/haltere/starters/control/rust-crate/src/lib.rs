//! Haltere with one congestion control more: `kind = "rust:@name@"`.

mod control;
mod maker;

use pyo3::prelude::*;

/// Everything that `haltere._core` has, with the mechanisms of this crate.
#[pymodule]
fn _haltere(module: &Bound<'_, PyModule>) -> PyResult<()> {
    haltere_extension::fill(module, maker::makers())
}
