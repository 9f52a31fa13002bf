//! BBR: the window and the rate follow a model of the path, not its losses.
//! Model: BtlBw = max of the delivery rate over 10 rounds; RTprop = min of the RTT over 10 s; pacing rate = gain BtlBw;
//! cwnd = gain BtlBw RTprop + the excess of aggregated acknowledgements. [`Core`] holds what version 3 shares.
//!
//! ```text
//!   Startup (2.89) --bandwidth grew < 25 % in 3 rounds--> Drain (1/2.89) --in flight <= BDP--> ProbeBW
//!      ^                                                                                       (1.25, .75, 1 x 6)
//!      |                       RTprop not renewed for 10 s                                        |  ^
//!      +------ pipe not yet full ------ ProbeRTT (4 segments for 200 ms) <------------------------+  |
//!                                                 +-------------------------------------------------+
//! ```
//!
//! Units: windows in segments, rates in payload bit/s. Cost: O(1) an acknowledgement.

mod policer;
mod probe_bw;

use crate::bbr_core::{Ack, Aggregation, Core, Gain, Growth, MIN_CWND, WindowedMax, bw_sample};
use crate::{AckEvent, CongestionControl, LossEvent, RestartEvent, RtoEvent, SenderContext};
use haltere_units::{Bytes, Dur, ParamError, Probe, Rate, Time};
use policer::Policer;
use probe_bw::Cycle;

haltere_units::params! {
    /// The window and the rate follow a model of the path, not its losses (BBR version 1, as in Linux).
    ///
    /// The model is the largest delivery rate of 10 rounds and the least round-trip time of 10 s.
    ///
    /// Source: Cardwell, Cheng, Gunn, Yeganeh and Jacobson, "BBR: congestion-based congestion control", ACM Queue
    /// 14(5), 2016. draft-cardwell-iccrg-bbr-congestion-control-00. Linux's version, which adds aggregation and
    /// policers.
    ///
    /// Deviations: two from Linux, neither of which shows in results. Delivered bytes are divided by nanoseconds
    /// exactly. A lone segment whose acknowledgement may be delayed counts for RTprop if the old value has expired.
    /// Linux itself differs from the paper: it paces 1 % below the model, keeps room for three bursts of segments in
    /// the window, conserves packets in the first round of recovery, and adds the excess of aggregated acknowledgements
    /// to the window.
    ///
    /// Known problems: over shallow buffers several flows lose much and displace loss-based flows. It ignores ECN.
    pub struct Params {
        /// Age at which the least round-trip time is measured again with a drained queue, above 0. The default is
        /// Linux's.
        pub probe_rtt_interval: Dur = Dur::from_secs(10), [above 0];
        /// How long the window stays at four segments for that. The default is Linux's.
        pub probe_rtt_duration: Dur = Dur::from_ms(200);
        /// True: look for a token-bucket policer, and then send at the rate that it passes (long-term bandwidth), as
        /// Linux.
        pub detect_policer: bool = true;
    }
}

/// Rounds over which the bandwidth is the largest sample: a gain cycle and two.
const BW_WINDOW_ROUNDS: u64 = 10;
/// 2 / ln 2: the least gain that doubles the rate every round; rounded up, since less would not double.
const HIGH_GAIN: Gain = Gain::ratio(739, 256);
/// Its inverse drains in one round what Startup queued.
const DRAIN_GAIN: Gain = Gain::ratio(1000, 2885);
/// Room for delayed and aggregated acknowledgements.
const CWND_GAIN: Gain = Gain::ratio(2, 1);
/// The phase of the state machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// BBR for one sender.
#[derive(Debug, Clone)]
pub struct Bbr {
    params: Params,
    core: Core,
    max_bw: WindowedMax<Rate>,
    mode: Mode,
    pacing_gain: Gain,
    cwnd_gain: Gain,
    ssthresh: u64,
    growth: Growth,
    cycle: Cycle,
    policer: Policer,
    aggregation: Aggregation,
}

impl Bbr {
    /// A sender at its initial window.
    pub fn new(params: &Params, sender: &SenderContext) -> Result<Bbr, ParamError> {
        params.check()?;
        Ok(Bbr {
            params: params.clone(),
            core: Core::new(sender, HIGH_GAIN),
            max_bw: WindowedMax::new(BW_WINDOW_ROUNDS, Rate::ZERO),
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            ssthresh: u64::MAX,
            growth: Growth::default(),
            cycle: Cycle::new(sender.seed),
            policer: Policer::default(),
            aggregation: Aggregation::default(),
        })
    }

    /// The bandwidth to send at: that of the policer if there is one.
    fn bw(&self) -> Rate {
        self.policer.rate().unwrap_or_else(|| self.max_bw.get())
    }

    fn update_model(&mut self, ack: &Ack) {
        self.update_bw(ack);
        self.aggregation.update(ack, &self.core, self.bw(), false);
        self.update_cycle(ack);
        self.check_full_pipe(ack);
        self.check_drain(ack);
        self.update_min_rtt(ack);
        self.update_gains();
    }

    /// Rounds by delivery, and the bandwidth filter.
    fn update_bw(&mut self, ack: &Ack) {
        self.core.count_round(ack);
        if let Some(rate) = ack.rate {
            self.sample_policer(ack, &rate);
            if let Some(bw) = bw_sample(&rate, self.max_bw.get()) {
                self.max_bw.update(self.core.round, bw);
            }
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

    /// The pipe is full when the bandwidth has grown by less than a quarter in three rounds: one for a receive window
    /// that grows, one for a sample that reflects it, one for random variation.
    fn check_full_pipe(&mut self, ack: &Ack) {
        if self.core.filled || !self.core.round_start || ack.rate.is_some_and(|rate| rate.app_limited) {
            return;
        }
        self.core.filled = self.growth.has_ended(self.max_bw.get());
    }

    /// From Startup to Drain when the pipe is full; from Drain on when in flight is at most the estimated BDP.
    fn check_drain(&mut self, ack: &Ack) {
        let bdp = self.inflight(self.max_bw.get(), Gain::UNIT);
        if self.mode == Mode::Startup && self.core.filled {
            self.mode = Mode::Drain;
            self.ssthresh = bdp;
        }
        if self.mode == Mode::Drain && self.in_net_at_departure(ack, ack.in_flight) <= bdp {
            self.enter_probe_bw(ack.ev.now);
        }
    }

    /// When no RTT as low as RTprop was seen for ten seconds, the window goes to four segments for 200 ms and at least
    /// one round. All flows of a bottleneck do so together once they have seen the same empty queue.
    fn update_min_rtt(&mut self, ack: &Ack) {
        let expired = self.core.min_rtt.update(ack.ev.now, ack.ev.rtt, self.params.probe_rtt_interval);
        // After a pause the flow has no queue of its own: the first samples will do.
        if expired && !self.core.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.core.start_probe_rtt();
        }
        if self.mode == Mode::ProbeRtt && self.core.step_probe_rtt(ack, MIN_CWND, self.params.probe_rtt_duration) {
            self.check_probe_rtt_done(ack.ev.now);
        }
        self.core.end_restart(ack);
    }

    fn check_probe_rtt_done(&mut self, now: Time) {
        if !self.core.probe_rtt_is_over(now) {
            return;
        }
        self.core.min_rtt.stamp = now;
        self.core.restore_cwnd();
        if self.core.filled {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// Room for whole bursts: one at the sender, one at the receiver, one on the path.
    fn with_bursts(&self, cwnd: u64) -> u64 {
        // Even, because delayed acknowledgements take two. Two more let a small window probe at all.
        let cwnd = (cwnd + 3 * self.core.burst()).next_multiple_of(2);
        if self.mode == Mode::ProbeBw && self.cycle.probes() { cwnd + 2 } else { cwnd }
    }

    /// The inflight target with this gain.
    fn inflight(&self, bw: Rate, gain: Gain) -> u64 {
        self.with_bursts(self.core.bdp(bw, gain))
    }

    /// The expected bytes in flight when pacing releases the next segment.
    fn in_net_at_departure(&self, ack: &Ack, in_flight: u64) -> u64 {
        let burst = if self.pacing_gain > Gain::UNIT { self.core.burst() } else { 0 };
        self.core.in_net_at_departure(ack, in_flight, self.bw(), burst)
    }

    fn set_cwnd(&mut self, ack: &Ack, bw: Rate) {
        self.core.follow_repair(ack, self.mode == Mode::ProbeRtt);
        let aggregated = if self.core.filled { self.aggregation.cwnd(&self.core, self.bw()) } else { 0 };
        let target = self.with_bursts(self.core.bdp(bw, self.cwnd_gain) + aggregated);
        self.core.approach(ack, target, self.core.delivered < self.core.initial);
        if self.mode == Mode::ProbeRtt {
            self.core.cwnd = self.core.cwnd.min(MIN_CWND);
        }
    }

    /// Remembers the window, to restore it after recovery or ProbeRTT.
    fn save_cwnd(&mut self) {
        self.core.save_cwnd(self.mode == Mode::ProbeRtt);
    }
}

impl CongestionControl for Bbr {
    fn on_established(&mut self, now: Time, rtt: Dur) {
        self.core.on_established(now, rtt, HIGH_GAIN);
    }
    fn on_ack(&mut self, ev: &AckEvent) {
        let ack = self.core.read(ev);
        self.policer.lost += ack.lost;
        self.update_model(&ack);
        let bw = self.bw();
        self.core.on_srtt(ev.srtt, HIGH_GAIN);
        self.core.set_pacing_rate(bw, self.pacing_gain);
        self.set_cwnd(&ack, bw);
    }
    fn on_loss(&mut self, ev: &LossEvent) {
        self.core.on_loss(ev);
        self.save_cwnd();
    }
    fn on_rto(&mut self, ev: &RtoEvent) {
        self.save_cwnd();
        self.growth = Growth::default();
        self.core.round_start = true;
        self.timeout_in_policer(ev.now);
        self.core.on_rto(ev);
    }
    fn on_spurious(&mut self, _now: Time) {
        // The slow-down may have hidden that there is more bandwidth: look again.
        self.growth = Growth::default();
        self.policer.reset();
    }
    fn on_restart(&mut self, ev: &RestartEvent) {
        if !ev.app_limited {
            return;
        }
        self.core.idle_restart = true;
        self.aggregation.restart(ev.now);
        match self.mode {
            // Pace at the estimated rate: the pipe is empty, there is nothing to probe or drain.
            Mode::ProbeBw => self.core.set_pacing_rate(self.bw(), Gain::UNIT),
            Mode::ProbeRtt => self.check_probe_rtt_done(ev.now),
            Mode::Startup | Mode::Drain => {}
        }
    }
    fn cwnd(&self) -> Bytes {
        Bytes::new(self.core.cwnd * self.core.mss)
    }
    fn ssthresh(&self) -> Bytes {
        if self.ssthresh == u64::MAX { Bytes::MAX } else { Bytes::new(self.ssthresh * self.core.mss) }
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.core.pacing_rate)
    }
    fn owns_recovery(&self) -> bool {
        true
    }
    fn probe(&self, row: &mut Probe) {
        row.push("state", "startup|drain|probe_bw|probe_rtt", f64::from(self.mode as u8));
        row.push("bw", "bit/s", self.bw().as_bps_f64());
        row.push("min_rtt", "s", self.core.min_rtt.value.unwrap_or(Dur::ZERO).as_secs_f64());
        row.push("pacing_gain", "", self.pacing_gain.as_f64());
        row.push("cwnd_gain", "", self.cwnd_gain.as_f64());
        row.push("extra_acked", "B", (self.aggregation.extra_acked() * self.core.mss) as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bbr_core::Repair;
    use crate::{LossKind, RateSample};

    const MSS: u64 = 1448;

    fn bbr() -> Bbr {
        let sender =
            SenderContext { mss: Bytes::new(MSS), initial_window: Bytes::new(10 * MSS), seed: 1, ..Default::default() };
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
        assert!(!p.bbr.core.filled);
        p.step(10, 0, false);
        assert!(p.bbr.core.filled);
        assert_ne!(p.bbr.mode, Mode::Startup);
    }

    #[test]
    fn growth_by_a_quarter_begins_the_count_anew() {
        let mut p = Path::new();
        for mbps in [8, 8, 8, 10, 10, 10] {
            p.step(mbps, 0, false);
        }
        assert!(!p.bbr.core.filled);
    }

    /// Recovery begins with what is in flight and delivered, and ends with the window from before.
    #[test]
    fn recovery_conserves_packets_for_a_round_and_restores_the_window() {
        let mut p = Path::new();
        (0..10).for_each(|_| p.step(10, 0, false));
        let before = p.bbr.core.cwnd;
        assert!(before > 22, "{before}");
        p.step(10, 2, true);
        p.bbr.on_loss(&LossEvent::at(p.now, LossKind::Loss));
        assert_eq!(p.bbr.core.cwnd, 10 + 10, "in flight and delivered");
        p.step(10, 0, false);
        assert!(
            p.bbr.core.cwnd >= before.min(p.bbr.core.prior_cwnd) && p.bbr.core.prior_cwnd == before,
            "{}",
            p.bbr.core.cwnd
        );
    }

    #[test]
    fn an_ecn_reduction_is_none() {
        let mut p = Path::new();
        (0..10).for_each(|_| p.step(10, 0, false));
        let before = p.bbr.core.cwnd;
        p.bbr.on_loss(&LossEvent::at(p.now, LossKind::Ecn));
        p.step(10, 0, true);
        assert!(p.bbr.core.cwnd >= before && p.bbr.core.repair == Repair::None);
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
}
