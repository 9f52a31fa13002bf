//! A flow classifier written in Python.

use super::events::Packet;
use super::{FIND, Shows, about, fault, probe, refused, shows};
use haltere_queue::LinkContext;
use haltere_queue::classify::Class;
use haltere_queue::classify::outside::{Maker, OutsideClassifier, Params};
use haltere_queue::outside::PacketView;
use haltere_units::outside::{About, Location, Reporter};
use haltere_units::{ParamError, Probe, Rate, Time};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use std::sync::Arc;

/// Makes them.
pub(super) struct Classifiers;

impl Maker for Classifiers {
    fn about(&self, at: Location<'_>) -> Result<About, ParamError> {
        about("classifiers", at)
    }
    fn make(&self, params: &Params, link: &LinkContext) -> Result<Box<dyn OutsideClassifier>, ParamError> {
        let made = Python::attach(|py| PythonClassifier::new(py, params, link)).map_err(refused)?;
        Ok(Box::new(made))
    }
}

/// A classifier written in Python.
#[derive(Debug)]
struct PythonClassifier {
    object: Py<PyAny>,
    classify: Py<PyAny>,
    fixed: Arc<Fixed>,
    /// Its random numbers follow from the queue's stream, which is not there before the first packet.
    is_seeded: bool,
    has_failed: bool,
}

/// What does not change.
#[derive(Debug)]
struct Fixed {
    reporter: Reporter,
    is_constant_per_flow: bool,
    is_random: bool,
    shows: Shows,
}

/// What Python gives of a classifier.
type Made = (Py<PyAny>, Py<PyAny>, bool, bool, Vec<(String, String)>);

impl PythonClassifier {
    fn new(py: Python<'_>, params: &Params, link: &LinkContext) -> PyResult<PythonClassifier> {
        let Params { source, folder, digest, .. } = params;
        let parameters = serde_json::to_string(&params.parameters).unwrap_or_default();
        let (rate, rtt) = (link.rate.map(Rate::as_bps), link.rtt.map(|rtt| rtt.as_ns()));
        let given = (source, folder, digest, parameters, rate, rtt, link.packet.as_u64());
        let made: Made = py.import(FIND)?.call_method1("make_classifier", given)?.extract()?;
        let (object, classify, is_constant_per_flow, is_random, written) = made;
        let fixed = Fixed {
            reporter: Reporter::new(params, &link.outside),
            is_constant_per_flow,
            is_random,
            shows: shows(written),
        };
        Ok(PythonClassifier { object, classify, fixed: Arc::new(fixed), is_seeded: false, has_failed: false })
    }
    fn seed(&mut self, py: Python<'_>, random: &mut dyn FnMut() -> u64) -> PyResult<()> {
        if self.fixed.is_random && !self.is_seeded {
            self.is_seeded = true;
            let stream = self.object.bind(py).getattr(intern!(py, "random"))?;
            stream.call_method1(intern!(py, "seed"), (random(),))?;
        }
        Ok(())
    }
}

/// The class that `classify` returned.
fn class(given: &Bound<'_, PyAny>) -> PyResult<Class> {
    match given.extract::<String>().as_deref() {
        Ok("short") => Ok(Class::Short),
        Ok("long") => Ok(Class::Long),
        _ => {
            let text = format!("`classify` must return `\"short\"` or `\"long\"`, got `{}`", given.repr()?);
            Err(PyTypeError::new_err(text))
        }
    }
}

impl OutsideClassifier for PythonClassifier {
    fn classify(&mut self, now: Time, packet: &PacketView, random: &mut dyn FnMut() -> u64) -> Class {
        if self.has_failed {
            return Class::Short;
        }
        Python::attach(|py| {
            let outcome = self.seed(py, random).and_then(|()| {
                class(&self.classify.bind(py).call1((now.as_ns(), Packet { view: *packet, arrived: now }))?)
            });
            outcome.unwrap_or_else(|error| {
                self.has_failed = true;
                fault::raised(py, &self.fixed.reporter, "classify", error);
                Class::Short
            })
        })
    }
    fn is_constant_per_flow(&self) -> bool {
        self.fixed.is_constant_per_flow
    }
    fn is_random(&self) -> bool {
        self.fixed.is_random
    }
    fn probe(&self, row: &mut Probe) {
        if !self.has_failed {
            probe(&self.object, &self.fixed.reporter, &self.fixed.shows, row);
        }
    }
    fn clone_box(&self) -> Box<dyn OutsideClassifier> {
        Python::attach(|py| {
            let copied: PyResult<Made> =
                py.import(FIND).and_then(|find| find.call_method1("copy", (&self.object,))?.extract());
            let (fixed, is_seeded) = (self.fixed.clone(), self.is_seeded);
            let (object, classify, has_failed) = match copied {
                Ok((object, classify, ..)) => (object, classify, self.has_failed),
                Err(error) => {
                    fault::raised(py, &self.fixed.reporter, "copy", error);
                    (self.object.clone_ref(py), self.classify.clone_ref(py), true)
                }
            };
            Box::new(PythonClassifier { object, classify, fixed, is_seeded, has_failed }) as Box<dyn OutsideClassifier>
        })
    }
}
