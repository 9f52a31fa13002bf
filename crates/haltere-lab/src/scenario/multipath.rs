//! A stream over several paths, as written in an experiment file.

use super::traffic::{Ends, TcpSide};
use haltere_transport::multipath::MultipathParams;
use haltere_units::{Bytes, Dur, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Multipath TCP: one stream over several subflows. An interface of a host is a node of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Multipath {
    /// Name and times. The nodes stand in `paths`.
    #[serde(flatten)]
    pub ends: Ends,
    /// The TCP of the subflows. `congestion` has one for all of them: `lia`, `olia` and `balia` are coupled, the others are not.
    #[serde(flatten)]
    pub side: TcpSide,
    /// The paths in the order of joining.
    #[schemars(length(min = 1, max = 16))]
    pub paths: Vec<PathEnds>,
    /// Scheduler, correlators and buffers of the connection.
    #[serde(default)]
    pub multipath: MultipathParams,
    /// Rate at which the application writes; it always has something to send where not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Bytes of one write, where there is a rate.
    #[serde(default = "thousand")]
    pub packet: Bytes,
    /// Bytes in all; endless where not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
}

fn thousand() -> Bytes {
    Bytes::new(1000)
}

/// One path: from an interface of the sender to one of the receiver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathEnds {
    /// Name of the node that is the sender's interface.
    pub from: String,
    /// Name of the node that is the receiver's interface.
    pub to: String,
    /// The subflow joins at that time; with the others where not given. The first path cannot wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join: Option<Dur>,
    /// The subflow leaves at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leave: Option<Dur>,
    /// From then on nothing passes, unnoticed by both ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Dur>,
}
