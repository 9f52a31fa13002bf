//! [`Queue`] as a [`Qdisc`]: each call goes to the discipline that it holds.

use crate::{Admission, Backlog, Emits, Fate, Pkt, Qdisc, Queue};
use haltere_units::{Dur, Probe, Time};

impl<P: Pkt> Qdisc<P> for Queue<P> {
    #[inline(never)]
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        each_discipline!(self, it => it.enqueue(now, pkt, fate))
    }
    #[inline(never)]
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        each_discipline!(self, it => it.dequeue(now, fate))
    }
    haltere_units::forward! { each_discipline;
        #[inline]
        fn backlog(&self) -> Backlog;
        fn ready_at(&self) -> Option<Time>;
        fn next_timer(&self) -> Option<Time>;
        fn on_timer(&mut self, now: Time);
        fn on_turn(&mut self, wait: Dur);
        fn emits(&self) -> Emits;
        #[inline]
        fn passes(&self, len: u32) -> bool;
        fn admits(&self) -> bool;
        fn admit(&mut self, backlog: Backlog, pkt: &P) -> Admission;
        #[inline]
        fn upcoming(&self, n: usize) -> Option<&P>;
        fn keeps_flow_order(&self) -> bool;
        fn probe(&self, row: &mut Probe);
        fn state(&self, row: &mut Probe);
    }
}
