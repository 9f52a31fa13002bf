//! [`Queue`] as a [`Qdisc`]: each call goes to the discipline that it holds.

use crate::{Backlog, Emits, Fate, Pkt, Qdisc, Queue};
use haltere_units::{Probe, Time};

impl<P: Pkt> Qdisc<P> for Queue<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        each_discipline!(self, q => q.enqueue(now, pkt, fate))
    }
    #[inline]
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        each_discipline!(self, q => q.dequeue(now, fate))
    }
    #[inline]
    fn backlog(&self) -> Backlog {
        each_discipline!(self, q => q.backlog())
    }
    fn ready_at(&self) -> Option<Time> {
        each_discipline!(self, q => q.ready_at())
    }
    fn next_timer(&self) -> Option<Time> {
        each_discipline!(self, q => q.next_timer())
    }
    fn on_timer(&mut self, now: Time) {
        each_discipline!(self, q => q.on_timer(now))
    }
    fn emits(&self) -> Emits {
        each_discipline!(self, q => q.emits())
    }
    #[inline]
    fn passes(&self, len: u32) -> bool {
        each_discipline!(self, q => q.passes(len))
    }
    #[inline]
    fn upcoming(&self, n: usize) -> Option<&P> {
        each_discipline!(self, q => q.upcoming(n))
    }
    fn keeps_flow_order(&self) -> bool {
        each_discipline!(self, q => q.keeps_flow_order())
    }
    fn probe(&self, row: &mut Probe) {
        each_discipline!(self, q => q.probe(row))
    }
    fn state(&self, row: &mut Probe) {
        each_discipline!(self, q => q.state(row))
    }
}
