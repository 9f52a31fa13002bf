//! Startup and Drain: find the bandwidth by doubling the rate each round, then empty the queue that this built.
//!
//! Startup ends when the bandwidth grew by less than a quarter in three rounds, or when a round of recovery lost more
//! than 2 % in at least six ranges that do not touch (draft section 5.3.1).

use super::{Ack, Bbr3, Gain, State};
use crate::bbr_core::Growth;
use haltere_units::Rate;

/// StartupFullLossCnt: so many ranges lost in a round end Startup.
const FULL_LOSSES: u32 = 6;
/// Draft: if the bandwidth was overestimated the flight never reaches its product, and Drain ends after this number of
/// rounds.
const MAX_DRAIN_ROUNDS: u64 = 3;

/// Whether the pipe is full now.
#[derive(Debug, Clone, Default)]
pub(super) struct FullPipe {
    /// Full in this probe (full_bw_now).
    pub now: bool,
    growth: Growth,
    ecn_rounds: u32,
}

impl FullPipe {
    /// Draft §5.3.1.2, ResetFullBW.
    pub fn forget(&mut self) {
        *self = FullPipe::default();
    }
    /// Rounds without growth (full_bw_count).
    pub fn growth_rounds(&self) -> u32 {
        self.growth.rounds
    }
    /// Looks for growth over this bandwidth.
    pub fn watch(&mut self, bw: Rate) {
        *self = FullPipe { growth: Growth::above(bw), ..FullPipe::default() };
    }
}

impl Bbr3 {
    pub(super) fn check_full_pipe(&mut self, ack: &Ack) {
        let (startup, linux) = (self.state == State::Startup, self.is_linux());
        // The authors' code looks at losses first: they bound the flight even if the growth ends, too.
        if startup && linux {
            self.check_much_loss(ack);
        }
        self.check_growth(ack);
        if startup && !linux {
            self.check_much_loss(ack);
        }
        if startup && self.core.filled {
            self.start_drain();
        }
    }

    /// Draft §5.3.1.2, CheckFullBWReached. In the authors' code any acknowledgement may show growth.
    fn check_growth(&mut self, ack: &Ack) {
        let linux = self.is_linux();
        let Some(rate) = ack.rate else { return };
        let full = &mut self.full_pipe;
        if full.now || rate.app_limited || (!self.core.round_start && !linux) {
            return;
        }
        if self.core.round_start {
            full.now = full.growth.has_ended(rate.rate());
        } else {
            full.growth.sees(rate.rate());
        }
        self.core.filled |= full.now;
    }

    /// Draft §5.3.1.3, CheckStartupHighLoss; and marks.
    fn check_much_loss(&mut self, ack: &Ack) {
        if self.core.filled {
            return;
        }
        let linux = self.is_linux();
        if linux && ack.lost > 0 {
            self.bounds.lost_ranges += 1;
        }
        let Some(rate) = ack.rate else { return };
        let lost = self.bounds.loss_round_start
            && ack.ev.in_recovery
            && self.bounds.lost_ranges >= FULL_LOSSES
            && self.lost_too_much(&rate);
        if self.bounds.loss_round_start {
            self.bounds.lost_ranges = 0;
        }
        if lost || self.marks_end_startup() {
            self.undo.state = Some(State::Startup);
            self.core.filled = true;
            let bdp = if linux { self.inflight(self.max_bw.get(), Gain::UNIT) } else { self.bdp(Gain::UNIT) };
            self.bounds.inflight_long = Some(bdp.max(self.bounds.inflight_latest));
        }
    }
    /// The authors' code: so many rounds in a row were marked too much.
    fn marks_end_startup(&mut self) -> bool {
        if !self.params.ecn || !self.core.round_start {
            return false;
        }
        let full = &mut self.full_pipe;
        full.ecn_rounds = if self.bounds.much_marked { full.ecn_rounds + 1 } else { 0 };
        self.params.full_ecn_rounds > 0 && full.ecn_rounds >= self.params.full_ecn_rounds
    }

    fn start_drain(&mut self) {
        self.state = State::Drain;
        self.drain_start_round = self.core.round;
        if self.is_linux() {
            self.bounds.forget_signals();
        }
    }
    /// Draft §5.3.2, CheckDrainDone.
    pub(super) fn check_drain(&mut self, ack: &Ack) {
        if self.state != State::Drain {
            return;
        }
        let over = if self.is_linux() {
            self.in_net(ack, ack.in_flight) <= self.inflight(self.max_bw.get(), Gain::UNIT)
        } else {
            ack.in_flight <= self.inflight(self.bw(), Gain::UNIT)
                || self.core.round > self.drain_start_round + MAX_DRAIN_ROUNDS
        };
        if over {
            self.start_down();
            self.cycle.stamp(ack.ev.now);
        }
    }
}
