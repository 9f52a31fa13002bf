//! Names and descriptions of what can be written in an experiment file.

use crate::scenario::{Topology, Traffic};
use haltere_congestion::CongestionParams;
use haltere_queue::QueueParams;

/// The kinds of names that [`names`] lists.
pub const KINDS: &[&str] = &["queues", "congestion", "topologies", "traffic"];

/// The names that exist of a kind: `queues`, `congestion`, `topologies` or `traffic`.
pub fn names(kind: &str) -> Option<&'static [&'static str]> {
    match kind {
        "queues" => Some(QueueParams::NAMES),
        "congestion" => Some(CongestionParams::NAMES),
        "topologies" => Some(Topology::NAMES),
        "traffic" => Some(Traffic::NAMES),
        _ => None,
    }
}
