//! The tables of programs: how each ended, what it wrote, and its connections.

use super::columns::Columns;
use arrow_array::RecordBatch;
use haltere_plan::record::{Output, ProgramRecord};
use haltere_plan::{Plan, Record};

fn side(program: &ProgramRecord) -> u32 {
    u32::from(program.is_client)
}
const SIDES: [&str; 2] = ["server", "client"];

/// One row a program.
pub(super) fn programs(plan: &Plan, record: &Record) -> RecordBatch {
    Columns::of(plan, &record.programs)
        .flow_and_group(|p| p.flow)
        .name("side", SIDES, side)
        .text("command", |p| Some(&p.command))
        .count("start_ns", "ns", |p| p.start.as_ns())
        .count_opt("end_ns", "ns", |p| p.end.map(|end| end.as_ns()))
        .number_opt("status", "", |p| p.status.map(f64::from))
        .finish()
}

/// One row a place to which a program wrote.
pub(super) fn outputs(plan: &Plan, record: &Record) -> RecordBatch {
    let rows: Vec<(&ProgramRecord, &(String, Output))> =
        record.programs.iter().flat_map(|p| p.outputs.iter().map(move |output| (p, output))).collect();
    Columns::of(plan, &rows)
        .flow(|(p, _)| p.flow)
        .name("side", SIDES, |(p, _)| side(p))
        .text("name", |(_, (name, _))| Some(name))
        .count("bytes", "B", |(_, (_, output))| output.bytes)
        .text("text", |(_, (_, output))| Some(&output.text))
        .finish()
}

/// One row a connection and direction.
pub(super) fn sockets(plan: &Plan, record: &Record) -> RecordBatch {
    let nodes = || plan.nodes.iter().map(String::as_str);
    let node = |node: u32| (node != u32::MAX).then_some(node);
    Columns::of(plan, &record.sockets)
        .name_opt("from", nodes(), |s| node(s.from))
        .name_opt("to", nodes(), |s| node(s.to))
        .count("protocol", "", |s| s.protocol.into())
        .count("from_port", "", |s| s.from_port.into())
        .count("to_port", "", |s| s.to_port.into())
        .count("packets", "packets", |s| s.sent)
        .count("delivered", "packets", |s| s.delivered)
        .count("marked", "packets", |s| s.marked)
        .count("payload", "B", |s| s.payload)
        .count("payload_after_warmup", "B", |s| s.payload_after_warmup)
        .count_opt("sojourn_mean_ns", "ns", |s| s.sojourn_sum.as_ns().checked_div(s.timed))
        .count_opt("sojourn_max_ns", "ns", |s| (s.timed > 0).then(|| s.sojourn_max.as_ns()))
        .finish()
}

/// What iperf3 says of itself: one row a stream and side that it sums up, of programs that wrote iperf3's JSON (`-J`).
pub(super) fn iperf3(plan: &Plan, record: &Record) -> RecordBatch {
    let rows: Vec<(&ProgramRecord, Stream)> =
        record.programs.iter().flat_map(|program| std::iter::repeat(program).zip(streams(program))).collect();
    let mut table = Columns::of(plan, &rows)
        .flow(|(p, _)| p.flow)
        .name("side", SIDES, |(p, _)| side(p))
        .count("stream", "", |(_, (stream, ..))| *stream)
        .name("end", ENDS, |(_, (_, end, _))| *end);
    for (name, unit, key) in [
        ("seconds", "s", "seconds"),
        ("bytes", "B", "bytes"),
        ("rate_bps", "bit/s", "bits_per_second"),
        ("retransmits", "segments", "retransmits"),
        ("rtt_mean_us", "us", "mean_rtt"),
        ("rtt_max_us", "us", "max_rtt"),
        ("jitter_ms", "ms", "jitter_ms"),
        ("lost_packets", "packets", "lost_packets"),
    ] {
        table = table.number_opt(name, unit, |(_, (.., said))| said[key].as_f64());
    }
    table.finish()
}

/// True if a program wrote iperf3's JSON.
pub(super) fn has_iperf3(record: &Record) -> bool {
    record.programs.iter().any(|program| !streams(program).is_empty())
}

/// The place of a stream in iperf3's list, whose end speaks (of [`ENDS`]), and what it says.
type Stream = (u64, u32, serde_json::Value);
const ENDS: [&str; 3] = ["sender", "receiver", "udp"];

fn streams(program: &ProgramRecord) -> Vec<Stream> {
    let stdout =
        program.outputs.iter().find(|(name, _)| name == "stdout").map_or("", |(_, output)| output.text.as_str());
    let Ok(mut said) = serde_json::from_str::<serde_json::Value>(stdout) else { return Vec::new() };
    let Some(streams) = said.pointer_mut("/end/streams").and_then(|all| all.as_array_mut()) else { return Vec::new() };
    let of = |(stream, said): (usize, &mut serde_json::Value)| {
        ENDS.iter()
            .enumerate()
            .filter_map(|(end, name)| Some((stream as u64, end as u32, said.get_mut(name)?.take())))
            .collect::<Vec<_>>()
    };
    streams.iter_mut().enumerate().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_of_a_stream_of_iperf3_is_a_row_and_other_outputs_are_none() {
        let program = |text: &str| {
            let output = Output { bytes: text.len() as u64, text: text.into() };
            ProgramRecord { outputs: vec![("stdout".into(), output)], ..ProgramRecord::default() }
        };
        let text = r#"{ "end": { "streams": [
            { "sender": { "bytes": 5, "mean_rtt": 12 }, "receiver": { "bytes": 4 } }, { "udp": { "bytes": 3 } } ] } }"#;
        let rows = streams(&program(text));
        let said = |row: &Stream| (row.0, ENDS[row.1 as usize], row.2["bytes"].as_u64());
        let told: Vec<_> = rows.iter().map(said).collect();
        assert_eq!(told, [(0, "sender", Some(5)), (0, "receiver", Some(4)), (1, "udp", Some(3))]);
        for other in ["", "hello", "{}", r#"{ "end": 1 }"#, r#"{ "end": { "streams": [1, {}] } }"#, "[1]"] {
            assert!(streams(&program(other)).is_empty(), "{other}");
        }
    }
}
