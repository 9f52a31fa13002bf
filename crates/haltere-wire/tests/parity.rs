//! One packet trace through the same discipline in two hosts: called directly in a loop as a simulator does, on packets
//! that are plain numbers, and by the router on real frames from in-memory ports in virtual time. Every discipline of
//! the registry must decide alike: the same packets leave, at the same nanosecond, with the same marks.

mod support;

use haltere_plan::rng::Rng;
use haltere_queue::{DropReason, Ecn, Fate, FlowKey, LinkContext, MarkReason, Pkt, Qdisc, Queue, QueueParams};
use haltere_units::{Bytes, Dur, Rate, Serialisation, Time};
use support::{cable, ethernet, ipv4, link, run_script, tcp};

const SEED: u64 = 1;

#[derive(Debug, Clone, Copy)]
struct Plain {
    id: u32,
    flow: u8,
    len: u32,
    ecn: Ecn,
    tos: u8,
}

impl Pkt for Plain {
    fn len(&self) -> u32 {
        self.len
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn reflected(&self) -> Option<Plain> {
        self.ecn.is_capable().then_some(Plain { ecn: Ecn::Ce, ..*self })
    }
    fn flow(&self) -> FlowKey {
        let port = 1000 + u16::from(self.flow);
        FlowKey { src: 0x0a00_0001, dst: 0x0a00_0002, src_port: port, dst_port: 80, protocol: 6 }
    }
    fn priority(&self) -> u8 {
        [0, 2, 6, 4][usize::from(self.tos >> 3 & 3)]
    }
    fn dscp(&self) -> u8 {
        self.tos >> 2
    }
    fn set_dscp(&mut self, dscp: u8) {
        self.tos = dscp << 2;
    }
    fn stream_offset(&self) -> Option<u64> {
        Some(u64::from(self.id.wrapping_sub(1) & ((1 << 22) - 1)))
    }
}

impl Plain {
    fn bytes(&self) -> Vec<u8> {
        let field = match self.ecn {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        };
        let segment = tcp(1000 + u16::from(self.flow), 80, self.id, self.len as usize - 54);
        ethernet(0x0800, &ipv4(self.tos | field, 6, [10, 0, 0, 1], [10, 0, 0, 2], &segment))
    }
}

/// Eight flows, bursts and pauses, three sizes, half of the packets ECN-capable; 1.6 times what 10 Mbit/s carry.
fn trace() -> Vec<(Time, Plain)> {
    let (mut chance, mut now) = (Rng::new(SEED, "trace"), Time::ZERO);
    (0..12_000)
        .map(|id| {
            if chance.chance(0.2) {
                now += Dur::from_ns(chance.bits() % 6_000_000);
            }
            let draw = chance.bits();
            let packet = Plain {
                id,
                flow: (draw % 8) as u8,
                len: [100, 1514, 1514, 600][(draw >> 8) as usize % 4],
                ecn: if draw >> 16 & 1 == 0 { Ecn::NotEct } else { Ecn::Ect0 },
                tos: (draw >> 20) as u8 & 0x38, // AF11 and CS1 among them: the marks of short and long
            };
            (now, packet)
        })
        .collect()
}

/// What a host saw: what left, when and how marked; drops by reason, marks, copies returned.
#[derive(Debug, Default, PartialEq)]
struct Verdicts {
    left: Vec<(u64, u32, bool)>,
    overlimit: u64,
    congestion: u64,
    marked: u64,
    returned: u64,
}

struct Book {
    chance: Rng,
    seen: Verdicts,
}

impl Fate<Plain> for Book {
    fn dropped(&mut self, _: Plain, reason: DropReason) {
        match reason {
            DropReason::Overlimit => self.seen.overlimit += 1,
            _ => self.seen.congestion += 1,
        }
    }
    fn marked(&mut self, _: &Plain, _: MarkReason) {
        self.seen.marked += 1;
    }
    fn emit(&mut self, _: Plain) {
        self.seen.returned += 1;
    }
    fn random(&mut self) -> u64 {
        self.chance.bits()
    }
}

/// The smallest host that a simulator could be: one line behind the discipline, events in order of time.
fn direct(params: &QueueParams, trace: &[(Time, Plain)]) -> Verdicts {
    let (rate, rtt) = (Some(Rate::from_mbps(10)), Some(Dur::from_ms(10)));
    let seed = Rng::new(SEED, "n0>n1/hash").bits();
    let context = LinkContext { rate, rtt, packet: Bytes::new(1514), seed, ..Default::default() };
    let mut queue: Queue<Plain> = Queue::new(params, &context).unwrap();
    let mut book = Book { chance: Rng::new(SEED, "n0>n1/queue"), seen: Verdicts::default() };
    let (mut line, mut busy) = (Serialisation::new(rate), None::<Time>);
    let mut arrivals = trace.iter().peekable();
    loop {
        let arrival = arrivals.peek().map(|(at, _)| *at);
        // A free line waits for the packet that a discipline withholds.
        let ready = if busy.is_none() { queue.ready_at().filter(|&at| at < Time::NEVER) } else { None };
        if [arrival, busy, ready] == [None; 3] {
            return book.seen;
        }
        // What is due at one instant: timer, end of transmission, arrival.
        let Some(now) = [queue.next_timer(), busy, arrival, ready].into_iter().flatten().min() else {
            return book.seen;
        };
        if queue.next_timer() == Some(now) {
            queue.on_timer(now);
        }
        if busy == Some(now) {
            busy = None;
        } else if arrival == Some(now)
            && let Some((_, packet)) = arrivals.next()
        {
            queue.enqueue(now, *packet, &mut book);
        }
        if busy.is_none()
            && let Some(packet) = queue.dequeue(now, &mut book)
        {
            let done = now + line.next(Bytes::new(u64::from(packet.len)));
            busy = Some(done);
            book.seen.left.push((done.as_ns() + 1_000_000, packet.id, packet.ecn == Ecn::Ce));
        }
    }
}

fn routed(params: &QueueParams, trace: &[(Time, Plain)]) -> Verdicts {
    let script: Vec<_> = trace.iter().map(|(at, packet)| (*at, packet.bytes())).collect();
    let back = link(1, 0, QueueParams::default_of("drop_tail").unwrap());
    let mut parts = cable(link(0, 1, params.clone()), back);
    parts.isn_bits = 22;
    let end = trace[trace.len() - 1].0;
    let mut router = run_script(parts, vec![script, vec![]], end);
    let total = router.fabric.network.link_records(end)[0].total;
    let left = router.ports[1]
        .sent
        .iter()
        .map(|(at, bytes)| (at.as_ns(), u32::from_be_bytes(bytes[38..42].try_into().unwrap()), bytes[15] & 3 == 3));
    Verdicts {
        left: left.collect(),
        overlimit: total.dropped_overlimit,
        congestion: total.dropped_congestion,
        marked: total.marked,
        returned: total.emitted,
    }
}

fn same_verdicts(params: &QueueParams) -> Verdicts {
    let trace = trace();
    let (sim, wire) = (direct(params, &trace), routed(params, &trace));
    for (n, (a, b)) in sim.left.iter().zip(&wire.left).enumerate() {
        assert_eq!(a, b, "{}: packet {n} to leave differs", params.kind());
    }
    assert_eq!(sim, wire, "{}", params.kind());
    sim
}

#[test]
fn every_discipline_decides_alike_on_the_wire() {
    let fifo = direct(&QueueParams::default_of("drop_tail").unwrap(), &trace());
    for name in QueueParams::NAMES {
        let seen = same_verdicts(&QueueParams::default_of(name).unwrap());
        let decided = seen.overlimit + seen.congestion + seen.marked;
        // A shared medium decides when packets leave.
        assert!(decided > 100 || seen.left != fifo.left, "{name} had nothing to decide: {decided} drops and marks");
    }
}

#[test]
fn returned_packets_are_the_same_too() {
    let text = r#"{ "kind": "threshold", "upper": "5p", "return_to_sender": true }"#;
    let seen = same_verdicts(&serde_json::from_str(text).unwrap());
    assert!(seen.returned > 100);
}
