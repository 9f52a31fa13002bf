//! The tables with one row a flow and one row a link.

use super::columns::{Columns, Count};
use arrow_array::RecordBatch;
use haltere_plan::plan::{FlowPlan, LinkPlan};
use haltere_plan::record::{Completion, FlowRecord, LinkCounters, LinkRecord, SenderCounts};
use haltere_plan::{Plan, Record};
use haltere_units::{Dur, Time};

/// One row a flow.
pub(super) fn flows(plan: &Plan, record: &Record) -> RecordBatch {
    let mut table = Columns::default();
    let plans = || plan.flows.iter();
    let both = || plan.flows.iter().zip(&record.flows);
    table.text("flow", plans().map(|f| Some(f.name.as_str())));
    table.text("group", plans().map(|f| Some(f.group_name())));
    table.text("kind", plans().map(|f| Some(f.app.kind())));
    table.text("congestion", plans().map(|f| f.app.tcp().map(|t| t.congestion.label())));
    table.text("from", plans().map(|f| Some(plan.nodes[f.from].as_str())));
    table.text("to", plans().map(|f| Some(plan.nodes[f.to].as_str())));
    table.count("start_ns", "ns", plans().map(|f| f.start.as_ns()));
    table.count_opt("stop_ns", "ns", plans().map(|f| f.stop.map(Time::as_ns)));
    table.number_opt("goodput_bps", "bit/s", both().map(|(f, r)| goodput(plan, f, r)));
    table.count("received_bytes", "B", both().map(|(_, r)| r.received));
    table.count("received_after_warmup", "B", both().map(|(_, r)| r.received_after_warmup));
    table.count("packets_sent", "packets", both().map(|(_, r)| r.packets_sent));
    table.count("packets_received", "packets", both().map(|(_, r)| r.packets_received));
    table.count_opt("completed_ns", "ns", both().map(|(_, r)| r.completed.map(Time::as_ns)));
    let counts: [(&str, &str, Figure); 7] = [
        ("segments_sent", "segments", |c| c.segments_sent),
        ("retransmissions", "segments", |c| c.retransmissions),
        ("timeouts", "", |c| c.timeouts),
        ("recoveries", "", |c| c.recoveries),
        ("ecn_reductions", "", |c| c.ecn_reductions),
        ("delivered", "segments", |c| c.delivered),
        ("delivered_ce", "segments", |c| c.delivered_ce),
    ];
    let senders = || record.flows.iter().map(|r| r.sender.as_ref());
    let ends: Vec<Option<SenderCounts>> = senders().map(|sender| sender.map(Into::into)).collect();
    for (name, unit, figure) in counts {
        table.count_opt(name, unit, ends.iter().map(|end| end.as_ref().map(figure)));
    }
    table.count_opt("srtt_ns", "ns", senders().map(|sender| Some(sender?.srtt.as_ns())));
    table.count_opt("min_rtt_ns", "ns", senders().map(|sender| Some(sender?.min_rtt.as_ns())));
    for (name, unit, figure) in counts {
        let since = |(end, r): (&Option<SenderCounts>, &FlowRecord)| {
            let before = r.sender_at_warmup.as_ref().map_or(0, figure);
            let until = r.sender_at_until.as_ref().or(end.as_ref())?;
            Some(figure(until).saturating_sub(before))
        };
        table.count_opt(&format!("{name}_after_warmup"), unit, ends.iter().zip(&record.flows).map(since));
    }
    table.finish()
}

/// One figure of a TCP endpoint.
type Figure = fn(&SenderCounts) -> u64;

/// Payload delivered after the warm-up, over the time from the later of warm-up and start to the earliest of
/// completion, stop and end (of the measured window); `None` if it means nothing for the kind, as for pings.
fn goodput(plan: &Plan, flow: &FlowPlan, record: &FlowRecord) -> Option<f64> {
    if !flow.app.has_goodput() {
        return None;
    }
    let from = plan.warmup.max(flow.start);
    let to = [flow.stop, record.completed].into_iter().flatten().fold(plan.measured_until(), Time::min);
    let span = to.since(from);
    if span.is_zero() {
        return None;
    }
    Some(record.received_after_warmup as f64 * 8.0 / span.as_secs_f64())
}

/// One row an FTP task.
pub(super) fn tasks(plan: &Plan, record: &Record) -> RecordBatch {
    let mut table = Columns::default();
    let rows = || record.tasks.iter();
    table.flow(plan, rows().map(|t| t.flow));
    table.group(plan, rows().map(|t| t.flow));
    table.count("file_bytes", "B", rows().map(|t| t.bytes.as_u64()));
    table.count("start_ns", "ns", rows().map(|t| t.start.as_ns()));
    table.count_opt("data_ns", "ns", rows().map(|t| t.data.map(Time::as_ns)));
    table.count_opt("end_ns", "ns", rows().map(|t| t.end.map(Time::as_ns)));
    table.count("failures", "", rows().map(|t| u64::from(t.failures)));
    table.finish()
}

/// One row for each flow that started during the run.
pub(super) fn completions(plan: &Plan, record: &Record) -> RecordBatch {
    let mut table = Columns::default();
    let rows = || record.completions.iter();
    let nodes = || plan.nodes.iter().map(String::as_str);
    let fct = |c: &Completion| (c.end != Time::NEVER).then(|| c.end.since(c.start));
    table.flow(plan, rows().map(|c| c.flow));
    table.name("from", nodes(), rows().map(|c| c.from));
    table.name("to", nodes(), rows().map(|c| c.to));
    table.count("bytes", "B", rows().map(|c| c.bytes));
    table.count("start_ns", "ns", rows().map(|c| c.start.as_ns()));
    table.count_opt("fct_ns", "ns", rows().map(|c| fct(c).map(Dur::as_ns)));
    table.count("ideal_ns", "ns", rows().map(|c| c.ideal.as_ns()));
    let slowdown = |c: &Completion| ratio(fct(c)?.as_ns() as f64, c.ideal.as_ns() as f64);
    table.number_opt("slowdown", "", rows().map(slowdown));
    table.count("retransmissions", "segments", rows().map(|c| u64::from(c.retransmissions)));
    table.finish()
}

/// A figure of a link after warm-up.
type Ratio = fn(&LinkPlan, &LinkRecord, &Plan) -> Option<f64>;

/// One row a direction of a link.
pub(super) fn links(plan: &Plan, record: &Record) -> RecordBatch {
    let mut table = Columns::default();
    let plans = || plan.links.iter();
    let both = || plan.links.iter().zip(&record.links);
    table.text("link", plans().map(|l| Some(l.name.as_str())));
    table.text("from", plans().map(|l| Some(plan.nodes[l.from].as_str())));
    table.text("to", plans().map(|l| Some(plan.nodes[l.to].as_str())));
    table.text("queue", plans().map(|l| Some(l.queue.label())));
    table.flag("watched", plans().map(|l| l.watched));
    table.count_opt("rate_bps", "bit/s", plans().map(|l| l.rate.map(|r| r.as_bps())));
    table.count("delay_ns", "ns", plans().map(|l| l.delay.as_ns()));
    table.count_opt("rtt_ns", "ns", plans().map(|l| l.rtt.map(Dur::as_ns)));
    let counters: [Count<LinkCounters>; 9] = [
        ("arrived", "packets", |c| c.arrived),
        ("sent", "packets", |c| c.sent),
        ("sent_bytes", "B", |c| c.sent_bytes),
        ("dropped_overlimit", "packets", |c| c.dropped_overlimit),
        ("dropped_congestion", "packets", |c| c.dropped_congestion),
        ("marked", "packets", |c| c.marked),
        ("returned", "packets", |c| c.returned),
        ("lost", "packets", |c| c.lost),
        ("peak_packets", "packets", |c| u64::from(c.peak_packets)),
    ];
    for (name, unit, counter) in counters {
        table.count(name, unit, both().map(|(_, r)| counter(&r.total)));
        table.count(&format!("{name}_after_warmup"), unit, both().map(|(_, r)| counter(&r.after_warmup)));
    }
    let figures: [(&str, &str, Ratio); 4] = [
        ("mean_queue_packets", "packets", |_, r, plan| {
            ratio(r.after_warmup.packet_ns as f64, plan.measured_until().since(plan.warmup).as_ns() as f64)
        }),
        ("utilisation", "", |l, r, plan| {
            ratio(r.after_warmup.sent_bytes as f64 * 8.0, l.capacity(plan.warmup, plan.measured_until())?)
        }),
        ("drop_rate", "", |_, r, _| {
            let c = &r.after_warmup;
            ratio((c.dropped_overlimit + c.dropped_congestion) as f64, c.arrived as f64)
        }),
        ("mark_rate", "", |_, r, _| ratio(r.after_warmup.marked as f64, r.after_warmup.arrived as f64)),
    ];
    for (name, unit, figure) in figures {
        table.number_opt(name, unit, both().map(|(l, r)| figure(l, r, plan)));
    }
    table.finish()
}

/// One row for each watched queue and depth at dequeue that occurred.
pub(super) fn depths(plan: &Plan, record: &Record) -> RecordBatch {
    let mut table = Columns::default();
    let of = |(link, record): (usize, &LinkRecord)| {
        let depths = record.depths.counts().to_vec().into_iter().enumerate();
        depths.filter(|(_, packets)| *packets > 0).map(move |(depth, packets)| (link as u32, depth as u64, packets))
    };
    let rows: Vec<_> = record.links.iter().enumerate().flat_map(of).collect();
    table.name("link", plan.links.iter().map(|l| l.name.as_str()), rows.iter().map(|r| r.0));
    table.count("depth", "packets", rows.iter().map(|r| r.1));
    table.count("packets", "packets", rows.iter().map(|r| r.2));
    table.finish()
}

/// `part` of `whole`; nothing of nothing is no number.
fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}
