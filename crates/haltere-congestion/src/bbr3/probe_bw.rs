//! ProbeBW: DOWN, CRUISE, REFILL and UP (draft section 5.3.3).

use super::{Ack, Bbr3, Gain, State};
use crate::RateSample;
use haltere_units::{Dur, Rate, Time};

/// Reno would need as many rounds as there are segments in flight to grow by the same; more than 63 is too rare.
const MAX_RENO_ROUNDS: u64 = 63;
/// The wait between probes in real time: 2 to 3 s.
const PROBE_WAIT_BASE: Dur = Dur::from_secs(2);
const PROBE_WAIT_RANDOM_MS: u64 = 1000;
/// Rounds of doubling growth of inflight_longterm; a window of 2^30 is never reached.
const MAX_UP_ROUNDS: u32 = 30;

/// The phase of the probe to which the acknowledgements that arrive now belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// Where in the cycle.
#[derive(Debug, Clone, Default)]
pub(super) struct Cycle {
    /// When the wait began (cycle_stamp); `None`: with the event that is being processed.
    since: Option<Time>,
    wait: Dur,
    /// Rounds since the last probe.
    pub rounds: u64,
    pub acks: AckPhase,
    /// The probe's segments may lower inflight_longterm, once (is_bw_probe_sample).
    pub probing: bool,
    /// The last probe lost too much: the next one stops at inflight_longterm.
    pub prev_probe_too_high: bool,
    /// The last probe stopped there (prev_probe_precautionary).
    pub prev_probe_precautionary: bool,
    /// ProbeRTT ended the probe, whose last samples come in the next round.
    cut: bool,
    up_rounds: u32,
    /// Bytes acknowledged towards the next increase (bw_probe_up_acked), and bytes that make one
    /// (probe_up_acked_per_inc).
    up_acked: u64,
    up_acked_per_inc: u64,
}

impl Cycle {
    /// The time of the event by which the wait began.
    pub fn stamp(&mut self, now: Time) {
        self.since.get_or_insert(now);
    }
    /// ProbeRTT begins, perhaps amid a probe.
    pub fn cut(&mut self) {
        self.cut = !matches!(self.acks, AckPhase::Init | AckPhase::Refilling);
        self.acks = AckPhase::ProbeStopping;
    }
}

impl Bbr3 {
    pub(super) fn start_down(&mut self) {
        self.bounds.forget_signals();
        // Flows should not probe together: both waits begin at random.
        self.cycle.rounds = self.random.below(2);
        self.cycle.wait = PROBE_WAIT_BASE + Dur::from_ms(self.random.below(PROBE_WAIT_RANDOM_MS));
        self.cycle.since = None;
        self.cycle.acks = AckPhase::ProbeStopping;
        if !self.params.ack_phase {
            self.max_bw.advance_if_any();
        }
        self.start_round();
        self.state = State::Down;
    }
    pub(super) fn start_cruise(&mut self) {
        self.state = State::Cruise;
        if self.is_linux()
            && let (Some(short), Some(long)) = (self.bounds.inflight_short, self.bounds.inflight_long)
        {
            self.bounds.inflight_short = Some(short.min(long));
        }
    }
    pub(super) fn start_refill(&mut self) {
        self.bounds.forget_short();
        self.cycle.up_rounds = 0;
        self.cycle.up_acked = 0;
        self.cycle.prev_probe_precautionary = false;
        self.cycle.acks = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }
    fn start_up(&mut self, rate: Option<RateSample>) {
        self.cycle.probing = true;
        self.cycle.acks = AckPhase::ProbeStarting;
        self.start_round();
        self.full_pipe.watch(rate_of(rate));
        self.state = State::Up;
        self.raise_slope();
    }

    /// Draft §5.3.3.9, UpdateProbeBWCyclePhase.
    pub(super) fn update_probe_bw(&mut self, ack: &Ack) {
        if !self.core.filled || self.adapt_long_term(ack) {
            return;
        }
        let down = self.state == State::Up && self.time_to_go_down(ack);
        match self.state {
            State::Down | State::Cruise if self.time_to_probe(ack.ev.now) => self.start_refill(),
            State::Down if self.time_to_cruise(ack) => self.start_cruise(),
            State::Refill if self.core.round_start => self.start_up(ack.rate),
            State::Up if down => {
                self.cycle.prev_probe_too_high = false;
                self.start_down();
            }
            _ => {}
        }
        self.cycle.stamp(ack.ev.now);
    }

    /// Draft §5.3.3.9, AdaptLongTermModel. True if the state was decided.
    fn adapt_long_term(&mut self, ack: &Ack) -> bool {
        let Some(rate) = ack.rate else { return false };
        if self.follow_probe_feedback(&rate) {
            return true;
        }
        let (lost, marked) = (self.lost_too_much(&rate), self.marked_too_much(&rate));
        if self.cycle.probing && (marked || (lost && self.is_linux())) {
            self.handle_too_high(rate.tx_in_flight.as_u64() / self.core.mss, rate.app_limited);
        }
        if lost || marked {
            return false;
        }
        let Some(bound) = self.bounds.inflight_long else { return false };
        self.bounds.inflight_long = Some(bound.max(rate.tx_in_flight.as_u64() / self.core.mss));
        if self.state == State::Up {
            self.raise_long_term(ack);
        }
        false
    }

    /// Whether the acknowledgements that come now tell of the probe. True if a cautious probe lost nothing, so that a
    /// full one begins at once (draft §5.3.3.6, acceleration).
    fn follow_probe_feedback(&mut self, rate: &RateSample) -> bool {
        if !self.core.round_start {
            return false;
        }
        match self.cycle.acks {
            AckPhase::ProbeStarting => self.cycle.acks = AckPhase::ProbeFeedback,
            AckPhase::ProbeStopping => {
                self.cycle.probing = false;
                self.cycle.acks = AckPhase::Init;
                if core::mem::take(&mut self.cycle.cut) && !self.is_linux() {
                    // Draft §5.5.6: one round trip after UP ended.
                    if self.params.ack_phase {
                        self.max_bw.advance_if_any();
                    }
                } else if self.in_probe_bw() {
                    if !rate.app_limited && self.params.ack_phase {
                        self.max_bw.advance_if_any();
                    }
                    let safe = self.cycle.prev_probe_precautionary && !self.cycle.prev_probe_too_high;
                    if safe {
                        self.start_refill();
                    }
                    return safe;
                }
            }
            _ => {}
        }
        false
    }

    fn time_to_cruise(&self, ack: &Ack) -> bool {
        let in_flight = if self.is_linux() { self.in_net(ack, ack.prior_in_flight) } else { ack.in_flight };
        let headroom = self.with_headroom().is_none_or(|bound| in_flight <= bound);
        headroom && in_flight <= self.inflight(self.max_bw.get(), Gain::UNIT)
    }
    fn time_to_probe(&self, now: Time) -> bool {
        self.cycle.since.is_some_and(|since| now.since(since) > self.cycle.wait)
            || self.cycle.rounds >= self.target_inflight().min(MAX_RENO_ROUNDS)
    }
    /// Draft §5.3.3.9, IsTimeToGoDown. After a probe that lost too much: when the flight reaches the bound. Otherwise
    /// the flight at its bound waits whether the bound may rise, and the probe ends when it finds no more.
    fn time_to_go_down(&mut self, ack: &Ack) -> bool {
        let in_flight = self.in_net(ack, ack.prior_in_flight);
        let at_bound = self.bounds.inflight_long.is_some_and(|bound| in_flight >= bound);
        if self.cycle.prev_probe_too_high && at_bound {
            self.cycle.prev_probe_precautionary = true;
            return true;
        }
        if ack.ev.cwnd_limited && self.bounds.inflight_long.is_some_and(|bound| self.core.cwnd >= bound) {
            self.full_pipe.watch(rate_of(ack.rate));
            return false;
        }
        self.full_pipe.now
    }

    /// Draft §5.3.3.9, ProbeInflightLongtermUpward: slowly at first, twice as fast each round.
    fn raise_long_term(&mut self, ack: &Ack) {
        let Some(bound) = self.bounds.inflight_long else { return };
        if !ack.ev.cwnd_limited || self.core.cwnd < bound {
            return;
        }
        self.cycle.up_acked += ack.ev.delivered.as_u64();
        self.bounds.inflight_long = Some(bound + self.cycle.up_acked / self.cycle.up_acked_per_inc);
        self.cycle.up_acked %= self.cycle.up_acked_per_inc;
        if self.core.round_start {
            self.raise_slope();
        }
    }
    fn raise_slope(&mut self) {
        let growth = 1u64 << self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(MAX_UP_ROUNDS);
        self.cycle.up_acked_per_inc = (self.core.cwnd * self.core.mss / growth).max(self.core.mss);
    }
}

fn rate_of(rate: Option<RateSample>) -> Rate {
    rate.map_or(Rate::ZERO, |rate| rate.rate())
}
