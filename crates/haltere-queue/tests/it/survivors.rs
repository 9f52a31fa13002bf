//! What changes of the code did to no test once: a rule, and an input that shows it.

#![allow(missing_docs, reason = "tests")]

use crate::common::{Recorder, TestPkt, link};
use haltere_queue::classify::rafle::{Key, Params, Rafle};
use haltere_queue::classify::{Class, FlowClassifier};
use haltere_queue::{Ecn, FlowKey, Pkt, Qdisc, Queue, QueueParams};
use haltere_units::{Dur, Time};
use serde_json::json;

/// A packet between two ports of two hosts.
#[derive(Debug, Clone)]
struct Datagram {
    protocol: u8,
    port: u16,
}

impl Pkt for Datagram {
    fn len(&self) -> u32 {
        1000
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ce(&mut self) {}
    fn flow(&self) -> FlowKey {
        FlowKey { src: 1, dst: 2, src_port: self.port, dst_port: 9, protocol: self.protocol }
    }
}

/// Takes what happens to such packets.
struct Ignored;

impl haltere_queue::Fate<Datagram> for Ignored {
    fn dropped(&mut self, _: Datagram, _: haltere_queue::DropReason) {}
    fn marked(&mut self, _: &Datagram, _: haltere_queue::MarkReason) {}
    fn random(&mut self) -> u64 {
        0
    }
}

#[test]
fn rafle_compares_the_fields_of_its_key_and_no_others() {
    // A memory of one packet: the second packet is long if it is of the first one's flow.
    let is_one_flow = |key: Key, second: Datagram| {
        let mut rafle = Rafle::new(&Params { n: 1, key, draws: 1 }, &link()).expect("a classifier");
        let first = Datagram { protocol: 6, port: 7 };
        [first, second].map(|pkt| rafle.classify(Time::ZERO, &pkt, &mut Ignored) == Class::Long)
    };
    let (same, other_port) = (Datagram { protocol: 6, port: 7 }, Datagram { protocol: 6, port: 8 });
    let (other_protocol, both) = (Datagram { protocol: 17, port: 7 }, Datagram { protocol: 17, port: 8 });
    for (key, want) in [
        (Key::AddressesAndPorts, [true, false, true, false]),
        (Key::FiveTuple, [true, false, false, false]),
        (Key::Addresses, [true; 4]),
    ] {
        let seconds = [same.clone(), other_port.clone(), other_protocol.clone(), both.clone()];
        assert_eq!(seconds.map(|second| is_one_flow(key, second)), want.map(|long| [false, long]), "{key:?}");
    }
}

#[test]
fn a_policer_has_the_timer_of_its_inner_discipline() {
    // 8 Mbit/s is a byte a microsecond: a second packet of 1000 bytes leaves the inner shaper 500 us after the first.
    let shaper = json!({ "kind": "tbf", "rate": "8Mbit", "burst": "1500B" });
    let params = json!({ "kind": "policer", "rate": "100Mbit", "burst": "9kB", "queue": shaper });
    let params: QueueParams = serde_json::from_value(params).expect("parameters");
    let (mut queue, mut fate) = (Queue::<TestPkt>::new(&params, &link()).expect("a queue"), Recorder::new(1));
    (0..2).for_each(|id| queue.enqueue(Time::ZERO, TestPkt::new(id, 1000), &mut fate));
    assert_eq!(queue.dequeue(Time::ZERO, &mut fate).map(|pkt| pkt.id), Some(0));
    assert!(queue.dequeue(Time::ZERO, &mut fate).is_none());
    let due = Time::ZERO + Dur::from_us(500);
    assert_eq!(queue.ready_at(), Some(due));
    assert_eq!(queue.dequeue(due, &mut fate).map(|pkt| pkt.id), Some(1));
}
