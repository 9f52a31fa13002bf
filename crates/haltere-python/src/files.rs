//! Files that a run writes in addition to its tables.

use haltere_lab::table;
use haltere_plan::{Plan, Record};
use haltere_sim::Capture;
use std::collections::BTreeSet;
use std::io::{Result, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// A file in memory, which the simulator writes.
#[derive(Clone, Default)]
pub(crate) struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The captures that the plan asks for, each with its link and a buffer.
pub(crate) fn captures(plan: &Plan) -> Vec<(usize, Buffer)> {
    plan.measure.captured.iter().map(|&link| (link, Buffer::default())).collect()
}

/// The capture of that link.
pub(crate) fn capture(plan: &Plan, link: usize, buffer: &Buffer) -> Capture {
    Capture { link, writer: Box::new(buffer.clone()), snaplen: plan.measure.snaplen }
}

/// All files of a run by name. The logs of stacks leave the record.
pub(crate) fn of(plan: &Plan, record: &mut Record, captures: Vec<(usize, Buffer)>) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    let mut stems = BTreeSet::new();
    for (link, buffer) in captures {
        let name = format!("{}.pcapng", stem(&plan.links[link].name, link, &mut stems));
        files.push((name, std::mem::take(&mut buffer.0.lock().unwrap_or_else(PoisonError::into_inner))));
    }
    if plan.measure.senders {
        stems.insert("senders".into());
        files.push(("senders.qlog".into(), table::qlog(plan, record).into_bytes()));
    }
    record.logs.sort_by_key(|log| (log.flow, log.connection, !log.is_client));
    for logs in record.logs.chunk_by_mut(|one, next| one.flow == next.flow) {
        let flow = logs[0].flow as usize;
        let stem = stem(&plan.flows[flow].name, flow, &mut stems);
        for log in logs {
            let side = if log.is_client { "client" } else { "server" };
            files.push((format!("{stem}.{}.{side}.sqlog", log.connection), std::mem::take(&mut log.text)));
        }
    }
    files
}

/// A file name for a link or a flow: `left-right` for `left>right`; with its number behind if another has that name.
fn stem(name: &str, number: usize, stems: &mut BTreeSet<String>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let stem: String = name.chars().map(plain).collect();
    let stem = if stem.starts_with('-') { format!("link{stem}") } else { stem };
    if stems.insert(stem.clone()) { stem } else { format!("{stem}.{number}") }
}
