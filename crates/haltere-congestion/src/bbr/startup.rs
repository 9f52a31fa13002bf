//! Startup: find the bandwidth by doubling the rate each round.
//!
//! The pipe is full when the bandwidth has grown by less than a quarter in three rounds: one for a receive window that
//! grows, one for a sample that reflects it, one for random variation.

use super::{Ack, Bbr};

impl Bbr {
    pub(super) fn check_full_pipe(&mut self, ack: &Ack) {
        if self.core.filled || !self.core.round_start || ack.rate.is_some_and(|rate| rate.app_limited) {
            return;
        }
        self.core.filled = self.growth.has_ended(self.max_bw.get());
    }
}
