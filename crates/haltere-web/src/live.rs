//! Runs that are watched: the samples in the form in which the page keeps them.

use crate::Refused;
use haltere_plan::Plan;
use haltere_plan::record::{FlowSample, QueueSample, sender_values};
use haltere_sim::{Fresh, Live, RunControl};
use haltere_transport::Info;
use haltere_units::{Dur, Probe};
use serde_json::{Map, Value, json};

/// Of which links the queues are reported, and of which flows the inner state.
pub(crate) struct Shown {
    pub(crate) links: Vec<usize>,
    pub(crate) flows: Vec<usize>,
}

/// What a run consists of.
pub(crate) fn started(plan: &Plan) -> Value {
    let links: Vec<Value> = plan
        .links
        .iter()
        .map(|link| json!({ "name": link.name, "watched": link.watched, "queue": link.queue.label() }))
        .collect();
    let flows: Vec<Value> = plan
        .flows
        .iter()
        .map(|flow| {
            let control = flow.app.tcp().map(|tcp| tcp.congestion.label());
            json!({ "name": flow.name, "group": flow.group_name(), "kind": flow.app.kind(), "control": control })
        })
        .collect();
    json!({ "end": plan.end.as_ns() as f64 / 1e9, "links": links, "flows": flows })
}

pub(crate) fn advance(live: &mut Live, seconds: f64) -> Result<(), Refused> {
    if !(0.0..=1e9).contains(&seconds) {
        return Err(Refused::plain(format!("seconds must be from 0 to 1e9, got {seconds}")));
    }
    Ok(live.advance(live.now() + Dur::from_secs_f64(seconds), &RunControl::default())?)
}

/// What was sampled since the last call, and the inner state now.
pub(crate) fn samples(live: &mut Live, shown: &Shown) -> Value {
    let now = live.now().as_ns() as f64 / 1e9;
    let Fresh { plan, queues, flows, pings } = live.fresh();
    let queues: Vec<Value> = shown.links.iter().map(|&link| of_link(plan, link, queues)).collect();
    let flows = of_flows(flows, &shown.flows);
    let pings = json!({
        "t": pings.iter().map(|s| s.at.as_ns() as f64 / 1e9).collect::<Vec<_>>(),
        "rtt_s": pings.iter().map(|s| s.rtt.as_secs_f64()).collect::<Vec<_>>(),
    });
    let of_queues: Vec<Value> = shown
        .links
        .iter()
        .map(|&link| live.queue_state(link).map_or(json!([]), |probe| json!(probe.values())))
        .collect();
    let of_senders: Map<String, Value> =
        shown.flows.iter().map(|&flow| (flow.to_string(), state(live, flow))).collect();
    let state = json!({ "queues": of_queues, "flows": of_senders });
    json!({ "now": now, "queues": queues, "flows": flows, "pings": pings, "state": state })
}

/// The inner values of a flow's sender and of its control: name, unit, value.
fn state(live: &Live, flow: usize) -> Value {
    let values = |(info, control): (Info, Probe)| {
        sender_values(&info).into_iter().chain(control.values().iter().copied()).collect::<Vec<_>>()
    };
    json!(live.flow_state(flow).map_or_else(Vec::new, values))
}

fn of_link(plan: &Plan, link: usize, rows: &[QueueSample]) -> Value {
    let rows: Vec<&QueueSample> = rows.iter().filter(|s| s.link as usize == link).collect();
    let column = |value: &dyn Fn(&QueueSample) -> Value| rows.iter().map(|s| value(s)).collect::<Vec<_>>();
    json!({
        "t": column(&|s| json!(s.at.as_ns() as f64 / 1e9)),
        "packets": column(&|s| json!(s.packets + s.ring_packets)),
        "bytes": column(&|s| json!(s.bytes)),
        "dropped": column(&|s| json!(s.dropped)),
        "marked": column(&|s| json!(s.marked)),
        "sent_bytes": column(&|s| json!(s.sent_bytes)),
        "capacity": column(&|s| json!(plan.capacity_before(s))),
        "vars": columns(rows.iter().map(|s| s.vars.clone()).collect()),
    })
}

fn of_flows(rows: &[FlowSample], inner: &[usize]) -> Value {
    let vars = |s: &FlowSample| -> Vec<(&'static str, f64)> {
        if !inner.contains(&(s.flow as usize)) {
            return Vec::new();
        }
        let common = sender_values(&s.sender).into_iter().map(|(name, _, value)| (name, value));
        common.chain(s.control.iter().copied()).collect()
    };
    json!({
        "t": rows.iter().map(|s| s.at.as_ns() as f64 / 1e9).collect::<Vec<_>>(),
        "flow": rows.iter().map(|s| s.flow).collect::<Vec<_>>(),
        "received": rows.iter().map(|s| s.received).collect::<Vec<_>>(),
        "delivered": rows.iter().map(|s| s.sender.delivered * s.sender.mss.as_u64()).collect::<Vec<_>>(),
        "cwnd": rows.iter().map(|s| s.sender.cwnd.as_u64()).collect::<Vec<_>>(),
        "srtt_s": rows.iter().map(|s| s.sender.srtt.as_secs_f64()).collect::<Vec<_>>(),
        "vars": columns(rows.iter().map(vars).collect()),
    })
}

/// Rows of named values as columns; null where a row lacks a name.
fn columns(rows: Vec<Vec<(&'static str, f64)>>) -> Value {
    let mut out: Map<String, Value> = Map::new();
    for (i, row) in rows.iter().enumerate() {
        for (name, value) in row {
            let column = out.entry(*name).or_insert_with(|| Value::Array(vec![Value::Null; rows.len()]));
            if let Value::Array(cells) = column {
                cells[i] = json!(value);
            }
        }
    }
    Value::Object(out)
}
