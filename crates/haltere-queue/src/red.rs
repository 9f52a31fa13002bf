//! RED: random early detection, and ARED, which adapts its maximum probability. Not the path scheduler of the same
//! name.
//! Model: at each arrival, before the packet is queued, `avg <- avg + w (q - avg)`, with q the backlog in bytes or
//! packets. Below `min` nothing happens. From `min` on the probability of a mark or drop is `p_b = max_p (avg - min) /
//! (max - min)`. Marks are spread: the gap between two is uniform from 1 to `1 / p_b` packets (method 2 of the paper).
//! From `max` on every packet is marked or dropped; with `gentle` the probability rises from `max_p` to 1 between `max`
//! and twice `max`. ARED: every 0.5 s, `avg` above `min + 0.6 (max - min)`: `max_p += min(0.01, max_p / 4)`; below `min
//! + 0.4 (max - min)`: `max_p *= 0.9`; kept from about 0.01 to 0.5.
//! Units: the average in bytes or packets, as `min` and `max` are written. Cost: O(1) a packet.

mod config;
mod tc;

use crate::{Backlog, DropReason, Fate, LinkContext, MarkReason, Pkt, Qdisc, Store, mark};
use config::{Config, Idle};
use haltere_units::{Bytes, Dur, ParamError, Prob, Probe, Rate, Size, Time};

/// How often ARED adapts (Floyd 2001 section 4).
const ADAPT_INTERVAL: Dur = Dur::from_ms(500);
/// ARED's bounds on max_p (Floyd 2001 section 4).
const ADAPT_BOUNDS: (f64, f64) = (0.01, 0.5);
/// ARED's decrease (Floyd 2001 section 4.2).
const ADAPT_BETA: f64 = 0.9;

haltere_units::params! {
    /// How the average decays while the queue is empty.
    #[derive(Default)]
    pub enum IdleDecay {
        /// As Linux and tc: by a table of halvings, about 22 times more slowly than the paper. It halves each time that
        /// the paper divides by e, and tc's time unit is 15.6 times the kernel's.
        #[default]
        Linux,
        /// As the paper and ns-3: by `(1 - w)` for each packet of `avpkt` that could have been sent.
        Paper,
    }
    /// The RED queue discipline (random early detection): marks or drops at random as the average queue grows.
    ///
    /// With `adaptive` it is ARED, which tunes the probability.
    ///
    /// Source: Floyd and Jacobson 1993. `gentle` is from Floyd 2000, `adaptive` from Floyd, Gummadi and Shenker 2001.
    ///
    /// Deviations: these are Linux's. The count restarts at -1 above `max` (the paper: 0). The average decays over idle
    /// time by Linux's table (`idle`). The adaptation runs by a timer, as in the paper and in Linux; ns-3 adapts at the
    /// first arrival that is late enough.
    ///
    /// Known problems: the average lags behind bursts. The right thresholds depend on the rate and the number of flows.
    /// With a hard threshold (`max` = `min` + 1 byte) the probability is a step function of the average.
    pub struct Params: flattens {
        /// The parameters that CHOKe has as well.
        #[serde(flatten)]
        pub base: Base = Base::default();
        /// Length of an average packet, above 0. The default is Linux's (tc-red(8)).
        pub avpkt: Bytes = Bytes::new(1000), [above 0];
        /// Weight of the average itself, above 0 and at most 1: the paper's w_q, ns-3's `QW`. Left out: it follows from
        /// `burst`.
        pub weight: Option<f64> = None;
        /// How the average decays while the queue is empty. `linux` together with `weight` takes the nearest power of
        /// one half for its table.
        pub idle: IdleDecay = IdleDecay::Linux;
        /// With `ecn`: drop even ECN-capable packets above `max`.
        pub harddrop: bool = false;
        /// With `ecn`: keep packets that are not ECN-capable instead of dropping them early.
        pub nodrop: bool = false;
        /// True: the probability rises from `probability` at `max` to 1 at twice `max` (Floyd 2000). Linux does not
        /// have it.
        pub gentle: bool = false;
        /// True: marks are more than `1 / p_b` and at most `2 / p_b` packets apart, as with ns-3's `Wait`.
        pub wait: bool = false;
        /// True: the probability is scaled by packet length over `avpkt` (the paper's byte mode).
        pub bytemode: bool = false;
        /// True: ARED (tc: `adaptative`). Every 0.5 s max_p is adapted to hold the average halfway between `min` and
        /// `max`. If neither is given and the link has a rate, `min` is `max(5 avpkt, target_delay * rate / 2)` and
        /// `max` three times that. The weight, if not given, is then `1 - exp(-1 / rate)`, with the rate in packets/s
        /// (Floyd 2001 section 5). `tc` from iproute2 5.7 on sets the flag by an attribute of its own: Linux 6.1 shows
        /// it, but its timer does not run and max_p stays.
        pub adaptive: bool = false;
        /// Average delay at which the automatic thresholds aim, above 0. The default is ns-3's and the paper's (Floyd
        /// 2001 section 5).
        pub target_delay: Dur = Dur::from_ms(5), [above 0];
    }
    /// The parameters that RED and CHOKe share.
    pub struct Base: part {
        /// Packet or byte limit, above 0. A packet that arrives at a full queue is dropped.
        pub limit: Size = Size::Packets(1000);
        /// Average queue at which marking starts, above 0, in packets or bytes. The unit decides how the queue is
        /// averaged. Left out: a third of `max` (tc-red(8)); with `adaptive` it follows from `target_delay`.
        pub min: Option<Size> = None;
        /// Average queue at which the probability is `probability`, above `min`, in the same unit. Left out: a quarter
        /// of `limit` (tc-red(8)); with `adaptive` three times `min`.
        pub max: Option<Size> = None;
        /// Probability at `max`, above 0: the paper's max_p, ns-3's `1 / LInterm`. The default is Linux's (tc-red(8)).
        pub probability: Prob = Prob::of(0.02), [above 0];
        /// Packets that may arrive at once before marking starts. The weight of the average becomes the largest power
        /// of one half that allows it (tc's Wlog). Not together with `weight`. Left out: `(2 min + max) / (3 avpkt)`
        /// (tc-red(8)).
        pub burst: Option<u32> = None;
        /// Rate by which an idle time is converted to packets, above 0. Left out: the link's rate, or 10 Mbit/s if it
        /// has none. (tc-red(8) takes 10 Mbit/s always.)
        pub bandwidth: Option<Rate> = None;
        /// True: mark ECN-capable packets instead of dropping them.
        pub ecn: bool = false;
    }
}

#[derive(Debug, Clone)]
struct Vars {
    /// The average queue, in packets or bytes.
    avg: f64,
    /// Packets since the last mark or drop; -1 outside the region of random marks.
    count: i64,
    /// Where between 0 and 1 the next mark lies.
    r: f64,
    max_p: f64,
    /// Since when the queue is empty.
    idle_since: Option<Time>,
    /// When ARED adapts next.
    adapt_at: Option<Time>,
}

/// What happens to an arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Keep,
    /// A random draw decided to signal congestion.
    Early,
    /// The average is past the last threshold.
    Forced,
}

/// A queue under RED.
#[derive(Debug, Clone)]
pub struct Red<P> {
    config: Config,
    vars: Vars,
    store: Store<P>,
}

impl<P: Pkt> Red<P> {
    /// A queue of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        let vars = Vars {
            avg: 0.0,
            count: -1,
            r: 0.0,
            max_p: params.base.probability.as_f64(),
            idle_since: Some(Time::ZERO),
            adapt_at: params.adaptive.then(|| Time::ZERO + ADAPT_INTERVAL),
        };
        Ok(Red { config: Config::new(params, link)?, vars, store: Store::new(link.resolve(params.base.limit))? })
    }

    /// The same queue with Linux's average: a fixed-point number in steps of the weight. Its integer part is what the
    /// average is moved by and what the probability grows with. In packets this differs from real numbers.
    pub(crate) fn in_fixed_point(mut self) -> Self {
        self.config.fixed_point = true;
        self
    }

    /// The average after the idle time that ends now.
    fn decayed(&self, idle: Dur) -> f64 {
        match &self.config.idle {
            Idle::Linux(table) => table.decay(self.vars.avg, idle),
            Idle::Paper(log_per_s) => self.vars.avg * libm::exp(log_per_s * idle.as_secs_f64()),
        }
    }

    /// Floyd & Jacobson figure 2: the average at an arrival, of the queue before it.
    #[inline]
    pub(crate) fn update_average(&mut self, now: Time) {
        if let Some(since) = self.vars.idle_since.take() {
            let (left, weight) = (self.decayed(now.since(since)), self.config.weight);
            self.vars.avg = if self.config.fixed_point { libm::floor(left / weight) * weight } else { left };
        } else {
            let Backlog { packets, bytes } = self.store.backlog();
            let queue = if self.config.in_bytes { bytes as f64 } else { f64::from(packets) };
            self.vars.avg += self.config.weight * (queue - self.whole(self.vars.avg));
        }
    }

    #[inline]
    fn verdict(&mut self, len: u32, fate: &mut impl Fate<P>) -> Verdict {
        let avg = self.vars.avg;
        let max = self.config.max;
        if !self.is_congested() {
            self.vars.count = -1;
            return Verdict::Keep;
        }
        let p_b = if avg < max || self.config.fixed_point && avg == max {
            self.early_probability()
        } else if self.config.params.gentle && avg < 2.0 * max {
            self.vars.max_p + (1.0 - self.vars.max_p) * (avg - max) / max
        } else {
            self.vars.count = -1;
            return Verdict::Forced;
        };
        self.chance(p_b, len, fate)
    }

    /// Floyd & Jacobson section 7, method 2: a mark when `count >= R / p_b`, with a new R for each gap.
    #[inline]
    fn chance(&mut self, p_b: f64, len: u32, fate: &mut impl Fate<P>) -> Verdict {
        let scale = if self.config.params.bytemode { f64::from(len) / self.config.avpkt } else { 1.0 };
        self.vars.count += 1;
        if self.vars.count == 0 {
            self.vars.r = self.draw(fate);
            return Verdict::Keep;
        }
        if p_b * scale * (self.vars.count as f64) < self.vars.r {
            return Verdict::Keep;
        }
        self.vars.count = 0;
        self.vars.r = self.draw(fate);
        Verdict::Early
    }

    /// The probability between `min` and `max`, before marks are spread.
    #[inline]
    fn early_probability(&self) -> f64 {
        let Config { min, max, .. } = self.config;
        self.vars.max_p * self.whole(self.vars.avg - min) / (max - min)
    }

    /// The integer part, if the average is Linux's fixed-point number.
    #[inline]
    fn whole(&self, average: f64) -> f64 {
        if self.config.fixed_point { libm::floor(average) } else { average }
    }

    fn draw(&self, fate: &mut impl Fate<P>) -> f64 {
        fate.uniform() + f64::from(u8::from(self.config.params.wait))
    }

    /// Keeps a packet of that verdict by marking it, or drops it.
    #[inline]
    fn admit(&mut self, mut pkt: P, verdict: Verdict, fate: &mut impl Fate<P>) -> Option<P> {
        let (may_mark, reason) = match verdict {
            Verdict::Keep => return Some(pkt),
            Verdict::Early => (self.config.params.base.ecn, MarkReason::Congestion),
            Verdict::Forced => (self.config.params.base.ecn && !self.config.params.harddrop, MarkReason::Threshold),
        };
        if may_mark && (mark(&mut pkt, reason, fate) || self.config.params.nodrop) {
            return Some(pkt);
        }
        fate.dropped(pkt, DropReason::Congestion);
        None
    }

    /// Keeps, marks or drops a packet that arrives, by the average that [`update_average`](Red::update_average) left.
    #[inline]
    pub(crate) fn decide(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        let verdict = self.verdict(pkt.len(), fate);
        let fits = self.store.fits(pkt.len());
        // A packet that does not fit is not marked first: it is dropped for one reason or the other.
        if !fits && (verdict == Verdict::Keep || self.config.params.base.ecn) {
            return fate.dropped(pkt, DropReason::Overlimit);
        }
        if let Some(pkt) = self.admit(pkt, verdict, fate)
            && let Err(pkt) = self.store.push(now, pkt)
        {
            fate.dropped(pkt, DropReason::Overlimit);
        }
    }

    /// True while the average is at least `min`; above it, if the average is Linux's fixed-point number.
    pub(crate) fn is_congested(&self) -> bool {
        let Config { min, fixed_point, .. } = self.config;
        self.vars.avg > min || !fixed_point && self.vars.avg == min
    }

    #[cfg(test)]
    pub(crate) fn average(&self) -> f64 {
        self.vars.avg
    }

    /// The packets that wait.
    pub(crate) fn store(&mut self) -> &mut Store<P> {
        &mut self.store
    }

    /// Floyd 2001 section 4: one step of max_p.
    fn adapt(&mut self, now: Time) {
        let avg = self.vars.idle_since.map_or(self.vars.avg, |since| self.decayed(now.since(since)));
        let Config { min, max, .. } = self.config;
        let max_p = &mut self.vars.max_p;
        if avg > min + 0.6 * (max - min) && *max_p <= ADAPT_BOUNDS.1 {
            *max_p += (*max_p / 4.0).min(0.01);
        } else if avg < min + 0.4 * (max - min) && *max_p >= ADAPT_BOUNDS.0 {
            *max_p *= ADAPT_BETA;
        }
    }
}

impl<P: Pkt> Qdisc<P> for Red<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        self.update_average(now);
        self.decide(now, pkt, fate);
    }
    #[inline]
    fn dequeue(&mut self, now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        let next = self.store.pop();
        if next.is_none() && self.vars.idle_since.is_none() {
            self.vars.idle_since = Some(now);
        }
        next.map(|(_, pkt)| pkt)
    }
    #[inline]
    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }
    fn next_timer(&self) -> Option<Time> {
        self.vars.adapt_at
    }
    fn on_timer(&mut self, now: Time) {
        if self.vars.adapt_at.is_some_and(|at| now >= at) {
            self.adapt(now);
            self.vars.adapt_at = Some(now + ADAPT_INTERVAL);
        }
    }
    fn probe(&self, row: &mut Probe) {
        let unit = if self.config.in_bytes { "B" } else { "packets" };
        row.push("avg", unit, self.vars.avg);
        row.push("max_p", "", self.vars.max_p);
        row.push("p", "", self.early_probability().clamp(0.0, 1.0));
    }
}

#[cfg(test)]
mod tests;
