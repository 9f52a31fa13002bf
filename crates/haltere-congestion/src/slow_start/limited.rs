//! Rate-limited increase: how far the window grows while it is not the limit.
//! Source: draft-ietf-ccwg-ratelimited-increase (names as there).
//! Model: maxFS is the largest flight since the last reduction, at first the initial window. cwnd grows as if it were
//! the limit, up to limit(maxFS): 2 maxFS in slow start, maxFS + SMSS in congestion avoidance.
//! Deviations: the limit stops growth and lowers no window, as in the draft's example (appendix A). In congestion
//! avoidance the limit is Reno's for every control; a faster law is held to one segment while it is not the limit.
//! Units: bytes. Cost: O(1) an acknowledgement. Known problems: none.

use crate::AckEvent;
use crate::window::Window;

/// Rate-limited increase of one connection.
#[derive(Debug, Clone)]
pub(super) struct Limited {
    /// maxFS.
    largest_flight: u64,
}

impl Limited {
    pub(super) fn new(initial_window: u64) -> Limited {
        Limited { largest_flight: initial_window }
    }
    /// The window was reduced, for any reason.
    pub(super) fn on_reduction(&mut self) {
        self.largest_flight = 0;
    }
    /// The control let the window grow from `before` segments.
    pub(super) fn on_ack(&mut self, ev: &AckEvent, before: u64, window: &mut Window) {
        self.largest_flight = self.largest_flight.max(ev.prior_in_flight.as_u64());
        let flight = self.largest_flight / window.bytes(1).as_u64();
        let limit = if before < window.ssthresh { 2 * flight } else { flight + 1 };
        if window.cwnd > before.max(limit) {
            window.set_cwnd(before.max(limit));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AckEvent, SenderContext};
    use haltere_units::{Bytes, Time};

    const MSS: u64 = 1000;

    /// The draft's appendix A: rounds of 4, 8, 4 and 20 segments, an acknowledgement for two; the window after each.
    #[test]
    fn the_example_of_the_drafts_appendix() {
        let mss = Bytes::new(MSS);
        let mut window = Window::new(&SenderContext { mss, initial_window: mss * 10, ..Default::default() });
        let mut limited = Limited::new(10 * MSS);
        let mut round = |sent: u64| {
            for acked in 0..sent / 2 {
                let prior_in_flight = mss * (sent - 2 * acked);
                let before = window.cwnd;
                window.slow_start(2);
                limited.on_ack(&AckEvent { prior_in_flight, ..AckEvent::at(Time::ZERO) }, before, &mut window);
            }
            window.cwnd
        };
        assert_eq!([round(4), round(8), round(4), round(20)], [14, 20, 20, 40]);
    }

    #[test]
    fn in_avoidance_it_is_one_segment_over_the_largest_flight_since_the_reduction() {
        let mss = Bytes::new(MSS);
        let mut window = Window::new(&SenderContext { mss, initial_window: mss * 20, ..Default::default() });
        let mut limited = Limited::new(20 * MSS);
        window.ssthresh = 20;
        let mut grow = |limited: &mut Limited, flight: u64| {
            let before = window.cwnd;
            window.cwnd += 5;
            limited.on_ack(
                &AckEvent { prior_in_flight: mss * flight, ..AckEvent::at(Time::ZERO) },
                before,
                &mut window,
            );
            window.cwnd
        };
        assert_eq!([grow(&mut limited, 3), grow(&mut limited, 3)], [21, 21]);
        limited.on_reduction();
        assert_eq!(grow(&mut limited, 3), 21, "the limit is 4, which lowers no window");
        assert_eq!(grow(&mut limited, 24), 25);
    }
}
