//! The tables that are there only if the experiment asks for them: delays, inner variables, packets.

use super::columns::Columns;
use arrow_array::RecordBatch;
use haltere_plan::record::{DelayOf, DelayRecord, StateOf, StateSample};
use haltere_plan::{Plan, Record};
use haltere_units::Dur;

/// What was measured, in one word, and the name of the link or flow.
fn subject<'a>(plan: &'a Plan, record: &DelayRecord) -> (&'static str, &'a str) {
    match record.of {
        DelayOf::Sojourn(link) => ("sojourn", &plan.links[link as usize].name),
        DelayOf::Rtt(flow) => ("rtt", &plan.flows[flow as usize].name),
        DelayOf::OneWay(flow) => ("one_way", &plan.flows[flow as usize].name),
    }
}

/// One row a link or flow of which delays were measured.
pub(super) fn delay_summary(plan: &Plan, record: &Record) -> RecordBatch {
    let ns = |value: Option<Dur>| value.map(Dur::as_ns);
    let mut table = Columns::of(plan, &record.delay_records)
        .text("measure", |r| Some(subject(plan, r).0))
        .text("name", |r| Some(subject(plan, r).1))
        .count("samples", "", |r| r.histogram.count())
        .count_opt("mean_ns", "ns", |r| ns(r.histogram.mean()))
        .count_opt("min_ns", "ns", |r| ns(r.histogram.min()));
    for (name, share) in [("p50_ns", 0.5), ("p90_ns", 0.9), ("p95_ns", 0.95), ("p99_ns", 0.99), ("p999_ns", 0.999)] {
        table = table.count_opt(name, "ns", |r| ns(r.histogram.quantile(share)));
    }
    let of_stream = |r: &DelayRecord, value: u64| matches!(r.of, DelayOf::OneWay(_)).then_some(value);
    table
        .count_opt("max_ns", "ns", |r| ns(r.histogram.max()))
        .count_opt("jitter_ns", "ns", |r| ns(r.jitter))
        .count_opt("expected", "packets", |r| of_stream(r, r.expected))
        .count_opt("lost", "packets", |r| of_stream(r, r.lost))
        .finish()
}

/// One row for each of them and each bin that is not empty.
pub(super) fn delay_bins(plan: &Plan, record: &Record) -> RecordBatch {
    let of = |(i, r): (usize, &DelayRecord)| r.histogram.bins().map(move |bin| (i as u32, bin)).collect::<Vec<_>>();
    let rows: Vec<_> = record.delay_records.iter().enumerate().flat_map(of).collect();
    let subjects = || record.delay_records.iter().map(|r| subject(plan, r));
    Columns::of(plan, &rows)
        .name("measure", subjects().map(|one| one.0), |row| row.0)
        .name("name", subjects().map(|one| one.1), |row| row.0)
        .count("low_ns", "ns", |(_, bin)| bin.0)
        .count("high_ns", "ns", |(_, bin)| bin.0.saturating_add(bin.1))
        .count("samples", "", |(_, bin)| bin.2)
        .finish()
}

/// One row for each inner variable of a queue and sample.
pub(super) fn queue_state(plan: &Plan, record: &Record) -> RecordBatch {
    let link = |of| if let StateOf::Queue(link) = of { Some(link) } else { None };
    state(plan, "link", plan.links.iter().map(|l| l.name.as_str()), record, link)
}

/// One row for each inner variable of a sender and sample.
pub(super) fn flow_state(plan: &Plan, record: &Record) -> RecordBatch {
    let flow = |of| if let StateOf::Flow(flow) = of { Some(flow) } else { None };
    state(plan, "flow", plan.flows.iter().map(|f| f.name.as_str()), record, flow)
}

fn state<'a>(
    plan: &Plan,
    column: &str,
    names: impl Iterator<Item = &'a str>,
    record: &Record,
    place: impl Fn(StateOf) -> Option<u32>,
) -> RecordBatch {
    // Of each row the place of the link or flow, the sample, and the places of the variable in it and in `variables`.
    let mut rows: Vec<(u32, &StateSample, usize, u32)> = Vec::new();
    let mut variables: Vec<(&str, &str)> = Vec::new();
    for (at, sample) in record.state.iter().filter_map(|sample| Some((place(sample.of)?, sample))) {
        for (i, (name, unit, _)) in sample.values.iter().enumerate() {
            let known = variables.iter().position(|one| *one == (*name, *unit));
            rows.push((at, sample, i, known.unwrap_or(variables.len()) as u32));
            if known.is_none() {
                variables.push((name, unit));
            }
        }
    }
    Columns::of(plan, &rows)
        .count("at_ns", "ns", |row| row.1.at.as_ns())
        .name(column, names, |row| row.0)
        .name("variable", variables.iter().map(|one| one.0), |row| row.3)
        .name("unit", variables.iter().map(|one| one.1), |row| row.3)
        .number_opt("value", "", |row| Some(row.1.values[row.2].2))
        .finish()
}

/// One row a packet and logged link.
pub(super) fn packets(plan: &Plan, record: &Record) -> RecordBatch {
    // In the order of `PacketFate`.
    const FATES: [&str; 4] = ["sent", "marked", "dropped_overlimit", "dropped_congestion"];
    Columns::of(plan, &record.packets)
        .count("at_ns", "ns", |p| p.at.as_ns())
        .link(|p| p.link)
        .name_opt("flow", plan.flows.iter().map(|f| f.name.as_str()), |p| p.flow)
        .node("from", |p| p.from)
        .node("to", |p| p.to)
        .count("source_port", "", |p| p.ports.0.into())
        .count("destination_port", "", |p| p.ports.1.into())
        .count("ip_id", "", |p| p.id.into())
        .count("bytes", "B", |p| p.bytes.into())
        .count("sojourn_ns", "ns", |p| p.sojourn.as_ns())
        .name("fate", FATES, |p| p.fate as u32)
        .finish()
}
