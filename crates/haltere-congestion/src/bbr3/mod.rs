//! BBR version 3: BBR with bounds that losses (and marks) set.
//! Source, deviations and known problems: see [`Params`].
//! Model: as `bbr`, with which it shares [`Core`], and: inflight_longterm, the flight that the path was seen to hold
//! with at most 2 % loss; bw_shortterm and inflight_shortterm, lowered by the factor 0.7 in rounds with loss between
//! probes.
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
//! Units: windows in segments, rates in payload bit/s. Cost: O(1) an acknowledgement.

mod bounds;
mod drain;
mod probe_bw;
mod probe_rtt;
mod startup;
mod window;

use crate::bbr_core::{Ack, Core, Gain, MinRtt, WindowedMax};
use crate::random::SplitMix;
use crate::{AckEvent, CongestionControl, EcnUse, LossEvent, RestartEvent, RtoEvent, SenderContext};
use bounds::Bounds;
use haltere_units::{Bytes, Dur, ParamError, Probe, Rate, Time};
use probe_bw::Cycle;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use startup::FullPipe;

/// BBR with bounds on its flight and rate that losses set (BBR version 3).
///
/// Source: draft-ietf-ccwg-bbr (Cardwell, Swett, Beshay). The ECN response is from Google's published version 3.
///
/// Deviations: loss rates are judged once per acknowledgement (rate sample). The draft judges each lost segment and so
/// finds the flight at the loss more exactly (section 5.5.10.2). A burst of loss is one acknowledgement with losses;
/// the draft counts gaps (section 5.3.1.3).
///
/// Known problems: it is a draft, and its constants still change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Age at which the least round-trip time is measured again with half the flight, above 0. The default is the
    /// draft's (section 2.13).
    pub probe_rtt_interval: Dur,
    /// How long the flight stays halved. The default is the draft's (section 2.13).
    pub probe_rtt_duration: Dur,
    /// True: answer CE marks as DCTCP does, by a third of the marked share (Google's version 3). The draft has no ECN.
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

/// The control.
#[derive(Debug, Clone)]
pub struct Bbr3 {
    params: Params,
    core: Core,
    state: State,
    /// ProbeBW cycles so far.
    cycle_count: u64,
    /// The least round-trip time of the last `probe_rtt_interval` (probe_rtt_min_delay).
    probe_min: MinRtt,

    extra_acked: WindowedMax<u64>,
    extra_acked_start: Time,
    extra_acked_delivered: u64,

    full_pipe: FullPipe,
    bounds: Bounds,
    cycle: Cycle,
    random: SplitMix,
}

impl Bbr3 {
    /// A sender at its initial window.
    pub fn new(params: &Params, sender: &SenderContext) -> Result<Bbr3, ParamError> {
        if params.probe_rtt_interval.is_zero() {
            let error = ParamError::new("probe_rtt_interval", "above 0", params.probe_rtt_interval);
            return Err(error.default_is(Params::default().probe_rtt_interval));
        }
        Ok(Bbr3 {
            params: params.clone(),
            core: Core::new(sender, MAX_BW_CYCLES, STARTUP_GAINS.0),
            state: State::Startup,
            cycle_count: 0,
            probe_min: MinRtt::default(),
            extra_acked: WindowedMax::new(EXTRA_ACKED_ROUNDS, 0),
            extra_acked_start: Time::ZERO,
            extra_acked_delivered: 0,
            full_pipe: FullPipe::default(),
            bounds: Bounds::default(),
            cycle: Cycle::default(),
            random: SplitMix::new(sender.seed),
        })
    }

    /// Draft §5.5.6: the bandwidth to send at.
    fn bw(&self) -> Rate {
        self.bounds.bw_short.map_or(self.core.max_bw.get(), |short| short.min(self.core.max_bw.get()))
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
        self.core.count_round(ack);
        self.cycle.rounds += u64::from(self.core.round_start);
        if let Some(rate) = ack.rate {
            self.core.sample_bw(self.cycle_count, &rate);
        }
    }

    /// Draft §5.5.9: what was acknowledged above the estimated rate.
    fn update_aggregation(&mut self, ack: &Ack) {
        if ack.acked == 0 || ack.rate.is_none() {
            return;
        }
        let span = ack.ev.now.since(self.extra_acked_start);
        let mut expected = self.bw().bytes_in(span).as_u64() / self.core.mss;
        if self.extra_acked_delivered <= expected {
            self.extra_acked_delivered = 0;
            self.extra_acked_start = ack.ev.now;
            expected = 0;
        }
        self.extra_acked_delivered += ack.acked;
        let extra = self.extra_acked_delivered.saturating_sub(expected).min(self.core.cwnd);
        self.extra_acked.update(self.core.round, extra);
    }
}

impl CongestionControl for Bbr3 {
    fn on_established(&mut self, now: Time, rtt: Dur) {
        self.core.on_established(now, rtt, STARTUP_GAINS.0);
        self.probe_min = self.core.min_rtt.clone();
    }
    fn on_ack(&mut self, ev: &AckEvent) {
        let ack = self.core.read(ev);
        self.update_model(&ack);
        self.core.on_srtt(ev.srtt, STARTUP_GAINS.0);
        self.core.set_pacing_rate(self.bw(), self.gains().0);
        self.set_cwnd(&ack);
    }
    fn on_loss(&mut self, ev: &LossEvent) {
        self.core.on_loss(ev);
        self.save_cwnd();
    }
    fn on_rto(&mut self, ev: &RtoEvent) {
        self.save_cwnd();
        self.bounds.loss_in_round = true;
        self.full_pipe.forget();
        self.core.on_rto(ev);
    }
    fn on_spurious(&mut self, _now: Time) {
        // Draft §5.5.10.3 (BBRHandleSpuriousLossDetection): put back what the loss lowered.
        self.bounds.loss_in_round = false;
        self.full_pipe.forget();
        self.bounds.undo();
    }
    fn on_restart(&mut self, ev: &RestartEvent) {
        self.core.idle_restart = true;
        self.extra_acked_start = ev.now;
        self.extra_acked_delivered = 0;
        if self.in_probe_bw() {
            self.core.set_pacing_rate(self.bw(), Gain::UNIT);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(ev.now, None);
        }
    }
    fn cwnd(&self) -> Bytes {
        Bytes::new(self.core.cwnd * self.core.mss)
    }
    /// BBR has no slow-start threshold.
    fn ssthresh(&self) -> Bytes {
        Bytes::MAX
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.core.pacing_rate)
    }
    fn owns_recovery(&self) -> bool {
        true
    }
    fn ecn(&self) -> EcnUse {
        if self.params.ecn { EcnUse::PerPacket } else { EcnUse::Classic }
    }
    fn probe(&self, row: &mut Probe) {
        let bytes = |segments: Option<u64>| segments.map_or(f64::INFINITY, |s| (s * self.core.mss) as f64);
        row.push("state", "", f64::from(self.state as u8));
        row.push("bw", "bit/s", self.bw().as_bps_f64());
        row.push("max_bw", "bit/s", self.core.max_bw.get().as_bps_f64());
        row.push("min_rtt", "s", self.core.min_rtt.value.unwrap_or(Dur::ZERO).as_secs_f64());
        row.push("inflight_longterm", "B", bytes(self.bounds.inflight_long));
        row.push("inflight_shortterm", "B", bytes(self.bounds.inflight_short));
        row.push("pacing_gain", "", self.gains().0.as_f64());
        row.push("ecn_alpha", "", self.bounds.ecn_alpha);
    }
}
