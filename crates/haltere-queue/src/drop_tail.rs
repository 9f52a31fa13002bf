//! Drop tail: one first-in first-out queue that drops what arrives when it is full.
//! Source: RFC 7567 section 1.1 (as the practice that active queue management replaces). Deviations: none.
//! Model: a packet is kept while the limit, in packets or bytes, allows it.
//! Units: packets or bytes as the limit is written. Cost: O(1) a packet.
//! Known problems: full queues and lockout, which is why the others exist.

use crate::{Backlog, DropReason, Fate, LinkContext, Pkt, Qdisc, Store};
use haltere_units::{ParamError, Size, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// First in, first out; what arrives at a full queue is dropped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// What the queue may hold. Default 1000 packets: Linux's `txqueuelen`.
    pub limit: Size,
}

impl Default for Params {
    fn default() -> Params {
        Params { limit: Size::Packets(1000) }
    }
}

/// The discipline.
#[derive(Debug, Clone)]
pub struct DropTail<P> {
    store: Store<P>,
}

impl<P: Pkt> DropTail<P> {
    /// A queue of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        Ok(DropTail { store: Store::new(link.resolve(params.limit))? })
    }
}

impl<P: Pkt> Qdisc<P> for DropTail<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        if let Err(pkt) = self.store.push(now, pkt) {
            fate.dropped(pkt, DropReason::Overlimit);
        }
    }
    #[inline]
    fn dequeue(&mut self, _now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        self.store.pop().map(|(_, pkt)| pkt)
    }
    #[inline]
    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }
}
