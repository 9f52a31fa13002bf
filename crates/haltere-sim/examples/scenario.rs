//! Runs one experiment file in the simulator and prints what it cost and what it carried, as one line of JSON.
//!
//! `cargo run --release -p haltere-sim --example scenario -- FILE [SEED] [--plan] [--parts=N] [--threads=N]`, FILE being
//! TOML, or JSON if its name ends so. `--parts` takes the place of the file's `parts`. With `--plan` nothing is run: the nodes, links and flows are printed, line by line, for another
//! simulator. The benchmarks (`make bench`) start it once a measurement, so that the operating system reports CPU time
//! and memory.

use cost::{cpu_seconds, resident_kb};
use haltere_lab::Scenario;
use haltere_plan::arrivals::FlowArrivals;
use haltere_plan::plan::{AppPlan, Auto, BulkPlan, Parts, PingPlan, TcpPlan};
use haltere_plan::record::{LinkCounters, Record};
use haltere_plan::{Plan, Routes, ports};
use haltere_queue::{FlowKey, QueueParams, threshold::Level};
use haltere_sim::{RunControl, run};
use haltere_units::{Bytes, Size, Time};
use serde_json::{Value, json};
use std::time::Instant;

mod cost;

/// Every link's packets, and what the watched ones did to them.
fn links(plan: &Plan, record: &Record) -> (u64, LinkCounters) {
    let mut watched = LinkCounters::default();
    let mut hops = 0;
    for (link, counted) in plan.links.iter().zip(&record.links) {
        hops += counted.total.sent;
        if link.watched {
            watched.sent += counted.total.sent;
            watched.marked += counted.total.marked;
            watched.dropped_overlimit += counted.total.dropped_overlimit + counted.total.dropped_congestion;
        }
    }
    (hops, watched)
}

/// Classes of flows by their bytes, the last of a class included.
const CLASSES: [(&str, u64, u64); 4] = [
    ("all", 0, u64::MAX),
    ("up to 100 kB", 0, 100_000),
    ("100 kB to 1 MB", 100_001, 1_000_000),
    ("above 1 MB", 1_000_001, u64::MAX),
];

/// Percentiles, the least value that so many percent of the values do not exceed.
fn percentiles(mut values: Vec<f64>) -> Value {
    values.sort_by(f64::total_cmp);
    let at = |p: f64| values.get(((values.len() as f64 * p).ceil() as usize).saturating_sub(1));
    json!({ "p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "most": values.last() })
}

/// Completion times of all flows with an end, by size, in microseconds. For flows that arrive during the run also the
/// ratio to their ideal time.
fn completions(plan: &Plan, record: &Record) -> Value {
    // Bytes, completion time in seconds (none: not complete), times the ideal.
    let mut flows: Vec<(u64, Option<f64>, Option<f64>)> = Vec::new();
    for (flow, recorded) in plan.flows.iter().zip(&record.flows) {
        if let AppPlan::Bulk(BulkPlan { bytes: Some(bytes), .. }) = flow.app {
            flows.push((bytes.as_u64(), recorded.completed.map(|at| (at - flow.start).as_secs_f64()), None));
        }
    }
    for arrived in &record.completions {
        let span = (arrived.end != Time::NEVER).then(|| (arrived.end - arrived.start).as_secs_f64());
        flows.push((arrived.bytes, span, span.map(|s| s / arrived.ideal.as_secs_f64())));
    }
    let class = |(name, least, most): (&str, u64, u64)| {
        let of = || flows.iter().filter(move |flow| (least..=most).contains(&flow.0));
        let spans: Vec<f64> = of().filter_map(|flow| flow.1).map(|span| span * 1e6).collect();
        let ended = spans.len();
        let (us, slowdown) = (percentiles(spans), percentiles(of().filter_map(|flow| flow.2).collect()));
        let line = json!({ "sizes": name, "flows": of().count(), "completed": ended, "us": us, "slowdown": slowdown });
        (ended > 0).then_some(line)
    };
    let by_size: Vec<Value> = CLASSES.into_iter().filter_map(class).collect();
    let completed = flows.iter().filter(|flow| flow.1.is_some()).count();
    json!({ "flows": flows.len(), "completed": completed, "by_size": by_size })
}

/// How many links carried something, and a hash of which these are: two simulators whose flows take the same paths
/// agree.
fn links_used(carried: impl Iterator<Item = bool>) -> (u64, String) {
    const PRIME: u64 = 0x100_0000_01b3;
    let (mut used, mut hash) = (0, 0xcbf2_9ce4_8422_2325_u64);
    for carried in carried {
        used += u64::from(carried);
        hash = (hash ^ u64::from(carried)).wrapping_mul(PRIME);
    }
    (used, format!("{hash:016x}"))
}

/// The kind of a queue, the packets that it holds, and the packets waiting from which on it marks.
fn queue(params: &QueueParams) -> (&'static str, u64, u64) {
    let packets = |size: Size| match size {
        Size::Packets(n) => n,
        other => panic!("a queue's size must be in packets to be handed on, got {other}"),
    };
    match params {
        QueueParams::DropTail(p) => ("drop_tail", packets(p.limit), 0),
        QueueParams::FqCodel(p) => ("fq_codel", packets(p.queues.limit), 0),
        QueueParams::Threshold(p) => match p.upper {
            Level::Size(upper) => ("threshold", packets(p.limit), packets(upper)),
            other => panic!("a threshold must be in packets to be handed on, got {other}"),
        },
        other => panic!("this queue cannot be handed on: {other:?}"),
    }
}

/// The settings of the endpoints.
fn words(tcp: &TcpPlan) -> String {
    let p = &tcp.sender;
    let buffer = p.send_buffer.expect("buffers have a size").as_u64();
    let (control, mss, stamps) = (tcp.congestion.kind(), p.mss.as_u64(), u8::from(p.timestamps));
    let (window, min_rto, delayed) = (p.initial_window, p.min_rto.as_ns(), p.delayed_ack.as_ns());
    format!("{control} {mss} {buffer} {window} {stamps} {min_rto} {delayed}")
}

/// The links of a TCP flow in both directions, if flows are spread over several paths. The simulator chooses by ports,
/// too: `links_used` of the run shows whether that is still true.
fn print_paths(plan: &Plan, routes: &mut Routes, (from, to): (usize, usize), (near, far): (u16, u16)) {
    let address = |node: usize| u128::from(0x0a00_0001_u32) + node as u128;
    for (from, to, src_port, dst_port) in [(from, to, near, far), (to, from, far, near)] {
        let key = FlowKey { src: address(from), dst: address(to), src_port, dst_port, protocol: 6 };
        let links = routes.spread(from, to, key.hash(plan.seed)).expect("there is a path");
        println!("path {}", links.iter().map(usize::to_string).collect::<Vec<_>>().join(" "));
    }
}

/// The plan as lines of words, times in nanoseconds and rates in bit/s.
fn print_plan(plan: &Plan) {
    let mut routes = Routes::of(plan);
    let mut paths = |ends, ports: (u16, u16)| {
        if plan.ecmp {
            print_paths(plan, &mut routes, ends, ports);
        }
    };
    println!("run {} {} {}", plan.nodes.len(), plan.end.as_ns(), plan.warmup.as_ns());
    for link in &plan.links {
        let rate = link.rate.expect("a link has a rate").as_bps();
        let (kind, limit, level) = queue(link.queue.ours().expect("a discipline of Haltere"));
        let (from, to, delay, watched) = (link.from, link.to, link.delay.as_ns(), u8::from(link.watched));
        println!("link {from} {to} {rate} {delay} {kind} {limit} {level} {watched}");
    }
    let sources = plan.flows.iter().filter(|flow| flow.app.arrivals().is_some()).count();
    assert!(
        sources < 2,
        "flows that arrive are numbered in order: a plan with {sources} entries of them cannot be printed"
    );
    for (index, flow) in plan.flows.iter().enumerate() {
        let (from, to, start) = (flow.from, flow.to, flow.start.as_ns());
        match &flow.app {
            AppPlan::Bulk(BulkPlan { tcp, bytes }) => {
                println!("flow {from} {to} {start} {} {}", bytes.map_or(0, Bytes::as_u64), words(tcp));
                paths((from, to), ports::of_flow(index));
            }
            AppPlan::Arrivals(process) => {
                let arrivals = FlowArrivals::new(process, &flow.name, flow.start, flow.stop, plan.seed);
                let arrivals = arrivals.take_while(|arrival| arrival.at <= plan.end);
                for (number, arrival) in (0u64..).zip(arrivals) {
                    let (from, to, start) = (arrival.from, arrival.to, arrival.at.as_ns());
                    println!("flow {from} {to} {start} {} {}", arrival.bytes.as_u64(), words(&process.tcp));
                    paths((from, to), ports::of_arrival(number));
                }
            }
            AppPlan::Ping(PingPlan { interval, .. }) => println!("ping {from} {to} {start} {}", interval.as_ns()),
            other => panic!("this traffic cannot be printed: {other:?}"),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "it measures")]
fn main() {
    let start_kb = resident_kb("VmRSS");
    let (options, words): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let file = words.first().expect("usage: scenario FILE [SEED] [--plan]").clone();
    let seed = words.get(1).map_or(1, |text| text.parse().expect("SEED is a whole number"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{file}: {e}"));
    let read = if file.ends_with(".json") { Scenario::from_json } else { Scenario::parse };
    let mut plan = read(&text, &file).and_then(|scenario| scenario.plan(seed)).unwrap_or_else(|e| panic!("{e}"));
    let option = |name: &str| options.iter().find_map(|option| option.strip_prefix(name)?.strip_prefix('='));
    match option("--parts") {
        None => {}
        Some("auto") => plan.parts = Parts::Auto(Auto::Auto),
        Some(parts) => plan.parts = Parts::Most(parts.parse().expect("N is a whole number")),
    }
    let threads = option("--threads").map_or(1, |threads| threads.parse().expect("N is a whole number"));

    if options.iter().any(|word| word == "--plan") {
        return print_plan(&plan);
    }
    let (before, started) = (cpu_seconds(), Instant::now());
    let record = run(&plan, &RunControl { threads, ..RunControl::default() }).expect("the run ends well");
    let (cpu, wall) = (cpu_seconds() - before, started.elapsed().as_secs_f64());

    let (hops, watched) = links(&plan, &record);
    let (links_used, which) = links_used(record.links.iter().map(|link| link.total.sent > 0));
    let arrived = &record.completions;
    let sent_again: u64 = arrived.iter().map(|flow| u64::from(flow.retransmissions)).sum();
    let lasting = plan.flows.iter().filter(|flow| flow.app.arrivals().is_none()).count();
    let senders = || record.flows.iter().filter_map(|flow| flow.sender);
    let line = json!({
        "flows": lasting + arrived.len(),
        "received_bytes": record.flows.iter().map(|flow| flow.received).sum::<u64>(),
        "received_bytes_late": record.flows.iter().map(|flow| flow.received_after_warmup).sum::<u64>(),
        "retransmissions": senders().map(|s| s.retransmissions).sum::<u64>() + sent_again,
        "bottleneck_packets": watched.sent,
        "drops": watched.dropped_overlimit,
        "marks": watched.marked,
        "hops": hops,
        "links_used": links_used,
        "links_which": which,
        "events": record.events,
        "peak_events": record.peak_events,
        "completions": completions(&plan, &record),
        "run_cpu_s": cpu,
        "run_wall_s": wall,
        "setup_cpu_s": before,
        "start_kb": start_kb,
        "peak_kb": resident_kb("VmHWM"),
    });
    println!("{line}");
}
