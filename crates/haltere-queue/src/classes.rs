//! What the classful disciplines (`htb`, `drr`) share: which class a packet is in, and the discipline inside each
//! class.

use crate::{Backlog, Fate, LinkContext, Pkt, Qdisc, Queue, QueueParams, drop_tail};
use alloc::boxed::Box;
use alloc::vec::Vec;
use haltere_units::{ParamError, Time};

haltere_units::params! {
    /// The packets of a class: those that meet every given condition. Without a condition: all.
    pub struct Match {
        /// DSCPs, each from 0 to 63. Left out: any.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub dscp: Vec<u8> = Default::default();
        /// Ports, source or destination. Left out: any.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub ports: Vec<u16> = Default::default();
        /// IP protocol numbers (6 TCP, 17 UDP). Left out: any.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub protocols: Vec<u8> = Default::default();
    }
}

impl Match {
    /// True if every packet matches.
    pub fn is_any(&self) -> bool {
        *self == Match::default()
    }
    /// An error if no packet can match.
    pub fn check_dscp(&self) -> Result<(), ParamError> {
        self.dscp
            .iter()
            .find(|&&dscp| dscp > 63)
            .map_or(Ok(()), |dscp| Err(ParamError::new("dscp", "from 0 to 63", dscp)))
    }
    #[inline]
    fn fits(&self, pkt: &impl Pkt) -> bool {
        if self.is_any() {
            return true;
        }
        let flow = pkt.flow();
        let has = |list: &[u16], port| list.contains(&port);
        (self.dscp.is_empty() || self.dscp.contains(&pkt.dscp()))
            && (self.protocols.is_empty() || self.protocols.contains(&flow.protocol))
            && (self.ports.is_empty() || has(&self.ports, flow.src_port) || has(&self.ports, flow.dst_port))
    }
}

/// A discipline inside another.
#[derive(Debug, Clone)]
pub(crate) struct Inner<P> {
    pub queue: Box<Queue<P>>,
    /// The queue had no packet at a dequeue since its last arrival: its discipline knows that it idles.
    pub knows_idle: bool,
}

impl<P: Pkt> Inner<P> {
    /// The discipline that the outer one has under that name.
    pub fn new(name: &'static str, params: &QueueParams, link: &LinkContext) -> Result<Inner<P>, ParamError> {
        Ok(Inner { queue: Box::new(Queue::inside(name, params, link)?), knows_idle: false })
    }
    #[inline]
    pub fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        self.knows_idle = false;
        self.queue.enqueue(now, pkt, fate);
    }
    /// True if packets wait. A queue that ran empty gets one more dequeue, so that its discipline knows when it idles.
    #[inline]
    pub fn waits(&mut self, now: Time, fate: &mut impl Fate<P>) -> bool {
        if self.queue.backlog().packets > 0 {
            return true;
        }
        if !self.knows_idle {
            let none = self.queue.dequeue(now, fate);
            debug_assert!(none.is_none(), "a packet out of an empty queue");
            self.knows_idle = true;
        }
        false
    }
}

/// A class's packets and the discipline under which they wait.
#[derive(Debug, Clone)]
pub(crate) struct Leaf<P> {
    fits: Match,
    pub inner: Inner<P>,
}

impl<P: Pkt> Leaf<P> {
    /// A class of those packets; without a discipline they wait first in, first out.
    pub fn new(fits: &Match, queue: Option<&QueueParams>, link: &LinkContext) -> Result<Leaf<P>, ParamError> {
        fits.check_dscp()?;
        let tail = QueueParams::DropTail(drop_tail::Params::default());
        Ok(Leaf { fits: fits.clone(), inner: Inner::new("queue", queue.unwrap_or(&tail), link)? })
    }
}

/// The first class of which the packet is; the last if none has it.
#[inline]
pub(crate) fn class_of<P: Pkt>(leaves: &[Leaf<P>], pkt: &P) -> usize {
    leaves.iter().position(|leaf| leaf.fits.fits(pkt)).unwrap_or(leaves.len() - 1)
}

/// What waits in all classes.
pub(crate) fn backlog<P: Pkt>(leaves: &[Leaf<P>]) -> Backlog {
    leaves.iter().map(|leaf| leaf.inner.queue.backlog()).sum()
}

/// The calls of a discipline that those inside it answer: the expressions list them, by reference and to be changed.
macro_rules! inner_calls {
    ($this:ident => $all:expr, $all_mut:expr) => {
        fn next_timer(&self) -> Option<Time> {
            let $this = self;
            $all.filter_map(|queue| queue.next_timer()).min()
        }
        fn on_timer(&mut self, now: Time) {
            let $this = self;
            $all_mut
                .filter(|queue| queue.next_timer().is_some_and(|at| at <= now))
                .for_each(|queue| queue.on_timer(now));
        }
        fn on_turn(&mut self, wait: haltere_units::Dur) {
            let $this = self;
            $all_mut.for_each(|queue| queue.on_turn(wait));
        }
        fn emits(&self) -> $crate::Emits {
            let $this = self;
            $all.map(|queue| queue.emits()).max().unwrap_or_default()
        }
    };
}
pub(crate) use inner_calls;
