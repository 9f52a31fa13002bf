//! Disciplines from outside that keep their contract, and those that do not.

use super::*;
use crate::testing::{Recorder, TestPkt, link};
use crate::{Queue, QueueParams};
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use haltere_units::outside::{self as units, Makers};

/// A first-in first-out queue of two packets that marks what it takes, and misbehaves as its source says.
#[derive(Debug, Clone)]
struct Fifo {
    ids: VecDeque<u64>,
    manner: String,
}

impl OutsideQueue for Fifo {
    fn enqueue(&mut self, _: Time, packet: &PacketView, verdicts: &mut dyn Verdicts) {
        if self.manner == "drops_another" {
            verdicts.drop(packet.id + 7, DropReason::Congestion);
        }
        if self.ids.len() == 2 {
            return verdicts.drop(packet.id, DropReason::Overlimit);
        }
        verdicts.mark(packet.id, MarkReason::Congestion);
        if self.manner != "loses" {
            self.ids.push_back(packet.id);
        }
    }
    fn dequeue(&mut self, _: Time, _: &mut dyn Verdicts) -> Option<u64> {
        match self.manner.as_str() {
            "sends_twice" => self.ids.front().copied(),
            _ => self.ids.pop_front(),
        }
    }
    fn next_timer(&self) -> Option<Time> {
        (self.manner == "stuck_timer").then_some(Time::ZERO)
    }
    fn clone_box(&self) -> Box<dyn OutsideQueue> {
        Box::new(self.clone())
    }
}

struct Test;
impl Maker for Test {
    fn about(&self, at: Location<'_>) -> Result<About, ParamError> {
        Ok(About { name: at.source.into(), ..About::default() })
    }
    fn make(&self, params: &Params, _: &LinkContext) -> Result<Box<dyn OutsideQueue>, ParamError> {
        Ok(Box::new(Fifo { ids: VecDeque::new(), manner: params.source.clone() }))
    }
}

fn queue(manner: &str) -> Queue<TestPkt> {
    queue_and_run(manner).0
}

/// The queue, and where its faults go.
fn queue_and_run(manner: &str) -> (Queue<TestPkt>, units::Outside) {
    let mut makers = Makers::default();
    makers.add::<dyn Maker>("test", Box::new(Test));
    let outside = units::Outside::of(&Arc::new(makers));
    let params = Params { language: "test".into(), source: manner.into(), ..Params::default() };
    let link = LinkContext { outside: outside.clone(), ..link() };
    (Queue::new(&QueueParams::Outside(params), &link).unwrap(), outside)
}

/// What comes out of three packets, and the fault.
fn through(manner: &str) -> (Vec<u64>, Vec<u64>, Option<String>) {
    let ((mut q, run), mut fate) = (queue_and_run(manner), Recorder::new(1));
    (0..3).for_each(|id| q.enqueue(Time::ZERO, TestPkt::new(id, 1500).ecn(Ecn::Ect0), &mut fate));
    let out = (0..4).filter_map(|_| Some(q.dequeue(Time::ZERO, &mut fate)?.id)).collect();
    assert_eq!(q.backlog(), Backlog::default());
    (out, fate.dropped_ids(), run.fault().map(ToString::to_string))
}

#[test]
fn verdicts_are_carried_out_on_the_packets_themselves() {
    let (mut q, mut fate) = (queue("good"), Recorder::new(1));
    q.enqueue(Time::ZERO, TestPkt::new(9, 1500).ecn(Ecn::Ect0), &mut fate);
    q.enqueue(Time::ZERO, TestPkt::new(8, 100), &mut fate);
    assert_eq!(q.backlog(), Backlog { packets: 2, bytes: 1600 });
    let out: Vec<_> = (0..2).map(|_| q.dequeue(Time::ZERO, &mut fate).unwrap()).collect();
    assert_eq!((out[0].id, out[0].ecn, out[1].ecn), (9, Ecn::Ce, Ecn::NotEct), "only capable packets are marked");
    assert_eq!(through("good"), (Vec::from([0, 1]), Vec::from([2]), None));
}

#[test]
fn a_broken_contract_is_a_fault_and_no_packet_is_lost() {
    for (manner, left, told) in [
        ("drops_another", 3, "enqueue must name packets that wait, got a drop of packet 7, which does not"),
        (
            "loses",
            3,
            "dequeue must give a packet, or drop those that wait, got none while 3 packets of 4500 bytes wait",
        ),
        ("sends_twice", 2, "dequeue must name packets that wait, got the number of packet 0, which does not"),
    ] {
        let (out, dropped, fault) = through(manner);
        assert_eq!((out.len(), out.len() + dropped.len()), (left, 3), "{manner}");
        assert_eq!(fault, Some(alloc::format!("test:{manner}: {told}")));
    }
}

#[test]
fn a_timer_that_does_not_advance_is_a_fault() {
    let (mut q, run) = queue_and_run("stuck_timer");
    q.on_timer(Time::ZERO);
    assert_eq!(q.next_timer(), Some(Time::NEVER));
    let fault = run.fault().unwrap().to_string();
    assert_eq!(fault, "test:stuck_timer: on_timer must set a later timer, got one at 0ns or before");
}

#[test]
fn a_copy_has_packets_of_its_own() {
    let (mut q, mut fate) = (queue("good"), Recorder::new(1));
    q.enqueue(Time::ZERO, TestPkt::new(0, 1500), &mut fate);
    let mut copy = q.clone();
    assert!(q.dequeue(Time::ZERO, &mut fate).is_some() && copy.dequeue(Time::ZERO, &mut fate).is_some());
}
