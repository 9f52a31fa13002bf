//! What the fair queues share: flows are hashed into queues, and a queue sends a quantum of bytes in its turn.

use crate::{LinkContext, Pkt};
use haltere_units::{Bytes, ParamError};

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
