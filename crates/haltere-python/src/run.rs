//! Runs.

use crate::error::{self, guard};
use crate::files;
use crate::scenario::Scenario;
use crate::tables::Table;
use haltere_lab::table;
use haltere_plan::{Plan, Record};
use haltere_sim::RunControl;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The progress of a run. Other threads may read it and cancel the run.
#[pyclass(frozen, module = "haltere._core")]
#[derive(Default)]
pub(crate) struct Progress {
    pub(crate) cancelled: AtomicBool,
    pub(crate) at_ns: AtomicU64,
    pub(crate) end_ns: AtomicU64,
    pub(crate) interrupts: AtomicU64,
    /// The most threads of the run.
    threads: usize,
}

impl Progress {
    /// The run of that plan begins. `None`: its progress is not watched.
    pub(crate) fn begin(progress: Option<&Progress>, plan: &Plan) {
        if let Some(progress) = progress {
            progress.end_ns.store(plan.end.as_ns(), Ordering::Relaxed);
        }
    }
    /// For the simulator: the flag that cancels it, and the counter of its progress.
    pub(crate) fn control(&self) -> RunControl<'_> {
        RunControl { cancel: Some(&self.cancelled), progress: Some(&self.at_ns), threads: self.threads }
    }
}

#[pymethods]
impl Progress {
    /// `threads`: the most that carry out the run, if its experiment is cut into `parts`.
    #[new]
    #[pyo3(signature = (threads = 1))]
    fn new(threads: usize) -> Progress {
        Progress { threads, ..Progress::default() }
    }
    /// The part of the run that is done, from 0 to 1.
    #[getter]
    fn done(&self) -> f64 {
        match self.end_ns.load(Ordering::Relaxed) {
            0 => 0.0,
            end => (self.at_ns.load(Ordering::Relaxed) as f64 / end as f64).min(1.0),
        }
    }
    /// True once `cancel` was called.
    #[getter]
    fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
    /// Interrupts the program at the terminal of a guest, as Ctrl-C does.
    fn interrupt(&self) {
        self.interrupts.fetch_add(1, Ordering::Relaxed);
    }
    /// Ends the run soon: it raises `HaltereError`.
    fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

/// A finished run.
#[pyclass(frozen, module = "haltere._core")]
pub(crate) struct Run {
    tables: Vec<(&'static str, table::RecordBatch)>,
    events: u64,
    peak_events: u64,
    digest: OnceLock<String>,
    wire: Option<String>,
    files: Vec<(String, Vec<u8>)>,
}

impl Run {
    /// The run of that plan; `wire` is what the wire adds, as JSON.
    pub(crate) fn of(plan: &Plan, record: &Record, wire: Option<String>) -> PyResult<Run> {
        let tables = guard(|| table::tables(plan, record))?;
        Ok(Run {
            tables,
            events: record.events,
            peak_events: record.peak_events,
            digest: OnceLock::new(),
            wire,
            files: Vec::new(),
        })
    }
}

#[pymethods]
impl Run {
    /// The tables by name; each can be given to `pyarrow.table`, pandas or polars (Arrow's PyCapsule interface).
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        for (name, batch) in &self.tables {
            out.set_item(name, Table::new(batch.clone()).into_pyobject(py)?)?;
        }
        Ok(out)
    }
    /// Files beside the tables that the experiment asked for, by name: captures and qlog.
    fn files<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        self.files.iter().try_for_each(|(name, bytes)| out.set_item(name, PyBytes::new(py, bytes)))?;
        Ok(out)
    }
    /// SHA-256 over all tables: equal results, equal digests.
    fn digest(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| guard(|| self.digest.get_or_init(|| table::digest(&self.tables)).clone()))
    }
    /// Events that the simulator handled.
    #[getter]
    fn events(&self) -> u64 {
        self.events
    }
    /// The most events that waited at a time.
    #[getter]
    fn peak_events(&self) -> u64 {
        self.peak_events
    }
    /// On the wire: the calibration and the router's counters, as JSON.
    #[getter]
    fn wire(&self) -> Option<&str> {
        self.wire.as_deref()
    }
}

/// Raises `InputError` if the simulator cannot run the scenario (its sweep left aside): if a queue is a kernel's own, or a
/// flow needs sockets or a stack that its kind does not run on.
#[pyfunction]
pub(crate) fn sim_check(py: Python<'_>, scenario: &Bound<'_, Scenario>) -> PyResult<()> {
    let scenario = scenario.get();
    let lab = &scenario.lab;
    py.detach(|| {
        // A large plan takes long to make, and few experiments have such a queue or flow.
        let text = lab.filled().to_string();
        if ![r#""kind":"kernel""#, r#""kind":"program""#, r#""stack":"#].iter().any(|kind| text.contains(kind)) {
            return Ok(());
        }
        let plan = scenario.plan(0)?;
        let checked = plan.check_queues().and_then(|()| haltere_sim::check_kinds(&plan));
        checked.map_err(|fault| error::input(lab.refuse(*fault)))
    })
}

/// Runs a scenario (its sweep left aside) with that seed in the simulator. Other threads go on meanwhile.
#[pyfunction]
#[pyo3(signature = (scenario, seed, progress = None))]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    seed: u64,
    progress: Option<&Bound<'_, Progress>>,
) -> PyResult<Run> {
    let (scenario, progress) = (scenario.get(), progress.map(|p| p.get()));
    py.detach(|| {
        let plan = scenario.plan(seed)?;
        Progress::begin(progress, &plan);
        let control = progress.map_or_else(RunControl::default, Progress::control);
        let buffers = files::captures(&plan);
        let captures = buffers.iter().map(|(link, buffer)| files::capture(&plan, *link, buffer)).collect();
        let mut record = guard(|| haltere_sim::run_with_captures(&plan, &control, captures))?.map_err(error::run)?;
        let mut run = Run::of(&plan, &record, None)?;
        run.files = files::of(&plan, &mut record, buffers);
        if let Some(progress) = progress {
            progress.at_ns.store(plan.end.as_ns(), Ordering::Relaxed);
        }
        Ok(run)
    })
}
