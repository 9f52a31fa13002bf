//! RAFLE's router in one line: [`classed`](crate::classed) with the classifier [`rafle`](crate::classify::rafle).
//! Model: `{ kind = "rafle", n = 40 }` is `{ kind = "classed", classifier = { kind = "rafle", n = 40 } }`, with both
//! queues under drop tail.
//! Units and cost: those of the two.

use crate::QueueParams;
use crate::classed::{self, Classed};
use crate::classify::{ClassifierParams, rafle};
use crate::drop_tail;
use crate::service::ServiceParams;
use alloc::boxed::Box;
use haltere_units::Size;

haltere_units::params! {
    /// Two queues, for short and for long flows, separated by the classifier `rafle`: RAFLE's router.
    ///
    /// It is short for `classed` with the classifier `rafle`, both queues under drop tail.
    ///
    /// Source: S. S. Mussi and M. R. N. Ribeiro, SBRC 2013.
    ///
    /// Deviations: those of `classed` and of the classifier `rafle`.
    ///
    /// Known problems: those of `classed` and of the classifier `rafle`.
    pub struct Params: flattens {
        /// The classifier that separates the flows.
        #[serde(flatten)]
        pub classifier: rafle::Params = rafle::Params::default();
        /// Service that selects the next queue.
        pub service: ServiceParams = ServiceParams::RoundRobin(Default::default());
        /// Packet or byte limit of both queues together, above 0. A packet beyond it is dropped before it is
        /// classified.
        pub limit: Size = Size::Packets(1000);
    }
}

impl From<Params> for classed::Params {
    fn from(short: Params) -> classed::Params {
        // The shared limit is the only one: each queue alone could hold it all.
        let queue = || Box::new(QueueParams::DropTail(drop_tail::Params { limit: Size::Packets(u64::from(u32::MAX)) }));
        classed::Params {
            classifier: ClassifierParams::Rafle(short.classifier),
            service: short.service,
            short: queue(),
            long: queue(),
            limit: Some(short.limit),
            remark: false,
        }
    }
}

/// [`Classed`] queues behind the classifier RAFLE.
pub type Rafle<P> = Classed<P>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Recorder, TestPkt, link};
    use crate::{Qdisc, Queue};
    use haltere_units::Time;

    #[test]
    fn it_is_classed_with_rafle_packet_by_packet() {
        let short = Params {
            classifier: rafle::Params { n: 7, ..Default::default() },
            limit: Size::Packets(50),
            ..Params::default()
        };
        let long = QueueParams::Classed(short.clone().into());
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
