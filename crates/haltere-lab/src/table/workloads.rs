//! The tables of workloads: web pages, segments of video, telephone calls.

use super::columns::Columns;
use arrow_array::RecordBatch;
use haltere_plan::{Plan, Record};
use haltere_units::Time;

/// One row a web page.
pub(super) fn pages(plan: &Plan, record: &Record) -> RecordBatch {
    Columns::of(plan, &record.pages)
        .flow_and_group(|p| p.flow)
        .count("start_ns", "ns", |p| p.start.as_ns())
        .count_opt("load_ns", "ns", |p| taken(p.start, p.end))
        .count("objects", "", |p| p.objects.into())
        .count("bytes", "B", |p| p.bytes)
        .finish()
}

/// One row a segment of video.
pub(super) fn segments(plan: &Plan, record: &Record) -> RecordBatch {
    Columns::of(plan, &record.segments)
        .flow_and_group(|s| s.flow)
        .count("bitrate_bps", "bit/s", |s| s.bitrate.as_bps())
        .count("bytes", "B", |s| s.bytes)
        .count("start_ns", "ns", |s| s.start.as_ns())
        .count("buffer_ns", "ns", |s| s.buffered.as_ns())
        .count("stall_ns", "ns", |s| s.stalled.as_ns())
        .count_opt("fetch_ns", "ns", |s| taken(s.start, s.end))
        .finish()
}

/// The time from the start to the end in ns. `None`: the run ended before.
pub(super) fn taken(start: Time, end: Time) -> Option<u64> {
    (end != Time::NEVER).then(|| end.since(start).as_ns())
}

/// One row a flow of a telephone call.
pub(super) fn voices(plan: &Plan, record: &Record) -> RecordBatch {
    Columns::of(plan, &record.voices)
        .flow_and_group(|v| v.flow)
        .count("packets", "packets", |v| v.sent)
        .count("lost", "packets", |v| v.lost)
        .count("late", "packets", |v| v.late)
        .count("delay_ns", "ns", |v| v.delay.as_ns())
        .count("jitter_ns", "ns", |v| v.jitter.as_ns())
        .count("mouth_to_ear_ns", "ns", |v| v.mouth_to_ear.as_ns())
        .number_opt("rating", "", |v| Some(v.rating))
        .number_opt("mos", "", |v| Some(v.mos))
        .finish()
}
