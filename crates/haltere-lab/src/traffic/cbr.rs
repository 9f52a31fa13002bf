//! UDP at a constant rate.

use super::prelude::*;
use haltere_plan::headers::MAX_DATAGRAM;
use haltere_plan::plan::CbrPlan;

/// UDP at a constant rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Cbr {
    #[serde(flatten)]
    pub(crate) ends: Ends,
    /// Payload rate.
    pub rate: Rate,
    /// Payload bytes of a packet.
    #[serde(default = "super::entry::packet")]
    pub packet: Bytes,
    /// Packets are ECN-capable.
    #[serde(default)]
    pub ecn: bool,
}

impl TrafficKind for Cbr {
    fn about() -> About {
        About::PLAIN
    }
    fn plan(&self, entry: &Entry<'_>) -> Result<Vec<AppPlan>, ScenarioError> {
        entry.positive_rate(self.rate)?;
        entry.payload("packet", self.packet, MAX_DATAGRAM)?;
        Ok(vec![CbrPlan { rate: self.rate, packet: self.packet, ecn: self.ecn }.into()])
    }
}
