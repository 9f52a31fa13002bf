//! The tables of workloads: web pages, segments of video, telephone calls.

use super::columns::{Columns, Count};
use arrow_array::RecordBatch;
use haltere_plan::record::{PageRecord, SegmentRecord, VoiceRecord};
use haltere_plan::{Plan, Record};
use haltere_units::Time;

/// One row a web page.
pub(super) fn pages(plan: &Plan, record: &Record) -> RecordBatch {
    let rows = || record.pages.iter();
    let mut table = Columns::default();
    table.flow(plan, rows().map(|p| p.flow));
    table.group(plan, rows().map(|p| p.flow));
    table.count("start_ns", "ns", rows().map(|p| p.start.as_ns()));
    let load = |p: &PageRecord| (p.end != Time::NEVER).then(|| p.end.since(p.start).as_ns());
    table.count_opt("load_ns", "ns", rows().map(load));
    table.count("objects", "", rows().map(|p| u64::from(p.objects)));
    table.count("bytes", "B", rows().map(|p| p.bytes));
    table.finish()
}

/// One row a segment of video.
pub(super) fn segments(plan: &Plan, record: &Record) -> RecordBatch {
    let rows = || record.segments.iter();
    let mut table = Columns::default();
    table.flow(plan, rows().map(|s| s.flow));
    table.group(plan, rows().map(|s| s.flow));
    let figures: &[Count<SegmentRecord>] = &[
        ("bitrate_bps", "bit/s", |s| s.bitrate.as_bps()),
        ("bytes", "B", |s| s.bytes),
        ("start_ns", "ns", |s| s.start.as_ns()),
        ("buffer_ns", "ns", |s| s.buffered.as_ns()),
        ("stall_ns", "ns", |s| s.stalled.as_ns()),
    ];
    table.counts(rows(), figures);
    let fetch = |s: &SegmentRecord| (s.end != Time::NEVER).then(|| s.end.since(s.start).as_ns());
    table.count_opt("fetch_ns", "ns", rows().map(fetch));
    table.finish()
}

/// One row a flow of a telephone call.
pub(super) fn voices(plan: &Plan, record: &Record) -> RecordBatch {
    let rows = || record.voices.iter();
    let mut table = Columns::default();
    table.flow(plan, rows().map(|v| v.flow));
    table.group(plan, rows().map(|v| v.flow));
    let figures: &[Count<VoiceRecord>] = &[
        ("packets", "packets", |v| v.sent),
        ("lost", "packets", |v| v.lost),
        ("late", "packets", |v| v.late),
        ("delay_ns", "ns", |v| v.delay.as_ns()),
        ("jitter_ns", "ns", |v| v.jitter.as_ns()),
        ("mouth_to_ear_ns", "ns", |v| v.mouth_to_ear.as_ns()),
    ];
    table.counts(rows(), figures);
    table.number_opt("rating", "", rows().map(|v| Some(v.rating)));
    table.number_opt("mos", "", rows().map(|v| Some(v.mos)));
    table.finish()
}
