//! Each host sends to one other host and receives from one.

use super::prelude::*;
use haltere_plan::plan::BulkPlan;
use haltere_plan::rng::Rng;

/// TCP from each host to another one. Each host sends to one and receives from one: a permutation without fixed points,
/// drawn with the random seed. Hosts are the nodes with one link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Permutation {
    #[serde(flatten)]
    pub(crate) ends: Ends,
    #[serde(flatten)]
    pub(crate) side: TcpSide,
    /// Bytes that each flow sends in all. If it is not given, a flow never ends.
    pub bytes: Option<Bytes>,
}

impl TrafficKind for Permutation {
    fn about() -> About {
        About { endless_without: Some(&["bytes"]), without: &["pairs", "from", "to"], ..About::TCP }
    }
    /// One cycle through all hosts in a random order: each sends to the next.
    fn pairs(&self, entry: &Entry<'_>) -> Result<Vec<(usize, usize)>, ScenarioError> {
        let mut hosts = entry.hosts()?;
        Rng::new(entry.seed, &format!("{}/permutation", entry.label)).shuffle(&mut hosts);
        let next = hosts.iter().cycle().skip(1);
        let mut pairs: Vec<(usize, usize)> = hosts.iter().copied().zip(next.copied()).collect();
        pairs.sort_unstable();
        Ok(pairs)
    }
    fn plan(&self, entry: &Entry<'_>) -> Result<Vec<AppPlan>, ScenarioError> {
        entry.some_bytes(self.bytes)?;
        entry.tcp(&self.side, |tcp| BulkPlan { tcp, bytes: self.bytes }.into())
    }
}
