//! Mechanisms written in Python: the language `python` of the tables of mechanisms from outside.
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

use haltere_units::ParamError;
use haltere_units::outside::{About, Format, Location, Parameter};
use pyo3::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The module that finds classes.
const FIND: &str = "haltere.mechanisms.find";

/// Makes the language known to this process.
pub(crate) fn register() {
    haltere_congestion::outside::register("python", Box::new(control::Controls));
    haltere_queue::outside::register("python", Box::new(queue::Queues));
    haltere_queue::classify::outside::register("python", Box::new(classifier::Classifiers));
    haltere_transport::multipath::scheduler::outside::register("python", Box::new(scheduler::Schedulers));
    haltere_plan::app::outside::register("python", Box::new(source::Sources));
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
fn probe(object: &Py<PyAny>, kind: &str, shows: &Shows, row: &mut haltere_units::Probe) {
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
            fault::raised(py, kind, "shows", error);
        }
    });
}
