//! The tables with one row a sample.

use super::columns::{Columns, Count};
use arrow_array::RecordBatch;
use haltere_plan::record::{FlowSample, QueueSample};
use haltere_plan::{Plan, Record};
use haltere_transport::Info;
use haltere_units::Bytes;

pub(super) fn flows(plan: &Plan, record: &Record) -> RecordBatch {
    let mut table = Columns::default();
    let rows = || record.flow_series.iter();
    table.count("at_ns", "ns", rows().map(|s| s.at.as_ns()));
    table.flow(plan, rows().map(|s| s.flow));
    table.count("received_bytes", "B", rows().map(|s| s.received));
    let figures: &[Count<Info>] = &[
        ("cwnd_bytes", "B", |i| i.cwnd.as_u64()),
        ("in_flight_bytes", "B", |i| i.in_flight.as_u64()),
        ("srtt_ns", "ns", |i| i.srtt.as_ns()),
        ("rttvar_ns", "ns", |i| i.rttvar.as_ns()),
        ("min_rtt_ns", "ns", |i| i.min_rtt.as_ns()),
        ("acked_bytes", "B", |i| i.acked),
        ("segments_sent", "segments", |i| i.segments_sent),
        ("retransmissions", "segments", |i| i.retransmissions),
        ("timeouts", "", |i| i.timeouts),
        ("recoveries", "", |i| i.recoveries),
        ("ecn_reductions", "", |i| i.ecn_reductions),
        ("delivered", "segments", |i| i.delivered),
        ("delivered_ce", "segments", |i| i.delivered_ce),
    ];
    for (name, unit, figure) in figures {
        table.count(name, unit, rows().map(|s| figure(&s.sender)));
    }
    // Before the first reduction there is no threshold, and a control that does not pace has no rate.
    let threshold = |s: &FlowSample| (s.sender.ssthresh != Bytes::MAX).then(|| s.sender.ssthresh.as_u64());
    table.count_opt("ssthresh_bytes", "B", rows().map(threshold));
    table.count_opt("pacing_rate_bps", "bit/s", rows().map(|s| s.sender.pacing_rate.map(|r| r.as_bps())));
    table.variables("control", rows().map(|s| s.control.as_slice()));
    table.finish()
}

/// Watched queues over time.
pub(super) fn queues(plan: &Plan, record: &Record) -> RecordBatch {
    let mut table = Columns::default();
    let rows = || record.queue_series.iter();
    table.count("at_ns", "ns", rows().map(|s| s.at.as_ns()));
    table.name("link", plan.links.iter().map(|l| l.name.as_str()), rows().map(|s| s.link));
    let figures: &[Count<QueueSample>] = &[
        ("packets", "packets", |s| u64::from(s.packets)),
        ("bytes", "B", |s| s.bytes),
        ("ring_packets", "packets", |s| u64::from(s.ring_packets)),
        ("dropped", "packets", |s| s.dropped),
        ("marked", "packets", |s| s.marked),
        ("sent_bytes", "B", |s| s.sent_bytes),
    ];
    table.counts(rows(), figures);
    table.variables("queue", rows().map(|s| s.vars.as_slice()));
    table.finish()
}

pub(super) fn pings(plan: &Plan, record: &Record) -> RecordBatch {
    let mut table = Columns::default();
    let rows = || record.pings.iter();
    table.count("at_ns", "ns", rows().map(|p| p.at.as_ns()));
    table.flow(plan, rows().map(|p| p.flow));
    table.count("rtt_ns", "ns", rows().map(|p| p.rtt.as_ns()));
    table.finish()
}
