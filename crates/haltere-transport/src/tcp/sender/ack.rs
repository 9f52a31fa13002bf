//! What an acknowledgement does to the sender.
//! Source: RFC 9293 section 3.10.7.4, RFC 6298 section 3 (Karn), the order of Linux's `tcp_ack`.
//! Deviations: none beyond those named in the files of the parts.
//! Units: stream offsets and bytes, ns. Cost: O(segments newly acknowledged or SACKed). Known problems: none.

use super::Sender;
use super::episode::CaState;
use super::incoming::{
    AckSummary, DATA, DATA_SACKED, DSACK, ECE, IncomingAck, ORIG_SACK_ACKED, RETRANS_ACKED, TIMER_SET, UNA_ADVANCED,
    WINDOW,
};
use super::outgoing::Turn;
use super::scoreboard::{CE_COUNTED, EVER_RETRANS, RETRANS, SACKED, Sent};
use super::timers::Timer;
use crate::tcp::accurate_ecn::{Delivered, Report};
use crate::tcp::time::{Ms, or_zero};
use haltere_congestion::{AckEvent, CongestionControl};
use haltere_units::{Bytes, Dur};

impl Sender {
    /// An acknowledgement arrived. False if it acknowledges what was never sent.
    pub(crate) fn on_ack(&mut self, a: &IncomingAck<'_>, marks: Option<&mut Report<'_>>) -> bool {
        let (una, nxt) = (self.buffer.una(), self.buffer.nxt());
        if a.ack > nxt {
            return false;
        }
        if a.ack == una && una == nxt && a.sack.is_empty() && !a.ece {
            self.on_idle_ack(a);
            return true;
        }
        let lost_before = self.delivery.bytes_lost();
        let prior_in_flight = self.in_flight();
        if self.control.notes_starvation() {
            self.note_starvation_of(prior_in_flight, 0);
        }
        let mut ack = self.summary(a);
        let old = a.ack < una;
        if !old {
            self.update_edges(a, &mut ack);
        }
        if !a.sack.is_empty() && self.sack.is_enabled() {
            self.take_sack(a, &mut ack);
        }
        if !old {
            self.take_acked(&mut ack);
        }
        if let Some(report) = marks {
            self.take_marks(report, &mut ack);
        }
        let rtt = self.take_rtt(&ack);
        if let Some(newest) = &ack.newest {
            self.detection.rack.update_window(newest.prior_delivered(), self.delivery.bytes());
        }
        if self.probe.is_out() {
            self.process_probe_ack(&ack);
        }
        self.output.set_turn(Turn::NewOnly);
        if self.is_dubious(&ack) {
            ack.duplicate = !ack.has(UNA_ADVANCED | DATA | WINDOW | DSACK)
                && !old
                && (!self.board.is_empty() || self.sack.is_enabled());
            self.fast_retransmit_alert(&mut ack);
        }
        self.update_timers(&ack);
        let lost = self.delivery.bytes_lost() - lost_before;
        self.notify_ack(&ack, rtt, lost, prior_in_flight);
        self.make_room(a.now);
        true
    }

    #[inline]
    fn summary(&self, a: &IncomingAck<'_>) -> AckSummary {
        let una = self.buffer.una();
        AckSummary {
            now: a.now,
            flags: if a.has_data { DATA } else { 0 } | if a.ece { ECE } else { 0 },
            ack: a.ack,
            echo: a.echo,
            prior_una: una,
            prior_fack: if self.board.sacked().segments == 0 { una } else { self.sack.highest() },
            duplicate: false,
            delivered: 0,
            delivered_segments: 0,
            marked: None,
            ce_counted: 0,
            acked_sent: None,
            sacked_sent: None,
            reordered_at: None,
            acked_segments: 0,
            acked_bytes: 0,
            dsack_of_probe: false,
            newest: None,
        }
    }

    /// Nothing is in flight, nothing is acknowledged: of data from the peer only the window counts.
    #[inline]
    fn on_idle_ack(&mut self, a: &IncomingAck<'_>) {
        if self.window.update_idle(a) && self.timers.is_armed(Timer::Window) {
            self.on_queue_empty(false);
            if self.timers.is_armed(Timer::Window) {
                self.timers.arm_window_probe(a.now, self.rtt.rto()); // the peer is there: ask later
            }
        }
    }

    /// Moves the edges of the window.
    #[inline]
    fn update_edges(&mut self, a: &IncomingAck<'_>, ack: &mut AckSummary) {
        let una = self.buffer.una();
        if self.window.update(a, una) {
            ack.set(WINDOW);
        }
        if a.ack > una {
            ack.set(UNA_ADVANCED);
            self.timers.on_progress();
            self.buffer.acknowledge(a.ack);
        }
    }

    #[inline]
    fn is_dubious(&self, ack: &AckSummary) -> bool {
        !ack.has(UNA_ADVANCED | DATA | WINDOW)
            || ack.has(DATA_SACKED | ECE | DSACK)
            || self.recovery.state() != CaState::Open
    }

    #[inline]
    fn update_timers(&mut self, ack: &AckSummary) {
        let progress = ack.advanced();
        // A reordering timer set by this acknowledgement stays; an older one gives way.
        if (progress || self.is_sacked_before_front(ack)) && !ack.has(TIMER_SET) {
            if self.timers.is_armed(Timer::Reordering) {
                self.timers.disarm();
            }
            self.set_transmit_timer(ack.now);
        }
        if self.board.is_empty() {
            self.on_queue_empty(progress);
        }
    }

    /// It SACKs what was sent before the oldest segment was sent last. So it says nothing of that copy yet.
    #[inline]
    fn is_sacked_before_front(&self, ack: &AckSummary) -> bool {
        ack.sacked_sent.is_some_and(|(first, _)| self.board.front().is_some_and(|front| first < front.sent_at))
    }

    fn on_queue_empty(&mut self, progress: bool) {
        if !self.timers.is_armed(Timer::Window) {
            self.timers.clear();
        }
        let fits = self.buffer.next_fits(self.window.end());
        if fits || progress {
            self.timers.reset_probes();
        }
        if fits && self.timers.is_armed(Timer::Window) {
            self.timers.clear();
        }
    }

    #[inline]
    pub(crate) fn count_delivered(&mut self, ack: &mut AckSummary, bytes: u64, segments: u32) {
        ack.delivered += bytes;
        ack.delivered_segments += segments;
        self.delivery.count(bytes, segments, ack.has_ece());
    }

    /// The counts of a receiver that counts marks. An acknowledgement that delivers nothing may be older than the last.
    #[cold]
    fn take_marks(&mut self, report: &mut Report<'_>, ack: &mut AckSummary) {
        ack.marked = Some(0);
        if ack.delivered == 0 {
            return;
        }
        let new = Delivered { packets: ack.delivered_segments, bytes: ack.delivered, mss: self.buffer.mss() };
        let marked = report.read(&new);
        if marked.packets > 0 {
            ack.set(ECE);
            ack.marked = Some(marked.bytes);
            self.delivery.count_marked(marked);
        }
    }

    /// Takes the segments that are acknowledged in order out of the scoreboard.
    #[inline]
    fn take_acked(&mut self, ack: &mut AckSummary) {
        let una = self.buffer.una();
        let mut lowest_original = None;
        while let Some(sent) = self.board.pop_acked(una) {
            ack.acked_segments += 1;
            ack.acked_bytes += u64::from(sent.len());
            if sent.has(EVER_RETRANS | RETRANS) {
                ack.set(RETRANS_ACKED);
            } else if !sent.has(SACKED) {
                let first = ack.acked_sent.map_or(sent.sent_at, |(first, _)| first);
                ack.acked_sent = Some((first, sent.sent_at));
                lowest_original = lowest_original.or(Some(sent.seq));
                if sent.end() <= self.recovery.high_seq() {
                    ack.set(ORIG_SACK_ACKED);
                }
            }
            if !sent.has(SACKED) && self.sack.is_enabled() {
                self.deliver(&sent, ack, ack.echo);
            }
            self.delivery.on_delivered(&sent, &mut ack.newest);
        }
        let cut = self.board.trim_front(una);
        if cut > 0 && self.sack.is_enabled() {
            self.count_delivered(ack, u64::from(cut), 0);
        }
        if ack.acked_segments == 0 {
            return;
        }
        if !self.sack.is_enabled() {
            self.remove_reno_sacks(ack);
        } else if let Some(low) = lowest_original
            && low < ack.prior_fack
        {
            self.note_reordering(low);
        }
    }

    #[inline]
    pub(crate) fn deliver(&mut self, sent: &Sent, ack: &mut AckSummary, echo: Option<Ms>) {
        self.count_delivered(ack, u64::from(sent.len()), 1);
        if sent.has(CE_COUNTED) {
            ack.ce_counted += u64::from(sent.len());
        }
        self.detection.rack.on_delivered(sent, ack.now, or_zero(self.rtt.min()), echo);
    }

    /// Round-trip times of this acknowledgement. Gives the one for the control: of the segment delivered last.
    #[inline]
    fn take_rtt(&mut self, ack: &AckSummary) -> Option<Dur> {
        let mut sample = None;
        let mut last = None;
        if let Some((first_sent, last_sent)) = ack.acked_sent
            && !ack.has(RETRANS_ACKED)
        {
            sample = Some(ack.now - first_sent);
            last = Some(ack.now - last_sent);
        }
        if let Some((first_sent, last_sent)) = ack.sacked_sent {
            sample = sample.or(Some(ack.now - first_sent));
            last = Some(ack.now - last_sent);
        }
        if sample.is_none()
            && ack.acked_segments > 0
            && let Some(echo) = ack.echo
        {
            // Retransmitted data: the timestamp says which copy is acknowledged, to the millisecond.
            sample = Some(echo.elapsed(ack.now));
            last = sample;
        }
        let rtt = sample?;
        let delayed = ack.acked_segments == 1
            && ack.acked_bytes < self.buffer.mss()
            && !ack.has(DATA_SACKED | ECE | DSACK)
            && self.board.is_empty();
        self.rtt.sample_min(last.unwrap_or(rtt), ack.now, delayed);
        self.rtt.sample(rtt, self.buffer.una(), self.buffer.nxt());
        last
    }

    /// Notifies the control, and takes its window.
    fn notify_ack(&mut self, ack: &AckSummary, rtt: Option<Dur>, lost: u64, prior_in_flight: u64) {
        let min_rtt = or_zero(self.rtt.min());
        let rate = self.delivery.sample(ack.newest.as_ref(), ack.now, ack.delivered, min_rtt);
        let round_start = self.delivery.starts_round(ack.newest.as_ref());
        let reducing = self.recovery.is_reducing();
        if ack.delivered == 0 && ack.acked_bytes == 0 && lost == 0 && !ack.has_ece() {
            self.notify_reduction(ack.now);
            self.refresh_cwnd();
            return;
        }
        let mut ev = AckEvent::at(ack.now);
        ev.acked = Bytes::new(self.buffer.una() - ack.prior_una);
        ev.delivered = Bytes::new(ack.delivered);
        ev.lost = Bytes::new(lost);
        ev.ece = ack.has_ece();
        if ev.ece {
            let marked = ack.marked.unwrap_or(ack.delivered).min(ack.delivered);
            ev.ce = Bytes::new(marked.saturating_sub(ack.ce_counted));
        }
        ev.accurate = ack.marked.is_some();
        ev.rtt = rtt;
        ev.srtt = or_zero(self.rtt.srtt());
        ev.min_rtt = min_rtt;
        ev.prior_in_flight = Bytes::new(prior_in_flight);
        ev.in_flight = Bytes::new(self.in_flight());
        ev.snd_una = self.buffer.una().get();
        ev.snd_nxt = self.buffer.nxt().get();
        ev.round = self.delivery.rounds();
        ev.round_start = round_start;
        ev.cwnd_limited = self.is_cwnd_limited();
        ev.in_recovery = reducing;
        ev.in_rto_recovery = self.recovery.state() == CaState::Loss;
        ev.rate = rate;
        ev.next_departure = self.pacing.next_departure();
        self.control.on_ack(&ev);
        if self.control.wants_reduction() {
            self.reduce_as_asked();
        }
        self.notify_reduction(ack.now);
        if reducing && !self.owns_recovery {
            self.reduce(ack.delivered, ack.advanced() && lost == 0);
        }
        self.refresh_cwnd();
    }
}
