//! The list of disciplines. One line here makes a discipline known to experiment files, the command
//! line, Python, the reference pages, the conformance tests and the router.

use crate::{Backlog, Fate, LinkContext, Pkt, Qdisc, Returns};
use alloc::boxed::Box;
use haltere_units::{ParamError, Probe, Time};

macro_rules! disciplines {
    ($($variant:ident, $module:ident, $type:ty);+ $(;)?) => {
        $(use crate::$module;)+

        haltere_units::params_registry! {
            /// A queue discipline with its parameters, told apart by `kind`.
            pub enum QueueParams { $($variant($module::Params) = $module),+ }
        }

        /// Any discipline of the registry. Dispatch is by enum: no virtual call on the hot path. The discipline that thousands of
        /// links have stands in it, the larger ones that a few have in a box.
        #[derive(Debug, Clone)]
        #[expect(missing_docs, reason = "each variant is the discipline of that name")]
        pub enum Queue<P> { $($variant($type)),+ }

        impl<P: Pkt> Queue<P> {
            /// The discipline of these parameters on that link.
            pub fn new(params: &QueueParams, link: &LinkContext) -> Result<Queue<P>, ParamError> {
                Ok(match params { $(QueueParams::$variant(p) => Queue::$variant($module::$variant::new(p, link)?.into())),+ })
            }
        }

        impl<P: Pkt> Qdisc<P> for Queue<P> {
            #[inline]
            fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
                match self { $(Queue::$variant(q) => q.enqueue(now, pkt, fate)),+ }
            }
            #[inline]
            fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
                match self { $(Queue::$variant(q) => q.dequeue(now, fate)),+ }
            }
            #[inline]
            fn backlog(&self) -> Backlog {
                match self { $(Queue::$variant(q) => q.backlog()),+ }
            }
            fn next_timer(&self) -> Option<Time> {
                match self { $(Queue::$variant(q) => q.next_timer()),+ }
            }
            fn on_timer(&mut self, now: Time) {
                match self { $(Queue::$variant(q) => q.on_timer(now)),+ }
            }
            fn returns(&self) -> Returns {
                match self { $(Queue::$variant(q) => q.returns()),+ }
            }
            #[inline]
            fn passes(&self, len: u32) -> bool {
                match self { $(Queue::$variant(q) => q.passes(len)),+ }
            }
            #[inline]
            fn upcoming(&self, n: usize) -> Option<&P> {
                match self { $(Queue::$variant(q) => q.upcoming(n)),+ }
            }
            fn keeps_flow_order(&self) -> bool {
                match self { $(Queue::$variant(q) => q.keeps_flow_order()),+ }
            }
            fn probe(&self, row: &mut Probe) {
                match self { $(Queue::$variant(q) => q.probe(row)),+ }
            }
        }
    };
}

disciplines! {
    DropTail, drop_tail, drop_tail::DropTail<P>;
    PfifoFast, pfifo_fast, Box<pfifo_fast::PfifoFast<P>>;
    Red, red, Box<red::Red<P>>;
    Codel, codel, Box<codel::Codel<P>>;
    FqCodel, fq_codel, Box<fq_codel::FqCodel<P>>;
    Pie, pie, Box<pie::Pie<P>>;
    Threshold, threshold, Box<threshold::Threshold<P>>;
    Classed, classed, Box<classed::Classed<P>>;
    Rafle, rafle, Box<rafle::Rafle<P>>;
}
