//! What the tests of captures share: a file in memory, and a link without anything special.

use haltere_plan::plan::LinkPlan;
use haltere_queue::QueueParams;
use haltere_units::{Dur, Rate};
use std::io::Write;
use std::sync::{Arc, Mutex};

/// A file in memory.
#[derive(Clone, Default)]
pub struct File(pub Arc<Mutex<Vec<u8>>>);

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The link from node `from` to node `to`.
pub fn link(from: usize, to: usize, mbps: u64, delay_ms: u64, queue: QueueParams) -> LinkPlan {
    LinkPlan::plain(from, to, Some(Rate::from_mbps(mbps)), Dur::from_ms(delay_ms), queue)
}
