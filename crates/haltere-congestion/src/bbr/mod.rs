//! BBR: the window and the rate follow a model of the path, not its losses.
//! Source: Cardwell, Cheng, Gunn, Yeganeh and Jacobson, "BBR: congestion-based congestion control", ACM Queue 14(5), 2016;
//! draft-cardwell-iccrg-bbr-congestion-control-00; the version that Linux ships (with aggregation and policers).
//! Model: BtlBw = max of the delivery rate over 10 rounds; RTprop = min of the RTT over 10 s;
//! pacing rate = gain BtlBw; cwnd = gain BtlBw RTprop + what aggregates.
//!
//! ```text
//!   Startup (2.89) --bandwidth grew < 25 % in 3 rounds--> Drain (1/2.89) --in flight <= BDP--> ProbeBW
//!      ^                                                                                       (1.25, .75, 1 x 6)
//!      |                       RTprop not renewed for 10 s                                        |  ^
//!      +------ pipe not yet full ------ ProbeRTT (4 segments for 200 ms) <------------------------+  |
//!                                                 +-------------------------------------------------+
//! ```
//!
//! Deviations: none from Linux that show, but: the delivered bytes are divided by nanoseconds exactly; a lone segment
//! whose acknowledgement may be delayed counts for RTprop when the old one has expired.
//! Linux as against the paper: pacing 1 % under the model; three bursts of segments more in the window; packet
//! conservation in the first round of recovery; the excess of aggregated acknowledgements is added to the window.
//! Units: windows in segments, rates in payload bit/s. Cost: O(1) an acknowledgement.
//! Known problems: over shallow buffers several flows lose much and push loss-based ones aside; ignores ECN.

mod aggregation;
mod drain;
pub(crate) mod filter;
pub(crate) mod gain;
pub(crate) mod pacing;
mod policer;
mod probe_bw;
mod probe_rtt;
mod startup;
mod window;

use crate::{AckEvent, CongestionControl, LossEvent, LossKind, RateSample, RestartEvent, RtoEvent, SenderContext};
use aggregation::Aggregation;
use filter::WindowedMax;
use gain::Gain;
use haltere_units::{Bytes, Dur, ParamError, Probe, Rate, Time};
use policer::Policer;
use probe_bw::Cycle;
use probe_rtt::ProbeRtt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use startup::FullPipe;

/// The window and the rate follow a model of the path (BBR version 1, as in Linux).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How long a least round-trip time is believed before the queue is drained to measure it again. Over zero.
    /// Default 10 s.
    pub probe_rtt_interval: Dur,
    /// How long the window stays at four segments to measure it. Default 200 ms.
    pub probe_rtt_duration: Dur,
    /// Look for a token-bucket policer and then send at the rate that it lets pass (long-term bandwidth). Default true.
    pub detect_policer: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params { probe_rtt_interval: Dur::from_secs(10), probe_rtt_duration: Dur::from_ms(200), detect_policer: true }
    }
}

/// Rounds over which the bandwidth is the largest sample: a gain cycle and two.
const BW_WINDOW_ROUNDS: u64 = 10;
/// 2 / ln 2: the least gain that doubles the rate every round; rounded up, since less would not double.
const HIGH_GAIN: Gain = Gain(Gain::ratio(2885, 1000).0 + 1);
/// Its inverse drains in one round what Startup queued.
const DRAIN_GAIN: Gain = Gain::ratio(1000, 2885);
/// Room for delayed and aggregated acknowledgements.
const CWND_GAIN: Gain = Gain::ratio(2, 1);
/// Enough to keep acknowledgements coming with delayed ones (two in flight, two acknowledged).
const MIN_CWND: u64 = 4;
/// Round trip assumed before any is known.
const UNKNOWN_RTT: Dur = Dur::from_ms(1);

/// The phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// What the transport is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Repair {
    None,
    Fast,
    Timeout,
}

/// The control.
#[derive(Debug, Clone)]
pub struct Bbr {
    params: Params,
    mss: u64,
    initial: u64,
    mode: Mode,
    pacing_gain: Gain,
    cwnd_gain: Gain,
    cwnd: u64,
    prior_cwnd: u64,
    ssthresh: u64,
    pacing_rate: Rate,
    /// The pacing rate stems from a measured RTT.
    has_seen_rtt: bool,

    max_bw: WindowedMax<Rate>,
    min_rtt: Option<Dur>,
    min_rtt_stamp: Time,
    round: u64,
    round_start: bool,
    /// Delivered bytes that a sample must have seen at its sending to begin the next round.
    next_round_delivered: u64,
    /// Segments delivered in all, and bytes that make none yet.
    delivered: u64,
    carry_bytes: u64,

    full_pipe: FullPipe,
    cycle: Cycle,
    probe_rtt: ProbeRtt,
    policer: Policer,
    aggregation: Aggregation,

    repair: Repair,
    episode: Option<LossKind>,
    packet_conservation: bool,
    idle_restart: bool,
}

/// One acknowledgement in segments.
#[derive(Debug, Clone, Copy)]
struct Ack<'a> {
    ev: &'a AckEvent,
    rate: Option<RateSample>,
    /// Segments newly delivered and newly held lost.
    acked: u64,
    lost: u64,
    in_flight: u64,
    prior_in_flight: u64,
}

impl Bbr {
    /// A sender at its initial window.
    pub fn new(params: &Params, sender: &SenderContext) -> Result<Bbr, ParamError> {
        if params.probe_rtt_interval.is_zero() {
            return Err(
                ParamError::new("probe_rtt_interval", "over zero", params.probe_rtt_interval).hint("10s is usual")
            );
        }
        let mss = sender.mss.as_u64().max(1);
        let initial = (sender.initial_window.as_u64() / mss).max(1);
        let mut bbr = Bbr {
            params: params.clone(),
            mss,
            initial,
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            cwnd: initial,
            prior_cwnd: 0,
            ssthresh: u64::MAX,
            pacing_rate: Rate::ZERO,
            has_seen_rtt: false,
            max_bw: WindowedMax::new(BW_WINDOW_ROUNDS, Rate::ZERO),
            min_rtt: None,
            min_rtt_stamp: Time::ZERO,
            round: 0,
            round_start: false,
            next_round_delivered: 0,
            delivered: 0,
            carry_bytes: 0,
            full_pipe: FullPipe::default(),
            cycle: Cycle::new(sender.seed),
            probe_rtt: ProbeRtt::default(),
            policer: Policer::default(),
            aggregation: Aggregation::default(),
            repair: Repair::None,
            episode: None,
            packet_conservation: false,
            idle_restart: false,
        };
        bbr.init_pacing_rate(UNKNOWN_RTT);
        Ok(bbr)
    }

    /// The bandwidth to send at: that of the policer where there is one.
    fn bw(&self) -> Rate {
        self.policer.rate().unwrap_or_else(|| self.max_bw.get())
    }

    fn update_model(&mut self, ack: &Ack) {
        self.update_bw(ack);
        self.update_aggregation(ack);
        self.update_cycle(ack);
        self.check_full_pipe(ack);
        self.check_drain(ack);
        self.update_min_rtt(ack);
        self.update_gains();
    }

    /// Rounds by delivery, and the bandwidth filter.
    fn update_bw(&mut self, ack: &Ack) {
        self.round_start = false;
        let Some(rate) = ack.rate else { return };
        if rate.prior_delivered >= self.next_round_delivered {
            self.next_round_delivered = rate.total_delivered;
            self.round += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.sample_policer(ack, &rate);
        let bw = Rate::of(rate.delivered, rate.interval);
        // A sample that the application limited says what it sent, not what the path carries, unless it is higher.
        if !rate.app_limited || bw >= self.max_bw.get() {
            self.max_bw.update(self.round, bw);
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.rate().is_some() => (Gain::UNIT, CWND_GAIN),
            Mode::ProbeBw => (self.cycle.gain(), CWND_GAIN),
            Mode::ProbeRtt => (Gain::UNIT, Gain::UNIT),
        };
    }

    /// The acknowledgement in segments, with what the model must not take for the application's pace.
    fn read<'a>(&mut self, ev: &'a AckEvent) -> Ack<'a> {
        let bytes = self.carry_bytes + ev.delivered.as_u64();
        self.carry_bytes = bytes % self.mss;
        let acked = bytes / self.mss;
        self.delivered += acked;
        let segments = |bytes: Bytes| bytes.as_u64().div_ceil(self.mss);
        self.policer.lost += segments(ev.lost);
        Ack {
            ev,
            rate: ev.rate.filter(|rate| !rate.interval.is_zero()).map(|rate| self.probe_rtt.limit(rate)),
            acked,
            lost: segments(ev.lost),
            in_flight: segments(ev.in_flight),
            prior_in_flight: segments(ev.prior_in_flight),
        }
    }

    /// What the transport is doing; a reduction after an ECN echo is nothing to BBR.
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
}

impl CongestionControl for Bbr {
    fn on_established(&mut self, now: Time, rtt: Dur) {
        self.min_rtt = Some(rtt);
        self.min_rtt_stamp = now;
        self.has_seen_rtt = true;
        self.init_pacing_rate(rtt);
    }
    fn on_ack(&mut self, ev: &AckEvent) {
        if !ev.in_recovery {
            self.episode = None;
        }
        let ack = self.read(ev);
        self.update_model(&ack);
        let bw = self.bw();
        if !self.has_seen_rtt && !ev.srtt.is_zero() {
            self.has_seen_rtt = true;
            self.init_pacing_rate(ev.srtt);
        }
        self.set_pacing_rate(bw, self.pacing_gain);
        self.set_cwnd(&ack, bw);
    }
    fn on_loss(&mut self, ev: &LossEvent) {
        self.episode = Some(ev.kind);
        self.save_cwnd();
    }
    fn on_rto(&mut self, ev: &RtoEvent) {
        self.save_cwnd();
        self.repair = Repair::Timeout;
        self.full_pipe.forget();
        self.round_start = true;
        self.timeout_in_policer(ev.now);
        self.cwnd = ev.still_in_flight.as_u64() / self.mss + 1;
    }
    fn on_spurious(&mut self, _now: Time) {
        // The slow-down may have hidden that there is more bandwidth: look again.
        self.full_pipe.forget();
        self.policer.reset();
    }
    fn on_restart(&mut self, ev: &RestartEvent) {
        self.idle_restart = true;
        self.aggregation.restart(ev.now);
        match self.mode {
            // Pace at the estimated rate: the pipe is empty, there is nothing to probe or drain.
            Mode::ProbeBw => self.set_pacing_rate(self.bw(), Gain::UNIT),
            Mode::ProbeRtt => self.check_probe_rtt_done(ev.now),
            Mode::Startup | Mode::Drain => {}
        }
    }
    fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd * self.mss)
    }
    fn ssthresh(&self) -> Bytes {
        if self.ssthresh == u64::MAX { Bytes::MAX } else { Bytes::new(self.ssthresh * self.mss) }
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.pacing_rate)
    }
    fn owns_recovery(&self) -> bool {
        true
    }
    fn probe(&self, row: &mut Probe) {
        row.push("state", "", f64::from(self.mode as u8));
        row.push("bw", "bit/s", self.bw().as_bps_f64());
        row.push("min_rtt", "s", self.min_rtt.unwrap_or(Dur::ZERO).as_secs_f64());
        row.push("pacing_gain", "", self.pacing_gain.as_f64());
        row.push("cwnd_gain", "", self.cwnd_gain.as_f64());
        row.push("extra_acked", "B", (self.aggregation.extra_acked() * self.mss) as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    fn bbr() -> Bbr {
        let sender = SenderContext { mss: Bytes::new(MSS), initial_window: Bytes::new(10 * MSS), seed: 1 };
        Bbr::new(&Params::default(), &sender).unwrap()
    }

    /// A path that delivers `mbps` with 40 ms; each acknowledgement is ten segments, a round is one acknowledgement.
    struct Path {
        bbr: Bbr,
        now: Time,
        delivered: u64,
    }
    impl Path {
        fn new() -> Path {
            Path { bbr: bbr(), now: Time::ZERO, delivered: 0 }
        }
        fn ack(&mut self, mbps: u64, lost: u64, recovery: bool) -> AckEvent {
            let bytes = Bytes::new(10 * MSS);
            self.now += Rate::from_mbps(mbps).time_for(bytes);
            let prior = self.delivered;
            self.delivered += bytes.as_u64();
            let mut sample = RateSample::new(bytes, Rate::from_mbps(mbps).time_for(bytes));
            (sample.prior_delivered, sample.total_delivered) = (prior, self.delivered);
            AckEvent {
                acked: bytes,
                delivered: bytes,
                lost: Bytes::new(lost * MSS),
                rtt: Some(Dur::from_ms(40)),
                srtt: Dur::from_ms(40),
                prior_in_flight: Bytes::new(20 * MSS),
                in_flight: Bytes::new(10 * MSS),
                in_recovery: recovery,
                cwnd_limited: true,
                rate: Some(sample),
                ..AckEvent::at(self.now)
            }
        }
        fn step(&mut self, mbps: u64, lost: u64, recovery: bool) {
            let ev = self.ack(mbps, lost, recovery);
            self.bbr.on_ack(&ev);
        }
    }

    #[test]
    fn the_first_window_is_paced_over_the_round_trip_with_startups_gain() {
        let mut c = bbr();
        c.on_established(Time::ZERO, Dur::from_ms(40));
        // 10 * 1448 * 8 / 0.04 = 2.896 Mbit/s, times 739/256 (2.885 in 256ths), less 1 %.
        let expected = 2_896_000 * 739 / 256 / 100 * 99;
        assert_eq!(c.pacing_rate(), Some(Rate::from_bps(expected)));
    }

    #[test]
    fn the_pipe_is_full_after_three_rounds_without_growth() {
        let mut p = Path::new();
        p.step(10, 0, false);
        assert_eq!(p.bbr.mode, Mode::Startup);
        (0..2).for_each(|_| p.step(10, 0, false));
        assert!(!p.bbr.full_pipe.reached);
        p.step(10, 0, false);
        assert!(p.bbr.full_pipe.reached);
        assert_ne!(p.bbr.mode, Mode::Startup);
    }

    #[test]
    fn growth_by_a_quarter_begins_the_count_anew() {
        let mut p = Path::new();
        for mbps in [8, 8, 8, 10, 10, 10] {
            p.step(mbps, 0, false);
        }
        assert!(!p.bbr.full_pipe.reached);
    }

    /// Recovery begins with what is in flight and delivered, and ends with the window from before.
    #[test]
    fn recovery_conserves_packets_for_a_round_and_restores_the_window() {
        let mut p = Path::new();
        (0..10).for_each(|_| p.step(10, 0, false));
        let before = p.bbr.cwnd;
        assert!(before > 22, "{before}");
        p.step(10, 2, true);
        p.bbr.on_loss(&LossEvent::at(p.now, LossKind::Loss));
        assert_eq!(p.bbr.cwnd, 10 + 10, "in flight and delivered");
        p.step(10, 0, false);
        assert!(p.bbr.cwnd >= before.min(p.bbr.prior_cwnd) && p.bbr.prior_cwnd == before, "{}", p.bbr.cwnd);
    }

    #[test]
    fn an_ecn_reduction_is_none() {
        let mut p = Path::new();
        (0..10).for_each(|_| p.step(10, 0, false));
        let before = p.bbr.cwnd;
        p.bbr.on_loss(&LossEvent::at(p.now, LossKind::Ecn));
        p.step(10, 0, true);
        assert!(p.bbr.cwnd >= before && p.bbr.repair == Repair::None);
    }

    /// Two intervals with a fifth lost and the same rate: the policer's rate is used, for 48 rounds.
    #[test]
    fn a_policer_is_noticed_believed_and_doubted() {
        let mut p = Path::new();
        (0..10).for_each(|_| p.step(20, 0, false));
        assert_eq!(p.bbr.policer.rate(), None);
        // Every second round loses; four rounds make an interval, so the second ends after about ten.
        let mut rounds = 0;
        while p.bbr.policer.rate().is_none() {
            p.step(5, 4, false);
            rounds += 1;
            assert!(rounds < 20, "no policer noticed");
        }
        let policed = p.bbr.policer.rate().unwrap().as_bps_f64();
        assert!((policed / 5e6 - 1.0).abs() < 0.02, "{policed}");
        assert!(rounds >= 8, "two intervals of four rounds, not {rounds} rounds");
        let mut believed = 0;
        while p.bbr.policer.rate().is_some() {
            p.step(5, 0, false);
            believed += 1;
            assert!(believed < 60, "never doubted");
        }
        assert!((47..=49).contains(&believed), "{believed} rounds");
    }

    #[test]
    fn a_bad_interval_is_refused() {
        let params = Params { probe_rtt_interval: Dur::ZERO, ..Params::default() };
        let sender = SenderContext { mss: Bytes::new(MSS), initial_window: Bytes::new(MSS), seed: 0 };
        assert_eq!(Bbr::new(&params, &sender).unwrap_err().name, "probe_rtt_interval");
    }
}
