//! How the caller watches and ends a run.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// How the caller watches and ends a run. Both may be read and written from other threads.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunControl<'a> {
    /// Set it to end the run; it is looked at every thousand events.
    pub cancel: Option<&'a AtomicBool>,
    /// The virtual time reached, in nanoseconds.
    pub progress: Option<&'a AtomicU64>,
}

/// Every packet that the line of one link takes is written to a pcapng file.
pub struct Capture {
    /// Index of the link in the plan.
    pub link: usize,
    /// The file. Buffer it.
    pub writer: Box<dyn Write + Send>,
    /// Bytes of each packet that are kept; `None`: all, payload (zeros) included.
    pub snaplen: Option<u32>,
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture").field("link", &self.link).field("snaplen", &self.snaplen).finish_non_exhaustive()
    }
}
