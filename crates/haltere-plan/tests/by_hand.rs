//! Worked examples: the least time of a transfer, flows between given pairs, flows that are replayed, and what not
//! every world has.

use haltere_congestion::CongestionParams;
use haltere_plan::app::TcpPlan;
use haltere_plan::arrivals::{FlowArrival, FlowArrivals, delay, ideal};
use haltere_plan::plan::{ArrivalsPlan, Between, LinkPlan, Measure, Pattern, Plan};
use haltere_plan::sizes::SizeDistribution;
use haltere_queue::QueueParams;
use haltere_transport::TcpParams;
use haltere_units::{Bytes, Dur, Rate, Time};

fn queue(kind: &str) -> QueueParams {
    QueueParams::default_of(kind).expect("a name of the registry")
}

/// Nodes in a row: 8 Mbit/s and 1 ms, 16 Mbit/s and 2 ms, no rate and 4 ms.
fn row() -> Plan {
    let link = |from, mbps: u64, ms| {
        let rate = (mbps > 0).then(|| Rate::from_mbps(mbps));
        LinkPlan::plain(from, from + 1, rate, Dur::from_ms(ms), queue("drop_tail"))
    };
    Plan::new(Plan::node_names(4), vec![link(0, 8, 1), link(1, 16, 2), link(2, 0, 4)], Vec::new(), Time::from_ns(9))
}

#[test]
fn the_least_time_is_the_first_packet_over_each_link_and_the_rest_over_the_slowest() {
    let (plan, mss) = (row(), Bytes::new(1000));
    let least = |there: &[usize], bytes| ideal(&plan, (there, &[2]), Bytes::new(bytes), mss);
    assert_eq!((delay(&plan, &[0, 1, 2]), delay(&plan, &[])), (Dur::from_ms(7), Dur::ZERO));
    // Three packets with 66 bytes of headers each, 2698 bytes. The first, of 1066, takes 1066 us and 533 us; the rest
    // follow at 8 Mbit/s.
    assert_eq!(least(&[0, 1], 2500), Dur::from_us(7000 + 1066 + 533 + 1632));
    assert_eq!(least(&[1, 0], 2500), least(&[0, 1], 2500));
    // One packet of 67 bytes.
    assert_eq!(least(&[0, 1], 1), Dur::from_ns(7_000_000 + 67_000 + 33_500));
    assert_eq!(least(&[0], 1000), Dur::from_us(5000 + 1066));
    assert_eq!(least(&[0], 1001), Dur::from_us(5000 + 1066 + 67), "a byte more is a packet more");
    assert_eq!(least(&[2], 1_000_000), Dur::from_ms(8), "packets take no time");
    let ip = Plan { framing: 0, ..row() };
    assert_eq!(ideal(&ip, (&[0], &[2]), Bytes::new(1), mss), Dur::from_us(5000 + 53));
}

/// The first flows of this pattern, from 5 ns on.
fn flows(between: &[(usize, usize)], pattern: Pattern, stop: Option<Time>, count: usize) -> Vec<FlowArrival> {
    let tcp = TcpPlan::alike(CongestionParams::default_of("cubic").expect("a name"), TcpParams::default());
    let sizes = SizeDistribution::new(&[[100.0, 0.5], [900.0, 1.0]]).expect("a table");
    let plan = ArrivalsPlan { tcp, between: Between::Pairs(between.into()), pattern, sizes, max_flows: None };
    FlowArrivals::new(&plan, "entry", Time::from_ns(5), stop, 3).take(count).collect()
}

#[test]
fn of_given_pairs_each_is_as_likely_as_any_other() {
    let pairs = [(1, 2), (7, 4), (2, 1)];
    let all = flows(&pairs, Pattern::Poisson { gap: Dur::from_ms(1) }, None, 3000);
    for pair in pairs {
        let count = all.iter().filter(|flow| (flow.from, flow.to) == pair).count();
        // The standard deviation is 26, and four of them are allowed.
        assert!((900..=1100).contains(&count), "{pair:?}: {count}");
    }
    assert!(all.iter().all(|flow| pairs.contains(&(flow.from, flow.to))));
}

#[test]
fn each_round_of_an_incast_between_pairs_has_each_pair_once() {
    let pairs = [(1, 9), (2, 9), (3, 9)];
    let pattern = Pattern::Incast { to: None, senders: 3, interval: Dur::from_ms(10), jitter: Dur::ZERO };
    for (number, round) in (0u64..).zip(flows(&pairs, pattern, None, 12).chunks(3)) {
        let mut ends: Vec<(usize, usize)> = round.iter().map(|flow| (flow.from, flow.to)).collect();
        ends.sort_unstable();
        assert_eq!(ends, pairs);
        assert!(round.iter().all(|flow| flow.at == Time::from_ns(5) + Dur::from_ms(10) * number));
    }
}

#[test]
fn flows_are_replayed_from_the_start_until_the_stop() {
    let flow = |ns, from, to, bytes| FlowArrival { at: Time::from_ns(ns), from, to, bytes: Bytes::new(bytes) };
    let given = [flow(0, 1, 2, 100), flow(10, 2, 1, 7), flow(25, 1, 2, 9)];
    let replay = |stop: Option<u64>| flows(&[], Pattern::Replay(given.into()), stop.map(Time::from_ns), 9);
    assert_eq!(replay(None), [flow(5, 1, 2, 100), flow(15, 2, 1, 7), flow(30, 1, 2, 9)]);
    assert_eq!(replay(Some(31)), replay(None));
    assert_eq!(replay(Some(30)), replay(None)[..2], "a flow that begins at the stop does not begin");
}

#[test]
fn the_first_measure_that_only_the_simulator_has_is_named() {
    let until = Some(Time::from_ns(3));
    for (key, measure) in [
        (None, Measure { flows: Some(Dur::from_ms(1)), snaplen: Some(64), ..Measure::default() }),
        (Some("window (or cooldown)"), Measure { until, delays: true, ..Measure::default() }),
        (Some("delays"), Measure { delays: true, state: true, ..Measure::default() }),
        (Some("state"), Measure { state: true, senders: true, ..Measure::default() }),
        (Some("qlog"), Measure { senders: true, captured: vec![0], ..Measure::default() }),
        (Some("pcap"), Measure { captured: vec![0], logged: vec![0], ..Measure::default() }),
        (Some("packets"), Measure { logged: vec![0], ..Measure::default() }),
    ] {
        assert_eq!(measure.of_simulator(), key);
    }
}

#[test]
fn a_queue_of_the_kernel_is_refused_outside_the_kernel_world() {
    let mut plan = row();
    assert!(plan.check_queues().is_ok());
    plan.links[1].queue = serde_json::from_str(r#"{ "kind": "kernel", "tc": "pie" }"#).expect("parameters");
    let fault = plan.check_queues().expect_err("a queue of the kernel");
    assert_eq!(
        fault.to_string(),
        "link n1>n2: queue must be one of Haltere's disciplines outside the kernel world, got `kernel`; run it with `--world kernel`"
    );
}
