//! Careful Resume: a jump towards the window of an earlier connection on the same path, and the retreat from it.
//! Source: RFC 9959 (section 3; names as there).
//! Model:
//!
//! ```text
//!                  initial data acknowledged,         first unvalidated segment         last one
//!                  RTT confirmed, more to send        acknowledged, or all are sent     acknowledged
//!   Reconnaissance ------------------------> Unvalidated -----------> Validating -----------------> normal
//!                                                 |                       |                            ^
//!                                                 '--------- loss, mark --+--> Safe Retreat -----------'
//!   cwnd:    normal control    saved_cwnd / 2, paced    flight, then normal   PipeSize / 2     ssthresh = beta PipeSize
//! ```
//!
//! PipeSize is the flight before the jump and all that was acknowledged since. The RTT is confirmed if it is above half
//! of saved_rtt and at most ten times that.
//! Deviations: the phases move on acknowledgements only, so "all is sent" and "one RTT has passed" are noticed by the
//! next one. In TCP the last unvalidated byte is acknowledged once what was lost is repaired: the Safe Retreat ends when
//! all that was in flight is acknowledged or lost, and repairs do not count for PipeSize. beta of the Safe Retreat is the control's (the RFC: from 0.5 to 1). The saved parameters are those of the
//! experiment: no connection saves or deletes any.
//! Units: bytes, ns. Cost: O(1) an acknowledgement. Known problems: none.

use crate::window::Window;
use crate::{AckEvent, LossEvent};
use haltere_units::{Bytes, Dur, Rate, Time};

/// The jump is at most this part of the saved window.
const JUMP_DIVISOR: u64 = 2;
/// An RTT of at most saved_rtt / 2 is another path, and one above ten times it.
const RTT_SMALL_DIVISOR: u64 = 2;
const RTT_LARGE: u64 = 10;
/// Safe Retreat: at most this part of PipeSize.
const RETREAT_DIVISOR: u64 = 2;

/// Where a connection is.
#[derive(Debug, Clone)]
pub(super) enum Phase {
    /// The initial data is on its way; it ends at this byte, once that is known.
    Reconnaissance(Option<u64>),
    /// The window is the jump since then, paced; segments from this byte on are unvalidated.
    Unvalidated { since: Time, rtt: Dur, first: u64 },
    /// Unvalidated segments end at this byte.
    Validating { last: u64 },
    /// Of what was in flight at the loss so many bytes are neither acknowledged nor lost; the control is notified of the loss
    /// at the end.
    Retreat { left: u64, event: LossEvent, cwnd: u64 },
    /// Normal control, for good.
    Over,
}

/// Careful Resume of one connection.
#[derive(Debug, Clone)]
pub(super) struct Resume {
    jump: Bytes,
    saved_rtt: Dur,
    initial_window: u64,
    /// PipeSize in bytes.
    pipe: u64,
    pub phase: Phase,
}

impl Resume {
    pub(super) fn new(saved_window: Bytes, saved_rtt: Dur, initial_window: u64) -> Resume {
        let jump = saved_window / JUMP_DIVISOR;
        Resume { jump, saved_rtt, initial_window, pipe: 0, phase: Phase::Reconnaissance(None) }
    }

    /// The window is not the control's.
    pub(super) fn holds_window(&self) -> bool {
        matches!(self.phase, Phase::Unvalidated { .. } | Phase::Retreat { .. })
    }
    pub(super) fn is_retreating(&self) -> bool {
        matches!(self.phase, Phase::Retreat { .. })
    }
    /// A loss now is one of the jump.
    pub(super) fn is_trying(&self) -> bool {
        matches!(self.phase, Phase::Unvalidated { .. } | Phase::Validating { .. })
    }
    /// PipeSize in segments of that window, at least two.
    pub(super) fn pipe(&self, window: &Window) -> u64 {
        (self.pipe / window.bytes(1).as_u64()).max(2)
    }
    /// The rate of unvalidated segments.
    pub(super) fn pace(&self) -> Option<Rate> {
        match self.phase {
            Phase::Unvalidated { rtt, .. } => Some(Rate::of(self.jump, rtt)),
            _ => None,
        }
    }

    /// Follows the control's answer. True if the retreat is over.
    pub(super) fn on_ack(&mut self, ev: &AckEvent, window: &mut Window) -> bool {
        match &mut self.phase {
            Phase::Retreat { left, .. } => {
                let delivered = ev.delivered.as_u64().min(*left);
                *left -= delivered;
                self.pipe += delivered;
            }
            Phase::Unvalidated { .. } | Phase::Validating { .. } => self.pipe += ev.delivered.as_u64(),
            Phase::Reconnaissance(_) | Phase::Over => {}
        }
        match self.phase {
            Phase::Reconnaissance(end) => self.reconnoitre(ev, end, window),
            Phase::Unvalidated { since, rtt, first } => {
                window.set_cwnd(self.jump.as_u64() / window.bytes(1).as_u64());
                let all_sent = ev.in_flight + window.bytes(1) > window.cwnd_bytes();
                if all_sent || ev.snd_una > first || ev.now.since(since) > rtt {
                    self.validate(ev, window);
                }
            }
            Phase::Validating { last } if ev.snd_una >= last => self.phase = Phase::Over,
            Phase::Retreat { left, cwnd, .. } => {
                window.set_cwnd(cwnd);
                return left == 0;
            }
            Phase::Validating { .. } | Phase::Over => {}
        }
        false
    }

    fn reconnoitre(&mut self, ev: &AckEvent, end: Option<u64>, window: &mut Window) {
        let end = end.unwrap_or(ev.snd_nxt);
        self.phase = Phase::Reconnaissance(Some(end));
        let rtt = ev.rtt.unwrap_or(ev.srtt);
        if !ev.min_rtt.is_zero() && ev.min_rtt <= self.saved_rtt / RTT_SMALL_DIVISOR || rtt > self.saved_rtt * RTT_LARGE
        {
            self.phase = Phase::Over;
        } else if ev.snd_una >= end && ev.cwnd_limited && !rtt.is_zero() && self.jump > window.cwnd_bytes() {
            self.phase = Phase::Unvalidated { since: ev.now, rtt, first: ev.snd_nxt };
            self.pipe = ev.in_flight.as_u64();
            window.set_cwnd(self.jump.as_u64() / window.bytes(1).as_u64());
        }
    }

    /// The unvalidated segments are sent.
    fn validate(&mut self, ev: &AckEvent, window: &mut Window) {
        let flight = ev.in_flight.as_u64();
        let mss = window.bytes(1).as_u64();
        if flight < self.initial_window || flight <= self.pipe {
            window.set_cwnd(self.pipe.max(self.initial_window) / mss);
            self.phase = Phase::Over;
        } else {
            window.set_cwnd(flight.div_ceil(mss));
            self.phase = Phase::Validating { last: ev.snd_nxt };
        }
    }

    /// A loss or a mark: drain what is unvalidated.
    pub(super) fn retreat(&mut self, ev: &LossEvent, window: &mut Window) {
        let cwnd = (self.pipe(window) / RETREAT_DIVISOR).max(2);
        window.set_cwnd(cwnd);
        self.phase = Phase::Retreat { left: ev.in_flight.as_u64(), event: *ev, cwnd };
    }

    pub(super) fn on_segment_lost(&mut self, bytes: Bytes) {
        if let Phase::Retreat { left, .. } = &mut self.phase {
            *left = left.saturating_sub(bytes.as_u64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LossKind, SenderContext};

    const MSS: u64 = 1000;

    fn window(segments: u64) -> Window {
        let mss = Bytes::new(MSS);
        Window::new(&SenderContext { mss, initial_window: mss * segments, ..Default::default() })
    }
    fn resume(saved: u64) -> Resume {
        Resume::new(Bytes::new(saved * MSS), Dur::from_ms(100), 10 * MSS)
    }
    /// An acknowledgement at that time with these many segments delivered, acknowledged in all, sent in all, in flight.
    fn ack(ms: u64, [delivered, una, nxt, in_flight]: [u64; 4]) -> AckEvent {
        AckEvent {
            delivered: Bytes::new(delivered * MSS),
            snd_una: una * MSS,
            snd_nxt: nxt * MSS,
            in_flight: Bytes::new(in_flight * MSS),
            rtt: Some(Dur::from_ms(100)),
            min_rtt: Dur::from_ms(100),
            cwnd_limited: true,
            ..AckEvent::at(Time::ZERO + Dur::from_ms(ms))
        }
    }
    /// As in the example of the RFC: 29 segments in flight, a saved window of 300, a jump to 150.
    fn jumped() -> (Resume, Window) {
        let (mut r, mut w) = (resume(300), window(29));
        r.on_ack(&ack(100, [1, 1, 10, 29]), &mut w);
        assert_eq!((w.cwnd, r.pace()), (29, None), "the initial data is not acknowledged");
        r.on_ack(&ack(110, [9, 10, 39, 29]), &mut w);
        (r, w)
    }

    /// The example without losses: 121 segments are unvalidated, paced at 150 a round trip.
    #[test]
    fn the_window_jumps_to_half_of_the_saved_one_and_is_validated_in_a_round_trip() {
        let (mut r, mut w) = jumped();
        assert_eq!((w.cwnd, r.pace()), (150, Some(Rate::from_bps(12_000_000))), "150 kB in 100 ms");
        r.on_ack(&ack(200, [29, 39, 150, 111]), &mut w);
        assert_eq!((w.cwnd, r.pipe), (150, 58 * MSS), "the control's growth does not count");
        r.on_ack(&ack(210, [1, 40, 189, 149]), &mut w);
        assert_eq!((w.cwnd, r.pace()), (149, None), "the first unvalidated one is acknowledged: the flight");
        w.slow_start(30);
        r.on_ack(&ack(220, [30, 70, 219, 149]), &mut w);
        assert_eq!(w.cwnd, 179, "normal growth");
        r.on_ack(&ack(310, [119, 189, 400, 211]), &mut w);
        assert!(matches!(r.phase, Phase::Over));
    }

    /// The example of a data-limited sender: 50 segments in flight after one RTT are more than PipeSize, 39.
    #[test]
    fn what_was_not_used_of_the_jump_is_given_back() {
        let (mut r, mut w) = jumped();
        r.on_ack(&ack(211, [10, 20, 70, 50]), &mut w);
        assert_eq!((w.cwnd, r.is_trying()), (50, true), "over a round trip has passed: the flight");
        let (mut r, mut w) = jumped();
        r.on_ack(&ack(211, [10, 20, 50, 30]), &mut w);
        assert_eq!((w.cwnd, r.is_trying()), (39, false), "a flight below PipeSize: PipeSize, and nothing to validate");
    }

    /// The example of a loss: PipeSize 29 + 37 = 66 leaves 33.
    #[test]
    fn a_loss_of_unvalidated_segments_leaves_half_of_what_was_acknowledged() {
        let (mut r, mut w) = jumped();
        r.on_ack(&ack(215, [37, 47, 160, 149]), &mut w);
        let in_flight = Bytes::new(112 * MSS);
        r.retreat(&LossEvent { in_flight, ..LossEvent::at(Time::ZERO, LossKind::Loss) }, &mut w);
        assert_eq!(w.cwnd, 33);
        w.slow_start(10);
        assert!(!r.on_ack(&ack(220, [60, 100, 160, 60]), &mut w));
        assert_eq!((w.cwnd, r.pipe(&w)), (33, 126), "it does not grow, and PipeSize does");
        r.on_segment_lost(Bytes::new(2 * MSS));
        assert!(r.on_ack(&ack(330, [60, 160, 190, 30]), &mut w), "all that was in flight is acknowledged or lost");
        assert_eq!(r.pipe(&w), 176, "66 and 112, of which 2 were lost; repairs do not count");
    }

    #[test]
    fn another_round_trip_time_is_another_path() {
        let confirmed = |rtt_ms: u64| {
            let (mut r, mut w) = (resume(300), window(29));
            let rtt = Dur::from_ms(rtt_ms);
            r.on_ack(&AckEvent { rtt: Some(rtt), min_rtt: rtt, ..ack(1, [10, 10, 10, 0]) }, &mut w);
            r.is_trying()
        };
        assert_eq!([50, 51, 1000, 1001].map(confirmed), [false, true, true, false]);
    }

    #[test]
    fn there_is_no_jump_down_nor_one_of_a_sender_that_has_nothing_to_send() {
        let (mut r, mut w) = (resume(58), window(29));
        r.on_ack(&ack(100, [10, 10, 10, 0]), &mut w);
        assert!(!r.is_trying());
        let (mut r, mut w) = (resume(300), window(29));
        r.on_ack(&AckEvent { cwnd_limited: false, ..ack(100, [10, 10, 10, 0]) }, &mut w);
        assert!(!r.is_trying());
        r.on_ack(&ack(200, [10, 20, 20, 0]), &mut w);
        assert!(r.is_trying(), "it is deferred, not given up");
    }
}
