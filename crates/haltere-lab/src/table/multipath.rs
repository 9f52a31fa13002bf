//! The tables of multipath connections.

use super::columns::Columns;
use arrow_array::RecordBatch;
use haltere_plan::{Plan, Record};

/// One row a path and sample; the last one of each path is its final state.
pub(super) fn paths(plan: &Plan, record: &Record) -> RecordBatch {
    Columns::of(plan, &record.path_series)
        .count("at_ns", "ns", |s| s.at.as_ns())
        .flow(|s| s.flow)
        .count("path", "", |s| s.path.into())
        .count("cwnd_bytes", "B", |s| s.info.subflow.cwnd.as_u64())
        .count("in_flight_bytes", "B", |s| s.info.subflow.in_flight.as_u64())
        .count("srtt_ns", "ns", |s| s.info.subflow.srtt.as_ns())
        .count("delay_ns", "ns", |s| s.info.delay.as_ns())
        .count("acked_bytes", "B", |s| s.info.subflow.acked)
        .count("segments", "segments", |s| s.info.segments)
        .count("given_bytes", "B", |s| s.info.bytes)
        .count("replicas", "segments", |s| s.info.replicas)
        .count("reinjected", "segments", |s| s.info.reinjected)
        .count("dup_acks", "segments", |s| s.info.dup_acks)
        .count("segments_sent", "segments", |s| s.info.subflow.segments_sent)
        .count("retransmissions", "segments", |s| s.info.subflow.retransmissions)
        .count("timeouts", "", |s| s.info.subflow.timeouts)
        .count("recoveries", "", |s| s.info.subflow.recoveries)
        .finish()
}

/// One row a pair of paths and verdict.
pub(super) fn coefficients(plan: &Plan, record: &Record) -> RecordBatch {
    Columns::of(plan, &record.coefficients)
        .count("at_ns", "ns", |(_, c)| c.at.as_ns())
        .flow(|(flow, _)| *flow)
        .count("correlator", "", |(_, c)| c.correlator as u64)
        .count("path_a", "", |(_, c)| c.paths.0 as u64)
        .count("path_b", "", |(_, c)| c.paths.1 as u64)
        .number_opt("coefficient", "", |(_, c)| c.coefficient)
        .flag("shares", |(_, c)| c.shares)
        .finish()
}

/// One row a write of an application with a rate: how long until it was read at the other end.
pub(super) fn delays(plan: &Plan, record: &Record) -> RecordBatch {
    Columns::of(plan, &record.delays)
        .count("at_ns", "ns", |d| d.at.as_ns())
        .flow(|d| d.flow)
        .count("delay_ns", "ns", |d| d.rtt.as_ns())
        .finish()
}

/// True if a run has these tables.
pub(super) fn are_there(record: &Record) -> bool {
    !(record.path_series.is_empty() && record.coefficients.is_empty() && record.delays.is_empty())
}
