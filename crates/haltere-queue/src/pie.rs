//! PIE: proportional integral controller enhanced.
//! Model: every `tupdate`, with d the queueing delay, `p <- p + alpha (d - target) + beta (d - d_old)`. Alpha and beta
//! are scaled down while p is small. Each arrival is dropped (or marked) with probability p. Derandomisation spreads
//! the drops: never before the sum of p since the last drop is 0.85, always when it is 8.5.
//! Units: time ns, queue bytes. Cost: O(1) a packet, and one step a `tupdate`.

use crate::{Backlog, DropReason, Fate, LinkContext, MarkReason, Pkt, Qdisc, Store, mark};
use haltere_units::{Dur, ParamError, Prob, Probe, Size, Time};

/// Bytes that one measurement of the departure rate needs (RFC 8033 section 4.3: DQ_THRESHOLD, 2^14).
const DQ_THRESHOLD: u64 = 16_384;
/// From this delay on the probability rises by 2 % more each update (RFC 8033 section 5.5).
const HIGH_DELAY: f64 = 0.25;
/// An update never adds more than this once p is at least 0.1 (RFC 8033 section 5.5).
const MAX_STEP: f64 = 0.02;
/// What an idle update leaves of p (RFC 8033 section 4.2: "98%"; Linux 1 - 1/64).
const IDLE_DECAY: f64 = 1.0 - 1.0 / 64.0;

haltere_units::params! {
    /// Drops or marks arrivals with a probability that a controller sets to hold the delay at `target`.
    ///
    /// Source: RFC 8033.
    ///
    /// Deviations: these are Linux's. The delay is the waiting time of the last packet sent, which RFC 8033 section 5.2
    /// allows; `dq_rate_estimator` gives the RFC's other way. The early drop uses the latest delay, the RFC's the one
    /// of the last update. The burst allowance runs down with the time between departures, not with updates. A Linux
    /// kernel of 250 Hz has `tupdate = "20ms"`, `first_update = "500ms"` and `max_probability = 256`.
    ///
    /// Known problems: after an idle time the delay is that of the last packet sent, until the next one leaves.
    pub struct Params: flattens {
        /// Packet or byte limit, above 0. A packet that arrives at a full queue is dropped. The default is Linux's
        /// (tc-pie(8)).
        pub limit: Size = Size::Packets(1000);
        /// The controller of the probability.
        #[serde(flatten)]
        pub controller: Controller = Controller::default();
        /// True: the delay is the backlog over an estimate of the departure rate (RFC 8033 section 4.3). False: the
        /// waiting time of the last packet sent, as in Linux.
        pub dq_rate_estimator: bool = false;
        /// True: drops are spread by derandomisation (RFC 8033 section 5.4), as in Linux.
        pub derandomisation: bool = true;
    }
    /// PIE's controller, which each queue of `fq_pie` has, too.
    #[derive(Copy)]
    pub struct Controller: part {
        /// Delay to hold, above 0. The default is RFC 8033's QDELAY_REF (section 4.1).
        pub target: Dur = Dur::from_ms(15), [above 0];
        /// Time between two updates of the probability, above 0. The default is RFC 8033's T_UPDATE (section 4.2). A
        /// Linux kernel with HZ=250 rounds it up to 16 ms; the aqm-lab study of ns-3 has 30 ms.
        pub tupdate: Dur = Dur::from_ms(15), [above 0];
        /// Time before the first update, above 0. Left out: `tupdate`. A Linux kernel takes 0.5 s from the making of
        /// the queue.
        pub first_update: Option<Dur> = None;
        /// Gain on the distance from `target`, in 1/s, from 0 to 2. The default is RFC 8033's (section 4.2); tc-pie(8)
        /// writes sixteenths.
        pub alpha: f64 = 0.125, [from 0 to 2] "tc's numbers are in sixteenths";
        /// Gain on the change of the delay, in 1/s, from 0 to 2. The default is RFC 8033's (section 4.2); tc-pie(8)
        /// writes sixteenths.
        pub beta: f64 = 1.25, [from 0 to 2] "tc's numbers are in sixteenths";
        /// How long a burst after an uncongested time passes unhindered. The default is RFC 8033's MAX_BURST (section
        /// 4.4).
        pub max_burst: Dur = Dur::from_ms(150);
        /// True: mark ECN-capable packets instead of dropping them while p is at most `ecn_threshold`.
        pub ecn: bool = false;
        /// Above this p even ECN-capable packets are dropped. The default is RFC 8033's MARK_ECNTH (section 5.1), and
        /// Linux's `ecn_prob` (tc-fq_pie(8)).
        pub ecn_threshold: Prob = Prob::of(0.1);
        /// The probability grows no further than this, from 1 to 256. The default is RFC 8033's (section 4.2). In Linux
        /// 1 is 2^56 of a counter of 64 bits, so the highest value is 256. After some seconds of high delay p is then
        /// above 1, and all packets over two in the queue are dropped until it is below 1 again.
        pub max_probability: f64 = 1.0, [from 1 to 256];
        /// True: a packet's probability is scaled by its length over a full packet's.
        pub bytemode: bool = false;
    }
}

#[derive(Debug, Clone)]
struct Vars {
    /// The probability p of a drop.
    drop_prob: f64,
    /// The sum of p since the last drop.
    accu_prob: f64,
    /// The delay: at the last departure, or, with the rate estimator, at the last update.
    qdelay: Dur,
    /// The delay at the update before.
    qdelay_old: Dur,
    /// How long a burst may still pass.
    burst_allowance: Dur,
    /// The last departure, or, with the rate estimator, the start of the measurement.
    dq_tstamp: Option<Time>,
    /// Bytes sent in the measurement that runs.
    dq_count: Option<u64>,
    /// The departure rate in byte/s; 0 before the first measurement.
    avg_dq_rate: f64,
    /// When p is updated next.
    update_at: Time,
}

/// A queue under PIE.
#[derive(Debug, Clone)]
pub struct Pie<P> {
    params: Params,
    /// A full packet in bytes.
    mtu: u64,
    vars: Vars,
    store: Store<P>,
}

impl<P: Pkt> Pie<P> {
    /// A queue of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        let given = &params.controller;
        given.check()?;
        let first_update = given.first_update.unwrap_or(given.tupdate);
        if first_update.is_zero() {
            return Err(ParamError::new("first_update", "above 0", first_update).default_is(given.tupdate));
        }
        let vars = Vars {
            drop_prob: 0.0,
            accu_prob: 0.0,
            qdelay: Dur::ZERO,
            qdelay_old: Dur::ZERO,
            burst_allowance: given.max_burst,
            dq_tstamp: None,
            dq_count: None,
            avg_dq_rate: 0.0,
            update_at: Time::ZERO + first_update,
        };
        let store = Store::new(link.resolve(params.limit))?;
        Ok(Pie { params: params.clone(), mtu: link.packet.as_u64(), vars, store })
    }

    /// RFC 8033 §5.1 and §5.4: true if the packet is to be dropped or marked.
    #[inline]
    fn drop_early(&mut self, len: u32, fate: &mut impl Fate<P>) -> bool {
        let vars = &mut self.vars;
        if !vars.burst_allowance.is_zero()
            || (vars.qdelay < self.params.controller.target / 2 && vars.drop_prob < 0.2)
            || self.store.backlog().bytes < 2 * self.mtu
        {
            return false;
        }
        let len = u64::from(len);
        let scale = if self.params.controller.bytemode && len <= self.mtu { len as f64 / self.mtu as f64 } else { 1.0 };
        let p = vars.drop_prob * scale;
        if !self.params.derandomisation {
            return p > 0.0 && fate.uniform() < p;
        }
        vars.accu_prob = if p == 0.0 { 0.0 } else { vars.accu_prob + p };
        if vars.accu_prob < 0.85 {
            return false;
        }
        if vars.accu_prob >= 8.5 {
            return true;
        }
        let hit = fate.uniform() < p;
        if hit {
            vars.accu_prob = 0.0;
        }
        hit
    }

    /// The delay by timestamp, and the burst allowance.
    #[inline]
    fn on_departure(&mut self, now: Time, waited: Dur, left: u64) {
        let vars = &mut self.vars;
        vars.qdelay = if left == 0 { Dur::ZERO } else { waited };
        if let Some(before) = vars.dq_tstamp.replace(now) {
            vars.burst_allowance = vars.burst_allowance.saturating_sub(now.since(before));
        }
    }

    /// RFC 8033 §5.2: the departure rate, measured over DQ_THRESHOLD bytes while at least that much waits.
    fn measure_rate(&mut self, now: Time, len: u32, left: u64) {
        let vars = &mut self.vars;
        if vars.dq_count.is_none() && left >= DQ_THRESHOLD {
            (vars.dq_tstamp, vars.dq_count) = (Some(now), Some(0));
        }
        let (Some(start), Some(count)) = (vars.dq_tstamp, vars.dq_count) else { return };
        let count = count + u64::from(len);
        vars.dq_count = Some(count);
        let took = now.since(start);
        if count < DQ_THRESHOLD || took.is_zero() {
            return;
        }
        let rate = count as f64 / took.as_secs_f64();
        vars.avg_dq_rate = if vars.avg_dq_rate == 0.0 { rate } else { vars.avg_dq_rate * 0.875 + rate * 0.125 };
        (vars.dq_tstamp, vars.dq_count) = (Some(now), (left >= DQ_THRESHOLD).then_some(0));
        vars.burst_allowance = vars.burst_allowance.saturating_sub(took);
    }

    pub(crate) fn probability(&self) -> f64 {
        self.vars.drop_prob
    }

    /// True if nothing waits and an update changes nothing.
    pub(crate) fn is_at_rest(&self) -> bool {
        let vars = &self.vars;
        let quiet = vars.drop_prob == 0.0 && vars.qdelay.is_zero() && vars.qdelay_old.is_zero();
        quiet && self.store.is_empty() && vars.burst_allowance == self.params.controller.max_burst
    }

    /// RFC 8033 §4.2: one step of the controller.
    pub(crate) fn update(&mut self) {
        let backlog = self.store.backlog().bytes;
        let vars = &mut self.vars;
        if self.params.dq_rate_estimator {
            vars.qdelay_old = vars.qdelay;
            let known = vars.avg_dq_rate > 0.0;
            vars.qdelay = if known { Dur::from_secs_f64(backlog as f64 / vars.avg_dq_rate) } else { Dur::ZERO };
        }
        let (delay, old) = (vars.qdelay.as_secs_f64(), vars.qdelay_old.as_secs_f64());
        let scale = auto_tune(vars.drop_prob);
        let mut step = scale
            * (self.params.controller.alpha * (delay - self.params.controller.target.as_secs_f64())
                + self.params.controller.beta * (delay - old));
        if vars.drop_prob >= 0.1 {
            step = step.min(MAX_STEP);
        }
        if delay > HIGH_DELAY {
            step += MAX_STEP;
        }
        vars.drop_prob = (vars.drop_prob + step).clamp(0.0, self.params.controller.max_probability);
        // Linux: a delay of zero over a queue that is not empty shows only that it is short.
        if vars.qdelay.is_zero() && vars.qdelay_old.is_zero() && backlog == 0 {
            vars.drop_prob *= IDLE_DECAY;
        }
        let low = self.params.controller.target / 2;
        let measured = !self.params.dq_rate_estimator || vars.avg_dq_rate > 0.0;
        if vars.qdelay < low && vars.qdelay_old < low && vars.drop_prob == 0.0 && measured {
            // RFC 8033 §4.4: uncongested, so the next burst may pass again.
            vars.burst_allowance = self.params.controller.max_burst;
            (vars.accu_prob, vars.avg_dq_rate) = (0.0, 0.0);
            (vars.dq_tstamp, vars.dq_count) = (None, None);
        }
        if !self.params.dq_rate_estimator {
            vars.qdelay_old = vars.qdelay;
        }
    }
}

/// RFC 8033 §4.2: how far alpha and beta are scaled down for a small p.
fn auto_tune(p: f64) -> f64 {
    const STEPS: [(f64, f64); 6] =
        [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
    STEPS.iter().find(|(bound, _)| p < *bound).map_or(1.0, |(_, divisor)| 1.0 / divisor)
}

impl<P: Pkt> Qdisc<P> for Pie<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, mut pkt: P, fate: &mut impl Fate<P>) {
        let reason = if !self.store.fits(pkt.len()) {
            DropReason::Overlimit
        } else if !self.drop_early(pkt.len(), fate)
            || (self.params.controller.ecn
                && self.vars.drop_prob <= self.params.controller.ecn_threshold.as_f64()
                && mark(&mut pkt, MarkReason::Congestion, fate))
        {
            return self.store.append(now, pkt);
        } else {
            DropReason::Congestion
        };
        self.vars.accu_prob = 0.0;
        fate.dropped(pkt, reason);
    }
    #[inline]
    fn dequeue(&mut self, now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        let (at, pkt) = self.store.pop()?;
        let left = self.store.backlog().bytes;
        if self.params.dq_rate_estimator {
            self.measure_rate(now, pkt.len(), left);
        } else {
            self.on_departure(now, now.since(at), left);
        }
        Some(pkt)
    }
    #[inline]
    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }
    fn next_timer(&self) -> Option<Time> {
        Some(self.vars.update_at)
    }
    fn on_timer(&mut self, now: Time) {
        if now >= self.vars.update_at {
            self.update();
            self.vars.update_at = now + self.params.controller.tupdate;
        }
    }
    fn probe(&self, row: &mut Probe) {
        row.push("drop_prob", "", self.vars.drop_prob);
        row.push("qdelay", "s", self.vars.qdelay.as_secs_f64());
        row.push("burst_allowance", "s", self.vars.burst_allowance.as_secs_f64());
        if self.params.dq_rate_estimator {
            row.push("departure_rate", "bit/s", self.vars.avg_dq_rate * 8.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::testing::{Recorder, TestPkt, link};

    /// A queue of ten packets whose controller has that p and those delays, without burst allowance.
    fn with(controller: Controller) -> Params {
        Params { controller, ..Params::default() }
    }
    fn pie(params: Params, drop_prob: f64, qdelay_ms: u64, qdelay_old_ms: u64) -> (Pie<TestPkt>, Recorder) {
        let (mut q, mut fate) = (Pie::new(&params, &link()).unwrap(), Recorder::new(1));
        for id in 0..10 {
            q.enqueue(Time::ZERO, TestPkt::new(id, 1500), &mut fate);
        }
        q.vars.drop_prob = drop_prob;
        (q.vars.qdelay, q.vars.qdelay_old) = (Dur::from_ms(qdelay_ms), Dur::from_ms(qdelay_old_ms));
        q.vars.burst_allowance = Dur::ZERO;
        (q, fate)
    }
    /// p after one update from there.
    fn updated(drop_prob: f64, qdelay_ms: u64, qdelay_old_ms: u64) -> f64 {
        let (mut q, _) = pie(Params::default(), drop_prob, qdelay_ms, qdelay_old_ms);
        q.on_timer(Time::ZERO + Dur::from_ms(15));
        q.vars.drop_prob
    }
    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} against {b}");
    }
    fn arrive(q: &mut Pie<TestPkt>, fate: &mut Recorder, id: u64, ecn: Ecn) {
        q.enqueue(Time::ZERO, TestPkt::new(id, 1500).ecn(ecn), fate);
    }

    #[test]
    fn a_first_update_is_scaled_down_by_two_thousand() {
        near(updated(0.0, 30, 0), (0.125 * 0.015 + 1.25 * 0.030) / 2048.0);
    }

    #[test]
    fn the_first_update_may_come_later_than_the_others() {
        let late = with(Controller { first_update: Some(Dur::from_ms(500)), ..Controller::default() });
        let (mut q, _) = pie(late, 0.2, 31, 31);
        assert_eq!(q.next_timer(), Some(Time::ZERO + Dur::from_ms(500)));
        q.on_timer(Time::ZERO + Dur::from_ms(499));
        near(q.vars.drop_prob, 0.2);
        q.on_timer(Time::ZERO + Dur::from_ms(500));
        near(q.vars.drop_prob, 0.2 + 0.125 * 0.016);
        assert_eq!(q.next_timer(), Some(Time::ZERO + Dur::from_ms(515)));
    }

    #[test]
    fn a_steady_delay_above_target_moves_p_by_alpha_alone() {
        near(updated(0.2, 31, 31), 0.2 + 0.125 * 0.016);
    }

    #[test]
    fn a_falling_delay_lowers_p() {
        near(updated(0.2, 15, 31), 0.2 - 1.25 * 0.016);
    }

    #[test]
    fn p_of_a_tenth_or_more_grows_by_at_most_two_percent() {
        near(updated(0.1, 100, 0), 0.12);
        assert!(updated(0.099, 100, 0) > 0.099 + 0.02);
    }

    #[test]
    fn a_delay_over_a_quarter_second_adds_two_percent_more() {
        near(updated(0.5, 251, 0), 0.54);
    }

    #[test]
    fn p_stays_from_zero_to_one() {
        assert_eq!((updated(0.0, 0, 15), updated(0.99, 300, 0)), (0.0, 1.0));
    }

    #[test]
    fn a_probability_above_one_takes_long_to_fall() {
        // 100 updates at 400 ms over the target: 4 % each. Then 0.05 % each at 4 ms below it: after 7,000 all is still
        // dropped.
        let linux = with(Controller { max_probability: 256.0, ..Controller::default() });
        let (mut q, mut fate) = pie(linux, 1.0, 415, 415);
        for _ in 0..100 {
            q.update();
        }
        near(q.vars.drop_prob, 5.0);
        (q.vars.qdelay, q.vars.qdelay_old) = (Dur::from_ms(11), Dur::from_ms(11));
        for _ in 0..7_000 {
            q.update();
        }
        assert!((q.vars.drop_prob - 1.5).abs() < 1e-6);
        fate.forced = alloc::vec![0.999];
        arrive(&mut q, &mut fate, 10, Ecn::NotEct);
        assert_eq!(fate.dropped_ids(), [10]);
    }

    #[test]
    fn auto_tuning_follows_the_table_of_the_rfc() {
        let divisors = [0.0, 9e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1].map(|p| 1.0 / auto_tune(p));
        assert_eq!(divisors, [2048.0, 2048.0, 512.0, 128.0, 32.0, 8.0, 2.0, 1.0]);
    }

    #[test]
    fn an_empty_queue_twice_in_a_row_decays_p_besides() {
        let (mut q, mut fate) = pie(with(Controller { alpha: 0.0, ..Controller::default() }), 0.5, 0, 0);
        while q.dequeue(Time::ZERO, &mut fate).is_some() {}
        q.on_timer(Time::ZERO + Dur::from_ms(15));
        near(q.vars.drop_prob, 0.5 * 63.0 / 64.0);
    }

    #[test]
    fn no_drop_before_the_sum_of_p_is_085() {
        // p = 0.1: the sum is 0.9 at the ninth arrival.
        let (mut q, mut fate) = pie(Params::default(), 0.1, 20, 20);
        fate.forced = alloc::vec![0.0; 20];
        for id in 1..=9 {
            arrive(&mut q, &mut fate, id, Ecn::NotEct);
        }
        assert_eq!(fate.dropped_ids(), [9]);
    }

    #[test]
    fn a_drop_is_certain_when_the_sum_of_p_is_85() {
        let (mut q, mut fate) = pie(Params::default(), 0.5, 20, 20);
        fate.forced = alloc::vec![0.999; 100];
        for id in 1..=18 {
            arrive(&mut q, &mut fate, id, Ecn::NotEct);
        }
        assert_eq!(fate.dropped_ids(), [17]);
    }

    #[test]
    fn without_derandomisation_each_arrival_stands_alone() {
        let (mut q, mut fate) = pie(Params { derandomisation: false, ..Params::default() }, 0.1, 20, 20);
        fate.forced = alloc::vec![0.11, 0.09];
        arrive(&mut q, &mut fate, 1, Ecn::NotEct);
        arrive(&mut q, &mut fate, 2, Ecn::NotEct);
        assert_eq!(fate.dropped_ids(), [1]);
    }

    #[test]
    fn a_queue_under_two_packets_is_never_dropped_from() {
        let (mut q, mut fate) = pie(Params::default(), 1.0, 20, 20);
        while q.backlog().packets > 1 {
            q.store.pop();
        }
        arrive(&mut q, &mut fate, 1, Ecn::NotEct);
        assert!(fate.dropped.is_empty());
        arrive(&mut q, &mut fate, 2, Ecn::NotEct);
        assert_eq!(fate.dropped_ids(), [2]);
    }

    #[test]
    fn a_low_delay_with_a_low_p_disables_drops() {
        let (mut q, mut fate) = pie(Params { derandomisation: false, ..Params::default() }, 0.19, 7, 7);
        fate.forced = alloc::vec![0.0; 2];
        arrive(&mut q, &mut fate, 1, Ecn::NotEct);
        assert!(fate.dropped.is_empty());
        q.vars.drop_prob = 0.2;
        arrive(&mut q, &mut fate, 2, Ecn::NotEct);
        assert_eq!(fate.dropped_ids(), [2]);
    }

    #[test]
    fn up_to_a_tenth_capable_packets_are_marked_and_above_dropped() {
        let params = Params { derandomisation: false, ..with(Controller { ecn: true, ..Controller::default() }) };
        let (mut q, mut fate) = pie(params, 0.1, 20, 20);
        fate.forced = alloc::vec![0.0; 2];
        arrive(&mut q, &mut fate, 1, Ecn::Ect0);
        q.vars.drop_prob = 0.100001;
        arrive(&mut q, &mut fate, 2, Ecn::Ect0);
        assert_eq!((fate.marked_ids(), fate.dropped_ids()), (alloc::vec![1], alloc::vec![2]));
    }

    #[test]
    fn the_burst_allowance_runs_down_between_departures() {
        let (mut q, mut fate) = pie(Params::default(), 0.0, 0, 0);
        q.vars.burst_allowance = Dur::from_ms(150);
        q.dequeue(Time::ZERO + Dur::from_ms(10), &mut fate);
        q.dequeue(Time::ZERO + Dur::from_ms(40), &mut fate);
        assert_eq!(q.vars.burst_allowance, Dur::from_ms(120));
    }

    #[test]
    fn an_uncongested_update_restores_the_burst_allowance() {
        let (mut q, _) = pie(Params::default(), 0.0, 7, 7);
        q.on_timer(Time::ZERO + Dur::from_ms(15));
        assert_eq!(q.vars.burst_allowance, Dur::from_ms(150));
    }

    #[test]
    fn the_delay_is_how_long_the_last_packet_waited_and_zero_when_none_is_left() {
        let (mut q, mut fate) = pie(Params::default(), 0.0, 0, 0);
        q.dequeue(Time::ZERO + Dur::from_ms(12), &mut fate);
        assert_eq!(q.vars.qdelay, Dur::from_ms(12));
        while q.dequeue(Time::ZERO + Dur::from_ms(13), &mut fate).is_some() {}
        assert_eq!(q.vars.qdelay, Dur::ZERO);
    }

    #[test]
    fn the_rate_estimator_measures_sixteen_kilobytes_of_departures() {
        let (mut q, mut fate) = pie(Params { dq_rate_estimator: true, ..Params::default() }, 0.0, 0, 0);
        for id in 10..40 {
            arrive(&mut q, &mut fate, id, Ecn::NotEct);
        }
        // 1500 B every 1.2 ms. The first departure starts the count and is in it, so eleven of them (16500 B) take 12
        // ms.
        for i in 0..11 {
            q.dequeue(Time::from_ns(i * 1_200_000), &mut fate);
        }
        near(q.vars.avg_dq_rate, 16_500.0 / 0.012);
        q.on_timer(Time::ZERO + Dur::from_ms(15));
        assert_eq!(q.vars.qdelay, Dur::from_secs_f64(29.0 * 1500.0 / (16_500.0 / 0.012)));
    }
}
