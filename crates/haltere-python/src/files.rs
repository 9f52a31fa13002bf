//! Files that a run writes in addition to its tables.

use haltere_lab::table;
use haltere_plan::record::StackLog;
use haltere_plan::{Plan, Record};
use haltere_sim::Capture;
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

/// All files of a run by name.
pub(crate) fn of(plan: &Plan, record: &Record, captures: Vec<(usize, Buffer)>) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for (link, buffer) in captures {
        let stem = stem(&plan.links[link].name);
        let taken = files.iter().any(|(name, _)| *name == format!("{stem}.pcapng"));
        let name = if taken { format!("{stem}.{link}.pcapng") } else { format!("{stem}.pcapng") };
        files.push((name, std::mem::take(&mut buffer.0.lock().unwrap_or_else(PoisonError::into_inner))));
    }
    if plan.measure.senders {
        files.push(("senders.qlog".into(), table::qlog(plan, record).into_bytes()));
    }
    // Two flows may have names that are one name of a file.
    let mut last = (u32::MAX, String::new());
    let mut logs: Vec<&StackLog> = record.logs.iter().collect();
    logs.sort_by_key(|log| (log.flow, log.connection, !log.is_client));
    for log in logs {
        if last.0 != log.flow {
            let name = stem(&plan.flows[log.flow as usize].name);
            let taken = files.iter().any(|(file, _)| file.starts_with(&format!("{name}.")));
            last = (log.flow, if taken { format!("{name}.{}", log.flow) } else { name });
        }
        let side = if log.is_client { "client" } else { "server" };
        files.push((format!("{}.{}.{side}.sqlog", last.1, log.connection), log.text.clone()));
    }
    files
}

/// A file name for a link: `left-right` for `left>right`.
fn stem(link: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let stem: String = link.chars().map(plain).collect();
    if stem.starts_with('-') { format!("link{stem}") } else { stem }
}
