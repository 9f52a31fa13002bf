//! What the fair queues share: flows are hashed into queues, and a queue sends a quantum of bytes in its turn.

use crate::{Bound, LinkContext, Pkt};
use haltere_units::{Bytes, ParamError, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The queues of a discipline that gives each flow one, and the limits of all of them together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Queues {
    /// Packet or byte limit of all queues together, above 0. The default is Linux's, and RFC 8290's (section 5.2.3).
    pub limit: Size,
    /// Byte limit of all queues together, besides `limit`, above 0. The default is Linux's (tc-fq_codel(8),
    /// tc-fq_pie(8)).
    pub memory_limit: Bytes,
    /// Queues that flows are hashed into, from 1 to 65536. The default is Linux's, and RFC 8290's (section 5.2.4).
    pub flows: u32,
    /// Bytes that a flow may send in its turn, above 0. Left out: the link's full packet (RFC 8290 section 5.2.5).
    pub quantum: Option<Bytes>,
}

impl Default for Queues {
    fn default() -> Queues {
        Queues { limit: Size::Packets(10_240), memory_limit: Bytes::new(32 << 20), flows: 1024, quantum: None }
    }
}

impl Queues {
    /// The limits, checked: packets or bytes, and bytes.
    pub(crate) fn limits(&self, link: &LinkContext) -> Result<(Bound, u64), ParamError> {
        if self.memory_limit == Bytes::ZERO {
            let usual = Queues::default().memory_limit;
            return Err(ParamError::new("memory_limit", "above 0", self.memory_limit).default_is(usual));
        }
        Ok((Bound::new(link.resolve(self.limit))?, self.memory_limit.as_u64()))
    }
    pub(crate) fn hashed(&self, link: &LinkContext) -> Result<Hashed, ParamError> {
        Hashed::new(self.flows, Queues::default().flows, self.quantum, link)
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
    /// So many queues on that link; without a `quantum` a turn is a full packet. `usual` is the default of `flows`.
    pub fn new(flows: u32, usual: u32, quantum: Option<Bytes>, link: &LinkContext) -> Result<Hashed, ParamError> {
        if !(1..=65_536).contains(&flows) {
            return Err(ParamError::new("flows", "from 1 to 65536", flows).default_is(usual));
        }
        let quantum = quantum.unwrap_or(link.packet);
        if !(1..=1 << 30).contains(&quantum.as_u64()) {
            return Err(ParamError::new("quantum", "from 1 B to 1 GiB", quantum).hint("the default is one full packet"));
        }
        Ok(Hashed { queues: flows, quantum: quantum.as_u64() as i64, seed: link.seed })
    }
    /// The queue of a packet: the upper half of its flow's hash, scaled to the number of queues.
    #[inline]
    pub fn queue_of(&self, pkt: &impl Pkt) -> u32 {
        (((pkt.flow().hash(self.seed) >> 32) * u64::from(self.queues)) >> 32) as u32
    }
}
