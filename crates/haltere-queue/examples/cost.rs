//! What a packet costs in each discipline, in ns, and over CoDel's: `cargo run --release -p haltere-queue --example
//! cost`.
//!
//! Sixteen flows keep about 32 packets in the queue, the time goes on as on a link of 1 Gbit/s, and each packet is
//! enqueued and dequeued. Shapers have a rate above the link's, so that they withhold nothing. The disciplines take
//! turns, and the figure is the least of fifteen runs.
//!
//! `cost PACKETS NAME` plays so many packets to one discipline, `cost names` lists them: for `benches/costs.py`, which
//! counts instructions.
#![allow(clippy::print_stdout, reason = "it prints a table")]
#![allow(clippy::disallowed_methods, reason = "it measures time")]

use haltere_queue::{DropReason, Ecn, Fate, FlowKey, LinkContext, MarkReason, Pkt, Qdisc, Queue, QueueParams};
use haltere_units::{Bytes, Dur, Rate, Time};
use std::time::Instant;

const PACKETS: u64 = 200_000;
const WAITING: u64 = 32;
const RUNS: usize = 15;

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

/// Plays so many packets to a discipline.
fn play(params: &QueueParams, packets: u64) {
    let link = LinkContext {
        rate: Some(Rate::from_mbps(1000)),
        rtt: Some(Dur::from_ms(10)),
        packet: Bytes::new(1500),
        seed: 1,
        ..Default::default()
    };
    let mut queue = Queue::new(params, &link).expect("parameters");
    let (mut fate, mut now) = (Count { dropped: 0, state: 1 }, Time::ZERO);
    for id in 0..packets {
        now += Dur::from_us(12);
        while queue.next_timer().is_some_and(|at| at <= now) {
            queue.on_timer(now);
        }
        queue.enqueue(now, Packet { flow: (id % 16) as u16, ecn: Ecn::Ect0, _rest: [0; 6] }, &mut fate);
        if id >= WAITING {
            queue.dequeue(now, &mut fate);
        }
    }
    assert_eq!(fate.dropped, 0, "{}: it should queue every packet, or the cost is that of drops", params.kind());
}

/// Nanoseconds a packet.
fn cost(params: &QueueParams) -> f64 {
    let began = Instant::now();
    play(params, PACKETS);
    began.elapsed().as_nanos() as f64 / PACKETS as f64
}

/// Every discipline by name. Those that cannot be without a rate have one.
fn all() -> Vec<(String, QueueParams)> {
    let of = |text: &str| -> QueueParams { serde_json::from_str(text).expect(text) };
    let shaped = [
        ("tbf", r#"{"kind": "tbf", "rate": "2Gbit", "burst": "1MB"}"#),
        ("htb", r#"{"kind": "htb", "rate": "2Gbit"}"#),
        ("cake, shaped", r#"{"kind": "cake", "bandwidth": "2Gbit"}"#),
        ("policer", r#"{"kind": "policer", "rate": "2Gbit"}"#),
    ];
    let plain = QueueParams::NAMES.iter().filter(|name| !shaped.iter().any(|(shaper, _)| shaper == *name));
    let plain = plain.map(|name| (name.to_string(), QueueParams::default_of(name).expect("a name")));
    plain.chain(shaped.map(|(name, text)| (name.into(), of(text)))).collect()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let all = all();
    match arguments.as_slice() {
        [] => {}
        [names] if names == "names" => return all.iter().for_each(|(name, _)| println!("{name}")),
        [packets, name] => {
            let (_, params) = all.iter().find(|(other, _)| other == name).expect("a name of `cost names`");
            return play(params, packets.parse().expect("a number of packets"));
        }
        _ => panic!("no arguments, `names`, or a number of packets and a name"),
    }
    let mut least = vec![f64::INFINITY; all.len()];
    for _ in 0..RUNS {
        for (least, (_, params)) in least.iter_mut().zip(&all) {
            *least = least.min(cost(params));
        }
    }
    let codel = all.iter().zip(&least).find(|((name, _), _)| name == "codel").map_or(f64::NAN, |(_, ns)| *ns);
    for ((name, _), ns) in all.iter().zip(least) {
        println!("{name:<14} {ns:6.1} ns  {:.2}", ns / codel);
    }
}
