//! Runs in a guest kernel.

use crate::error::{self, HaltereError, InputError, guard};
use crate::run::{Progress, Run};
use crate::scenario::Scenario;
use haltere_kernel::boot::{self, BootError, Kernel, Watch};
use haltere_kernel::contract::{Failure, Options, Session};
use haltere_kernel::fabric::kernel_queues;
use haltere_kernel::terminal::{Heard, Terminal};
use haltere_kernel::{cost, tc};
use haltere_lab::Scenario as Lab;
use haltere_plan::Fault;
use haltere_wire::WireError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

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
        let watch = watch(progress);
        let kernel = Kernel { vmlinux: vmlinux.into(), guest: guest.into() };
        let done = guard(|| boot::run(&kernel, &plan, &options, watch))?.map_err(|e| told(&scenario.lab, e))?;
        Run::of(&plan, &done.record, Some(done.told.to_string()))
    })
}

fn watch(progress: Option<&Progress>) -> Watch<'_> {
    Watch {
        stop: progress.map(|p| &p.cancelled),
        progress: progress.map(|p| &p.at_ns),
        interrupts: progress.map(|p| &p.interrupts),
    }
}

/// The network of a scenario in a guest, and a program in one of its hosts with a person's terminal. The messages of the terminal are those
/// of `kernel/line.h`.
#[pyclass(frozen, module = "haltere._core")]
pub(crate) struct KernelSession {
    kernel: Kernel,
    terminal: Terminal,
    /// Until the session begins.
    line: Mutex<Option<OwnedFd>>,
}

#[pymethods]
impl KernelSession {
    /// `vmlinux` is the kernel, `guest` the program that runs in it.
    #[new]
    fn new(vmlinux: String, guest: String) -> PyResult<KernelSession> {
        let (terminal, line) = Terminal::new()?;
        let kernel = Kernel { vmlinux: vmlinux.into(), guest: guest.into() };
        Ok(KernelSession { kernel, terminal, line: Mutex::new(Some(line)) })
    }
    /// Holds the network of the scenario (its sweep left aside) until the program ends: its exit status, or 128 and the signal that ended
    /// it. `session` and `options` are JSON. Another thread must hear the messages.
    fn hold(
        &self,
        py: Python<'_>,
        scenario: &Bound<'_, Scenario>,
        session: &str,
        options: &str,
        progress: &Bound<'_, Progress>,
    ) -> PyResult<i32> {
        // Dropped at every end: who hears the messages then hears that there are no more.
        let line = self.line.lock().unwrap_or_else(PoisonError::into_inner).take();
        let line = line.ok_or_else(|| HaltereError::new_err("the session has begun before"))?;
        let (scenario, progress) = (scenario.get(), progress.get());
        let wrong = |e: serde_json::Error| InputError::new_err(e.to_string());
        let session: Session = serde_json::from_str(session).map_err(wrong)?;
        let options: Options = serde_json::from_str(options).map_err(wrong)?;
        py.detach(|| {
            let plan = scenario.plan(1)?;
            guard(|| boot::hold(&self.kernel, &plan, session, &options, line, watch(Some(progress))))?
                .map_err(|e| told(&scenario.lab, e))
        })
    }
    /// The next message: its letter and its text; without a letter, if none comes within so many seconds. `None`: the guest has ended.
    fn hear<'py>(&self, py: Python<'py>, seconds: f64) -> PyResult<Option<(String, Bound<'py, PyBytes>)>> {
        let within = Duration::from_secs_f64(seconds.clamp(0.001, 1e6));
        match py.detach(|| self.terminal.hear(within))? {
            Heard::End => Ok(None),
            Heard::Nothing => Ok(Some((String::new(), PyBytes::new(py, b"")))),
            Heard::Message(kind, text) => Ok(Some((char::from(kind).into(), PyBytes::new(py, &text)))),
        }
    }
    /// Sends a message: its letter and its text.
    fn say(&self, py: Python<'_>, kind: char, text: &[u8]) -> PyResult<()> {
        Ok(py.detach(|| self.terminal.say(kind as u8, text))?)
    }
}

/// The fabric of a scenario (its sweep left aside) as JSON: the text with which the links of a session are changed.
#[pyfunction]
pub(crate) fn kernel_fabric(scenario: &Bound<'_, Scenario>) -> PyResult<String> {
    let plan = scenario.get().plan(1)?;
    serde_json::to_string(&plan.fabric()).map_err(|e| HaltereError::new_err(e.to_string()))
}

/// The hosts of a scenario (its sweep left aside): the nodes between which its flows run.
#[pyfunction]
pub(crate) fn kernel_hosts(scenario: &Bound<'_, Scenario>) -> PyResult<Vec<String>> {
    let scenario = scenario.get();
    let plan = scenario.plan(1)?;
    let hosts = haltere_wire::world::hosts_of(&plan).map_err(|e| InputError::new_err(e.to_string()))?;
    Ok(hosts.into_iter().map(|node| plan.nodes[node].clone()).collect())
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
