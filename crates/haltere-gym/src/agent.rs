//! A congestion control whose window and pacing rate are decided from outside.
//! Source: none. Deviations: none.
//! Model: an interval ends with the first acknowledgement or timeout at or after its time. The decision that follows
//! takes effect with the next event, so that a policy inside the sender and one outside, which the run waits for, act
//! alike. Loss recovery chooses what is sent again, but does not change the window: that is the decision's.
//! Units: bytes, bit/s. Cost: O(1) an event. Known problems: a window stays as it is in a retransmission timeout, until
//! the next decision.

use crate::action::{Action, Setting};
use crate::fields::{Row, SENDER};
use crate::interval::Interval;
use crate::policy::Policy;
use crate::window::{Settings, Window};
use haltere_congestion::{
    AckEvent, CongestionControl, Control, EcnUse, LossEvent, LostSegment, RestartEvent, RtoEvent, SenderContext,
};
use haltere_units::{Bytes, Dur, Probe, Rate, Time};
use std::cell::Cell;
use std::sync::Arc;

thread_local! {
    /// Intervals that ended on this thread, of senders for whose decisions a run waits.
    static ENDED: Cell<u64> = const { Cell::new(0) };
}

/// Intervals that ended on this thread, of senders for whose decisions a run waits.
///
/// A run is asked after every event whether an interval has ended. The agent is deep in its connection, and is there only
/// once the flow has sent something, so a counter beside it is what can be read in a nanosecond. A run stays on one thread.
#[inline]
pub(crate) fn ended() -> u64 {
    ENDED.get()
}

#[derive(Debug, Clone)]
pub enum Driver {
    /// Someone outside, for whom the run waits.
    Outside(Action),
    Policy(Arc<Policy>),
    /// A control of the registry. The intervals only show what it does.
    Control(Box<Control>),
}

#[derive(Debug, Clone)]
pub struct Agent {
    driver: Driver,
    interval: Interval,
    mss: Bytes,
    setting: Setting,
    srtt: Dur,
    window: Window,
    /// The interval ends with the first event from then on.
    deadline: Time,
    is_due: bool,
    pending: Option<Vec<f64>>,
    last_action: f64,
    decisions: u64,
}

impl Agent {
    /// The control of that sender.
    pub fn new(driver: Driver, interval: Interval, sender: &SenderContext) -> Agent {
        Agent {
            driver,
            interval,
            mss: sender.mss,
            setting: Setting { cwnd: sender.initial_window.as_f64(), pacing_bps: 0.0 },
            srtt: Dur::ZERO,
            window: Window::default(),
            deadline: Time::NEVER,
            is_due: false,
            pending: None,
            last_action: 0.0,
            decisions: 0,
        }
    }
    /// The interval is over, and the run is to wait for a decision.
    #[cfg(test)]
    fn is_due(&self) -> bool {
        self.is_due
    }
    /// The interval ends: what it showed. The next one begins.
    #[cfg(test)]
    fn close(&mut self, now: Time) -> Row {
        let mut row = Row::new(SENDER);
        self.close_into(now, &mut row);
        row
    }
    /// The interval ends: what it showed, in the fields of a sender. The next one begins.
    pub fn close_into(&mut self, now: Time, row: &mut Row) {
        let settings = Settings {
            cwnd: self.cwnd().as_f64(),
            pacing_bps: self.pacing_rate().map_or(0.0, Rate::as_bps_f64),
            mss: self.mss,
            last_action: self.last_action,
        };
        self.window.close(now, &settings, row);
        self.window.restart(now);
        self.is_due = false;
        self.deadline = self.interval.end(now, self.srtt);
    }
    /// A decision, which takes effect with the next event. Without one the setting stays.
    pub fn decide(&mut self, values: &[f64]) {
        if let Some(action) = self.action() {
            self.last_action = action.normalised(values);
            self.pending = Some(values.to_vec());
            self.decisions += 1;
        }
    }
    fn action(&self) -> Option<Action> {
        match &self.driver {
            Driver::Outside(action) => Some(*action),
            Driver::Policy(policy) => Some(policy.action),
            Driver::Control(_) => None,
        }
    }
    fn inner(&self) -> Option<&Control> {
        if let Driver::Control(control) = &self.driver { Some(control) } else { None }
    }
    /// Passes an event to the control that is watched, if there is one.
    #[inline]
    fn watched<T: Default>(&mut self, event: impl FnOnce(&mut Control) -> T) -> T {
        if let Driver::Control(control) = &mut self.driver { event(control) } else { T::default() }
    }
    /// A decision that waits takes effect.
    #[inline]
    fn settle(&mut self) {
        if let Some(values) = self.pending.take()
            && let Some(action) = self.action()
        {
            self.setting = action.apply(&values, self.setting, self.mss, self.srtt);
        }
    }
    /// After an event: the interval may be over.
    #[inline]
    fn look(&mut self, now: Time) {
        if now >= self.deadline && !self.is_due {
            self.end_interval(now);
        }
    }
    #[cold]
    fn end_interval(&mut self, now: Time) {
        if let Driver::Policy(policy) = &self.driver {
            let policy = policy.clone();
            let mut row = Row::new(SENDER);
            self.close_into(now, &mut row);
            self.decide(&policy.decide(&row));
        } else {
            self.is_due = true;
            ENDED.set(ENDED.get().wrapping_add(1));
        }
    }
}

impl CongestionControl for Agent {
    fn on_ack(&mut self, ev: &AckEvent) {
        self.settle();
        self.srtt = ev.srtt;
        self.window.on_ack(ev);
        self.watched(|control| control.on_ack(ev));
        self.look(ev.now);
    }
    fn on_loss(&mut self, ev: &LossEvent) {
        self.window.on_loss(ev);
        self.watched(|control| control.on_loss(ev));
    }
    fn on_rto(&mut self, ev: &RtoEvent) {
        self.settle();
        self.window.on_rto(ev.still_in_flight);
        self.watched(|control| control.on_rto(ev));
        self.look(ev.now);
    }
    fn on_segment_lost(&mut self, lost: &LostSegment) {
        self.window.on_segment_lost(lost);
        self.watched(|control| control.on_segment_lost(lost));
    }
    fn on_recovered(&mut self, now: Time) {
        self.watched(|control| control.on_recovered(now));
    }
    fn on_established(&mut self, now: Time, rtt: Dur) {
        self.srtt = rtt;
        self.window.on_established(rtt);
        self.window.restart(now);
        self.deadline = self.interval.end(now, rtt);
        if self.action().is_some_and(Action::paces) {
            // As Linux's first pacing rate: twice the initial window a round trip.
            self.setting.pacing_bps = 2.0 * self.setting.cwnd * 8.0 / rtt.max(Dur::from_us(10)).as_secs_f64();
        }
        self.watched(|control| control.on_established(now, rtt));
    }
    fn on_cached_ssthresh(&mut self, ssthresh: Bytes) {
        self.watched(|control| control.on_cached_ssthresh(ssthresh));
    }
    fn on_early_ce(&mut self, now: Time, bytes: Bytes) -> bool {
        self.watched(|control| control.on_early_ce(now, bytes))
    }
    fn on_spurious(&mut self, now: Time) {
        self.watched(|control| control.on_spurious(now));
    }
    fn on_restart(&mut self, ev: &RestartEvent) {
        self.watched(|control| control.on_restart(ev));
    }
    fn on_flight_start(&mut self, now: Time) {
        self.watched(|control| control.on_flight_start(now));
    }
    fn wants_reduction(&self) -> bool {
        self.inner().is_some_and(CongestionControl::wants_reduction)
    }
    fn cwnd(&self) -> Bytes {
        self.inner().map_or(Bytes::new(self.setting.cwnd as u64), CongestionControl::cwnd)
    }
    fn ssthresh(&self) -> Bytes {
        self.inner().map_or(Bytes::new(self.setting.cwnd as u64), CongestionControl::ssthresh)
    }
    fn pacing_rate(&self) -> Option<Rate> {
        match self.inner() {
            Some(control) => control.pacing_rate(),
            None => Some(Rate::from_bps(self.setting.pacing_bps as u64)).filter(|_| self.setting.pacing_bps > 0.0),
        }
    }
    fn owns_recovery(&self) -> bool {
        self.inner().is_none_or(CongestionControl::owns_recovery)
    }
    fn ecn(&self) -> EcnUse {
        self.inner().map_or(EcnUse::Classic, CongestionControl::ecn)
    }
    fn probe(&self, row: &mut Probe) {
        match self.inner() {
            Some(control) => control.probe(row),
            None => row.push("decisions", "1", self.decisions as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_congestion::CongestionParams;

    fn agent() -> Agent {
        let sender =
            SenderContext { mss: Bytes::new(1000), initial_window: Bytes::new(10_000), seed: 1, ..Default::default() };
        let mut agent = Agent::new(Driver::Outside(Action::Cwnd), Interval::Fixed(Dur::from_ms(20)), &sender);
        agent.on_established(at(0), Dur::from_ms(10));
        agent
    }
    fn at(ms: u64) -> Time {
        Time::ZERO + Dur::from_ms(ms)
    }
    fn ack(ms: u64) -> AckEvent {
        let mut ev = AckEvent::at(at(ms));
        (ev.delivered, ev.srtt) = (Bytes::new(1000), Dur::from_ms(10));
        ev
    }

    #[test]
    fn an_interval_ends_with_the_first_acknowledgement_after_its_time() {
        let mut agent = agent();
        agent.on_ack(&ack(19));
        assert!(!agent.is_due());
        agent.on_ack(&ack(23));
        assert!(agent.is_due());
        assert_eq!(agent.close(at(23)).values()[Row::ACKED], 2000.0);
        assert!(!agent.is_due());
    }
    #[test]
    fn with_the_interval_ack_every_acknowledgement_ends_one() {
        let sender =
            SenderContext { mss: Bytes::new(1000), initial_window: Bytes::new(10_000), seed: 1, ..Default::default() };
        let mut agent = Agent::new(Driver::Outside(Action::Cwnd), Interval::EachAck, &sender);
        agent.on_established(at(0), Dur::from_ms(10));
        assert!(!agent.is_due());
        // Two at the same instant, too.
        for (ms, number) in [(10, 1), (11, 2), (11, 3)] {
            let before = ended();
            agent.on_ack(&ack(ms));
            assert!(agent.is_due() && ended() == before + 1);
            assert_eq!(agent.close(at(ms)).values()[Row::ACKS], 1.0, "acknowledgement {number}");
        }
    }
    #[test]
    fn a_decision_takes_effect_with_the_next_event() {
        let mut agent = agent();
        agent.on_ack(&ack(20));
        agent.close(at(20));
        agent.decide(&[1.0]);
        assert_eq!(agent.cwnd(), Bytes::new(10_000));
        agent.on_ack(&ack(21));
        assert_eq!((agent.cwnd(), agent.decisions), (Bytes::new(20_000), 1));
    }
    #[test]
    fn a_control_that_is_watched_hears_that_a_flight_starts() {
        let sender = SenderContext::default();
        let vegas = Control::new(&CongestionParams::Vegas(Default::default()), &sender).unwrap();
        let mut agent = Agent::new(Driver::Control(Box::new(vegas)), Interval::Fixed(Dur::from_ms(20)), &sender);
        let base_rtt = |agent: &Agent| {
            let mut row = Probe::new();
            agent.probe(&mut row);
            row.values().iter().find(|(name, ..)| *name == "base_rtt").unwrap().2
        };
        agent.on_established(at(0), Dur::from_ms(10));
        let mut first = ack(10);
        first.rtt = Some(Dur::from_ms(10));
        agent.on_ack(&first);
        assert!(base_rtt(&agent) >= 0.01);
        agent.on_flight_start(at(20));
        assert_eq!(base_rtt(&agent), 0.0);
    }

    #[test]
    fn loss_does_not_change_the_window_and_a_timeout_ends_an_interval() {
        let mut agent = agent();
        agent.on_segment_lost(&LostSegment::new(0, Bytes::new(1000)));
        let mut rto = RtoEvent::at(at(300));
        rto.first = true;
        agent.on_rto(&rto);
        assert!(agent.is_due() && agent.owns_recovery());
        assert_eq!(agent.cwnd(), Bytes::new(10_000));
        let row = agent.close(at(300));
        assert_eq!((row.values()[Row::TIMEOUTS], row.values()[Row::LOST]), (1.0, 1000.0));
    }
}
