//! Startup: find the bandwidth by doubling the rate each round.
//!
//! The pipe is full when the bandwidth has grown by less than a quarter in three rounds: one for a receive window that
//! grows, one for a sample that reflects it, one for chance.

use super::{Ack, Bbr};
use haltere_units::Rate;

/// Rounds without growth.
const FULL_BW_ROUNDS: u32 = 3;

/// Whether the pipe was ever full.
#[derive(Debug, Clone, Default)]
pub(super) struct FullPipe {
    pub reached: bool,
    bw: Rate,
    rounds: u32,
}

impl FullPipe {
    /// Begins to look anew; what was reached stays reached.
    pub fn forget(&mut self) {
        self.bw = Rate::ZERO;
        self.rounds = 0;
    }
}

impl Bbr {
    pub(super) fn check_full_pipe(&mut self, ack: &Ack) {
        if self.full_pipe.reached || !self.round_start || ack.rate.is_some_and(|rate| rate.app_limited) {
            return;
        }
        let bw = self.max_bw.get();
        let full = &mut self.full_pipe;
        if bw.as_bps() >= full.bw.as_bps() + full.bw.as_bps() / 4 {
            full.bw = bw;
            full.rounds = 0;
        } else {
            full.rounds += 1;
            full.reached = full.rounds >= FULL_BW_ROUNDS;
        }
    }
}
