//! Parameters of a multipath connection.

use super::correlation::CorrelatorParams;
use super::scheduler::SchedulerParams;
use alloc::vec::Vec;
use haltere_units::{Bytes, ParamError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of a multipath connection beyond those of its subflows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MultipathParams {
    /// Which paths carry a segment. Default `lowest_rtt`.
    pub scheduler: SchedulerParams,
    /// Which paths share a bottleneck. The first one steers the scheduler `red`; all of them are reported. Default:
    /// none.
    pub correlators: Vec<CorrelatorParams>,
    /// Receive window of the connection, fixed: bytes that arrived and wait, in order or not, and bytes in flight.
    /// Default 3MiB (half of Linux's `tcp_rmem[2]`). At least one MSS.
    pub recv_buffer: Bytes,
    /// Bytes that the connection holds which are not acknowledged or not sent. Default 4MiB (Linux's `tcp_wmem[2]`).
    pub send_buffer: Bytes,
    /// The send buffer is tuned as Linux 6.1 does, up to `send_buffer`: twice the largest window of any one subflow,
    /// 2304 bytes of memory a segment. It may be too small for the paths together. Default false: all of `send_buffer`,
    /// from the start.
    pub tune_send_buffer: bool,
    /// If the receive window blocks the stream, the oldest segment is sent again on a path that has room (Raiciu et
    /// al., NSDI 2012, section 4.2). Default true. The schedulers `redundant` and `red` never do it.
    pub opportunistic: bool,
    /// The path that holds that segment up also reduces its window, once a round trip (the same paper, mechanism 2).
    /// Default false. The schedulers `redundant` and `red` never do it.
    pub penalise: bool,
}

impl Default for MultipathParams {
    fn default() -> MultipathParams {
        MultipathParams {
            scheduler: SchedulerParams::default_of("lowest_rtt").expect("the registry holds it"),
            correlators: Vec::new(),
            recv_buffer: Bytes::new(3_145_728),
            send_buffer: Bytes::new(4_194_304),
            tune_send_buffer: false,
            opportunistic: true,
            penalise: false,
        }
    }
}

impl MultipathParams {
    /// The first parameter that breaks its rule, as an error.
    pub fn check(&self, mss: Bytes) -> Result<(), ParamError> {
        for (name, buffer) in [("recv_buffer", self.recv_buffer), ("send_buffer", self.send_buffer)] {
            if !(mss.as_u64()..=1 << 30).contains(&buffer.as_u64()) {
                return Err(ParamError::new(name, alloc::format!("one MSS ({mss}) to 1GiB"), buffer));
            }
        }
        self.scheduler.check()?;
        self.correlators.iter().try_for_each(CorrelatorParams::check)
    }
}
