//! How a run on the wire is to be done: what its caller asks of the machine, its cancel flag and its progress.

use crate::program;
use haltere_plan::plan::FlowPlan;
use haltere_units::{Dur, Time};
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Whether the machine is measured before the run, and what follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Calibrate {
    /// The machine is not measured.
    No,
    /// Measured and written down; a machine out of bounds runs all the same.
    Note,
    /// Measured; a machine out of bounds is refused.
    #[default]
    Refuse,
}

/// How a run is to be done, its cancel flag and its progress.
#[derive(Debug, Clone, Default)]
pub struct Control<'a> {
    /// Set from outside to end the run early: it is then an error, [`WireError::Interrupted`].
    pub stop: Option<&'a AtomicBool>,
    /// Nanoseconds of the run that are done, for others to read.
    pub progress: Option<&'a AtomicU64>,
    /// Time before a deadline through which the router does not sleep (a whole core).
    pub spin: Dur,
    /// Measure the machine first?
    pub calibrate: Calibrate,
    /// Program and arguments that serve FTP at port 21 of the namespace where they are started and say `ready` on a
    /// line of their own.
    pub ftp_server: Vec<OsString>,
    /// Where programs run, if that is not among the files that this process sees.
    pub programs: program::Place,
    /// How the hosts' sockets are driven.
    pub manner: Manner,
    /// Hosts hand whole buffers of up to 64 kB to their link (generic segmentation offload), and the queues hold them
    /// as one packet.
    pub gso: bool,
}

impl Control<'_> {
    /// The cancel flag is set.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }
    /// So much of the run is done.
    pub(crate) fn at(&self, now: Time) {
        if let Some(progress) = self.progress {
            progress.store(now.as_ns(), Ordering::Relaxed);
        }
    }
}

/// How an agent does its work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manner {
    /// A thread reads at each endless flow's receiver, in one long call.
    pub readers: bool,
    /// Recovery episodes are counted as far as samples show them: one that begins and ends between two samples is not
    /// seen. The kernel has no count of them.
    pub sampled_recoveries: bool,
    /// Congestion controls of the kernel that stand for those of the plan: the plan's name, the kernel's.
    pub controls: Vec<(String, String)>,
}

impl Manner {
    /// The kernel's name that stands for that control.
    pub(crate) fn instead_of(&self, control: &str) -> Option<&str> {
        self.controls.iter().find(|(planned, _)| planned == control).map(|(_, name)| name.as_str())
    }
}

/// Where a flow's traffic entry is in its experiment.
pub(crate) fn place(flow: &FlowPlan) -> String {
    format!("traffic[{}]", flow.group)
}
