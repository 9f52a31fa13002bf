//! A congestion control written in Python.

use super::events::{AckEvent, LossEvent, LostSegment, RestartEvent, RtoEvent, Sibling};
use super::fault::refused;
use super::script::{Kind, Script, Wrong, about, seed};
use haltere_congestion::outside::{Maker, OutsideControl, Params};
use haltere_congestion::{self as core, CongestionControl, CouplingView, EcnUse, SenderContext};
use haltere_units::outside::{About, Location};
use haltere_units::{Bytes, Dur, ParamError, Probe, Rate, Time};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;

/// Declares the events and, in the same order, the methods that Rust calls.
macro_rules! events {
    ($($event:ident $method:literal,)+) => {
        static KIND: Kind = Kind { name: "congestion", methods: &[$($method),+] };

        #[derive(Debug, Clone, Copy)]
        enum Event { $($event),+ }
    };
}

events! {
    Ack "on_ack",
    Loss "on_loss",
    Rto "on_rto",
    SegmentLost "on_segment_lost",
    Recovered "on_recovered",
    Established "on_established",
    CachedSsthresh "on_cached_ssthresh",
    Spurious "on_spurious",
    Restart "on_restart",
    FlightStart "on_flight_start",
    Coupling "on_coupling",
    Returned "on_returned",
}

/// Makes congestion controls.
pub(super) struct Controls;

impl Maker for Controls {
    fn about(&self, at: Location<'_>) -> Result<About, ParamError> {
        about(&KIND, at)
    }
    fn make(&self, params: &Params, sender: &SenderContext) -> Result<Box<dyn OutsideControl>, ParamError> {
        let made = Python::attach(|py| PythonControl::new(py, params, sender)).map_err(refused)?;
        Ok(Box::new(made))
    }
}

/// A control written in Python. What it answers is read after each event, so that a question crosses no border.
#[derive(Debug)]
struct PythonControl {
    script: Script,
    /// The event object of every acknowledgement.
    ack: Py<AckEvent>,
    mss: Bytes,
    ecn: EcnUse,
    owns_recovery: bool,
    answer: Answer,
}

#[derive(Debug, Clone, Copy)]
struct Answer {
    cwnd: Bytes,
    ssthresh: Bytes,
    pacing_rate: Option<Rate>,
    /// Only read of a control that depends on its siblings.
    between_losses: Bytes,
    /// The last acknowledgement left `wants_reduction` true.
    wants_reduction: bool,
}

/// What an attribute is called, what it must be, and what it is.
struct Attribute(&'static str, &'static str, String);

impl From<Attribute> for Wrong {
    fn from(Attribute(name, rule, got): Attribute) -> Wrong {
        Wrong::Broke { rule: format!("leave `{name}` {rule}"), got }
    }
}

impl Answer {
    /// The window of a control that failed: the run ends soon.
    fn least(mss: Bytes) -> Answer {
        let between_losses = Bytes::ZERO;
        Answer { cwnd: mss, ssthresh: Bytes::MAX, pacing_rate: None, between_losses, wants_reduction: false }
    }
    /// What the object answers.
    fn of(object: &Bound<'_, PyAny>, mss: Bytes, is_coupled: bool) -> Result<Answer, Attribute> {
        let py = object.py();
        let set = |name, value| -> Result<_, Attribute> {
            object.getattr(value).map_err(|_| Attribute(name, "set", "nothing".into()))
        };
        let optional = |name: &'static str, value, rule| match object.getattr(value) {
            Ok(value) if !value.is_none() => {
                whole(&value).map(Some).ok_or_else(|| Attribute(name, rule, shown(&value)))
            }
            _ => Ok(None),
        };
        let cwnd = set("cwnd", intern!(py, "cwnd"))?;
        let bytes = whole(&cwnd).ok_or_else(|| Attribute("cwnd", "a number of bytes, 0 or more", shown(&cwnd)))?;
        let ssthresh = optional("ssthresh", intern!(py, "ssthresh"), "a number of bytes, or `None`")?;
        let rate = optional("pacing_rate", intern!(py, "pacing_rate"), "a rate in bit/s, or `None`")?;
        let between = match is_coupled {
            true => optional("bytes_between_losses", intern!(py, "bytes_between_losses"), "a number of bytes")?,
            false => None,
        };
        let wants = set("wants_reduction", intern!(py, "wants_reduction"))?;
        let wants = wants.extract().map_err(|_| Attribute("wants_reduction", "`True` or `False`", shown(&wants)));
        Ok(Answer {
            cwnd: Bytes::new(bytes).max(mss).min(MAX_WINDOW),
            ssthresh: ssthresh.map_or(Bytes::MAX, Bytes::new),
            // Nothing would ever leave at a rate of zero.
            pacing_rate: rate.map(|bps| Rate::from_bps(bps.max(1))),
            between_losses: between.map_or(Bytes::ZERO, Bytes::new),
            wants_reduction: wants?,
        })
    }
}

impl PythonControl {
    fn new(py: Python<'_>, params: &Params, sender: &SenderContext) -> PyResult<PythonControl> {
        let context = seed(py, sender.seed)?;
        context.set_item("mss", sender.mss.as_u64())?;
        context.set_item("initial_window", sender.initial_window.as_u64())?;
        context.set_item("cwnd", sender.initial_window.as_u64())?;
        let script = Script::new(&KIND, params, &sender.outside, &context)?;
        let object = script.object(py);
        let ecn = match object.getattr("ecn")?.extract()? {
            "per_packet" => EcnUse::PerPacket,
            "l4s" => EcnUse::L4s,
            _ => EcnUse::Classic,
        };
        let owns_recovery = script.is(py, "owns_recovery")?;
        let answer = Answer::of(object, sender.mss, script.has(Event::Coupling as usize));
        let answer = answer.map_err(|Attribute(name, rule, got)| {
            PyValueError::new_err(format!("`{name}` must be {rule} after `__init__`, got {got}"))
        })?;
        let ack = Py::new(py, AckEvent(core::AckEvent::default()))?;
        Ok(PythonControl { script, ack, mss: sender.mss, ecn, owns_recovery, answer })
    }

    /// Tells the class of an event, if it takes notice, and reads what it answers.
    fn tell<T: Default>(
        &mut self,
        event: Event,
        call: impl for<'py> FnOnce(&Py<AckEvent>, &Bound<'py, PyAny>) -> PyResult<T>,
    ) -> T {
        let is_coupled = self.is_coupled();
        let told = self.script.call(event as usize, |object, method| {
            let told = call(&self.ack, method)?;
            self.answer = Answer::of(object, self.mss, is_coupled)?;
            Ok(told)
        });
        if self.script.has_failed {
            self.answer = Answer::least(self.mss);
        }
        told
    }
}

/// Larger windows cannot be written in Linux's 32 bits of segments.
const MAX_WINDOW: Bytes = Bytes::new(1 << 42);

/// A number that is not negative, without its fraction.
fn whole(value: &Bound<'_, PyAny>) -> Option<u64> {
    if let Ok(whole) = value.extract::<u64>() {
        return Some(whole);
    }
    // An infinite number is the largest one. What is no number is no window.
    value.extract::<f64>().ok().filter(|number| *number >= 0.0).map(|number| number as u64)
}

fn shown(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "something without a text".into(), |text| format!("`{text}`"))
}

impl CongestionControl for PythonControl {
    fn on_ack(&mut self, ev: &core::AckEvent) {
        self.tell(Event::Ack, |ack, method| {
            // The event is borrowed only if the class reads it while the next one is delivered. Then it gets another.
            match ack.bind(method.py()).try_borrow_mut() {
                Ok(mut event) => event.0 = *ev,
                Err(_) => return method.call1((AckEvent(*ev),)).map(drop),
            }
            method.call1((ack,)).map(drop)
        });
    }
    fn on_loss(&mut self, ev: &core::LossEvent) {
        self.tell(Event::Loss, |_, method| method.call1((LossEvent(*ev),)).map(drop));
    }
    fn on_rto(&mut self, ev: &core::RtoEvent) {
        self.tell(Event::Rto, |_, method| method.call1((RtoEvent(*ev),)).map(drop));
    }
    fn on_segment_lost(&mut self, lost: &core::LostSegment) {
        self.tell(Event::SegmentLost, |_, method| method.call1((LostSegment(*lost),)).map(drop));
    }
    fn on_recovered(&mut self, now: Time) {
        self.tell(Event::Recovered, |_, method| method.call1((now.as_ns(),)).map(drop));
    }
    fn on_established(&mut self, now: Time, rtt: Dur) {
        self.tell(Event::Established, |_, method| method.call1((now.as_ns(), rtt.as_ns())).map(drop));
    }
    fn on_cached_ssthresh(&mut self, ssthresh: Bytes) {
        self.tell(Event::CachedSsthresh, |_, method| method.call1((ssthresh.as_u64(),)).map(drop));
    }
    fn on_spurious(&mut self, now: Time) {
        self.tell(Event::Spurious, |_, method| method.call1((now.as_ns(),)).map(drop));
    }
    fn on_restart(&mut self, ev: &core::RestartEvent) {
        self.tell(Event::Restart, |_, method| method.call1((RestartEvent(*ev),)).map(drop));
    }
    fn on_flight_start(&mut self, now: Time) {
        self.tell(Event::FlightStart, |_, method| method.call1((now.as_ns(),)).map(drop));
    }
    fn on_coupling(&mut self, view: &CouplingView<'_>) {
        let siblings: Vec<Sibling> = view.siblings.iter().map(|sibling| Sibling(*sibling)).collect();
        self.tell(Event::Coupling, |_, method| method.call1((siblings, view.this)).map(drop));
    }
    fn on_early_ce(&mut self, now: Time, bytes: Bytes) -> bool {
        self.tell(Event::Returned, |_, method| method.call1((now.as_ns(), bytes.as_u64()))?.extract())
    }
    fn wants_reduction(&self) -> bool {
        self.answer.wants_reduction
    }
    fn is_coupled(&self) -> bool {
        self.script.has(Event::Coupling as usize)
    }
    fn bytes_between_losses(&self) -> Bytes {
        self.answer.between_losses
    }
    fn cwnd(&self) -> Bytes {
        self.answer.cwnd
    }
    fn ssthresh(&self) -> Bytes {
        self.answer.ssthresh
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.answer.pacing_rate
    }
    fn owns_recovery(&self) -> bool {
        self.owns_recovery
    }
    fn ecn(&self) -> EcnUse {
        self.ecn
    }
    fn probe(&self, row: &mut Probe) {
        self.script.probe(row);
    }
}

impl OutsideControl for PythonControl {
    fn clone_box(&self) -> Box<dyn OutsideControl> {
        let ack = Python::attach(|py| self.ack.clone_ref(py));
        let script = self.script.copy();
        let answer = if script.has_failed { Answer::least(self.mss) } else { self.answer };
        Box::new(PythonControl { script, ack, answer, ..*self })
    }
}
