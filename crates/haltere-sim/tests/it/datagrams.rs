//! Whole networks with UDP and ping, in which every time can be computed by hand.

use crate::common::{cbr, drop_tail, flow, link, ping, plan, wire};
use haltere_plan::plan::{LinkPlan, Measure};
use haltere_queue::QueueParams;
use haltere_sim::{RunControl, RunError, run};
use haltere_units::{Dur, Prob, Rate, Time};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

fn go(plan: &haltere_plan::Plan) -> haltere_plan::Record {
    run(plan, &RunControl::default()).expect("the run ends well")
}

#[test]
fn udp_over_a_link_is_limited_to_the_rate_exactly() {
    // 20 Mbit/s of payload into 10 Mbit/s: 1000 B of payload are 1042 B on the line, 833.6 us each.
    let links = vec![LinkPlan { delay: Dur::ZERO, ..link(0, 1, 10) }];
    let plan = plan(2, links, vec![flow(0, 1, cbr(20, 1000))], Dur::from_secs(10));
    let record = go(&plan);
    let fit = 10_000_000_000 / 833_600;
    assert_eq!(record.flows[0].packets_received, fit);
    assert_eq!(record.flows[0].received, fit * 1000);
    assert_eq!(record.flows[0].packets_sent, 25_001, "both ends of ten seconds included");
    let total = record.links[0].total;
    assert_eq!(total.arrived, 25_001);
    assert_eq!(total.sent, fit + 1, "one is on the line");
    assert_eq!(total.peak_packets, 1000);
    assert_eq!(total.dropped_overlimit, 25_001 - (fit + 1) - 1000);
}
#[test]
fn ping_takes_the_sum_of_delays_and_serialisations() {
    // 56 B of payload are 98 B on a line.
    let mut links = wire(0, 1, 100);
    links.extend(wire(1, 2, 8));
    links[0].delay = Dur::from_us(100);
    links[1].delay = Dur::from_us(300);
    let plan = plan(3, links, vec![flow(0, 2, ping(100))], Dur::from_secs(1));
    let record = go(&plan);
    let delays = 100_000 + 300_000 + 2 * 1_000_000;
    let lines = 2 * (98 * 8 * 10 + 98 * 8 * 125);
    assert_eq!(record.pings.len(), 10, "the last reply comes after the end");
    for (i, sample) in record.pings.iter().enumerate() {
        assert_eq!(sample.at, Time::from_ns(i as u64 * 100_000_000));
        assert_eq!(sample.rtt, Dur::from_ns(delays + lines));
    }
    assert_eq!((record.flows[0].packets_sent, record.flows[0].packets_received), (11, 10));
}
#[test]
fn a_full_queue_under_a_device_ring_adds_both_delays() {
    // Overloaded: 1000 packets in the discipline, 100 in the ring, one on the line.
    let mut links = wire(0, 1, 10);
    links[0].ring = Some(100);
    let measure = Measure { queues: Some(Dur::from_ms(100)), ..Measure::default() };
    let mut plan = plan(2, links, vec![flow(0, 1, cbr(20, 1000)), flow(0, 1, ping(10))], Dur::from_secs(10));
    plan.measure = measure;
    let record = go(&plan);
    let last = record.queue_series.last().expect("samples");
    assert_eq!((last.at, last.packets, last.ring_packets), (plan.end, 1000, 100));
    let full = 1100.0 * 1042.0 * 8.0 / 1e7;
    let longest = record.pings.iter().map(|p| p.rtt).max().expect("replies").as_secs_f64();
    assert!((longest - full).abs() < 0.02 * full, "longest ping {longest} s, two full buffers {full} s");
}
#[test]
fn what_arrived_is_sent_dropped_or_waiting_under_every_discipline() {
    for &name in QueueParams::NAMES {
        let mut links = wire(0, 1, 10);
        links.extend(wire(1, 2, 100));
        links[0].queue = QueueParams::default_of(name).expect("known").into();
        links[0].loss = Prob::of(0.01);
        let flows = vec![flow(0, 2, cbr(7, 1000)), flow(0, 2, cbr(5, 300)), flow(2, 0, ping(10))];
        let mut plan = plan(3, links, flows, Dur::from_secs(20));
        plan.measure.queues = Some(Dur::from_ms(10));
        let record = go(&plan);
        for (link, plan) in record.links.iter().zip(&plan.links) {
            let t = link.total;
            let gone = t.sent + t.dropped_overlimit + t.dropped_congestion;
            let waiting = t.arrived.checked_sub(gone).expect("more departures than arrivals");
            assert!(waiting <= u64::from(t.peak_packets), "{name} on {}: {t:?}", plan.name);
        }
        let t = record.links[0].total;
        let udp: u64 = record.flows[..2].iter().map(|f| f.packets_received).sum();
        assert!(t.lost > 100 && udp > 1000, "{name}: {t:?}");
        // The integral agrees with the mean of the samples.
        let samples: Vec<f64> =
            record.queue_series.iter().filter(|s| s.link == 0).map(|s| f64::from(s.packets)).collect();
        assert_eq!(samples.len(), 2000, "{name}");
        let samples = samples.iter().sum::<f64>() / 2000.0;
        let exact = t.packet_ns as f64 / 20e9;
        assert!((samples - exact).abs() <= 0.02 * exact + 0.5, "{name}: samples {samples}, integral {exact}");
    }
}
#[test]
fn same_seed_same_record_and_another_seed_another() {
    let outcome = |seed| {
        let mut links = wire(0, 1, 10);
        links[0].loss = Prob::of(0.1);
        let mut plan = plan(2, links, vec![flow(0, 1, cbr(12, 500)), flow(0, 1, ping(10))], Dur::from_secs(2));
        plan.seed = seed;
        plan.measure.queues = Some(Dur::from_ms(1));
        format!("{:?}", go(&plan))
    };
    assert!(outcome(1) == outcome(1), "two runs of one seed differ");
    assert!(outcome(1) != outcome(2), "two seeds give the same run");
}
#[test]
fn counters_after_warm_up_leave_the_warm_up_out() {
    let mut links = wire(0, 1, 10);
    links[0].queue = drop_tail(5).into();
    let mut plan = plan(2, links, vec![flow(0, 1, cbr(20, 1000))], Dur::from_secs(10));
    plan.flows[0].stop = Some(Time::from_ns(4_000_000_000));
    plan.warmup = Time::from_ns(5_000_000_000);
    let record = go(&plan);
    assert_eq!(record.links[0].after_warmup, haltere_plan::record::LinkCounters::default());
    assert_eq!(record.flows[0].received_after_warmup, 0);
    assert!(record.links[0].total.dropped_overlimit > 1000);
}
#[test]
fn a_flow_without_a_path_is_refused() {
    let plan = plan(3, wire(0, 1, 10), vec![flow(0, 2, cbr(1, 100))], Dur::from_secs(1));
    let error = run(&plan, &RunControl::default()).expect_err("there is no path");
    assert!(matches!(error, RunError::Unreachable { .. }));
    let text = "flow f0: its ends must be joined by links, got no path from `n0` to `n2`; \
                add the missing link (each link is one direction)";
    assert_eq!(error.to_string(), text);
}
#[test]
fn wrong_parameters_are_refused_with_their_place() {
    let mut links = wire(0, 1, 10);
    links[1].queue = drop_tail(0).into();
    let one = plan(2, links, vec![flow(0, 1, cbr(1, 100))], Dur::from_secs(1));
    let error = run(&one, &RunControl::default()).expect_err("no packet fits").to_string();
    assert!(error.starts_with("link n1>n0: limit must be "), "{error}");
    let two = plan(2, wire(0, 1, 10), vec![flow(0, 1, cbr(1, 70_000))], Dur::from_secs(1));
    let error = run(&two, &RunControl::default()).expect_err("too large").to_string();
    assert_eq!(error, "flow f0: packet must be from 1 B to 65507 B, got 70kB");
}
#[test]
fn a_run_can_be_watched_and_cancelled() {
    let plan = plan(2, wire(0, 1, 10), vec![flow(0, 1, cbr(20, 100))], Dur::from_secs(5));
    let (cancel, progress) = (AtomicBool::new(false), AtomicU64::new(0));
    let control = RunControl { cancel: Some(&cancel), progress: Some(&progress), threads: 1 };
    run(&plan, &control).expect("the run ends well");
    assert_eq!(progress.load(Ordering::Relaxed), 5_000_000_000);
    cancel.store(true, Ordering::Relaxed);
    let error = run(&plan, &control).expect_err("cancelled");
    assert!(matches!(error, RunError::Cancelled { at } if at < plan.end), "{error}");
}
#[test]
fn rates_need_not_divide_anything() {
    // 1042 B at 9.999991 Mbit/s for ten seconds: the exact number, rounded down.
    let mut links = vec![LinkPlan { delay: Dur::ZERO, ..link(0, 1, 10) }];
    links[0].rate = Some(Rate::from_bps(9_999_991));
    let plan = plan(2, links, vec![flow(0, 1, cbr(20, 1000))], Dur::from_secs(10));
    assert_eq!(go(&plan).flows[0].packets_received, 9_999_991 * 10 / (1042 * 8));
}
