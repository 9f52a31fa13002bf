//! The least cost of a discrete-event loop: a lower bound for a packet-level simulator on this machine.
//!
//! `cargo run --release -p haltere-sim --example bare_loop -- [FLOWS] [MBIT] [RTT_US] [SECONDS] [SPREAD_PERCENT]`
//!
//! The network is the dumbbell of the benchmarks, with three links in each direction. Senders have a fixed window,
//! together twice the bandwidth-delay product, and each packet has one acknowledgement. The loop leaves out what a
//! simulator adds: congestion control, loss and recovery, timers, disciplines, routing, random numbers, records and any
//! choice at run time. A packet costs one event a link, in a timing wheel whose buckets are chains of packets, sorted
//! when the clock reaches them.

use serde_json::json;

const DATA_BYTES: u64 = 1500;
const ACK_BYTES: u64 = 52;
/// Links that a data packet crosses. Its acknowledgement crosses as many.
const LINKS: u8 = 3;
/// The end of a chain.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Packet {
    /// When it arrives.
    at: u64,
    /// The next packet of its bucket.
    next: u32,
    flow: u32,
    hop: u8,
}

/// Times are picoseconds.
#[derive(Clone, Copy, Default)]
struct Link {
    free_at: u64,
    ps_per_byte: u64,
    delay: u64,
}

/// Pending arrivals, by packet: buckets of `1 << shift` picoseconds; those beyond the wheel go round more than once.
struct Wheel {
    /// The packet of each bucket that was added last.
    buckets: Vec<u32>,
    /// What is left of the bucket that the clock has reached, the earliest last.
    current: Vec<(u64, u32)>,
    tick: u64,
    shift: u32,
}

impl Wheel {
    /// Of buckets so wide that together they span at least `span` picoseconds.
    fn new(shift: u32, span: u64) -> Wheel {
        let buckets = (span >> shift).next_power_of_two() as usize;
        Wheel { buckets: vec![NONE; buckets], current: Vec::new(), tick: 0, shift }
    }

    fn bucket(&mut self, tick: u64) -> &mut u32 {
        let mask = self.buckets.len() - 1;
        &mut self.buckets[tick as usize & mask]
    }

    /// The packet's arrival is pending.
    #[inline(always)]
    fn push(&mut self, packets: &mut [Packet], index: u32) {
        let packet = &mut packets[index as usize];
        let tick = packet.at >> self.shift;
        if tick > self.tick {
            packet.next = core::mem::replace(self.bucket(tick), index);
        } else {
            self.insert((packet.at, index));
        }
    }

    /// Into the bucket that the clock has reached, which has few.
    #[inline(always)]
    fn insert(&mut self, one: (u64, u32)) {
        let place = self.current.iter().rposition(|later| *later > one).map_or(0, |i| i + 1);
        self.current.insert(place, one);
    }

    /// The earliest. There always is one, because each packet is in flight.
    #[inline(always)]
    fn pop(&mut self, packets: &mut [Packet]) -> (u64, u32) {
        loop {
            if let Some(one) = self.current.pop() {
                return one;
            }
            self.tick += 1;
            let tick = self.tick;
            let mut index = core::mem::replace(self.bucket(tick), NONE);
            while index != NONE {
                let packet = &mut packets[index as usize];
                let (one, next) = ((packet.at, index), packet.next);
                if packet.at >> self.shift == tick {
                    self.insert(one);
                } else {
                    packet.next = core::mem::replace(self.bucket(tick), index);
                }
                index = next;
            }
        }
    }
}

struct Network {
    /// Trunk, trunk back, and for each flow the four access links in order of use.
    links: Vec<Link>,
    packets: Vec<Packet>,
    wheel: Wheel,
    /// Data packets acknowledged, by flow.
    acknowledged: Vec<u64>,
    hops: u64,
    trunk: u64,
}

impl Network {
    fn link_of(flow: u32, hop: u8) -> usize {
        match hop {
            1 => 0,
            4 => 1,
            hop => 2 + 4 * flow as usize + [0, 0, 1, 2, 0, 3][usize::from(hop)],
        }
    }

    fn send(&mut self, now: u64, index: u32) {
        let packet = &mut self.packets[index as usize];
        let link = &mut self.links[Network::link_of(packet.flow, packet.hop)];
        let bytes = if packet.hop < LINKS { DATA_BYTES } else { ACK_BYTES };
        link.free_at = link.free_at.max(now) + bytes * link.ps_per_byte;
        packet.at = link.free_at + link.delay;
        self.hops += 1;
        self.trunk += u64::from(packet.hop == 1);
        self.wheel.push(&mut self.packets, index);
    }

    fn run(&mut self, end: u64) {
        loop {
            let (now, index) = self.wheel.pop(&mut self.packets);
            if now > end {
                return;
            }
            let packet = &mut self.packets[index as usize];
            packet.hop += 1;
            if packet.hop == 2 * LINKS {
                packet.hop = 0;
                self.acknowledged[packet.flow as usize] += 1;
            }
            self.send(now, index);
        }
    }
}

fn network(flows: usize, mbit: u64, rtt: u64, spread: f64) -> Network {
    let ps_per_byte = 8_000_000 / mbit;
    let trunk = Link { free_at: 0, ps_per_byte, delay: rtt * 3 / 10 };
    let mut links = vec![trunk; 2];
    for i in 0..flows {
        let place = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as f64 / 2f64.powi(64);
        let delay = (rtt as f64 * (0.4 + spread * (2.0 * place - 1.0)) / 4.0) as u64;
        links.extend([Link { free_at: 0, ps_per_byte: (ps_per_byte / 10).max(1), delay }; 4]);
    }
    let window = (2 * rtt / (DATA_BYTES * ps_per_byte) / flows as u64).max(1) as usize;
    let packets = (0..flows * window).map(|i| Packet { at: 0, next: NONE, flow: (i % flows) as u32, hop: 0 }).collect();
    // Six events a packet time of the trunk: a bucket is about two events wide.
    let shift = (DATA_BYTES * ps_per_byte / 3).ilog2();
    let wheel = Wheel::new(shift, 2 * rtt);
    Network { links, packets, wheel, acknowledged: vec![0; flows], hops: 0, trunk: 0 }
}

fn arg<T: std::str::FromStr>(n: usize, default: &str) -> T {
    let text = std::env::args().nth(n).unwrap_or_else(|| default.into());
    text.parse().unwrap_or_else(|_| panic!("argument {n} cannot be `{text}`"))
}

fn main() {
    let (flows, mbit, rtt_us): (usize, u64, u64) = (arg(1, "16"), arg(2, "1000"), arg(3, "10000"));
    let (seconds, spread): (f64, f64) = (arg(4, "10"), arg(5, "30"));
    let mut network = network(flows, mbit, rtt_us * 1_000_000, spread / 100.0);
    for i in 0..network.packets.len() as u32 {
        network.send(u64::from(i) % 997, i);
    }
    network.run((seconds * 1e12) as u64);
    let acknowledged: u64 = network.acknowledged.iter().sum();
    println!(
        "{}",
        json!({ "flows": flows, "received_bytes": acknowledged * 1448, "bottleneck_packets": network.trunk, "hops": network.hops, "events": network.hops })
    );
}
