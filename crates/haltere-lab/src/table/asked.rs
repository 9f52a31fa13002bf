//! The tables that are there only if the experiment asks for them: delays, inner variables, packets.

use super::columns::Columns;
use arrow_array::RecordBatch;
use haltere_plan::record::{DelayOf, DelayRecord, PacketFate, PacketRecord, StateOf, StateSample};
use haltere_plan::{Histogram, Plan, Record};
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
    let mut table = Columns::default();
    let rows = || record.delay_records.iter();
    let ns = |value: Option<Dur>| value.map(Dur::as_ns);
    table.text("measure", rows().map(|r| Some(subject(plan, r).0)));
    table.text("name", rows().map(|r| Some(subject(plan, r).1)));
    table.count("samples", "", rows().map(|r| r.histogram.count()));
    table.count_opt("mean_ns", "ns", rows().map(|r| ns(r.histogram.mean())));
    table.count_opt("min_ns", "ns", rows().map(|r| ns(r.histogram.min())));
    for (name, share) in [("p50_ns", 0.5), ("p90_ns", 0.9), ("p95_ns", 0.95), ("p99_ns", 0.99), ("p999_ns", 0.999)] {
        table.count_opt(name, "ns", rows().map(|r| ns(r.histogram.quantile(share))));
    }
    table.count_opt("max_ns", "ns", rows().map(|r| ns(r.histogram.max())));
    table.count_opt("jitter_ns", "ns", rows().map(|r| ns(r.jitter)));
    let of_stream = |r: &DelayRecord, value: u64| matches!(r.of, DelayOf::OneWay(_)).then_some(value);
    table.count_opt("expected", "packets", rows().map(|r| of_stream(r, r.expected)));
    table.count_opt("lost", "packets", rows().map(|r| of_stream(r, r.lost)));
    table.finish()
}

/// One row for each of them and each bin that is not empty.
pub(super) fn delay_bins(plan: &Plan, record: &Record) -> RecordBatch {
    let mut table = Columns::default();
    let of = |(i, r): (usize, &DelayRecord)| -> Vec<(u32, (u64, u64, u64))> {
        let bins: fn(&Histogram) -> Vec<_> = |histogram| histogram.bins().collect();
        bins(&r.histogram).into_iter().map(|bin| (i as u32, bin)).collect()
    };
    let rows: Vec<_> = record.delay_records.iter().enumerate().flat_map(of).collect();
    let subjects = || record.delay_records.iter().map(|r| subject(plan, r));
    table.name("measure", subjects().map(|one| one.0), rows.iter().map(|row| row.0));
    table.name("name", subjects().map(|one| one.1), rows.iter().map(|row| row.0));
    table.count("low_ns", "ns", rows.iter().map(|(_, bin)| bin.0));
    table.count("high_ns", "ns", rows.iter().map(|(_, bin)| bin.0.saturating_add(bin.1)));
    table.count("samples", "", rows.iter().map(|(_, bin)| bin.2));
    table.finish()
}

/// One row for each inner variable of a queue and sample.
pub(super) fn queue_state(plan: &Plan, record: &Record) -> RecordBatch {
    let link = |of| if let StateOf::Queue(link) = of { Some(link) } else { None };
    state("link", plan.links.iter().map(|l| l.name.as_str()), record, link)
}

/// One row for each inner variable of a sender and sample.
pub(super) fn flow_state(plan: &Plan, record: &Record) -> RecordBatch {
    let flow = |of| if let StateOf::Flow(flow) = of { Some(flow) } else { None };
    state("flow", plan.flows.iter().map(|f| f.name.as_str()), record, flow)
}

fn state<'a>(
    column: &str,
    names: impl Iterator<Item = &'a str>,
    record: &Record,
    place: impl Fn(StateOf) -> Option<u32>,
) -> RecordBatch {
    let mut table = Columns::default();
    let samples = record.state.iter().filter_map(|sample| Some((place(sample.of)?, sample)));
    let rows: Vec<(u32, &StateSample, usize)> =
        samples.flat_map(|(at, sample)| (0..sample.values.len()).map(move |i| (at, sample, i))).collect();
    let mut variables: Vec<(&str, &str)> = Vec::new();
    let codes: Vec<u32> = rows
        .iter()
        .map(|(_, sample, i)| {
            let (name, unit, _) = sample.values[*i];
            let known = variables.iter().position(|one| *one == (name, unit));
            known.unwrap_or_else(|| {
                variables.push((name, unit));
                variables.len() - 1
            }) as u32
        })
        .collect();
    table.count("at_ns", "ns", rows.iter().map(|row| row.1.at.as_ns()));
    table.name(column, names, rows.iter().map(|row| row.0));
    table.name("variable", variables.iter().map(|one| one.0), codes.iter().copied());
    table.name("unit", variables.iter().map(|one| one.1), codes.iter().copied());
    table.number_opt("value", "", rows.iter().map(|(_, sample, i)| Some(sample.values[*i].2)));
    table.finish()
}

/// One row a packet and logged link.
pub(super) fn packets(plan: &Plan, record: &Record) -> RecordBatch {
    const FATES: [&str; 4] = ["sent", "marked", "dropped_overlimit", "dropped_congestion"];
    let fate = |packet: &PacketRecord| match packet.fate {
        PacketFate::Sent => 0,
        PacketFate::Marked => 1,
        PacketFate::Overlimit => 2,
        PacketFate::Congestion => 3,
    };
    let mut table = Columns::default();
    let rows = || record.packets.iter();
    let nodes = || plan.nodes.iter().map(String::as_str);
    table.count("at_ns", "ns", rows().map(|p| p.at.as_ns()));
    table.name("link", plan.links.iter().map(|l| l.name.as_str()), rows().map(|p| p.link));
    table.name_opt("flow", plan.flows.iter().map(|f| f.name.as_str()), rows().map(|p| p.flow));
    table.name("from", nodes(), rows().map(|p| p.from));
    table.name("to", nodes(), rows().map(|p| p.to));
    table.count("source_port", "", rows().map(|p| u64::from(p.ports.0)));
    table.count("destination_port", "", rows().map(|p| u64::from(p.ports.1)));
    table.count("ip_id", "", rows().map(|p| u64::from(p.id)));
    table.count("bytes", "B", rows().map(|p| u64::from(p.bytes)));
    table.count("sojourn_ns", "ns", rows().map(|p| p.sojourn.as_ns()));
    table.name("fate", FATES.into_iter(), rows().map(fate));
    table.finish()
}
