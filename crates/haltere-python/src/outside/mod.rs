//! Mechanisms written in Python: the language `python` of mechanisms from outside.
//!
//! What a class is, and how one is made, is Python's (`haltere.mechanisms.find`). Here are the events as Python sees them, and the calls: each
//! crosses the border once, with objects that are made once where that is possible.

mod classifier;
mod control;
mod events;
mod fault;
mod queue;
mod scheduler;
mod source;

pub(crate) use events::{AckEvent, LossEvent, LostSegment, Packet, RateSample, RestartEvent, RtoEvent, Sibling};
pub(crate) use fault::cause;
pub(crate) use scheduler::{PathView, Relations, SegView};

use crate::error::HaltereError;
use haltere_units::ParamError;
use haltere_units::outside::{About, Format, Location, Makers, Outside, Parameter, Reporter};
use pyo3::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The module that finds classes.
const FIND: &str = "haltere.mechanisms.find";

/// The languages of this extension.
static LANGUAGES: OnceLock<Outside> = OnceLock::new();

/// The languages of this extension, for whatever reads an experiment or a name.
pub(crate) fn languages() -> &'static Outside {
    LANGUAGES.get_or_init(|| with(Makers::default()))
}

/// Adds languages to those of this extension, before anything was read.
pub(crate) fn extend(makers: Makers) -> PyResult<()> {
    let late = |_| HaltereError::new_err("languages must be added once, before an experiment is read");
    LANGUAGES.set(with(makers)).map_err(late)
}

/// These languages and those that every extension has.
fn with(mut makers: Makers) -> Outside {
    makers.add::<dyn haltere_congestion::outside::Maker>("python", Box::new(control::Controls));
    makers.add::<dyn haltere_queue::outside::Maker>("python", Box::new(queue::Queues));
    makers.add::<dyn haltere_queue::classify::outside::Maker>("python", Box::new(classifier::Classifiers));
    makers
        .add::<dyn haltere_transport::multipath::scheduler::outside::Maker>("python", Box::new(scheduler::Schedulers));
    makers.add::<dyn haltere_plan::app::outside::Maker>("python", Box::new(source::Sources));
    haltere_wasm::add(&mut makers);
    haltere_gym::add(&mut makers);
    Outside::of(&Arc::new(makers))
}

/// What a source is, as a mechanism of that kind.
fn about(kind: &str, at: Location<'_>) -> Result<About, ParamError> {
    Python::attach(|py| {
        let told = py.import(FIND)?.call_method1("about", (kind, at.source, at.folder))?;
        told.extract::<String>()
    })
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

/// What Python refused. Anything but its own `Refused` is an error of the user's class.
fn refused(error: PyErr) -> ParamError {
    Python::attach(|py| {
        let value = error.value(py);
        let text = |name: &str| value.getattr(name).and_then(|text| text.extract::<String>());
        match (text("name"), text("rule"), text("got"), text("hint")) {
            (Ok(name), Ok(rule), Ok(got), Ok(hint)) => ParamError::new(name, rule, got).hint(hint),
            _ => ParamError::new("kind", "a class that can be used", fault::told(py, &error).0),
        }
    })
}

/// A text for as long as the process lives: the names that a class shows. Each is kept once.
fn kept(text: &str) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept.get(text) {
        return known;
    }
    let boxed: Box<str> = text.into();
    let new: &'static str = Box::leak(boxed);
    kept.insert(new);
    new
}

/// Attributes that time series show, with their units.
type Shows = Vec<(&'static str, &'static str)>;

fn shows(written: Vec<(String, String)>) -> Shows {
    written.iter().map(|(name, unit)| (kept(name), kept(unit))).collect()
}

/// Shows the attributes of a mechanism that are numbers; one that is `None` has no value now.
fn probe(object: &Py<PyAny>, reporter: &Reporter, shows: &Shows, row: &mut haltere_units::Probe) {
    if shows.is_empty() {
        return;
    }
    Python::attach(|py| {
        let shown = shows.iter().try_for_each(|(name, unit)| {
            if let Some(value) = object.bind(py).getattr(*name)?.extract::<Option<f64>>()? {
                row.push(name, unit, value);
            }
            Ok(())
        });
        if let Err(error) = shown {
            fault::raised(py, reporter, "shows", error);
        }
    });
}
