//! A flow classifier written in Python.

use super::events::Packet;
use super::fault::refused;
use super::script::{Kind, Script, about, link};
use haltere_queue::LinkContext;
use haltere_queue::classify::Class;
use haltere_queue::classify::outside::{Maker, OutsideClassifier, Params};
use haltere_queue::outside::PacketView;
use haltere_units::outside::{About, Location};
use haltere_units::{ParamError, Probe, Time};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

static KIND: Kind = Kind { name: "classifiers", methods: &["classify"] };

/// Makes classifiers.
pub(super) struct Classifiers;

impl Maker for Classifiers {
    fn about(&self, at: Location<'_>) -> Result<About, ParamError> {
        about(&KIND, at)
    }
    fn make(&self, params: &Params, context: &LinkContext) -> Result<Box<dyn OutsideClassifier>, ParamError> {
        let made = Python::attach(|py| -> PyResult<_> {
            let script = Script::new(&KIND, params, &context.outside, &link(py, context)?)?;
            let is_random = script.is(py, "is_random")?;
            let is_constant_per_flow = script.is(py, "is_constant_per_flow")?;
            Ok(PythonClassifier { script, is_constant_per_flow, is_random, is_unseeded: is_random })
        });
        Ok(Box::new(made.map_err(refused)?))
    }
}

#[derive(Debug)]
struct PythonClassifier {
    script: Script,
    is_constant_per_flow: bool,
    is_random: bool,
    /// Its random numbers follow from the queue's stream, which is not there before the first packet.
    is_unseeded: bool,
}

impl OutsideClassifier for PythonClassifier {
    fn classify(&mut self, now: Time, packet: &PacketView, random: &mut dyn FnMut() -> u64) -> Class {
        let is_unseeded = std::mem::take(&mut self.is_unseeded);
        let class = self.script.call(0, |object, classify| {
            if is_unseeded {
                object.getattr("random")?.call_method1("seed", (random(),))?;
            }
            let class = classify.call1((now.as_ns(), Packet((*packet, now))))?;
            match class.extract::<String>().as_deref() {
                Ok("short") => Ok(Some(Class::Short)),
                Ok("long") => Ok(Some(Class::Long)),
                _ => {
                    let text = format!("`classify` must return `\"short\"` or `\"long\"`, got `{}`", class.repr()?);
                    Err(PyTypeError::new_err(text).into())
                }
            }
        });
        class.unwrap_or(Class::Short)
    }
    fn is_constant_per_flow(&self) -> bool {
        self.is_constant_per_flow
    }
    fn is_random(&self) -> bool {
        self.is_random
    }
    fn probe(&self, row: &mut Probe) {
        self.script.probe(row);
    }
    fn clone_box(&self) -> Box<dyn OutsideClassifier> {
        Box::new(PythonClassifier { script: self.script.copy(), ..*self })
    }
}
