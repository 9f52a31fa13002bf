//! A link that draws its queue's dequeues lazily does the same as one that acts on every instant.

use super::*;
use crate::net::packet::{Body, Header, Marks};
use haltere_plan::varying::{self, Capacity, Varying};
use haltere_queue::{Ecn, QueueParams};
use haltere_units::{Prob, Rate};

/// What came out of a link: deliveries (time, identification, ECN) and counters.
type Outcome = (Vec<(Time, u16, Ecn)>, LinkCounters);

/// The eager reference: one discipline, one line, acting on each instant in order.
/// At one instant: the discipline's timer, then the end of a transmission, then an arrival.
struct Eager {
    queue: Queue<Packet>,
    loss_rng: Rng,
    plan: LinkPlan,
    line: Serialisation,
    varying: Option<Line>,
    busy_until: Option<Time>,
    /// When the line is paid for: in the past by at most the burst.
    paid_until: Time,
    device: VecDeque<Packet>,
    out: Vec<(Time, u16, Ecn)>,
    waiting: u32,
    tally: Tally,
    counters: LinkCounters,
    pool: Pool,
    /// The integral of the packets waiting, kept by adding up.
    packet_ns: u128,
    since: Time,
}

impl Eager {
    fn new(plan: &LinkPlan, seed: u64) -> Eager {
        let mut hash = Rng::new(seed, &format!("{}/hash", plan.name));
        let context = LinkContext { rate: plan.rate, rtt: plan.rtt, packet: Bytes::new(1514), seed: hash.bits() };
        Eager {
            queue: Queue::new(&plan.queue, &context).expect("parameters"),
            loss_rng: Rng::new(seed, &format!("{}/loss", plan.name)),
            plan: plan.clone(),
            line: Serialisation::new(plan.rate),
            varying: plan.varying.as_deref().map(|v| Line::new(v, plan.delay)),
            busy_until: None,
            paid_until: Time::ZERO,
            device: VecDeque::new(),
            out: Vec::new(),
            waiting: 0,
            tally: Tally {
                active: Active { seed: Rng::seed(seed, &format!("{}/queue", plan.name)), signals: None },
                ..Tally::default()
            },
            counters: LinkCounters::default(),
            pool: Pool::default(),
            packet_ns: 0,
            since: Time::ZERO,
        }
    }
    fn pass_time(&mut self, now: Time) {
        self.packet_ns += u128::from(self.queue.backlog().packets) * u128::from((now - self.since).as_ns());
        self.since = now;
    }
    fn dequeue(&mut self, now: Time) -> Option<Packet> {
        let Eager { queue, waiting, pool, tally, .. } = self;
        let mut verdict = QueueFate { now, waiting, tally, pool };
        let packet = queue.dequeue(now, &mut verdict)?;
        verdict.left();
        Some(packet)
    }
    fn fill(&mut self, now: Time) {
        while self.plan.ring.is_some_and(|n| self.device.len() < n as usize) {
            let Some(packet) = self.dequeue(now) else { return };
            self.device.push_back(packet);
        }
    }
    fn line_is_free(&mut self, now: Time) {
        let packet = if self.plan.ring.is_some() {
            let packet = self.device.pop_front();
            self.fill(now);
            packet
        } else {
            self.dequeue(now)
        };
        self.busy_until = packet.map(|packet| {
            let len = packet.header.len;
            let (end, delay) = match &mut self.varying {
                None => {
                    self.paid_until += self.line.next(Bytes::new(u64::from(len)));
                    (self.paid_until.max(now), self.plan.delay)
                }
                Some(line) => {
                    let end = line.send(now, Bytes::new(u64::from(len)));
                    self.paid_until = line.ready(end);
                    (end, line.delay(if self.plan.handover_at_start { now } else { end }))
                }
            };
            self.counters.sent += 1;
            self.counters.sent_bytes += u64::from(len);
            if self.loss_rng.uniform() < self.plan.loss.as_f64() {
                self.counters.lost += 1;
            } else {
                let leaves = if self.plan.handover_at_start { now } else { end };
                let due = self.out.last().map_or(Time::ZERO, |last| last.0).max(leaves + delay);
                self.out.push((due, packet.header.id, packet.header.marks.ecn()));
            }
            self.paid_until.max(now)
        });
    }
    fn arrive(&mut self, now: Time, packet: Packet) {
        let Eager { queue, waiting, pool, tally, .. } = self;
        self.counters.arrived += 1;
        let mut verdict = QueueFate { now, waiting, tally, pool };
        verdict.came();
        queue.enqueue(now, packet, &mut verdict);
        self.fill(now);
        if self.busy_until.is_none() {
            let burst = self.plan.rate.map_or(Dur::ZERO, |rate| rate.time_for(self.plan.burst));
            self.paid_until = self.paid_until.max(now.saturating_sub(burst));
            if let Some(line) = &mut self.varying {
                self.paid_until = line.ready(now);
            }
            match self.paid_until > now {
                true => self.busy_until = Some(self.paid_until),
                false => self.line_is_free(now),
            }
        }
        self.counters.peak_packets = self.counters.peak_packets.max(self.queue.backlog().packets);
    }
    fn run(mut self, arrivals: &[(Time, Header)], end: Time) -> Outcome {
        let mut arrivals = arrivals.iter().peekable();
        loop {
            let timer = self.queue.next_timer().unwrap_or(Time::NEVER);
            let line = self.busy_until.unwrap_or(Time::NEVER);
            let arrival = arrivals.peek().map_or(Time::NEVER, |a| a.0);
            let now = timer.min(line).min(arrival);
            if now > end {
                self.pass_time(end);
                self.out.retain(|o| o.0 <= end);
                let (tally, signals) = (&self.tally, self.tally.active.signals.as_ref());
                let counters = LinkCounters {
                    packet_ns: self.packet_ns,
                    dropped_overlimit: tally.dropped_overlimit,
                    dropped_congestion: tally.dropped_congestion,
                    marked: signals.map_or(0, |signals| signals.marked),
                    returned: signals.map_or(0, |signals| signals.returned),
                    ..self.counters
                };
                return (self.out, counters);
            }
            self.pass_time(now);
            if timer == now {
                self.queue.on_timer(now);
            } else if line == now {
                self.line_is_free(now);
            } else if let Some((at, header)) = arrivals.next() {
                self.arrive(*at, Pool::default().take(*header, &Body::Udp(0)));
            }
        }
    }
}

fn lazy(plan: &LinkPlan, seed: u64, arrivals: &[(Time, Header)], end: Time) -> Outcome {
    let mut link = Link::new(plan, 14, seed).expect("parameters");
    let mut pool = Pool::default();
    let mut out = Vec::new();
    let mut pending = Time::NEVER;
    let mut alone = VecDeque::new();
    let mut arrivals = arrivals.iter().peekable();
    loop {
        let arrival = arrivals.peek().map_or(Time::NEVER, |a| a.0);
        let delivery = alone.front().map_or(Time::NEVER, |delivery: &(Time, u32)| delivery.0);
        let event = pending.min(delivery);
        if arrival.min(event) > end {
            return (out, link.record(end, &mut pool));
        }
        // Which of the two comes first at one instant must not matter.
        let next = if event < arrival || event == arrival && event.as_ns().is_multiple_of(2) {
            let (packet, next) = if delivery == event {
                (alone.pop_front().map(|(_, place)| pool.flights.take(place)), Next::Nothing)
            } else {
                pending = Time::NEVER;
                link.on_event(event, &mut pool)
            };
            out.extend(packet.map(|p| (event, p.header.id, p.header.marks.ecn())));
            next
        } else if let Some((at, header)) = arrivals.next() {
            let packet = pool.take(*header, &Body::Udp(0));
            link.arrive(*at, packet, &mut pool)
        } else {
            Next::Nothing
        };
        match next {
            Next::Nothing => {}
            Next::Event(at) => {
                assert_eq!(pending, Time::NEVER, "a second pending event");
                pending = at;
            }
            Next::Delivery(at, place) => alone.push_back((at, place)),
        }
    }
}

/// Random arrivals at about `load` times the rate: bursts, lulls, several flows and sizes.
fn arrivals(rng: &mut Rng, n: u16, rate_bps: f64, load: f64) -> Vec<(Time, Header)> {
    let mut now = Time::ZERO;
    let mut all = Vec::new();
    for id in 0..n {
        let len = [66, 590, 1514, 1514][(rng.bits() % 4) as usize];
        let lull = if rng.bits().is_multiple_of(200) { 300.0 } else { 1.0 };
        let gap = if rng.bits().is_multiple_of(3) { 0.0 } else { 1.5 * lull };
        now += Dur::from_secs_f64(921.0 * 8.0 / rate_bps / load * gap * -libm::log(1.0 - rng.uniform()));
        let flow = (rng.bits() % 7) as u32;
        let ecn = if flow.is_multiple_of(2) { Ecn::Ect0 } else { Ecn::NotEct };
        let (src, dst, src_port, dst_port) = (flow, 9, 40_000, 5001);
        let (cursor, endpoint, protocol, dscp, flags) = (0, 0, 17, 0, 0);
        let marks = Marks::default().with_ecn(ecn);
        all.push((
            now,
            Header { len, cursor, endpoint, src, dst, src_port, dst_port, id, protocol, dscp, marks, flags },
        ));
    }
    all
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
    Varying { capacity: Capacity::Trace(trace), delay: Some(delay) }
}
/// From nothing to twice the rate.
fn schedule() -> Varying {
    let rates = (0..40u64).map(|i| (Dur::from_us(1 + 5003 * i), Rate::from_bps((i * 7 % 5) * 5_000_011))).collect();
    let rates = varying::Steps { first: Rate::from_bps(1_000_003), steps: rates, repeat: Some(Dur::from_ms(211)) };
    Varying { capacity: Capacity::Schedule(rates), delay: None }
}

fn compare(plan: &LinkPlan, what: &str) {
    for (seed, load) in [(1, 0.5), (2, 0.95), (3, 1.3), (4, 3.0)] {
        let arrivals = arrivals(&mut Rng::new(seed, what), 20_000, 1e7, load);
        let last = arrivals.last().expect("some").0;
        for end in [last, last + Dur::from_secs(30)] {
            let (out, counters) = lazy(plan, seed, &arrivals, end);
            let (want, want_counters) = Eager::new(plan, seed).run(&arrivals, end);
            assert!(want.len() > 1000, "{what}: {} packets came through", want.len());
            assert_eq!(counters, want_counters, "{what}, load {load}");
            assert_eq!(out, want, "{what}, load {load}");
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
#[test]
fn a_link_without_a_rate_only_delays() {
    let plan = LinkPlan { rate: None, ..link(QueueParams::default_of("drop_tail").expect("known")) };
    let arrivals = arrivals(&mut Rng::new(1, "no rate"), 1000, 1e7, 1.0);
    let end = arrivals.last().expect("some").0 + Dur::from_secs(1);
    let (out, counters) = lazy(&plan, 1, &arrivals, end);
    let want: Vec<_> = arrivals.iter().map(|(at, h)| (*at + plan.delay, h.id, h.marks.ecn())).collect();
    assert_eq!(out, want);
    assert_eq!((counters.peak_packets, counters.packet_ns), (0, 0), "nothing waits");
}
#[test]
fn jitter_lengthens_the_way_uniformly_and_keeps_the_order() {
    let jitter = Dur::from_ms(2);
    let plan = LinkPlan { rate: None, jitter, ..link(QueueParams::default_of("drop_tail").expect("known")) };
    let mut arrivals = arrivals(&mut Rng::new(1, "jitter"), 4000, 1e7, 1.0);
    for (i, arrival) in arrivals.iter_mut().enumerate() {
        arrival.0 = Time::ZERO + Dur::from_ms(6 * i as u64);
    }
    let end = arrivals.last().expect("some").0 + Dur::from_secs(1);
    let (out, _) = lazy(&plan, 1, &arrivals, end);
    assert_eq!(out.len(), arrivals.len());
    assert!(out.windows(2).all(|two| two[0].0 <= two[1].0 && two[0].1.wrapping_add(1) == two[1].1), "in order");
    let extra: Vec<f64> =
        out.iter().zip(&arrivals).map(|(o, a)| (o.0 - a.0 - plan.delay).as_secs_f64() * 1e3).collect();
    // No packet comes while another is under way, so none waits for the one before it: uniform, mean 1 ms.
    let mean = extra.iter().sum::<f64>() / extra.len() as f64;
    assert!((mean - 1.0).abs() < 0.05, "mean {mean} ms");
    assert!(extra.iter().all(|ms| (0.0..2.0).contains(ms)), "within the jitter");
    let (again, _) = lazy(&plan, 1, &arrivals, end);
    assert_eq!(out, again, "the same seed draws the same");
}
