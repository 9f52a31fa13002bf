//! A congestion control that is a module.

use crate::abi;
use crate::machine::{Failure, Handler, Machine};
use crate::module::Module;
use haltere_congestion::outside::OutsideControl;
use haltere_congestion::{
    AckEvent, CongestionControl, EcnUse, LossEvent, LostSegment, RestartEvent, RtoEvent, SenderContext,
};
use haltere_units::outside::{Outside, Params, Reporter};
use haltere_units::{Bytes, Dur, Probe, Rate, Time};

/// The sender with which a module is tried before the run.
pub(crate) const TRIAL: SenderContext =
    SenderContext { mss: Bytes::new(1448), initial_window: Bytes::new(14_480), seed: 1, outside: Outside::NONE };

/// The handlers of a control, in the order of [`abi::CONTROL`].
#[derive(Clone, Copy)]
enum Event {
    Start,
    Established,
    CachedSsthresh,
    Ack,
    SegmentLost,
    Loss,
    Recovered,
    Rto,
    Spurious,
    Restart,
    FlightStart,
}

/// The module's last answer.
#[derive(Debug, Clone, Copy)]
struct Answer {
    cwnd: Bytes,
    ssthresh: Bytes,
    pacing_rate: Option<Rate>,
}

/// A congestion control that is a module.
pub(crate) struct Control {
    machine: Machine,
    handlers: [Handler; abi::CONTROL.len()],
    answer: Answer,
    reporter: Reporter,
    /// One segment: the window after the module has failed.
    mss: Bytes,
    /// The last acknowledgement asked for a reduction.
    wants_reduction: bool,
    is_broken: bool,
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("module", &self.machine.module).field("answer", &self.answer).finish()
    }
}

impl Control {
    /// A control of that module for that sender; `values` are those of [`About::values`](crate::about::About::values).
    pub fn new(module: &Module, params: &Params, values: &[f64], sender: &SenderContext) -> Result<Control, String> {
        let machine = Machine::new(module, values, abi::CONTROL_ANSWER.fields.len(), sender.seed)?;
        let handlers = handlers(&machine);
        let answer = Answer { cwnd: sender.initial_window, ssthresh: Bytes::MAX, pacing_rate: None };
        let mss = sender.mss.max(Bytes::new(1));
        let mut control = Control {
            machine,
            handlers,
            answer,
            reporter: Reporter::new(params, &sender.outside),
            mss,
            wants_reduction: false,
            is_broken: false,
        };
        control.try_tell(Event::Start, None, &abi::start(sender)).map_err(|failure| failure.to_string())?;
        Ok(control)
    }

    /// Passes an event to the module, unless it has failed before.
    #[inline]
    fn tell<const FIELDS: usize>(&mut self, event: Event, now: Option<Time>, fields: &[i64; FIELDS]) {
        if !self.is_broken
            && let Err(failure) = self.try_tell(event, now, fields)
        {
            self.is_broken = true;
            self.answer = Answer { cwnd: self.mss, ssthresh: self.mss, pacing_rate: None };
            self.reporter.raise(failure.name, failure.rule, failure.got);
        }
    }

    /// Passes an event to the module and reads its answer.
    #[inline]
    fn try_tell<const FIELDS: usize>(
        &mut self,
        event: Event,
        now: Option<Time>,
        fields: &[i64; FIELDS],
    ) -> Result<(), Failure> {
        let Some(handler) = self.handlers[event as usize] else { return Ok(()) };
        let export = abi::CONTROL[event as usize].export;
        self.machine.call(handler, fields).map_err(|error| Failure::call(export, &error, now))?;
        let [cwnd, ssthresh, pacing_rate] = self.machine.answers();
        if cwnd < 1 || ssthresh < 0 || pacing_rate < -1 || pacing_rate == 0 {
            return Err(refused(export, now, cwnd, ssthresh, pacing_rate));
        }
        let ssthresh = if ssthresh == abi::UNLIMITED { Bytes::MAX } else { Bytes::new(ssthresh as u64) };
        let pacing_rate = (pacing_rate > 0).then(|| Rate::from_bps(pacing_rate as u64));
        self.answer = Answer { cwnd: Bytes::new(cwnd as u64), ssthresh, pacing_rate };
        Ok(())
    }
}

fn handlers(machine: &Machine) -> [Handler; abi::CONTROL.len()] {
    std::array::from_fn(|i| machine.handler(abi::CONTROL[i].export))
}

/// The fault of an answer that is out of range.
#[cold]
fn refused(export: &str, now: Option<Time>, cwnd: i64, ssthresh: i64, pacing_rate: i64) -> Failure {
    let (name, rule, got) = if cwnd < 1 {
        ("cwnd", "be at least 1 B", format!("{cwnd} B"))
    } else if ssthresh < 0 {
        ("ssthresh", "be at least 0 B", format!("{ssthresh} B"))
    } else {
        ("pacing_rate", "be above 0 bit/s, or -1 for none", format!("{pacing_rate} bit/s"))
    };
    Failure::new(name, rule, format!("{got} after `{export}`"), now)
}

impl OutsideControl for Control {
    fn clone_box(&self) -> Box<dyn OutsideControl> {
        let machine = self.machine.copy();
        let handlers = handlers(&machine);
        Box::new(Control { machine, handlers, reporter: self.reporter.clone(), ..*self })
    }
}

impl CongestionControl for Control {
    fn on_ack(&mut self, ev: &AckEvent) {
        self.machine.let_ask();
        self.tell(Event::Ack, Some(ev.now), &abi::ack(ev));
        self.wants_reduction = self.machine.has_asked() && !self.is_broken;
    }
    fn wants_reduction(&self) -> bool {
        self.wants_reduction
    }
    fn on_loss(&mut self, ev: &LossEvent) {
        self.wants_reduction = false;
        self.tell(Event::Loss, Some(ev.now), &abi::loss(ev));
    }
    fn on_rto(&mut self, ev: &RtoEvent) {
        self.tell(Event::Rto, Some(ev.now), &abi::rto(ev));
    }
    fn on_segment_lost(&mut self, lost: &LostSegment) {
        self.tell(Event::SegmentLost, None, &abi::segment_lost(lost));
    }
    fn on_recovered(&mut self, now: Time) {
        self.tell(Event::Recovered, Some(now), &abi::recovered(now));
    }
    fn on_established(&mut self, now: Time, rtt: Dur) {
        self.tell(Event::Established, Some(now), &abi::established(now, rtt));
    }
    fn on_cached_ssthresh(&mut self, ssthresh: Bytes) {
        self.tell(Event::CachedSsthresh, None, &abi::cached_ssthresh(ssthresh));
    }
    fn on_spurious(&mut self, now: Time) {
        self.tell(Event::Spurious, Some(now), &abi::spurious(now));
    }
    fn on_restart(&mut self, ev: &RestartEvent) {
        self.tell(Event::Restart, Some(ev.now), &abi::restart(ev));
    }
    fn on_flight_start(&mut self, now: Time) {
        self.tell(Event::FlightStart, Some(now), &abi::flight_start(now));
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
        self.machine.module.about().owns_recovery
    }
    fn ecn(&self) -> EcnUse {
        self.machine.module.about().ecn.into()
    }
    fn probe(&self, row: &mut Probe) {
        self.machine.state().for_each(|(name, unit, value)| row.push(name, unit, value));
    }
}
