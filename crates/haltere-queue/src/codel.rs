//! CoDel: controlled-delay active queue management. The state machine is shared with `fq_codel`.
//! Model: the queue is bad if every packet of the last `interval` waited at least `target`. Then packets are dropped as
//! they leave, the n-th one `interval / sqrt(n)` after the one before, until one waits less. An episode that begins
//! soon after the last one goes on from its rate: n starts at the drops of that episode.
//!
//! ```text
//!             sojourn >= target and more than one MTU waits, for one interval: drop
//!   watching -----------------------------------------------------------------------> dropping --+ now >= drop_next:
//!            <-----------------------------------------------------------------------          <-+ drop, count += 1
//!                              sojourn < target, or at most one MTU waits
//! ```
//!
//! Units: time ns, queue bytes. Cost: O(1) a packet (each drop is paid by its enqueue).

use crate::ce_threshold::Selector;
use crate::{Backlog, DropReason, Fate, LinkContext, MarkReason, Pkt, Qdisc, Store, mark};
use haltere_units::{Bytes, Dur, ParamError, Probe, Size, Time};

/// A new episode goes on from the last one's rate if it starts within this many intervals (RFC 8289 section 5.5).
const RESUME_INTERVALS: u64 = 16;

haltere_units::params! {
    /// How the control law takes `1 / sqrt(count)`.
    #[derive(Default)]
    pub enum Root {
        /// One Newton step for each drop from the value before, in 16 bits, as in Linux. The result is 29 % too small
        /// at count 2 (the third drop comes after half an interval), 2.5 % at 3 and 4, and under 0.4 % from 10 on. If
        /// an episode resumes, its first drops come closer together.
        #[default]
        Newton,
        /// Exact, as in the pseudocode of RFC 8289.
        Exact,
    }
    /// Drops packets as they leave if all packets have waited too long for too long.
    ///
    /// The delay is bad if every packet of the last `interval` waited at least `target`. Then drops follow each other
    /// faster and faster, until one packet waits less. Short bursts pass.
    ///
    /// Source: RFC 8289 (pseudocode of section 5).
    ///
    /// Deviations: these are Linux's. With `ecn` a packet is marked instead of dropped. `ce_threshold` is an addition,
    /// as is its selector. The control law takes its square root by one fixed-point Newton step (`root = "newton"`).
    /// Unlike in Linux, times count in ns and not in units of 1024 ns, and a time limit is passed at `>=` as in the
    /// RFC. One dequeue drops all that is due, as in the RFC and in Linux before 2026; `max_drops` is the limit of
    /// later kernels. A queue that is found empty forgets since when its delay was above `target`, as in the RFC and in
    /// Linux from 2026 on; `fq_codel` can follow the kernels before (`forget_when_empty`). For one queue alone both are
    /// the same, since its last packet leaves at most one MTU.
    ///
    /// Known problems: it acts slowly against traffic that does not respond. One interval of slow start passes
    /// unhindered.
    pub struct Params: flattens {
        /// Packet or byte limit, above 0. A packet that arrives at a full queue is dropped. The default is Linux's
        /// (tc-codel(8)).
        pub limit: Size = Size::Packets(1000);
        /// The control law of CoDel.
        #[serde(flatten)]
        pub law: Law = Law::default();
        /// True: mark ECN-capable packets instead of dropping them.
        pub ecn: bool = false;
        /// Never drop while at most this much waits. Left out: the link's full packet (RFC 8289 section 5.3).
        pub mtu: Option<Bytes> = None;
    }
    /// CoDel's control law, which each queue of `fq_codel` has, too.
    #[derive(Copy)]
    pub struct Law: part {
        /// Standing delay that is acceptable, above 0. The default is RFC 8289's (section 4.3).
        pub target: Dur = Dur::from_ms(5), [above 0];
        /// How long the delay may stay above `target`, at least `target`. About the largest usual round-trip time; the
        /// default is RFC 8289's (section 4.3).
        pub interval: Dur = Dur::from_ms(100);
        /// Mark every ECN-capable packet that waited longer than this, in any state (RFC 8290 section 5.2.7).
        /// Left out: no such mark.
        pub ce_threshold: Option<Dur> = None;
        /// Packets that `ce_threshold` marks, as `VALUE/MASK` of the DS field; ECT(1) is `0x1/0x3`. Left out: all.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub ce_threshold_selector: Option<Selector> = None;
        /// How the control law takes its square root. The default is Linux's way.
        pub root: Root = Root::Newton;
        /// The most packets that one dequeue drops, at least 1. The next packet then leaves, however long it waited.
        /// Left out: all that are due (RFC 8289 section 5.5), as in Linux before 2026. Newer kernels have 256.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub max_drops: Option<u32> = None;
    }
}

/// What the state machine needs to know of its parameters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    law: Law,
    ecn: bool,
    ce_threshold: Dur,
    selector: Selector,
    mtu: u64,
    /// Packets that one dequeue drops at most.
    max_drops: u32,
    /// False: an empty queue keeps `first_above_time`, as in Linux before 2026.
    pub(crate) forget_when_empty: bool,
}

impl Config {
    /// The law, checked, on that link. `ecn` and `mtu` are those of [`Params`].
    pub(crate) fn new(law: &Law, ecn: bool, mtu: Option<Bytes>, link: &LinkContext) -> Result<Config, ParamError> {
        law.check()?;
        if law.interval < law.target {
            return Err(ParamError::new("interval", alloc::format!("at least target ({})", law.target), law.interval)
                .default_is(Law::default().interval));
        }
        if law.max_drops == Some(0) {
            return Err(ParamError::new("max_drops", "at least 1", 0).hint("leave it out for no limit"));
        }
        Ok(Config {
            law: *law,
            ecn,
            ce_threshold: law.ce_threshold.unwrap_or(Dur::MAX),
            selector: law.ce_threshold_selector.unwrap_or(Selector::ALL),
            mtu: mtu.unwrap_or(link.packet).as_u64(),
            max_drops: law.max_drops.unwrap_or(u32::MAX),
            forget_when_empty: true,
        })
    }
    /// `ce_threshold` is above the wait for a turn on the medium.
    pub(crate) fn on_turn(&mut self, wait: Dur) {
        self.ce_threshold = self.law.ce_threshold.map_or(Dur::MAX, |threshold| threshold + wait);
    }
}

/// The queue from which the state machine takes packets.
pub(crate) trait Source<P> {
    /// The oldest packet and the time at which it arrived.
    fn pop(&mut self) -> Option<(Time, P)>;
    /// The bytes that still wait.
    fn bytes(&self) -> u64;
}

impl<P: Pkt> Source<P> for Store<P> {
    #[inline]
    fn pop(&mut self) -> Option<(Time, P)> {
        Store::pop(self)
    }
    #[inline]
    fn bytes(&self) -> u64 {
        self.backlog().bytes
    }
}

/// The state of one queue.
#[derive(Debug, Clone)]
pub(crate) struct Vars {
    /// Drops and marks since this episode began, or its starting value.
    pub(crate) count: u32,
    /// The starting value of `count` in the last episode.
    lastcount: u32,
    /// True in the dropping state.
    pub(crate) dropping: bool,
    /// `2^32 / sqrt(count)`, of which the upper 16 bits are kept (Newton only).
    rec_inv_sqrt: u32,
    /// When the delay will have been above target for one interval, if it is above.
    first_above_time: Option<Time>,
    /// When to drop next, in the dropping state.
    drop_next: Time,
    /// How long the last packet waited.
    pub(crate) sojourn: Dur,
}

impl Vars {
    pub(crate) const fn new() -> Vars {
        Vars {
            count: 0,
            lastcount: 0,
            dropping: false,
            rec_inv_sqrt: INV_SQRT_ONE,
            first_above_time: None,
            drop_next: Time::ZERO,
            sojourn: Dur::ZERO,
        }
    }

    /// The next packet to send; drops or marks on the way.
    #[inline]
    pub(crate) fn dequeue<P: Pkt>(
        &mut self,
        config: &Config,
        source: &mut impl Source<P>,
        now: Time,
        fate: &mut impl Fate<P>,
    ) -> Option<P> {
        let since = self.first_above_time;
        let (mut next, ok_to_drop) = self.take(config, source, now);
        if next.is_none() && !config.forget_when_empty {
            self.first_above_time = since;
        }
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            } else if now >= self.drop_next {
                next = self.drop_due(config, source, now, next, fate);
            }
        } else if ok_to_drop {
            next = self.start_dropping(config, source, now, next, fate);
        }
        let mut pkt = next?;
        if self.sojourn > config.ce_threshold && config.selector.selects(&pkt) {
            mark(&mut pkt, MarkReason::Threshold, fate);
        }
        Some(pkt)
    }

    /// RFC 8289 §5.6: takes a packet, and true if the delay has been above target for one interval.
    #[inline]
    fn take<P: Pkt>(&mut self, config: &Config, source: &mut impl Source<P>, now: Time) -> (Option<P>, bool) {
        let Some((at, pkt)) = source.pop() else {
            self.first_above_time = None;
            return (None, false);
        };
        self.sojourn = now.since(at);
        if self.sojourn < config.law.target || source.bytes() <= config.mtu {
            self.first_above_time = None;
            return (Some(pkt), false);
        }
        let ok_to_drop = match self.first_above_time {
            Some(at) => now >= at,
            None => {
                self.first_above_time = Some(now + config.law.interval);
                false
            }
        };
        (Some(pkt), ok_to_drop)
    }

    /// RFC 8289 §5.5: the drops that are due in the dropping state. A mark ends the turn: the packet goes out.
    #[cold]
    fn drop_due<P: Pkt>(
        &mut self,
        config: &Config,
        source: &mut impl Source<P>,
        now: Time,
        mut next: Option<P>,
        fate: &mut impl Fate<P>,
    ) -> Option<P> {
        let mut drops = 0;
        while self.dropping && now >= self.drop_next && drops < config.max_drops {
            let mut pkt = next?;
            drops += 1;
            self.count = self.count.saturating_add(1);
            self.rec_inv_sqrt = newton_step(self.rec_inv_sqrt, self.count);
            if config.ecn && mark(&mut pkt, MarkReason::Congestion, fate) {
                self.drop_next = self.control_law(config, self.drop_next);
                return Some(pkt);
            }
            fate.dropped(pkt, DropReason::Congestion);
            let ok_to_drop;
            (next, ok_to_drop) = self.take(config, source, now);
            if ok_to_drop {
                self.drop_next = self.control_law(config, self.drop_next);
            } else {
                self.dropping = false;
            }
        }
        next
    }

    /// RFC 8289 §5.5: the first drop of an episode.
    #[cold]
    fn start_dropping<P: Pkt>(
        &mut self,
        config: &Config,
        source: &mut impl Source<P>,
        now: Time,
        next: Option<P>,
        fate: &mut impl Fate<P>,
    ) -> Option<P> {
        let mut pkt = next?;
        let next = if config.ecn && mark(&mut pkt, MarkReason::Congestion, fate) {
            Some(pkt)
        } else {
            fate.dropped(pkt, DropReason::Congestion);
            self.take(config, source, now).0
        };
        self.dropping = true;
        let delta = self.count.wrapping_sub(self.lastcount);
        if delta > 1 && now.since(self.drop_next) < config.law.interval * RESUME_INTERVALS {
            self.count = delta;
            self.rec_inv_sqrt = newton_step(self.rec_inv_sqrt, delta);
        } else {
            self.count = 1;
            self.rec_inv_sqrt = INV_SQRT_ONE;
        }
        self.lastcount = self.count;
        self.drop_next = self.control_law(config, now);
        next
    }

    /// RFC 8289 §5.4: `t + interval / sqrt(count)`.
    fn control_law(&self, config: &Config, t: Time) -> Time {
        let interval = config.law.interval.as_ns();
        let gap = match config.law.root {
            Root::Newton => ((u128::from(interval) * u128::from(self.rec_inv_sqrt)) >> 32) as u64,
            Root::Exact => (interval as f64 / libm::sqrt(f64::from(self.count))) as u64,
        };
        t + Dur::from_ns(gap)
    }

    pub(crate) fn probe(&self, row: &mut Probe) {
        row.push("sojourn", "s", self.sojourn.as_secs_f64());
        row.push("count", "", f64::from(self.count));
        row.push("dropping", "", f64::from(u8::from(self.dropping)));
    }
    /// Shows the state, and in the dropping state when the next packet is due to be dropped or marked (time from the
    /// start of the run).
    fn state(&self, row: &mut Probe) {
        self.probe(row);
        row.push("lastcount", "", f64::from(self.lastcount));
        if self.dropping {
            row.push("drop_next", "s", self.drop_next.as_ns() as f64 / 1e9);
        }
    }
}

/// `2^32 / sqrt(1)`, kept in its upper 16 bits.
const INV_SQRT_ONE: u32 = 0xffff_0000;

/// One step of Newton's iteration for `y = 1 / sqrt(count)`: `y <- y (3 - count y^2) / 2`, with `y` as a fraction of
/// 2^32.
fn newton_step(y: u32, count: u32) -> u32 {
    let y = u64::from(y);
    let square = (y * y) >> 32;
    // The bracket lies from 0 to 3, so it has 34 bits and leaves two bits too few: they go before the product.
    let bracket = (3u64 << 32).saturating_sub(u64::from(count) * square) >> 2;
    let next = (bracket * y) >> 31;
    (next.min(u64::from(u32::MAX)) as u32) & 0xffff_0000
}

/// A queue under CoDel.
#[derive(Debug, Clone)]
pub struct Codel<P> {
    config: Config,
    vars: Vars,
    store: Store<P>,
}

impl<P: Pkt> Codel<P> {
    /// A queue of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        let config = Config::new(&params.law, params.ecn, params.mtu, link)?;
        Ok(Codel { config, vars: Vars::new(), store: Store::new(link.resolve(params.limit))? })
    }
}

impl<P: Pkt> Qdisc<P> for Codel<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        if let Err(pkt) = self.store.push(now, pkt) {
            fate.dropped(pkt, DropReason::Overlimit);
        }
    }
    #[inline]
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        self.vars.dequeue(&self.config, &mut self.store, now, fate)
    }
    #[inline]
    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }
    fn on_turn(&mut self, wait: Dur) {
        self.config.on_turn(wait);
    }
    fn probe(&self, row: &mut Probe) {
        self.vars.probe(row);
    }
    fn state(&self, row: &mut Probe) {
        self.vars.state(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::testing::{Recorder, TestPkt, link};
    use alloc::vec::Vec;

    const LEN: u32 = 1500;

    /// A queue that holds 500 packets since time zero.
    fn full(params: Params, ecn: Ecn) -> (Codel<TestPkt>, Recorder) {
        let (mut q, mut fate) = (Codel::new(&params, &link()).unwrap(), Recorder::new(1));
        for id in 0..500 {
            q.enqueue(Time::ZERO, TestPkt::new(id, LEN).ecn(ecn), &mut fate);
        }
        (q, fate)
    }
    fn at(ms: u64) -> Time {
        Time::ZERO + Dur::from_ms(ms)
    }
    fn with(law: Law) -> Params {
        Params { law, ..Params::default() }
    }
    fn exact() -> Params {
        with(Law { root: Root::Exact, ..Law::default() })
    }
    /// Dequeues every millisecond from 5 ms on until `end` ms; the ms at which something was dropped or marked.
    fn verdict_ms(q: &mut Codel<TestPkt>, fate: &mut Recorder, end: u64) -> Vec<u64> {
        let mut out = Vec::new();
        for ms in 5..=end {
            let before = fate.dropped.len() + fate.marked.len();
            q.dequeue(at(ms), fate);
            if fate.dropped.len() + fate.marked.len() > before {
                out.push(ms);
            }
        }
        out
    }

    #[test]
    fn one_dequeue_drops_all_that_is_due() {
        // After a pause of 4 s, the n-th drop 0.1 s / sqrt(n) after the one before: the sum of 1 / sqrt(n) up to N is
        // about 2 sqrt(N) - 1.46, so N = ((40 + 1.46) / 2)^2 = 430.
        let (mut q, mut fate) = full(exact(), Ecn::NotEct);
        for ms in [5, 105] {
            q.dequeue(at(ms), &mut fate);
        }
        assert_eq!(fate.dropped.len(), 1);
        q.dequeue(at(4105), &mut fate);
        assert!((428..=432).contains(&fate.dropped.len()), "{}", fate.dropped.len());
    }

    #[test]
    fn a_dequeue_drops_no_more_than_the_limit() {
        let dropped = |max_drops| {
            let (mut q, mut fate) = full(with(Law { max_drops, ..exact().law }), Ecn::NotEct);
            for ms in 0..=105 {
                q.dequeue(at(ms), &mut fate);
            }
            let before = fate.dropped.len();
            assert!(q.dequeue(at(1105), &mut fate).is_some());
            fate.dropped.len() - before
        };
        assert_eq!(
            (dropped(Some(3)), dropped(Some(256)), dropped(None)),
            (3, 32, 32),
            "100 / sqrt(n) ms apart, from 205 ms on"
        );
    }

    /// RFC 8289 §5.6: a dequeue that finds nothing ends what was measured.
    #[test]
    fn an_empty_queue_forgets_since_when_its_delay_was_above_target() {
        let (mut q, mut fate) = full(exact(), Ecn::NotEct);
        q.dequeue(at(5), &mut fate);
        assert!(q.vars.first_above_time.is_some());
        while q.store.pop().is_some() {}
        q.dequeue(at(6), &mut fate);
        assert_eq!(q.vars.first_above_time, None);
    }

    #[test]
    fn nothing_is_dropped_before_one_interval_above_target() {
        let (mut q, mut fate) = full(exact(), Ecn::NotEct);
        assert_eq!(verdict_ms(&mut q, &mut fate, 104), Vec::<u64>::new());
    }

    #[test]
    fn drops_come_an_interval_over_the_root_of_the_count_apart() {
        // First at 5 + 100 ms; then 105 + 100 = 205; 205 + 70.71 = 275.71; + 57.74 = 333.44; + 50 = 383.44.
        let (mut q, mut fate) = full(exact(), Ecn::NotEct);
        assert_eq!(verdict_ms(&mut q, &mut fate, 400), [105, 205, 276, 334, 384]);
    }

    #[test]
    fn the_newton_root_halves_the_second_gap() {
        // From y = 1: count 2 gives 1 (3 - 2) / 2 = 0.5; count 3 gives 0.5 (3 - 3 / 4) / 2 = 0.5625.
        // So 105, 205, + 50 = 255, + 56.25 = 311.25.
        let (mut q, mut fate) = full(Params::default(), Ecn::NotEct);
        assert_eq!(verdict_ms(&mut q, &mut fate, 320), [105, 205, 255, 312]);
    }

    #[test]
    fn the_newton_root_stays_within_four_permille_from_ten_drops_on() {
        let mut y = INV_SQRT_ONE;
        for count in 2..60_000u32 {
            y = newton_step(y, count);
            let exact = 4_294_967_296.0 / libm::sqrt(f64::from(count));
            if count >= 10 {
                assert!((f64::from(y) / exact - 1.0).abs() < 0.004, "count {count}: {y} against {exact}");
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn from_256_drops_on_the_newton_root_is_the_exact_one_rounded_down() {
        // By at most one unit of its 16 bits and a thousandth, at every count of the longest episode that a run can
        // have in minutes.
        let mut y = INV_SQRT_ONE;
        for count in 2..1 << 22 {
            y = newton_step(y, count);
            let missing = 65_536.0 / libm::sqrt(f64::from(count)) - f64::from(y >> 16);
            assert!(count < 256 || (0.0..1.001).contains(&missing), "count {count}: {y} is {missing} units too small");
        }
    }

    #[test]
    fn a_packet_below_target_ends_the_episode() {
        let (mut q, mut fate) = full(exact(), Ecn::NotEct);
        verdict_ms(&mut q, &mut fate, 110);
        assert!(q.vars.dropping);
        while q.store.pop().is_some() {}
        for id in 0..3 {
            q.enqueue(at(111), TestPkt::new(1000 + id, LEN), &mut fate);
        }
        q.dequeue(at(112), &mut fate);
        assert!(!q.vars.dropping);
    }

    #[test]
    fn a_queue_of_at_most_one_mtu_is_never_dropped_from() {
        let (mut q, mut fate) = (Codel::new(&exact(), &link()).unwrap(), Recorder::new(1));
        for ms in 0..1000 {
            // One packet waits for 50 ms while the one before leaves: always exactly one MTU remains.
            q.enqueue(at(ms * 50), TestPkt::new(ms, LEN), &mut fate);
            if ms > 0 {
                q.dequeue(at(ms * 50 + 40), &mut fate);
            }
        }
        assert!(fate.dropped.is_empty());
    }

    #[test]
    fn an_episode_soon_after_the_last_resumes_at_its_count() {
        let (mut q, mut fate) = full(exact(), Ecn::NotEct);
        verdict_ms(&mut q, &mut fate, 390);
        assert_eq!((q.vars.count, q.vars.lastcount), (5, 1));
        q.vars.dropping = false;
        q.dequeue(at(391), &mut fate);
        assert_eq!((q.vars.count, q.vars.lastcount), (4, 4));
    }

    #[test]
    fn an_episode_sixteen_intervals_later_starts_anew() {
        let (mut q, mut fate) = full(exact(), Ecn::NotEct);
        verdict_ms(&mut q, &mut fate, 390);
        q.vars.dropping = false;
        let late = q.vars.drop_next + Dur::from_ms(1600);
        q.dequeue(late, &mut fate);
        assert_eq!((q.vars.count, q.vars.lastcount), (1, 1));
    }

    #[test]
    fn with_ecn_capable_packets_are_marked_and_go_out() {
        let (mut q, mut fate) = full(Params { ecn: true, ..exact() }, Ecn::Ect0);
        assert_eq!(verdict_ms(&mut q, &mut fate, 280), [105, 205, 276]);
        assert_eq!((fate.marked.len(), fate.dropped.len()), (3, 0));
    }

    #[test]
    fn with_ecn_packets_that_are_not_capable_are_dropped() {
        let (mut q, mut fate) = full(Params { ecn: true, ..exact() }, Ecn::NotEct);
        assert_eq!(verdict_ms(&mut q, &mut fate, 280), [105, 205, 276]);
        assert_eq!((fate.marked.len(), fate.dropped.len()), (0, 3));
    }

    #[test]
    fn ce_threshold_marks_only_what_waited_longer() {
        let params = with(Law { ce_threshold: Some(Dur::from_ms(1)), ..exact().law });
        let (mut q, mut fate) = full(params, Ecn::Ect1);
        q.dequeue(at(1), &mut fate);
        assert!(fate.marked.is_empty());
        q.dequeue(Time::from_ns(1_000_001), &mut fate);
        assert_eq!(fate.marked_ids(), [1]);
    }
}
