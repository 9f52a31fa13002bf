//! A congestion control written in Python.

use super::events::{AckEvent, LossEvent, LostSegment, RestartEvent, RtoEvent, Sibling};
use super::{FIND, Shows, about, fault, probe, refused, shows};
use haltere_congestion::outside::{Maker, OutsideControl, Params};
use haltere_congestion::{self as core, CongestionControl, CouplingView, EcnUse, SenderContext};
use haltere_units::outside::{About, Location, Reporter};
use haltere_units::{Bytes, Dur, ParamError, Probe, Rate, Time};
use pyo3::intern;
use pyo3::prelude::*;
use std::sync::Arc;

/// Makes them.
pub(super) struct Controls;

impl Maker for Controls {
    fn about(&self, at: Location<'_>) -> Result<About, ParamError> {
        about("congestion", at)
    }
    fn make(&self, params: &Params, sender: &SenderContext) -> Result<Box<dyn OutsideControl>, ParamError> {
        let made = Python::attach(|py| PythonControl::new(py, params, sender)).map_err(refused)?;
        Ok(Box::new(made))
    }
}

/// The events of a control, in the order of `find.CONTROL_EVENTS`.
#[derive(Debug, Clone, Copy)]
enum Event {
    Ack,
    Loss,
    Rto,
    SegmentLost,
    Recovered,
    Established,
    CachedSsthresh,
    Spurious,
    Restart,
    Coupling,
    Returned,
}

const EVENTS: [&str; 11] = [
    "on_ack",
    "on_loss",
    "on_rto",
    "on_segment_lost",
    "on_recovered",
    "on_established",
    "on_cached_ssthresh",
    "on_spurious",
    "on_restart",
    "on_coupling",
    "on_returned",
];

/// A control written in Python. What it answers is read after each event, so that a question crosses no border.
#[derive(Debug)]
struct PythonControl {
    object: Py<PyAny>,
    /// The bound methods; `None` for an event of which the class takes no notice.
    events: Vec<Option<Py<PyAny>>>,
    /// The event object of every acknowledgement.
    ack: Py<AckEvent>,
    fixed: Arc<Fixed>,
    cwnd: Bytes,
    ssthresh: Bytes,
    pacing_rate: Option<Rate>,
    /// Only read of a control that depends on its siblings.
    between_losses: Bytes,
    /// The last acknowledgement left `wants_reduction` true.
    wants_reduction: bool,
    has_failed: bool,
}

/// What does not change.
#[derive(Debug)]
struct Fixed {
    reporter: Reporter,
    mss: Bytes,
    ecn: EcnUse,
    owns_recovery: bool,
    shows: Shows,
}

/// What Python gives of a control.
type Made = (Py<PyAny>, Vec<Option<Py<PyAny>>>, String, bool, Vec<(String, String)>);

impl PythonControl {
    fn new(py: Python<'_>, params: &Params, sender: &SenderContext) -> PyResult<PythonControl> {
        let Params { source, folder, digest, .. } = params;
        let parameters = serde_json::to_string(&params.parameters).unwrap_or_default();
        let (mss, window) = (sender.mss.as_u64(), sender.initial_window.as_u64());
        let given = (source, folder, digest, parameters, mss, window, sender.seed);
        let (object, events, ecn, owns_recovery, written): Made =
            py.import(FIND)?.call_method1("make_control", given)?.extract()?;
        let ecn = match ecn.as_str() {
            "per_packet" => EcnUse::PerPacket,
            "l4s" => EcnUse::L4s,
            _ => EcnUse::Classic,
        };
        let fixed = Fixed {
            reporter: Reporter::new(params, &sender.outside),
            mss: sender.mss,
            ecn,
            owns_recovery,
            shows: shows(written),
        };
        let mut control = PythonControl {
            object,
            events,
            ack: Py::new(py, AckEvent { ev: core::AckEvent::default() })?,
            fixed: Arc::new(fixed),
            cwnd: sender.initial_window,
            ssthresh: Bytes::MAX,
            pacing_rate: None,
            between_losses: Bytes::ZERO,
            wants_reduction: false,
            has_failed: false,
        };
        control.read(py).map_err(|(name, rule, got)| {
            let text = format!("`{name}` must be {rule} after `__init__`, got {got}");
            pyo3::exceptions::PyValueError::new_err(text)
        })?;
        Ok(control)
    }

    /// The class takes notice of that event.
    fn takes(&self, event: Event) -> bool {
        self.events.get(event as usize).is_some_and(Option::is_some)
    }

    /// Tells the class of an event, if it takes notice, and reads what it answers.
    fn tell(
        &mut self,
        event: Event,
        call: impl for<'py> FnOnce(&Py<AckEvent>, &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
    ) {
        if self.has_failed || !self.takes(event) {
            return;
        }
        Python::attach(|py| {
            let Some(method) = &self.events[event as usize] else { return };
            if let Err(error) = call(&self.ack, method.bind(py)) {
                self.fail();
                return fault::raised(py, &self.fixed.reporter, EVENTS[event as usize], error);
            }
            if let Err((name, rule, got)) = self.read(py) {
                self.fail();
                let rule = format!("leave `{name}` {rule}");
                self.fixed.reporter.raise(EVENTS[event as usize], &rule, got);
            }
        });
    }

    /// From now on it is a window of one segment: the run ends soon.
    fn fail(&mut self) {
        self.has_failed = true;
        (self.cwnd, self.pacing_rate, self.wants_reduction) = (self.fixed.mss, None, false);
    }

    /// Reads the window, the threshold and the pacing rate. The error: which attribute, what it must be, what it is.
    fn read(&mut self, py: Python<'_>) -> Result<(), (&'static str, &'static str, String)> {
        let object = self.object.bind(py);
        let cwnd = object.getattr(intern!(py, "cwnd"));
        let cwnd = cwnd.as_ref().map_err(|_| ("cwnd", "set", "nothing".to_owned()))?;
        let Some(bytes) = whole(cwnd) else { return Err(("cwnd", "a number of bytes, 0 or more", shown(cwnd))) };
        self.cwnd = Bytes::new(bytes).max(self.fixed.mss).min(MAX_WINDOW);
        let optional = |name, rule| match object.getattr(name) {
            Ok(value) if value.is_none() => Ok(None),
            Ok(value) => whole(&value).map(Some).ok_or_else(|| (rule, shown(&value))),
            Err(_) => Ok(None),
        };
        let ssthresh = optional(intern!(py, "ssthresh"), "a number of bytes, or `None`");
        let rate = optional(intern!(py, "pacing_rate"), "a rate in bit/s, or `None`");
        self.ssthresh = ssthresh.map_err(|(rule, got)| ("ssthresh", rule, got))?.map_or(Bytes::MAX, Bytes::new);
        let rate = rate.map_err(|(rule, got)| ("pacing_rate", rule, got))?;
        // Nothing would ever leave at a rate of zero.
        self.pacing_rate = rate.map(|bps| Rate::from_bps(bps.max(1)));
        if self.is_coupled() {
            let between = optional(intern!(py, "bytes_between_losses"), "a number of bytes");
            self.between_losses =
                between.map_err(|(rule, got)| ("bytes_between_losses", rule, got))?.map_or(Bytes::ZERO, Bytes::new);
        }
        let wants = object.getattr(intern!(py, "wants_reduction"));
        let wants = wants.as_ref().map_err(|_| ("wants_reduction", "set", "nothing".to_owned()))?;
        self.wants_reduction = wants.extract().map_err(|_| ("wants_reduction", "`True` or `False`", shown(wants)))?;
        Ok(())
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
            let py = method.py();
            // Only a class that asks its own event while it is told of the next one has it borrowed: then it gets another.
            match ack.bind(py).try_borrow_mut() {
                Ok(mut event) => event.ev = *ev,
                Err(_) => return method.call1((AckEvent { ev: *ev },)),
            }
            method.call1((ack,))
        });
    }
    fn on_loss(&mut self, ev: &core::LossEvent) {
        self.tell(Event::Loss, |_, method| method.call1((LossEvent::from(ev),)));
    }
    fn on_rto(&mut self, ev: &core::RtoEvent) {
        self.tell(Event::Rto, |_, method| method.call1((RtoEvent::from(ev),)));
    }
    fn on_segment_lost(&mut self, lost: &core::LostSegment) {
        self.tell(Event::SegmentLost, |_, method| method.call1((LostSegment::from(lost),)));
    }
    fn on_recovered(&mut self, now: Time) {
        self.tell(Event::Recovered, |_, method| method.call1((now.as_ns(),)));
    }
    fn on_established(&mut self, now: Time, rtt: Dur) {
        self.tell(Event::Established, |_, method| method.call1((now.as_ns(), rtt.as_ns())));
    }
    fn on_cached_ssthresh(&mut self, ssthresh: Bytes) {
        self.tell(Event::CachedSsthresh, |_, method| method.call1((ssthresh.as_u64(),)));
    }
    fn on_spurious(&mut self, now: Time) {
        self.tell(Event::Spurious, |_, method| method.call1((now.as_ns(),)));
    }
    fn on_restart(&mut self, ev: &core::RestartEvent) {
        self.tell(Event::Restart, |_, method| method.call1((RestartEvent::from(ev),)));
    }
    fn wants_reduction(&self) -> bool {
        self.wants_reduction
    }
    fn on_coupling(&mut self, view: &CouplingView<'_>) {
        let siblings: Vec<Sibling> = view.siblings.iter().map(Sibling::from).collect();
        self.tell(Event::Coupling, |_, method| method.call1((siblings, view.this)));
    }
    fn is_coupled(&self) -> bool {
        self.takes(Event::Coupling)
    }
    fn bytes_between_losses(&self) -> Bytes {
        self.between_losses
    }
    fn on_early_ce(&mut self, now: Time, bytes: Bytes) -> bool {
        let mut supported = false;
        self.tell(Event::Returned, |_, method| {
            let answer = method.call1((now.as_ns(), bytes.as_u64()))?;
            supported = answer.extract()?;
            Ok(answer)
        });
        supported
    }
    fn cwnd(&self) -> Bytes {
        self.cwnd
    }
    fn ssthresh(&self) -> Bytes {
        self.ssthresh
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }
    fn owns_recovery(&self) -> bool {
        self.fixed.owns_recovery
    }
    fn ecn(&self) -> EcnUse {
        self.fixed.ecn
    }
    fn probe(&self, row: &mut Probe) {
        if !self.has_failed {
            probe(&self.object, &self.fixed.reporter, &self.fixed.shows, row);
        }
    }
}

impl OutsideControl for PythonControl {
    fn clone_box(&self) -> Box<dyn OutsideControl> {
        Python::attach(|py| {
            let copied = py.import(FIND).and_then(|find| find.call_method1("copy", (&self.object,))?.extract());
            let mut same = PythonControl {
                object: self.object.clone_ref(py),
                events: Vec::new(),
                ack: self.ack.clone_ref(py),
                fixed: self.fixed.clone(),
                cwnd: self.cwnd,
                ssthresh: self.ssthresh,
                pacing_rate: self.pacing_rate,
                between_losses: self.between_losses,
                wants_reduction: self.wants_reduction,
                has_failed: self.has_failed,
            };
            match copied {
                Ok((object, events)) => (same.object, same.events) = (object, events),
                Err(error) => {
                    same.fail();
                    fault::raised(py, &self.fixed.reporter, "copy", error);
                }
            }
            Box::new(same) as Box<dyn OutsideControl>
        })
    }
}
