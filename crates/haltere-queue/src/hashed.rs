//! What the fair queues share: flows are hashed into queues, and a queue sends a quantum of bytes in its turn.

use crate::{Bound, LinkContext, Pkt};
use alloc::collections::VecDeque;
use haltere_units::{Bytes, ParamError, Probe, Size};

haltere_units::params! {
    /// The queues of a discipline that gives each flow one, and the limits of all of them together.
    #[derive(Copy)]
    pub struct Queues: part {
        /// Packet or byte limit of all queues together, above 0. The default is Linux's, and RFC 8290's (section
        /// 5.2.3).
        pub limit: Size = Size::Packets(10_240);
        /// Byte limit of all queues together, besides `limit`, above 0. The default is Linux's (tc-fq_codel(8),
        /// tc-fq_pie(8)).
        pub memory_limit: Bytes = Bytes::new(32 << 20), [above 0];
        /// Queues that flows are hashed into, from 1 to 65536. The default is Linux's, and RFC 8290's (section 5.2.4).
        pub flows: u32 = 1024, [from 1 to 65536];
        /// Bytes that a flow may send in its turn, above 0. Left out: the link's full packet (RFC 8290 section 5.2.5).
        pub quantum: Option<Bytes> = None;
    }
}

impl Queues {
    /// The limits, checked: packets or bytes, and bytes.
    pub(crate) fn limits(&self, link: &LinkContext) -> Result<(Bound, u64), ParamError> {
        self.check()?;
        Ok((Bound::new(link.resolve(self.limit))?, self.memory_limit.as_u64()))
    }
    pub(crate) fn hashed(&self, link: &LinkContext) -> Result<Hashed, ParamError> {
        Hashed::new(self.flows, self.quantum, link)
    }
}

/// Queues that flows are hashed into, and what each may send in its turn.
#[derive(Debug, Clone)]
pub(crate) struct Hashed {
    /// How many queues there are.
    pub queues: u32,
    /// Bytes that a queue may send in its turn.
    pub quantum: i64,
    seed: u64,
}

impl Hashed {
    /// So many queues on that link; without a `quantum` a turn is a full packet.
    pub fn new(flows: u32, quantum: Option<Bytes>, link: &LinkContext) -> Result<Hashed, ParamError> {
        let quantum = quantum.unwrap_or(link.packet);
        if !(1..=1 << 30).contains(&quantum.as_u64()) {
            return Err(ParamError::new("quantum", "from 1 B to 1 GiB", quantum).hint("the default is one full packet"));
        }
        Ok(Hashed { queues: flows, quantum: quantum.as_u64() as i64, seed: link.seed })
    }
    /// From now on another hash decides.
    pub fn change(&mut self) {
        self.seed = self.seed.wrapping_add(1);
    }
    /// The queue of a packet: the upper half of its flow's hash, scaled to the number of queues.
    #[inline]
    pub fn queue_of(&self, pkt: &impl Pkt) -> u32 {
        (((pkt.flow().hash(self.seed) >> 32) * u64::from(self.queues)) >> 32) as u32
    }
}

/// The queues that have packets, in the order of their turns: those that were idle first (RFC 8290 section 4).
#[derive(Debug, Clone, Default)]
pub(crate) struct Turns {
    pub new: VecDeque<u32>,
    pub old: VecDeque<u32>,
}

impl Turns {
    /// The queue whose turn it is.
    #[inline]
    pub fn front(&self) -> Option<u32> {
        self.new.front().or_else(|| self.old.front()).copied()
    }
    /// Takes the queue whose turn it is from its list.
    #[inline]
    pub fn pop(&mut self) -> Option<u32> {
        self.new.pop_front().or_else(|| self.old.pop_front())
    }
    /// The queue whose turn it is has spent it: it waits for the next one.
    #[inline]
    pub fn rotate(&mut self) {
        let spent = self.pop();
        self.old.extend(spent);
    }
    /// The queue whose turn it is was found empty. True if it leaves. A new one first passes the list of the others, so
    /// that a flow cannot stay new by sending one packet at a time (RFC 8290 section 4.2).
    #[inline]
    pub fn found_empty(&mut self) -> bool {
        let passes_on = !self.new.is_empty() && !self.old.is_empty();
        let empty = self.pop();
        self.old.extend(empty.filter(|_| passes_on));
        !passes_on
    }
    pub fn probe(&self, row: &mut Probe) {
        row.push("new_flows", "", self.new.len() as f64);
        row.push("old_flows", "", self.old.len() as f64);
    }
}
