//! Drain: empty the queue that Startup built (draft section 5.3.2).

use super::{Ack, Bbr3, Gain, State};

impl Bbr3 {
    pub(super) fn check_drain(&mut self, ack: &Ack) {
        if self.state == State::Drain && ack.in_flight <= self.inflight(Gain::UNIT) {
            self.start_down(ack.ev.now, ack.rate);
        }
    }
}
