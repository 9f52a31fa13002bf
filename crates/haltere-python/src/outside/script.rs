//! What all mechanisms written in Python have in common: how one is made, called, copied and shown.

use super::fault::{FIND, raised, refused};
use haltere_plan::kept;
use haltere_queue::LinkContext;
use haltere_units::outside::{About, Format, Location, Outside, Parameter, Params, Reporter};
use haltere_units::{ParamError, Probe, Rate};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;
use std::sync::Arc;

/// A kind of mechanism: its name in `find.KINDS`, and the methods that Rust calls.
#[derive(Debug)]
pub(super) struct Kind {
    pub name: &'static str,
    pub methods: &'static [&'static str],
}

/// A mechanism written in Python. After an error it is not called again.
#[derive(Debug)]
pub(super) struct Script {
    object: Py<PyAny>,
    /// The methods of the kind; `None` for one that the class leaves as it is.
    methods: Vec<Option<Py<PyAny>>>,
    fixed: Arc<Fixed>,
    pub has_failed: bool,
}

/// What does not change.
#[derive(Debug)]
struct Fixed {
    kind: &'static Kind,
    reporter: Reporter,
    /// Attributes that time series show, with their units.
    shows: Vec<(&'static str, &'static str)>,
}

/// Why a call failed.
pub(super) enum Wrong {
    /// The class raised an error.
    Raised(PyErr),
    /// What the call must do, and what it did.
    Broke { rule: String, got: String },
}

impl From<PyErr> for Wrong {
    fn from(error: PyErr) -> Wrong {
        Wrong::Raised(error)
    }
}

/// What Python's `make` gives: the object, its methods in the order of the kind, and what it shows with units.
type Made = (Py<PyAny>, Vec<Option<Py<PyAny>>>, Vec<(String, String)>);

impl Script {
    /// A mechanism of these parameters. `context` is set before its `__init__` runs.
    pub fn new(kind: &'static Kind, params: &Params, run: &Outside, context: &Bound<'_, PyDict>) -> PyResult<Script> {
        let Params { source, folder, digest, .. } = params;
        let parameters = serde_json::to_string(&params.parameters).unwrap_or_default();
        let given = (kind.name, source, folder, digest, parameters, kind.methods, context);
        let made = context.py().import(FIND)?.call_method1("make", given)?;
        let (object, methods, shows): Made = made.extract()?;
        let shows = shows.iter().map(|(name, unit)| (kept(name), kept(unit))).collect();
        let fixed = Arc::new(Fixed { kind, reporter: Reporter::new(params, run), shows });
        Ok(Script { object, methods, fixed, has_failed: false })
    }

    pub fn object<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.object.bind(py)
    }
    /// An attribute that is true or false.
    pub fn is(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        self.object(py).getattr(name)?.is_truthy()
    }
    /// The class has a method of its own for that call.
    pub fn has(&self, method: usize) -> bool {
        self.methods.get(method).is_some_and(Option::is_some)
    }

    /// Calls that method, if the class has it: `work` is given the object and the method. An error ends the run.
    pub fn call<T: Default>(
        &mut self,
        method: usize,
        work: impl for<'py> FnOnce(&Bound<'py, PyAny>, &Bound<'py, PyAny>) -> Result<T, Wrong>,
    ) -> T {
        if self.has_failed {
            return T::default();
        }
        let Some(Some(bound)) = self.methods.get(method) else { return T::default() };
        Python::attach(|py| {
            work(self.object.bind(py), bound.bind(py)).unwrap_or_else(|wrong| {
                self.has_failed = true;
                let Fixed { kind, reporter, .. } = &*self.fixed;
                match wrong {
                    Wrong::Raised(error) => raised(py, reporter, kind.methods[method], error),
                    Wrong::Broke { rule, got } => reporter.raise(kind.methods[method], &rule, got),
                }
                T::default()
            })
        })
    }

    /// A copy with the same state.
    pub fn copy(&self) -> Script {
        Python::attach(|py| {
            let (fixed, mut has_failed) = (self.fixed.clone(), self.has_failed);
            let copied = py
                .import(FIND)
                .and_then(|find| find.call_method1("copy", (&self.object, fixed.kind.methods))?.extract());
            let (object, methods) = copied.unwrap_or_else(|error| {
                has_failed = true;
                raised(py, &fixed.reporter, "copy", error);
                (self.object.clone_ref(py), Vec::new())
            });
            Script { object, methods, fixed, has_failed }
        })
    }

    /// Shows the attributes that are numbers; one that is `None` has no value now.
    pub fn probe(&self, row: &mut Probe) {
        if self.has_failed || self.fixed.shows.is_empty() {
            return;
        }
        Python::attach(|py| {
            let shown = self.fixed.shows.iter().try_for_each(|(name, unit)| {
                if let Some(value) = self.object(py).getattr(*name)?.extract::<Option<f64>>()? {
                    row.push(name, unit, value);
                }
                Ok(())
            });
            if let Err(error) = shown {
                raised(py, &self.fixed.reporter, "shows", error);
            }
        });
    }
}

/// What a queue discipline or a classifier knows of its link. Its random numbers are seeded by the first packet.
pub(super) fn link<'py>(py: Python<'py>, link: &LinkContext) -> PyResult<Bound<'py, PyDict>> {
    let context = seed(py, 0)?;
    context.set_item("rate", link.rate.map(Rate::as_bps))?;
    context.set_item("rtt", link.rtt.map(|rtt| rtt.as_ns()))?;
    context.set_item("full_packet", link.packet.as_u64())?;
    Ok(context)
}

/// A context with the seed of the random numbers alone.
pub(super) fn seed(py: Python<'_>, seed: u64) -> PyResult<Bound<'_, PyDict>> {
    let context = PyDict::new(py);
    context.set_item("seed", seed)?;
    Ok(context)
}

/// What a source is, as a mechanism of that kind.
pub(super) fn about(kind: &Kind, at: Location<'_>) -> Result<About, ParamError> {
    Python::attach(|py| py.import(FIND)?.call_method1("about", (kind.name, at.source, at.folder))?.extract::<String>())
        .map_err(refused)
        .map(|json| read(&serde_json::from_str(&json).unwrap_or_default()))
}

fn read(told: &Value) -> About {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let parameter = |one: &Value| Parameter {
        name: text(&one["name"]),
        meaning: text(&one["meaning"]),
        format: Format::of(&text(&one["format"])).unwrap_or(Format::Text),
        default: one.get("default").cloned(),
        minimum: one["min"].as_f64(),
        maximum: one["max"].as_f64(),
        values: one["values"].as_array().into_iter().flatten().map(text).collect(),
    };
    About {
        name: text(&told["name"]),
        summary: text(&told["summary"]),
        digest: text(&told["digest"]),
        parameters: told["parameters"].as_array().into_iter().flatten().map(parameter).collect(),
    }
}
