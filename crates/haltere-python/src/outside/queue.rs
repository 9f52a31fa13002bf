//! A queue discipline written in Python.

use super::events::Packet;
use super::fault::refused;
use super::script::{Kind, Script, Wrong, about, link};
use haltere_queue::outside::{Maker, OutsideQueue, PacketView, Params, Verdicts};
use haltere_queue::{DropReason, LinkContext, MarkReason};
use haltere_units::outside::{About, Location};
use haltere_units::{ParamError, Probe, Time};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;

static KIND: Kind = Kind { name: "queues", methods: &["enqueue", "dequeue", "on_timer"] };
const ENQUEUE: usize = 0;
const DEQUEUE: usize = 1;
const ON_TIMER: usize = 2;

/// Makes queue disciplines.
pub(super) struct Queues;

impl Maker for Queues {
    fn about(&self, at: Location<'_>) -> Result<About, ParamError> {
        about(&KIND, at)
    }
    fn make(&self, params: &Params, context: &LinkContext) -> Result<Box<dyn OutsideQueue>, ParamError> {
        let made = Python::attach(|py| -> PyResult<_> {
            let script = Script::new(&KIND, params, &context.outside, &link(py, context)?)?;
            let keeps_flow_order = script.is(py, "keeps_flow_order")?;
            let mut times = Times {
                timer: script.has(ON_TIMER).then_some(Time::NEVER),
                ready_at: script.is(py, "withholds")?.then_some(Time::NEVER),
            };
            times.read(script.object(py))?;
            Ok(PythonQueue { script, keeps_flow_order, is_unseeded: true, times })
        });
        Ok(Box::new(made.map_err(refused)?))
    }
}

#[derive(Debug)]
struct PythonQueue {
    script: Script,
    keeps_flow_order: bool,
    /// Its random numbers follow from the queue's stream, which is not there before the first packet.
    is_unseeded: bool,
    times: Times,
}

/// When the class wants to be called; `None`: never.
#[derive(Debug, Clone, Copy)]
struct Times {
    timer: Option<Time>,
    ready_at: Option<Time>,
}

impl Times {
    fn read(&mut self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let at = |name| -> PyResult<Time> {
            Ok(object.getattr(name)?.extract::<Option<u64>>()?.map_or(Time::NEVER, Time::from_ns))
        };
        if let Some(timer) = &mut self.timer {
            *timer = at(intern!(object.py(), "timer"))?;
        }
        if let Some(ready_at) = &mut self.ready_at {
            *ready_at = at(intern!(object.py(), "ready_at"))?;
        }
        Ok(())
    }
}

/// Carries out what the class decided during a call.
fn decide(object: &Bound<'_, PyAny>, verdicts: &mut dyn Verdicts) -> PyResult<()> {
    let decided = object.getattr(intern!(object.py(), "_verdicts"))?.cast_into::<PyList>()?;
    if decided.is_empty() {
        return Ok(());
    }
    for verdict in &decided {
        match verdict.extract::<(u64, u8)>()? {
            (id, 0) => verdicts.drop(id, DropReason::Congestion),
            (id, 1) => verdicts.drop(id, DropReason::Overlimit),
            (id, 2) => _ = verdicts.mark(id, MarkReason::Congestion),
            (id, _) => _ = verdicts.mark(id, MarkReason::Threshold),
        }
    }
    decided.call_method0(intern!(object.py(), "clear")).map(drop)
}

/// The number of the packet that `dequeue` returned.
fn number(chosen: &Bound<'_, PyAny>) -> Result<Option<u64>, Wrong> {
    if chosen.is_none() {
        return Ok(None);
    }
    match chosen.cast::<Packet>() {
        Ok(packet) => Ok(Some(packet.get().0.0.id)),
        Err(_) => {
            let text = format!("`dequeue` must return a packet or `None`, got `{}`", chosen.repr()?);
            Err(PyTypeError::new_err(text).into())
        }
    }
}

impl OutsideQueue for PythonQueue {
    fn enqueue(&mut self, now: Time, packet: &PacketView, verdicts: &mut dyn Verdicts) {
        let is_unseeded = std::mem::take(&mut self.is_unseeded);
        self.script.call(ENQUEUE, |object, enqueue| {
            if is_unseeded {
                object.getattr("random")?.call_method1("seed", (verdicts.random(),))?;
            }
            enqueue.call1((now.as_ns(), Packet((*packet, now))))?;
            decide(object, verdicts)?;
            Ok(self.times.read(object)?)
        });
    }
    fn dequeue(&mut self, now: Time, verdicts: &mut dyn Verdicts) -> Option<u64> {
        self.script.call(DEQUEUE, |object, dequeue| {
            let chosen = dequeue.call1((now.as_ns(),))?;
            decide(object, verdicts)?;
            self.times.read(object)?;
            number(&chosen)
        })
    }
    fn ready_at(&self) -> Option<Time> {
        self.times.ready_at
    }
    fn next_timer(&self) -> Option<Time> {
        self.times.timer
    }
    fn on_timer(&mut self, now: Time) {
        self.script.call(ON_TIMER, |object, on_timer| {
            on_timer.call1((now.as_ns(),))?;
            Ok(self.times.read(object)?)
        });
    }
    fn keeps_flow_order(&self) -> bool {
        self.keeps_flow_order
    }
    fn probe(&self, row: &mut Probe) {
        self.script.probe(row);
    }
    fn clone_box(&self) -> Box<dyn OutsideQueue> {
        Box::new(PythonQueue { script: self.script.copy(), ..*self })
    }
}
