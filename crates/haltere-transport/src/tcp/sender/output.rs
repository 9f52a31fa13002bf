//! What goes out next, and the accounts of what went out.
//! Source: RFC 9293 (windows), RFC 6675 (`NextSeg`), RFC 5681 section 4.1 (restart after idle).
//! Deviations: none beyond those named in the files of the parts.
//! Units: stream offsets and bytes, ns. Cost: O(1) a segment. Known problems: none.

use super::Sender;
use super::buffer::Sendable;
use super::outgoing::{Forced, Transmit, Turn};
use super::scoreboard::{FIN, PUSHED, Sent};
use super::timers::Timer;
use haltere_congestion::{CongestionControl, RestartEvent};
use haltere_units::{Dur, Time};

impl Sender {
    /// Nothing to send, nothing in flight: the state of an end that only receives.
    #[inline]
    fn has_nothing_to_do(&self) -> bool {
        self.output.forced.is_none()
            && !self.buffer.has_new()
            && self.board.is_empty()
            && !self.output.burst
            && self.output.turn != Turn::New
    }

    /// The next segment to send now.
    #[inline]
    pub(crate) fn poll(&mut self, now: Time) -> Option<Transmit> {
        if self.has_nothing_to_do() {
            return None;
        }
        self.poll_busy(now)
    }

    fn poll_busy(&mut self, now: Time) -> Option<Transmit> {
        let room = self.cwnd.saturating_sub(self.in_flight());
        if self.buffer.has_fin_to_place() {
            self.place_fin(room, now);
        }
        if let Some(forced) = self.output.forced.take() {
            return self.poll_forced(forced, now);
        }
        // In packets, as Linux counts: a window that has room for any has it for the segment to repeat.
        if self.output.turn == Turn::Lost
            && self.board.has_unrepaired()
            && room >= self.buffer.mss().min(self.cwnd)
            && let Some(index) = self.board.next_lost()
            && self.may_repeat(index)
        {
            if !self.may_leave(room, now) {
                return self.end_burst(now);
            }
            let sent = self.retransmit(index, now);
            return Some(self.complete(sent, now));
        }
        match self.next_new(room) {
            Some((len, fin)) => {
                if !self.may_leave(room, now) {
                    return self.end_burst(now);
                }
                let sent = self.send_new(len, fin, now);
                Some(self.complete(sent, now))
            }
            None if self.output.turn == Turn::New => self.poll_without_new(now),
            None => self.end_burst(now),
        }
    }

    /// True if pacing lets a segment leave now, and it is not awaited that more can leave with it.
    #[inline]
    fn may_leave(&mut self, room: u64, now: Time) -> bool {
        if self.units.are_off() {
            return self.pacing.may_send(now);
        }
        self.units.take() || (self.pacing.may_send(now) && self.begin_unit(room, now))
    }
    #[inline(always)]
    fn complete(&mut self, sent: Transmit, now: Time) -> Transmit {
        if self.units.are_off() { sent } else { self.complete_unit(sent, now) }
    }

    #[cold]
    fn place_fin(&mut self, room: u64, now: Time) {
        let (window_end, idle) = (self.window.end(), self.board.is_empty());
        let paced = self.control.pacing_rate().is_some();
        let burst = if paced { self.pacing.sendable(now, self.output.segments) } else { u64::MAX };
        self.buffer.place_fin(&Sendable { room, window_end, burst, idle });
    }

    /// What lies beyond a window that was retracted is not sent again, but for the oldest segment (Linux).
    #[inline]
    pub(crate) fn may_repeat(&self, index: usize) -> bool {
        index == 0 || self.board.get(index).seq < self.window.end()
    }

    /// F-RTO step 2b: without new data to send, repair as usual.
    fn poll_without_new(&mut self, now: Time) -> Option<Transmit> {
        if self.buffer.nxt() > self.recovery.high_seq() {
            self.output.turn = Turn::NewOnly;
            return self.end_burst(now);
        }
        self.frto.stop();
        self.output.turn = Turn::Lost;
        self.poll_busy(now)
    }

    fn poll_forced(&mut self, forced: Forced, now: Time) -> Option<Transmit> {
        match forced {
            Forced::Oldest if !self.board.is_empty() => {
                let sent = self.retransmit(0, now);
                self.timers.arm_rto(now + self.rtt.rto());
                Some(sent)
            }
            Forced::Oldest => self.poll_busy(now),
            Forced::Probe => self.send_probe(now),
            Forced::WindowProbe => Some(self.send_window_probe(now)),
        }
    }

    /// Length of the next new segment that may go within `room`, and whether it ends with the FIN.
    #[inline]
    pub(crate) fn next_new(&self, room: u64) -> Option<(u32, bool)> {
        self.buffer.next_segment(room, self.window.end(), self.board.is_empty())
    }

    #[inline]
    pub(crate) fn send_new(&mut self, len: u32, fin: bool, now: Time) -> Transmit {
        self.note_flight_start(now);
        if self.board.is_empty() {
            self.begin_flight(now);
        }
        let seq = self.buffer.nxt();
        let total = len + u32::from(fin);
        let mut sent = Sent::new(seq, total, now, if fin { FIN } else { 0 });
        self.delivery.on_sent(&mut sent, self.board.in_flight() + u64::from(total));
        let push = self.buffer.sent(len, fin);
        sent.flags |= if push { PUSHED } else { 0 };
        self.board.push(sent);
        self.account(total, now);
        self.output.burst_has_new = true;
        if self.board.len() == 1 || self.timers.is_armed(Timer::Probe) {
            self.rearm_rto(now);
        }
        Transmit { seq, len, fin, new: true, push }
    }

    #[inline]
    fn account(&mut self, total: u32, now: Time) {
        self.output.segments += 1;
        self.output.burst = true;
        self.output.last_sent = now;
        if self.recovery.is_reducing() {
            self.reduction.on_sent(u64::from(total));
        }
        if let Some(rate) = self.control.pacing_rate() {
            self.pacing.on_sent(now, total, rate, self.output.segments);
        }
    }

    /// Before anything is sent: the control is called if nothing is in flight, whatever is outstanding.
    #[inline]
    fn note_flight_start(&mut self, now: Time) {
        if self.board.in_flight() == 0 {
            self.control.on_flight_start(now);
        }
    }

    /// Nothing was outstanding: a new flight begins, perhaps after an idle time.
    fn begin_flight(&mut self, now: Time) {
        self.delivery.restart(now);
        if self.output.segments == 0 {
            return;
        }
        // RFC 5681 section 4.1. If the window is to be kept, no idle time is as long as the timeout.
        let mut ev = RestartEvent::at(now);
        ev.idle = now.since(self.output.last_sent);
        ev.rto = if self.restarts_after_idle { self.rtt.rto() } else { Dur::MAX };
        ev.app_limited = self.delivery.is_app_limited();
        self.control.on_restart(&ev);
        self.refresh_cwnd();
    }

    /// A segment goes again, to repair a loss.
    pub(crate) fn retransmit(&mut self, index: usize, now: Time) -> Transmit {
        self.note_flight_start(now);
        self.undo.on_retransmission(now);
        self.board.retransmitted(index, now);
        self.send_again(index, now)
    }

    /// The last segment goes again, as tail loss probe: no retransmission is in flight, and none is to be undone.
    pub(crate) fn probe_with_last(&mut self, now: Time) -> Transmit {
        let index = self.board.len() - 1;
        self.board.sent_again(index, now);
        self.send_again(index, now)
    }

    fn send_again(&mut self, index: usize, now: Time) -> Transmit {
        let sent = *self.board.get(index);
        let in_flight = self.board.in_flight();
        self.delivery.on_sent(self.board.get_mut(index), in_flight);
        self.output.retransmissions += 1;
        self.output.bytes_retransmitted += u64::from(sent.len());
        self.account(sent.len(), now);
        if index == 0 && !self.timers.is_armed(Timer::Reordering) {
            self.timers.arm_rto(now + self.rtt.rto());
        }
        let fin = sent.has(FIN);
        let len = sent.len() - u32::from(fin);
        Transmit { seq: sent.seq, len, fin, new: false, push: sent.has(PUSHED) }
    }

    /// The peer's window is closed: what fits of the next segment, or a byte that it already has.
    fn send_window_probe(&mut self, now: Time) -> Transmit {
        match self.buffer.window_probe(self.window.end()) {
            Some((len, fin)) => self.send_new(len, fin, now),
            None => Transmit::ack(self.buffer.una().previous()),
        }
    }

    /// Nothing more goes out now: remember whether the window was the limit, and start the timers.
    #[inline]
    fn end_burst(&mut self, now: Time) -> Option<Transmit> {
        let limited = self.in_flight() + self.buffer.mss() > self.cwnd || self.units.take_deferred();
        self.units.end();
        let (burst, new) = self.output.take_burst();
        // Repairs do not show what limits the sender (Linux).
        if new || (limited && self.buffer.has_new()) {
            self.usage.validate(limited, self.board.len() as u32, self.buffer.una(), self.buffer.nxt());
        }
        if burst {
            self.schedule_probe(now, false);
        }
        if self.board.is_empty() && self.timers.is_idle() && self.buffer.has_new() && !self.pacing.wake().is_set() {
            self.timers.arm_window_probe(now, self.rtt.rto());
        }
        None
    }
}
