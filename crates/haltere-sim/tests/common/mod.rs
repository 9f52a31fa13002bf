//! Small plans for the tests.
#![allow(dead_code, reason = "each test file uses a part")]

use haltere_plan::Plan;
use haltere_plan::plan::{AppPlan, CbrPlan, FlowPlan, LinkPlan, PingPlan};
use haltere_queue::{QueueParams, drop_tail};
use haltere_units::{Bytes, Dur, Rate, Size, Time};

pub fn drop_tail(packets: u64) -> QueueParams {
    QueueParams::DropTail(drop_tail::Params { limit: Size::Packets(packets) })
}

/// One direction with a delay of 1 ms and a queue of 1000 packets.
pub fn link(from: usize, to: usize, mbps: u64) -> LinkPlan {
    let rtt = Some(Dur::from_ms(20));
    let plain = LinkPlan::plain(from, to, Some(Rate::from_mbps(mbps)), Dur::from_ms(1), drop_tail(1000));
    LinkPlan { watched: from < to, rtt, ..plain }
}

/// Both directions.
pub fn wire(a: usize, b: usize, mbps: u64) -> Vec<LinkPlan> {
    vec![link(a, b, mbps), link(b, a, mbps)]
}

pub fn flow(from: usize, to: usize, app: AppPlan) -> FlowPlan {
    FlowPlan::new("", from, to, app)
}

pub fn cbr(mbps: u64, packet: u64) -> AppPlan {
    AppPlan::Cbr(CbrPlan { rate: Rate::from_mbps(mbps), packet: Bytes::new(packet), ecn: false })
}

pub fn ping(ms: u64) -> AppPlan {
    AppPlan::Ping(PingPlan { interval: Dur::from_ms(ms), payload: Bytes::new(56), ecn: false })
}

/// Ethernet framing; the first link of each pair is watched; flows are called f0, f1, ...
pub fn plan(nodes: usize, links: Vec<LinkPlan>, mut flows: Vec<FlowPlan>, length: Dur) -> Plan {
    for (i, flow) in flows.iter_mut().enumerate() {
        flow.name = format!("f{i}");
    }
    Plan::new(Plan::node_names(nodes), links, flows, Time::ZERO + length)
}
