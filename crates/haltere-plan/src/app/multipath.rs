//! Multipath TCP, or multipath QUIC of a stack: one stream over several paths.

use super::prelude::*;
use haltere_transport::multipath::MultipathParams;

/// A stream over several paths.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MultipathPlan {
    /// Endpoints of every subflow.
    pub tcp: TcpPlan,
    /// Scheduler, correlators and buffers of the connection.
    pub multipath: MultipathParams,
    /// The paths in the order of joining; the first is the flow's own.
    pub paths: Vec<PathPlan>,
    /// Rate at which the application writes; `None`: it always has something to send.
    pub rate: Option<Rate>,
    /// Bytes of one write, if there is a rate.
    pub packet: Bytes,
    /// Bytes in all; `None`: endless.
    pub bytes: Option<Bytes>,
}

/// One path of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PathPlan {
    /// Index of the node that is the sender's interface.
    pub from: usize,
    /// Index of the node that is the receiver's.
    pub to: usize,
    /// When its subflow joins; `None`: with the others.
    pub join: Option<Time>,
    /// When its subflow leaves; `None`: with the connection.
    pub leave: Option<Time>,
    /// From when on nothing passes.
    pub cut: Option<Time>,
}

tcp_app! {
    MultipathPlan;
    fn paths(&self) -> &[PathPlan] {
        &self.paths
    }
}
