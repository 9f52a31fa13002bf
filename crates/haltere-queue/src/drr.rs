//! DRR: deficit round robin over classes.
//! Model: a class gets `quantum` bytes at its turn. It sends while its next packet is no longer than what it has left,
//! and keeps the rest for its next turn. A class without packets keeps nothing.
//! Units: bytes. Cost: that of the inner queue, O(classes) for the match of an arrival, and O(1) a turn.

use crate::classes::{self, Leaf, Match, backlog, class_of};
use crate::{Backlog, Bound, DropReason, Fate, LinkContext, Pkt, Qdisc, QueueParams};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use haltere_units::{Bytes, ParamError, Probe, Size, Time};

haltere_units::params! {
    /// Deficit round robin: classes share the link in proportion to their quanta, whatever the lengths of their
    /// packets.
    ///
    /// Source: M. Shreedhar and G. Varghese, "Efficient fair queueing using deficit round robin", ACM SIGCOMM 1995;
    /// tc-drr(8).
    ///
    /// Deviations: `classes` takes the place of Linux's classes and filters. A packet that matches none belongs to the
    /// last class.
    ///
    /// Known problems: a flow waits for a turn of each other class. Within a class flows are not separated, unless by
    /// `queue`. A packet that waits for its class's deficit is out of the class's queue, which so has room for one more;
    /// Linux counts it.
    pub struct Params {
        /// The classes, at least one. A packet belongs to the first that it matches.
        pub classes: Vec<ClassParams> = alloc::vec![ClassParams::default()];
        /// Packet or byte limit of all classes together, above 0. Left out: only the classes' own limits count.
        pub limit: Option<Size> = None;
    }
    /// A class of packets with its share of the link.
    #[schemars(rename = "DrrClass")]
    pub struct ClassParams {
        /// The packets of the class. Left out: all.
        #[serde(rename = "match")]
        pub fits: Match = Default::default();
        /// Bytes that it may send in its turn, from 64 B to 1 GiB. Left out: the link's full packet.
        pub quantum: Option<Bytes> = None;
        /// Discipline of its packets, with its own limit. Left out: first in, first out with 1000 packets.
        pub queue: Option<Box<QueueParams>> = None;
    }
}

#[derive(Debug, Clone)]
struct Class<P> {
    quantum: i64,
    deficit: i64,
    /// The packet that leaves next. The inner queue gave it out already.
    head: Option<P>,
    listed: bool,
}

/// A queue under DRR.
#[derive(Debug, Clone)]
pub struct Drr<P> {
    leaves: Vec<Leaf<P>>,
    classes: Vec<Class<P>>,
    /// The classes that have packets, in the order of their turns.
    turns: VecDeque<usize>,
    limit: Bound,
    held: Backlog,
}

impl<P: Pkt> Drr<P> {
    /// A queue of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        if params.classes.is_empty() {
            return Err(ParamError::new("classes", "at least one", 0));
        }
        let class = |params: &ClassParams| {
            let quantum = params.quantum.unwrap_or(link.packet);
            if !(64..=1 << 30).contains(&quantum.as_u64()) {
                return Err(
                    ParamError::new("quantum", "from 64 B to 1 GiB", quantum).hint("the default is one full packet")
                );
            }
            Ok(Class { quantum: quantum.as_u64() as i64, deficit: 0, head: None, listed: false })
        };
        let leaf = |params: &ClassParams| Leaf::new(&params.fits, params.queue.as_deref(), link);
        Ok(Drr {
            leaves: params.classes.iter().map(leaf).collect::<Result<_, _>>()?,
            classes: params.classes.iter().map(class).collect::<Result<_, _>>()?,
            turns: VecDeque::new(),
            limit: Bound::optional(params.limit, link)?,
            held: Backlog::default(),
        })
    }
    /// The length of a class's next packet, which its queue then has given out.
    #[inline]
    fn peek(&mut self, at: usize, now: Time, fate: &mut impl Fate<P>) -> Option<u32> {
        let class = &mut self.classes[at];
        if class.head.is_none() && self.leaves[at].inner.waits(now, fate) {
            class.head = self.leaves[at].inner.queue.dequeue(now, fate);
            if let Some(head) = &class.head {
                self.held.add(head.len());
            }
        }
        class.head.as_ref().map(P::len)
    }
}

impl<P: Pkt> Qdisc<P> for Drr<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        if !self.limit.fits(self.backlog(), pkt.len()) {
            return fate.dropped(pkt, DropReason::Overlimit);
        }
        let at = class_of(&self.leaves, &pkt);
        self.leaves[at].inner.enqueue(now, pkt, fate);
        let class = &mut self.classes[at];
        if !class.listed && self.leaves[at].inner.queue.backlog().packets > 0 {
            (class.listed, class.deficit) = (true, class.quantum);
            self.turns.push_back(at);
        }
    }
    #[inline]
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        loop {
            let at = *self.turns.front()?;
            let Some(len) = self.peek(at, now, fate) else {
                self.turns.pop_front();
                self.classes[at].listed = false;
                continue;
            };
            let class = &mut self.classes[at];
            if i64::from(len) > class.deficit {
                class.deficit += class.quantum;
                self.turns.rotate_left(1);
                continue;
            }
            class.deficit -= i64::from(len);
            self.held.remove(len);
            return class.head.take();
        }
    }
    #[inline]
    fn backlog(&self) -> Backlog {
        backlog(&self.leaves) + self.held
    }
    classes::inner_calls!(this =>
        this.leaves.iter().map(|leaf| &leaf.inner.queue),
        this.leaves.iter_mut().map(|leaf| &mut leaf.inner.queue));
    fn keeps_flow_order(&self) -> bool {
        self.leaves.iter().all(|leaf| leaf.inner.queue.keeps_flow_order())
    }
    fn probe(&self, row: &mut Probe) {
        row.push("classes", "", self.turns.len() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Recorder, TestPkt, link};

    fn class(dscp: &[u8], quantum: u64) -> ClassParams {
        let fits = Match { dscp: dscp.to_vec(), ..Match::default() };
        ClassParams { fits, quantum: Some(Bytes::new(quantum)), queue: None }
    }
    fn order(classes: Vec<ClassParams>, packets: &[(u8, u32)]) -> Vec<u64> {
        let mut q = Drr::new(&Params { classes, limit: None }, &link()).unwrap();
        let mut fate = Recorder::new(1);
        for (id, &(dscp, len)) in (0..).zip(packets) {
            q.enqueue(Time::ZERO, TestPkt { dscp, ..TestPkt::new(id, len) }, &mut fate);
        }
        core::iter::from_fn(|| q.dequeue(Time::ZERO, &mut fate)).map(|pkt| pkt.id).collect()
    }

    #[test]
    fn the_example_of_the_paper() {
        // Figures 1 and 2: a quantum of 500, packets of 200, 750 and 20 in the first queue, of 500 and 500 in the
        // second. The first sends 200 and keeps 300; the second sends one; with 800 the first sends 750, keeps 50, and
        // sends 20 as well.
        let classes = alloc::vec![class(&[10], 500), class(&[], 500)];
        let sent = order(classes, &[(10, 200), (10, 750), (10, 20), (0, 500), (0, 500)]);
        assert_eq!(sent, [0, 3, 1, 2, 4]);
    }
    #[test]
    fn quanta_are_weights() {
        let classes = alloc::vec![class(&[10], 3000), class(&[], 1000)];
        let packets: Vec<_> = (0..80).map(|id| (if id % 2 == 0 { 10 } else { 0 }, 1000)).collect();
        let sent = order(classes, &packets);
        assert_eq!(sent[..40].iter().filter(|id| *id % 2 == 0).count(), 30);
    }
    #[test]
    fn a_packet_that_fits_no_class_is_in_the_last() {
        let classes = alloc::vec![class(&[10], 1500), class(&[46], 1500)];
        assert_eq!(order(classes, &[(0, 100), (10, 100), (46, 100)]), [0, 2, 1]);
    }
}
