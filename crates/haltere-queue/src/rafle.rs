//! RAFLE's router in one line: [`classed`](crate::classed) with the classifier [`rafle`](crate::classify::rafle).
//! Source, deviations and known problems: see [`Params`].
//! Model: `{ kind = "rafle", n = 40 }` is `{ kind = "classed", classifier = { kind = "rafle", n = 40 } }`, with both
//! queues under drop tail.
//! Units and cost: those of the two.

use crate::classed::{self, Classed};
use crate::classify::{ClassifierParams, rafle};
use crate::drop_tail;
use crate::service::ServiceParams;
use crate::{Backlog, Fate, LinkContext, Pkt, Qdisc, QueueParams};
use alloc::boxed::Box;
use haltere_units::{ParamError, Probe, Size, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Two queues, for short and for long flows, separated by the classifier `rafle`: RAFLE's router.
///
/// It is short for `classed` with the classifier `rafle`, both queues under drop tail.
///
/// Source: S. S. Mussi and M. R. N. Ribeiro, SBRC 2013.
///
/// Deviations: those of `classed` and of the classifier `rafle`.
///
/// Known problems: those of `classed` and of the classifier `rafle`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Packets remembered, from 1 to 1048576. The default is the paper's choice (table 1).
    pub n: u32,
    /// Header fields that make two packets one flow. The default is the paper's twelve bytes.
    pub key: rafle::Key,
    /// Places drawn for each packet, from 1 to 1000. One hit is enough for `long`. The default is the paper's.
    pub draws: u32,
    /// Service that selects the next queue.
    pub service: ServiceParams,
    /// Packet or byte limit of both queues together, above 0. A packet beyond it is dropped before it is classified.
    pub limit: Size,
}

impl Default for Params {
    fn default() -> Params {
        let rafle::Params { n, key, draws } = rafle::Params::default();
        Params { n, key, draws, service: ServiceParams::RoundRobin(Default::default()), limit: Size::Packets(1000) }
    }
}

impl Params {
    /// The same, written out.
    fn classed(&self) -> classed::Params {
        let Params { n, key, draws, .. } = *self;
        // The shared limit is the only one: each queue alone could hold it all.
        let queue = || Box::new(QueueParams::DropTail(drop_tail::Params { limit: Size::Packets(u64::from(u32::MAX)) }));
        classed::Params {
            classifier: ClassifierParams::Rafle(rafle::Params { n, key, draws }),
            service: self.service.clone(),
            short: queue(),
            long: queue(),
            limit: Some(self.limit),
            remark: false,
        }
    }
}

/// [`classed`](crate::classed) queues behind the classifier RAFLE.
#[derive(Debug, Clone)]
pub struct Rafle<P>(Classed<P>);

impl<P: Pkt> Rafle<P> {
    /// A queue of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        Classed::new(&params.classed(), link).map(Rafle)
    }
}

impl<P: Pkt> Qdisc<P> for Rafle<P> {
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        self.0.enqueue(now, pkt, fate);
    }
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        self.0.dequeue(now, fate)
    }
    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }
    fn keeps_flow_order(&self) -> bool {
        self.0.keeps_flow_order()
    }
    fn probe(&self, row: &mut Probe) {
        self.0.probe(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Queue;
    use crate::testing::{Recorder, TestPkt, link};

    #[test]
    fn it_is_classed_with_rafle_packet_by_packet() {
        let short = Params { n: 7, limit: Size::Packets(50), ..Params::default() };
        let long = QueueParams::Classed(short.classed());
        let out = [QueueParams::Rafle(short), long].map(|params| {
            let (mut q, mut fate) = (Queue::<TestPkt>::new(&params, &link()).unwrap(), Recorder::new(3));
            (0..80).for_each(|id| q.enqueue(Time::ZERO, TestPkt::new(id, 100).flow((id % 3) as u16), &mut fate));
            let sent: alloc::vec::Vec<u64> =
                core::iter::from_fn(|| q.dequeue(Time::ZERO, &mut fate)).map(|p| p.id).collect();
            (sent, fate.dropped_ids())
        });
        assert_eq!(out[0], out[1]);
        assert_eq!(out[0].0.len(), 50);
    }
}
