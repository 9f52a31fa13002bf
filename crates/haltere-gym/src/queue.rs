//! A queue whose probability of a drop or mark is decided from outside.
//! Source: none. Deviations: none.
//! Model: first in, first out, with a limit. A packet that arrives is marked, or dropped if it cannot be marked, with
//! the probability.
//! Units: packets or bytes, as the limit is written. Cost: O(1) a packet. Known problems: none.

use haltere_queue::outside::{OutsideQueue, PacketView, Verdicts};
use haltere_queue::{Backlog, Bound, DropReason, MarkReason};
use haltere_units::{Probe, Time};
use std::any::Any;
use std::collections::VecDeque;

#[derive(Debug, Clone)]
pub struct DecidedQueue {
    bound: Bound,
    /// It marks packets that can be marked.
    ecn: bool,
    probability: f64,
    waiting: VecDeque<u64>,
}

impl DecidedQueue {
    /// A queue with that bound, and probability 0.
    pub fn new(bound: Bound, ecn: bool) -> DecidedQueue {
        DecidedQueue { bound, ecn, probability: 0.0, waiting: VecDeque::new() }
    }
    /// The probability of a drop or mark.
    pub fn probability(&self) -> f64 {
        self.probability
    }
    /// From now on this is the probability of a drop or mark.
    pub fn decide(&mut self, probability: f64) {
        self.probability = probability;
    }
    fn is_hit(&self, verdicts: &mut dyn Verdicts) -> bool {
        const UNIT: f64 = 1.0 / (1u64 << 53) as f64;
        self.probability > 0.0 && ((verdicts.random() >> 11) as f64 * UNIT) < self.probability
    }
}

impl OutsideQueue for DecidedQueue {
    fn enqueue(&mut self, _now: Time, packet: &PacketView, verdicts: &mut dyn Verdicts) {
        let Backlog { packets, bytes } = verdicts.backlog();
        let before = Backlog { packets: packets - 1, bytes: bytes - u64::from(packet.len) };
        if !self.bound.fits(before, packet.len) {
            return verdicts.drop(packet.id, DropReason::Overlimit);
        }
        if self.is_hit(verdicts) && !(self.ecn && verdicts.mark(packet.id, MarkReason::Congestion)) {
            return verdicts.drop(packet.id, DropReason::Congestion);
        }
        self.waiting.push_back(packet.id);
    }
    fn dequeue(&mut self, _now: Time, _verdicts: &mut dyn Verdicts) -> Option<u64> {
        self.waiting.pop_front()
    }
    fn probe(&self, row: &mut Probe) {
        row.push("probability", "1", self.probability);
    }
    fn clone_box(&self) -> Box<dyn OutsideQueue> {
        Box::new(self.clone())
    }
    fn as_any_mut(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_queue::{Ecn, Fate, FlowKey, LinkContext, Pkt, Qdisc, Queue, QueueParams};
    use haltere_units::{Bytes, Size};

    struct Packet(Ecn);
    impl Pkt for Packet {
        fn len(&self) -> u32 {
            1000
        }
        fn ecn(&self) -> Ecn {
            self.0
        }
        fn set_ce(&mut self) {
            self.0 = Ecn::Ce;
        }
        fn flow(&self) -> FlowKey {
            FlowKey::default()
        }
    }
    /// Counts drops for want of room, other drops, and marks; draws 1/4.
    #[derive(Default)]
    struct Count([u32; 3]);
    impl Fate<Packet> for Count {
        fn dropped(&mut self, _: Packet, reason: DropReason) {
            self.0[usize::from(reason == DropReason::Congestion)] += 1;
        }
        fn marked(&mut self, _: &Packet, _: MarkReason) {
            self.0[2] += 1;
        }
        fn random(&mut self) -> u64 {
            1 << 62
        }
    }

    fn after(probability: f64, ecn: Ecn) -> ([u32; 3], u32) {
        let mut makers = haltere_units::outside::Makers::default();
        crate::add(&mut makers);
        let outside = haltere_units::outside::Outside::of(&std::sync::Arc::new(makers));
        let params = QueueParams::Outside(crate::makers::queue_params(Size::Packets(2), true));
        let link = LinkContext { rate: None, rtt: None, packet: Bytes::new(1000), seed: 1, outside };
        let (mut queue, mut count) = (Queue::new(&params, &link).unwrap(), Count::default());
        let Queue::Outside(outside) = &mut queue else { panic!("it is one") };
        let decided: &mut DecidedQueue = outside.discipline_mut().as_any_mut().unwrap().downcast_mut().unwrap();
        decided.decide(probability);
        (0..3).for_each(|_| queue.enqueue(Time::ZERO, Packet(ecn), &mut count));
        let waiting = queue.backlog().packets;
        while queue.dequeue(Time::ZERO, &mut count).is_some() {}
        (count.0, waiting)
    }

    #[test]
    fn packets_are_dropped_or_marked_with_the_probability_and_for_want_of_room() {
        assert_eq!(after(0.0, Ecn::Ect0), ([1, 0, 0], 2));
        assert_eq!(after(0.2, Ecn::Ect0), ([1, 0, 0], 2), "drawn above it");
        assert_eq!(after(0.3, Ecn::NotEct), ([0, 3, 0], 0), "drawn below it");
        assert_eq!(after(0.3, Ecn::Ect0), ([1, 0, 2], 2), "marked instead");
    }
}
