//! Runs that are watched and changed while they go on.

use crate::error::{self, HaltereError, InputError, guard};
use crate::run::{Progress, Run};
use crate::scenario::Scenario;
use haltere_plan::Plan;
use haltere_plan::record::{FlowSample, PingSample, QueueSample, sender_values};
use haltere_sim::{Fresh, Live as Sim, RunControl, RunError};
use haltere_units::{Dur, Probe, Time};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A run that is watched and changed while it goes on. Without changes it gives the results of `run`.
#[pyclass(frozen, module = "haltere._core")]
pub(crate) struct Live {
    /// `None` once it is finished, or broken by a panic.
    sim: Mutex<Option<Sim>>,
}

impl Live {
    fn lock(&self) -> MutexGuard<'_, Option<Sim>> {
        self.sim.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Does `work` with the run. A panic ends the run for good.
    fn with<T>(&self, work: impl FnOnce(&mut Sim) -> Result<T, RunError>) -> PyResult<T> {
        let mut held = self.lock();
        let mut sim = held.take().ok_or_else(finished)?;
        let (sim, result) = guard(|| {
            let result = work(&mut sim);
            (sim, result)
        })?;
        *held = Some(sim);
        result.map_err(error::run)
    }
}

fn finished() -> PyErr {
    HaltereError::new_err("the live run must be one that goes on, got one that is finished")
}

#[pymethods]
impl Live {
    #[new]
    fn new(py: Python<'_>, scenario: &Bound<'_, Scenario>, seed: u64) -> PyResult<Live> {
        let scenario = scenario.get();
        py.detach(|| {
            let plan = scenario.plan(seed)?;
            let sim = guard(|| Sim::new(plan))?.map_err(error::run)?;
            Ok(Live { sim: Mutex::new(Some(sim)) })
        })
    }
    /// Goes on by so many seconds of virtual time, at most to the end. Other threads go on meanwhile.
    #[pyo3(signature = (seconds, progress = None))]
    fn advance(&self, py: Python<'_>, seconds: f64, progress: Option<&Bound<'_, Progress>>) -> PyResult<()> {
        if !(0.0..=1e9).contains(&seconds) {
            return Err(InputError::new_err(format!("seconds must be from 0 to 1e9, got {seconds}")));
        }
        let progress = progress.map(|p| p.get());
        let control = progress.map_or_else(RunControl::default, Progress::control);
        py.detach(|| self.with(|sim| sim.advance(sim.now() + Dur::from_secs_f64(seconds), &control)))
    }
    /// The samples taken since the last call, as columns: of `queues`, `flows` and `pings`. Those of the flows in
    /// `inner` have their inner values.
    #[pyo3(signature = (inner = Vec::new()))]
    fn samples<'py>(&self, py: Python<'py>, inner: Vec<u32>) -> PyResult<Bound<'py, PyDict>> {
        let mut held = self.lock();
        let Fresh { plan, queues, flows, pings } = held.as_mut().ok_or_else(finished)?.fresh();
        let out = PyDict::new(py);
        out.set_item("queues", columns_of_queues(py, queues, plan)?)?;
        out.set_item("flows", columns_of_flows(py, flows, &inner)?)?;
        out.set_item("pings", columns_of_pings(py, pings)?)?;
        Ok(out)
    }
    /// The inner values of a link's discipline at this time: name, unit, value.
    fn queue_state(&self, link: usize) -> PyResult<Vec<Value>> {
        let mut held = self.lock();
        let probe = held.as_mut().ok_or_else(finished)?.queue_state(link);
        Ok(probe.as_ref().map_or_else(Vec::new, values))
    }
    /// The inner values of a flow's sender and of its congestion control at this time: name, unit, value. Empty without
    /// a sender of TCP.
    fn flow_state(&self, flow: usize) -> PyResult<Vec<Value>> {
        let held = self.lock();
        let state = held.as_ref().ok_or_else(finished)?.flow_state(flow);
        Ok(state.map_or_else(Vec::new, |(info, control)| [sender_values(&info), values(&control)].concat()))
    }
    /// From now on `scenario` holds: links may have another rate, delay (both also in their course), jitter, loss and
    /// discipline, flows may be added after those there are, and a flow may get an earlier stop. Raises `InputError`
    /// where it differs otherwise; nothing is changed then.
    fn change(&self, py: Python<'_>, scenario: &Bound<'_, Scenario>) -> PyResult<()> {
        let scenario = scenario.get();
        py.detach(|| {
            let seed = self.lock().as_ref().ok_or_else(finished)?.plan().seed;
            let plan = scenario.plan(seed)?;
            self.with(|sim| sim.change(plan))
        })
    }
    /// Ends the run where it is: its tables.
    fn finish(&self, py: Python<'_>) -> PyResult<Run> {
        py.detach(|| {
            let sim = self.lock().take().ok_or_else(finished)?;
            let (plan, record) = guard(|| sim.finish())?;
            Run::of(&plan, &record, None)
        })
    }
    /// The virtual time reached, in seconds.
    #[getter]
    fn now_s(&self) -> PyResult<f64> {
        self.lock().as_ref().map(|sim| seconds(sim.now())).ok_or_else(finished)
    }
    /// Names of the links, by index.
    #[getter]
    fn links(&self) -> PyResult<Vec<String>> {
        let held = self.lock();
        let sim = held.as_ref().ok_or_else(finished)?;
        Ok(sim.plan().links.iter().map(|link| link.name.clone()).collect())
    }
    /// Names of the flows, by index.
    #[getter]
    fn flows(&self) -> PyResult<Vec<String>> {
        let held = self.lock();
        let sim = held.as_ref().ok_or_else(finished)?;
        Ok(sim.plan().flows.iter().map(|flow| flow.name.clone()).collect())
    }
}

fn seconds(at: Time) -> f64 {
    at.as_ns() as f64 / 1e9
}

/// A mapping of columns, each a list with a value for each of `rows`.
macro_rules! columns {
    ($py:ident, $rows:ident; $($name:literal: $value:expr;)+) => {{
        let out = PyDict::new($py);
        $(out.set_item($name, $rows.iter().map($value).collect::<Vec<_>>())?;)+
        out
    }};
}

/// An inner value: name, unit, number.
type Value = (&'static str, &'static str, f64);

fn values(probe: &Probe) -> Vec<Value> {
    probe.values().to_vec()
}

/// Inner variables, one mapping a sample.
fn vars<'py>(py: Python<'py>, values: &[(&'static str, f64)]) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    values.iter().try_for_each(|(name, value)| out.set_item(name, value))?;
    Ok(out)
}

fn columns_of_queues<'py>(py: Python<'py>, rows: &[QueueSample], plan: &Plan) -> PyResult<Bound<'py, PyDict>> {
    let out = columns! { py, rows;
        "t": |s| seconds(s.at);
        "link": |s| s.link;
        "packets": |s| s.packets + s.ring_packets;
        "bytes": |s| s.bytes;
        "dropped": |s| s.dropped;
        "marked": |s| s.marked;
        "sent_bytes": |s| s.sent_bytes;
        "capacity": |s| plan.capacity_before(s);
    };
    out.set_item("vars", rows.iter().map(|s| vars(py, &s.vars)).collect::<PyResult<Vec<_>>>()?)?;
    Ok(out)
}

fn columns_of_flows<'py>(py: Python<'py>, rows: &[FlowSample], inner: &[u32]) -> PyResult<Bound<'py, PyDict>> {
    let out = columns! { py, rows;
        "t": |s| seconds(s.at);
        "flow": |s| s.flow;
        "received": |s| s.received;
        "cwnd": |s| s.sender.cwnd.as_u64();
        "in_flight": |s| s.sender.in_flight.as_u64();
        "delivered": |s| s.sender.delivered * s.sender.mss.as_u64();
        "srtt_s": |s| s.sender.srtt.as_secs_f64();
        "retransmissions": |s| s.sender.retransmissions;
    };
    let values = |s: &FlowSample| {
        let common = sender_values(&s.sender).into_iter().map(|(name, _, value)| (name, value));
        vars(py, &common.chain(s.control.iter().copied()).collect::<Vec<_>>())
    };
    let values = rows.iter().map(|s| inner.contains(&s.flow).then(|| values(s)).transpose());
    out.set_item("vars", values.collect::<PyResult<Vec<_>>>()?)?;
    Ok(out)
}

fn columns_of_pings<'py>(py: Python<'py>, rows: &[PingSample]) -> PyResult<Bound<'py, PyDict>> {
    Ok(columns! { py, rows;
        "t": |s| seconds(s.at);
        "flow": |s| s.flow;
        "rtt_s": |s| s.rtt.as_secs_f64();
    })
}
