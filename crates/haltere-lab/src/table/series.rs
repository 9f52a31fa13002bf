//! The tables with one row a sample.

use super::columns::Columns;
use arrow_array::RecordBatch;
use haltere_plan::{Plan, Record};
use haltere_units::Bytes;

pub(super) fn flows(plan: &Plan, record: &Record) -> RecordBatch {
    Columns::of(plan, &record.flow_series)
        .count("at_ns", "ns", |s| s.at.as_ns())
        .flow(|s| s.flow)
        .count("received_bytes", "B", |s| s.received)
        .count("cwnd_bytes", "B", |s| s.sender.cwnd.as_u64())
        .count("in_flight_bytes", "B", |s| s.sender.in_flight.as_u64())
        .count("srtt_ns", "ns", |s| s.sender.srtt.as_ns())
        .count("rttvar_ns", "ns", |s| s.sender.rttvar.as_ns())
        .count("min_rtt_ns", "ns", |s| s.sender.min_rtt.as_ns())
        .count("acked_bytes", "B", |s| s.sender.acked)
        .count("segments_sent", "segments", |s| s.sender.segments_sent)
        .count("retransmissions", "segments", |s| s.sender.retransmissions)
        .count("timeouts", "", |s| s.sender.timeouts)
        .count("recoveries", "", |s| s.sender.recoveries)
        .count("ecn_reductions", "", |s| s.sender.ecn_reductions)
        .count("delivered", "segments", |s| s.sender.delivered)
        .count("delivered_ce", "segments", |s| s.sender.delivered_ce)
        // Before the first reduction there is no threshold, and a control that does not pace has no rate.
        .count_opt("ssthresh_bytes", "B", |s| (s.sender.ssthresh != Bytes::MAX).then(|| s.sender.ssthresh.as_u64()))
        .count_opt("pacing_rate_bps", "bit/s", |s| s.sender.pacing_rate.map(|rate| rate.as_bps()))
        .variables("control", |s| &s.control)
        .finish()
}

/// Watched queues over time.
pub(super) fn queues(plan: &Plan, record: &Record) -> RecordBatch {
    Columns::of(plan, &record.queue_series)
        .count("at_ns", "ns", |s| s.at.as_ns())
        .link(|s| s.link)
        .count("packets", "packets", |s| s.packets.into())
        .count("bytes", "B", |s| s.bytes)
        .count("ring_packets", "packets", |s| s.ring_packets.into())
        .count("dropped", "packets", |s| s.dropped)
        .count("marked", "packets", |s| s.marked)
        .count("sent_bytes", "B", |s| s.sent_bytes)
        .variables("queue", |s| &s.vars)
        .finish()
}

pub(super) fn pings(plan: &Plan, record: &Record) -> RecordBatch {
    Columns::of(plan, &record.pings)
        .count("at_ns", "ns", |p| p.at.as_ns())
        .flow(|p| p.flow)
        .count("rtt_ns", "ns", |p| p.rtt.as_ns())
        .finish()
}
