//! SEARCH: slow start ends when less arrives than was sent one round trip earlier.
//! Source: draft-chung-ccwg-search-09 (SEARCH 4.0; names as there).
//! Model: time is cut into bins of WINDOW_SIZE / W, WINDOW_SIZE = 3.5 INITIAL_RTT, W = 10. At the end of a bin
//!
//! ```text
//!   curr_delv = bytes acknowledged in the last W bins
//!   prev_sent = bytes sent in the W bins that ended one RTT ago (between two bins: interpolated)
//!   norm_diff = (prev_sent - curr_delv) / prev_sent
//!
//!              norm_diff >= THRESH                    cwnd = target
//!   slow start --------------------> drain ----------------------------> congestion avoidance
//! ```
//!
//! In the drain cwnd is what is in flight, and one segment for every three acknowledged, down to target: what arrived in
//! the last INITIAL_RTT, at least the initial window.
//! Deviations: the interpolation takes the bins before, where the draft's pseudocode takes those behind, against its
//! text (its authors agree: mozilla/neqo#3518). Bins are whole numbers of bytes, not shifted to 16 bits. Of the draft's
//! options for missed bins it takes the reset, if more than W bins passed. It is for the first slow start only, as
//! HyStart++: a loss ends it. The pace of the drain is that of its authors' implementation; the draft leaves it open.
//! Units: bytes, ns. Cost: O(1) an acknowledgement. Known problems: it can judge after W + 1 bins and one RTT, that is
//! 4.9 round trips, at the earliest: slow start from ten segments has a window of 300 by then. While 2 C is sent and C
//! delivered, norm_diff reaches THRESH 3.7 round trips after the path is full. A queue below four bandwidth-delay
//! products overflows before.

use crate::AckEvent;
use haltere_units::Dur;

/// Bins of a window.
const W: usize = 10;
/// So many bins may lie between now and one RTT ago; a longer RTT gives no judgement.
const EXTRA_BINS: usize = 15;
const ACKED_BINS: usize = W + 1;
const SENT_BINS: usize = W + 1 + EXTRA_BINS;
/// WINDOW_SIZE is 3.5 round trips: long enough for the period at which the RTT of satellite and cellular paths varies.
const WINDOW_SIZE_PERCENT: u64 = 350;
/// THRESH in per cent: low enough to end soon after the path is full, and above what noise makes.
const THRESH_PERCENT: u64 = 26;
/// Segments acknowledged for one that is sent in the drain.
const DRAIN_PACE: u64 = 3;

/// What slow start does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It goes on.
    Continue,
    /// It ends with the window that it has.
    Exit,
    /// The window is so many bytes.
    Drain(u64),
    /// It ends with so many bytes.
    Drained(u64),
}

/// SEARCH of one connection.
#[derive(Debug, Clone)]
pub(super) struct Search {
    mss: u64,
    initial_window: u64,
    drains: bool,
    initial_rtt: Dur,
    bin: Dur,
    /// The end of the current bin in ns; `None`: no bin is there yet.
    bin_end_ns: Option<u64>,
    curr_idx: usize,
    /// Bytes acknowledged in all at the end of each bin, and sent.
    acked: [u64; ACKED_BINS],
    sent: [u64; SENT_BINS],
    acked_in_all: u64,
    /// The target of the drain.
    target: Option<u64>,
    /// Bytes acknowledged in the drain that let nothing leave yet.
    drained: u64,
}

impl Search {
    pub(super) fn new(mss: u64, initial_window: u64, drains: bool) -> Search {
        Search {
            mss,
            initial_window,
            drains,
            initial_rtt: Dur::ZERO,
            bin: Dur::ZERO,
            bin_end_ns: None,
            curr_idx: 0,
            acked: [0; ACKED_BINS],
            sent: [0; SENT_BINS],
            acked_in_all: 0,
            target: None,
            drained: 0,
        }
    }

    /// The first round-trip time: INITIAL_RTT.
    pub(super) fn on_first_rtt(&mut self, rtt: Dur) {
        self.initial_rtt = rtt;
    }

    /// The window is being drained.
    pub(super) fn is_draining(&self) -> bool {
        self.target.is_some()
    }

    pub(super) fn on_ack(&mut self, ev: &AckEvent) -> Verdict {
        self.acked_in_all += ev.delivered.as_u64();
        if let Some(target) = self.target {
            return self.drain(ev, target);
        }
        let Some(rtt) = ev.rtt.filter(|rtt| !rtt.is_zero()) else { return Verdict::Continue };
        let now_ns = ev.now.as_ns();
        match self.bin_end_ns {
            None => self.begin(now_ns, rtt, ev.snd_nxt),
            Some(end_ns) if now_ns > end_ns => {
                if self.update_bins(now_ns, end_ns, ev.snd_nxt) && self.is_over(rtt) {
                    return self.end();
                }
            }
            Some(_) => {}
        }
        Verdict::Continue
    }

    /// The first bin ends one bin from now.
    fn begin(&mut self, now_ns: u64, rtt: Dur, sent: u64) {
        if self.initial_rtt.is_zero() {
            self.initial_rtt = rtt;
        }
        let bin_ns = self.initial_rtt.as_ns() * WINDOW_SIZE_PERCENT / 100 / W as u64;
        self.bin = Dur::from_ns(bin_ns.max(1));
        self.bin_end_ns = Some(now_ns + self.bin.as_ns());
        self.curr_idx = 0;
        self.acked[0] = self.acked_in_all;
        self.sent[0] = sent;
    }

    /// Fills the bins that have passed. False if they were too many: all begins anew.
    fn update_bins(&mut self, now_ns: u64, end_ns: u64, sent: u64) -> bool {
        let passed = (now_ns - end_ns) / self.bin.as_ns() + 1;
        if passed > W as u64 {
            (self.bin_end_ns, self.initial_rtt) = (None, Dur::ZERO);
            return false;
        }
        // A stack may take back what it counted as sent.
        let sent = sent.max(self.sent[self.curr_idx % SENT_BINS]);
        for _ in 0..passed {
            let (acked, sent) = (self.acked[self.curr_idx % ACKED_BINS], self.sent[self.curr_idx % SENT_BINS]);
            self.curr_idx += 1;
            self.acked[self.curr_idx % ACKED_BINS] = acked;
            self.sent[self.curr_idx % SENT_BINS] = sent;
        }
        self.acked[self.curr_idx % ACKED_BINS] = self.acked_in_all;
        self.sent[self.curr_idx % SENT_BINS] = sent;
        self.bin_end_ns = Some(end_ns + passed * self.bin.as_ns());
        true
    }

    /// True if slow start is to end.
    fn is_over(&self, rtt: Dur) -> bool {
        let (rtt_ns, bin_ns) = (rtt.as_ns(), self.bin.as_ns());
        let back = (rtt_ns / bin_ns) as usize;
        if back >= EXTRA_BINS || self.curr_idx < back + W + 1 {
            return false;
        }
        let prev_idx = self.curr_idx - back;
        let curr_delv = self.delivered_since(W);
        let prev_sent = self.prev_sent(prev_idx, rtt_ns % bin_ns, bin_ns);
        let missing = prev_sent.saturating_sub(u128::from(curr_delv));
        prev_sent > 0 && missing * 100 / prev_sent >= u128::from(THRESH_PERCENT)
    }

    /// Bytes acknowledged in the last so many bins.
    fn delivered_since(&self, bins: usize) -> u64 {
        self.acked[self.curr_idx % ACKED_BINS] - self.acked[(self.curr_idx - bins) % ACKED_BINS]
    }

    /// Bytes sent in the W bins before `rest_ns` before the end of the bin `prev_idx`.
    fn prev_sent(&self, prev_idx: usize, rest_ns: u64, bin_ns: u64) -> u128 {
        let sent = |idx: usize| self.sent[idx % SENT_BINS];
        let high = u128::from(sent(prev_idx) - sent(prev_idx - W));
        let low = u128::from(sent(prev_idx - 1) - sent(prev_idx - 1 - W));
        (low * u128::from(rest_ns) + high * u128::from(bin_ns - rest_ns)) / u128::from(bin_ns)
    }

    fn end(&mut self) -> Verdict {
        if !self.drains {
            return Verdict::Exit;
        }
        let bins = self.initial_rtt.as_ns().div_ceil(self.bin.as_ns()) as usize;
        self.target = Some(self.delivered_since(bins.clamp(1, W)).max(self.initial_window));
        Verdict::Continue
    }

    fn drain(&mut self, ev: &AckEvent, target: u64) -> Verdict {
        self.drained += ev.delivered.as_u64();
        let step = DRAIN_PACE * self.mss;
        let leaves = self.drained / step * self.mss;
        self.drained %= step;
        let cwnd = ev.in_flight.as_u64() + leaves;
        if cwnd > target { Verdict::Drain(cwnd) } else { Verdict::Drained(target) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_units::{Bytes, Time};

    const MSS: u64 = 1000;

    /// A bin is 35 ms at 100 ms. `ms` after the start so many bytes are acknowledged, and so many were sent in all.
    fn ack(ms: u64, delivered: u64, sent: u64, rtt_ms: u64) -> AckEvent {
        AckEvent {
            delivered: Bytes::new(delivered),
            acked: Bytes::new(delivered),
            snd_nxt: sent,
            rtt: Some(Dur::from_ms(rtt_ms)),
            ..AckEvent::at(Time::ZERO + Dur::from_ms(ms))
        }
    }
    /// One acknowledgement a bin, 1 ms behind its end, with these bytes; as much is sent as `sent` says for the bin.
    fn bins(search: &mut Search, count: u64, delivered: impl Fn(u64) -> u64, sent: impl Fn(u64) -> u64) -> Option<u64> {
        (0..count).find(|&bin| {
            search.on_ack(&ack(bin * 35 + u64::from(bin > 0), delivered(bin), sent(bin), 70)) != Verdict::Continue
        })
    }
    fn search(drains: bool) -> Search {
        let mut search = Search::new(MSS, 10 * MSS, drains);
        search.on_first_rtt(Dur::from_ms(100));
        search
    }

    /// RTT of two bins: what is sent up to bin i is acknowledged up to bin i + 2. While all arrives the difference is 0.
    #[test]
    fn while_all_arrives_that_was_sent_slow_start_goes_on() {
        let total = |bin: u64| 1000 << (bin / 3);
        let mut s = search(false);
        let delivered = |bin: u64| if bin < 3 { 0 } else { total(bin - 2) - total(bin - 3) };
        assert_eq!(bins(&mut s, 60, delivered, total), None);
    }

    /// 10 bytes a bin are sent, of which 7.5 arrive: 25 of 100 are missing, below 26. With 7.4 slow start ends with the
    /// first judgement: bin 13, as one RTT is two bins, and 11 bins must lie before.
    #[test]
    fn slow_start_ends_with_a_difference_of_26_percent_and_at_the_13th_bin_at_the_earliest() {
        let end = |arrives: u64| bins(&mut search(false), 60, |_| arrives, |bin| bin * 1000);
        assert_eq!(end(750), None);
        assert_eq!(end(741), None, "25.9 % is 25 in whole per cent");
        assert_eq!(end(740), Some(13));
    }

    /// RTT 105 ms is three bins of 35 ms; 87.5 ms is two and a half. By hand for bin 20: 17 to 7 and 16 to 6 half each.
    #[test]
    fn between_two_bins_the_bytes_sent_are_interpolated_with_the_bin_before() {
        let mut s = search(false);
        assert_eq!(bins(&mut s, 21, |_| 1000, |bin| bin * bin), None);
        let (bin_ns, sent) = (35_000_000, |from: u128, to: u128| to * to - from * from);
        assert_eq!(s.prev_sent(18, 0, bin_ns), sent(8, 18));
        assert_eq!(s.prev_sent(18, bin_ns / 2, bin_ns), (sent(8, 18) + sent(7, 17)) / 2);
    }

    #[test]
    fn what_a_stack_takes_back_counts_as_sent() {
        let mut s = search(false);
        bins(&mut s, 30, |_| 1000, |bin| if bin == 29 { 5000 } else { 1000 * bin });
        assert_eq!(s.prev_sent(29, 0, 1), 9000);
    }

    #[test]
    fn a_round_trip_of_fifteen_bins_or_more_gives_no_judgement() {
        let mut s = search(false);
        bins(&mut s, 40, |_| 1000, |bin| bin * 1000);
        assert!(!s.is_over(Dur::from_ms(15 * 35)));
        s.acked = [0; ACKED_BINS];
        assert!(s.is_over(Dur::from_ms(14 * 35)));
    }

    #[test]
    fn a_pause_of_more_than_ten_bins_begins_anew() {
        let mut s = search(false);
        bins(&mut s, 13, |_| 0, |bin| bin * 1000);
        assert_eq!(s.on_ack(&ack(12 * 35 + 11 * 35 + 1, 1000, 20_000, 100)), Verdict::Continue);
        assert_eq!(s.bin_end_ns, None);
        s.on_ack(&ack(900, 1000, 20_000, 200));
        assert_eq!((s.bin, s.initial_rtt), (Dur::from_ms(70), Dur::from_ms(200)));
    }

    /// INITIAL_RTT is 2.86 bins, so three count: 3 * 7400 bytes arrived in them. Of 3 segments acknowledged one leaves.
    #[test]
    fn the_drain_ends_with_what_arrived_in_the_first_round_trip_time() {
        let mut s = search(true);
        assert_eq!(bins(&mut s, 14, |_| 7400, |bin| bin * 10_000), None, "the exit begins the drain");
        assert_eq!(s.target, Some(22_200));
        let mut next = |in_flight: u64, delivered: u64| {
            s.on_ack(&AckEvent { in_flight: Bytes::new(in_flight), ..ack(600, delivered, 200_000, 70) })
        };
        assert_eq!(next(40_000, 2000), Verdict::Drain(40_000));
        assert_eq!(next(38_000, 2000), Verdict::Drain(39_000));
        assert_eq!(next(22_000, 0), Verdict::Drained(22_200));
    }
}
