//! How the caller watches and cancels a run.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// How the caller watches and cancels a run. Other threads may read and write both.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunControl<'a> {
    /// The cancel flag: set it to end the run. The run reads it every 1024 events.
    pub cancel: Option<&'a AtomicBool>,
    /// The virtual time reached, in nanoseconds.
    pub progress: Option<&'a AtomicU64>,
    /// The most threads that carry out the [parts](haltere_plan::plan::Plan::parts) of the run. 0 and 1: that of the
    /// caller alone. The record is the same with any number.
    pub threads: usize,
}

/// A pcapng file for every packet that the line of one link takes.
pub struct Capture {
    /// Index of the link in the plan.
    pub link: usize,
    /// The file, which the caller buffers.
    pub writer: Box<dyn Write + Send>,
    /// Bytes of each packet that are kept. `None`: all, the payload of zeros included.
    pub snaplen: Option<u32>,
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture").field("link", &self.link).field("snaplen", &self.snaplen).finish_non_exhaustive()
    }
}
