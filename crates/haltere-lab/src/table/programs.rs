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
        .finish()
}
