//! The experiment file.

use crate::plan::Plan;
use serde::{Deserialize, Serialize};

/// An experiment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// What it is about.
    pub title: String,
}

impl Scenario {
    /// The run of this scenario with that seed, explicit and checked.
    pub fn plan(&self, seed: u64) -> Plan {
        let _ = seed;
        todo!()
    }
}
