//! PCC Vivace: the rate climbs the gradient of a utility that is measured.
//! Model: with x the rate in Mbit/s, L the share of lost segments and g = d(RTT)/dt, u(x) = x^t - b x g - c x L. The
//! sender tries x (1 + eps) and x (1 - eps) for a round trip each; then x += theta_0 m (u_up - u_down) / (2 eps x),
//! with m the confidence amplifier, at most omega x, the dynamic change boundary.
//!
//! ```text
//!   starting: x doubles ---- utility falls, timeout ----> probing: up and down in random order --+
//!                                                             ^----- x moves by the gradient ----+
//! ```
//!
//! Units: rates Mbit/s, time s, bytes. Cost: O(1) an acknowledgement.

mod interval;
mod step;

use crate::random::SplitMix;
use crate::{AckEvent, CongestionControl, LossEvent, LostSegment, RestartEvent, RtoEvent, SenderContext};
use haltere_units::{Bytes, Dur, ParamError, Probe, Rate, Time};
use interval::{Interval, Outcome};
use step::Step;

haltere_units::params! {
    /// The rate follows the gradient of a utility of rate, delay and loss, which the sender measures by trying two
    /// rates.
    ///
    /// A monitor interval is a round trip at one rate. Its utility grows with the rate, and falls with the loss and
    /// with the growth of the round-trip time. No event alone reduces the rate.
    ///
    /// Source: Dong et al., "PCC Vivace: online-learning congestion control", NSDI 2018: equation 1, and sections 4.2
    /// and 4.3.
    ///
    /// Deviations: a timeout halves the rate; the paper has a timeout of monitor intervals for it. An interval has ten
    /// segments at least. One in which the sender had no data for the rate is tried again. A segment counts for an
    /// interval by what was delivered when it left, so that acknowledgements of two segments may belong to the next.
    /// While results are awaited (a round trip), the rate is x. The window is two round trips of the rate, so that it
    /// limits only without acknowledgements. The defaults were compared with the authors' code (PCCproject/PCC-Uspace,
    /// commit 2ca18114), not with the paper's text. `t`, `b`, `c`, `epsilon`, `theta` and `omega` are the same there.
    /// `delta` is 0.05 there, the amplifier is ((n + 1) / 2)^1.2 after n steps, and a step is at least 0.5 Mbit/s. It
    /// probes three pairs, of which two must point up or all three down, and then moves on by one interval a step; here
    /// each step has a pair of its own. It ignores a growth of the round-trip time within the deviation of earlier
    /// ones, and never rewards a fall; its cut to hundredths, `gradient_filter` here, is switched off.
    ///
    /// Known problems: a probe is 5 % of the rate, so that one lost segment in an interval of twenty points in the
    /// wrong direction. It takes three round trips for each step. Jitter of the path looks like a queue. The form
    /// `loss` sees no effect while a queue fills, and its steps grow to 25 % by then: a flow alone loses 12 % behind
    /// drop tail of one bandwidth-delay product.
    pub struct Params {
        /// Which utility: `latency` is the paper's Vivace-latency, `loss` its Vivace-loss, which takes b as 0.
        pub utility: Utility = Utility::Latency;
        /// t, above 0 and below 1: the utility of the rate alone is x^t. The default is the paper's.
        pub t: f64 = 0.9, [above 0 and below 1];
        /// b, 0 to 1e6: the weight of the growth of the round-trip time. The default is the paper's.
        pub b: f64 = 900.0, [from 0 to 1e6];
        /// c, above 0 and at most 1e6: the weight of loss. With the paper's default 5 % of random loss do not lower a
        /// rate of 100 Mbit/s.
        pub c: f64 = 11.35, [above 0 and at most 1e6];
        /// eps, above 0 and at most 0.5: the part of the rate by which the two tries are above and below it.
        pub epsilon: f64 = 0.05, [above 0 and at most 0.5];
        /// theta_0 in Mbit/s, above 0 and at most 1000: the step for a gradient of 1.
        pub theta: f64 = 1.0, [above 0 and at most 1000];
        /// omega_0, above 0 and at most 1: the part of the rate that the first step of a direction has at most.
        pub omega: f64 = 0.05, [above 0 and at most 1];
        /// delta, 0 to 1: by how much omega grows with each step that was above it.
        pub delta: f64 = 0.1, [from 0 to 1];
        /// The growth of the round-trip time in seconds a second, from 0 to 1, below which it counts as none.
        pub gradient_filter: f64 = 0.01, [from 0 to 1];
    }
    /// What the sender optimises.
    pub enum Utility {
        /// Rate, growth of the round-trip time and loss.
        Latency,
        /// The rate and the loss alone.
        Loss,
    }
}

impl Params {
    /// Equation 1, for a rate in Mbit/s.
    fn utility_of(&self, rate: f64, outcome: &Outcome) -> f64 {
        let gradient = match self.utility {
            Utility::Latency => self.filtered(outcome.gradient),
            Utility::Loss => 0.0,
        };
        libm::pow(rate, self.t) - self.b * rate * gradient - self.c * rate * outcome.loss
    }
    /// Section 4.3: a growth below the threshold counts as none.
    fn filtered(&self, gradient: f64) -> f64 {
        if gradient.abs() < self.gradient_filter { 0.0 } else { gradient }
    }
}

/// The least number of segments in an interval, for a loss rate and a slope.
const LEAST_SEGMENTS: f64 = 10.0;
/// The window in round trips of the rate.
const WINDOW_ROUND_TRIPS: f64 = 2.0;
/// The least window in segments: acknowledgements may be delayed.
const LEAST_WINDOW: f64 = 4.0;
/// The least rate, in segments a round trip.
const LEAST_RATE: f64 = 2.0;
/// The largest rate in Mbit/s: beyond all links.
const MOST_RATE: f64 = 1e7;

/// The purpose of the intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    /// The rate doubles. The utility of the last rate, if one was measured.
    Starting(Option<f64>),
    /// Two rates are compared. The gradient of the first comparison, if it was odd and is checked again.
    Probing(Option<f64>),
}

/// Vivace for one sender.
#[derive(Debug, Clone)]
pub struct Vivace {
    params: Params,
    mss: f64,
    most_window: u64,
    window: u64,
    /// x in Mbit/s; 0 before the first round-trip time.
    rate: f64,
    srtt: Dur,
    phase: Phase,
    step: Step,
    /// The intervals of this comparison, by time: up to two.
    intervals: [Option<Interval>; 2],
    random: SplitMix,
    /// The rate at which segments leave.
    sending: f64,
    /// The utility and the gradient of the last interval.
    utility: f64,
    gradient: f64,
}

impl Vivace {
    /// A sender at its initial window.
    pub fn new(params: &Params, sender: &SenderContext) -> Result<Vivace, ParamError> {
        params.check()?;
        let mss = sender.mss.as_u64().max(1);
        Ok(Vivace {
            params: params.clone(),
            mss: mss as f64,
            most_window: mss * u64::from(u32::MAX),
            window: sender.initial_window.as_u64().max(mss),
            rate: 0.0,
            srtt: Dur::ZERO,
            phase: Phase::Starting(None),
            step: Step::default(),
            intervals: [None, None],
            random: SplitMix::new(sender.seed),
            sending: 0.0,
            utility: 0.0,
            gradient: 0.0,
        })
    }

    /// So many segments a round trip, in Mbit/s.
    fn per_round_trip(&self, segments: f64) -> f64 {
        segments * self.mss * 8e-6 / self.srtt.as_secs_f64().max(1e-6)
    }
    fn measure_rtt(&mut self, srtt: Dur) {
        if srtt.is_zero() {
            return;
        }
        self.srtt = srtt;
        if self.rate == 0.0 {
            self.set_rate(self.per_round_trip(self.window as f64 / self.mss));
            self.sending = self.rate;
        }
    }
    fn set_rate(&mut self, rate: f64) {
        self.rate = rate.clamp(self.per_round_trip(LEAST_RATE).min(MOST_RATE), MOST_RATE);
    }
    fn set_window(&mut self) {
        let bytes = WINDOW_ROUND_TRIPS * self.sending * 1e6 / 8.0 * self.srtt.as_secs_f64();
        self.window = (bytes.max(LEAST_WINDOW * self.mss) as u64).min(self.most_window);
    }

    /// The rates that the intervals of this phase try, one after the other.
    fn begin(&mut self, now: Time, delivered: u64) {
        let up = self.random.below(2) == 0;
        let part = |up: bool| 1.0 + if up { self.params.epsilon } else { -self.params.epsilon };
        let length =
            |rate: f64| Dur::from_secs_f64((LEAST_SEGMENTS * self.mss * 8e-6 / rate).min(3600.0)).max(self.srtt);
        let plan = |rate: f64| Interval::new(rate, length(rate));
        self.intervals = match self.phase {
            Phase::Starting(_) => [Some(plan(self.rate)), None],
            Phase::Probing(_) => [up, !up].map(|up| Some(plan(self.rate * part(up)))),
        };
        self.run(0, now, delivered);
    }
    /// The next interval runs, or the rate waits for the results.
    fn run(&mut self, which: usize, now: Time, delivered: u64) {
        self.sending = self.rate;
        if let Some(interval) = self.intervals.get_mut(which).and_then(Option::as_mut) {
            interval.start(now, delivered);
            self.sending = interval.rate;
        }
    }
    /// Intervals whose time is over end; if all results are there, the rate moves.
    fn proceed(&mut self, now: Time, delivered: u64) {
        if self.intervals[0].is_none() {
            return self.begin(now, delivered);
        }
        if let Some(which) = self.intervals.iter().position(|it| it.as_ref().is_some_and(|it| it.is_over(now))) {
            if let Some(interval) = &mut self.intervals[which] {
                interval.stop(now, delivered);
            }
            self.run(which + 1, now, delivered);
        }
        let settled = 4.0 * self.mss;
        if self.intervals.iter().flatten().all(|it| it.is_known(settled as u64)) {
            self.decide();
            self.begin(now, delivered);
        }
    }

    fn decide(&mut self) {
        let results =
            self.intervals.clone().map(|it| it.as_ref().and_then(Interval::outcome).zip(it.map(|it| it.rate)));
        let score = |(outcome, rate): (Outcome, f64)| (self.params.utility_of(rate, &outcome), outcome, rate);
        match (self.phase, results.map(|result| result.map(score))) {
            (Phase::Starting(last), [Some((utility, outcome, _)), None]) => {
                (self.utility, self.gradient) = (utility, outcome.gradient);
                self.end_start_step(last, utility);
            }
            (Phase::Probing(first), [Some(one), Some(two)]) => {
                (self.utility, self.gradient) = (two.0, two.1.gradient);
                let (up, down) = if one.2 > two.2 { (one, two) } else { (two, one) };
                self.compare(first, up, down);
            }
            // There was no data for the rate: once more.
            _ => {}
        }
    }
    /// The rate doubles while the utility grows; then it returns to the last rate at which it did.
    fn end_start_step(&mut self, last: Option<f64>, utility: f64) {
        if last.is_none_or(|last| utility > last) {
            self.phase = Phase::Starting(Some(utility));
            self.set_rate(2.0 * self.rate);
        } else {
            self.phase = Phase::Probing(None);
            self.set_rate(self.rate / 2.0);
        }
    }
    /// Sections 4.2 and 4.3. If more speed came with less loss or less queue, others changed theirs: it is measured
    /// again.
    fn compare(&mut self, first: Option<f64>, up: (f64, Outcome, f64), down: (f64, Outcome, f64)) {
        let gradient = (up.0 - down.0) / (up.2 - down.2);
        let waits_less = self.params.filtered(up.1.gradient) < self.params.filtered(down.1.gradient);
        let is_odd = up.1.loss < down.1.loss || waits_less && self.params.utility == Utility::Latency;
        let gradient = match first {
            None if is_odd => return self.phase = Phase::Probing(Some(gradient)),
            Some(first) => (first + gradient) / 2.0,
            None => gradient,
        };
        self.phase = Phase::Probing(None);
        let change = self.step.change(&self.params, self.rate, gradient);
        self.set_rate(self.rate + change);
    }
}

impl CongestionControl for Vivace {
    fn on_ack(&mut self, ev: &AckEvent) {
        self.measure_rtt(ev.srtt);
        let Some(rate) = ev.rate.filter(|_| ev.delivered > Bytes::ZERO && self.rate > 0.0) else { return };
        for interval in self.intervals.iter_mut().flatten() {
            interval.acked(rate.prior_delivered, ev.delivered.as_u64(), ev.now, ev.rtt);
        }
        self.proceed(ev.now, rate.total_delivered);
        self.set_window();
    }
    fn on_segment_lost(&mut self, lost: &LostSegment) {
        for interval in self.intervals.iter_mut().flatten() {
            interval.lost(lost.prior_delivered, lost.bytes.as_u64());
        }
    }
    fn on_loss(&mut self, _ev: &LossEvent) {}
    fn on_rto(&mut self, ev: &RtoEvent) {
        if ev.first {
            self.set_rate(self.rate / 2.0);
        }
        (self.phase, self.step, self.intervals) = (Phase::Probing(None), Step::default(), [None, None]);
        self.sending = self.rate;
        self.window = (ev.still_in_flight.as_u64() + self.mss as u64).min(self.most_window);
    }
    fn on_established(&mut self, _now: Time, rtt: Dur) {
        self.measure_rtt(rtt);
    }
    fn on_restart(&mut self, _ev: &RestartEvent) {
        self.intervals = [None, None];
    }
    fn cwnd(&self) -> Bytes {
        Bytes::new(self.window)
    }
    fn ssthresh(&self) -> Bytes {
        Bytes::MAX
    }
    fn pacing_rate(&self) -> Option<Rate> {
        (self.sending > 0.0).then(|| Rate::from_bps(((self.sending * 1e6) as u64).max(1)))
    }
    fn owns_recovery(&self) -> bool {
        true
    }
    fn probe(&self, row: &mut Probe) {
        row.push("base_rate", "bit/s", self.rate * 1e6);
        row.push("utility", "", self.utility);
        row.push("rtt_gradient", "", self.gradient);
        row.push("confidence", "", self.step.confidence());
    }
}

#[cfg(test)]
mod tests;
