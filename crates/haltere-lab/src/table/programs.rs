//! The tables of programs: how each ended, what it wrote, and its connections.

use super::columns::{Columns, Count};
use arrow_array::RecordBatch;
use haltere_plan::record::{Output, ProgramRecord, SocketRecord};
use haltere_plan::{Plan, Record};

fn side(program: &ProgramRecord) -> u32 {
    u32::from(program.is_client)
}
const SIDES: [&str; 2] = ["server", "client"];

/// One row a program.
pub(super) fn programs(plan: &Plan, record: &Record) -> RecordBatch {
    let rows = || record.programs.iter();
    let mut table = Columns::default();
    table.name("flow", plan.flows.iter().map(|f| f.name.as_str()), rows().map(|p| p.flow));
    table.name("group", plan.flows.iter().map(|f| f.group_name()), rows().map(|p| p.flow));
    table.name("side", SIDES.into_iter(), rows().map(side));
    table.text("command", rows().map(|p| Some(p.command.as_str())));
    table.count("start_ns", "ns", rows().map(|p| p.start.as_ns()));
    table.count_opt("end_ns", "ns", rows().map(|p| p.end.map(|end| end.as_ns())));
    table.number_opt("status", "", rows().map(|p| p.status.map(f64::from)));
    table.finish()
}

/// One row a place to which a program wrote.
pub(super) fn outputs(plan: &Plan, record: &Record) -> RecordBatch {
    let of = |program: &'_ ProgramRecord| program.outputs.len();
    let rows: Vec<(&ProgramRecord, &(String, Output))> =
        record.programs.iter().flat_map(|p| std::iter::repeat_n(p, of(p)).zip(&p.outputs)).collect();
    let mut table = Columns::default();
    table.name("flow", plan.flows.iter().map(|f| f.name.as_str()), rows.iter().map(|(p, _)| p.flow));
    table.name("side", SIDES.into_iter(), rows.iter().map(|(p, _)| side(p)));
    table.text("name", rows.iter().map(|(_, (name, _))| Some(name.as_str())));
    table.count("bytes", "B", rows.iter().map(|(_, (_, output))| output.bytes));
    table.text("text", rows.iter().map(|(_, (_, output))| Some(output.text.as_str())));
    table.finish()
}

/// One row a connection and direction.
pub(super) fn sockets(plan: &Plan, record: &Record) -> RecordBatch {
    let rows = || record.sockets.iter();
    let node = |node: u32| (node != u32::MAX).then_some(node);
    let mut table = Columns::default();
    table.name_opt("from", plan.nodes.iter().map(String::as_str), rows().map(|s| node(s.from)));
    table.name_opt("to", plan.nodes.iter().map(String::as_str), rows().map(|s| node(s.to)));
    let figures: [Count<SocketRecord>; 8] = [
        ("protocol", "", |s| s.protocol.into()),
        ("from_port", "", |s| s.from_port.into()),
        ("to_port", "", |s| s.to_port.into()),
        ("packets", "packets", |s| s.sent),
        ("delivered", "packets", |s| s.delivered),
        ("marked", "packets", |s| s.marked),
        ("payload", "B", |s| s.payload),
        ("payload_after_warmup", "B", |s| s.payload_after_warmup),
    ];
    for (name, unit, figure) in figures {
        table.count(name, unit, rows().map(figure));
    }
    let timed = |sojourn: fn(&SocketRecord) -> u64| rows().map(move |s| (s.timed > 0).then(|| sojourn(s)));
    table.count_opt("sojourn_mean_ns", "ns", timed(|s| s.sojourn_sum.as_ns() / s.timed));
    table.count_opt("sojourn_max_ns", "ns", timed(|s| s.sojourn_max.as_ns()));
    table.finish()
}

/// What iperf3 says of itself: one row a stream and side that it sums up, of programs that wrote iperf3's JSON (`-J`).
pub(super) fn iperf3(plan: &Plan, record: &Record) -> RecordBatch {
    let rows: Vec<(&ProgramRecord, Stream)> =
        record.programs.iter().flat_map(|program| std::iter::repeat(program).zip(streams(program))).collect();
    let figure = |key: &'static str| rows.iter().map(move |(_, (.., said))| said[key].as_f64());
    let mut table = Columns::default();
    table.flow(plan, rows.iter().map(|(p, _)| p.flow));
    table.name("side", SIDES.into_iter(), rows.iter().map(|(p, _)| side(p)));
    table.count("stream", "", rows.iter().map(|(_, (stream, ..))| *stream));
    table.name("end", ENDS.into_iter(), rows.iter().map(|(_, (_, end, _))| *end));
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
        table.number_opt(name, unit, figure(key));
    }
    table.finish()
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
