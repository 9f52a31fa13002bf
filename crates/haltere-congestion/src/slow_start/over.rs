//! A control with a slow start over it.

use super::limited::Limited;
use super::rapid::{Converging, Rapid};
use super::resume::{Phase, Resume};
use super::search::{Search, Verdict};
use super::{SlowStartKind, Start};
use crate::outside::OutsideControl;
use crate::window::Window;
use crate::{
    AckEvent, CongestionControl, Control, CouplingView, EcnUse, LossEvent, LossKind, LostSegment, RestartEvent,
    RtoEvent,
};
use alloc::boxed::Box;
use haltere_units::{Bytes, Dur, ParamError, Probe, Rate, Time};

/// The least and the largest part of a window that a control's loss leaves, as far as Rapid Start goes by it.
const BETA: [f64; 2] = [0.3, 0.95];

/// A control with a slow start over it. What is over is `None`.
#[derive(Debug, Clone)]
pub(crate) struct Starting {
    control: Control,
    search: Option<Search>,
    rapid: Option<Rapid>,
    resume: Option<Resume>,
    limited: Option<Limited>,
}

/// The window of a control that has one.
fn window_of(control: &mut Control) -> &mut Window {
    control.window().expect("only a control with a window has a slow start over it")
}

impl Starting {
    /// That control, started so.
    pub(crate) fn over(mut control: Control, start: &Start) -> Result<Control, ParamError> {
        start.check_together()?;
        let window = window_of(&mut control);
        let (mss, initial_window) = (window.bytes(1).as_u64(), window.cwnd_bytes().as_u64());
        let kind = start.slow_start;
        let searches = matches!(kind, SlowStartKind::Search | SlowStartKind::SearchUndrained);
        if searches {
            window.judge_elsewhere();
        }
        let resumes = start.saved_window != Bytes::ZERO;
        let starting = Starting {
            control,
            search: searches.then(|| Search::new(mss, initial_window, kind == SlowStartKind::Search)),
            rapid: (kind == SlowStartKind::Rapid).then(Rapid::default),
            resume: resumes.then(|| Resume::new(start.saved_window, start.saved_rtt, initial_window)),
            limited: start.rate_limited_increase.then(|| Limited::new(initial_window)),
        };
        Ok((Box::new(starting) as Box<dyn OutsideControl>).into())
    }

    /// The part of the window that the control would leave.
    fn beta(&self, ev: &LossEvent) -> f64 {
        let mut copy = self.control.clone();
        let before = copy.cwnd().as_f64();
        copy.on_loss(ev);
        (copy.cwnd().as_f64() / before).clamp(BETA[0], BETA[1])
    }

    /// Tells the control of a loss that it does not know of yet, with that window.
    fn tell(&mut self, mut event: LossEvent, now: Time, segments: u64) {
        let window = window_of(&mut self.control);
        window.set_cwnd(segments);
        (event.now, event.in_flight) = (now, window.cwnd_bytes());
        self.control.on_loss(&event);
    }

    /// Rapid Start's recovery is over: the control goes on with beta times what the path holds.
    fn end_rapid(&mut self, now: Time) {
        if let Some(recovery) = self.rapid.take().and_then(|rapid| rapid.recovery) {
            self.tell(recovery.event, now, recovery.held());
        }
    }

    /// Careful Resume is over. After a Safe Retreat the threshold is beta times PipeSize.
    fn end_resume(&mut self, now: Time) {
        let Some(resume) = self.resume.take() else { return };
        if let Phase::Retreat { event, cwnd, .. } = resume.phase {
            let pipe = resume.pipe(window_of(&mut self.control));
            self.tell(event, now, pipe);
            let window = window_of(&mut self.control);
            window.set_cwnd(cwnd.min(window.ssthresh));
        }
    }

    fn follow_search(&mut self, ev: &AckEvent, before: u64) {
        let Some(search) = &mut self.search else { return };
        let window = window_of(&mut self.control);
        if window.ssthresh != u64::MAX {
            self.search = None;
            return;
        }
        let verdict = search.on_ack(ev);
        if search.is_draining() {
            window.set_cwnd(before);
        }
        let segments = |bytes: u64| bytes.div_ceil(window.bytes(1).as_u64());
        match verdict {
            Verdict::Continue => return,
            Verdict::Drain(bytes) => return window.set_cwnd(segments(bytes).min(before)),
            Verdict::Drained(bytes) => window.set_cwnd(segments(bytes).min(before)),
            Verdict::Exit => {}
        }
        window.ssthresh = window.cwnd;
        self.search = None;
    }

    fn is_first(&mut self) -> bool {
        window_of(&mut self.control).ssthresh == u64::MAX
    }
}

/// Passes a call to the control.
macro_rules! inner {
    ($self:expr, $it:ident => $it2:ident.$name:ident($($arg:expr),*)) => { $self.control.$name($($arg),*) };
}

impl CongestionControl for Starting {
    fn on_ack(&mut self, ev: &AckEvent) {
        let before = window_of(&mut self.control).cwnd;
        let cwnd_limited = ev.cwnd_limited || self.limited.is_some();
        self.control.on_ack(&AckEvent { cwnd_limited, ..*ev });
        let window = window_of(&mut self.control);
        if let Some(rapid) = &mut self.rapid {
            rapid.on_ack(ev, before, window);
            if rapid.recovery.as_ref().is_some_and(Converging::is_over) {
                self.end_rapid(ev.now);
            }
        }
        let window = window_of(&mut self.control);
        if let Some(limited) = &mut self.limited {
            limited.on_ack(ev, before, window);
        }
        if let Some(resume) = &mut self.resume {
            let retreated = resume.on_ack(ev, window);
            if retreated || matches!(resume.phase, Phase::Over) {
                self.end_resume(ev.now);
            }
        }
        if !self.resume.as_ref().is_some_and(Resume::holds_window) {
            self.follow_search(ev, before);
        }
    }
    fn on_segment_lost(&mut self, lost: &LostSegment) {
        if let Some(rapid) = &mut self.rapid {
            rapid.on_segment_lost(lost.bytes);
        }
        if let Some(resume) = &mut self.resume {
            resume.on_segment_lost(lost.bytes);
        }
        self.control.on_segment_lost(lost);
    }
    fn on_loss(&mut self, ev: &LossEvent) {
        self.search = None;
        if let Some(limited) = &mut self.limited {
            limited.on_reduction();
        }
        if let Some(resume) = self.resume.as_mut().filter(|resume| resume.is_trying()) {
            self.rapid = None;
            return resume.retreat(ev, window_of(&mut self.control));
        }
        self.end_resume(ev.now);
        let beta = self.beta(ev);
        if self.rapid.is_some() && self.is_first() && ev.kind != LossKind::Asked {
            let rapid = self.rapid.as_mut().expect("it is there");
            return rapid.begin(ev, beta, window_of(&mut self.control));
        }
        self.rapid = None;
        self.control.on_loss(ev);
    }
    fn on_rto(&mut self, ev: &RtoEvent) {
        self.search = None;
        if let Some(limited) = &mut self.limited {
            limited.on_reduction();
        }
        if let Some(resume) = self.resume.as_ref().filter(|resume| resume.is_trying()) {
            let window = window_of(&mut self.control);
            window.set_cwnd(resume.pipe(window));
        }
        self.end_resume(ev.now);
        self.end_rapid(ev.now);
        self.control.on_rto(ev);
    }
    fn on_recovered(&mut self, now: Time) {
        if self.resume.as_ref().is_some_and(Resume::is_retreating) {
            self.end_resume(now);
        }
        if self.rapid.as_ref().is_some_and(|rapid| rapid.recovery.is_some()) {
            self.end_rapid(now);
        }
        self.control.on_recovered(now);
    }
    fn on_spurious(&mut self, now: Time) {
        let window = window_of(&mut self.control);
        let retreat = self.resume.take_if(|resume| resume.is_retreating());
        let recovery = self.rapid.as_mut().and_then(|rapid| rapid.recovery.take());
        match (retreat, recovery) {
            (Some(resume), _) => window.set_cwnd(resume.pipe(window)),
            (None, Some(recovery)) => window.set_cwnd(recovery.before),
            (None, None) => self.control.on_spurious(now),
        }
    }
    fn on_established(&mut self, now: Time, rtt: Dur) {
        self.control.on_established(now, rtt);
        if let Some(search) = &mut self.search {
            search.on_first_rtt(rtt);
        }
        if self.rapid.is_some() && self.is_first() {
            let rapid = self.rapid.as_mut().expect("it is there");
            rapid.on_established(rtt, window_of(&mut self.control));
        }
    }
    fn pacing_rate(&self) -> Option<Rate> {
        let resumed = self.resume.as_ref().and_then(Resume::pace);
        resumed.or_else(|| self.rapid.as_ref()?.pace).or_else(|| self.control.pacing_rate())
    }
    fn owns_recovery(&self) -> bool {
        let converges = self.rapid.as_ref().is_some_and(|rapid| rapid.recovery.is_some());
        converges || self.resume.as_ref().is_some_and(Resume::is_retreating) || self.control.owns_recovery()
    }
    fn probe(&self, row: &mut Probe) {
        self.control.probe(row);
        row.push("start_phase", PHASES, self.phase());
    }
    fn state(&self, row: &mut Probe) {
        self.control.state(row);
        row.push("start_phase", PHASES, self.phase());
    }
    fn window(&mut self) -> Option<&mut Window> {
        self.control.window()
    }
    haltere_units::forward! { inner;
        fn wants_reduction(&self) -> bool;
        fn notes_starvation(&self) -> bool;
        fn on_cached_ssthresh(&mut self, ssthresh: Bytes);
        fn on_early_ce(&mut self, now: Time, bytes: Bytes) -> bool;
        fn on_restart(&mut self, ev: &RestartEvent);
        fn on_flight_start(&mut self, now: Time);
        fn on_coupling(&mut self, view: &CouplingView<'_>);
        fn is_coupled(&self) -> bool;
        fn bytes_between_losses(&self) -> Bytes;
        fn cwnd(&self) -> Bytes;
        fn ssthresh(&self) -> Bytes;
        fn ecn(&self) -> EcnUse;
    }
}

/// What a start does now, in time series.
const PHASES: &str = "normal|search|drain|rapid|converging|reconnaissance|unvalidated|validating|retreat";

impl Starting {
    fn phase(&self) -> f64 {
        let resumes = self.resume.as_ref().map(|resume| match resume.phase {
            Phase::Reconnaissance(_) => 5.0,
            Phase::Unvalidated { .. } => 6.0,
            Phase::Validating { .. } => 7.0,
            Phase::Retreat { .. } => 8.0,
            Phase::Over => 0.0,
        });
        let rapid = self.rapid.as_ref().map(|rapid| if rapid.recovery.is_some() { 4.0 } else { 3.0 });
        let search = self.search.as_ref().map(|search| if search.is_draining() { 2.0 } else { 1.0 });
        resumes.or(rapid).or(search).unwrap_or(0.0)
    }
}

impl OutsideControl for Starting {
    fn clone_box(&self) -> Box<dyn OutsideControl> {
        Box::new(self.clone())
    }
}
