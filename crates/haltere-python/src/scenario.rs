//! Scenarios.

use crate::error::{HaltereError, guard, input};
use crate::outside::languages;
use haltere_lab::{Scenario as Lab, ScenarioError};
use haltere_plan::Plan;
use haltere_units::Time;
use haltere_units::outside::Outside;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// An experiment, read and checked. It never changes.
#[pyclass(frozen, module = "haltere._core")]
pub(crate) struct Scenario {
    pub(crate) lab: Arc<Lab>,
}

fn wrap(py: Python<'_>, read: impl FnOnce() -> Result<Lab, ScenarioError> + Send) -> PyResult<Scenario> {
    let lab = py.detach(|| guard(read))?.map_err(input)?;
    Ok(Scenario { lab: Arc::new(lab) })
}

/// Reading a text of this many bytes takes so long that Ctrl-C must work meanwhile.
const LONG: usize = 128 << 10;

/// Reads a text. A thread without Python reads a long one, while this thread waits for it or for a signal.
fn read(
    py: Python<'_>,
    read: fn(&str, &str, &Outside) -> Result<Lab, ScenarioError>,
    text: &str,
    name: &str,
) -> PyResult<Scenario> {
    if text.len() < LONG {
        return wrap(py, || read(text, name, languages()));
    }
    let (text, name) = (text.to_string(), name.to_string());
    let reader = std::thread::spawn(move || guard(|| read(&text, &name, languages())));
    while !reader.is_finished() {
        py.detach(|| std::thread::sleep(Duration::from_millis(20)));
        py.check_signals()?;
    }
    let lab = reader.join().map_err(|_| HaltereError::new_err("the thread that reads the experiment broke"))?;
    Ok(Scenario { lab: Arc::new(lab?.map_err(input)?) })
}

impl Scenario {
    /// The plan of the run with that seed.
    pub(crate) fn plan(&self, seed: u64) -> PyResult<Plan> {
        guard(|| self.lab.plan(seed))?.map_err(input)
    }
}

fn json(text: &str) -> PyResult<Value> {
    serde_json::from_str(text).map_err(|e| HaltereError::new_err(format!("value must be JSON, got what is none: {e}")))
}

#[pymethods]
impl Scenario {
    /// Reads an experiment file; `name` is the file's in messages.
    #[staticmethod]
    #[pyo3(signature = (text, name = ""))]
    fn from_toml(py: Python<'_>, text: &str, name: &str) -> PyResult<Scenario> {
        read(py, Lab::parse_with, text, name)
    }
    /// Reads an experiment written as JSON.
    #[staticmethod]
    #[pyo3(signature = (text, name = ""))]
    fn from_json(py: Python<'_>, text: &str, name: &str) -> PyResult<Scenario> {
        read(py, Lab::from_json_with, text, name)
    }
    /// The full experiment with every default, as JSON.
    fn to_json(&self) -> PyResult<String> {
        guard(|| self.lab.filled().to_string())
    }
    /// Names a run: equal hashes, equal results. Covers this version, the seed and what decides the result.
    fn hash(&self, seed: u64) -> PyResult<String> {
        guard(|| self.lab.hash(seed, env!("CARGO_PKG_VERSION")))
    }
    /// The points of the sweep: what each sets, and its scenario.
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Vec<(Bound<'py, PyDict>, Scenario)>> {
        let points = py.detach(|| guard(|| self.lab.points()))?.map_err(input)?;
        let loads = py.import("json")?.getattr("loads")?;
        let mut out = Vec::with_capacity(points.len());
        for point in points {
            let settings = PyDict::new(py);
            for (path, value) in point.settings {
                settings.set_item(path, loads.call1((value.to_string(),))?)?;
            }
            out.push((settings, Scenario { lab: Arc::new(point.scenario) }));
        }
        Ok(out)
    }
    /// The scenario with the key at a dotted path set to a value, given as JSON.
    fn set(&self, py: Python<'_>, path: &str, value: &str) -> PyResult<Scenario> {
        let value = json(value)?;
        wrap(py, || self.lab.with(path, value))
    }
    /// The scenario with all these keys set, each a dotted path and a value as JSON; checked once when all are set.
    fn set_all(&self, py: Python<'_>, changes: Vec<(String, String)>) -> PyResult<Scenario> {
        let changes =
            changes.into_iter().map(|(path, value)| Ok((path, json(&value)?))).collect::<PyResult<Vec<_>>>()?;
        wrap(py, || self.lab.with_all(changes))
    }
    /// A drawing of the network as JSON: nodes and links, equal ones merged.
    fn drawing(&self, py: Python<'_>) -> PyResult<String> {
        let drawing = py.detach(|| guard(|| self.lab.drawing()))?.map_err(input)?;
        serde_json::to_string(&drawing).map_err(|e| HaltereError::new_err(e.to_string()))
    }
    /// What a link can carry between each of these instants (seconds, rising) and the next, in bits; `None` if packets
    /// take no time. The seed draws what is drawn.
    fn capacity(&self, py: Python<'_>, link: &str, instants_s: Vec<f64>, seed: u64) -> PyResult<Option<Vec<f64>>> {
        let instants: Vec<Time> =
            instants_s.iter().map(|at| Time::from_ns((at.max(0.0) * 1e9).round() as u64)).collect();
        py.detach(|| guard(|| self.lab.capacity(link, &instants, seed)))?.map_err(input)
    }
    /// What changes on a direction of a link in the course of a run with that seed, as JSON; `None` if nothing does.
    fn varying(&self, py: Python<'_>, link: &str, seed: u64) -> PyResult<Option<String>> {
        let plan = py.detach(|| self.plan(seed))?;
        let varying = plan.links.iter().find(|one| one.name == link).and_then(|one| one.varying.as_deref());
        let text = varying.map(serde_json::to_string).transpose();
        text.map_err(|e| HaltereError::new_err(e.to_string()))
    }
    /// The directions of the links of a run, as JSON: name, rate in bit/s, base round-trip time in seconds, queue, and
    /// whether it is watched.
    fn links(&self, py: Python<'_>) -> PyResult<String> {
        let plan = py.detach(|| self.plan(0))?;
        let links: Vec<Value> = plan
            .links
            .iter()
            .map(|link| {
                serde_json::json!({
                    "name": link.name, "watched": link.watched, "varies": link.varying.is_some(), "queue": link.queue,
                    "rate_bps": link.rate.map(|rate| rate.as_bps()), "rtt_s": link.rtt.map(|rtt| rtt.as_secs_f64()),
                })
            })
            .collect();
        Ok(Value::Array(links).to_string())
    }
    /// What it is about.
    #[getter]
    fn title(&self) -> &str {
        &self.lab.title
    }
    /// How many times it is repeated.
    #[getter]
    fn seeds(&self) -> u32 {
        self.lab.seeds
    }
    /// How long a run lasts, in seconds.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.lab.duration.as_secs_f64()
    }
    /// What the statistics leave out at the start, in seconds.
    #[getter]
    fn warmup_s(&self) -> f64 {
        self.lab.warmup.as_secs_f64()
    }
    // For pickle: a scenario travels as the full experiment.
    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<(Py<PyAny>, (String,))> {
        let make = slf.get_type().getattr("from_json")?.unbind();
        Ok((make, (slf.get().to_json()?,)))
    }
}
