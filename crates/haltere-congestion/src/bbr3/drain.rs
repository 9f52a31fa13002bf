//! Drain: empty the queue that Startup built (draft section 5.3.2).

use super::{Ack, Bbr3, Gain, State};

/// Draft: if the bandwidth was overestimated the flight never reaches its product, and Drain ends after this number of
/// rounds.
const MAX_DRAIN_ROUNDS: u64 = 3;

impl Bbr3 {
    pub(super) fn start_drain(&mut self) {
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
