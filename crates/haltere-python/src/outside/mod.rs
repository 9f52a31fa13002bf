//! Mechanisms written in Python: the language `python` of mechanisms from outside.
//!
//! Python finds classes and makes objects of them (`haltere.mechanisms.find`). Here are the events as Python sees them,
//! and the calls. Each call crosses the border once, and reuses objects where that is possible.

mod classifier;
mod control;
mod events;
pub(crate) mod fault;
mod queue;
mod scheduler;
mod script;
mod source;

pub(crate) use events::{AckEvent, LossEvent, LostSegment, Packet, RateSample, RestartEvent, RtoEvent, Sibling};
pub(crate) use scheduler::{PathView, Relations, SegView};

use crate::error::HaltereError;
use haltere_units::outside::{Makers, Outside};
use pyo3::prelude::*;
use std::sync::{Arc, OnceLock};

/// The languages of this extension. A Python module has one set of functions, to which nobody can hand a table of
/// languages, so there is one for the process. It is set once; all that runs is handed it by the experiment.
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
    haltere_stack::add(&mut makers);
    Outside::of(&Arc::new(makers))
}
