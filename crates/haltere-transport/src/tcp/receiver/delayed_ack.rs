//! When an acknowledgement goes out.
//! Source: RFC 5681 section 4.2 (delayed acknowledgements), RFC 9293 section 3.8.6.3.
//! Deviations (Linux): the first 16 segments, and as many after a long silence, are acknowledged one by one; the delay
//! adapts to the gaps between segments (40 to 200 ms); a segment that opens the window is acknowledged at once, and a
//! FIN is delayed as data is unless our side has closed. While data waits out of order the first three acknowledgements
//! go at once, later ones are merged for up to a millisecond.
//! Model: an acknowledgement goes at once when two full segments are unacknowledged, in quick mode, when a hole is
//! filled, when the mark changes (DCTCP); else a timer runs. As Linux's it counts ticks of the host's clock, and ends
//! with the tick after its last: 40 ms take 40 to 44 with ticks of 4 ms. Gaps between segments are counted in ticks,
//! too. A fixed delay, and one that is not of whole ticks, are exact.
//! Units: stream offsets, ns. Cost: O(1). Known problems: none.

use super::{Arrival, Receiver};
use crate::tcp::params::TcpParams;
use crate::tcp::seq::Offset;
use crate::tcp::time::{Deadline, PosDur, or_zero};
use haltere_units::{Dur, Time};

/// Acknowledgements of its own data after which Linux takes the connection for a conversation.
const PING_PONG: u8 = 3;
/// Acknowledgements of data out of order that are not merged.
const NOT_MERGED: u8 = 3;
/// How much later than asked Linux's timer of merged acknowledgements may end, and does on an idle machine
/// (`tcp_comp_sack_slack_ns`).
const SACK_SLACK: Dur = Dur::from_us(100);

/// State of the acknowledgements.
#[derive(Debug)]
pub(crate) struct AckSchedule {
    /// What the last acknowledgement said.
    acked_up_to: Offset,
    /// A delayed acknowledgement goes out at this time.
    delayed_until: Deadline,
    /// One that waits for more to arrive does: a merged one (Linux's compression of SACKs), or one after an instant.
    merged_until: Deadline,
    last_data: Time,
    /// In ns, 0: the timer is exact. Delays are counted in ticks, or in ns.
    tick: u32,
    /// Linux's `ato`, the delay: 0 before the first segment.
    delay: u64,
    delay_min: u64,
    delay_max: Dur,
    sack_delay: Dur,
    /// Quick acknowledgements left, and at most.
    quick: u32,
    quick_max: u32,
    /// One is due at once.
    due: bool,
    /// It goes before any data: the third segment of the handshake.
    before_data: bool,
    /// Something is to be acknowledged.
    scheduled: bool,
    ping_pong: u8,
    pushed: u8,
    /// Acknowledgements at once since the last progress, and merged since.
    duplicates: u8,
    merged: u8,
    merge_max: u8,
    /// Full segments that bring an acknowledgement.
    every: u8,
}

impl AckSchedule {
    pub(crate) fn new(p: &TcpParams) -> AckSchedule {
        let delay_min = p.delayed_ack_min.min(p.delayed_ack);
        let whole = delay_min < p.delayed_ack && delay_min.as_ns().is_multiple_of(p.tick.as_ns());
        let tick = if whole && !delay_min.is_zero() { p.tick.as_ns() as u32 } else { 0 };
        AckSchedule {
            acked_up_to: Offset::FIRST,
            delayed_until: Deadline::NONE,
            merged_until: Deadline::NONE,
            last_data: Time::ZERO,
            tick,
            delay: 0,
            delay_min: (delay_min.as_ns() / u64::from(tick.max(1))).max(1),
            delay_max: p.delayed_ack,
            sack_delay: p.sack_delay,
            quick: 0,
            quick_max: p.quick_acks,
            due: false,
            before_data: false,
            scheduled: false,
            ping_pong: 0,
            pushed: 0,
            duplicates: 0,
            merged: 0,
            merge_max: p.sack_delay_segments as u8,
            every: p.ack_every as u8,
        }
    }
    /// The acknowledgement that was sent last.
    #[inline]
    pub(crate) fn acked_up_to(&self) -> Offset {
        self.acked_up_to
    }
    /// When data last arrived in order.
    #[inline]
    pub(crate) fn last_data(&self) -> Time {
        self.last_data
    }
    /// The handshake is done: the stream begins.
    pub(crate) fn start(&mut self) {
        self.acked_up_to = Offset::FIRST;
    }
    /// An acknowledgement is due at once.
    #[inline]
    pub(crate) fn demand(&mut self) {
        self.due = true;
    }
    /// The same, by itself and before any data.
    pub(crate) fn demand_before_data(&mut self) {
        (self.due, self.before_data) = (true, true);
    }
    #[inline]
    pub(crate) fn goes_before_data(&self) -> bool {
        self.before_data
    }
    /// The stream has ended. Linux: acknowledged at once if our side has closed; else an answer is expected to take the
    /// acknowledgement along.
    pub(crate) fn on_end(&mut self, closing: bool) {
        self.due |= closing;
        self.ping_pong = PING_PONG;
    }
    /// The same if `needed`.
    #[inline]
    pub(crate) fn demand_if(&mut self, needed: bool) {
        self.due |= needed;
    }
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.due
    }
    /// Something is to be acknowledged.
    pub(crate) fn schedule(&mut self) {
        self.scheduled = true;
    }
    /// An acknowledgement is held back.
    #[inline]
    pub(crate) fn is_delayed(&self) -> bool {
        self.delayed_until.is_set()
    }
    /// Arrivals were merged into one acknowledgement that has not gone out.
    pub(crate) fn has_merged(&self) -> bool {
        self.merged > 0
    }
    /// The most quick acknowledgements.
    #[inline]
    pub(crate) fn quick_max(&self) -> u32 {
        self.quick_max
    }
    #[inline]
    pub(crate) fn next_timeout(&self) -> Deadline {
        self.delayed_until.earliest(self.merged_until)
    }

    pub(crate) fn on_timeout(&mut self, now: Time, rto: Dur) {
        if self.delayed_until.take_due(now) {
            if self.ping_pong < PING_PONG {
                // The delay was longer than the gap. Linux: double it.
                self.delay = (2 * self.delay).min(rto.as_ns() / self.unit()).max(self.delay_min);
            } else {
                self.ping_pong = 0;
                self.delay = self.delay_min;
            }
            self.due = true;
        }
        if self.merged_until.take_due(now) {
            self.due = true;
        }
    }

    /// A full segment with PSH counts too, it may be the end of a message (Linux since 6.1.56).
    #[inline]
    pub(crate) fn on_pushed(&mut self) {
        self.pushed = (self.pushed + 1).min(2);
    }
    /// A pushed segment was read by the application: it is acknowledged at once, but in a conversation, and not by a
    /// receiver that knows no quick acknowledgements.
    #[inline]
    fn answers_push(&self) -> bool {
        self.quick_max > 0 && (self.pushed == 2 || (self.pushed == 1 && self.ping_pong < PING_PONG))
    }
    /// The application has read at once what arrived. It runs when all of the instant is here.
    #[inline]
    pub(crate) fn on_read_at_once(&mut self, now: Time) {
        if !self.delay_max.is_zero() && self.answers_push() {
            self.demand_after(now);
        }
    }
    /// An acknowledgement is due after what arrives at this instant.
    #[inline]
    pub(crate) fn demand_after(&mut self, now: Time) {
        self.merged_until = self.merged_until.earliest(Deadline::at(now));
    }
    /// The application has read everything. True if the peer is to know.
    #[inline]
    pub(crate) fn owes_answer(&self) -> bool {
        self.scheduled && self.is_delayed() && self.answers_push()
    }
    /// The window opens by the arrival of a segment.
    #[inline]
    pub(crate) fn on_window_opened(&mut self) {
        if self.quick_max > 0 {
            self.quick |= 1;
        }
    }
    /// Data of ours goes out: a conversation, if it answers at once.
    #[inline]
    pub(crate) fn on_data_sent(&mut self, now: Time) {
        if self.gap(now) < self.delay {
            self.ping_pong = (self.ping_pong + 1).min(PING_PONG);
        }
    }
    /// The unit of delays, in ns.
    #[inline]
    fn unit(&self) -> u64 {
        self.tick.max(1).into()
    }
    /// The units that have passed.
    #[inline]
    fn clock(&self, at: Time) -> u64 {
        at.as_ns() / self.unit()
    }
    /// The time since data last arrived in order.
    #[inline]
    fn gap(&self, now: Time) -> u64 {
        self.clock(now) - self.clock(self.last_data)
    }
    /// A segment in order came: the delay follows the gap. True if it is the first, or the sender has restarted.
    #[inline]
    fn adapt(&mut self, now: Time, rto: Dur) -> bool {
        let gap = self.gap(now);
        (self.scheduled, self.last_data) = (true, now);
        if self.delay == 0 {
            self.delay = self.delay_min;
            return true;
        }
        if gap <= self.delay_min / 2 {
            self.delay = (self.delay / 2 + self.delay_min / 2).max(self.delay_min);
        } else if gap < self.delay {
            self.delay = (self.delay / 2 + gap).min(rto.as_ns() / self.unit());
        } else {
            return gap > rto.as_ns() / self.unit();
        }
        false
    }
    #[inline]
    fn arm_delayed(&mut self, now: Time, srtt: Option<PosDur>) {
        let mut wait = self.delay;
        if wait > self.delay_min {
            let most = srtt.map_or(self.delay_max, |srtt| self.delay_max.min(srtt.dur()));
            wait = wait.min(most.as_ns().div_ceil(self.unit()).max(self.delay_min));
        }
        let until = Time::from_ns((self.clock(now) + wait) * self.unit() + u64::from(self.tick));
        self.delayed_until = self.delayed_until.earliest(Deadline::at(until));
    }
}

impl Receiver {
    /// Bookkeeping of every segment that is taken in order: the gap since the last one.
    #[inline]
    pub(crate) fn measure_gap(&mut self, now: Time, rto: Dur) {
        if self.acks.adapt(now, rto) {
            self.allow_quick(self.acks.quick_max);
        }
    }

    /// Up to `most` quick acknowledgements, but not for more segments than the window has room for.
    #[cold]
    fn allow_quick(&mut self, most: u32) {
        let fits = (self.room() / (2 * self.window.mss())).clamp(2, u64::from(u32::MAX)) as u32;
        self.acks.quick = self.acks.quick.max(fits.min(most));
    }

    /// The next segments are acknowledged one by one, up to `most`.
    pub(crate) fn enter_quick(&mut self, most: u32) {
        if self.acks.quick_max > 0 {
            self.allow_quick(most.min(self.acks.quick_max));
            self.acks.ping_pong = 0;
            self.acks.delay = self.acks.delay_min;
        }
    }

    #[inline]
    pub(crate) fn consider_ack(&mut self, a: &Arrival, out_of_order: bool, srtt: Option<PosDur>) {
        let waiting = self.next - self.acks.acked_up_to;
        let enough = waiting > (u64::from(self.acks.every) - 1) * self.window.mss()
            && self.window.available(self.next, self.waiting()) >= self.room();
        let quick = self.acks.quick > 0 && self.acks.ping_pong < PING_PONG;
        if self.acks.due || enough || quick || self.acks.delay_max.is_zero() {
            self.acks.due = true;
        } else if out_of_order && self.has_holes() {
            self.merge_ack(a.now, srtt);
        } else {
            self.acks.arm_delayed(a.now, srtt);
        }
    }

    /// Linux's compression of SACKs: three at once, then merged for a twentieth of a round trip, or until they touch a
    /// third block.
    fn merge_ack(&mut self, now: Time, srtt: Option<PosDur>) {
        if !self.sack_ok || self.acks.sack_delay.is_zero() || self.acks.merged >= self.acks.merge_max {
            self.acks.due = true;
            return;
        }
        let next = self.next;
        if self.disorder().restart_count(next) {
            self.acks.duplicates = 0;
        }
        if self.acks.duplicates < NOT_MERGED {
            self.acks.duplicates += 1;
            self.acks.due = true;
            return;
        }
        self.acks.merged += 1;
        if !self.acks.merged_until.is_set() {
            let rtt = match (self.window.rtt(), srtt) {
                (Some(ours), Some(theirs)) => Some(ours.min(theirs)),
                (ours, theirs) => ours.or(theirs),
            };
            let wait = (or_zero(rtt) / 20).min(self.acks.sack_delay);
            self.acks.merged_until = Deadline::at(now + wait + SACK_SLACK);
        }
    }

    /// An acknowledgement goes out, by itself or with data.
    #[inline]
    pub(crate) fn ack_sent(&mut self) {
        let acks = &mut self.acks;
        acks.acked_up_to = self.next;
        acks.due = false;
        acks.before_data = false;
        acks.scheduled = false;
        acks.pushed = 0;
        acks.delayed_until = Deadline::NONE;
        acks.merged_until = Deadline::NONE;
        acks.merged = 0;
        if acks.quick > 0 {
            acks.quick -= 1;
            if acks.quick == 0 {
                acks.delay = acks.delay_min;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Dur::from_us(us)
    }
    /// When a segment that arrives then is acknowledged.
    fn acknowledged(p: &TcpParams, arrives: Time) -> Time {
        let mut acks = AckSchedule::new(p);
        acks.delay = acks.delay_min;
        acks.arm_delayed(arrives, None);
        acks.next_timeout().time().expect("the timer runs")
    }

    /// Ten ticks, and the rest of the eleventh.
    #[test]
    fn the_timer_ends_with_a_tick() {
        let p = TcpParams::default();
        assert_eq!(acknowledged(&p, us(0)), us(44_000));
        assert_eq!(acknowledged(&p, us(3_999)), us(44_000));
        assert_eq!(acknowledged(&p, us(4_000)), us(48_000));
    }

    #[test]
    fn without_ticks_fixed_or_below_one_the_delay_is_exact() {
        let exact = TcpParams { tick: Dur::ZERO, ..TcpParams::default() };
        assert_eq!(acknowledged(&exact, us(3_999)), us(43_999));
        for (least, ns) in [(Dur::from_ms(1), 4_999_000), (Dur::from_ms(41), 44_999_000), (Dur::ZERO, 3_999_001)] {
            let p = TcpParams { delayed_ack_min: least, ..TcpParams::default() };
            assert_eq!(acknowledged(&p, us(3_999)), Time::from_ns(ns));
        }
        let fixed = TcpParams { delayed_ack: Dur::from_ms(40), ..TcpParams::default() };
        assert_eq!(acknowledged(&fixed, us(3_999)), us(43_999));
    }

    /// A segment that follows a delayed acknowledgement comes ten or eleven ticks after the one before: not sooner
    /// than the delay, which stays.
    #[test]
    fn gaps_are_counted_in_ticks() {
        let p = TcpParams::default();
        let mut acks = AckSchedule::new(&p);
        acks.last_data = us(3_900);
        assert_eq!(acks.gap(us(43_800)), 10, "39.9 ms");
        assert_eq!(acks.gap(us(44_100)), 11);
    }

    /// Five ticks are halved to two: twice that would be less than the least delay.
    #[test]
    fn segments_without_gaps_bring_the_least_delay() {
        let p = TcpParams { delayed_ack_min: Dur::from_ms(20), ..TcpParams::default() };
        let mut acks = AckSchedule::new(&p);
        assert!(acks.adapt(us(0), Dur::from_ms(200)), "the first");
        acks.delay = 40;
        for expected in [22, 13, 8, 6, 5, 5] {
            assert!(!acks.adapt(us(0), Dur::from_ms(200)));
            assert_eq!(acks.delay, expected);
        }
    }
}
