//! The tables with one row a flow and one row a link.

use super::columns::{Columns, Count};
use super::workloads::taken;
use arrow_array::RecordBatch;
use haltere_plan::plan::{FlowPlan, LinkPlan, TcpPlan};
use haltere_plan::record::{FlowRecord, LinkCounters, LinkRecord, SenderCounts};
use haltere_plan::{Plan, Record};
use haltere_units::{Dur, Time};

/// What a TCP endpoint counts. A flow has each for the whole run and for the part after the warm-up.
const SENDER: [Count<SenderCounts>; 7] = [
    ("segments_sent", "segments", |c| c.segments_sent),
    ("retransmissions", "segments", |c| c.retransmissions),
    ("timeouts", "", |c| c.timeouts),
    ("recoveries", "", |c| c.recoveries),
    ("ecn_reductions", "", |c| c.ecn_reductions),
    ("delivered", "segments", |c| c.delivered),
    ("delivered_ce", "segments", |c| c.delivered_ce),
];

/// One row a flow.
pub(super) fn flows(plan: &Plan, record: &Record) -> RecordBatch {
    let rows: Vec<(&FlowPlan, &FlowRecord)> = plan.flows.iter().zip(&record.flows).collect();
    let mut table = Columns::of(plan, &rows)
        .text("flow", |(f, _)| Some(&f.name))
        .text("group", |(f, _)| Some(f.group_name()))
        .text("kind", |(f, _)| Some(f.app.kind()))
        .text("congestion", |(f, _)| f.app.tcp().map(TcpPlan::label))
        .text("from", |(f, _)| Some(&plan.nodes[f.from]))
        .text("to", |(f, _)| Some(&plan.nodes[f.to]))
        .count("start_ns", "ns", |(f, _)| f.start.as_ns())
        .count_opt("stop_ns", "ns", |(f, _)| f.stop.map(Time::as_ns))
        .number_opt("goodput_bps", "bit/s", |(f, r)| goodput(plan, f, r))
        .count("received_bytes", "B", |(_, r)| r.received)
        .count("received_after_warmup", "B", |(_, r)| r.received_after_warmup)
        .count("packets_sent", "packets", |(_, r)| r.packets_sent)
        .count("packets_received", "packets", |(_, r)| r.packets_received)
        .count_opt("completed_ns", "ns", |(_, r)| r.completed.map(Time::as_ns));
    let end = |record: &FlowRecord| record.sender.as_ref().map(SenderCounts::from);
    for (name, unit, count) in SENDER {
        table = table.count_opt(name, unit, |(_, r)| end(r).as_ref().map(count));
    }
    table = table.count_opt("srtt_ns", "ns", |(_, r)| Some(r.sender.as_ref()?.srtt.as_ns())).count_opt(
        "min_rtt_ns",
        "ns",
        |(_, r)| Some(r.sender.as_ref()?.min_rtt.as_ns()),
    );
    for (name, unit, count) in SENDER {
        table = table.count_opt(&format!("{name}_after_warmup"), unit, |(_, r)| {
            let before = r.sender_at_warmup.as_ref().map_or(0, count);
            Some(count(&r.sender_at_until.or(end(r))?).saturating_sub(before))
        });
    }
    table.finish()
}

/// Payload delivered after the warm-up, over the time from the later of warm-up and start to the earliest of
/// completion, stop and end (of the measured window); `None` if it means nothing for the kind, as for pings.
fn goodput(plan: &Plan, flow: &FlowPlan, record: &FlowRecord) -> Option<f64> {
    let to = [flow.stop, record.completed].into_iter().flatten().fold(plan.measured_until(), Time::min);
    let span = to.since(plan.warmup.max(flow.start)).as_secs_f64();
    if flow.app.has_goodput() { ratio(record.received_after_warmup as f64 * 8.0, span) } else { None }
}

/// One row an FTP task.
pub(super) fn tasks(plan: &Plan, record: &Record) -> RecordBatch {
    Columns::of(plan, &record.tasks)
        .flow_and_group(|t| t.flow)
        .count("file_bytes", "B", |t| t.bytes.as_u64())
        .count("start_ns", "ns", |t| t.start.as_ns())
        .count_opt("data_ns", "ns", |t| t.data.map(Time::as_ns))
        .count_opt("end_ns", "ns", |t| t.end.map(Time::as_ns))
        .count("failures", "", |t| t.failures.into())
        .finish()
}

/// One row for each flow that started during the run.
pub(super) fn completions(plan: &Plan, record: &Record) -> RecordBatch {
    Columns::of(plan, &record.completions)
        .flow(|c| c.flow)
        .node("from", |c| c.from)
        .node("to", |c| c.to)
        .count("bytes", "B", |c| c.bytes)
        .count("start_ns", "ns", |c| c.start.as_ns())
        .count_opt("fct_ns", "ns", |c| taken(c.start, c.end))
        .count("ideal_ns", "ns", |c| c.ideal.as_ns())
        .number_opt("slowdown", "", |c| ratio(taken(c.start, c.end)? as f64, c.ideal.as_ns() as f64))
        .count("retransmissions", "segments", |c| c.retransmissions.into())
        .finish()
}

/// What a link counts, for the whole run and after the warm-up.
const LINK: [Count<LinkCounters>; 9] = [
    ("arrived", "packets", |c| c.arrived),
    ("sent", "packets", |c| c.sent),
    ("sent_bytes", "B", |c| c.sent_bytes),
    ("dropped_overlimit", "packets", |c| c.dropped_overlimit),
    ("dropped_congestion", "packets", |c| c.dropped_congestion),
    ("marked", "packets", |c| c.marked),
    ("returned", "packets", |c| c.emitted),
    ("lost", "packets", |c| c.lost),
    ("peak_packets", "packets", |c| c.peak_packets as u64),
];

/// One row a direction of a link.
pub(super) fn links(plan: &Plan, record: &Record) -> RecordBatch {
    let rows: Vec<(&LinkPlan, &LinkRecord)> = plan.links.iter().zip(&record.links).collect();
    let (from, until) = (plan.warmup, plan.measured_until());
    let mut table = Columns::of(plan, &rows)
        .text("link", |(l, _)| Some(&l.name))
        .text("from", |(l, _)| Some(&plan.nodes[l.from]))
        .text("to", |(l, _)| Some(&plan.nodes[l.to]))
        .text("queue", |(l, _)| Some(l.queue.label()))
        .flag("watched", |(l, _)| l.watched)
        .count_opt("rate_bps", "bit/s", |(l, _)| l.rate.map(|rate| rate.as_bps()))
        .count("delay_ns", "ns", |(l, _)| l.delay.as_ns())
        .count_opt("rtt_ns", "ns", |(l, _)| l.rtt.map(Dur::as_ns));
    for (name, unit, count) in LINK {
        table = table.count(name, unit, |(_, r)| count(&r.total));
        table = table.count(&format!("{name}_after_warmup"), unit, |(_, r)| count(&r.after_warmup));
    }
    table
        .number_opt("mean_queue_packets", "packets", |(_, r)| {
            ratio(r.after_warmup.packet_ns as f64, until.since(from).as_ns() as f64)
        })
        .number_opt("utilisation", "", |(l, r)| ratio(r.after_warmup.sent_bytes as f64 * 8.0, l.capacity(from, until)?))
        .number_opt("drop_rate", "", |(_, r)| {
            let c = &r.after_warmup;
            ratio((c.dropped_overlimit + c.dropped_congestion) as f64, c.arrived as f64)
        })
        .number_opt("mark_rate", "", |(_, r)| ratio(r.after_warmup.marked as f64, r.after_warmup.arrived as f64))
        .finish()
}

/// One row for each watched queue and depth at dequeue that occurred.
pub(super) fn depths(plan: &Plan, record: &Record) -> RecordBatch {
    let of = |(link, record): (usize, &LinkRecord)| {
        let depths = record.depths.counts().to_vec().into_iter().enumerate();
        depths.filter(|(_, packets)| *packets > 0).map(move |(depth, packets)| (link as u32, depth as u64, packets))
    };
    let rows: Vec<_> = record.links.iter().enumerate().flat_map(of).collect();
    Columns::of(plan, &rows)
        .link(|row| row.0)
        .count("depth", "packets", |row| row.1)
        .count("packets", "packets", |row| row.2)
        .finish()
}

/// `part` of `whole`; nothing of nothing is no number.
fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}
