//! Without Linux there is no guest kernel: these functions raise an error that says so.

use crate::error::InputError;
use crate::run::{Progress, Run};
use crate::scenario::Scenario;
use pyo3::prelude::*;

fn none<T>() -> PyResult<T> {
    Err(InputError::new_err("world must be sim here, got kernel; a guest kernel needs Linux on x86-64"))
}

/// Raises `InputError`.
#[pyfunction]
pub(crate) fn kernel_check(scenario: &Bound<'_, Scenario>, controls: Vec<String>) -> PyResult<()> {
    let _ = (scenario, controls);
    none()
}

/// Raises `InputError`.
#[pyfunction]
#[pyo3(signature = (scenario, seed, vmlinux, guest, options = "{}", progress = None))]
pub(crate) fn kernel_run(
    scenario: &Bound<'_, Scenario>,
    seed: u64,
    vmlinux: String,
    guest: String,
    options: &str,
    progress: Option<&Bound<'_, Progress>>,
) -> PyResult<Run> {
    let _ = (scenario, seed, vmlinux, guest, options, progress);
    none()
}

/// Raises `InputError`.
#[pyfunction]
#[pyo3(signature = (scenario, options = "{}"))]
pub(crate) fn kernel_cost(scenario: &Bound<'_, Scenario>, options: &str) -> PyResult<f64> {
    let _ = (scenario, options);
    none()
}

/// Raises `InputError`.
#[pyfunction]
pub(crate) fn kernel_about(vmlinux: String, guest: String) -> PyResult<String> {
    let _ = (vmlinux, guest);
    none()
}

/// Nothing is confined.
#[pyfunction]
pub(crate) fn kernel_confined() -> i64 {
    0
}
