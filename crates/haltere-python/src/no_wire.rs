//! Where there is no Linux there is no wire: the same functions, which say so.

use crate::error::InputError;
use crate::run::{Progress, Run};
use crate::scenario::Scenario;
use pyo3::prelude::*;

fn none<T>() -> PyResult<T> {
    Err(InputError::new_err("world must be sim here, got wire; real packets need Linux"))
}

/// Raises `InputError`.
#[pyfunction]
pub(crate) fn wire_check(scenario: &Bound<'_, Scenario>) -> PyResult<()> {
    let _ = scenario;
    none()
}

/// Raises `InputError`.
#[pyfunction]
#[pyo3(signature = (scenario, seed, progress = None, calibrate = "refuse", ftp_server = Vec::new(), gso = false))]
pub(crate) fn wire_run(
    scenario: &Bound<'_, Scenario>,
    seed: u64,
    progress: Option<&Bound<'_, Progress>>,
    calibrate: &str,
    ftp_server: Vec<String>,
    gso: bool,
) -> PyResult<Run> {
    let _ = (scenario, seed, progress, calibrate, ftp_server, gso);
    none()
}

/// Raises `InputError`.
#[pyfunction]
pub(crate) fn wire_router(scenario: &Bound<'_, Scenario>, options: &str, signals: i32) -> PyResult<()> {
    let _ = (scenario, options, signals);
    none()
}

/// There is none.
#[pyclass(frozen, module = "haltere._core")]
pub(crate) struct Standing;

#[pymethods]
impl Standing {
    /// Raises `InputError`.
    #[new]
    #[pyo3(signature = (scenario, outside = None))]
    fn new(scenario: &Bound<'_, Scenario>, outside: Option<&str>) -> PyResult<Standing> {
        let _ = (scenario, outside);
        none()
    }
}
