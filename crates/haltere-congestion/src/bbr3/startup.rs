//! Startup: find the bandwidth by doubling the rate each round.
//!
//! It ends when the bandwidth grew by less than a quarter in three rounds, or when a round of recovery lost more than
//! 2 % in at least six ranges that do not touch (draft section 5.3.1).

use super::{Ack, Bbr3, State};
use crate::bbr_core::Growth;
use haltere_units::Rate;

/// StartupFullLossCnt.
const FULL_LOSS_RANGES: u32 = 6;

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
        self.check_growth(ack);
        if self.state != State::Startup {
            return;
        }
        self.check_much_loss(ack);
        if self.core.filled {
            self.start_drain();
        }
    }

    /// Draft §5.3.1.2, CheckFullBWReached.
    fn check_growth(&mut self, ack: &Ack) {
        let Some(rate) = ack.rate else { return };
        let full = &mut self.full_pipe;
        if full.now || !self.core.round_start || rate.app_limited {
            return;
        }
        full.now = full.growth.has_ended(Rate::of(rate.delivered, rate.interval));
        if full.growth.rounds == 0 {
            full.ecn_rounds = 0;
        }
        self.core.filled |= full.now;
    }

    /// Draft §5.3.1.3, CheckStartupHighLoss; and marks.
    fn check_much_loss(&mut self, ack: &Ack) {
        if self.core.filled || !self.bounds.loss_round_start {
            return;
        }
        let Some(rate) = ack.rate else { return };
        if self.params.ecn && self.core.round_start {
            let marked = self.bounds.much_marked;
            self.full_pipe.ecn_rounds = if marked { self.full_pipe.ecn_rounds + 1 } else { 0 };
        }
        let lost =
            ack.ev.in_recovery && self.bounds.lost_ranges >= FULL_LOSS_RANGES && super::bounds::lost_too_much(&rate);
        self.bounds.lost_ranges = 0;
        let marked = self.params.full_ecn_rounds > 0 && self.full_pipe.ecn_rounds >= self.params.full_ecn_rounds;
        if lost || marked {
            self.undo.state = Some(State::Startup);
            self.core.filled = true;
            let bdp = self.bdp(super::Gain::UNIT);
            self.bounds.inflight_long = Some(bdp.max(self.bounds.inflight_latest));
        }
    }
}
