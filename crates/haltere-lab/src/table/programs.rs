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
    table.finish()
}
