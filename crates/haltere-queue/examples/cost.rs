//! What a packet costs in each discipline, in ns, and over CoDel's: `cargo run --release -p haltere-queue --example cost`.
//!
//! Sixteen flows keep about 32 packets in the queue, the time goes on as on a link of 1 Gbit/s, and each packet is enqueued and dequeued.
//! Shapers have a rate above the link's, so that they withhold nothing. The figure is the least of seven runs.
#![allow(clippy::print_stdout, reason = "it prints a table")]
#![allow(clippy::disallowed_methods, reason = "it measures time")]

use haltere_queue::{DropReason, Ecn, Fate, FlowKey, LinkContext, MarkReason, Pkt, Qdisc, Queue, QueueParams};
use haltere_units::{Bytes, Dur, Rate, Time};
use std::time::Instant;

const PACKETS: u64 = 400_000;
const WAITING: u64 = 32;
const RUNS: usize = 7;

/// A packet as large as the simulator's.
#[derive(Clone, Copy)]
struct Packet {
    flow: u16,
    ecn: Ecn,
    _rest: [u64; 6],
}

impl Pkt for Packet {
    fn len(&self) -> u32 {
        1500
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn flow(&self) -> FlowKey {
        FlowKey { src: 1, dst: 2 + u128::from(self.flow % 4), src_port: self.flow, dst_port: 80, protocol: 6 }
    }
}

struct Count {
    dropped: u64,
    state: u64,
}

impl Fate<Packet> for Count {
    fn dropped(&mut self, _: Packet, _: DropReason) {
        self.dropped += 1;
    }
    fn marked(&mut self, _: &Packet, _: MarkReason) {}
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.state
    }
}

/// Nanoseconds a packet.
fn cost(params: &QueueParams) -> f64 {
    let link = LinkContext {
        rate: Some(Rate::from_mbps(1000)),
        rtt: Some(Dur::from_ms(10)),
        packet: Bytes::new(1500),
        seed: 1,
    };
    let mut queue = Queue::new(params, &link).expect("parameters");
    let (mut fate, mut now) = (Count { dropped: 0, state: 1 }, Time::ZERO);
    let began = Instant::now();
    for id in 0..PACKETS {
        now += Dur::from_us(12);
        while queue.next_timer().is_some_and(|at| at <= now) {
            queue.on_timer(now);
        }
        queue.enqueue(now, Packet { flow: (id % 16) as u16, ecn: Ecn::Ect0, _rest: [0; 6] }, &mut fate);
        if id >= WAITING {
            queue.dequeue(now, &mut fate);
        }
    }
    began.elapsed().as_nanos() as f64 / PACKETS as f64
}

fn main() {
    let of = |text: &str| -> QueueParams { serde_json::from_str(text).expect(text) };
    let shaped = [
        r#"{"kind": "tbf", "rate": "2Gbit", "burst": "1MB"}"#,
        r#"{"kind": "htb", "rate": "2Gbit"}"#,
        r#"{"kind": "cake", "bandwidth": "2Gbit"}"#,
        r#"{"kind": "policer", "rate": "2Gbit"}"#,
    ];
    let plain = QueueParams::NAMES.iter().filter(|name| !["tbf", "htb", "policer"].contains(name));
    let all = plain.map(|name| QueueParams::default_of(name).expect("a name")).chain(shaped.map(of));
    let least = |params: &QueueParams| (0..RUNS).map(|_| cost(params)).fold(f64::INFINITY, f64::min);
    let codel = least(&of(r#"{"kind": "codel"}"#));
    for params in all {
        let ns = least(&params);
        println!("{:<14} {ns:6.1} ns  {:.2}", params.kind(), ns / codel);
    }
}
