//! Runs on real packets, and the router.

use crate::error::{self, HaltereError, InputError, guard};
use crate::run::{Progress, Run};
use crate::scenario::Scenario;
use haltere_lab::Scenario as Lab;
use haltere_wire::hosts::Task;
use haltere_wire::{Calibrate, Control, WireError, live, router_service};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// The Python error: an `InputError` if the user can fix it.
fn told(lab: &Lab, error: WireError) -> PyErr {
    match error {
        WireError::Refused(fault) => error::input(lab.refuse(*fault)),
        error @ (WireError::Plan(..) | WireError::Privilege(_) | WireError::Missing(_)) => {
            InputError::new_err(error.to_string())
        }
        error => HaltereError::new_err(error.to_string()),
    }
}

/// Whether the wire can run the scenario (its sweep left aside) and this process may use it; raises `InputError` where
/// not.
#[pyfunction]
pub(crate) fn wire_check(py: Python<'_>, scenario: &Bound<'_, Scenario>) -> PyResult<()> {
    let scenario = scenario.get();
    py.detach(|| {
        let plan = scenario.plan(0)?;
        guard(|| haltere_wire::check(&plan).and_then(|()| haltere_wire::may_run()))?.map_err(|e| told(&scenario.lab, e))
    })
}

/// Runs a scenario (its sweep left aside) with that seed on real packets, in real time. `calibrate` is `refuse`, `note`
/// or `no`.
#[pyfunction]
#[pyo3(signature = (scenario, seed, progress = None, calibrate = "refuse", ftp_server = Vec::new(), gso = false))]
pub(crate) fn wire_run(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    seed: u64,
    progress: Option<&Bound<'_, Progress>>,
    calibrate: &str,
    ftp_server: Vec<String>,
    gso: bool,
) -> PyResult<Run> {
    let (scenario, progress) = (scenario.get(), progress.map(|p| p.get()));
    let calibrate = match calibrate {
        "refuse" => Calibrate::Refuse,
        "note" => Calibrate::Note,
        "no" => Calibrate::No,
        other => return Err(InputError::new_err(format!("calibrate must be refuse, note or no, got `{other}`"))),
    };
    py.detach(|| {
        let plan = scenario.plan(seed)?;
        Progress::begin(progress, &plan);
        let control = Control {
            stop: progress.map(|p| &p.cancelled),
            progress: progress.map(|p| &p.at_ns),
            calibrate,
            ftp_server: ftp_server.into_iter().map(Into::into).collect(),
            gso,
            ..Control::default()
        };
        let outcome = guard(|| haltere_wire::run(&plan, &control))?.map_err(|e| told(&scenario.lab, e))?;
        Run::of(&plan, &outcome.record, Some(outcome.json().to_string()))
    })
}

/// A router between two interfaces with the two links of a scenario, until a byte that is SIGTERM's or SIGINT's number
/// can be read from the descriptor `signals`; SIGUSR1's has it print its statistics. `options` is JSON. Once the
/// interfaces are open this process gives up its privileges for good, unless `keep_privileges` is among the options.
#[pyfunction]
pub(crate) fn wire_router(py: Python<'_>, scenario: &Bound<'_, Scenario>, options: &str, signals: i32) -> PyResult<()> {
    let scenario = scenario.get();
    let options = options.to_owned();
    py.detach(|| {
        let plan = scenario.plan(0)?;
        guard(|| router_service(&plan, &options, signals))?.map_err(|e| told(&scenario.lab, e))
    })
}

/// A live network of namespaces, for programs that a user starts.
#[pyclass(frozen, module = "haltere._core")]
pub(crate) struct LiveNetwork {
    lab: Arc<Lab>,
    network: Mutex<Option<Arc<live::LiveNetwork>>>,
    nodes: Vec<String>,
}

impl LiveNetwork {
    fn network(&self) -> PyResult<Arc<live::LiveNetwork>> {
        let network = self.network.lock().unwrap_or_else(PoisonError::into_inner);
        network.clone().ok_or_else(|| HaltereError::new_err("the network is closed"))
    }
}

#[pymethods]
impl LiveNetwork {
    /// The network of a scenario (its sweep left aside), with a host for each node between which its flows run. `outside`: the node that is
    /// in the caller's network namespace.
    #[new]
    #[pyo3(signature = (scenario, outside = None))]
    fn new(py: Python<'_>, scenario: &Bound<'_, Scenario>, outside: Option<&str>) -> PyResult<LiveNetwork> {
        let (scenario, lab) = (scenario.get(), Arc::clone(&scenario.get().lab));
        py.detach(|| {
            let plan = scenario.plan(1)?;
            let outside = outside.and_then(|name| plan.nodes.iter().position(|node| node == name));
            let network = guard(|| live::LiveNetwork::new(&plan, outside))?.map_err(|e| told(&lab, e))?;
            let nodes = network.hosts().nodes().iter().map(|&node| plan.nodes[node].clone()).collect();
            Ok(LiveNetwork { lab, network: Mutex::new(Some(Arc::new(network))), nodes })
        })
    }
    /// The names of its hosts.
    #[getter]
    fn hosts(&self) -> Vec<String> {
        self.nodes.clone()
    }
    /// Runs a program in that host with this process's terminal; its exit status, or 128 and the signal that ended it. Raises `InputError`
    /// where there is no such host or program.
    fn run(&self, py: Python<'_>, host: &str, words: Vec<String>, environment: Vec<(String, String)>) -> PyResult<i32> {
        let network = self.network()?;
        py.detach(|| {
            guard(|| network.hosts().run(Task { host, words: &words, environment: &environment }))?
                .map_err(|e| told(&self.lab, e))
        })
    }
    /// Starts a program in that host beside others, until the network is closed. It has a moment to open a port.
    fn serve(
        &self,
        py: Python<'_>,
        host: &str,
        words: Vec<String>,
        environment: Vec<(String, String)>,
    ) -> PyResult<()> {
        let network = self.network()?;
        py.detach(|| {
            guard(|| network.hosts().serve(Task { host, words: &words, environment: &environment }))?
                .map_err(|e| told(&self.lab, e))
        })
    }
    /// From now on its links are those of this scenario.
    fn change(&self, py: Python<'_>, scenario: &Bound<'_, Scenario>) -> PyResult<()> {
        let (scenario, network) = (scenario.get(), self.network()?);
        py.detach(|| {
            let plan = scenario.plan(1)?;
            guard(|| network.change(&plan))?.map_err(|e| told(&scenario.lab, e))
        })
    }
    /// The router's counters, as JSON.
    fn snapshot(&self) -> PyResult<String> {
        Ok(self.network()?.snapshot().map_or_else(|| "{}".into(), |snapshot| snapshot.json().to_string()))
    }
    /// Takes it down, once no program runs in it any more.
    fn close(&self, py: Python<'_>) {
        let network = self.network.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(network));
    }
}
