//! SFB: stochastic fair BLUE.
//! Model: a Bloom filter of [`LEVELS`] rows with [`BINS`] bins each. A flow has one bin in each row. A bin that holds
//! at least `target` packets raises its probability by `increment`, one that is empty lowers it by `decrement`. A
//! flow's probability is the least of its bins'. A flow whose bins are all at 1 does not answer: its rate is limited.
//! Units: packets, time ns. Cost: O(levels) a packet.

use crate::{Backlog, DropReason, Fate, LinkContext, MarkReason, Pkt, Qdisc, Store, mark};
use alloc::collections::VecDeque;
use haltere_units::{Dur, ParamError, Probe, Size, Time};

/// Rows of the filter (Linux: SFB_LEVELS).
const LEVELS: usize = 8;
/// Bins of a row (Linux: SFB_NUMBUCKETS).
const BINS: usize = 16;
/// Linux's units of a probability (SFB_MAX_PROB).
const UNITS: f64 = 65_535.0;

haltere_units::params! {
    /// Drops or marks with a probability for each flow, without a queue for each flow.
    ///
    /// The probability of responsive flows settles where their bins stay short. Unresponsive flows drive all their bins
    /// to 1 and are limited to `penalty_rate`.
    ///
    /// Source: Feng, Kandlur, Saha and Shin 2001.
    ///
    /// Deviations: these are Linux's. Two filters with different hashes take turns every `rehash`; for `warmup` before
    /// the change both learn. Unresponsive flows are limited by one token bucket that they share. The default
    /// `increment` and `decrement` are Linux's.
    ///
    /// Known problems: a flow that shares all its bins with unresponsive flows is limited with them until the next
    /// `rehash`.
    pub struct Params {
        /// Packet or byte limit, above 0. A packet that arrives at a full queue is dropped. The default is Linux's
        /// `txqueuelen`.
        pub limit: Size = Size::Packets(1000);
        /// Packets in a bin at which its probability begins to rise, at least 1. The default is Linux's (tc-sfb(8)).
        pub target: u32 = 20, [at least 1];
        /// Packets in every bin of a flow from which its packets are dropped, above `target`. The default is Linux's
        /// (tc-sfb(8)).
        pub max: u32 = 25;
        /// What a full bin adds to its probability, above 0 and at most 1. The default is Linux's: 0.0005 in whole
        /// 65535ths, 33 of them.
        pub increment: f64 = 33.0 / UNITS, [above 0 and at most 1];
        /// What an empty bin takes from its probability, above 0 and at most 1. The default is Linux's: 0.00005 in
        /// whole 65535ths, 3 of them. So it is an eleventh of `increment`, not a tenth.
        pub decrement: f64 = 3.0 / UNITS, [above 0 and at most 1];
        /// Packets per second that all unresponsive flows together may send. The default is Linux's (tc-sfb(8)).
        pub penalty_rate: u32 = 10;
        /// Packets that unresponsive flows may send at once. The default is Linux's (tc-sfb(8)).
        pub penalty_burst: u32 = 20;
        /// How often the hashes change, above `warmup`. The default is Linux's (tc-sfb(8)).
        pub rehash: Dur = Dur::from_secs(600);
        /// How long the next filter learns before it is used. The default is Linux's (tc-sfb(8)).
        pub warmup: Dur = Dur::from_secs(60);
        /// True: mark ECN-capable packets instead of dropping them while the probability is at most one half, as in
        /// Linux.
        pub ecn: bool = true;
    }
}

/// One bin: its packets and its probability.
#[derive(Debug, Clone, Copy, Default)]
struct Bin {
    packets: u32,
    probability: f64,
}

/// One filter: rows of bins, the seed of its hash, and since when it counts.
#[derive(Debug, Clone)]
struct Filter {
    rows: [[Bin; BINS]; LEVELS],
    seed: u64,
    began: Time,
}

impl Filter {
    fn new(seed: u64, began: Time) -> Filter {
        Filter { rows: [[Bin::default(); BINS]; LEVELS], seed, began }
    }
    /// The flow's bins, one of each row: four bits of the hash name each.
    fn bins(&mut self, hash: u64) -> impl Iterator<Item = &mut Bin> {
        self.rows.iter_mut().enumerate().map(move |(row, bins)| &mut bins[(hash >> (4 * row)) as usize % BINS])
    }
}

/// A queue under SFB.
#[derive(Debug, Clone)]
pub struct Sfb<P> {
    params: Params,
    seed: u64,
    filters: [Filter; 2],
    /// The filter that decides.
    active: usize,
    rehash_at: Time,
    rehashes: u64,
    tokens: f64,
    tokens_at: Time,
    store: Store<P>,
    /// Of each packet that waits: its hash in each filter in which it is counted.
    counted: VecDeque<[Option<u64>; 2]>,
}

impl<P: Pkt> Sfb<P> {
    /// A queue of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        params.check()?;
        haltere_units::refuse!(
            params.max <= params.target,
            params.max,
            alloc::format!("above target ({})", params.target)
        );
        haltere_units::refuse!(
            params.rehash <= params.warmup,
            params.rehash,
            alloc::format!("above warmup ({})", params.warmup)
        );
        Ok(Sfb {
            seed: link.seed,
            filters: [0, 1].map(|i| Filter::new(link.seed ^ i, Time::ZERO)),
            active: 0,
            rehash_at: Time::ZERO + params.rehash,
            rehashes: 1,
            tokens: f64::from(params.penalty_burst),
            tokens_at: Time::ZERO,
            store: Store::new(link.resolve(params.limit))?,
            counted: VecDeque::new(),
            params: params.clone(),
        })
    }

    /// Takes the other filter if its time has come; the old one starts anew with another hash.
    fn swap_when_due(&mut self, now: Time) {
        while now >= self.rehash_at {
            self.rehashes += 1;
            self.filters[self.active] = Filter::new(self.seed ^ self.rehashes, now);
            self.active ^= 1;
            self.rehash_at += self.params.rehash;
        }
    }

    /// The hashes in the filters that learn now: the active one, and before a change the other, too.
    fn hashes(&self, now: Time, pkt: &P) -> [Option<u64>; 2] {
        let warm = now + self.params.warmup >= self.rehash_at;
        core::array::from_fn(|i| (i == self.active || warm).then(|| pkt.flow().hash(self.filters[i].seed)))
    }

    /// Adapts the bins of an arrival; its probability, and the packets in its emptiest bin.
    fn look(&mut self, hashes: &[Option<u64>; 2]) -> (f64, u32) {
        let mut found = (1.0_f64, u32::MAX);
        for (i, hash) in hashes.iter().enumerate() {
            let Some(hash) = *hash else { continue };
            for bin in self.filters[i].bins(hash) {
                if bin.packets == 0 {
                    bin.probability = (bin.probability - self.params.decrement).max(0.0);
                } else if bin.packets >= self.params.target {
                    bin.probability = (bin.probability + self.params.increment).min(1.0);
                }
                if i == self.active {
                    found = (found.0.min(bin.probability), found.1.min(bin.packets));
                }
            }
        }
        found
    }

    /// True if a packet of a flow that does not answer may pass.
    fn take_token(&mut self, now: Time) -> bool {
        let earned = now.since(self.tokens_at).as_secs_f64() * f64::from(self.params.penalty_rate);
        self.tokens = (self.tokens + earned).min(f64::from(self.params.penalty_burst));
        self.tokens_at = now;
        let passes = self.tokens >= 1.0;
        if passes {
            self.tokens -= 1.0;
        }
        passes
    }

    /// Counts a packet in its bins, or out of them.
    fn count(&mut self, hashes: &[Option<u64>; 2], by: impl Fn(u32) -> u32) {
        for (filter, hash) in self.filters.iter_mut().zip(hashes) {
            if let Some(hash) = *hash {
                filter.bins(hash).for_each(|bin| bin.packets = by(bin.packets));
            }
        }
    }
}

impl<P: Pkt> Qdisc<P> for Sfb<P> {
    fn enqueue(&mut self, now: Time, mut pkt: P, fate: &mut impl Fate<P>) {
        self.swap_when_due(now);
        if !self.store.fits(pkt.len()) {
            return fate.dropped(pkt, DropReason::Overlimit);
        }
        let hashes = self.hashes(now, &pkt);
        let (probability, packets) = self.look(&hashes);
        if packets >= self.params.max {
            return fate.dropped(pkt, DropReason::Congestion);
        }
        if probability >= 1.0 {
            if !self.take_token(now) {
                return fate.dropped(pkt, DropReason::Congestion);
            }
        } else if probability > 0.0 && fate.uniform() < probability {
            // Linux: a mark may stand for a drop up to one half; above it the more, the lower the probability.
            let may_mark = self.params.ecn && probability <= 0.5;
            if !(may_mark && mark(&mut pkt, MarkReason::Congestion, fate)) {
                return fate.dropped(pkt, DropReason::Congestion);
            }
        }
        self.count(&hashes, |packets| packets + 1);
        self.counted.push_back(hashes);
        self.store.append(now, pkt);
    }
    fn dequeue(&mut self, _now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        let (came, pkt) = self.store.pop()?;
        let hashes = self.counted.pop_front().unwrap_or_default();
        // A filter that began since then does not count the packet.
        let current = core::array::from_fn(|i| hashes[i].filter(|_| self.filters[i].began <= came));
        self.count(&current, |packets| packets - 1);
        Some(pkt)
    }
    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }
    fn probe(&self, row: &mut Probe) {
        let bins = self.filters[self.active].rows.iter().flatten();
        row.push("largest_prob", "", bins.map(|bin| bin.probability).fold(0.0, f64::max));
        row.push("penalty_tokens", "", self.tokens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::testing::{Recorder, TestPkt, link};

    fn queue(params: &Params) -> (Sfb<TestPkt>, Recorder) {
        (Sfb::new(params, &link()).unwrap(), Recorder::new(1))
    }
    fn probability(q: &mut Sfb<TestPkt>, flow: u16) -> f64 {
        let hash = Pkt::flow(&TestPkt::new(0, 1500).flow(flow)).hash(q.filters[q.active].seed);
        q.filters[q.active].bins(hash).map(|bin| bin.probability).fold(1.0, f64::min)
    }

    #[test]
    fn a_full_bin_raises_the_flow_s_probability_and_an_empty_one_lowers_it() {
        let params = Params { target: 2, max: 100, increment: 0.1, decrement: 0.01, ecn: false, ..Params::default() };
        let (mut q, mut fate) = queue(&params);
        fate.forced = alloc::vec![0.99; 8];
        for id in 0..5 {
            q.enqueue(Time::ZERO, TestPkt::new(id, 1500), &mut fate);
        }
        // The third, fourth and fifth arrival found at least two packets in their bins.
        assert!((probability(&mut q, 0) - 0.3).abs() < 1e-12);
        assert_eq!(probability(&mut q, 1), 0.0, "another flow has a bin of its own");
        while q.dequeue(Time::ZERO, &mut fate).is_some() {}
        q.enqueue(Time::ZERO, TestPkt::new(9, 1500), &mut fate);
        assert!((probability(&mut q, 0) - 0.29).abs() < 1e-12);
    }

    /// By hand: 0.0005 of 65535 is 32.8, which tc rounds to 33; 0.00005 is 3.3, which it rounds to 3. One step up takes
    /// eleven down.
    #[test]
    fn eleven_arrivals_at_empty_bins_take_back_one_at_full_ones() {
        let (mut q, mut fate) = queue(&Params { target: 1, ..Params::default() });
        fate.forced = alloc::vec![0.99; 20];
        q.enqueue(Time::ZERO, TestPkt::new(0, 1500), &mut fate);
        q.enqueue(Time::ZERO, TestPkt::new(1, 1500), &mut fate);
        assert!((probability(&mut q, 0) - 0.000_503_5).abs() < 1e-7);
        while q.dequeue(Time::ZERO, &mut fate).is_some() {}
        for id in 2..13 {
            assert!(probability(&mut q, 0) > 1e-5, "{id}");
            q.enqueue(Time::ZERO, TestPkt::new(id, 1500), &mut fate);
            q.dequeue(Time::ZERO, &mut fate);
        }
        assert!(probability(&mut q, 0) < 1e-9);
    }

    #[test]
    fn a_flow_s_bins_hold_at_most_max_packets() {
        let (mut q, mut fate) = queue(&Params { target: 3, max: 4, ..Params::default() });
        for id in 0..6 {
            q.enqueue(Time::ZERO, TestPkt::new(id, 1500), &mut fate);
        }
        assert_eq!(fate.dropped_ids(), [4, 5]);
        q.enqueue(Time::ZERO, TestPkt::new(10, 1500).flow(1), &mut fate);
        assert_eq!(fate.dropped_ids(), [4, 5], "another flow passes");
    }

    #[test]
    fn a_flow_that_does_not_answer_is_limited() {
        let params = Params { target: 1, max: 1000, increment: 1.0, penalty_burst: 3, ..Params::default() };
        let (mut q, mut fate) = queue(&params);
        for id in 0..10 {
            q.enqueue(Time::ZERO, TestPkt::new(id, 1500), &mut fate);
        }
        assert_eq!(q.backlog().packets, 4, "the first, and three tokens");
        q.enqueue(Time::ZERO + Dur::from_ms(100), TestPkt::new(20, 1500), &mut fate);
        assert_eq!(q.backlog().packets, 5, "ten tokens a second");
    }

    #[test]
    fn below_one_half_a_mark_stands_for_a_drop() {
        let (mut q, mut fate) = queue(&Params::default());
        let ect = TestPkt::new(0, 1500).ecn(Ecn::Ect0);
        for (chance, forced) in [(0.4, 0.3), (0.6, 0.3)] {
            let hash = Pkt::flow(&ect).hash(q.filters[0].seed);
            q.filters[0].bins(hash).for_each(|bin| bin.probability = chance);
            fate.forced.push(forced);
            q.enqueue(Time::ZERO, ect.clone(), &mut fate);
        }
        assert_eq!((fate.marked.len(), fate.dropped.len()), (1, 1));
    }

    #[test]
    fn a_change_of_the_hash_leaves_no_packet_counted() {
        let params = Params { rehash: Dur::from_ms(20), warmup: Dur::from_ms(5), ..Params::default() };
        let (mut q, mut fate) = queue(&params);
        for ms in 0..100_u64 {
            let now = Time::ZERO + Dur::from_ms(ms);
            q.enqueue(now, TestPkt::new(ms, 1500).flow(ms as u16 % 5), &mut fate);
            if ms % 3 > 0 {
                q.dequeue(now, &mut fate);
            }
        }
        while q.dequeue(Time::ZERO + Dur::from_ms(100), &mut fate).is_some() {}
        let left: u32 = q.filters.iter().flat_map(|f| f.rows.iter().flatten()).map(|bin| bin.packets).sum();
        assert_eq!(left, 0);
    }
}
