//! Runs in a guest kernel.

use crate::error::{self, HaltereError, InputError, guard};
use crate::run::{Progress, Run};
use crate::scenario::Scenario;
use haltere_kernel::boot::{self, BootError, Kernel, Watch};
use haltere_kernel::contract::{Failure, Options};
use haltere_kernel::fabric::kernel_queues;
use haltere_kernel::{cost, tc};
use haltere_lab::Scenario as Lab;
use haltere_plan::Fault;
use haltere_wire::WireError;
use pyo3::prelude::*;

/// The Python error: an `InputError` if the user can fix it.
fn told(lab: &Lab, error: BootError) -> PyErr {
    match &error {
        BootError::Guest(failure) => match (failure.fault(), failure) {
            (Some(fault), _) => error::input(lab.refuse(fault)),
            (None, Failure::Input(why)) => InputError::new_err(why.clone()),
            (None, other) => HaltereError::new_err(other.to_string()),
        },
        error => HaltereError::new_err(error.to_string()),
    }
}

/// Whether a guest kernel with those congestion controls, and with accurate ECN or without, can run the scenario (its sweep left aside); raises
/// `InputError` if not.
#[pyfunction]
#[pyo3(signature = (scenario, controls, accurate_ecn = false))]
pub(crate) fn kernel_check(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    controls: Vec<String>,
    accurate_ecn: bool,
) -> PyResult<()> {
    let scenario = scenario.get();
    py.detach(|| {
        let plan = scenario.plan(0)?;
        guard(|| haltere_wire::check_for(&plan, &controls.join(" "), accurate_ecn))?.map_err(|e| match e {
            WireError::Refused(fault) => error::input(scenario.lab.refuse(*fault)),
            other => InputError::new_err(other.to_string()),
        })?;
        for (link, words) in kernel_queues(&plan.links) {
            tc::parse(words).map_err(|rule| {
                let place = format!("link {}", plan.links[link].name);
                error::input(scenario.lab.refuse(Fault::new(place, "queue.tc", rule, format!("`{words}`"))))
            })?;
        }
        Ok(())
    })
}

/// Runs a scenario (its sweep left aside) with that seed in a guest: `vmlinux` is the kernel, `guest` the program that
/// runs in it. `options` is JSON.
#[pyfunction]
#[pyo3(signature = (scenario, seed, vmlinux, guest, options = "{}", progress = None))]
pub(crate) fn kernel_run(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    seed: u64,
    vmlinux: String,
    guest: String,
    options: &str,
    progress: Option<&Bound<'_, Progress>>,
) -> PyResult<Run> {
    let (scenario, progress) = (scenario.get(), progress.map(|p| p.get()));
    let options: Options = serde_json::from_str(options).map_err(|e| InputError::new_err(format!("options: {e}")))?;
    py.detach(|| {
        let plan = scenario.plan(seed)?;
        Progress::begin(progress, &plan);
        let watch = Watch { stop: progress.map(|p| &p.cancelled), progress: progress.map(|p| &p.at_ns) };
        let kernel = Kernel { vmlinux: vmlinux.into(), guest: guest.into() };
        let done = guard(|| boot::run(&kernel, &plan, &options, watch))?.map_err(|e| told(&scenario.lab, e))?;
        Run::of(&plan, &done.record, Some(done.told.to_string()))
    })
}

/// Processor time in seconds that a run of the scenario (its sweep left aside) takes, to about a factor of two.
/// `options` is JSON.
#[pyfunction]
#[pyo3(signature = (scenario, options = "{}"))]
pub(crate) fn kernel_cost(py: Python<'_>, scenario: &Bound<'_, Scenario>, options: &str) -> PyResult<f64> {
    let scenario = scenario.get();
    let options: Options = serde_json::from_str(options).map_err(|e| InputError::new_err(format!("options: {e}")))?;
    let plan = py.detach(|| scenario.plan(0))?;
    Ok(cost::estimate_s(&plan, &options))
}

/// Boots a guest kernel and returns its description as JSON.
#[pyfunction]
pub(crate) fn kernel_about(py: Python<'_>, vmlinux: String, guest: String) -> PyResult<String> {
    let kernel = Kernel { vmlinux: vmlinux.into(), guest: guest.into() };
    let about = py.detach(|| guard(|| boot::about(&kernel)))?;
    let about = about.map_err(|e| HaltereError::new_err(e.to_string()))?;
    serde_json::to_string(&about).map_err(|e| HaltereError::new_err(e.to_string()))
}

/// True where Landlock confines guests.
#[pyfunction]
pub(crate) fn kernel_confined() -> bool {
    haltere_kernel::boot::has_landlock()
}
