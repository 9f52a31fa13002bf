//! BBR version 3: BBR with bounds that losses (and marks) set.
//! Source: draft-ietf-ccwg-bbr (Cardwell, Swett, Beshay); the ECN response from Google's published version 3.
//! Model: as `bbr`, and: inflight_longterm, the flight that the path was seen to hold with at most 2 % loss;
//! bw_shortterm and inflight_shortterm, lowered by the factor 0.7 in rounds with loss between probes.
//!
//! ```text
//!   Startup (2.77) --no growth in 3 rounds, or much loss--> Drain (0.5) --in flight <= BDP--+
//!                                                                                           v
//!   +----> UP (1.25) --no growth, or loss > 2 %--> DOWN (0.9) --in flight <= BDP and headroom--> CRUISE (1) --+
//!   |                                                                                                         |
//!   +-------------- REFILL (1), one round <---- 2 to 3 s, or as many rounds as Reno would need ---------------+
//!
//!   any of them --RTprop not renewed for 5 s--> ProbeRTT (half a BDP for 200 ms) --> CRUISE (or Startup)
//! ```
//!
//! Deviations: loss rates are judged at acknowledgements (rate sample), not at each lost segment (draft §5.5.10.2, which
//! finds the flight at the loss more exactly); a burst of loss is one acknowledgement with losses, where the draft counts
//! gaps (§5.3.1.3).
//! Units: windows in segments, rates in payload bit/s. Cost: O(1) an acknowledgement.
//! Known problems: a draft; the constants still move.

mod bounds;
mod drain;
mod probe_bw;
mod probe_rtt;
mod startup;
mod window;

use crate::bbr::filter::WindowedMax;
use crate::bbr::gain::Gain;
use crate::random::SplitMix;
use crate::{
    AckEvent, CongestionControl, EcnUse, LossEvent, LossKind, RateSample, RestartEvent, RtoEvent, SenderContext,
};
use bounds::Bounds;
use haltere_units::{Bytes, Dur, ParamError, Probe, Rate, Time};
use probe_bw::Cycle;
use probe_rtt::ProbeRtt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use startup::FullPipe;

/// BBR with bounds that losses set (BBR version 3, draft-ietf-ccwg-bbr).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How long a least round-trip time is believed before the flight is halved to measure it again. Over zero. Default
    /// 5 s (draft §2.13).
    pub probe_rtt_interval: Dur,
    /// How long the flight stays halved. Default 200 ms (draft §2.13).
    pub probe_rtt_duration: Dur,
    /// Answer CE marks as DCTCP does, by a third of the marked share (Google's version 3). Default false: the draft
    /// knows no ECN.
    pub ecn: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params { probe_rtt_interval: Dur::from_secs(5), probe_rtt_duration: Dur::from_ms(200), ecn: false }
    }
}

// Draft §2.5 and §5.6.1: (pacing gain, cwnd gain) of each phase.
const STARTUP_GAINS: (Gain, Gain) = (Gain::ratio(277, 100), Gain::ratio(2, 1));
const DRAIN_GAINS: (Gain, Gain) = (Gain::ratio(1, 2), Gain::ratio(2, 1));
const DOWN_GAINS: (Gain, Gain) = (Gain::ratio(90, 100), Gain::ratio(2, 1));
const CRUISE_GAINS: (Gain, Gain) = (Gain::UNIT, Gain::ratio(2, 1));
const UP_GAINS: (Gain, Gain) = (Gain::ratio(5, 4), Gain::ratio(9, 4));
const PROBE_RTT_GAINS: (Gain, Gain) = (Gain::UNIT, Gain::ratio(1, 2));

/// The bandwidth is the largest of this probe's cycle and the one before (MaxBwFilterLen = 2).
const MAX_BW_CYCLES: u64 = 1;
/// Rounds over which the aggregation is the largest (ExtraAckedFilterLen).
const EXTRA_ACKED_ROUNDS: u64 = 10;
/// MinRTTFilterLen.
const MIN_RTT_WINDOW: Dur = Dur::from_secs(10);
/// MinPipeCwnd in segments.
const MIN_CWND: u64 = 4;
/// Round trip assumed before any is known.
const UNKNOWN_RTT: Dur = Dur::from_ms(1);

/// The phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// What the transport is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repair {
    None,
    Fast,
    Timeout,
}

/// The control.
#[derive(Debug, Clone)]
pub struct Bbr3 {
    params: Params,
    mss: u64,
    initial: u64,
    state: State,
    cwnd: u64,
    prior_cwnd: u64,
    pacing_rate: Rate,
    has_seen_rtt: bool,

    max_bw: WindowedMax<Rate>,
    cycle_count: u64,
    min_rtt: Option<Dur>,
    min_rtt_stamp: Time,
    round: u64,
    round_start: bool,
    next_round_delivered: u64,
    delivered: u64,
    carry_bytes: u64,

    extra_acked: WindowedMax<u64>,
    extra_acked_start: Time,
    extra_acked_delivered: u64,

    full_pipe: FullPipe,
    bounds: Bounds,
    cycle: Cycle,
    probe_rtt: ProbeRtt,
    random: SplitMix,

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
    acked: u64,
    lost: u64,
    in_flight: u64,
}

impl Bbr3 {
    /// A sender at its initial window.
    pub fn new(params: &Params, sender: &SenderContext) -> Result<Bbr3, ParamError> {
        if params.probe_rtt_interval.is_zero() {
            return Err(
                ParamError::new("probe_rtt_interval", "over zero", params.probe_rtt_interval).hint("5s is usual")
            );
        }
        let mss = sender.mss.as_u64().max(1);
        let initial = (sender.initial_window.as_u64() / mss).max(1);
        let mut bbr = Bbr3 {
            params: params.clone(),
            mss,
            initial,
            state: State::Startup,
            cwnd: initial,
            prior_cwnd: 0,
            pacing_rate: Rate::ZERO,
            has_seen_rtt: false,
            max_bw: WindowedMax::new(MAX_BW_CYCLES, Rate::ZERO),
            cycle_count: 0,
            min_rtt: None,
            min_rtt_stamp: Time::ZERO,
            round: 0,
            round_start: false,
            next_round_delivered: 0,
            delivered: 0,
            carry_bytes: 0,
            extra_acked: WindowedMax::new(EXTRA_ACKED_ROUNDS, 0),
            extra_acked_start: Time::ZERO,
            extra_acked_delivered: 0,
            full_pipe: FullPipe::default(),
            bounds: Bounds::default(),
            cycle: Cycle::default(),
            probe_rtt: ProbeRtt::default(),
            random: SplitMix::new(sender.seed),
            repair: Repair::None,
            episode: None,
            packet_conservation: false,
            idle_restart: false,
        };
        bbr.init_pacing_rate(UNKNOWN_RTT);
        Ok(bbr)
    }

    /// Draft §5.5.6: the bandwidth to send at.
    fn bw(&self) -> Rate {
        self.bounds.bw_short.map_or(self.max_bw.get(), |short| short.min(self.max_bw.get()))
    }

    fn gains(&self) -> (Gain, Gain) {
        match self.state {
            State::Startup => STARTUP_GAINS,
            State::Drain => DRAIN_GAINS,
            State::Down => DOWN_GAINS,
            State::Cruise | State::Refill => CRUISE_GAINS,
            State::Up => UP_GAINS,
            State::ProbeRtt => PROBE_RTT_GAINS,
        }
    }

    fn in_probe_bw(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// Draft §5.5.1: the next round begins when what is sent from now on is delivered.
    fn start_round(&mut self, rate: Option<RateSample>) {
        if let Some(rate) = rate {
            self.next_round_delivered = rate.total_delivered;
        }
    }

    /// Draft §5.2.3, BBRUpdateModelAndState.
    fn update_model(&mut self, ack: &Ack) {
        self.update_round_and_bw(ack);
        self.update_congestion_signals(ack);
        self.update_aggregation(ack);
        self.check_full_pipe(ack);
        self.check_drain(ack);
        self.update_probe_bw(ack);
        self.update_min_rtt(ack);
        self.advance_signals(ack);
    }

    fn update_round_and_bw(&mut self, ack: &Ack) {
        self.round_start = false;
        let Some(rate) = ack.rate else { return };
        if rate.prior_delivered >= self.next_round_delivered {
            self.next_round_delivered = rate.total_delivered;
            self.round += 1;
            self.cycle.rounds += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
        let bw = Rate::of(rate.delivered, rate.interval);
        if !rate.app_limited || bw >= self.max_bw.get() {
            self.max_bw.update(self.cycle_count, bw);
        }
    }

    /// Draft §5.5.9: what was acknowledged above the estimated rate.
    fn update_aggregation(&mut self, ack: &Ack) {
        if ack.acked == 0 || ack.rate.is_none() {
            return;
        }
        let span = ack.ev.now.since(self.extra_acked_start);
        let mut expected = self.bw().bytes_in(span).as_u64() / self.mss;
        if self.extra_acked_delivered <= expected {
            self.extra_acked_delivered = 0;
            self.extra_acked_start = ack.ev.now;
            expected = 0;
        }
        self.extra_acked_delivered += ack.acked;
        let extra = self.extra_acked_delivered.saturating_sub(expected).min(self.cwnd);
        self.extra_acked.update(self.round, extra);
    }

    fn read<'a>(&mut self, ev: &'a AckEvent) -> Ack<'a> {
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
        }
    }

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

impl CongestionControl for Bbr3 {
    fn on_established(&mut self, now: Time, rtt: Dur) {
        self.min_rtt = Some(rtt);
        self.min_rtt_stamp = now;
        self.probe_rtt.min_delay = Some(rtt);
        self.probe_rtt.min_stamp = now;
        self.has_seen_rtt = true;
        self.init_pacing_rate(rtt);
    }
    fn on_ack(&mut self, ev: &AckEvent) {
        if !ev.in_recovery {
            self.episode = None;
        }
        let ack = self.read(ev);
        self.update_model(&ack);
        if !self.has_seen_rtt && !ev.srtt.is_zero() {
            self.has_seen_rtt = true;
            self.init_pacing_rate(ev.srtt);
        }
        self.set_pacing_rate(self.gains().0);
        self.set_cwnd(&ack);
    }
    fn on_loss(&mut self, ev: &LossEvent) {
        self.episode = Some(ev.kind);
        self.save_cwnd();
    }
    fn on_rto(&mut self, ev: &RtoEvent) {
        self.save_cwnd();
        self.repair = Repair::Timeout;
        self.bounds.loss_in_round = true;
        self.full_pipe.forget();
        self.cwnd = ev.still_in_flight.as_u64() / self.mss + 1;
    }
    fn on_spurious(&mut self, _now: Time) {
        // Draft §5.5.10.3 (BBRHandleSpuriousLossDetection): put back what the loss lowered.
        self.bounds.loss_in_round = false;
        self.full_pipe.forget();
        self.bounds.undo();
    }
    fn on_restart(&mut self, ev: &RestartEvent) {
        self.idle_restart = true;
        self.extra_acked_start = ev.now;
        self.extra_acked_delivered = 0;
        if self.in_probe_bw() {
            self.set_pacing_rate(Gain::UNIT);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(ev.now, None);
        }
    }
    fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd * self.mss)
    }
    /// BBR has no slow-start threshold.
    fn ssthresh(&self) -> Bytes {
        Bytes::MAX
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.pacing_rate)
    }
    fn owns_recovery(&self) -> bool {
        true
    }
    fn ecn(&self) -> EcnUse {
        if self.params.ecn { EcnUse::PerPacket } else { EcnUse::Classic }
    }
    fn probe(&self, row: &mut Probe) {
        let bytes = |segments: Option<u64>| segments.map_or(f64::INFINITY, |s| (s * self.mss) as f64);
        row.push("state", "", f64::from(self.state as u8));
        row.push("bw", "bit/s", self.bw().as_bps_f64());
        row.push("max_bw", "bit/s", self.max_bw.get().as_bps_f64());
        row.push("min_rtt", "s", self.min_rtt.unwrap_or(Dur::ZERO).as_secs_f64());
        row.push("inflight_longterm", "B", bytes(self.bounds.inflight_long));
        row.push("inflight_shortterm", "B", bytes(self.bounds.inflight_short));
        row.push("pacing_gain", "", self.gains().0.as_f64());
        row.push("ecn_alpha", "", self.bounds.ecn_alpha);
    }
}
