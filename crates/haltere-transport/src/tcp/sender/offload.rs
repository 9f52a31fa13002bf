//! Segmentation offload: the sender passes several segments to its link at a time.
//! Source: Linux's automatic size of a unit and its deferral of small ones (documented with `tcp_min_tso_segs`,
//! `tcp_tso_win_divisor` and `tcp_tso_rtt_log` in the kernel's ip-sysctl). Deviations: the
//! scoreboard keeps single segments, so a unit that is lost in part is repeated in the parts that are missing.
//! Model: a unit is what a millisecond of the pacing rate carries, and up to 64 kB more the shorter the least
//! round-trip time is; at least two segments, at most 64 kB. A sender without pacing is taken to send at 1.2 windows a
//! round-trip time, in slow start at 2.
//! Units: segments, ns. Cost: O(1) a unit beside its segments. Known problems: none.

use super::Sender;
use super::episode::CaState;
use super::outgoing::{Transmit, Turn};
use crate::tcp::params::Offload;
use crate::tcp::time::or_zero;
use haltere_congestion::CongestionControl;
use haltere_units::{Bytes, Dur, Rate, Time};

/// The most that a host passes at a time (Linux's `gso_max_size`), and what headers leave of it.
const MAX_UNIT: u64 = 65_536;
const MAX_PAYLOAD: u64 = MAX_UNIT - 1 - 320;
/// The least segments of a unit (`tcp_min_tso_segs`). A paced sender below 1.2 Mbit/s sends single segments, as Linux's
/// BBR.
const MIN_SEGMENTS: u64 = 2;
const SINGLE_SEGMENT_BPS: u64 = 1_200_000;
/// A unit is deferred only while the sender sends this often.
const RECENT: Dur = Dur::from_ms(1);
/// A unit is not deferred if the window has room for this part of it (`tcp_tso_win_divisor`).
const WINDOW_PART: u64 = 3;

/// The units of a sender.
#[derive(Debug)]
pub(crate) struct Units {
    mode: Offload,
    /// The window has room, but not for a unit: more is awaited.
    deferred: bool,
    /// Segments of the unit that leaves now.
    left: u16,
}

impl Units {
    pub(crate) fn new(mode: Offload) -> Units {
        Units { mode, deferred: false, left: 0 }
    }
    #[inline]
    pub(crate) fn are_off(&self) -> bool {
        self.mode == Offload::Off
    }
    /// The unit that leaves has a segment more, which pacing does not hold back. It is taken.
    #[inline]
    pub(crate) fn take(&mut self) -> bool {
        let more = self.left > 0;
        self.left = self.left.saturating_sub(1);
        more
    }
    /// No segment of a unit follows at this instant.
    #[inline]
    pub(crate) fn end(&mut self) {
        self.left = 0;
    }
    /// The window was the limit though it had room. True once.
    #[inline]
    pub(crate) fn take_deferred(&mut self) -> bool {
        core::mem::take(&mut self.deferred)
    }
}

/// Payload of a unit in segments of `mss` bytes.
fn unit_segments(rate: Option<Rate>, min_rtt: Dur, mss: u64, least: u64) -> u64 {
    let bytes = rate.map_or(MAX_PAYLOAD, |rate| rate.as_bps() / 8 / 1024);
    let doublings = (min_rtt.as_ns() / 1000) >> 9;
    let more = if min_rtt.is_zero() || doublings >= 32 { 0 } else { MAX_UNIT >> doublings };
    (bytes.saturating_add(more).min(MAX_PAYLOAD) / mss).max(least)
}

impl Sender {
    /// The most segments that leave together now.
    fn unit(&self) -> u64 {
        let paced = self.control.pacing_rate();
        let least = if paced.is_some_and(|rate| rate.as_bps() < SINGLE_SEGMENT_BPS) { 1 } else { MIN_SEGMENTS };
        let rate = paced.or_else(|| self.assumed_rate());
        unit_segments(rate, or_zero(self.rtt.min()), self.buffer.mss(), least)
    }
    /// The rate at which Linux takes a sender without pacing to send.
    fn assumed_rate(&self) -> Option<Rate> {
        let srtt = self.rtt.srtt()?.dur();
        let out = self.board.len() as u64 * self.buffer.mss();
        let percent = if self.cwnd < self.control.ssthresh().as_u64() / 2 { 200 } else { 120 };
        Some(Rate::of(Bytes::new(self.cwnd.max(out) / 100 * percent), srtt))
    }

    /// A unit begins, unless it is to wait for more: then false.
    #[cold]
    pub(crate) fn begin_unit(&mut self, room: u64, now: Time) -> bool {
        let unit = self.unit();
        if self.defers(room, unit, now) {
            self.units.deferred = true;
            return false;
        }
        self.units.left = unit.min(u64::from(u16::MAX)) as u16 - 1;
        true
    }
    /// Linux: a small unit waits for the next acknowledgement, if one comes soon and the sender has just sent.
    fn defers(&self, room: u64, unit: u64, now: Time) -> bool {
        let Some(oldest) = self.board.front() else { return false };
        if self.recovery.state() >= CaState::Recovery || now.since(self.output.last_sent()) > RECENT {
            return false;
        }
        let window = self.window.end().since(self.buffer.una());
        let limit = room.min(self.window.end().since(self.buffer.nxt()));
        let enough = (unit * self.buffer.mss()).min(window.min(self.cwnd) / WINDOW_PART);
        let late = now.since(oldest.sent_at) < or_zero(self.rtt.srtt()) / 2;
        limit < enough && limit < self.buffer.unsent() && !late
    }

    /// Adds the segments of the unit that follow `first` without a gap, if they leave as one packet.
    pub(crate) fn complete_unit(&mut self, mut first: Transmit, now: Time) -> Transmit {
        if self.units.mode != Offload::Packet || first.fin || first.push {
            return first;
        }
        let mss = self.buffer.mss();
        while u64::from(first.len).is_multiple_of(mss) && self.units.left > 0 {
            let room = self.cwnd.saturating_sub(self.in_flight());
            let next = if first.new { self.next_of_unit(room, now) } else { self.next_repair(&first, room, now) };
            let Some(next) = next else { break };
            self.units.left -= 1;
            first.len += next.len;
            first.fin = next.fin;
            first.push = next.push;
            if next.fin || next.push {
                break;
            }
        }
        self.units.end();
        first
    }
    fn next_of_unit(&mut self, room: u64, now: Time) -> Option<Transmit> {
        let (len, fin) = self.next_new(room).filter(|&(len, _)| len > 0)?;
        Some(self.send_new(len, fin, now))
    }
    /// The next lost segment, if it begins where `before` ends.
    fn next_repair(&mut self, before: &Transmit, room: u64, now: Time) -> Option<Transmit> {
        if self.output.turn() != Turn::Lost || room < self.buffer.mss() || !self.board.has_unrepaired() {
            return None;
        }
        let index = self.board.next_lost()?;
        let follows = self.board.get(index).seq == before.seq + u64::from(before.len);
        (follows && self.may_repeat(index)).then(|| self.retransmit(index, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_a_millisecond_of_the_rate_and_more_on_a_short_path() {
        let unit = |mbps, rtt_us| unit_segments(Some(Rate::from_mbps(mbps)), Dur::from_us(rtt_us), 1448, 2);
        // 100 Mbit/s: 12,207 B in 1/1024 s.
        assert_eq!(unit(100, 100_000), 8);
        assert_eq!(unit(10, 100_000), 2, "never less than two");
        assert_eq!(unit(1000, 100_000), 45, "never more than 64 kB");
        // 20 ms are 39 times 512 us: nothing is added. 4 ms are 7 times: 512 B are added. 500 us: 64 kB.
        assert_eq!((unit(100, 20_000), unit(100, 4_000), unit(100, 500)), (8, 8, 45));
        assert_eq!(unit_segments(None, Dur::ZERO, 1448, 2), 45, "nothing is known yet");
    }
}
