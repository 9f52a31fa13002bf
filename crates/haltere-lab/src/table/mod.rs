//! Tables of one run: Arrow record batches made from a [`Plan`] and its [`Record`].
//!
//! | table | one row a | main columns |
//! |---|---|---|
//! | `flows` | flow | flow, group, kind, congestion, from, to, start, goodput, bytes, retransmissions |
//! | `links` | direction of a link | link, rate, packets, bytes, drops, marks, mean queue, utilisation |
//! | `flow_series` | flow and sample | at_ns, flow, received_bytes, cwnd_bytes, ..., variables of the control |
//! | `queue_series` | watched queue and sample | at_ns, link, packets, bytes, ..., variables of the discipline |
//! | `pings` | answered ping | at_ns, flow, rtt_ns |
//! | `paths` | path of a multipath connection and sample | at_ns, flow, path, cwnd_bytes, srtt_ns, replicas, ... |
//! | `coefficients` | pair of paths and verdict | at_ns, flow, correlator, path_a, path_b, coefficient, shares |
//! | `delays` | write of a multipath application with a rate | at_ns, flow, delay_ns |
//! | `tasks` | FTP task | flow, group, file_bytes, start_ns, data_ns, end_ns, failures |
//! | `completions` | flow that arrives, or response | flow, from, to, bytes, start_ns, fct_ns, ideal_ns, slowdown, ... |
//! | `pages` | page of `web` | flow, group, start_ns, load_ns, objects, bytes |
//! | `segments` | segment of `video` | flow, group, bitrate, bytes, start_ns, fetch_ns, buffer_ns, stall_ns |
//! | `voices` | flow of `voip` | flow, group, packets, lost, late, delay_ns, jitter_ns, mouth_to_ear_ns, rating, mos |
//! | `programs` | program of `program` | flow, group, side, command, start_ns, end_ns, status |
//! | `outputs` | place to which a program wrote | flow, side, name, bytes, text |
//! | `sockets` | connection of hosts with programs, and direction | from, to, protocol, ports, packets, delivered, marked, payload, sojourn |
//! | `iperf3` | stream of iperf3, and end that sums it up | flow, side, stream, end, bytes, rate_bps, retransmits, rtt_mean_us |
//! | `delay_summary` | link or flow | measure (`sojourn`, ...), name, samples, mean, percentiles, jitter, lost |
//! | `delay_bins` | link or flow and bin | measure, name, low_ns, high_ns, samples |
//! | `queue_state`, `flow_state` | inner variable and sample | at_ns, link or flow, variable, unit, value |
//! | `packets` | packet and logged link | at_ns, link, flow, bytes, sojourn_ns, fate |
//! | `depths` | watched queue and depth at dequeue | link, depth, packets that left so many behind after the warm-up |
//!
//! `depths` is there only with `[measure] depths = true`, and the four lines above it only with `delays`, `state` and
//! `packets`. `completions` is there only if flows arrive during the run or requests are answered, and `pages`,
//! `segments` and `voices` only with `web`, `video` and `voip`; `programs`, `outputs`, `sockets` and `iperf3` only with `program`. The tables of multipath connections are there only if
//! there is one.
//!
//! Times are nanoseconds from the start of the run, rates bit/s. A column's unit is in its field's metadata under
//! `unit`. What there is only for some rows is null elsewhere: TCP's figures for other flows, inner variables for other
//! mechanisms.

mod asked;
mod columns;
mod multipath;
mod programs;
mod qlog;
mod runs;
mod series;
mod workloads;

pub use arrow_array::RecordBatch;
use haltere_plan::plan::AppPlan;
use haltere_plan::{Plan, Record};
pub use qlog::qlog;

use arrow_array::Array;
use sha2::{Digest, Sha256};

/// All tables of one run, by name, in a fixed order.
pub fn tables(plan: &Plan, record: &Record) -> Vec<(&'static str, RecordBatch)> {
    let mut tables = vec![
        ("flows", runs::flows(plan, record)),
        ("links", runs::links(plan, record)),
        ("flow_series", series::flows(plan, record)),
        ("queue_series", series::queues(plan, record)),
        ("pings", series::pings(plan, record)),
        ("tasks", runs::tasks(plan, record)),
    ];
    if plan.flows.iter().any(|f| f.app.has_completions()) {
        tables.push(("completions", runs::completions(plan, record)));
    }
    if plan.flows.iter().any(|f| matches!(f.app, AppPlan::Web(_))) {
        tables.push(("pages", workloads::pages(plan, record)));
    }
    if plan.flows.iter().any(|f| matches!(f.app, AppPlan::Video(_))) {
        tables.push(("segments", workloads::segments(plan, record)));
    }
    if plan.flows.iter().any(|f| matches!(f.app, AppPlan::Voip(_))) {
        tables.push(("voices", workloads::voices(plan, record)));
    }
    if plan.flows.iter().any(|f| matches!(f.app, AppPlan::Program(_))) {
        tables.push(("programs", programs::programs(plan, record)));
        tables.push(("outputs", programs::outputs(plan, record)));
        tables.push(("sockets", programs::sockets(plan, record)));
        let iperf3 = programs::iperf3(plan, record);
        tables.extend((iperf3.num_rows() > 0).then_some(("iperf3", iperf3)));
    }
    if plan.links.iter().any(|link| link.count_depths) {
        tables.push(("depths", runs::depths(plan, record)));
    }
    let asked = &plan.measure;
    if asked.delays {
        tables.push(("delay_summary", asked::delay_summary(plan, record)));
        tables.push(("delay_bins", asked::delay_bins(plan, record)));
    }
    if asked.state {
        tables.push(("queue_state", asked::queue_state(plan, record)));
        tables.push(("flow_state", asked::flow_state(plan, record)));
    }
    if !asked.logged.is_empty() {
        tables.push(("packets", asked::packets(plan, record)));
    }
    if !multipath::is_absent(record) {
        tables.push(("paths", multipath::paths(plan, record)));
        tables.push(("coefficients", multipath::coefficients(plan, record)));
        tables.push(("delays", multipath::delays(plan, record)));
    }
    tables
}

/// SHA-256 over the names, types and bytes of all columns, in hexadecimal: equal results, equal digests.
pub fn digest(tables: &[(&'static str, RecordBatch)]) -> String {
    let mut hasher = Sha256::new();
    for (name, batch) in tables {
        hasher.update(format!("{name} {}\n", batch.num_rows()));
        for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
            hasher.update(format!("{} {}\n", field.name(), field.data_type()));
            let data = column.to_data();
            if let Some(nulls) = data.nulls() {
                nulls.iter().for_each(|valid| hasher.update([u8::from(valid)]));
            }
            for data in std::iter::once(&data).chain(data.child_data()) {
                data.buffers().iter().for_each(|buffer| hasher.update(buffer.as_slice()));
            }
        }
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
