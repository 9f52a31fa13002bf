//! What TCP senders did, as a qlog file.
//! Source: draft-ietf-quic-qlog-main-schema (contained JSON file, one trace a flow) and
//! draft-ietf-quic-qlog-quic-events (recovery events).
//! Deviations: the senders are TCP. Their events are named as those of QUIC, because tools draw them, and map to TCP as
//! `docs/results.md` says: segments have no packet numbers, so losses are counted in bytes by an event of our own,
//! `haltere:segments_lost`.
//! Units: times in ms from the start of the run, sizes in bytes, rates in bit/s.

use haltere_plan::record::{SenderEvent, SenderView};
use haltere_plan::{Plan, Record};
use haltere_transport::CaState;
use haltere_units::{Dur, Time};
use serde_json::{Map, Value, json};

/// The file of that run, as text.
pub fn qlog(plan: &Plan, record: &Record) -> String {
    let mut by_flow: Vec<Vec<&SenderEvent>> = vec![Vec::new(); plan.flows.len()];
    record.sender_events.iter().for_each(|event| by_flow[event.flow as usize].push(event));
    let traces: Vec<Value> = by_flow
        .iter()
        .zip(&plan.flows)
        .filter(|(events, _)| !events.is_empty())
        .map(|(events, flow)| trace(&flow.name, events))
        .collect();
    let file = json!({
        "file_schema": "urn:ietf:params:qlog:file:contained",
        "serialization_format": "application/qlog+json",
        "title": "TCP senders of a run of haltere",
        "description": format!("random seed {}; names of events are QUIC's, see docs/results.md", plan.seed),
        "traces": traces,
    });
    file.to_string()
}

fn trace(flow: &str, events: &[&SenderEvent]) -> Value {
    let (mut before, mut out) = (None, Vec::new());
    for event in events {
        out.extend(told(event.at, before, &event.now));
        before = Some(&event.now);
    }
    json!({
        "title": flow,
        "event_schemas": ["urn:ietf:params:qlog:events:quic", "urn:haltere:qlog:events:segments_lost"],
        "vantage_point": { "name": flow, "type": "client" },
        "common_fields": {
            "group_id": flow,
            "protocol_types": ["TCP"],
            "time_format": "relative_to_epoch",
            "reference_time": { "clock_type": "monotonic", "epoch": "unknown" },
        },
        "events": out,
    })
}

fn ms(span: Dur) -> Value {
    json!(span.as_ns() as f64 / 1e6)
}

/// What changed, as events.
fn told(at: Time, before: Option<&SenderView>, now: &SenderView) -> Vec<Value> {
    let event = |name: &str, data: Value| json!({ "time": at.as_ns() as f64 / 1e6, "name": name, "data": data });
    let mut out = Vec::new();
    let first = SenderView::default();
    let old = before.unwrap_or(&first);
    if now.bytes_lost > old.bytes_lost {
        let trigger = if now.timeouts > old.timeouts { "pto_expired" } else { "reordering_threshold" };
        let data = json!({ "bytes": now.bytes_lost - old.bytes_lost, "trigger": trigger });
        out.push(event("haltere:segments_lost", data));
    }
    let metrics = changed(before, now);
    if !metrics.is_empty() {
        out.push(event("quic:recovery_metrics_updated", Value::Object(metrics)));
    }
    let (was, is) = (before.map(phase), phase(now));
    if was != Some(is) {
        let mut data = Map::new();
        data.extend(was.map(|was| ("old".into(), json!(was))));
        data.insert("new".into(), json!(is));
        if now.state == CaState::Cwr {
            data.insert("trigger".into(), json!("ecn"));
        } else if now.state == CaState::Loss {
            data.insert("trigger".into(), json!("persistent_congestion"));
        }
        out.push(event("quic:congestion_state_updated", Value::Object(data)));
    }
    out
}

/// The state of the congestion control in the words of the draft.
fn phase(view: &SenderView) -> &'static str {
    match view.state {
        CaState::Cwr | CaState::Recovery | CaState::Loss => "recovery",
        _ if view.is_in_slow_start() => "slow_start",
        _ => "congestion_avoidance",
    }
}

/// The metrics that changed, all that are known at first.
fn changed(before: Option<&SenderView>, now: &SenderView) -> Map<String, Value> {
    let known = |span: Dur| if span.is_zero() { Value::Null } else { ms(span) };
    let metrics = |view: &SenderView| {
        [
            ("smoothed_rtt", known(view.srtt)),
            ("min_rtt", known(view.min_rtt)),
            ("latest_rtt", known(view.latest_rtt)),
            ("rtt_variance", if view.srtt.is_zero() { Value::Null } else { ms(view.rttvar) }),
            ("pto_count", json!(view.timeouts)),
            ("congestion_window", json!(view.cwnd)),
            ("bytes_in_flight", json!(view.in_flight)),
            ("ssthresh", if view.ssthresh == u64::MAX { Value::Null } else { json!(view.ssthresh) }),
            ("pacing_rate", view.pacing_bps.map_or(Value::Null, |bps| json!(bps))),
        ]
    };
    let old = before.map(metrics);
    let new = metrics(now).into_iter().enumerate();
    new.filter(|(i, one)| !one.1.is_null() && old.as_ref().is_none_or(|old| old[*i].1 != one.1))
        .map(|(_, (name, value))| (name.to_owned(), value))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_told() {
        let first = SenderView { cwnd: 14_480, ssthresh: u64::MAX, in_flight: 1448, ..SenderView::default() };
        let events = told(Time::ZERO, None, &first);
        assert_eq!(events.len(), 2);
        assert_eq!(events[0]["data"]["congestion_window"], 14_480);
        assert!(events[0]["data"].get("smoothed_rtt").is_none(), "no sample yet");
        assert_eq!(events[1]["data"], json!({ "new": "slow_start" }));
        let lost = SenderView { state: CaState::Recovery, bytes_lost: 1448, ssthresh: 7000, cwnd: 7000, ..first };
        let events = told(Time::from_ns(2_500_000), Some(&first), &lost);
        let names: Vec<_> = events.iter().map(|event| event["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["haltere:segments_lost", "quic:recovery_metrics_updated", "quic:congestion_state_updated"]);
        assert_eq!(events[1]["data"], json!({ "congestion_window": 7000, "ssthresh": 7000 }));
        assert_eq!(events[2]["data"], json!({ "old": "slow_start", "new": "recovery" }));
        assert_eq!(events[2]["time"], 2.5);
    }
}
