//! A queue discipline written in Python.

use super::events::Packet;
use super::{FIND, Shows, about, fault, probe, refused, shows};
use haltere_queue::outside::{Maker, OutsideQueue, PacketView, Params, Verdicts};
use haltere_queue::{DropReason, LinkContext, MarkReason};
use haltere_units::outside::{About, Location, Reporter};
use haltere_units::{ParamError, Probe, Rate, Time};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::Arc;

/// Makes them.
pub(super) struct Queues;

impl Maker for Queues {
    fn about(&self, at: Location<'_>) -> Result<About, ParamError> {
        about("queues", at)
    }
    fn make(&self, params: &Params, link: &LinkContext) -> Result<Box<dyn OutsideQueue>, ParamError> {
        let made = Python::attach(|py| PythonQueue::new(py, params, link)).map_err(refused)?;
        Ok(Box::new(made))
    }
}

/// A discipline written in Python.
#[derive(Debug)]
struct PythonQueue {
    object: Py<PyAny>,
    enqueue: Py<PyAny>,
    dequeue: Py<PyAny>,
    on_timer: Option<Py<PyAny>>,
    /// The list to which the class's `drop` and `mark` append.
    verdicts: Py<PyList>,
    fixed: Arc<Fixed>,
    /// Its random numbers follow from the queue's stream, which is not there before the first packet.
    is_seeded: bool,
    timer: Option<Time>,
    ready_at: Option<Time>,
    has_failed: bool,
}

/// What does not change.
#[derive(Debug)]
struct Fixed {
    reporter: Reporter,
    withholds: bool,
    keeps_flow_order: bool,
    shows: Shows,
}

/// What Python gives of a discipline.
type Made = (Py<PyAny>, Py<PyAny>, Py<PyAny>, Option<Py<PyAny>>, Py<PyList>, bool, bool, Vec<(String, String)>);

impl PythonQueue {
    fn new(py: Python<'_>, params: &Params, link: &LinkContext) -> PyResult<PythonQueue> {
        let Params { source, folder, digest, .. } = params;
        let parameters = serde_json::to_string(&params.parameters).unwrap_or_default();
        let (rate, rtt) = (link.rate.map(Rate::as_bps), link.rtt.map(|rtt| rtt.as_ns()));
        let given = (source, folder, digest, parameters, rate, rtt, link.packet.as_u64());
        let made: Made = py.import(FIND)?.call_method1("make_queue", given)?.extract()?;
        let (object, enqueue, dequeue, on_timer, verdicts, withholds, keeps_flow_order, written) = made;
        let fixed = Fixed {
            reporter: Reporter::new(params, &link.outside),
            withholds,
            keeps_flow_order,
            shows: shows(written),
        };
        let mut queue = PythonQueue {
            object,
            enqueue,
            dequeue,
            on_timer,
            verdicts,
            fixed: Arc::new(fixed),
            is_seeded: false,
            timer: None,
            ready_at: withholds.then_some(Time::NEVER),
            has_failed: false,
        };
        queue.read(py)?;
        Ok(queue)
    }
    /// Reads when the class wants to be called.
    fn read(&mut self, py: Python<'_>) -> PyResult<()> {
        let at = |name| -> PyResult<Time> {
            let at: Option<u64> = self.object.bind(py).getattr(name)?.extract()?;
            Ok(at.map_or(Time::NEVER, Time::from_ns))
        };
        if self.on_timer.is_some() {
            self.timer = Some(at(intern!(py, "timer"))?);
        }
        if self.fixed.withholds {
            self.ready_at = Some(at(intern!(py, "ready_at"))?);
        }
        Ok(())
    }
    fn seed(&mut self, py: Python<'_>, verdicts: &mut dyn Verdicts) -> PyResult<()> {
        if !self.is_seeded {
            self.is_seeded = true;
            self.object
                .bind(py)
                .getattr(intern!(py, "random"))?
                .call_method1(intern!(py, "seed"), (verdicts.random(),))?;
        }
        Ok(())
    }
    /// Carries out what the class decided during a call.
    fn decide(&self, py: Python<'_>, verdicts: &mut dyn Verdicts) -> PyResult<()> {
        let decided = self.verdicts.bind(py);
        if decided.is_empty() {
            return Ok(());
        }
        for verdict in decided {
            match verdict.extract::<(u64, u8)>()? {
                (id, 0) => verdicts.drop(id, DropReason::Congestion),
                (id, 1) => verdicts.drop(id, DropReason::Overlimit),
                (id, 2) => _ = verdicts.mark(id, MarkReason::Congestion),
                (id, _) => _ = verdicts.mark(id, MarkReason::Threshold),
            }
        }
        decided.call_method0(intern!(py, "clear")).map(drop)
    }
    /// Notes that a call failed: from now on nothing is asked.
    fn failed<T: Default>(&mut self, py: Python<'_>, call: &str, outcome: PyResult<T>) -> T {
        outcome.unwrap_or_else(|error| {
            self.has_failed = true;
            fault::raised(py, &self.fixed.reporter, call, error);
            T::default()
        })
    }
}

/// The number of the packet that `dequeue` returned.
fn number(chosen: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    if chosen.is_none() {
        return Ok(None);
    }
    match chosen.cast::<Packet>() {
        Ok(packet) => Ok(Some(packet.get().view.id)),
        Err(_) => {
            let text = format!("`dequeue` must return a packet or `None`, got `{}`", chosen.repr()?);
            Err(pyo3::exceptions::PyTypeError::new_err(text))
        }
    }
}

impl OutsideQueue for PythonQueue {
    fn enqueue(&mut self, now: Time, packet: &PacketView, verdicts: &mut dyn Verdicts) {
        if self.has_failed {
            return;
        }
        Python::attach(|py| {
            let outcome = self.seed(py, verdicts).and_then(|()| {
                self.enqueue.bind(py).call1((now.as_ns(), Packet { view: *packet, arrived: now }))?;
                self.decide(py, verdicts)?;
                self.read(py)
            });
            self.failed(py, "enqueue", outcome);
        });
    }
    fn dequeue(&mut self, now: Time, verdicts: &mut dyn Verdicts) -> Option<u64> {
        if self.has_failed {
            return None;
        }
        Python::attach(|py| {
            let outcome = self.dequeue.bind(py).call1((now.as_ns(),)).and_then(|chosen| {
                self.decide(py, verdicts)?;
                self.read(py)?;
                number(&chosen)
            });
            self.failed(py, "dequeue", outcome)
        })
    }
    fn ready_at(&self) -> Option<Time> {
        self.ready_at
    }
    fn next_timer(&self) -> Option<Time> {
        self.timer
    }
    fn on_timer(&mut self, now: Time) {
        if self.has_failed {
            return;
        }
        Python::attach(|py| {
            let Some(method) = &self.on_timer else { return };
            let outcome = method.bind(py).call1((now.as_ns(),)).and_then(|_| self.read(py));
            self.failed(py, "on_timer", outcome);
        });
    }
    fn keeps_flow_order(&self) -> bool {
        self.fixed.keeps_flow_order
    }
    fn probe(&self, row: &mut Probe) {
        if !self.has_failed {
            probe(&self.object, &self.fixed.reporter, &self.fixed.shows, row);
        }
    }
    fn clone_box(&self) -> Box<dyn OutsideQueue> {
        Python::attach(|py| {
            let copied: PyResult<Made> =
                py.import(FIND).and_then(|find| find.call_method1("copy", (&self.object,))?.extract());
            let mut same = PythonQueue {
                object: self.object.clone_ref(py),
                enqueue: self.enqueue.clone_ref(py),
                dequeue: self.dequeue.clone_ref(py),
                on_timer: None,
                verdicts: self.verdicts.clone_ref(py),
                fixed: self.fixed.clone(),
                is_seeded: self.is_seeded,
                timer: self.timer,
                ready_at: self.ready_at,
                has_failed: self.has_failed,
            };
            match copied {
                Ok((object, enqueue, dequeue, on_timer, verdicts, ..)) => {
                    (same.object, same.enqueue, same.dequeue) = (object, enqueue, dequeue);
                    (same.on_timer, same.verdicts) = (on_timer, verdicts);
                }
                Err(error) => {
                    same.has_failed = true;
                    fault::raised(py, &self.fixed.reporter, "copy", error);
                }
            }
            Box::new(same) as Box<dyn OutsideQueue>
        })
    }
}
