//! Packets in flight on one link.

use alloc::collections::VecDeque;
use haltere_units::Time;

/// Packets in flight, and those of them that are held back so that later packets overtake them. Each list is in order
/// of delivery.
#[derive(Debug, Clone)]
pub(super) struct Flight<P> {
    in_order: VecDeque<(Time, P)>,
    held_back: VecDeque<(Time, P)>,
}

impl<P> Flight<P> {
    pub fn new() -> Flight<P> {
        Flight { in_order: VecDeque::new(), held_back: VecDeque::new() }
    }
    pub fn len(&self) -> usize {
        self.in_order.len() + self.held_back.len()
    }
    /// The packet is delivered at `due`, which is not before that of the packet pushed last.
    pub fn push(&mut self, due: Time, packet: P) {
        self.in_order.push_back((due, packet));
    }
    /// The packet is held back until `due`, and goes after those that are due by then.
    pub fn hold_back(&mut self, due: Time, packet: P) {
        let at = self.held_back.partition_point(|(other, _)| *other <= due);
        self.held_back.insert(at, (due, packet));
    }
    /// The next packet, and when it is delivered.
    pub fn first(&self) -> Option<(Time, &P)> {
        let firsts = [self.in_order.front(), self.held_back.front()].into_iter().flatten();
        firsts.min_by_key(|(due, _)| *due).map(|(due, packet)| (*due, packet))
    }
    /// When the next packet is delivered.
    pub fn next(&self) -> Option<Time> {
        self.first().map(|(due, _)| due)
    }
    /// The next packet and its time, if it is delivered by `now`.
    pub fn pop(&mut self, now: Time) -> Option<(Time, P)> {
        let due = self.next().filter(|due| *due <= now)?;
        let list = if self.in_order.front().is_some_and(|(at, _)| *at == due) {
            &mut self.in_order
        } else {
            &mut self.held_back
        };
        list.pop_front()
    }
}
