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

/// What the acknowledgements that come now tell of the probe.
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
    since: Time,
    wait: Dur,
    /// Rounds since the last probe.
    pub rounds: u64,
    pub acks: AckPhase,
    /// The probe's samples may lower inflight_longterm, once (bw_probe_samples).
    pub probing: bool,
    up_rounds: u32,
    up_acks: u64,
    up_cnt: u64,
}

impl Bbr3 {
    pub(super) fn start_down(&mut self, now: Time, rate: Option<RateSample>) {
        self.bounds.forget_signals();
        // Flows should not probe together: both waits begin at random.
        self.cycle.rounds = self.random.below(2);
        self.cycle.wait = PROBE_WAIT_BASE + Dur::from_ms(self.random.below(PROBE_WAIT_RANDOM_MS));
        self.cycle.since = now;
        self.cycle.acks = AckPhase::ProbeStopping;
        self.core.restart_round(rate);
        self.state = State::Down;
    }
    pub(super) fn start_cruise(&mut self) {
        self.state = State::Cruise;
    }
    fn start_refill(&mut self, rate: Option<RateSample>) {
        self.bounds.forget_short();
        self.cycle.up_rounds = 0;
        self.cycle.up_acks = 0;
        self.cycle.acks = AckPhase::Refilling;
        self.core.restart_round(rate);
        self.state = State::Refill;
    }
    fn start_up(&mut self, now: Time, rate: Option<RateSample>) {
        self.cycle.probing = true;
        self.cycle.acks = AckPhase::ProbeStarting;
        self.cycle.since = now;
        self.core.restart_round(rate);
        self.full_pipe.watch(rate_of(rate));
        self.state = State::Up;
        self.raise_slope();
    }

    /// Draft §5.3.3.6, BBRUpdateProbeBWCyclePhase.
    pub(super) fn update_probe_bw(&mut self, ack: &Ack) {
        if !self.core.filled {
            return;
        }
        self.adapt_long_term(ack);
        let down = self.state == State::Up && self.time_to_go_down(ack);
        match self.state {
            State::Down | State::Cruise if self.time_to_probe(ack.ev.now) => self.start_refill(ack.rate),
            State::Down if self.time_to_cruise(ack) => self.start_cruise(),
            State::Refill if self.core.round_start => self.start_up(ack.ev.now, ack.rate),
            State::Up if down => self.start_down(ack.ev.now, ack.rate),
            _ => {}
        }
    }

    fn time_to_cruise(&self, ack: &Ack) -> bool {
        let headroom = self.bounds.with_headroom().is_none_or(|bound| ack.in_flight <= bound);
        headroom && ack.in_flight <= self.inflight(Gain::UNIT)
    }
    fn time_to_probe(&self, now: Time) -> bool {
        now.since(self.cycle.since) > self.cycle.wait
            || self.cycle.rounds >= self.target_inflight().min(MAX_RENO_ROUNDS)
    }
    /// The flight has reached its bound: wait whether the bound may rise. Otherwise the probe ends when it finds no more.
    fn time_to_go_down(&mut self, ack: &Ack) -> bool {
        if ack.ev.cwnd_limited && self.bounds.inflight_long.is_some_and(|bound| self.core.cwnd >= bound) {
            self.full_pipe.watch(rate_of(ack.rate));
            return false;
        }
        self.full_pipe.now
    }

    /// Draft §5.5.10.2, BBRProbeInflightLongtermUpward: slowly at first, twice as fast each round.
    pub(super) fn raise_long_term(&mut self, ack: &Ack) {
        let Some(bound) = self.bounds.inflight_long else { return };
        if !ack.ev.cwnd_limited || self.core.cwnd < bound {
            return;
        }
        self.cycle.up_acks += ack.acked;
        let cnt = self.cycle.up_cnt.max(1);
        self.bounds.inflight_long = Some(bound + self.cycle.up_acks / cnt);
        self.cycle.up_acks %= cnt;
        if self.core.round_start {
            self.raise_slope();
        }
    }
    fn raise_slope(&mut self) {
        let growth = 1u64 << self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(MAX_UP_ROUNDS);
        self.cycle.up_cnt = (self.core.cwnd / growth).max(1);
    }
}

fn rate_of(rate: Option<RateSample>) -> Rate {
    rate.map_or(Rate::ZERO, |rate| Rate::of(rate.delivered, rate.interval))
}
