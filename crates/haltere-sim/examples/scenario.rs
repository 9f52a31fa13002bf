//! Runs one experiment file in the simulator and prints what it cost and what it carried, as one line of JSON.
//!
//! `cargo run --release -p haltere-sim --example scenario -- FILE [SEED] [--plan]`, FILE being TOML, or JSON if its name
//! ends so. With `--plan` nothing is run: the nodes, links and flows are printed, line by line, for another simulator.
//! The benchmarks (`make bench`) start it once a measurement, so that the operating system tells CPU time and memory.

use haltere_lab::plan::{AppPlan, TcpPlan};
use haltere_lab::record::{LinkCounters, Record};
use haltere_lab::{Plan, Scenario};
use haltere_queue::{QueueParams, threshold::Level};
use haltere_sim::{RunControl, run};
use haltere_units::{Bytes, Size, Time};
use serde_json::{Value, json};

/// User and system time of this process in seconds.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// The most memory that was resident, in kB: of this program alone, where the parent's `ru_maxrss` begins with its own.
fn peak_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find(|line| line.starts_with("VmHWM"))?.split_whitespace().nth(1)?.parse().ok()
}

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

/// Percentiles of the completion times of all flows that have an end, in microseconds.
fn completions(plan: &Plan, record: &Record) -> Value {
    let limited = |app: &AppPlan| matches!(app, AppPlan::Bulk { bytes: Some(_), .. });
    let mut spans: Vec<f64> = Vec::new();
    let mut flows = 0u64;
    for (flow, came) in plan.flows.iter().zip(&record.flows).filter(|(flow, _)| limited(&flow.app)) {
        flows += 1;
        spans.extend(came.completed.map(|at: Time| (at - flow.start).as_secs_f64() * 1e6));
    }
    flows += record.completions.len() as u64;
    let ended = record.completions.iter().filter(|c| c.end != Time::NEVER);
    spans.extend(ended.map(|c| (c.end - c.start).as_secs_f64() * 1e6));
    spans.sort_by(f64::total_cmp);
    let at = |p: f64| spans.get(((spans.len() as f64 * p) as usize).min(spans.len().saturating_sub(1)));
    json!({ "flows": flows, "completed": spans.len(), "p50_us": at(0.5), "p99_us": at(0.99), "last_us": spans.last() })
}

/// The kind of a queue, the packets that it holds, and the packets waiting from which on it marks.
fn queue(params: &QueueParams) -> (&'static str, u64, u64) {
    let packets = |size: Size| match size {
        Size::Packets(n) => n,
        other => panic!("a queue's size must be in packets to be handed on, got {other}"),
    };
    match params {
        QueueParams::DropTail(p) => ("drop_tail", packets(p.limit), 0),
        QueueParams::FqCodel(p) => ("fq_codel", packets(p.limit), 0),
        QueueParams::Threshold(p) => match p.upper {
            Level::Size(upper) => ("threshold", packets(p.limit), packets(upper)),
            other => panic!("a threshold must be in packets to be handed on, got {other}"),
        },
        other => panic!("this queue cannot be handed on: {other:?}"),
    }
}

/// What the endpoints are set to.
fn words(tcp: &TcpPlan) -> String {
    let p = &tcp.sender;
    let buffer = p.send_buffer.expect("buffers have a size").as_u64();
    let (control, mss, stamps) = (tcp.congestion.kind(), p.mss.as_u64(), u8::from(p.timestamps));
    let (window, min_rto, delayed) = (p.initial_window, p.min_rto.as_ns(), p.delayed_ack.as_ns());
    format!("{control} {mss} {buffer} {window} {stamps} {min_rto} {delayed}")
}

/// The plan as lines of words, times in nanoseconds and rates in bit/s.
fn print_plan(plan: &Plan) {
    println!("run {} {} {}", plan.nodes.len(), plan.end.as_ns(), plan.warmup.as_ns());
    for link in &plan.links {
        let rate = link.rate.expect("a link has a rate").as_bps();
        let (kind, limit, level) = queue(&link.queue);
        let (from, to, delay, watched) = (link.from, link.to, link.delay.as_ns(), u8::from(link.watched));
        println!("link {from} {to} {rate} {delay} {kind} {limit} {level} {watched}");
    }
    for flow in &plan.flows {
        let (from, to, start) = (flow.from, flow.to, flow.start.as_ns());
        match &flow.app {
            AppPlan::Bulk { tcp, bytes } => {
                println!("flow {from} {to} {start} {} {}", bytes.map_or(0, Bytes::as_u64), words(tcp));
            }
            AppPlan::Ping { interval, .. } => println!("ping {from} {to} {start} {}", interval.as_ns()),
            other => panic!("this traffic cannot be handed on: {other:?}"),
        }
    }
}

fn main() {
    let (options, words): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let file = words.first().expect("usage: scenario FILE [SEED] [--plan]").clone();
    let seed = words.get(1).map_or(1, |text| text.parse().expect("SEED is a whole number"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{file}: {e}"));
    let read = if file.ends_with(".json") { Scenario::from_json } else { Scenario::parse };
    let plan = read(&text, &file).and_then(|scenario| scenario.plan(seed)).unwrap_or_else(|e| panic!("{e}"));

    if options.iter().any(|word| word == "--plan") {
        return print_plan(&plan);
    }
    let before = cpu_seconds();
    let record = run(&plan, &RunControl::default()).expect("the run ends well");
    let cpu = cpu_seconds() - before;

    let (hops, watched) = links(&plan, &record);
    let senders = || record.flows.iter().filter_map(|flow| flow.sender);
    let line = json!({
        "flows": plan.flows.len(),
        "received_bytes": record.flows.iter().map(|flow| flow.received).sum::<u64>(),
        "received_bytes_late": record.flows.iter().map(|flow| flow.received_after_warmup).sum::<u64>(),
        "retransmissions": senders().map(|s| s.retransmissions).sum::<u64>(),
        "bottleneck_packets": watched.sent,
        "drops": watched.dropped_overlimit,
        "marks": watched.marked,
        "hops": hops,
        "events": record.events,
        "peak_events": record.peak_events,
        "completions": completions(&plan, &record),
        "run_cpu_s": cpu,
        "setup_cpu_s": before,
        "peak_kb": peak_kb(),
    });
    println!("{line}");
}
