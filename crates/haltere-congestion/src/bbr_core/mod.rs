//! The common part of both versions of BBR.
//!
//! [`Core`] counts rounds, filters the delivery rate and the round-trip time, paces, and times ProbeRTT. It conserves
//! packets in recovery for version 1. The versions add their phases, their gains and their bounds.

mod aggregation;
mod filter;
mod gain;

pub(crate) use aggregation::Aggregation;
pub(crate) use filter::{LastTwo, MinRtt, WindowedMax};
pub(crate) use gain::Gain;

use crate::{AckEvent, LossEvent, LossKind, RateSample, RtoEvent, SenderContext};
use haltere_units::{Bytes, Dur, Rate, Time};

/// Enough to keep acknowledgements coming if the receiver delays them: two segments in flight, two acknowledged.
pub(crate) const MIN_CWND: u64 = 4;
/// The round trip that is assumed before any is known.
const UNKNOWN_RTT: Dur = Dur::from_ms(1);
/// The pipe is full after this number of rounds in which the bandwidth did not grow by a quarter.
const FULL_BW_ROUNDS: u32 = 3;

/// Pacing a little under the estimated rate keeps the queue from growing by its error.
const PACING_MARGIN_PERCENT: u64 = 1;
/// The largest offloaded packet, less its headers.
const MAX_BURST_BYTES: u64 = 65_536 - 1 - 320;
const MAX_BURST_SEGMENTS: u64 = 127;
/// Below this rate bursts are single segments.
const SINGLE_SEGMENT_BPS: u64 = 1_200_000;

/// The state of the transport's loss recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Repair {
    #[default]
    None,
    Fast,
    Timeout,
}

/// One acknowledgement in segments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ack<'a> {
    pub ev: &'a AckEvent,
    pub rate: Option<RateSample>,
    /// Segments that it newly delivered.
    pub acked: u64,
    /// Segments that were newly marked lost.
    pub lost: u64,
    pub in_flight: u64,
    pub prior_in_flight: u64,
}

/// Growth of the bandwidth from round to round.
#[derive(Debug, Clone, Default)]
pub(crate) struct Growth {
    bw: Rate,
    /// Rounds without growth so far.
    pub rounds: u32,
}

impl Growth {
    /// Looks for growth above this bandwidth from now on.
    pub fn above(bw: Rate) -> Growth {
        Growth { bw, rounds: 0 }
    }
    /// True if this bandwidth is larger by a quarter: the count begins anew.
    pub fn sees(&mut self, bw: Rate) -> bool {
        let grown = bw.as_bps() >= self.bw.as_bps() + self.bw.as_bps() / 4;
        if grown {
            *self = Growth::above(bw);
        }
        grown
    }
    /// A round had this bandwidth; true if it is the third without growth by a quarter.
    pub fn has_ended(&mut self, bw: Rate) -> bool {
        if !self.sees(bw) {
            self.rounds += 1;
        }
        self.rounds >= FULL_BW_ROUNDS
    }
}

/// The bandwidth of a sample, if it may change an estimate of `max`. An application-limited sample shows what the
/// application sent, not what the path carries; it counts only if it is as high.
pub(crate) fn bw_sample(rate: &RateSample, max: Rate) -> Option<Rate> {
    Some(rate.rate()).filter(|bw| !rate.app_limited || *bw >= max)
}

/// The pacing rate for a bandwidthand a gain.
fn paced(bw: Rate, gain: Gain) -> Rate {
    Rate::from_bps(gain.of(bw.as_bps()) / 100 * (100 - PACING_MARGIN_PERCENT))
}

/// Segments that leave together: a millisecond's worth and `more` bytes, at least two.
pub(crate) fn burst(pacing_rate: Rate, more: u64, mss: u64) -> u64 {
    let bytes = (pacing_rate.as_bps() / 8 / 1024 + more).min(MAX_BURST_BYTES);
    let least = if pacing_rate.as_bps() < SINGLE_SEGMENT_BPS { 1 } else { 2 };
    (bytes / mss).max(least).min(MAX_BURST_SEGMENTS)
}

/// When ProbeRTT ends, and which samples it limits.
#[derive(Debug, Clone, Default)]
struct ProbeRtt {
    /// The earliest end; `None` until the flight is small enough.
    done: Option<Time>,
    /// A round has passed since the flight is small.
    round_done: bool,
    /// ProbeRTT, not the path, limited segments that were sent when the delivered bytes were in this range (from, to).
    limited: Option<(u64, u64)>,
}

impl ProbeRtt {
    /// A sample of segments sent in ProbeRTT does not show the path's bandwidth: it counts as application-limited.
    fn limit(&mut self, rate: RateSample) -> RateSample {
        let limits = self.limits(rate.prior_delivered);
        if self.limited.is_some_and(|(_, to)| rate.prior_delivered > to) {
            self.limited = None;
        }
        RateSample { app_limited: rate.app_limited || limits, ..rate }
    }
    /// True if ProbeRTT limited a segment that was sent when `delivered` bytes had been delivered.
    fn limits(&self, prior_delivered: u64) -> bool {
        self.limited.is_some_and(|(from, to)| (from..=to).contains(&prior_delivered))
    }
}

/// The state that both versions have.
#[derive(Debug, Clone, Default)]
pub(crate) struct Core {
    pub mss: u64,
    /// The initial window in segments.
    pub initial: u64,
    pub cwnd: u64,
    /// The window before recovery or ProbeRTT.
    pub prior_cwnd: u64,
    pub pacing_rate: Rate,
    /// The pacing rate comes from a measured round-trip time.
    has_seen_rtt: bool,

    pub min_rtt: MinRtt,
    /// Rounds so far, counted by delivery.
    pub round: u64,
    pub round_start: bool,
    /// The next round begins with a sample that was sent after so many bytes had been delivered.
    next_round_delivered: u64,
    /// Segments delivered in all, and bytes that make no segment yet.
    pub delivered: u64,
    carry_bytes: u64,

    /// The pipe was full at least once (full_bw_reached).
    pub filled: bool,
    pub idle_restart: bool,
    probe_rtt: ProbeRtt,
    pub repair: Repair,
    episode: Option<LossKind>,
    packet_conservation: bool,
}

impl Core {
    /// A sender at its initial window.
    pub fn new(sender: &SenderContext, startup_gain: Gain) -> Core {
        let mss = sender.mss.as_u64().max(1);
        let initial = (sender.initial_window.as_u64() / mss).max(1);
        let mut core = Core { mss, initial, cwnd: initial, ..Core::default() };
        core.init_pacing_rate(UNKNOWN_RTT, startup_gain);
        core
    }

    /// The handshake measured this round-trip time.
    pub fn on_established(&mut self, now: Time, rtt: Dur, startup_gain: Gain) {
        self.min_rtt = MinRtt { value: Some(rtt), stamp: now };
        self.has_seen_rtt = true;
        self.init_pacing_rate(rtt, startup_gain);
    }
    /// The pacing rate follows from the first smoothed round-trip time, if the handshake measured none.
    pub fn on_srtt(&mut self, srtt: Dur, startup_gain: Gain) {
        if !self.has_seen_rtt && !srtt.is_zero() {
            self.has_seen_rtt = true;
            self.init_pacing_rate(srtt, startup_gain);
        }
    }
    /// A recovery episode begins.
    pub fn on_loss(&mut self, ev: &LossEvent) {
        self.episode = Some(ev.kind);
    }
    /// The window after a timeout.
    pub fn on_rto(&mut self, ev: &RtoEvent) {
        self.repair = Repair::Timeout;
        self.cwnd = ev.still_in_flight.as_u64() / self.mss + 1;
    }

    /// The acknowledgement in segments.
    pub fn read<'a>(&mut self, ev: &'a AckEvent) -> Ack<'a> {
        if !ev.in_recovery {
            self.episode = None;
        }
        let bytes = self.carry_bytes + ev.delivered.as_u64();
        self.carry_bytes = bytes % self.mss;
        let acked = bytes / self.mss;
        self.delivered += acked;
        let segments = |bytes: Bytes| bytes.as_u64().div_ceil(self.mss);
        Ack {
            ev,
            rate: ev.rate.filter(|rate| !rate.interval.is_zero()).map(|rate| self.probe_rtt.limit(rate)),
            acked,
            lost: segments(ev.lost),
            in_flight: segments(ev.in_flight),
            prior_in_flight: segments(ev.prior_in_flight),
        }
    }

    /// Rounds by delivery: a round ends when a segment is delivered that was sent after the round's begin.
    pub fn count_round(&mut self, ack: &Ack) {
        self.round_start = false;
        let Some(rate) = ack.rate else { return };
        if rate.prior_delivered >= self.next_round_delivered {
            self.next_round_delivered = rate.total_delivered;
            self.round += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
    }
    /// The next round begins when a segment is delivered that is sent from now on.
    pub fn restart_round(&mut self, rate: Option<RateSample>) {
        if let Some(rate) = rate {
            self.start_round(rate.total_delivered);
        }
    }
    /// The next round begins when a segment is delivered that is sent after so many delivered bytes.
    pub fn start_round(&mut self, delivered: u64) {
        self.next_round_delivered = delivered;
    }
    /// True if ProbeRTT, not the path, limited a segment that left after so many delivered bytes.
    pub fn limited_by_probe_rtt(&self, prior_delivered: u64) -> bool {
        self.probe_rtt.limits(prior_delivered)
    }
    /// The bytes in flight, in segments, that are expected when pacing releases the next burst, which they include if
    /// the flight grows.
    pub fn in_net_at_departure(&self, ack: &Ack, in_flight: u64, bw: Rate, burst: u64) -> u64 {
        let wait = ack.ev.next_departure.since(ack.ev.now);
        (in_flight + burst).saturating_sub(bw.bytes_in(wait).as_u64() / self.mss)
    }

    /// Before there are samples: the initial window in one round trip, times Startup's gain.
    fn init_pacing_rate(&mut self, rtt: Dur, startup_gain: Gain) {
        let bw = Rate::of(Bytes::new(self.cwnd * self.mss), rtt.max(Dur::from_us(1)));
        self.pacing_rate = paced(bw, startup_gain);
    }
    /// In Startup the rate never falls, because early samples are low.
    pub fn set_pacing_rate(&mut self, bw: Rate, gain: Gain) {
        let rate = paced(bw, gain);
        if self.filled || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }
    /// Segments that leave together.
    pub fn burst(&self) -> u64 {
        burst(self.pacing_rate, 0, self.mss)
    }
    /// The bandwidth-delay product times the gain, rounded up to segments.
    pub fn bdp(&self, bw: Rate, gain: Gain) -> u64 {
        match self.min_rtt.value {
            None => self.initial,
            Some(rtt) => gain.of(bw.bytes_in(rtt).as_u64()).div_ceil(self.mss),
        }
    }

    /// Remembers the window, to restore it after recovery or ProbeRTT. True if neither was in progress.
    pub fn save_cwnd(&mut self, in_probe_rtt: bool) -> bool {
        let fresh = self.repair == Repair::None && !in_probe_rtt;
        self.prior_cwnd = self.cwnd.max(if fresh { 0 } else { self.prior_cwnd });
        fresh
    }
    /// The window from before is back.
    pub fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// Recovery: lost segments leave the window. Its first round sends only as much as is delivered. At its end the
    /// window from before it returns. True if the window was saved anew.
    pub fn follow_repair(&mut self, ack: &Ack, in_probe_rtt: bool) -> bool {
        let (before, repair) = (self.repair, self.repair_of(ack.ev));
        if ack.acked == 0 {
            // A transition is taken with the next acknowledgement that delivers something.
            return false;
        }
        let begins = repair == Repair::Fast && before != Repair::Fast;
        let saved = begins && self.save_cwnd(in_probe_rtt);
        self.cwnd = self.cwnd.saturating_sub(ack.lost).max(1);
        if begins {
            self.packet_conservation = true;
            self.restart_round(ack.rate);
            self.cwnd = ack.in_flight + ack.acked;
        } else if repair == Repair::None && before != Repair::None {
            self.restore_cwnd();
            self.packet_conservation = false;
        }
        self.repair = repair;
        saved
    }
    /// The state of the transport's loss recovery. BBR does not answer a reduction after an ECN echo.
    fn repair_of(&self, ev: &AckEvent) -> Repair {
        if ev.in_rto_recovery {
            return Repair::Timeout;
        }
        let loss = match self.episode {
            Some(kind) => kind == LossKind::Loss,
            None => ev.lost > Bytes::ZERO,
        };
        if ev.in_recovery && loss { Repair::Fast } else { Repair::None }
    }

    /// One more segment for each acknowledged, up to the target. The window is cut to it only if the pipe has been
    /// full; before, it grows beyond the target if it `may_start`.
    pub fn approach(&mut self, ack: &Ack, target: u64, may_start: bool) {
        let acked = ack.acked;
        if acked == 0 {
            return;
        }
        if self.packet_conservation {
            self.cwnd = self.cwnd.max(ack.in_flight + acked);
            return;
        }
        if self.filled {
            self.cwnd = (self.cwnd + acked).min(target);
        } else if self.cwnd < target || may_start {
            self.cwnd += acked;
        }
        self.cwnd = self.cwnd.max(MIN_CWND);
    }

    /// ProbeRTT begins: its end is not known.
    pub fn start_probe_rtt(&mut self) {
        self.probe_rtt.done = None;
    }
    /// One acknowledgement in ProbeRTT, whose flight is to be `target` segments for `duration` and a round. True once
    /// the round is over.
    pub fn step_probe_rtt(&mut self, ack: &Ack, target: u64, duration: Dur) -> bool {
        let probe = &mut self.probe_rtt;
        if let Some(rate) = ack.rate {
            let from = probe.limited.map_or(rate.total_delivered, |(from, _)| from);
            probe.limited = Some((from, rate.total_delivered + ack.ev.in_flight.as_u64()));
        }
        if probe.done.is_some() {
            probe.round_done |= self.round_start;
            return probe.round_done;
        }
        if ack.in_flight <= target {
            probe.done = Some(ack.ev.now + duration);
            probe.round_done = false;
            self.restart_round(ack.rate);
        }
        false
    }
    /// The flight was small for long enough.
    pub fn probe_rtt_is_over(&self, now: Time) -> bool {
        self.probe_rtt.done.is_some_and(|done| now > done)
    }
    /// Something was delivered: the pause is over.
    pub fn end_restart(&mut self, ack: &Ack) {
        if ack.rate.is_some_and(|rate| rate.delivered.as_u64() > 0) {
            self.idle_restart = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_a_millisecond_of_segments() {
        assert_eq!(burst(Rate::from_mbps(1), 0, 1448), 1);
        assert_eq!(burst(Rate::from_mbps(20), 0, 1448), 2);
        // 125 MB/s / 1024 = 122 kB, capped at 65215 B = 45 segments.
        assert_eq!(burst(Rate::from_mbps(1000), 0, 1448), 45);
    }

    #[test]
    fn pacing_stays_one_percent_below() {
        assert_eq!(paced(Rate::from_mbps(100), Gain::ratio(5, 4)), Rate::from_bps(123_750_000));
    }
}
