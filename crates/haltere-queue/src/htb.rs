//! HTB: hierarchical token bucket, a tree of classes with a rate and a ceiling each.
//! Model: each class has two token buckets, at `rate` and at `ceil`. A packet takes tokens of its class and of all
//! classes above. A class sends while its buckets are not in debt. If only `rate` is in debt, it borrows from the class
//! above, which then must be able to send or to borrow.
//!
//! The lender is the nearest class, from the leaf up, whose rate is not in debt, if no ceiling on the way is. Leaves
//! whose lender is lower go first; among those, a lower `priority`; among those, in turn by `quantum`.
//!
//! ```text
//!     root
//!     +- a
//!     |  +- a1  leaf
//!     |  +- a2  leaf
//!     +- b      leaf
//! ```
//!
//! Units: bytes and bit/s, tokens counted exactly. Cost: O(classes x depth) a packet.

use crate::classes::{self, Leaf, Match, backlog, class_of};
use crate::token_bucket::TokenBucket;
use crate::{Backlog, Bound, DropReason, Fate, LinkContext, Pkt, Qdisc, QueueParams};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use haltere_units::{Bytes, ParamError, Probe, Rate, Size, Time};

/// Levels: a leaf is at level 0, the root at the highest.
const LEVELS: usize = 8;
const PRIORITIES: usize = 8;
/// Bounds of the default of `quantum`, in bytes, and the part of the rate that it is (tc-htb(8): `r2q`).
const QUANTUM: (u64, u64) = (1000, 200_000);
const R2Q: u64 = 10;

haltere_units::params! {
    /// Shares a rate between classes: each is guaranteed its `rate` and may borrow what others leave, up to its `ceil`.
    ///
    /// It holds packets back until their class or one above has tokens. The link behind it is faster than the root's
    /// rate.
    ///
    /// Source: M. Devera, "Hierarchical token bucket theory", 2002; tc-htb(8), whose names the parameters have.
    ///
    /// Deviations: `classes` takes the place of Linux's classes and filters. Tokens are counted exactly, and debts have
    /// no bound (Linux: 60 s).
    ///
    /// Known problems: a class with a large `quantum` keeps another from its ceiling during its turn. Rates of children
    /// that add up to more than their parent's are not refused, as in Linux: the parent's rate then does not hold.
    pub struct Params {
        /// Rate of the root, above 0, which all classes share.
        pub rate: Rate = Rate::from_mbps(10), [above 0];
        /// Depth of the root's bucket. Left out: the link's full packet.
        pub burst: Option<Bytes> = None;
        /// The classes. A parent comes before its children. Left out: one class with the whole rate.
        pub classes: Vec<ClassParams> = Vec::new();
        /// Packet or byte limit of all classes together, above 0. Left out: only the classes' own limits count.
        pub limit: Option<Size> = None;
    }
    /// A class in the tree, with its rates.
    #[schemars(rename = "HtbClass")]
    pub struct ClassParams {
        /// Its name, by which its children refer to it.
        pub name: String = String::new();
        /// The class above. Left out: the root.
        pub parent: Option<String> = None;
        /// Its guaranteed rate, above 0.
        pub rate: Rate = Rate::from_mbps(1), [above 0];
        /// The largest rate that it may reach by borrowing, at least `rate`. Left out: the root's, or `rate` if that is
        /// more.
        pub ceil: Option<Rate> = None;
        /// Bytes that it may send at once at `rate`. Left out: the link's full packet.
        pub burst: Option<Bytes> = None;
        /// Bytes that it may send at once at `ceil`. Left out: the link's full packet.
        pub cburst: Option<Bytes> = None;
        /// Of a leaf: lower goes first, from 0 to 7.
        pub priority: u8 = 0, [from 0 to 7];
        /// Of a leaf: bytes that it may borrow in its turn, above 0. Left out: a tenth of what `rate` carries in a
        /// second, from 1000 B to 200 kB.
        pub quantum: Option<Bytes> = None;
        /// Of a leaf: its packets. Left out: all.
        #[serde(rename = "match")]
        pub fits: Match = Match::default();
        /// Of a leaf: the discipline of its packets, with its own limit. Left out: first in, first out with 1000
        /// packets.
        pub queue: Option<Box<QueueParams>> = None;
    }
}

/// One class, or the root.
#[derive(Debug, Clone)]
struct Class {
    parent: Option<usize>,
    /// 0 of a leaf; the root's is the highest.
    level: usize,
    tokens: TokenBucket,
    ceiling: TokenBucket,
}

/// What a leaf has besides.
#[derive(Debug, Clone)]
struct Turn {
    class: usize,
    priority: usize,
    quantum: i64,
    /// What it may still borrow in its turn, from lenders of each level.
    deficit: [i64; LEVELS],
}

/// A queue under HTB.
#[derive(Debug, Clone)]
pub struct Htb<P> {
    /// The root first, each parent before its children.
    classes: Vec<Class>,
    turns: Vec<Turn>,
    /// The packets of each of `turns`.
    leaves: Vec<Leaf<P>>,
    /// Of each level and priority: the leaf whose turn it is.
    next: [[usize; PRIORITIES]; LEVELS],
    limit: Bound,
    /// When a packet may leave, if the last dequeue found none that may.
    ready: Time,
}

impl<P: Pkt> Htb<P> {
    /// A queue of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        params.check()?;
        let alone = [ClassParams { rate: params.rate, ..ClassParams::default() }];
        let given = if params.classes.is_empty() { &alone } else { params.classes.as_slice() };
        let depth = params.burst.unwrap_or(link.packet);
        let whole = || TokenBucket::new(params.rate, depth);
        let mut htb = Htb {
            classes: alloc::vec![Class { parent: None, level: LEVELS - 1, tokens: whole(), ceiling: whole() }],
            turns: Vec::new(),
            leaves: Vec::new(),
            next: [[0; PRIORITIES]; LEVELS],
            limit: Bound::optional(params.limit, link)?,
            ready: Time::ZERO,
        };
        for (number, class) in given.iter().enumerate() {
            htb.add(params, given, number, class, link)?;
        }
        Ok(htb)
    }

    fn add(
        &mut self,
        params: &Params,
        given: &[ClassParams],
        number: usize,
        class: &ClassParams,
        link: &LinkContext,
    ) -> Result<(), ParamError> {
        let ceil = class.ceil.unwrap_or(params.rate.max(class.rate));
        check(class, ceil)?;
        let parent = match &class.parent {
            None => 0,
            Some(name) => {
                1 + given[..number]
                    .iter()
                    .position(|other| other.name == *name)
                    .ok_or_else(|| ParamError::new("parent", "the name of a class before this one", name))?
            }
        };
        let above = self.classes[parent].level;
        if above < 2 {
            return Err(ParamError::new("classes", alloc::format!("a tree of at most {LEVELS} levels"), &class.name));
        }
        let is_leaf = !given.iter().any(|other| other.parent.as_ref() == Some(&class.name));
        let rate = class.rate;
        self.classes.push(Class {
            parent: Some(parent),
            level: if is_leaf { 0 } else { above - 1 },
            tokens: TokenBucket::new(rate, class.burst.unwrap_or(link.packet)),
            ceiling: TokenBucket::new(ceil, class.cburst.unwrap_or(link.packet)),
        });
        if is_leaf {
            let usual = (rate.as_bps() / 8 / R2Q).clamp(QUANTUM.0, QUANTUM.1);
            let quantum = class.quantum.map_or(usual, Bytes::as_u64) as i64;
            let priority = usize::from(class.priority);
            self.turns.push(Turn { class: number + 1, priority, quantum, deficit: [quantum; LEVELS] });
            let inside = LinkContext { rate: Some(link.rate.map_or(rate, |link| link.min(rate))), ..link.clone() };
            self.leaves.push(Leaf::new(&class.fits, class.queue.as_deref(), &inside)?);
        }
        Ok(())
    }

    /// A class and those above it.
    fn path(&self, class: usize) -> impl Iterator<Item = usize> + use<'_, P> {
        core::iter::successors(Some(class), |&at| self.classes[at].parent)
    }
    /// The level of the class that lends to that leaf, if one does.
    #[inline]
    fn lender(&self, leaf: usize) -> Option<usize> {
        let mut path = self.path(self.turns[leaf].class).map(|at| &self.classes[at]);
        let decided = path.find(|class| class.ceiling.is_owed() || !class.tokens.is_owed())?;
        (!decided.ceiling.is_owed()).then_some(decided.level)
    }
    /// The leaf that sends next, and the level of its lender.
    fn pick(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<(usize, usize)> {
        for class in &mut self.classes {
            class.tokens.fill(now);
            class.ceiling.fill(now);
        }
        let count = self.leaves.len();
        let mut best = None;
        for leaf in 0..count {
            if !self.leaves[leaf].inner.waits(now, fate) {
                continue;
            }
            if let Some(level) = self.lender(leaf) {
                let priority = self.turns[leaf].priority;
                let behind = (leaf + count - self.next[level][priority]) % count;
                let rank = (level, priority, behind, leaf);
                best = Some(best.map_or(rank, |other: (usize, usize, usize, usize)| other.min(rank)));
            }
        }
        best.map(|(level, _, _, leaf)| (leaf, level))
    }
    /// The packet takes tokens from its leaf up; classes below the lender are in debt at their rate already.
    fn charge(&mut self, leaf: usize, lender: usize, len: u32) {
        let mut at = Some(self.turns[leaf].class);
        while let Some(class) = at.map(|at| &mut self.classes[at]) {
            if class.level >= lender {
                class.tokens.take(len);
            }
            class.ceiling.take(len);
            at = class.parent;
        }
        let count = self.leaves.len();
        let turn = &mut self.turns[leaf];
        let deficit = &mut turn.deficit[lender];
        *deficit -= i64::from(len);
        let next = &mut self.next[lender][turn.priority];
        *next = leaf;
        if *deficit <= 0 {
            *deficit += turn.quantum;
            *next = (leaf + 1) % count;
        }
    }
    /// When the first of the leaves with packets may send.
    fn earliest(&self) -> Time {
        let of = |leaf: &usize| {
            let mut ceilings = Time::ZERO;
            let mut first = Time::NEVER;
            for class in self.path(self.turns[*leaf].class).map(|at| &self.classes[at]) {
                ceilings = ceilings.max(class.ceiling.ready_at(0));
                first = first.min(ceilings.max(class.tokens.ready_at(0)));
            }
            first
        };
        let waiting = (0..self.leaves.len()).filter(|&leaf| self.leaves[leaf].inner.queue.backlog().packets > 0);
        waiting.map(|leaf| of(&leaf)).min().unwrap_or(Time::NEVER)
    }
}

/// What a class's parameters must be.
fn check(class: &ClassParams, ceil: Rate) -> Result<(), ParamError> {
    class.check()?;
    if ceil < class.rate {
        return Err(ParamError::new("ceil", alloc::format!("at least `rate`, which is {}", class.rate), ceil));
    }
    if class.quantum.is_some_and(|quantum| !(1..=1 << 30).contains(&quantum.as_u64())) {
        return Err(ParamError::new("quantum", "from 1 B to 1 GiB", class.quantum.unwrap_or_default()));
    }
    Ok(())
}

impl<P: Pkt> Qdisc<P> for Htb<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        if !self.limit.fits(self.backlog(), pkt.len()) {
            return fate.dropped(pkt, DropReason::Overlimit);
        }
        let leaf = class_of(&self.leaves, &pkt);
        self.leaves[leaf].inner.enqueue(now, pkt, fate);
        self.ready = Time::ZERO; // its class may have tokens
    }
    #[inline]
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        while let Some((leaf, lender)) = self.pick(now, fate) {
            if let Some(pkt) = self.leaves[leaf].inner.queue.dequeue(now, fate) {
                self.charge(leaf, lender, pkt.len());
                self.ready = Time::ZERO;
                return Some(pkt);
            }
        }
        self.ready = self.earliest();
        None
    }
    fn backlog(&self) -> Backlog {
        backlog(&self.leaves)
    }
    fn ready_at(&self) -> Option<Time> {
        Some(if self.backlog().packets == 0 { Time::NEVER } else { self.ready })
    }
    classes::inner_calls!(this =>
        this.leaves.iter().map(|leaf| &leaf.inner.queue),
        this.leaves.iter_mut().map(|leaf| &mut leaf.inner.queue));
    fn keeps_flow_order(&self) -> bool {
        self.leaves.iter().all(|leaf| leaf.inner.queue.keeps_flow_order())
    }
    fn probe(&self, row: &mut Probe) {
        let waiting = self.leaves.iter().filter(|leaf| leaf.inner.queue.backlog().packets > 0).count();
        row.push("classes", "", waiting as f64);
        row.push("tokens", "B", self.classes[0].tokens.bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Recorder, TestPkt, link};

    fn class(name: &str, mbps: u64, dscp: &[u8]) -> ClassParams {
        let fits = Match { dscp: dscp.to_vec(), ..Match::default() };
        let quantum = Some(Bytes::new(750 * mbps.max(1)));
        ClassParams { name: name.into(), rate: Rate::from_mbps(mbps), quantum, fits, ..ClassParams::default() }
    }
    fn below(parent: &str, class: ClassParams) -> ClassParams {
        ClassParams { parent: Some(parent.into()), ..class }
    }
    /// Mbit/s of each DSCP in a second in which those have packets all the time.
    fn rates(classes: Vec<ClassParams>, loaded: &[u8], all: &[u8]) -> Vec<f64> {
        let mut q = Htb::new(&Params { classes, ..Params::default() }, &link()).unwrap();
        let (mut fate, mut now, mut sent) = (Recorder::new(1), Time::ZERO, [0u64; 64]);
        for (id, &dscp) in (0..900 * loaded.len() as u64).zip(loaded.iter().cycle()) {
            q.enqueue(now, TestPkt { dscp, ..TestPkt::new(id, 1500) }, &mut fate);
        }
        while now < Time::ZERO + haltere_units::Dur::from_secs(1) {
            match q.dequeue(now, &mut fate) {
                Some(pkt) => sent[usize::from(pkt.dscp)] += u64::from(pkt.len),
                None => now = q.ready_at().filter(|at| *at > now).expect("it withholds"),
            }
        }
        all.iter().map(|&dscp| sent[usize::from(dscp)] as f64 * 8e-6).collect()
    }
    fn is_about(rates: &[f64], wanted: &[f64]) {
        let close = rates.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 0.1);
        assert!(close && rates.len() == wanted.len(), "{rates:?} and not {wanted:?}");
    }

    #[test]
    fn each_class_has_its_rate_and_shares_the_rest_by_quantum() {
        // Rates of 2 and 4 of 10 Mbit/s; 4 are left, and the quanta are as the rates.
        let classes = || alloc::vec![class("a", 2, &[1]), class("b", 4, &[2])];
        is_about(&rates(classes(), &[1, 2], &[1, 2]), &[2.0 + 4.0 / 3.0, 4.0 + 8.0 / 3.0]);
        is_about(&rates(classes(), &[1], &[1, 2]), &[10.0, 0.0]);
    }
    #[test]
    fn a_ceiling_holds_and_a_lower_priority_number_borrows_first() {
        let ceil = ClassParams { ceil: Some(Rate::from_mbps(3)), ..class("a", 2, &[1]) };
        is_about(&rates(alloc::vec![ceil, class("b", 4, &[2])], &[1, 2], &[1, 2]), &[3.0, 7.0]);
        let late = ClassParams { priority: 1, ..class("a", 2, &[1]) };
        is_about(&rates(alloc::vec![late, class("b", 4, &[2])], &[1, 2], &[1, 2]), &[2.0, 8.0]);
    }
    #[test]
    fn what_a_class_leaves_goes_to_its_sibling_first() {
        // The manual's tree: A (6) has a1 (3) and a2 (3), B has 4. If a2 sends nothing, its 3 go to a1 and not to B.
        let tree = || {
            let a = class("A", 6, &[]);
            alloc::vec![a, below("A", class("a1", 3, &[1])), below("A", class("a2", 3, &[2])), class("B", 4, &[3])]
        };
        is_about(&rates(tree(), &[1, 3], &[1, 2, 3]), &[6.0, 0.0, 4.0]);
        is_about(&rates(tree(), &[1, 2, 3], &[1, 2, 3]), &[3.0, 3.0, 4.0]);
    }
}
