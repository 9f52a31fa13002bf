//! BBR version 3: BBR with bounds that losses (and marks) set.
//! Model: as `bbr`, with which it shares [`Core`], and: inflight_longterm, the flight that the path was seen to hold
//! with at most 2 % loss; bw_shortterm and inflight_shortterm, lowered by the factor 0.7 in rounds with loss between
//! probes. Each lost segment is judged by what was lost since it left. If a probe lost too much, the next one stops as
//! the flight reaches inflight_longterm; if that one is not followed by loss either, a full probe comes at once.
//!
//! ```text
//!   Startup (2.77) --no growth in 3 rounds, or much loss--> Drain (0.5) --in flight <= BDP, or 3 rounds--> DOWN
//!
//!   +----> UP (1.25) --no growth, loss > 2 %, or caution--> DOWN (0.9) --in flight <= BDP and headroom--+
//!   |                                                           |                                       v
//!   +--- REFILL (1), one round <--caution, and nothing lost-----+                                   CRUISE (1)
//!              ^---------------- 2 to 3 s, or as many rounds as Reno would need ------------------------+
//!
//!   any of them --RTprop not renewed for 5 s--> ProbeRTT (half a BDP for 200 ms) --> CRUISE (or Startup)
//! ```
//!
//! Units: windows in segments, rates in payload bit/s. Cost: O(1) an acknowledgement.

mod bounds;
mod loss;
mod probe_bw;
mod probe_rtt;
mod startup;
mod variant;
mod window;

use crate::bbr_core::{Ack, Aggregation, Core, Gain, LastTwo, MinRtt, Repair, WindowedMax, bw_sample};
use crate::random::SplitMix;
use crate::{
    AckEvent, CongestionControl, EcnUse, LossEvent, LossKind, LostSegment, RestartEvent, RtoEvent, SenderContext,
};
use bounds::Bounds;
use haltere_units::{Bytes, Dur, ParamError, Probe, Rate, Time};
use loss::Undo;
use probe_bw::Cycle;
use startup::FullPipe;
use variant::Rules;
pub use variant::Variant;

haltere_units::params! {
    /// BBR with bounds on its flight and rate that losses set (BBR version 3).
    ///
    /// Source: draft-ietf-ccwg-bbr-06 (Cardwell, Swett, Beshay); with `variant = "linux"`, the authors' code. The ECN
    /// response is from that code.
    ///
    /// Deviations: a cautious probe ends when the flight before an acknowledgement reaches inflight_longterm (the
    /// draft: C.inflight, section 5.3.3.9). After it the flight is always below a window that inflight_longterm bounds.
    /// The state that an undo restores is saved once per episode of loss, at its first loss. The draft saves again on
    /// entering recovery, when that loss may have lowered the bounds (section 5.6.4.4). A probe that ProbeRTT ends
    /// counts as a cycle of the bandwidth filter one round trip later, as section 5.5.6 says. By the pseudocode of
    /// section 5.3.3.9 it does not, and if round trips are so long that ProbeRTT ends every probe, the estimate never
    /// falls. A connection without SACK is judged by the same 2 %; the draft takes any loss of it as too much (section
    /// 5.5.10.2). From the authors' code: a loss that a tail probe repairs is not judged, and marks that cease bring no
    /// early probe.
    ///
    /// Known problems: it is a draft, and its constants still change.
    pub struct Params {
        /// Whose rules apply where the draft and the authors' code differ. The default is the draft.
        pub variant: Variant = Variant::Draft;
        /// True: a cycle of the bandwidth filter ends when the last samples of a probe have arrived (ack_phase, draft
        /// section 5.3.3.9). False: when the probe ends, as the working group discusses (pull request 5 of the draft's
        /// repository).
        pub ack_phase: bool = true;
        /// Age at which the least round-trip time is measured again with half the flight, above 0. The default is the
        /// draft's (section 2.13).
        pub probe_rtt_interval: Dur = Dur::from_secs(5), [above 0];
        /// How long the flight stays halved. The default is the draft's (section 2.13).
        pub probe_rtt_duration: Dur = Dur::from_ms(200);
        /// True: answer CE marks as DCTCP does, by a part of the marked share (Google's version 3). The draft has no
        /// ECN. Google's version uses it on paths that are known to mark as in a data centre, and not by default.
        pub ecn: bool = false;
        /// With `ecn`, above 0 and at most 1: the weight of the newest round in the marked share alpha. The default is
        /// Google's.
        pub ecn_alpha_gain: f64 = 1.0 / 16.0, [above 0 and at most 1];
        /// With `ecn`, from 0 to 1: inflight_shortterm is multiplied by 1 - `ecn_factor` alpha in a round with marks.
        /// The default is Google's.
        pub ecn_factor: f64 = 1.0 / 3.0, [from 0 to 1];
        /// With `ecn`, above 0 and at most 1: the marked share of a round that ends a probe, as too much loss does. The
        /// default is Google's.
        pub ecn_thresh: f64 = 0.5, [above 0 and at most 1];
        /// With `ecn`: rounds in a row with that share that end Startup; 0: marks never end it. The default is
        /// Google's.
        pub full_ecn_rounds: u32 = 2;
    }
}

// Draft §5.6.1: gains that do not depend on the variant.
const CWND_GAIN: Gain = Gain::percent(200);
const UP_GAINS: (Gain, Gain) = (Gain::percent(125), Gain::percent(225));
const PROBE_RTT_WINDOW: Gain = Gain::percent(50);

/// Rounds over which the aggregation is the largest (ExtraAckedFilterLen), and in Startup.
const EXTRA_ACKED_ROUNDS: u64 = 10;
const EXTRA_ACKED_ROUNDS_IN_STARTUP: u64 = 1;
/// MinRTTFilterLen: the age at which RTprop is renewed.
const MIN_RTT_WINDOW: Dur = Dur::from_secs(10);

/// The phase of the state machine.
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

/// BBRv3 for one sender.
#[derive(Debug, Clone)]
pub struct Bbr3 {
    params: Params,
    rules: &'static Rules,
    core: Core,
    /// The bandwidth is the largest of this probe's cycle and the one before (MaxBwFilterLen = 2).
    max_bw: LastTwo<Rate>,
    state: State,
    /// Bytes delivered in all (C.delivered).
    delivered: u64,
    /// The round in which Drain began.
    drain_start_round: u64,
    /// The least round-trip time of the last `probe_rtt_interval` (probe_rtt_min_delay).
    probe_min: MinRtt,

    aggregation: Aggregation,
    /// The window was not below its target when it was set last (try_fast_path).
    at_target: bool,
    /// The draft's filter of the aggregation.
    extra_acked: WindowedMax<u64>,

    full_pipe: FullPipe,
    bounds: Bounds,
    cycle: Cycle,
    undo: Undo,
    random: SplitMix,
}

impl Bbr3 {
    /// A sender at its initial window.
    pub fn new(params: &Params, sender: &SenderContext) -> Result<Bbr3, ParamError> {
        params.check()?;
        let rules = params.variant.rules();
        Ok(Bbr3 {
            params: params.clone(),
            rules,
            core: Core::new(sender, rules.startup),
            max_bw: LastTwo::default(),
            state: State::Startup,
            delivered: 0,
            drain_start_round: 0,
            probe_min: MinRtt::default(),
            aggregation: Aggregation::default(),
            at_target: false,
            extra_acked: WindowedMax::new(EXTRA_ACKED_ROUNDS_IN_STARTUP, 0),
            full_pipe: FullPipe::default(),
            bounds: Bounds::new(),
            cycle: Cycle::default(),
            undo: Undo::default(),
            random: SplitMix::new(sender.seed),
        })
    }

    /// Draft §5.5.10.3, BoundBWForModel: the bandwidth to send at.
    fn bw(&self) -> Rate {
        self.bounds.bw_short.map_or(self.max_bw.get(), |short| short.min(self.max_bw.get()))
    }

    fn gains(&self) -> (Gain, Gain) {
        match self.state {
            State::Startup => (self.rules.startup, CWND_GAIN),
            State::Drain => (self.rules.drain, CWND_GAIN),
            State::Down => (self.rules.down, CWND_GAIN),
            State::Cruise | State::Refill => (Gain::UNIT, CWND_GAIN),
            State::Up => UP_GAINS,
            State::ProbeRtt => (Gain::UNIT, self.rules.probe_rtt),
        }
    }

    /// The authors' rules hold, not the draft's.
    fn is_linux(&self) -> bool {
        self.params.variant == Variant::Linux
    }

    fn in_probe_bw(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// Draft §5.2.3, UpdateModelAndState.
    fn update_model(&mut self, ack: &Ack) {
        self.update_latest_delivery(ack);
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
        if let Some(bw) = ack.rate.and_then(|rate| bw_sample(&rate, self.max_bw.get())) {
            self.max_bw.update(bw);
        }
    }

    /// Draft §5.5.1, StartRound.
    fn start_round(&mut self) {
        self.core.start_round(self.delivered);
    }

    /// Draft §5.5.9, UpdateACKAggregation: what was acknowledged above the estimated rate.
    fn update_aggregation(&mut self, ack: &Ack) {
        let (bw, filled) = (self.bw(), self.core.filled);
        if self.is_linux() {
            if !self.is_spared(ack) {
                self.aggregation.update(ack, &self.core, bw, !filled);
            }
            return;
        }
        if ack.acked > 0 && ack.rate.is_some() {
            let excess = self.aggregation.excess(ack, &self.core, bw);
            self.extra_acked.set_window(if filled { EXTRA_ACKED_ROUNDS } else { EXTRA_ACKED_ROUNDS_IN_STARTUP });
            self.extra_acked.update(self.core.round, excess);
        }
    }
    /// The authors' code spares itself the work for a sample that the application limits, in a window at its target
    /// (bbr_run_fast_path).
    fn is_spared(&self, ack: &Ack) -> bool {
        let limited = ack.rate.is_some_and(|rate| rate.app_limited && rate.rate() < self.max_bw.get());
        limited && self.at_target && !self.bounds.loss_in_round
    }
    /// Room for aggregated acknowledgements, in segments. The authors' code bounds it to what the path carries in 100
    /// ms.
    fn aggregated(&self) -> u64 {
        if self.is_linux() { self.aggregation.cwnd(&self.core, self.bw()) } else { self.extra_acked.get() }
    }
}

impl CongestionControl for Bbr3 {
    fn on_established(&mut self, now: Time, rtt: Dur) {
        self.core.on_established(now, rtt, self.rules.startup);
        self.probe_min = self.core.min_rtt.clone();
    }
    fn on_ack(&mut self, ev: &AckEvent) {
        let ack = self.core.read(ev);
        self.delivered = ack.rate.map_or(self.delivered, |rate| rate.total_delivered);
        self.cycle.stamp(ev.now);
        self.update_model(&ack);
        self.core.on_srtt(ev.srtt, self.rules.startup);
        self.core.set_pacing_rate(self.bw(), self.gains().0);
        self.set_cwnd(&ack);
    }
    fn on_segment_lost(&mut self, lost: &LostSegment) {
        self.delivered = lost.total_delivered;
        self.handle_lost_segment(lost);
    }
    fn on_loss(&mut self, ev: &LossEvent) {
        // Draft §5.6.4.4, OnEnterFastRecovery. The draft has no ECN: an echo begins no recovery.
        if ev.kind == LossKind::Loss {
            self.enter_recovery();
            self.core.repair = Repair::Fast;
        }
    }
    fn on_rto(&mut self, ev: &RtoEvent) {
        // Draft §5.6.4.4, OnEnterRTO.
        self.enter_timeout(ev);
    }
    fn on_recovered(&mut self, _now: Time) {
        self.end_recovery();
    }
    fn on_spurious(&mut self, _now: Time) {
        self.handle_spurious_loss();
    }
    fn on_restart(&mut self, ev: &RestartEvent) {
        if !ev.app_limited {
            return;
        }
        self.core.idle_restart = true;
        self.aggregation.restart(ev.now);
        if self.in_probe_bw() {
            self.core.set_pacing_rate(self.bw(), Gain::UNIT);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(ev.now);
        }
    }
    fn cwnd(&self) -> Bytes {
        Bytes::new(self.core.cwnd * self.core.mss)
    }
    /// BBR has no slow-start threshold. After Startup it is the least one: in slow start a window that is half used
    /// counts as limiting, and a probe would raise inflight_longterm without ever reaching it.
    fn ssthresh(&self) -> Bytes {
        if self.core.filled { Bytes::new(2 * self.core.mss) } else { Bytes::MAX }
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.core.pacing_rate)
    }
    fn owns_recovery(&self) -> bool {
        true
    }
    fn notes_starvation(&self) -> bool {
        self.is_linux()
    }
    fn ecn(&self) -> EcnUse {
        if self.params.ecn { EcnUse::PerPacket } else { EcnUse::Classic }
    }
    fn probe(&self, row: &mut Probe) {
        let bytes = |segments: Option<u64>| segments.map_or(f64::INFINITY, |s| (s * self.core.mss) as f64);
        row.push("state", "startup|drain|down|cruise|refill|up|probe_rtt", f64::from(self.state as u8));
        row.push("bw", "bit/s", self.bw().as_bps_f64());
        row.push("max_bw", "bit/s", self.max_bw.get().as_bps_f64());
        row.push("min_rtt", "s", self.core.min_rtt.value.unwrap_or(Dur::ZERO).as_secs_f64());
        row.push("inflight_longterm", "B", bytes(self.bounds.inflight_long));
        row.push("inflight_shortterm", "B", bytes(self.bounds.inflight_short));
        row.push("pacing_gain", "", self.gains().0.as_f64());
        row.push("ecn_alpha", "", self.bounds.ecn_alpha);
    }
    fn state(&self, row: &mut Probe) {
        self.probe(row);
        row.push("cwnd_gain", "", self.gains().1.as_f64());
        row.push("bw_shortterm", "bit/s", self.bounds.bw_short.map_or(f64::INFINITY, Rate::as_bps_f64));
        row.push("extra_acked", "B", (self.aggregated() * self.core.mss) as f64);
        row.push("full_bw_reached", "no|yes", f64::from(u8::from(self.core.filled)));
        row.push("full_bw_count", "", f64::from(self.full_pipe.growth_rounds()));
        row.push("bdp", "B", (self.bdp(Gain::UNIT) * self.core.mss) as f64);
        row.push("rounds", "", self.core.round as f64);
    }
}

#[cfg(test)]
mod tests;
