use super::*;
use crate::rng::Rng;
use haltere_queue::{Ecn, FlowKey, Queue, QueueParams};
use haltere_units::Rate;

/// A packet to that node.
#[derive(Debug, PartialEq)]
struct Packet {
    to: usize,
    from: usize,
    len: u32,
    ecn: Ecn,
}

impl Pkt for Packet {
    fn len(&self) -> u32 {
        self.len
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn reflected(&self) -> Option<Packet> {
        Some(Packet { to: self.from, from: self.to, len: self.len, ecn: Ecn::Ce })
    }
    fn flow(&self) -> FlowKey {
        FlowKey { src: self.from as u128, dst: self.to as u128, ..FlowKey::default() }
    }
}

impl Routed for Packet {
    type Queue = Queue<Packet>;
    fn queue(params: &LinkQueue, link: &LinkContext) -> Result<Queue<Packet>, ParamError> {
        Queue::new(params.ours()?, link)
    }
    fn destination(&self) -> Option<usize> {
        Some(self.to)
    }
    fn source(&self) -> Option<usize> {
        Some(self.from)
    }
}

/// What was delivered: when (set from outside), and at which node.
#[derive(Default)]
struct Delivered {
    now: Time,
    seen: Vec<(Time, usize)>,
}

impl Ports<Packet> for Delivered {
    fn deliver(&mut self, _at: Time, node: usize, packet: Packet) -> bool {
        assert_eq!(node, packet.to);
        self.seen.push((self.now, node));
        true
    }
}

fn queue(json: &str) -> QueueParams {
    serde_json::from_str(json).unwrap()
}

/// Three nodes in a row, 10 Mbit/s and 1 ms each way.
fn row(discipline: &str) -> FabricPlan {
    let link = |from, to| LinkPlan::plain(from, to, Some(Rate::from_mbps(10)), Dur::from_ms(1), queue(discipline));
    let mut links = vec![link(0, 1), link(1, 0), link(1, 2), link(2, 1)];
    links[2].watched = true;
    FabricPlan {
        nodes: 3,
        links,
        reroutes: Vec::new(),
        framing: 14,
        seed: 1,
        outside: Default::default(),
        count_sockets: false,
        sample: Some(Dur::from_ms(1)),
        warmup: Time::ZERO + Dur::from_ms(5),
        end: Time::ZERO + Dur::from_ms(20),
    }
}

/// The timer of a kernel: calls when something is due, up to `until`.
fn run(fabric: &mut Fabric<Packet>, ports: &mut Delivered, until: Time) {
    while let Some(at) = fabric.deadline().filter(|at| *at < until) {
        ports.now = at;
        fabric.advance(at, ports);
    }
    ports.now = until;
    fabric.advance(until, ports);
}

fn packet(from: usize, to: usize) -> Packet {
    Packet { to, from, len: 1250, ecn: Ecn::Ect0 }
}

#[test]
fn packets_take_the_time_of_every_link_on_their_way() {
    let mut fabric = Fabric::new(row(r#"{ "kind": "drop_tail" }"#)).unwrap();
    let mut ports = Delivered::default();
    for _ in 0..2 {
        fabric.arrive(Time::ZERO, 0, packet(0, 2), &mut ports);
    }
    run(&mut fabric, &mut ports, Time::ZERO + Dur::from_ms(30));
    // 1250 bytes take 1 ms; two links; the second packet waits for the first.
    let ms = |n| Time::ZERO + Dur::from_ms(n);
    assert_eq!(ports.seen, [(ms(4), 2), (ms(5), 2)]);
    let totals = fabric.totals();
    let counters = totals.counters;
    assert_eq!((counters.arrived, counters.departed, totals.unaccounted(), counters.late_max_ns), (2, 2, 0, 0));
    let sent: Vec<u64> = totals.links.iter().map(|l| l.total.sent).collect();
    assert_eq!(sent, [2, 0, 2, 0]);
    assert_eq!(fabric.samples().iter().count(), 21, "link 1>2 every ms, from the start to the end");
}

#[test]
fn what_happens_after_the_end_is_not_counted() {
    let mut fabric = Fabric::new(row(r#"{ "kind": "drop_tail" }"#)).unwrap();
    let mut ports = Delivered::default();
    fabric.arrive(Time::ZERO + Dur::from_ms(19), 0, packet(0, 2), &mut ports);
    run(&mut fabric, &mut ports, Time::ZERO + Dur::from_ms(40));
    assert_eq!(ports.seen.len(), 1, "it is delivered all the same");
    let totals = fabric.totals();
    let counters = totals.counters;
    assert_eq!((counters.arrived, counters.departed, totals.inside, totals.unaccounted()), (1, 0, 1, 0));
}

#[test]
fn drops_and_packets_without_a_way_are_accounted_for() {
    let mut plan = row(r#"{ "kind": "drop_tail", "limit": "3p" }"#);
    plan.links.truncate(2); // nothing leads to node 2
    let mut fabric = Fabric::new(plan).unwrap();
    let mut ports = Delivered::default();
    for to in [1, 1, 1, 1, 1, 1, 2] {
        fabric.arrive(Time::ZERO, 0, packet(0, to), &mut ports);
    }
    run(&mut fabric, &mut ports, Time::ZERO + Dur::from_ms(30));
    let totals = fabric.totals();
    assert_eq!((totals.counters.unroutable, totals.counters.departed, totals.unaccounted()), (1, 4, 0));
    assert_eq!(totals.links[0].total.dropped_overlimit, 2);
}

#[test]
fn copies_that_a_discipline_returns_reach_their_sender() {
    let discipline = r#"{ "kind": "threshold", "upper": "1p", "return_to_sender": true }"#;
    let Ok(params) = serde_json::from_str::<QueueParams>(discipline) else { panic!("the parameter has another name") };
    let mut plan = row(r#"{ "kind": "drop_tail" }"#);
    plan.links[2].queue = params.into();
    let mut fabric = Fabric::new(plan).unwrap();
    let mut ports = Delivered::default();
    for _ in 0..8 {
        fabric.arrive(Time::ZERO, 0, packet(0, 2), &mut ports);
    }
    // Slower behind than before: they queue there.
    run(&mut fabric, &mut ports, Time::ZERO + Dur::from_ms(60));
    assert_eq!(fabric.totals().unaccounted(), 0);
}

#[test]
fn a_fabric_is_the_same_when_its_timer_is_late() {
    let totals = |step: u64| {
        let mut fabric = Fabric::new(row(r#"{ "kind": "codel" }"#)).unwrap();
        let mut ports = Delivered::default();
        for i in 0..10 {
            fabric.arrive(Time::from_ns(i * 300_000), 0, packet(0, 2), &mut ports);
        }
        for ms in (0..40).step_by(step as usize) {
            ports.now = Time::ZERO + Dur::from_ms(ms);
            fabric.advance(ports.now, &mut ports);
        }
        fabric.totals().links.iter().map(|l| (l.total.sent, l.total.packet_ns)).collect::<Vec<_>>()
    };
    assert_eq!(totals(1), totals(4));
}

#[test]
fn a_shaper_withholds_packets_until_there_are_tokens() {
    let mut plan = row(r#"{ "kind": "drop_tail" }"#);
    plan.links[2].queue = queue(r#"{ "kind": "tbf", "rate": "5Mbit", "burst": "1250B" }"#).into();
    let mut fabric = Fabric::new(plan).unwrap();
    let mut ports = Delivered::default();
    for _ in 0..3 {
        fabric.arrive(Time::ZERO, 0, packet(0, 2), &mut ports);
    }
    run(&mut fabric, &mut ports, Time::ZERO + Dur::from_ms(30));
    // They come every ms, and there are tokens for one in 2 ms.
    let ms = |n| Time::ZERO + Dur::from_ms(n);
    assert_eq!(ports.seen, [(ms(4), 2), (ms(6), 2), (ms(8), 2)]);
    assert_eq!(fabric.totals().unaccounted(), 0);
}

#[test]
fn packets_on_a_failed_link_are_lost_until_the_routes_change() {
    // A second path from 0 to 2, over 3.
    let mut plan = row(r#"{ "kind": "drop_tail" }"#);
    let more = [(0, 3), (3, 0), (3, 2), (2, 3)];
    plan.links.extend(more.map(|(from, to)| {
        LinkPlan::plain(from, to, Some(Rate::from_mbps(10)), Dur::from_ms(1), queue(r#"{ "kind": "drop_tail" }"#))
    }));
    plan.nodes = 4;
    let ms = |n| Time::ZERO + Dur::from_ms(n);
    let failures = vec![crate::plan::Failure { at: ms(5), until: ms(15) }];
    plan.links[2].impairments = Some(Box::new(crate::plan::Impairments { failures, ..Default::default() }));
    plan.reroutes = vec![
        crate::plan::Reroute { at: ms(8), without: vec![2, 3] },
        crate::plan::Reroute { at: ms(16), without: vec![] },
    ];
    let mut fabric = Fabric::new(plan).unwrap();
    let mut ports = Delivered::default();
    for at in [0, 2, 8, 15, 16] {
        run(&mut fabric, &mut ports, ms(at));
        fabric.arrive(ms(at), 0, packet(0, 2), &mut ports);
    }
    run(&mut fabric, &mut ports, ms(30));
    // The second is at node 1 at 4 ms and would arrive at 6 ms.
    assert_eq!(ports.seen, [(ms(4), 2), (ms(12), 2), (ms(19), 2), (ms(20), 2)]);
    let totals = fabric.totals();
    assert_eq!((totals.links[2].total.lost, totals.unaccounted()), (1, 0));
}

/// A world that wakes at each event, and one that wakes at deadlines only, while packets come from both ends. The second
/// is never late, and delivers the same packets at the same times. It wakes less often unless the discipline withholds
/// or emits packets.
#[test]
fn a_world_that_sleeps_until_the_deadline_is_never_late() {
    let disciplines = [
        (true, r#"{ "kind": "drop_tail", "limit": "9p" }"#),
        (true, r#"{ "kind": "codel" }"#),
        (true, r#"{ "kind": "fq_pie" }"#),
        (false, r#"{ "kind": "tbf", "rate": "8Mbit", "burst": "3kB", "limit": "20p" }"#),
        (false, r#"{ "kind": "threshold", "return_to_sender": true, "upper": "2p", "limit": "20p" }"#),
    ];
    for (saves, discipline) in disciplines {
        let world = |sleeps: bool| {
            let mut fabric = Fabric::new(FabricPlan { end: Time::NEVER, sample: None, ..row(discipline) }).unwrap();
            let (mut ports, mut wakes) = (Delivered::default(), 0);
            // Bursts of up to four packets, from either end.
            let mut rng = Rng::new(7, "arrivals");
            let mut now = Time::ZERO;
            for _ in 0..300 {
                let (burst, pause) = (1 + rng.bits() % 4, Dur::from_us(rng.bits() % 4000));
                let (from, to) = if rng.bits().is_multiple_of(3) { (2, 0) } else { (0, 2) };
                (0..burst).for_each(|_| fabric.arrive(now, from, packet(from, to), &mut ports));
                now += pause;
                let next = |fabric: &Fabric<Packet>| if sleeps { fabric.deadline() } else { fabric.next_packet() };
                while let Some(at) = next(&fabric).filter(|at| *at < now) {
                    wakes += 1;
                    ports.now = at;
                    fabric.advance(at, &mut ports);
                }
                ports.now = now;
            }
            assert_eq!(fabric.counters().late_max_ns, 0, "{discipline}");
            (ports.seen, fabric.counters().departed, wakes)
        };
        let (woken, slept) = (world(false), world(true));
        assert_eq!((&slept.0, slept.1), (&woken.0, woken.1), "{discipline}");
        assert!(slept.1 > 100 && (slept.2 < woken.2) == saves, "{discipline}: {} wakes of {}", slept.2, woken.2);
    }
}
