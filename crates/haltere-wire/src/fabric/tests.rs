use super::*;
use crate::testing::{cable, ethernet, ipv4, link, run_script, tcp};
use haltere_plan::plan::Impairments;
use haltere_queue::{Pkt, QueueParams};
use haltere_units::{Bytes, Dur, Prob, Rate};

fn frame(id: u32, len: usize) -> Vec<u8> {
    ethernet(0x0800, &ipv4(2, 6, [10, 0, 0, 1], [10, 0, 0, 2], &tcp(1, 2, id, len - 54)))
}

fn fifo() -> QueueParams {
    QueueParams::default_of("drop_tail").unwrap()
}

fn ids(sent: &[(Time, Vec<u8>)]) -> Vec<u32> {
    sent.iter().map(|(_, b)| u32::from_be_bytes(b[38..42].try_into().unwrap())).collect()
}

#[test]
fn one_packet_takes_its_serialisation_and_the_delay() {
    let script = vec![vec![(Time::from_ns(5), frame(0, 1250))], vec![]];
    let router =
        run_script(cable(link(0, 1, fifo()), link(1, 0, fifo())), script.clone(), Time::ZERO + Dur::from_ms(10));
    // 1250 bytes at 10 Mbit/s take 1 ms, the delay is 1 ms.
    assert_eq!(router.ports[1].sent[0].0, Time::from_ns(2_000_005));
    let mut early = link(0, 1, fifo());
    early.handover_at_start = true;
    let router = run_script(cable(early, link(1, 0, fifo())), script, Time::ZERO + Dur::from_ms(10));
    assert_eq!(router.ports[1].sent[0].0, Time::from_ns(1_000_005));
}

#[test]
fn the_rate_is_exact_over_many_packets() {
    let mut there = link(0, 1, fifo());
    there.rate = Some(Rate::from_bps(7_777_777));
    let script = (0..900).map(|i| (Time::from_ns(1), frame(i, 1514))).collect();
    let router = run_script(cable(there, link(1, 0, fifo())), vec![script, vec![]], Time::ZERO + Dur::from_secs(3));
    let sent = &router.ports[1].sent;
    assert_eq!(sent.len(), 900);
    // n packets take n * 1514 * 8 / rate, rounded down to the nanosecond, and 1 ms of delay.
    let exact = |n: u128| (n * 1514 * 8_000_000_000 / 7_777_777) as u64 + 1_000_001;
    for (n, (at, _)) in sent.iter().enumerate() {
        assert_eq!(at.as_ns(), exact(n as u128 + 1));
    }
}

#[test]
fn a_full_queue_drops_and_every_packet_is_counted() {
    let script = (0..1200).map(|i| (Time::ZERO, frame(i, 100))).collect();
    let mut router = run_script(cable(link(0, 1, fifo()), link(1, 0, fifo())), vec![script, vec![]], Time::from_ns(1));
    let end = Time::ZERO + Dur::from_secs(1);
    let record = &router.fabric.network.link_records(end)[0].total;
    // One goes to the line at once, 1000 wait.
    assert_eq!((record.arrived, record.sent, record.dropped_overlimit), (1200, 1001, 199));
    assert_eq!(record.peak_packets, 1000);
    // Packet k (of 1000) waits k times 80 us: the integral is 80 us * 1000 * 1001 / 2.
    assert_eq!(record.packet_ns, 80_000 * 1000 * 1001 / 2);
    assert_eq!(router.snapshot(end).unaccounted(), 0);
}

#[test]
fn loss_is_as_asked_and_held_packets_are_overtaken() {
    let mut there = link(0, 1, fifo());
    there.rate = None;
    there.loss = Prob::of(0.1);
    let (reorder, reorder_by) = (Prob::of(0.05), Dur::from_us(250));
    there.impairments = Some(Box::new(Impairments { reorder, reorder_by, ..Impairments::default() }));
    let script: Vec<_> = (0..20_000).map(|i| (Time::from_ns(u64::from(i) * 100_000), frame(i, 100))).collect();
    let mut router = run_script(cable(there, link(1, 0, fifo())), vec![script, vec![]], Time::ZERO + Dur::from_secs(2));
    let ids = ids(&router.ports[1].sent);
    let lost = router.fabric.network.link_records(Time::ZERO + Dur::from_secs(3))[0].total.lost;
    assert_eq!(ids.len() as u64 + lost, 20_000);
    assert!((1850..2150).contains(&lost), "{lost}"); // 2000, three and a half standard deviations
    let overtaken = ids.windows(2).filter(|w| w[0] > w[1]).count();
    assert!((600..1100).contains(&overtaken), "{overtaken}"); // about 900 held less those behind a lost one
}

#[test]
fn a_ring_takes_packets_out_of_the_queue() {
    let mut there = link(0, 1, fifo());
    there.ring = Some(4);
    let mut fabric = Fabric::new(cable(there, link(1, 0, fifo()))).unwrap();
    for i in 0..10 {
        fabric.arrive(Time::ZERO, 0, Frame::parse(&frame(i, 1000)));
    }
    let there = &fabric.network.links_now(Time::ZERO)[0];
    assert_eq!((there.waiting.packets, there.ring), (5, 4), "one is on the line");
}

#[test]
fn a_dumbbell_routes_by_address_and_counts_strangers() {
    // 0 and 1 on the left of 2, 4 on the right of 3.
    let pairs = [(0, 2), (1, 2), (2, 3), (3, 4)];
    let links = pairs.iter().flat_map(|&(a, b)| [link(a, b, fifo()), link(b, a, fifo())]).collect();
    let mut params = cable(link(0, 1, fifo()), link(1, 0, fifo()));
    params.plan = FabricPlan { nodes: 5, links, ..params.plan };
    params = FabricParams { ports: vec![0, 1, 4], steering: Steering::ByAddress, ..params };
    let mut fabric = Fabric::new(params).unwrap();
    let to = |node: usize, id| {
        let mut bytes = frame(id, 100);
        bytes[..6].copy_from_slice(&node_mac(node));
        Frame::parse(&bytes)
    };
    fabric.arrive(Time::ZERO, 0, to(4, 1));
    fabric.arrive(Time::ZERO, 2, to(1, 2));
    fabric.arrive(Time::ZERO, 0, to(3, 3)); // no port there
    fabric.arrive(Time::ZERO, 0, to(77, 4));
    fabric.arrive(Time::ZERO, 0, Frame::parse(&[0xff; 60]));
    fabric.advance(Time::ZERO + Dur::from_secs(1));
    assert_eq!((fabric.outbox(2).len(), fabric.outbox(1).len(), fabric.outbox(0).len()), (1, 1, 0));
    // Three links of 80 us and 1 ms each.
    assert_eq!(fabric.outbox(2)[0].0, Time::from_ns(3 * 1_080_000));
    assert_eq!(fabric.network.counters().unroutable, 3);
}

#[test]
fn returned_copies_come_out_where_the_packet_came_in() {
    let params = r#"{ "kind": "threshold", "return_to_sender": true, "upper": "2p" }"#;
    let Ok(queue) = serde_json::from_str::<QueueParams>(params) else {
        let error = serde_json::from_str::<QueueParams>(params).unwrap_err();
        panic!("the threshold discipline changed its parameters: {error}");
    };
    let script: Vec<_> = (0..20).map(|i| (Time::ZERO, frame(i, 1000))).collect();
    let mut router =
        run_script(cable(link(0, 1, queue), link(1, 0, fifo())), vec![script, vec![]], Time::ZERO + Dur::from_secs(1));
    let back = &router.ports[0].sent;
    assert!(!back.is_empty());
    for (_, bytes) in back {
        let copy = Frame::parse(bytes);
        assert_eq!((copy.flow().src_port, copy.flow().dst_port, copy.ecn()), (2, 1, haltere_queue::Ecn::Ce));
    }
    let returned = router.fabric.network.counters().emitted;
    assert_eq!(returned, router.ports[0].sent.len() as u64);
    assert_eq!(router.snapshot(Time::ZERO + Dur::from_secs(2)).unaccounted(), 0);
}

#[test]
fn queues_are_sampled_at_their_times() {
    let mut params = cable(link(0, 1, fifo()), link(1, 0, fifo()));
    params.plan.sample = Some(Dur::from_ms(1));
    params.plan.links[1].watched = false;
    let script = (0..10).map(|i| (Time::ZERO, frame(i, 1250))).collect();
    let mut router = run_script(params, vec![script, vec![]], Time::ZERO + Dur::from_ms(5));
    let samples = std::mem::take(router.fabric.network.samples()).into_vec();
    let seen: Vec<_> = samples.iter().map(|s| (s.at.as_ns() / 1_000_000, s.packets)).take(5).collect();
    // At an instant the sample comes first: at 1 ms the second packet has not left the queue yet.
    assert_eq!(seen, [(0, 0), (1, 9), (2, 8), (3, 7), (4, 6)]);
}

#[test]
fn an_idle_line_saves_up_a_burst_and_no_more() {
    let mut there = link(0, 1, fifo());
    there.burst = Bytes::new(2500);
    let script = (0..4).map(|i| (Time::ZERO + Dur::from_ms(50), frame(i, 1250))).collect();
    let router = run_script(cable(there, link(1, 0, fifo())), vec![script, vec![]], Time::ZERO + Dur::from_ms(99));
    // 1 ms each; two are saved up, and the delay is 1 ms.
    let at: Vec<u64> = router.ports[1].sent.iter().map(|(at, _)| at.as_ns() / 1000).collect();
    assert_eq!(at, [51_000, 51_000, 52_000, 53_000]);
}

#[test]
fn jitter_keeps_the_order() {
    let mut there = link(0, 1, fifo());
    there.jitter = Dur::from_ms(5).into();
    let script = (0..500).map(|i| (Time::from_ns(u64::from(i) * 1_500_000), frame(i, 1250))).collect();
    let router = run_script(cable(there, link(1, 0, fifo())), vec![script, vec![]], Time::ZERO + Dur::from_secs(1));
    assert!(ids(&router.ports[1].sent).windows(2).all(|w| w[0] < w[1]));
    let extra = |n: usize| router.ports[1].sent[n].0.as_ns() - (n as u64 * 1_500_000 + 2_000_000);
    assert!((0..500).all(|n| extra(n) <= 5_000_000) && (0..500).any(|n| extra(n) > 4_000_000));
}

#[test]
fn the_peak_after_the_warm_up_is_counted_anew() {
    let mut params = cable(link(0, 1, fifo()), link(1, 0, fifo()));
    params.plan.warmup = Time::ZERO + Dur::from_ms(20);
    // 100 packets of 80 us at once, and when all are gone three more.
    let at = |i: u32| Time::ZERO + if i < 100 { Dur::ZERO } else { Dur::from_ms(30) };
    let script = (0..103).map(|i| (at(i), frame(i, 100))).collect();
    let end = Time::ZERO + Dur::from_ms(40);
    let mut router = run_script(params, vec![script, vec![]], end);
    let record = &router.fabric.network.link_records(end)[0];
    assert_eq!((record.total.peak_packets, record.after_warmup.peak_packets), (99, 2));
    assert_eq!((record.total.sent, record.after_warmup.sent), (103, 3));
}

#[test]
fn frames_take_another_path_after_a_change_of_the_routes() {
    // A square: 0 at the left, 3 at the right, over 1 (links 0 and 4) or over 2 (links 2 and 6).
    let pairs = [(0, 1), (0, 2), (1, 3), (2, 3)];
    let links = pairs.iter().flat_map(|&(a, b)| [link(a, b, fifo()), link(b, a, fifo())]).collect();
    let mut params = cable(link(0, 1, fifo()), link(1, 0, fifo()));
    let reroutes = vec![haltere_plan::plan::Reroute { at: Time::ZERO + Dur::from_ms(10), without: vec![4, 5] }];
    params.plan = FabricPlan { nodes: 4, links, reroutes, ..params.plan };
    params = FabricParams { ports: vec![0, 3], steering: Steering::ByAddress, ..params };
    let mut fabric = Fabric::new(params).unwrap();
    for ms in [0, 5, 10] {
        let mut bytes = frame(ms as u32, 100);
        bytes[..6].copy_from_slice(&node_mac(3));
        let now = Time::ZERO + Dur::from_ms(ms);
        fabric.advance(now);
        fabric.arrive(now, 0, Frame::parse(&bytes));
    }
    fabric.advance(Time::ZERO + Dur::from_secs(1));
    let sent: Vec<u64> =
        fabric.network.link_records(Time::ZERO + Dur::from_secs(1)).iter().map(|link| link.total.sent).collect();
    assert_eq!(sent, [2, 0, 1, 0, 2, 0, 1, 0]);
}

#[test]
fn a_shaper_withholds_frames_and_a_policer_drops_them() {
    // Tokens of a byte in 2 us, and room for one frame: one in 2 ms. On the line it takes 1 ms, the delay is 1 ms.
    let shaped: QueueParams =
        serde_json::from_str(r#"{ "kind": "tbf", "rate": "5Mbit", "burst": "1250B" }"#).expect("parameters");
    let script = || vec![(0..3).map(|i| (Time::ZERO, frame(i, 1250))).collect(), vec![]];
    let router = run_script(cable(link(0, 1, shaped), link(1, 0, fifo())), script(), Time::ZERO + Dur::from_ms(20));
    let at: Vec<u64> = router.ports[1].sent.iter().map(|(at, _)| at.as_ns() / 1000).collect();
    assert_eq!(at, [2000, 4000, 6000]);
    let policed: QueueParams =
        serde_json::from_str(r#"{ "kind": "policer", "rate": "5Mbit", "burst": "2500B" }"#).expect("parameters");
    let router = run_script(cable(link(0, 1, policed), link(1, 0, fifo())), script(), Time::ZERO + Dur::from_ms(20));
    assert_eq!(ids(&router.ports[1].sent), [0, 1]);
}
