//! The trait of topologies, and the values that a topology may use.

use super::network::NetworkDraft;
use crate::error::ScenarioError;
use haltere_units::Bytes;

/// A topology of the registry.
pub(crate) trait TopologyKind {
    /// Adds its nodes and links to an empty network. Everything that can be wrong is found here.
    fn build(&self, network: &mut NetworkDraft, context: &Context<'_>) -> Result<(), ScenarioError>;
}

/// Values that a topology may use while it builds its network.
pub(crate) struct Context<'a> {
    /// The table in which it is, such as `topology.chain`.
    pub(crate) place: &'a str,
    /// Bytes that every packet carries on a link below IP.
    pub(crate) framing: Bytes,
    /// The random seed of the run.
    pub(crate) seed: u64,
}

impl Context<'_> {
    /// A table or key below it.
    pub(crate) fn below(&self, key: &str) -> String {
        format!("{}.{key}", self.place)
    }
}
