//! The sending half: the window, what goes out next, pacing.
//! Source: RFC 9293 (windows), RFC 5681 (restart after idle), RFC 7661 and Linux (validation of the window), Linux's internal pacing.
//! Deviations (Linux): the window is held validated while it was the limit in this round, or in slow start while at least half
//! of it was used; a paced sender's first ten segments go out unpaced; a full segment is sent only if all of it fits the
//! peer's window.
//! Units: positions and bytes, ns. Cost: O(1) a segment. Known problems: none.

pub(crate) mod ack;
pub(crate) mod rack;
pub(crate) mod rate_sample;
pub(crate) mod recovery;
pub(crate) mod rtt;
pub(crate) mod scoreboard;
pub(crate) mod timers;

use crate::TcpParams;
use crate::tcp::sender::rate_sample::{Delivery, Sample};
use crate::tcp::sender::recovery::{CaState, Recovery};
use crate::tcp::sender::rtt::Rtt;
use crate::tcp::sender::scoreboard::{APP_LIMITED, EVER_RETRANS, FIN, RETRANS, Scoreboard, Sent};
use crate::tcp::sender::timers::{Timer, Xmit};
use haltere_congestion::{CongestionControl, Control, RestartEvent};
use haltere_units::{Dur, Time};

/// No FIN is queued.
const NO_FIN: u64 = u64::MAX;
/// End of the stream of an application that never ends.
const ENDLESS: u64 = u64::MAX / 2;

const _: () = assert!(size_of::<Sender>() <= 1056, "a large control stands in a box");

/// What may be sent besides the window's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forced {
    None,
    /// The oldest segment, after a timeout.
    Head,
    /// A tail loss probe: new data if there is any, else the last segment.
    Probe,
    /// A window probe.
    WindowProbe,
}

/// What the last acknowledgement lets the sender do first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// New data only.
    None,
    /// Lost segments, then new data.
    Lost,
    /// New data, and lost segments if there is none (F-RTO step 2b).
    New,
}

/// A segment to send.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transmit {
    pub seq: u64,
    /// Payload bytes.
    pub len: u32,
    pub fin: bool,
    /// Sent for the first time.
    pub new: bool,
    /// The last byte that the application has written so far.
    pub push: bool,
}

impl Transmit {
    /// Nothing but an acknowledgement.
    #[inline]
    pub(crate) fn ack(seq: u64) -> Transmit {
        Transmit { seq, len: 0, fin: false, new: false, push: false }
    }
}

/// The sending half of a connection, made when it is first needed (quiet.rs). What an acknowledgement of a steady flow needs
/// comes first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Sender {
    /// First position not acknowledged, first not sent, end of what the application wrote, end of the peer's window.
    pub una: u64,
    pub nxt: u64,
    pub write_end: u64,
    pub window_end: u64,
    pub fin: u64,
    /// Sequence number and acknowledgement of the last window update.
    pub window_seq: u64,
    pub window_ack: u64,
    /// The time to wake up for the next paced segment.
    pub pacing_wake: u64,
    pub state: CaState,
    pub forced: Forced,
    pub turn: Turn,
    pub sack_ok: bool,
    /// Segments were sent since the last end of a burst.
    burst: bool,
    pub was_limited: bool,
    pub nagle: bool,
    pub owns_recovery: bool,
    pub xmit: Xmit,
    pub board: Scoreboard,
    pub rtt: Rtt,
    /// The window in force: the control's, or that of proportional rate reduction.
    pub cwnd: u64,
    pub mss: u64,
    pub buffer: u64,
    pub usage_end: u64,
    /// Departure time of the next paced segment.
    pub paced_at: u64,
    pub last_sent: u64,
    pub segments_sent: u64,
    pub round_end: u64,
    pub delivery: Delivery,
    pub control: Control,
    pub rec: Recovery,
    pub round: u64,
    pub max_out: u32,
    pub fixed_buffer: bool,
    pub start_after_idle: bool,
    /// Position after the last small segment sent (Minshall).
    small_end: u64,
    pub largest_window: u64,
    pub retransmissions: u64,
    pub bytes_retransmitted: u64,
    /// The SACK blocks of the last acknowledgement.
    pub sack_cache: [(u64, u64); 4],
}

impl Sender {
    pub(crate) fn new(p: &TcpParams, mss: u64, control: Control) -> Sender {
        let owns_recovery = control.owns_recovery();
        Sender {
            una: 1,
            nxt: 1,
            write_end: 1,
            window_end: 1,
            cwnd: control.cwnd().as_u64(),
            mss,
            state: CaState::Open,
            forced: Forced::None,
            turn: Turn::None,
            sack_ok: false,
            burst: false,
            was_limited: false,
            nagle: p.nagle,
            max_out: 0,
            usage_end: 1,
            fin: NO_FIN,
            small_end: 0,
            buffer: p.send_buffer.unwrap_or(p.send_buffer_max).as_u64(),
            fixed_buffer: p.send_buffer.is_some(),
            paced_at: 0,
            pacing_wake: u64::MAX,
            last_sent: 0,
            window_seq: 0,
            window_ack: 1,
            largest_window: 0,
            xmit: Xmit::new(p),
            board: Scoreboard::default(),
            delivery: Delivery::default(),
            rtt: Rtt::new(p),
            rec: Recovery::new(p),
            control,
            owns_recovery,
            segments_sent: 0,
            retransmissions: 0,
            bytes_retransmitted: 0,
            round_end: 0,
            round: 0,
            start_after_idle: p.slow_start_after_idle,
            sack_cache: [(0, 0); 4],
        }
    }

    /// Takes the window from whoever rules it now.
    #[inline]
    pub(crate) fn refresh_cwnd(&mut self) {
        self.cwnd = match self.state {
            CaState::Cwr | CaState::Recovery if !self.owns_recovery => self.rec.prr_cwnd,
            _ => self.control.cwnd().as_u64(),
        };
    }

    #[inline]
    pub(crate) fn in_flight(&self) -> u64 {
        self.board.in_flight()
    }

    /// Space that the send buffer has, where it is tuned: room for twice the window (Linux's `tcp_sndbuf_expand`).
    pub(crate) fn buffer_size(&self) -> u64 {
        if self.fixed_buffer { self.buffer } else { (2 * self.cwnd.max(10 * self.mss)).min(self.buffer) }
    }

    /// The application writes.
    pub(crate) fn write(&mut self, bytes: u64) -> u64 {
        if self.fin != NO_FIN || self.write_end == ENDLESS {
            return 0;
        }
        let taken = bytes.min(self.buffer_size().saturating_sub(self.write_end - self.una));
        if taken > 0 && self.write_end - self.nxt < self.mss {
            self.mark_app_limited();
        }
        self.write_end += taken;
        taken
    }

    /// Bytes that `write` would take.
    pub(crate) fn writable(&self) -> u64 {
        if self.fin != NO_FIN || self.write_end == ENDLESS {
            return 0;
        }
        self.buffer_size().saturating_sub(self.write_end - self.una)
    }

    /// The pipe is not full for want of data: samples of this flight show the application, not the path.
    fn mark_app_limited(&mut self) {
        if self.in_flight() < self.cwnd && self.board.lost.segments <= self.board.retrans.segments {
            self.delivery.app_limited = (self.delivery.delivered + self.in_flight()).max(1);
        }
    }

    pub(crate) fn write_endless(&mut self) {
        if self.fin == NO_FIN {
            self.write_end = ENDLESS;
        }
    }

    pub(crate) fn close(&mut self) {
        if self.fin == NO_FIN {
            if self.write_end == ENDLESS {
                self.write_end = self.nxt;
            }
            self.fin = self.write_end;
        }
    }

    /// True once the FIN was sent and acknowledged.
    pub(crate) fn fin_acked(&self) -> bool {
        self.fin != NO_FIN && self.una > self.fin
    }

    /// Data, or a FIN, that was never sent.
    #[inline]
    pub(crate) fn has_new(&self) -> bool {
        self.nxt < self.write_end || self.nxt == self.fin
    }

    /// Nothing to send, nothing under way: the state of who only receives.
    #[inline]
    fn is_quiet(&self) -> bool {
        self.nxt >= self.write_end
            && self.nxt != self.fin
            && self.board.is_empty()
            && !self.burst
            && self.turn != Turn::New
    }

    /// The next segment to send now.
    #[inline]
    pub(crate) fn poll(&mut self, now: Time) -> Option<Transmit> {
        if self.forced == Forced::None && self.is_quiet() {
            return None;
        }
        self.poll_busy(now)
    }

    fn poll_busy(&mut self, now: Time) -> Option<Transmit> {
        if self.forced != Forced::None {
            return self.poll_forced(now);
        }
        let room = self.cwnd.saturating_sub(self.in_flight());
        if self.turn == Turn::Lost && self.board.lost.segments > self.board.retrans.segments {
            // In packets, as Linux counts: a window that has room for any has it for the segment to repeat.
            if room >= self.mss.min(self.cwnd)
                && let Some(index) = self.board.next_lost()
            {
                if !self.may_leave(now) {
                    return self.end_burst(now);
                }
                return Some(self.retransmit(index, now));
            }
        }
        match self.next_new(room) {
            Some((len, fin)) => {
                if !self.may_leave(now) {
                    return self.end_burst(now);
                }
                Some(self.send_new(len, fin, now))
            }
            None if self.turn == Turn::New => {
                // F-RTO step 2b: without new data to send, repair as usual.
                if self.nxt > self.rec.high_seq {
                    self.turn = Turn::None;
                    return self.end_burst(now);
                }
                self.rec.frto = false;
                self.turn = Turn::Lost;
                self.poll_busy(now)
            }
            None => self.end_burst(now),
        }
    }

    fn poll_forced(&mut self, now: Time) -> Option<Transmit> {
        match core::mem::replace(&mut self.forced, Forced::None) {
            Forced::Head if !self.board.is_empty() => {
                let sent = self.retransmit(0, now);
                self.set_rto(now.as_ns() + self.rtt.rto());
                Some(sent)
            }
            Forced::Probe => Some(self.send_probe(now)?),
            Forced::WindowProbe => Some(self.send_window_probe(now)),
            _ => self.poll_busy(now),
        }
    }

    /// Length of the next new segment that may go within `room`, and whether it ends with the FIN.
    #[inline]
    fn next_new(&self, room: u64) -> Option<(u32, bool)> {
        let end = self.write_end.min(self.una + self.buffer);
        let waiting = end.saturating_sub(self.nxt);
        let len = waiting.min(self.mss);
        if len == self.mss {
            // The usual case.
            if room < len || self.nxt + len > self.window_end {
                return None;
            }
            return Some((len as u32, self.nxt + len == self.fin && room > len));
        }
        let fin = self.fin == self.nxt + len;
        if len == 0 && !fin {
            return None;
        }
        if room < len.max(1)
            || self.nxt + len > self.window_end.max(self.nxt)
            || (len > 0 && self.nxt + len > self.window_end)
        {
            return None;
        }
        // Minshall: hold a small segment back while another one is under way.
        let held = self.nagle && !fin && !self.board.is_empty() && self.small_end > self.una;
        (!held).then_some((len as u32, fin))
    }

    /// Pacing: true where a segment may leave now; else the time to wake up is set.
    #[inline]
    fn may_leave(&mut self, now: Time) -> bool {
        if self.paced_at > now.as_ns() {
            self.pacing_wake = self.paced_at;
            return false;
        }
        true
    }

    fn pace(&mut self, now: u64, len: u32) {
        let Some(rate) = self.control.pacing_rate() else { return };
        let before = self.paced_at;
        self.paced_at = before.max(now);
        // The first ten segments are not paced (Linux, after the packet scheduler fq).
        if rate.as_bps() == 0 || self.segments_sent < 10 {
            return;
        }
        let gap = u64::from(len) * 8_000_000_000 / rate.as_bps();
        let credit = self.paced_at - before; // a late start is made good, up to half a gap
        self.paced_at += gap - credit.min(gap / 2);
    }

    #[inline]
    fn send_new(&mut self, len: u32, fin: bool, now: Time) -> Transmit {
        if self.board.is_empty() {
            self.first_of_flight(now);
        }
        let seq = self.nxt;
        let mut flags = if fin { FIN } else { 0 };
        if self.delivery.app_limited != 0 {
            flags |= APP_LIMITED;
        }
        let total = len + u32::from(fin);
        let mut sent = Sent::new(seq, total, now.as_ns(), flags);
        self.delivery.on_sent(&mut sent, self.board.in_flight() + u64::from(total));
        self.board.push(sent);
        self.nxt += u64::from(total);
        if u64::from(len) < self.mss && len > 0 {
            self.small_end = self.nxt;
        }
        self.segments_sent += 1;
        self.left(total, now);
        if self.board.len() == 1 || self.xmit.timer == Timer::Probe {
            self.rearm_rto(now.as_ns());
        }
        Transmit { seq, len, fin, new: true, push: self.nxt >= self.write_end }
    }

    /// Accounts for a segment that leaves.
    #[inline]
    fn left(&mut self, total: u32, now: Time) {
        self.burst = true;
        self.last_sent = now.as_ns();
        if matches!(self.state, CaState::Cwr | CaState::Recovery) {
            self.rec.prr_out += u64::from(total);
        }
        self.pace(now.as_ns(), total);
    }

    /// Nothing was under way: a new flight begins, perhaps after an idle time.
    fn first_of_flight(&mut self, now: Time) {
        self.delivery.restart(now.as_ns());
        if self.segments_sent == 0 {
            return;
        }
        // RFC 5681 section 4.1. Where the window is to be kept, no idle time is as long as the timeout.
        let mut ev = RestartEvent::at(now);
        ev.idle = Dur::from_ns(now.as_ns().saturating_sub(self.last_sent));
        ev.rto = if self.start_after_idle { Dur::from_ns(self.rtt.rto()) } else { Dur::MAX };
        self.control.on_restart(&ev);
        self.refresh_cwnd();
    }

    fn retransmit(&mut self, index: usize, now: Time) -> Transmit {
        let sent = *self.board.get(index);
        self.rec.note_retransmission(sent.has(EVER_RETRANS | RETRANS), now.as_ns());
        self.board.retransmitted(index, now.as_ns());
        let in_flight = self.board.in_flight();
        self.delivery.on_sent(self.board.get_mut(index), in_flight);
        self.segments_sent += 1;
        self.retransmissions += 1;
        self.bytes_retransmitted += u64::from(sent.len());
        self.left(sent.len(), now);
        if index == 0 && self.xmit.timer != Timer::Reorder {
            self.set_rto(now.as_ns() + self.rtt.rto());
        }
        let fin = sent.has(FIN);
        Transmit {
            seq: sent.seq,
            len: sent.len() - u32::from(fin),
            fin,
            new: false,
            push: sent.end() >= self.write_end,
        }
    }

    /// RFC 8985 section 7.3: new data as probe if there is any, else the last segment again.
    fn send_probe(&mut self, now: Time) -> Option<Transmit> {
        let sent = match self.next_new(self.mss + 1) {
            Some((len, fin)) => {
                self.rec.tlp_retrans = false;
                Some(self.send_new(len, fin, now))
            }
            None if !self.board.is_empty() => {
                self.rec.tlp_retrans = true;
                Some(self.retransmit(self.board.len() - 1, now))
            }
            None => None,
        };
        if sent.is_some() {
            self.rec.tlp_end = self.nxt;
            self.burst = false; // one probe an episode: the timer that follows is the retransmission's
        }
        self.xmit.timer = Timer::None;
        self.rearm_rto(now.as_ns());
        sent
    }

    /// The peer's window is closed: what fits of the next segment, or a byte that it already has.
    fn send_window_probe(&mut self, now: Time) -> Transmit {
        let fits = self.window_end.saturating_sub(self.nxt).min(self.mss).min(self.write_end.saturating_sub(self.nxt));
        if fits > 0 {
            let fin = self.nxt + fits == self.fin;
            return self.send_new(fits as u32, fin, now);
        }
        Transmit::ack(self.una - 1)
    }

    /// Nothing more goes out now: remember whether the window was the limit, and start the timers.
    #[inline]
    fn end_burst(&mut self, now: Time) -> Option<Transmit> {
        let limited = self.in_flight() + self.mss > self.cwnd;
        if self.burst || limited {
            self.validate(limited);
        }
        if self.burst {
            self.burst = false;
            self.schedule_tlp(now.as_ns(), false);
        }
        if self.board.is_empty() && self.xmit.timer == Timer::None && self.has_new() && self.pacing_wake == u64::MAX {
            self.arm_window_probe(now.as_ns());
        }
        None
    }

    /// Linux's `tcp_cwnd_validate`: the window counts as the limit until a whole window was not.
    #[inline]
    fn validate(&mut self, limited: bool) {
        let out = self.board.len() as u32;
        if self.una >= self.usage_end || limited || (!self.was_limited && out > self.max_out) {
            self.was_limited = limited;
            self.max_out = out;
            self.usage_end = self.nxt;
        }
    }

    /// RFC 7661 as Linux has it: may the window grow?
    #[inline]
    pub(crate) fn is_cwnd_limited(&self) -> bool {
        self.was_limited
            || (self.control.cwnd() < self.control.ssthresh() && self.cwnd < 2 * u64::from(self.max_out) * self.mss)
    }

    /// The rate sample of an acknowledgement, if one could be taken.
    #[inline]
    pub(crate) fn rate_sample(
        &mut self,
        sample: &Sample,
        now: u64,
        delivered: u64,
    ) -> Option<haltere_congestion::RateSample> {
        let min_rtt = self.rtt.min();
        self.delivery.finish(sample, now, delivered, min_rtt)
    }
}
