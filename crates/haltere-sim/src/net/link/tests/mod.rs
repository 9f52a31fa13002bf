//! The simulator's lazy link does the same as the link of `haltere_plan`, which acts on every instant.

use super::*;
use crate::net::packet::{Body, Datagram, Header, Marks};
use haltere_plan::link::{self as eager, Sink, Streams};
use haltere_plan::record::LinkCounters;
use haltere_plan::varying::{self, Capacity, Varying};
use haltere_queue::{Backlog, Ecn, QueueParams};
use haltere_units::{Prob, Probe, Rate};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

mod random;

/// What happens to a link from outside.
#[derive(Debug, Clone, Copy)]
enum Step {
    Arrive(Header),
    /// The counters are read.
    Read,
    /// The counters are read, and the peak begins anew.
    EndWarmup,
}

/// What was read from a link at one instant: the counters, the backlog and the packets in the ring.
type Reading = (LinkCounters, Backlog, u32);

/// What a link did.
#[derive(Debug, PartialEq)]
struct Outcome {
    /// Deliveries: time, identification, ECN.
    delivered: Vec<(Time, u16, Ecn)>,
    /// Those of the steps, and one at the end.
    readings: Vec<Reading>,
    /// The random streams at the end.
    streams: Streams,
    /// Inner variables of the discipline at the end.
    variables: Vec<(&'static str, f64)>,
    depths: Depths,
}

fn variables(queue: &Queue<Packet>) -> Vec<(&'static str, f64)> {
    let mut probe = Probe::new();
    queue.probe(&mut probe);
    probe.values().iter().map(|&(name, _, value)| (name, value)).collect()
}

/// Deliveries of the eager link.
#[derive(Default)]
struct Deliveries(Vec<(Time, u16, Ecn)>);

impl Sink<Packet> for Deliveries {
    fn delivered(&mut self, at: Time, packet: Packet) {
        self.0.push((at, packet.header.id, packet.header.marks.ecn()));
    }
    fn copied(&mut self, packet: &Packet) -> Option<Packet> {
        Some(*packet)
    }
}

/// The eager link is driven from event to event, or only when something happens to it: that must not matter.
fn eager(plan: &LinkPlan, seed: u64, steps: &[(Time, Step)], end: Time, by_event: bool) -> Outcome {
    let mut link = eager::Link::new(plan, FRAMING, seed).expect("parameters");
    let mut sink = Deliveries::default();
    let mut readings = Vec::new();
    let mut read = |link: &mut eager::Link<Packet>, counters| {
        readings.push((counters, link.backlog(), link.ring_packets()));
    };
    for &(at, step) in steps {
        while let Some(event) = link.next_event().filter(|event| by_event && *event <= at) {
            link.advance(event, &mut sink);
        }
        match step {
            Step::Arrive(header) => link.arrive(
                at,
                Pool::default().take(header, &Body::Udp(Datagram { sent: Time::ZERO, seq: 0, payload: 1 })),
                &mut sink,
            ),
            Step::Read | Step::EndWarmup => {
                link.advance(at, &mut sink);
                let counters = if let Step::Read = step { link.counters(at) } else { link.end_warmup(at) };
                read(&mut link, counters);
            }
        }
    }
    link.advance(end, &mut sink);
    let counters = link.counters(end);
    read(&mut link, counters);
    let variables = variables(link.queue());
    Outcome { delivered: sink.0, readings, streams: link.streams().clone(), variables, depths: link.depths() }
}

fn streams(link: &mut SimLink, plan: &LinkPlan, seed: u64) -> Streams {
    let mut streams = Streams::new(seed, &plan.name);
    if let Some(signals) = &link.counters.signals.made {
        streams.queue = signals.rng.clone();
    }
    if let Some(extras) = &link.extras {
        (streams.loss, streams.jitter) = (extras.loss_rng.clone(), extras.jitter_rng.clone());
    }
    if let Some(impairments) = link.impairments() {
        (streams.duplicate, streams.reorder) = (impairments.duplicate_rng.clone(), impairments.reorder_rng.clone());
    }
    streams
}

fn lazy(plan: &LinkPlan, seed: u64, steps: &[(Time, Step)], end: Time) -> Outcome {
    let mut link = SimLink::new(plan, FRAMING, seed).expect("parameters");
    let mut pool = Pool::default();
    let (mut delivered, mut readings) = (Vec::new(), Vec::new());
    let mut pending = BinaryHeap::new();
    let mut alone = VecDeque::new();
    let mut steps = steps.iter().peekable();
    loop {
        let step = steps.peek().map_or(Time::NEVER, |step| step.0);
        let delivery = alone.front().map_or(Time::NEVER, |delivery: &(Time, u32)| delivery.0);
        let event = pending.peek().map_or(Time::NEVER, |Reverse(at)| *at).min(delivery);
        if step.min(event) > end {
            readings.push(reading(&mut link, end, &mut pool));
            let (streams, variables) = (streams(&mut link, plan, seed), variables(link.queue()));
            return Outcome { delivered, readings, streams, variables, depths: link.depths() };
        }
        // Which of the two comes first at one instant must not matter.
        let next = if event < step || event == step && event.as_ns().is_multiple_of(2) {
            let (place, next) = if delivery == event {
                (alone.pop_front().map(|(_, place)| place), Next::Nothing)
            } else {
                pending.pop();
                link.on_event(event, &mut pool)
            };
            let packet = place.map(|place| pool.flights.take(place));
            delivered.extend(packet.map(|p| (event, p.header.id, p.header.marks.ecn())));
            next
        } else {
            match steps.next() {
                Some(&(at, Step::Arrive(header))) => {
                    let packet = pool.take(header, &Body::Udp(Datagram { sent: Time::ZERO, seq: 0, payload: 1 }));
                    let (place, len) = (pool.flights.place(Time::NEVER, packet), packet.header.len);
                    link.arrive(at, (place, len), &mut pool)
                }
                Some(&(at, Step::Read)) => {
                    readings.push(reading(&mut link, at, &mut pool));
                    Next::Nothing
                }
                Some(&(at, Step::EndWarmup)) => {
                    readings.push(reading(&mut link, at, &mut pool));
                    let _ = link.end_warmup(at, &mut pool);
                    Next::Nothing
                }
                None => Next::Nothing,
            }
        };
        match next {
            Next::Nothing => {}
            Next::Event(at) => {
                assert!(link.eager || pending.is_empty(), "a second pending event");
                pending.push(Reverse(at));
            }
            Next::Delivery(at, place) => alone.push_back((at, place)),
        }
    }
}

fn reading(link: &mut SimLink, now: Time, pool: &mut Pool) -> Reading {
    let view = link.view(now, pool);
    (view.counters, Backlog { packets: view.waiting, bytes: view.waiting_bytes }, view.ring_packets)
}

/// Bytes of framing of the packets in these tests.
const FRAMING: u32 = 14;

/// Random arrivals at about `load` times the rate: bursts, lulls, several flows and sizes.
fn arrivals(rng: &mut Rng, n: u16, rate_bps: f64, load: f64) -> Vec<(Time, Step)> {
    let mut now = Time::ZERO;
    let mut all = Vec::new();
    for id in 0..n {
        let len = [66, 590, 1514, 1514][(rng.bits() % 4) as usize];
        let lull = if rng.bits().is_multiple_of(200) { 300.0 } else { 1.0 };
        let gap = if rng.bits().is_multiple_of(3) { 0.0 } else { 1.5 * lull };
        now += Dur::from_secs_f64(921.0 * 8.0 / rate_bps / load * gap * -libm::log(1.0 - rng.uniform()));
        let flow = (rng.bits() % 7) as u32;
        let ecn = if flow.is_multiple_of(2) { Ecn::Ect0 } else { Ecn::NotEct };
        all.push((now, Step::Arrive(header(id, len, flow, ecn))));
    }
    all
}

/// A packet of that flow.
fn header(id: u16, len: u32, flow: u32, ecn: Ecn) -> Header {
    Header {
        len,
        cursor: 0,
        endpoint: 0,
        src: flow,
        dst: 9,
        src_port: 40_000,
        dst_port: 5001,
        id,
        // UDP and TCP: only TCP segments with payload are returned to their senders.
        protocol: if flow.is_multiple_of(3) { 17 } else { 6 },
        dscp: 0,
        marks: Marks::default().with_ecn(ecn),
        flags: 0,
    }
}

fn link(queue: QueueParams) -> LinkPlan {
    LinkPlan {
        name: "a>b".into(),
        watched: true,
        rtt: Some(Dur::from_ms(20)),
        ..LinkPlan::plain(0, 1, Some(Rate::from_bps(9_999_991)), Dur::from_ms(3), queue)
    }
}

/// About 10 Mbit/s, in bunches, and a delay that goes up and down.
fn trace() -> Varying {
    let instants = (0..100u64).map(|i| Dur::from_ms(i / 3 * 3 * 12 / 10 + i % 3)).collect();
    let trace = varying::Trace { instants, opportunity: Bytes::new(1514), offset: Dur::from_us(700) };
    let delay = (0..20u64).map(|i| (Dur::from_ms(40 * i), Dur::from_us(100 + 7919 * i % 20_000))).collect();
    let delay = varying::Steps { first: Dur::ZERO, steps: delay, repeat: Some(Dur::from_ms(900)) };
    Varying { delay: Some(delay), ..Varying::of(Capacity::Trace(trace)) }
}
/// From nothing to twice the rate.
fn schedule() -> Varying {
    let rates = (0..40u64).map(|i| (Dur::from_us(1 + 5003 * i), Rate::from_bps((i * 7 % 5) * 5_000_011))).collect();
    let rates = varying::Steps { first: Rate::from_bps(1_000_003), steps: rates, repeat: Some(Dur::from_ms(211)) };
    Varying::of(Capacity::Schedule(rates))
}

fn compare(plan: &LinkPlan, what: &str) {
    for (seed, load) in [(1, 0.5), (2, 0.95), (3, 1.3), (4, 3.0)] {
        let arrivals = arrivals(&mut Rng::new(seed, what), 20_000, 1e7, load);
        let last = arrivals.last().expect("some").0;
        for end in [last, last + Dur::from_secs(30)] {
            let (got, want) = (lazy(plan, seed, &arrivals, end), eager(plan, seed, &arrivals, end, true));
            assert!(want.delivered.len() > 1000, "{what}: {} packets were delivered", want.delivered.len());
            assert_eq!(got.readings, want.readings, "{what}, load {load}");
            assert_eq!(got, want, "{what}, load {load}");
        }
    }
}

#[test]
fn every_discipline_does_the_same_lazily_and_eagerly() {
    for &name in QueueParams::NAMES {
        let plan = link(QueueParams::default_of(name).expect("a name of the registry"));
        compare(&plan, name);
        compare(&LinkPlan { ring: Some(1), ..plan.clone() }, &format!("{name} over a ring of 1"));
        compare(&LinkPlan { ring: Some(100), ..plan.clone() }, &format!("{name} over a ring of 100"));
        let lossy = LinkPlan { loss: Prob::of(0.3), ..plan.clone() };
        compare(&lossy, &format!("{name} with losses"));
        compare(&LinkPlan { handover_at_start: true, ..plan.clone() }, &format!("{name} handed over at the start"));
        for handover_at_start in [false, true] {
            let bucket = LinkPlan { burst: Bytes::new(4000), handover_at_start, ..plan.clone() };
            compare(&bucket, &format!("{name} behind a token bucket, handed over at the start: {handover_at_start}"));
        }
        for varying in [trace(), schedule()] {
            let varying = LinkPlan { varying: Some(Box::new(varying)), ..plan.clone() };
            compare(&varying, &format!("{name} over a line that varies"));
            compare(
                &LinkPlan { ring: Some(10), loss: Prob::of(0.3), ..varying },
                &format!("{name}, varying, ring, losses"),
            );
        }
        let short = LinkPlan { delay: Dur::ZERO, handover_at_start: true, ..lossy };
        compare(&short, &format!("{name} with losses, no delay, handed over at the start"));
    }
}
fn id(step: &Step) -> Option<u16> {
    if let Step::Arrive(header) = step { Some(header.id) } else { None }
}
#[test]
fn a_link_without_a_rate_only_delays() {
    let plan = LinkPlan { rate: None, ..link(QueueParams::default_of("drop_tail").expect("known")) };
    let arrivals = arrivals(&mut Rng::new(1, "no rate"), 1000, 1e7, 1.0);
    let end = arrivals.last().expect("some").0 + Dur::from_secs(1);
    let Outcome { delivered, readings, .. } = lazy(&plan, 1, &arrivals, end);
    let want: Vec<_> = arrivals.iter().map(|(at, step)| (*at + plan.delay, id(step))).collect();
    assert_eq!(delivered.iter().map(|(at, id, _)| (*at, Some(*id))).collect::<Vec<_>>(), want);
    assert_eq!((readings[0].0.peak_packets, readings[0].0.packet_ns), (0, 0), "nothing waits");
}
#[test]
fn jitter_lengthens_the_delay_uniformly_and_keeps_the_order() {
    let jitter = Dur::from_ms(2);
    let plan =
        LinkPlan { rate: None, jitter: jitter.into(), ..link(QueueParams::default_of("drop_tail").expect("known")) };
    let mut arrivals = arrivals(&mut Rng::new(1, "jitter"), 4000, 1e7, 1.0);
    for (i, arrival) in arrivals.iter_mut().enumerate() {
        arrival.0 = Time::ZERO + Dur::from_ms(6 * i as u64);
    }
    let end = arrivals.last().expect("some").0 + Dur::from_secs(1);
    let out = lazy(&plan, 1, &arrivals, end).delivered;
    assert_eq!(out.len(), arrivals.len());
    assert!(out.windows(2).all(|two| two[0].0 <= two[1].0 && two[0].1.wrapping_add(1) == two[1].1), "in order");
    let extra: Vec<f64> =
        out.iter().zip(&arrivals).map(|(o, a)| (o.0 - a.0 - plan.delay).as_secs_f64() * 1e3).collect();
    // No packet comes while another is in flight, so none waits for the one before it: uniform, mean 1 ms.
    let mean = extra.iter().sum::<f64>() / extra.len() as f64;
    assert!((mean - 1.0).abs() < 0.05, "mean {mean} ms");
    assert!(extra.iter().all(|ms| (0.0..2.0).contains(ms)), "within the jitter");
    assert_eq!(out, lazy(&plan, 1, &arrivals, end).delivered, "the same seed draws the same");
}
