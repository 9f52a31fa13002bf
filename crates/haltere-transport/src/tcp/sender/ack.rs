//! What an acknowledgement does to the sender.
//! Source: RFC 9293 section 3.10.7.4, RFC 2018, RFC 2883 (DSACK), RFC 6298 section 3 (Karn), the order of Linux's `tcp_ack`.
//! Deviations: none beyond those named in the files of the parts.
//! Units: positions and bytes, ns. Cost: O(segments newly acknowledged or SACKed). Known problems: none.

use crate::tcp::sender::rate_sample::Sample;
use crate::tcp::sender::recovery::CaState;
use crate::tcp::sender::scoreboard::{CE_COUNTED, EVER_RETRANS, RETRANS, SACKED, SAMPLED, Sent};
use crate::tcp::sender::timers::Timer;
use crate::tcp::sender::{Sender, Turn};
use haltere_congestion::{AckEvent, CongestionControl};
use haltere_units::{Bytes, Dur, Time};

/// The cumulative acknowledgement advanced.
pub(crate) const UNA_ADVANCED: u16 = 1;
/// The segment carried data.
pub(crate) const DATA: u16 = 2;
/// It changed the window.
pub(crate) const WINDOW: u16 = 4;
/// Something is newly SACKed.
pub(crate) const DATA_SACKED: u16 = 8;
/// It carries the congestion echo.
pub(crate) const ECE: u16 = 16;
/// A segment never retransmitted, sent before the episode's end, was delivered.
pub(crate) const ORIG_SACK_ACKED: u16 = 32;
/// It reports a duplicate.
pub(crate) const DSACK: u16 = 64;
/// A retransmission was held lost.
pub(crate) const LOST_RETRANS: u16 = 128;
/// A retransmitted segment was acknowledged.
pub(crate) const RETRANS_ACKED: u16 = 256;

/// An acknowledgement, with positions instead of sequence numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AckIn<'a> {
    pub now: Time,
    pub seq: u64,
    pub ack: u64,
    pub window: u64,
    pub has_data: bool,
    pub ece: bool,
    /// Our own clock as echoed, in ms.
    pub echo_ms: Option<u64>,
    /// SACK blocks as on the wire, and the number of the SYN.
    pub sack: &'a [(u32, u32)],
    pub iss: u32,
}

/// What one acknowledgement adds up to.
#[derive(Debug)]
pub(crate) struct Acc {
    pub now: Time,
    pub flags: u16,
    pub ack: u64,
    pub echo_ms: Option<u64>,
    pub prior_una: u64,
    /// End of the highest SACKed segment before.
    prior_fack: u64,
    pub dup_acks: u32,
    delivered: u64,
    returned: u64,
    /// Send times of the first and last segment acknowledged, and SACKed, that were never retransmitted.
    acked_sent: Option<(u64, u64)>,
    sacked_sent: Option<(u64, u64)>,
    /// Lowest position at which reordering shows.
    reordered_at: u64,
    acked_segments: u32,
    acked_bytes: u64,
    pub dsack_of_probe: bool,
    sample: Sample,
}

impl Acc {
    pub(crate) fn is_plain_duplicate(&self) -> bool {
        self.flags & (UNA_ADVANCED | DATA | WINDOW | DATA_SACKED) == 0
    }
}

impl Sender {
    /// An acknowledgement arrived. False where it acknowledges what was never sent.
    pub(crate) fn on_ack(&mut self, a: &AckIn<'_>) -> bool {
        if a.ack > self.nxt {
            return false;
        }
        if a.ack == self.una && self.una == self.nxt && a.sack.is_empty() && !a.ece {
            self.idle_ack(a);
            return true;
        }
        let now = a.now.as_ns();
        let lost_before = self.delivery.lost;
        let prior_in_flight = self.in_flight();
        let mut acc = Acc {
            now: a.now,
            flags: if a.has_data { DATA } else { 0 } | if a.ece { ECE } else { 0 },
            ack: a.ack,
            echo_ms: a.echo_ms,
            prior_una: self.una,
            prior_fack: if self.board.sacked.segments == 0 { self.una } else { self.rec.high_sacked },
            dup_acks: 0,
            delivered: 0,
            returned: 0,
            acked_sent: None,
            sacked_sent: None,
            reordered_at: self.nxt,
            acked_segments: 0,
            acked_bytes: 0,
            dsack_of_probe: false,
            sample: Sample::default(),
        };
        let old = a.ack < self.una;
        if !old {
            self.advance(a, &mut acc);
        }
        if !a.sack.is_empty() && self.sack_ok && !self.board.is_empty() {
            self.take_sack(a, &mut acc);
        }
        if !old {
            self.take_acked(&mut acc);
        }
        let rtt = self.take_rtt(&acc, now);
        if acc.sample.any {
            self.rec.rack.adapt(acc.sample.prior_delivered, self.delivery.delivered);
        }
        if self.rec.tlp_end != 0 {
            self.process_tlp_ack(&acc);
        }
        let progress = acc.flags & UNA_ADVANCED != 0;
        let mut timer = self.xmit.timer;
        self.turn = Turn::None;
        if self.is_dubious(&acc) {
            if acc.flags & (UNA_ADVANCED | DATA | WINDOW | DSACK) == 0
                && !old
                && (!self.board.is_empty() || self.sack_ok)
            {
                acc.dup_acks = 1;
            }
            self.alert(&mut acc);
            timer = self.xmit.timer;
        }
        if progress && timer != Timer::Reorder {
            self.set_xmit_timer(now);
        } else if progress {
            self.keep_reorder_timer(now);
        }
        if self.board.is_empty() {
            self.on_queue_empty(progress);
        }
        let lost = self.delivery.lost - lost_before;
        self.control_ack(&acc, rtt, lost, prior_in_flight);
        true
    }

    /// Nothing is under way, nothing is acknowledged: of data from the peer only the window counts.
    #[inline]
    fn idle_ack(&mut self, a: &AckIn<'_>) {
        if a.seq >= self.window_seq {
            self.window_seq = a.seq;
            self.window_ack = a.ack;
            self.window_end = self.window_end.max(a.ack + a.window);
            if self.xmit.timer == Timer::Window {
                self.on_queue_empty(false);
            }
        }
    }

    /// Moves the window's edges.
    #[inline]
    fn advance(&mut self, a: &AckIn<'_>, acc: &mut Acc) {
        let end = a.ack + a.window;
        if a.ack > self.una || a.seq > self.window_seq || (a.seq == self.window_seq && end > self.window_end) {
            self.window_seq = a.seq;
            if end != self.window_end || a.ack != self.window_ack {
                if end - a.ack != self.window_end.wrapping_sub(self.window_ack) {
                    acc.flags |= WINDOW;
                    self.largest_window = self.largest_window.max(a.window);
                }
                self.window_end = end;
                self.window_ack = a.ack;
            }
        }
        if a.ack > self.una {
            acc.flags |= UNA_ADVANCED;
            self.xmit.retries = 0;
            self.una = a.ack;
        }
    }

    #[inline]
    fn is_dubious(&self, acc: &Acc) -> bool {
        acc.flags & (UNA_ADVANCED | DATA | WINDOW) == 0
            || acc.flags & (DATA_SACKED | ECE | DSACK) != 0
            || self.state != CaState::Open
    }

    /// A reordering timer set by this acknowledgement stays; an older one gives way.
    fn keep_reorder_timer(&mut self, now: u64) {
        if self.board.is_empty() || self.rec.rack.advanced {
            self.xmit.timer = Timer::None;
            self.set_xmit_timer(now);
        }
    }

    fn on_queue_empty(&mut self, progress: bool) {
        if self.xmit.timer != Timer::Window {
            self.xmit.clear();
        }
        if self.nxt < self.window_end || progress {
            self.xmit.probes = 0;
            if self.xmit.timer == Timer::Window && self.window_end >= self.nxt + self.mss {
                self.xmit.clear();
            }
        }
    }

    #[inline]
    pub(crate) fn count_delivered(&mut self, acc: &mut Acc, bytes: u64, segments: u32) {
        acc.delivered += bytes;
        self.delivery.delivered += bytes;
        self.delivery.segments += u64::from(segments);
        if acc.flags & ECE != 0 {
            self.delivery.delivered_ce += bytes;
            self.delivery.segments_ce += u64::from(segments);
        }
    }

    /// Takes the segments that are acknowledged in order out of the scoreboard.
    #[inline]
    fn take_acked(&mut self, acc: &mut Acc) {
        let ack = self.una;
        let mut original_low = u64::MAX;
        while let Some(sent) = self.board.pop_acked(ack) {
            acc.acked_segments += 1;
            acc.acked_bytes += u64::from(sent.len());
            if sent.has(EVER_RETRANS | RETRANS) {
                acc.flags |= RETRANS_ACKED;
            } else if !sent.has(SACKED) {
                let first = acc.acked_sent.map_or(sent.sent_at, |(first, _)| first);
                acc.acked_sent = Some((first, sent.sent_at));
                original_low = original_low.min(sent.seq);
                if sent.end() <= self.rec.high_seq {
                    acc.flags |= ORIG_SACK_ACKED;
                }
            }
            if !sent.has(SACKED) && self.sack_ok {
                self.deliver(&sent, acc);
            }
            self.delivery.on_delivered(&sent, &mut acc.sample);
        }
        let cut = self.board.trim_front(ack);
        if cut > 0 && self.sack_ok {
            self.count_delivered(acc, u64::from(cut), 0);
        }
        if acc.acked_segments == 0 {
            return;
        }
        if !self.sack_ok {
            self.remove_reno_sacks(acc);
        } else if original_low < acc.prior_fack {
            self.note_reordering(original_low);
        }
    }

    #[inline]
    fn deliver(&mut self, sent: &Sent, acc: &mut Acc) {
        self.count_delivered(acc, u64::from(sent.len()), 1);
        if sent.has(CE_COUNTED) {
            acc.returned += u64::from(sent.len());
        }
        let spurious = sent.has(EVER_RETRANS | RETRANS) && acc.echo_ms.is_some_and(|ms| ms < sent.sent_at / 1_000_000);
        if !spurious {
            self.rec.rack.advance(sent, acc.now.as_ns(), self.rtt.min());
        }
    }

    /// RFC 6582: of the segments acknowledged one filled the hole; the rest were counted by their duplicates.
    fn remove_reno_sacks(&mut self, acc: &mut Acc) {
        let sacked = self.board.sacked.segments;
        let newly = acc.acked_segments.saturating_sub(sacked).max(1);
        let bytes = acc.acked_bytes.saturating_sub(self.board.sacked.bytes).max(acc.acked_bytes.min(self.mss));
        self.count_delivered(acc, bytes, newly);
        if sacked == 0 {
            return;
        }
        let eaten = (acc.acked_segments - 1).min(sacked);
        self.board.sacked.segments -= eaten;
        self.board.sacked.bytes = u64::from(self.board.sacked.segments) * self.mss;
    }

    /// RFC 2018, RFC 2883: marks what the blocks report.
    fn take_sack(&mut self, a: &AckIn<'_>, acc: &mut Acc) {
        let mut blocks = [(0_u64, 0_u64); 4];
        let mut count = 0;
        for (i, &(start, end)) in a.sack.iter().enumerate() {
            let block = (crate::tcp::seq::position(start, a.iss, a.ack), crate::tcp::seq::position(end, a.iss, a.ack));
            let duplicate = i == 0 && self.is_dsack(block, a);
            if block.0 >= block.1 || block.1 > self.nxt {
                continue;
            }
            if duplicate {
                self.take_dsack(block, acc);
            }
            if block.1 > self.una && count < 4 {
                blocks[count] = (block.0.max(self.una), block.1);
                count += 1;
            }
        }
        if self.rec.high_sacked < acc.prior_una {
            self.rec.high_sacked = acc.prior_una;
        }
        let blocks = &mut blocks[..count];
        blocks.sort_unstable();
        let known = self.sack_cache;
        for &(start, end) in blocks.iter() {
            self.take_block(start, end, &known, acc);
        }
        let mut cache = [(0, 0); 4];
        cache[..count].copy_from_slice(blocks);
        self.sack_cache = cache;
        if acc.reordered_at < self.nxt && (self.state != CaState::Loss || self.rec.undo_marker != 0) {
            self.note_reordering(acc.reordered_at);
        }
    }

    /// Marks the segments between `start` and `end`, but those that the last acknowledgement reported already.
    fn take_block(&mut self, start: u64, end: u64, known: &[(u64, u64); 4], acc: &mut Acc) {
        let mut from = start;
        while from < end {
            if let Some(&(_, to)) = known.iter().find(|k| k.0 <= from && from < k.1) {
                from = to;
                continue;
            }
            let to = known.iter().filter(|k| k.0 > from).map(|k| k.0).min().unwrap_or(end).min(end);
            let mut index = self.board.index_of(from);
            while index < self.board.len() && self.board.get(index).end() <= to {
                self.take_sacked(index, acc);
                index += 1;
            }
            from = to;
        }
    }

    fn take_sacked(&mut self, index: usize, acc: &mut Acc) {
        let before = *self.board.get(index);
        if !self.board.sack(index) {
            return;
        }
        acc.flags |= DATA_SACKED;
        if !before.has(EVER_RETRANS | RETRANS) {
            if before.seq < self.rec.high_sacked {
                acc.reordered_at = acc.reordered_at.min(before.seq);
            }
            if before.end() <= self.rec.high_seq {
                acc.flags |= ORIG_SACK_ACKED;
            }
            let first = acc.sacked_sent.map_or(before.sent_at, |(first, _)| first);
            acc.sacked_sent = Some((first, before.sent_at));
        }
        self.deliver(&before, acc);
        self.delivery.on_delivered(&before, &mut acc.sample);
        self.board.get_mut(index).flags |= SAMPLED;
        self.rec.high_sacked = self.rec.high_sacked.max(before.end());
    }

    /// RFC 2883 section 4: the first block lies below the acknowledgement, or within the second block.
    fn is_dsack(&self, block: (u64, u64), a: &AckIn<'_>) -> bool {
        if block.0 < a.ack {
            return true;
        }
        a.sack.get(1).is_some_and(|&(start, end)| {
            let second = (crate::tcp::seq::position(start, a.iss, a.ack), crate::tcp::seq::position(end, a.iss, a.ack));
            second.0 <= block.0 && block.1 <= second.1
        })
    }

    fn take_dsack(&mut self, block: (u64, u64), acc: &mut Acc) {
        let segments = (block.1 - block.0).div_ceil(self.mss);
        self.rec.dsacks += segments;
        if self.rec.dsacks > self.retransmissions {
            return; // duplicated by the network, not by us
        }
        acc.flags |= DSACK;
        if self.rec.tlp_end != 0 && self.rec.tlp_retrans && block.1 == self.rec.tlp_end {
            acc.dsack_of_probe = true;
        } else if self.rec.rack.reordered {
            self.rec.rack.dsack_seen = true;
        }
        let in_episode = self.rec.undo_marker != 0 && self.rec.undo_retrans > 0 && block.1 > self.rec.undo_marker;
        if block.1 <= acc.prior_una {
            if in_episode {
                self.rec.undo_retrans = (self.rec.undo_retrans - segments as i64).max(0);
            }
            return;
        }
        let index = self.board.index_of(block.0);
        if index < self.board.len() && self.board.get(index).end() <= block.1 {
            let sent = *self.board.get(index);
            if sent.has(EVER_RETRANS | RETRANS) && in_episode {
                self.rec.undo_retrans -= 1;
            }
            self.board.clear_retrans(index);
        }
    }

    /// Round-trip times of this acknowledgement. Gives the one for the control: of the segment delivered last.
    #[inline]
    fn take_rtt(&mut self, acc: &Acc, now: u64) -> Option<u64> {
        let mut sample = None;
        let mut last = None;
        if let Some((first_sent, last_sent)) = acc.acked_sent
            && acc.flags & RETRANS_ACKED == 0
        {
            sample = Some(now - first_sent);
            last = Some(now - last_sent);
        }
        if let Some((first_sent, last_sent)) = acc.sacked_sent {
            sample = sample.or(Some(now - first_sent));
            last = Some(now - last_sent);
        }
        if sample.is_none()
            && acc.acked_segments > 0
            && let Some(echo) = acc.echo_ms
        {
            // Retransmitted data: the timestamp tells which copy is acknowledged, to the millisecond.
            let ms = (now / 1_000_000).saturating_sub(echo).max(1);
            sample = Some(ms * 1_000_000);
            last = sample;
        }
        let rtt = sample?;
        let delayed = acc.acked_segments == 1
            && acc.acked_bytes < self.mss
            && acc.flags & (DATA_SACKED | ECE | DSACK) == 0
            && self.board.is_empty();
        self.rtt.sample_min(last.unwrap_or(rtt), now, delayed);
        self.rtt.sample(rtt, self.una, self.nxt);
        last
    }

    /// Tells the control, and takes its window.
    fn control_ack(&mut self, acc: &Acc, rtt: Option<u64>, lost: u64, prior_in_flight: u64) {
        let now = acc.now.as_ns();
        let rate = self.rate_sample(&acc.sample, now, acc.delivered);
        let mut round_start = false;
        if acc.sample.any && acc.sample.prior_delivered >= self.round_end {
            self.round_end = self.delivery.delivered;
            self.round += 1;
            round_start = true;
        }
        let reducing = matches!(self.state, CaState::Cwr | CaState::Recovery);
        if acc.delivered == 0 && acc.acked_bytes == 0 && lost == 0 && acc.flags & ECE == 0 {
            self.tell_loss(acc.now);
            self.refresh_cwnd();
            return;
        }
        let mut ev = AckEvent::at(acc.now);
        ev.acked = Bytes::new(self.una - acc.prior_una);
        ev.delivered = Bytes::new(acc.delivered);
        ev.lost = Bytes::new(lost);
        ev.ece = acc.flags & ECE != 0;
        if ev.ece {
            ev.ce = Bytes::new(acc.delivered.saturating_sub(acc.returned));
        }
        ev.rtt = rtt.map(Dur::from_ns);
        ev.srtt = Dur::from_ns(self.rtt.srtt());
        ev.min_rtt = Dur::from_ns(self.rtt.min());
        ev.prior_in_flight = Bytes::new(prior_in_flight);
        ev.in_flight = Bytes::new(self.in_flight());
        ev.snd_una = self.una;
        ev.snd_nxt = self.nxt;
        ev.round = self.round;
        ev.round_start = round_start;
        ev.cwnd_limited = self.is_cwnd_limited();
        ev.in_recovery = reducing;
        ev.in_rto_recovery = self.state == CaState::Loss;
        ev.rate = rate;
        ev.next_departure = Time::from_ns(self.paced_at);
        self.control.on_ack(&ev);
        self.tell_loss(acc.now);
        if reducing && !self.owns_recovery {
            self.prr_step(acc.delivered, lost, acc.flags & UNA_ADVANCED != 0);
        }
        self.refresh_cwnd();
    }

    /// A segment of ours came back with a congestion mark, before the receiver's echo. True where it counts.
    pub(crate) fn on_returned(&mut self, now: Time, seq: u64) -> bool {
        if seq < self.una || seq >= self.nxt {
            return false;
        }
        let index = self.board.index_of(seq);
        if index >= self.board.len() {
            return false;
        }
        let sent = self.board.get_mut(index);
        if sent.seq != seq || sent.has(SACKED | CE_COUNTED) {
            return false;
        }
        sent.flags |= CE_COUNTED;
        let bytes = Bytes::new(u64::from(sent.len()));
        if self.control.on_returned(now, bytes) {
            self.enter_cwr();
            self.tell_loss(now);
        }
        self.refresh_cwnd();
        true
    }
}
