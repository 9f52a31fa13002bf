//! Worked examples. Packets of 1250 bytes take 1 ms at 10 Mbit/s, the rate of these links; the propagation time is 2
//! ms.

use super::*;
use crate::varying::{Capacity, Steps, Varying};
use haltere_queue::{Ecn, FlowKey, QueueParams};
use haltere_units::{Prob, Rate};

#[derive(Debug, Clone, PartialEq)]
struct Packet(u32, u32);

impl Pkt for Packet {
    fn len(&self) -> u32 {
        self.1
    }
    fn ecn(&self) -> Ecn {
        Ecn::Ect0
    }
    fn set_ce(&mut self) {}
    fn flow(&self) -> FlowKey {
        FlowKey::default()
    }
}

/// Deliveries (us, number), numbers dropped, numbers lost.
#[derive(Debug, Default)]
struct Seen {
    delivered: Vec<(u64, u32)>,
    dropped: Vec<u32>,
    lost: Vec<u32>,
}

impl Sink<Packet> for Seen {
    fn delivered(&mut self, at: Time, packet: Packet) {
        self.delivered.push((at.as_ns() / 1000, packet.0));
    }
    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        self.dropped.push(packet.0);
    }
    fn copied(&mut self, packet: &Packet) -> Option<Packet> {
        Some(packet.clone())
    }
    fn lost(&mut self, packet: Packet) {
        self.lost.push(packet.0);
    }
}

fn plan() -> LinkPlan {
    let queue = QueueParams::default_of("drop_tail").expect("a name of the registry");
    LinkPlan::plain(0, 1, Some(Rate::from_mbps(10)), Dur::from_ms(2), queue)
}

fn ms(ms: u64) -> Time {
    Time::ZERO + Dur::from_ms(ms)
}

/// Packets arrive at these times (ms) with these lengths; the link then runs until nothing is due.
fn run(mut link: Link<Packet>, arrivals: &[(u64, u32)]) -> (Seen, Link<Packet>) {
    let mut seen = Seen::default();
    for (number, &(at, len)) in (0u32..).zip(arrivals) {
        link.arrive(ms(at), Packet(number, len), &mut seen);
    }
    while let Some(at) = link.next_event() {
        link.advance(at, &mut seen);
    }
    (seen, link)
}

fn delivered(plan: &LinkPlan, arrivals: &[(u64, u32)]) -> Vec<(u64, u32)> {
    run(Link::new(plan, 14, 1).expect("parameters"), arrivals).0.delivered
}

/// A packet of 1.2 ms is alone: the next event is its delivery. Once another one waits it is the end of the transmission.
#[test]
fn the_end_of_a_transmission_is_an_event_if_a_packet_waits() {
    let mut link = Link::<Packet>::new(&plan(), 14, 1).expect("parameters");
    let mut seen = Seen::default();
    link.arrive(ms(0), Packet(0, 1500), &mut seen);
    assert_eq!(link.next_event(), Some(Time::from_ns(3_200_000)));
    link.arrive(ms(1), Packet(1, 1500), &mut seen);
    assert_eq!(link.next_event(), Some(Time::from_ns(1_200_000)));
    // The line is free again at 2.4 ms, without an event, and the third packet leaves at once.
    link.advance(Time::from_ns(1_200_000), &mut seen);
    assert_eq!(link.next_event(), Some(Time::from_ns(3_200_000)));
    link.arrive(ms(3), Packet(2, 1500), &mut seen);
    let (seen, _) = run(link, &[]);
    assert_eq!(seen.delivered.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [3200, 4400, 6200]);
}

/// One packet finds the line free, and four wait. Each leaves so many behind.
#[test]
fn depths_at_dequeue_are_counted_after_the_warm_up() {
    let link = Link::new(&LinkPlan { count_depths: true, ..plan() }, 14, 1).expect("parameters");
    let (_, mut link) = run(link, &[(0, 1250); 5]);
    assert_eq!(link.depths().counts(), [2, 1, 1, 1]);
    let _ = link.end_warmup(ms(100));
    assert!(link.depths().counts().is_empty());
}

#[test]
fn packets_follow_each_other_on_the_line() {
    let (seen, mut link) = run(Link::new(&plan(), 14, 1).expect("parameters"), &[(0, 1250), (0, 2500), (10, 1250)]);
    assert_eq!(seen.delivered, [(3000, 0), (5000, 1), (13_000, 2)]);
    let counters = link.counters(ms(20));
    assert_eq!((counters.arrived, counters.sent, counters.sent_bytes, counters.peak_packets), (3, 3, 5000, 1));
    assert_eq!(counters.packet_ns, 1_000_000, "the second waited for 1 ms");
    assert_eq!(link.packets(), 0);
}
#[test]
fn a_packet_that_is_handed_over_at_the_start_leaves_the_line_busy() {
    let plan = LinkPlan { handover_at_start: true, ..plan() };
    assert_eq!(delivered(&plan, &[(0, 1250), (0, 1250)]), [(2000, 0), (3000, 1)]);
}
#[test]
fn an_idle_line_saves_up_its_burst_and_no_more() {
    let plan = LinkPlan { burst: Bytes::new(2500), ..plan() };
    let arrivals = [(50, 1250), (50, 1250), (50, 1250), (50, 1250)];
    assert_eq!(delivered(&plan, &arrivals), [(52_000, 0), (52_000, 1), (53_000, 2), (54_000, 3)]);
}
#[test]
fn a_short_packet_takes_as_long_as_the_least_length() {
    let plan = LinkPlan { mpu: Bytes::new(1250), ..plan() };
    assert_eq!(delivered(&plan, &[(0, 40), (0, 40)]), [(3000, 0), (4000, 1)]);
}
#[test]
fn the_ring_takes_packets_out_of_the_queue() {
    let mut link = Link::new(&LinkPlan { ring: Some(4), ..plan() }, 14, 1).expect("parameters");
    let mut seen = Seen::default();
    (0..10).for_each(|number| link.arrive(ms(0), Packet(number, 1250), &mut seen));
    assert_eq!((link.backlog().packets, link.ring_packets(), link.packets()), (5, 4, 10), "one is on the line");
}
#[test]
fn at_one_instant_the_line_takes_a_packet_before_another_arrives() {
    // The queue holds one packet. At 1 ms the line takes the second packet, so there is room for the third.
    let queue = haltere_queue::drop_tail::Params { limit: haltere_units::Size::Packets(1) };
    let plan = LinkPlan { queue: QueueParams::DropTail(queue).into(), ..plan() };
    let (seen, _) = run(Link::new(&plan, 14, 1).expect("parameters"), &[(0, 1250), (0, 1250), (1, 1250)]);
    assert_eq!((seen.dropped, seen.delivered.len()), (vec![], 3));
    let (seen, mut link) = run(Link::new(&plan, 14, 1).expect("parameters"), &[(0, 1250), (0, 1250), (0, 1250)]);
    assert_eq!((seen.dropped, link.counters(ms(9)).dropped_overlimit), (vec![2], 1));
}
#[test]
fn an_event_that_is_carried_out_late_happens_at_its_own_time() {
    let mut link = Link::new(&plan(), 14, 1).expect("parameters");
    let mut seen = Seen::default();
    (0..3).for_each(|number| link.arrive(ms(0), Packet(number, 1250), &mut seen));
    link.advance(ms(100), &mut seen);
    assert_eq!(seen.delivered, [(3000, 0), (4000, 1), (5000, 2)]);
    assert_eq!(link.counters(ms(100)).packet_ns, 3_000_000, "1 ms and 2 ms");
}
#[test]
fn loss_jitter_and_reordering_draw_from_their_own_streams() {
    let arrivals: Vec<(u64, u32)> = (0..200).map(|i| (10 * i, 1250)).collect();
    let lossy = LinkPlan { loss: Prob::of(0.25), jitter: Dur::from_ms(1).into(), ..plan() };
    let (seen, link) = run(Link::new(&lossy, 14, 7).expect("parameters"), &arrivals);
    let mut streams = Streams::new(7, &lossy.name);
    let (mut due, mut lost) = (Vec::new(), Vec::new());
    for (number, (at, _)) in (0u32..).zip(&arrivals) {
        if streams.loss.uniform() < 0.25 {
            lost.push(number);
        } else {
            due.push((1000 * at + 3000 + (1e6 * streams.jitter.uniform() + 0.5) as u64 / 1000, number));
        }
    }
    assert_eq!((seen.delivered, seen.lost), (due, lost));
    assert_eq!(*link.streams(), streams, "a draw for each packet, and none for what the link lacks");
}
#[test]
fn a_packet_that_is_held_back_is_overtaken() {
    let held = Impairments { reorder: Prob::of(0.1), reorder_by: Dur::from_ms(5), ..Impairments::default() };
    let link = Link::new(&with(held), 14, 3).expect("parameters");
    let arrivals: Vec<(u64, u32)> = (0..100).map(|i| (2 * i, 1250)).collect();
    let (seen, link) = run(link, &arrivals);
    let mut reorder = Streams::new(3, &plan().name).reorder;
    for (number, (at, _)) in (0u32..).zip(&arrivals) {
        let late = if reorder.uniform() < 0.1 { 5000 } else { 0 };
        assert!(seen.delivered.contains(&(1000 * at + 3000 + late, number)));
    }
    assert_eq!((link.streams().reorder.clone(), seen.delivered.len()), (reorder, 100));
    assert!(!seen.delivered.is_sorted_by_key(|(_, number)| *number));
    assert!(seen.delivered.is_sorted_by_key(|(at, _)| *at));
}
#[test]
fn packets_on_a_shorter_path_overtake_those_on_the_longer_one() {
    let delay = Steps { first: Dur::from_ms(30), steps: [(Dur::from_ms(20), Dur::from_ms(5))].into(), repeat: None };
    let varying = Varying { delay: Some(delay), ..Varying::of(Capacity::Constant(plan().rate)) };
    let on = |overtake| LinkPlan {
        varying: Some(Box::new(varying.clone())),
        ..with(Impairments { overtake, ..Impairments::default() })
    };
    let arrivals = [(0, 1250), (10, 1250), (18, 1250), (22, 1250), (40, 1250)];
    // A millisecond each, then 30 ms for what leaves before 20 ms, and 5 ms for the rest.
    let [old, new] = [[(31_000, 0), (41_000, 1), (49_000, 2)], [(49_000, 3), (49_000, 4), (0, 0)]];
    assert_eq!(delivered(&on(false), &arrivals), [&old[..], &new[..2]].concat());
    let overtaking = [(28_000, 3), (31_000, 0), (41_000, 1), (46_000, 4), (49_000, 2)];
    assert_eq!(delivered(&on(true), &arrivals), overtaking);
}
/// Each packet has its own jitter, and the deliveries are in the order of their times.
#[test]
fn packets_with_little_jitter_overtake_those_with_much() {
    let most = Dur::from_ms(8);
    let on = |overtake| {
        let impairments = Impairments { overtake, ..Impairments::default() };
        LinkPlan { jitter: most.into(), ..with(impairments) }
    };
    let arrivals: Vec<(u64, u32)> = (0..100).map(|i| (2 * i, 1250)).collect();
    let mut jitter = Streams::new(1, &plan().name).jitter;
    let drawn = arrivals.iter().map(|(at, _)| ms(at + 3) + most.mul_f64(jitter.uniform()));
    let mut due: Vec<(Time, u32)> = drawn.zip(0..).collect();
    due.sort();
    let want: Vec<(u64, u32)> = due.iter().map(|(at, number)| (at.as_ns() / 1000, *number)).collect();
    assert!(!want.is_sorted_by_key(|(_, number)| *number));
    assert_eq!(delivered(&on(true), &arrivals), want);
    assert!(delivered(&on(false), &arrivals).is_sorted_by_key(|(_, number)| *number));
}
fn with(impairments: Impairments) -> LinkPlan {
    LinkPlan { impairments: Some(Box::new(impairments)), ..plan() }
}
#[test]
fn packets_are_lost_by_their_number() {
    let plan = with(Impairments { lose: vec![2, 3, 5], ..Impairments::default() });
    let (seen, mut link) = run(Link::new(&plan, 14, 1).expect("parameters"), &[(0, 1250); 6]);
    assert_eq!(seen.lost, [1, 2, 4], "the first has number 1");
    assert_eq!(seen.delivered, [(3000, 0), (6000, 3), (8000, 5)], "they take their time on the line");
    assert_eq!((link.counters(ms(9)).lost, link.counters(ms(9)).sent), (3, 6));
}
#[test]
fn a_packet_that_is_delivered_twice_takes_its_time_once() {
    let plan = with(Impairments { duplicate: Prob::of(1.0), ..Impairments::default() });
    let (seen, mut link) = run(Link::new(&plan, 14, 1).expect("parameters"), &[(0, 1250), (0, 1250)]);
    assert_eq!(seen.delivered, [(3000, 0), (3000, 0), (4000, 1), (4000, 1)]);
    assert_eq!((link.counters(ms(9)).duplicated, link.counters(ms(9)).sent), (2, 2));
}
#[test]
fn the_copy_of_a_packet_that_is_held_back_keeps_its_place() {
    let plan = with(Impairments {
        duplicate: Prob::of(1.0),
        reorder: Prob::of(1.0),
        reorder_by: Dur::from_ms(7),
        ..Impairments::default()
    });
    assert_eq!(delivered(&plan, &[(0, 1250)]), [(3000, 0), (10_000, 0)]);
}
#[test]
fn a_burst_beside_a_schedule_is_what_the_line_could_have_carried() {
    // Nothing until 10 ms, then 10 Mbit/s: an idle line has 1 ms saved up at 11 ms, and both packets' worth at 20 ms.
    let rates = Steps { first: Rate::ZERO, steps: [(Dur::from_ms(10), Rate::from_mbps(10))].into(), repeat: None };
    let varying = Some(Box::new(Varying::of(Capacity::Schedule(rates))));
    let plan = LinkPlan { varying, burst: Bytes::new(2500), ..plan() };
    assert_eq!(delivered(&plan, &[(11, 1250), (11, 1250)]), [(13_000, 0), (14_000, 1)]);
    assert_eq!(delivered(&plan, &[(20, 1250), (20, 1250), (20, 1250)]), [(22_000, 0), (22_000, 1), (23_000, 2)]);
}
#[test]
fn a_packet_that_the_line_never_carries_is_never_delivered() {
    let rates = Steps { first: Rate::from_mbps(10), steps: [(Dur::from_ms(1), Rate::ZERO)].into(), repeat: None };
    let varying = Some(Box::new(Varying::of(Capacity::Schedule(rates))));
    let mut link =
        Link::new(&LinkPlan { varying, jitter: Dur::from_ms(1).into(), ..plan() }, 14, 1).expect("parameters");
    let mut seen = Seen::default();
    (0..3).for_each(|number| link.arrive(ms(0), Packet(number, 1250), &mut seen));
    link.advance(ms(1_000_000), &mut seen);
    assert_eq!((seen.delivered.len(), link.packets(), link.next_event()), (1, 2, Some(Time::NEVER)));
}
#[test]
fn the_peak_after_the_warm_up_is_counted_anew() {
    let mut link = Link::new(&plan(), 14, 1).expect("parameters");
    let mut seen = Seen::default();
    (0..5).for_each(|number| link.arrive(ms(0), Packet(number, 1250), &mut seen));
    link.advance(ms(3), &mut seen);
    assert_eq!((link.end_warmup(ms(3)).peak_packets, link.counters(ms(3)).peak_packets), (4, 1));
}

/// A packet takes 1 ms on the line, and 2 ms of tokens.
fn shaped(ring: Option<u32>) -> LinkPlan {
    let queue = haltere_queue::tbf::Params { rate: Rate::from_mbps(5), burst: Bytes::new(1250), ..Default::default() };
    LinkPlan { queue: QueueParams::Tbf(queue).into(), ring, ..plan() }
}
#[test]
fn a_shaper_withholds_packets_from_a_free_line() {
    for ring in [None, Some(2)] {
        assert_eq!(delivered(&shaped(ring), &[(0, 1250); 3]), [(3000, 0), (5000, 1), (7000, 2)]);
        let later = [(0, 1250), (1, 1250), (9, 1250), (9, 1250)];
        assert_eq!(delivered(&shaped(ring), &later), [(3000, 0), (5000, 1), (12_000, 2), (14_000, 3)]);
    }
}
#[test]
fn a_shaper_that_is_as_fast_as_the_line_hands_over_at_the_same_instant() {
    let queue = haltere_queue::tbf::Params { rate: Rate::from_mbps(10), burst: Bytes::new(1250), ..Default::default() };
    for ring in [None, Some(2)] {
        let plan = LinkPlan { queue: QueueParams::Tbf(queue.clone()).into(), ring, ..plan() };
        assert_eq!(delivered(&plan, &[(0, 1250); 3]), [(3000, 0), (4000, 1), (5000, 2)]);
    }
}
#[test]
fn what_a_shaper_withholds_is_counted_as_waiting() {
    let (_, mut link) = run(Link::new(&shaped(None), 14, 1).expect("parameters"), &[(0, 1250); 3]);
    assert_eq!(link.counters(ms(9)).packet_ns, 6_000_000, "2 ms and 4 ms");
}
