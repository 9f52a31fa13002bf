//! Drain: empty the queue that Startup built (draft section 5.3.2).

use super::{Ack, Bbr3, Gain, State};

/// If the bandwidth was overestimated the flight never reaches its product: Drain ends after this number of rounds.
const MAX_DRAIN_ROUNDS: u64 = 3;

impl Bbr3 {
    pub(super) fn start_drain(&mut self) {
        self.state = State::Drain;
        self.drain_start_round = self.core.round;
    }
    /// Draft §5.3.2, CheckDrainDone.
    pub(super) fn check_drain(&mut self, ack: &Ack) {
        let drained = ack.in_flight <= self.inflight(self.bw(), Gain::UNIT);
        if self.state == State::Drain && (drained || self.core.round > self.drain_start_round + MAX_DRAIN_ROUNDS) {
            self.start_down();
            self.cycle.stamp(ack.ev.now);
        }
    }
}
