//! The simulator's cost for a dumbbell of bulk flows, with three links in each direction and round-trip times spread
//! evenly.
//!
//! `cargo run --release -p haltere-sim --example dumbbell -- [FLOWS] [RATE] [RTT] [SPREAD] [SECONDS] [CONTROL] [QUEUE]`
//! prints the CPU time per pair (a data packet over the bottleneck and its acknowledgement), the events of a pair, the
//! largest number of entries in the event queue, and the memory of a flow.

use cost::{cpu_seconds, resident_kb};
use haltere_congestion::CongestionParams;
use haltere_plan::Plan;
use haltere_plan::plan::{AppPlan, BulkPlan, FlowPlan, LinkPlan, TcpPlan};
use haltere_queue::{QueueParams, drop_tail};
use haltere_sim::{RunControl, run};
use haltere_transport::TcpParams;
use haltere_units::{Dur, Prob, Rate, Size, Time};
use std::sync::Arc;

mod cost;

fn arg<T: std::str::FromStr>(n: usize, default: &str) -> T {
    let text = std::env::args().nth(n).unwrap_or_else(|| default.into());
    text.parse().unwrap_or_else(|_| panic!("argument {n} cannot be `{text}`"))
}

fn memory_kb(name: &str) -> f64 {
    resident_kb(name).unwrap_or(0) as f64
}

fn plan(flows: usize, rate: Rate, rtt: Dur, spread: Prob, length: Dur, control: &str) -> Plan {
    let (left, right) = (2 * flows, 2 * flows + 1);
    let link = |from: usize, to: usize, rate: Rate, delay: Dur, queue: QueueParams| LinkPlan {
        name: format!("{from}>{to}"),
        watched: from == left && to == right,
        rtt: Some(rtt),
        ..LinkPlan::plain(from, to, Some(rate), delay, queue)
    };
    let tail = |limit| QueueParams::DropTail(drop_tail::Params { limit });
    let fast = rate.mul_f64(10.0);
    let trunk = rtt.mul_f64(0.3);
    let mut links = vec![
        link(left, right, rate, trunk, tail(Size::MilliBdp(1000))),
        link(right, left, rate, trunk, tail(Size::Packets(100_000))),
    ];
    let congestion = CongestionParams::default_of(control).unwrap_or_else(|| panic!("no control `{control}`"));
    let (congestion, host) = (Arc::new(congestion), Arc::new(TcpParams::default()));
    let mut flow_plans = Vec::new();
    for i in 0..flows {
        // Four access hops of a tenth of the RTT each, scattered over plus and minus the spread of the whole.
        let place = ((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as f64 / 2f64.powi(32);
        let access = rtt.mul_f64((0.4 + spread.as_f64() * (2.0 * place - 1.0)) / 4.0);
        let (client, server) = (2 * i, 2 * i + 1);
        for (from, to) in [(client, left), (left, client), (right, server), (server, right)] {
            links.push(link(from, to, fast, access, tail(Size::Packets(100_000))));
        }
        let tcp = TcpPlan::alike(congestion.clone(), host.clone());
        flow_plans.push(FlowPlan {
            start: Time::ZERO + rtt.mul_f64(place),
            ..FlowPlan::new(format!("f{i}"), client, server, AppPlan::Bulk(BulkPlan { tcp, bytes: None }))
        });
    }
    let nodes = (0..2 * flows + 2).map(|i| i.to_string()).collect();
    Plan { warmup: Time::ZERO + length / 5, ..Plan::new(nodes, links, flow_plans, Time::ZERO + length) }
}

fn main() {
    let (flows, rate, rtt, spread): (usize, Rate, Dur, Prob) =
        (arg(1, "16"), arg(2, "1Gbit"), arg(3, "10ms"), arg(4, "30%"));
    let (seconds, control): (f64, String) = (arg(5, "10"), arg(6, "cubic"));
    let length = Dur::from_secs_f64(seconds);
    let queue: String = arg(7, r#"{ "kind": "drop_tail", "limit": "1bdp" }"#);
    let mut plan = plan(flows, rate, rtt, spread, length, &control);
    plan.links[0].queue =
        serde_json::from_str(&queue).unwrap_or_else(|e| panic!("argument 7 cannot be `{queue}`: {e}"));
    let (cpu, memory) = (cpu_seconds(), memory_kb("VmRSS"));
    let record = run(&plan, &RunControl::default()).expect("the run ends well");
    let (cpu, memory) = (cpu_seconds() - cpu, memory_kb("VmHWM") - memory);

    let line = record.links[0].total;
    let pairs = line.sent as f64;
    let retransmissions: u64 = record.flows.iter().filter_map(|f| f.sender).map(|s| s.retransmissions).sum();
    println!("flows {flows}, {rate}, RTT {rtt} +- {}, {control}, {length}", spread.as_f64());
    println!("  pairs             {pairs:>12}");
    println!("  utilisation       {:>12.4}", line.sent_bytes as f64 * 8.0 / rate.as_bps_f64() / seconds);
    println!("  drops             {:>12}", line.dropped_overlimit);
    println!("  retransmissions   {retransmissions:>12}");
    println!("  CPU of a pair     {:>12.0} ns", cpu * 1e9 / pairs);
    println!("  events of a pair  {:>12.2}", record.events as f64 / pairs);
    println!("  CPU of an event   {:>12.1} ns", cpu * 1e9 / record.events as f64);
    println!("  peak event queue  {:>12} entries", record.peak_events);
    println!("  memory of a flow  {:>12.1} kB", memory / flows as f64);
}
