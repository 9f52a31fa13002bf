//! The tables of multipath connections.

use super::columns::{Columns, Count};
use arrow_array::RecordBatch;
use haltere_plan::record::PathSample;
use haltere_plan::{Plan, Record};

/// One row a path and sample; the last one of each path is its final state.
pub(super) fn paths(plan: &Plan, record: &Record) -> RecordBatch {
    let mut table = Columns::default();
    let rows = || record.path_series.iter();
    table.count("at_ns", "ns", rows().map(|s| s.at.as_ns()));
    table.flow(plan, rows().map(|s| s.flow));
    table.count("path", "", rows().map(|s| u64::from(s.path)));
    let figures: &[Count<PathSample>] = &[
        ("cwnd_bytes", "B", |s| s.info.subflow.cwnd.as_u64()),
        ("in_flight_bytes", "B", |s| s.info.subflow.in_flight.as_u64()),
        ("srtt_ns", "ns", |s| s.info.subflow.srtt.as_ns()),
        ("delay_ns", "ns", |s| s.info.delay.as_ns()),
        ("acked_bytes", "B", |s| s.info.subflow.acked),
        ("segments", "segments", |s| s.info.segments),
        ("given_bytes", "B", |s| s.info.bytes),
        ("replicas", "segments", |s| s.info.replicas),
        ("reinjected", "segments", |s| s.info.reinjected),
        ("dup_acks", "segments", |s| s.info.dup_acks),
        ("segments_sent", "segments", |s| s.info.subflow.segments_sent),
        ("retransmissions", "segments", |s| s.info.subflow.retransmissions),
        ("timeouts", "", |s| s.info.subflow.timeouts),
        ("recoveries", "", |s| s.info.subflow.recoveries),
    ];
    table.counts(rows(), figures);
    table.finish()
}

/// One row a pair of paths and verdict.
pub(super) fn coefficients(plan: &Plan, record: &Record) -> RecordBatch {
    let mut table = Columns::default();
    let rows = || record.coefficients.iter();
    table.count("at_ns", "ns", rows().map(|(_, c)| c.at.as_ns()));
    table.flow(plan, rows().map(|(f, _)| *f));
    table.count("correlator", "", rows().map(|(_, c)| c.correlator as u64));
    table.count("path_a", "", rows().map(|(_, c)| c.paths.0 as u64));
    table.count("path_b", "", rows().map(|(_, c)| c.paths.1 as u64));
    table.number_opt("coefficient", "", rows().map(|(_, c)| c.coefficient));
    table.flag("shares", rows().map(|(_, c)| c.shares));
    table.finish()
}

/// One row a write of an application with a rate: how long until it was read at the other end.
pub(super) fn delays(plan: &Plan, record: &Record) -> RecordBatch {
    let mut table = Columns::default();
    let rows = || record.delays.iter();
    table.count("at_ns", "ns", rows().map(|d| d.at.as_ns()));
    table.flow(plan, rows().map(|d| d.flow));
    table.count("delay_ns", "ns", rows().map(|d| d.rtt.as_ns()));
    table.finish()
}

/// True if the plan has none of these tables.
pub(super) fn is_absent(record: &Record) -> bool {
    record.path_series.is_empty() && record.coefficients.is_empty() && record.delays.is_empty()
}
