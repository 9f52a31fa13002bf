//! The gym: runs in steps, with decisions from Python.

use crate::error::{InputError, guard};
use crate::scenario::Scenario;
use haltere_gym as gym;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A field: name, group, unit, least and largest value, meaning.
type Field = (&'static str, &'static str, &'static str, f64, f64, &'static str);
/// An action: name, values, choices, unit, least and largest value, meaning.
type Action = (&'static str, usize, usize, &'static str, f64, f64, &'static str);

/// The fields that a sender observes, or a queue.
#[pyfunction]
pub(crate) fn gym_fields(queue: bool) -> Vec<Field> {
    let table = if queue { gym::QUEUE } else { gym::SENDER };
    table.iter().map(|f| (f.name, f.group, f.unit, f.low, f.high, f.meaning)).collect()
}

/// The names of the exact whole numbers of a sender, or of a queue.
#[pyfunction]
pub(crate) fn gym_counters(queue: bool) -> Vec<&'static str> {
    if queue { gym::QUEUE_COUNTERS.to_vec() } else { gym::SENDER_COUNTERS.to_vec() }
}

/// The actions.
#[pyfunction]
pub(crate) fn gym_actions() -> Vec<Action> {
    gym::ACTIONS.iter().map(|a| (a.name, a.width, a.choices, a.unit, a.low, a.high, a.meaning)).collect()
}

/// A policy, which maps observations to decisions.
#[pyclass(frozen, module = "haltere._core")]
pub(crate) struct GymPolicy {
    policy: gym::Policy,
}

#[pymethods]
impl GymPolicy {
    /// Reads the text of a policy file.
    #[new]
    fn new(text: &str) -> PyResult<GymPolicy> {
        let policy = guard(|| gym::Policy::parse(text))?;
        Ok(GymPolicy { policy: policy.map_err(|error| InputError::new_err(format!("policy: {error}")))? })
    }
    /// The decisions for rows of observations, one row after another.
    fn act(&self, observed: PyBuffer<f64>, py: Python<'_>) -> PyResult<Vec<f64>> {
        let observed = observed.to_vec(py)?;
        let inputs = self.policy.inputs();
        if observed.len() % inputs != 0 {
            return Err(InputError::new_err(format!("observations must be rows of {inputs}, got {}", observed.len())));
        }
        guard(|| observed.chunks(inputs).flat_map(|row| self.policy.act(row)).collect())
    }
}

/// Environments that take their steps together.
#[pyclass(frozen, module = "haltere._core")]
pub(crate) struct Gym {
    gym: Mutex<gym::Gym>,
}

fn wrong(message: String) -> PyErr {
    InputError::new_err(message)
}

impl Gym {
    fn lock(&self) -> MutexGuard<'_, gym::Gym> {
        self.gym.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Does `work` with the interpreter's lock released.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut gym::Gym) -> Result<T, String> + Send,
    ) -> PyResult<T> {
        py.detach(|| guard(|| work(&mut self.lock())))?.map_err(wrong)
    }
}

fn length(name: &str, got: usize, rule: usize) -> PyResult<()> {
    if got == rule { Ok(()) } else { Err(InputError::new_err(format!("{name} must have {rule} values, got {got}"))) }
}

#[pymethods]
impl Gym {
    /// `envs` environments over these networks, on `threads` threads. `choices` is JSON.
    #[new]
    fn new(
        py: Python<'_>,
        networks: Vec<Bound<'_, Scenario>>,
        choices: &str,
        envs: usize,
        threads: usize,
        fixed: bool,
    ) -> PyResult<Gym> {
        let networks = networks.iter().map(|scenario| Arc::clone(&scenario.get().lab)).collect();
        let choices: gym::Choices =
            serde_json::from_str(choices).map_err(|error| InputError::new_err(format!("gym: {error}")))?;
        let spec = py.detach(|| guard(|| gym::Spec::new(networks, choices, fixed)))?.map_err(wrong)?;
        Ok(Gym { gym: Mutex::new(gym::Gym::new(spec, envs, threads)) })
    }
    /// Names of those that decide, in the first network.
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |gym| gym.spec().names())
    }
    /// A new run begins in the environments whose `which` is true. A seed makes it the first run of that seed.
    fn reset(&self, py: Python<'_>, which: Vec<bool>, seeds: Vec<Option<u64>>) -> PyResult<()> {
        let envs = self.lock().len();
        length("which", which.len(), envs)?;
        length("seeds", seeds.len(), envs)?;
        self.with(py, |gym| gym.reset(&which, &seeds))
    }
    /// One step of every environment. With `restart` a run that is over is followed by the next; without, it stays as
    /// it is.
    fn step(&self, py: Python<'_>, values: PyBuffer<f64>, restart: bool) -> PyResult<()> {
        let values = values.to_vec(py)?;
        let width = {
            let gym = self.lock();
            gym.len() * gym.spec().agents * gym.spec().action.spec().width
        };
        length("actions", values.len(), width)?;
        if let Some(value) = values.iter().find(|value| !value.is_finite()) {
            return Err(InputError::new_err(format!("actions must be finite, got {value}")));
        }
        self.with(py, |gym| gym.step(&values, restart))
    }
    /// Writes the results of the last step or reset: fields, exact whole numbers, and flags.
    fn show(&self, py: Python<'_>, rows: PyBuffer<f64>, counters: PyBuffer<i64>, flags: PyBuffer<u8>) -> PyResult<()> {
        let (mut row, mut count, mut flag);
        {
            let gym = self.lock();
            let agents = gym.len() * gym.spec().agents;
            row = vec![0.0; agents * gym.spec().fields().len()];
            count = vec![0; agents * gym.spec().counters().len()];
            flag = vec![0; agents];
            gym.show(gym::Shown { rows: &mut row, counters: &mut count, flags: &mut flag });
        }
        rows.copy_from_slice(py, &row)?;
        counters.copy_from_slice(py, &count)?;
        flags.copy_from_slice(py, &flag)
    }
}
