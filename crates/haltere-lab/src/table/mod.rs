//! Tables of one run: Arrow record batches made from a [`Plan`] and its [`Record`].
//!
//! [`tables`] lists them; `docs/reference/data.md` says what a row and each column holds. A table that only some
//! experiments ask for or need, such as `depths` or `pages`, is there only then.
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
use haltere_plan::{Plan, Record};
pub use qlog::qlog;

use arrow_array::Array;
use sha2::{Digest, Sha256};

/// A table: its name, and how it is made.
type Made = (&'static str, fn(&Plan, &Record) -> RecordBatch);

/// All tables of one run, by name, in a fixed order.
pub fn tables(plan: &Plan, record: &Record) -> Vec<(&'static str, RecordBatch)> {
    let (asked, has) = (&plan.measure, |kind: &str| plan.flows.iter().any(|flow| flow.app.kind() == kind));
    let always: &[Made] = &[
        ("flows", runs::flows),
        ("links", runs::links),
        ("flow_series", series::flows),
        ("queue_series", series::queues),
        ("pings", series::pings),
        ("tasks", runs::tasks),
    ];
    let has_iperf3 = has("program") && programs::has_iperf3(record);
    let has_completions = plan.flows.iter().any(|flow| flow.app.has_completions());
    let programs: &[Made] =
        &[("programs", programs::programs), ("outputs", programs::outputs), ("sockets", programs::sockets)];
    let multipath: &[Made] =
        &[("paths", multipath::paths), ("coefficients", multipath::coefficients), ("delays", multipath::delays)];
    let groups: [(bool, &[Made]); 12] = [
        (true, always),
        (has_completions, &[("completions", runs::completions)]),
        (has("web"), &[("pages", workloads::pages)]),
        (has("video"), &[("segments", workloads::segments)]),
        (has("voip"), &[("voices", workloads::voices)]),
        (has("program"), programs),
        (has_iperf3, &[("iperf3", programs::iperf3)]),
        (plan.links.iter().any(|link| link.count_depths), &[("depths", runs::depths)]),
        (asked.delays, &[("delay_summary", asked::delay_summary), ("delay_bins", asked::delay_bins)]),
        (asked.state, &[("queue_state", asked::queue_state), ("flow_state", asked::flow_state)]),
        (!asked.logged.is_empty(), &[("packets", asked::packets)]),
        (multipath::are_there(record), multipath),
    ];
    let made = groups.into_iter().filter(|(is_there, _)| *is_there).flat_map(|(_, tables)| tables);
    made.map(|(name, table)| (*name, table(plan, record))).collect()
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
    format!("{:x}", hasher.finalize())
}
