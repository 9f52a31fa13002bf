//! TCP that always has something to send, or sends a number of bytes.

use super::prelude::*;
use haltere_plan::plan::BulkPlan;

/// TCP that always has something to send, or sends `bytes` and closes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Bulk {
    #[serde(flatten)]
    pub(crate) ends: Ends,
    #[serde(flatten)]
    pub(crate) side: TcpSide,
    /// Bytes that each flow sends in all. If it is not given, a flow never ends.
    pub bytes: Option<Bytes>,
}

impl TrafficKind for Bulk {
    fn about() -> About {
        About { endless_without: Some(&["bytes"]), ..About::TCP }
    }
    fn plan(&self, entry: &Entry<'_>) -> Result<Vec<AppPlan>, ScenarioError> {
        entry.some_bytes(self.bytes)?;
        entry.tcp(&self.side, |tcp| BulkPlan { tcp, bytes: self.bytes }.into())
    }
}
