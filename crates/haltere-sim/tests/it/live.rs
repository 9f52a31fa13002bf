//! Runs that are watched and changed while they go on.

use crate::common::{cbr, drop_tail, flow, ping, plan, wire};
use haltere_congestion::CongestionParams;
use haltere_plan::plan::{AppPlan, BulkPlan, DurationDistribution, FlowPlan, Measure, OnOffPlan, TcpPlan};
use haltere_plan::record::LinkCounters;
use haltere_plan::varying::{Capacity, Steps, Varying};
use haltere_plan::{Plan, Record};
use haltere_queue::QueueParams;
use haltere_sim::{Live, RunControl, run};
use haltere_transport::TcpParams;
use haltere_units::{Bytes, Dur, Prob, Rate, Time};

const BOTTLENECK: usize = 4;

fn bulk(control: &str) -> AppPlan {
    let congestion = CongestionParams::default_of(control).expect("a control of the registry");
    let tcp = TcpPlan::alike(congestion, TcpParams::default());
    AppPlan::Bulk(BulkPlan { tcp, bytes: None })
}

/// Hosts 0 and 1 send to host 3 over the router 2: 20 Mbit/s, a round trip of 20 ms.
fn network(params: QueueParams, seconds: u64) -> Plan {
    let mut links = [wire(0, 2, 1000), wire(1, 2, 1000), wire(2, 3, 20)].concat();
    for link in &mut links[BOTTLENECK..] {
        link.delay = Dur::from_ms(9);
    }
    links[BOTTLENECK].queue = params.into();
    let flows = vec![flow(0, 3, bulk("cubic")), flow(1, 3, bulk("bbr")), flow(0, 3, ping(50)), flow(1, 3, cbr(1, 500))];
    let measure = Measure { queues: Some(Dur::from_ms(10)), flows: Some(Dur::from_ms(70)), ..Measure::default() };
    let mut plan = Plan { measure, ..plan(4, links, flows, Dur::from_secs(seconds)) };
    plan.warmup = Time::ZERO + Dur::from_secs(1);
    plan
}

fn default_of(queue: &str) -> QueueParams {
    QueueParams::default_of(queue).expect("a discipline of the registry")
}
fn at(ms: u64) -> Time {
    Time::ZERO + Dur::from_ms(ms)
}
fn live(plan: &Plan) -> Live {
    Live::new(plan.clone()).expect("the plan can be run")
}
fn go(live: &mut Live, ms: u64) {
    live.advance(at(ms), &RunControl::default()).expect("nobody cancels");
}
fn packets(live: &mut Live, from_ms: u64) -> f64 {
    let (sum, count) = live
        .fresh()
        .queues
        .iter()
        .filter(|q| q.link == BOTTLENECK as u32 && q.at > at(from_ms))
        .fold((0, 0), |(sum, count), q| (sum + q.packets, count + 1));
    f64::from(sum) / f64::from(count)
}
/// True if both records are the same except for the number of events: a live run saves fewer events.
fn same(live: Record, whole: &Record) -> bool {
    Record { events: whole.events, peak_events: whole.peak_events, ..live } == *whole
}
fn bottleneck(record: &Record) -> LinkCounters {
    record.links[BOTTLENECK].total
}

#[test]
fn a_live_run_that_is_not_changed_gives_the_record_of_an_ordinary_one() {
    for queue in ["drop_tail", "red", "codel", "fq_codel", "pie", "threshold"] {
        let mut plan = network(default_of(queue), 6);
        plan.links[BOTTLENECK].loss = Prob::of(0.001);
        plan.links[BOTTLENECK].jitter = Dur::from_us(300).into();
        let whole = run(&plan, &RunControl::default()).expect("the run ends well");
        let mut live = live(&plan);
        let (mut seen, mut step) = ([0; 3], 1);
        while live.now() < plan.end {
            step = step * 7 % 1009 + 1; // steps of all lengths up to a second
            let next = live.now() + Dur::from_us(step * 1000 + 3);
            live.advance(next, &RunControl::default()).expect("nobody cancels");
            let fresh = live.fresh();
            assert!(fresh.queues.iter().all(|q| q.at <= next), "no sample of the future");
            seen = [seen[0] + fresh.queues.len(), seen[1] + fresh.flows.len(), seen[2] + fresh.pings.len()];
        }
        assert_eq!(live.now(), plan.end);
        assert_eq!(seen, [whole.queue_series.len(), whole.flow_series.len(), whole.pings.len()], "each sample once");
        assert!(same(live.finish().1, &whole), "{queue}: the records differ");
    }
}

#[test]
fn a_new_discipline_takes_over_what_waits_and_the_queue_falls() {
    let plan = network(drop_tail(400), 30);
    let mut live = live(&plan);
    go(&mut live, 15_000);
    let before = packets(&mut live, 5_000);
    let mut other = plan.clone();
    other.links[BOTTLENECK].queue = default_of("codel").into();
    live.change(other).expect("a discipline may change");
    assert_eq!(live.fresh().queues.len(), 0, "a change takes no time");
    go(&mut live, 30_000);
    let after = packets(&mut live, 20_000);
    assert!(before > 150.0 && after < 60.0, "from {before} to {after} packets");
    let last = live.finish().1;
    let (link, waiting) = (bottleneck(&last), last.queue_series.last().expect("sampled at the end").packets);
    let gone = link.sent + link.dropped_overlimit + link.dropped_congestion;
    assert_eq!(link.arrived, gone + u64::from(waiting), "nothing is lost or counted twice in between");
}

#[test]
fn what_a_smaller_queue_cannot_hold_is_dropped_and_counted() {
    let plan = network(drop_tail(400), 10);
    let mut live = live(&plan);
    // A full queue: go on until a sample says so.
    let full = (1..1000).find(|i| {
        go(&mut live, i * 10);
        live.fresh().queues.iter().any(|q| q.link == BOTTLENECK as u32 && q.packets > 300)
    });
    let full = full.expect("two bulk flows fill a queue") * 10;
    let mut other = plan.clone();
    other.links[BOTTLENECK].queue = drop_tail(100).into();
    let dropped = |live: &mut Live| {
        live.fresh().queues.iter().rfind(|q| q.link == BOTTLENECK as u32).map(|q| (q.packets, q.dropped))
    };
    let mut unchanged = self::live(&plan);
    go(&mut unchanged, full + 10);
    live.change(other).expect("a limit may change");
    go(&mut live, full + 10);
    let ((small, gone), (large, kept)) = (dropped(&mut live).expect("a sample"), dropped(&mut unchanged).expect("one"));
    assert!(small <= 100 && large > 250 && gone >= kept + 200, "{small} {gone}, unchanged {large} {kept}");
}

#[test]
fn every_discipline_can_replace_every_other() {
    let names = ["drop_tail", "pfifo_fast", "red", "codel", "fq_codel", "pie", "threshold", "rafle"];
    let mut live = live(&network(default_of("drop_tail"), 60));
    let mut ms = 0;
    for a in names {
        for b in names {
            for name in [a, b] {
                let mut other = live.plan().clone();
                other.links[BOTTLENECK].queue = default_of(name).into();
                live.change(other).expect("a discipline may change");
                ms += 100;
                go(&mut live, ms);
            }
        }
    }
    let record = live.finish().1;
    let (link, waiting) = (bottleneck(&record), record.queue_series.last().expect("sampled at the end").packets);
    assert_eq!(link.arrived, link.sent + link.dropped_overlimit + link.dropped_congestion + u64::from(waiting));
}

#[test]
fn rate_and_delay_change_and_nothing_overtakes() {
    let mut plan = network(drop_tail(4000), 12);
    plan.flows.truncate(1);
    let mut live = live(&plan);
    go(&mut live, 4_000);
    let mut other = plan.clone();
    other.links[BOTTLENECK].delay = Dur::from_ms(1);
    live.change(other.clone()).expect("a delay may change");
    go(&mut live, 8_000);
    other.links[BOTTLENECK].rate = Some(Rate::from_mbps(40));
    live.change(other).expect("a rate may change");
    go(&mut live, 12_000);
    let record = live.finish().1;
    let sender = record.flows[0].sender.expect("TCP");
    assert_eq!((sender.retransmissions, sender.reordering), (0, 3), "the queue is deep and nothing overtook");
    let mbps = |from, to| {
        let sent = |ms| record.queue_series.iter().find(|q| q.link == 4 && q.at == at(ms)).expect("sampled").sent_bytes;
        (sent(to) - sent(from)) as f64 * 8.0 / 1e3 / (to - from) as f64
    };
    assert!((19.9..20.1).contains(&mbps(5_000, 8_000)), "{}", mbps(5_000, 8_000));
    assert!((39.8..40.1).contains(&mbps(9_000, 12_000)), "{}", mbps(9_000, 12_000));
}

#[test]
fn a_ping_takes_the_new_delay() {
    let mut plan = network(drop_tail(100), 4);
    plan.flows.drain(..2);
    plan.flows.truncate(1);
    let mut live = live(&plan);
    go(&mut live, 2_000);
    let mut other = plan.clone();
    other.links[BOTTLENECK].delay = Dur::from_ms(1);
    live.change(other).expect("a delay may change");
    go(&mut live, 4_000);
    let rtt = |p: &haltere_plan::record::PingSample| p.rtt.as_secs_f64() * 1e3;
    let pings: Vec<f64> = live.fresh().pings.iter().map(rtt).collect();
    assert!((20.0..20.2).contains(&pings[10]) && (12.0..12.2).contains(&pings[60]), "{pings:?}");
}

#[test]
fn a_flow_joins() {
    let plan = network(default_of("fq_codel"), 10);
    let mut live = live(&plan);
    go(&mut live, 5_000);
    let mut other = plan.clone();
    let mut late = flow(1, 3, bulk("reno"));
    late.name = "late".into();
    other.flows.push(late);
    live.change(other).expect("a flow may join");
    go(&mut live, 10_000);
    let record = live.finish().1;
    let joined = &record.flows[4];
    let mbps = joined.received as f64 * 8.0 / 5e6;
    assert!((3.0..9.0).contains(&mbps), "a third of 19 Mbit/s, got {mbps}");
    assert_eq!(joined.received_after_warmup, joined.received);
    assert!(record.flow_series.iter().filter(|s| s.flow == 4).all(|s| s.at > at(5_000)));
}

#[test]
fn a_flow_of_each_kind_leaves_and_cannot_come_back() {
    let mut plan = network(default_of("fq_codel"), 12);
    let on_off = DurationDistribution::Constant(Dur::from_ms(100));
    let BulkPlan { tcp, .. } = match bulk("reno") {
        AppPlan::Bulk(bulk) => bulk,
        other => unreachable!("{other:?}"),
    };
    let (rate, chunk) = (Rate::from_mbps(2), Bytes::new(1000));
    let source = OnOffPlan { tcp, rate, chunk, on: on_off, off: on_off, begins_off: false };
    plan.flows.push(FlowPlan { name: "f4".into(), ..flow(1, 3, AppPlan::OnOff(source)) });
    let mut live = live(&plan);
    go(&mut live, 6_000);
    let mut other = live.plan().clone();
    for flow in &mut other.flows {
        flow.stop = Some(at(6_500));
    }
    live.change(other.clone()).expect("flows may leave");
    go(&mut live, 9_000);
    other.flows[0].stop = Some(at(10_000));
    let error = live.change(other).expect_err("it has left").to_string();
    assert!(error.contains("stop must be at most 6.5s as before for `f0`, got 10s"), "{error}");
    go(&mut live, 12_000);
    let record = live.finish().1;
    let at_nine =
        |i: u32| record.flow_series.iter().rfind(|s| s.flow == i && s.at <= at(9_000)).expect("sampled").received;
    for (i, flow) in record.flows.iter().enumerate().filter(|(i, _)| *i != 2) {
        assert!(flow.received > 0 && flow.received == at_nine(i as u32), "flow {i} goes on");
    }
    assert!(record.pings.iter().all(|ping| ping.at < at(6_500)), "and so does the ping");
    assert!(record.pings.len() > 120);
}

#[test]
fn an_outage_is_put_into_a_run_and_taken_out_of_it() {
    let mut plan = network(drop_tail(100), 12);
    plan.flows.truncate(1);
    let mut live = live(&plan);
    go(&mut live, 4_000);
    let mut other = plan.clone();
    let steps = [(Dur::from_ms(4_000), Rate::ZERO), (Dur::from_ms(6_000), Rate::from_mbps(20))];
    let rates = Steps { first: Rate::from_mbps(20), steps: steps.into(), repeat: None };
    let varying = Varying::of(Capacity::Schedule(rates));
    other.links[BOTTLENECK].varying = Some(Box::new(varying));
    live.change(other).expect("the course of a rate may change");
    go(&mut live, 9_000);
    live.change(plan).expect("and back");
    go(&mut live, 12_000);
    let record = live.finish().1;
    let sent = |ms| record.queue_series.iter().find(|q| q.link == 4 && q.at == at(ms)).expect("sampled").sent_bytes;
    let mbps = |from, to| (sent(to) - sent(from)) as f64 * 8.0 / 1e3 / (to - from) as f64;
    assert!(sent(5_990) - sent(4_000) < 1600, "at most the packet that was on the line");
    assert!((19.0..20.1).contains(&mbps(8_000, 9_000)) && (19.9..20.1).contains(&mbps(9_500, 12_000)));
}

#[test]
fn inner_values_are_read_with_their_units_and_without_a_trace() {
    let plan = network(default_of("pie"), 4);
    let mut live = live(&plan);
    for ms in 1..80 {
        go(&mut live, ms * 50);
        let queue = live.queue_state(BOTTLENECK).expect("a link");
        assert!(queue.values().iter().any(|(name, unit, _)| (*name, *unit) == ("qdelay", "s")));
        let (info, control) = live.flow_state(1).expect("TCP");
        assert!(info.cwnd > Bytes::ZERO && control.get("pacing_gain").is_some());
        assert!(live.flow_state(2).is_none() && live.flow_state(9).is_none() && live.queue_state(99).is_none());
    }
    go(&mut live, 4_000);
    let whole = run(&plan, &RunControl::default()).expect("the run ends well");
    assert!(same(live.finish().1, &whole), "a look changes nothing");
}

#[test]
fn a_plan_that_does_not_fit_is_refused_and_changes_nothing() {
    let plan = network(default_of("red"), 4);
    let whole = run(&plan, &RunControl::default()).expect("the run ends well");
    let mut live = live(&plan);
    go(&mut live, 2_000);
    type Change = fn(&mut Plan);
    let wrong: [(Change, &str); 7] = [
        (|p| p.flows[0].stop = Some(at(1_999)), "stop must be at least the 2s that have passed for `f0`, got 1.999s"),
        (|p| p.flows[0].start = at(1), "flows must be those of the run, `f0` as it was"),
        (|p| p.flows.truncate(2), "got nothing"),
        (|p| p.links[4].ring = Some(10), "`n2>n3` as it was except rate, delay, their course, jitter, loss and queue"),
        (|p| p.nodes[1] = "other".into(), "nodes must be those of the run"),
        (|p| p.end = at(1_000), "duration must be at least the 2s that have passed"),
        (|p| p.links[4].rate = Some(Rate::ZERO), "link n2>n3: rate must be above zero"),
    ];
    for (change, words) in wrong {
        let mut other = plan.clone();
        change(&mut other);
        let error = live.change(other).expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
    }
    go(&mut live, 4_000);
    assert!(same(live.finish().1, &whole), "the run continued without a change");
}
