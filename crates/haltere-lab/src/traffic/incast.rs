//! Many hosts send to one at a time, in rounds.

use super::prelude::*;
use haltere_plan::plan::{Between, Pattern};
use haltere_plan::sizes::SizeDistribution;

/// TCP flows that start together, in rounds.
///
/// With `pairs`, or `from` and `to`, each flow of a round runs between the hosts of another pair, and `direction` says
/// which way. With `pairs` and `to`, the pairs' senders all send to that host. Without `pairs` and `from`, hosts drawn
/// at random send to `to`, or to another host each round. Hosts are the nodes with one link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Incast {
    #[serde(flatten)]
    pub(crate) ends: Ends,
    #[serde(flatten)]
    pub(crate) side: TcpSide,
    /// Flows of a round. Each comes from another host or pair, as long as there are so many.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub senders: u32,
    /// Bytes of each flow, if all have the same size. Give `bytes` or `sizes`.
    pub bytes: Option<Bytes>,
    /// How large the flows are: one size, a published distribution (`web_search`, `data_mining`, `cache`), a law or a
    /// table.
    pub sizes: Option<SizesSpec>,
    /// From one round to the next.
    #[serde(default = "a_second")]
    pub interval: Dur,
    /// Each flow of a round starts later by a time drawn uniformly from zero to this.
    #[serde(default)]
    pub spread: Dur,
    /// The most rounds. If it is not given, they go on until `stop` or the end.
    pub rounds: Option<u32>,
}

impl TrafficKind for Incast {
    fn about() -> About {
        About::ARRIVALS
    }
    fn pairs(&self, entry: &Entry<'_>) -> Result<Vec<(usize, usize)>, ScenarioError> {
        Ok(Entry::stand_in(&self.between(entry)?))
    }
    fn plan(&self, entry: &Entry<'_>) -> Result<Vec<AppPlan>, ScenarioError> {
        let (between, sizes) = (self.between(entry)?, self.sizes(entry)?);
        refuse_if!(self.interval.is_zero(), entry.fault("interval", "above zero", self.interval));
        if self.spread >= self.interval {
            let rule = format!("less than the {} from one round to the next", self.interval);
            return Err(entry.fault("spread", rule, self.spread).out_of_range());
        }
        let to = match between {
            Between::Hosts(_) => self.to(entry)?,
            Between::Pairs(_) => None,
        };
        let (senders, interval, jitter) = (self.senders, self.interval, self.spread);
        let pattern = Pattern::Incast { to, senders, interval, jitter };
        let max_flows = self.rounds.map(|rounds| u64::from(rounds) * u64::from(senders));
        entry.arrivals(&self.side, Arriving { between, pattern, sizes, max_flows })
    }
}

impl Incast {
    /// The node that `to` names.
    fn to(&self, entry: &Entry<'_>) -> Result<Option<usize>, ScenarioError> {
        self.ends.to.as_deref().map(|to| entry.network.node(to, &entry.place, "to")).transpose()
    }

    fn between(&self, entry: &Entry<'_>) -> Result<Between, ScenarioError> {
        let has_pairs = !entry.network.pairs.is_empty() || self.ends.pairs.is_none();
        let (Some(to), None, true) = (self.to(entry)?, &self.ends.from, has_pairs) else { return entry.between() };
        if self.ends.pairs.is_none() {
            entry.left_out(&["direction"])?;
            return Ok(Between::Hosts(entry.hosts()?.into()));
        }
        let senders = entry.numbered_pairs()?.into_iter().flat_map(|(a, b)| self.ends.direction.of(a, b));
        let pairs: Vec<(usize, usize)> = senders.map(|(from, _)| (from, to)).filter(|(from, to)| from != to).collect();
        if pairs.is_empty() {
            let got = format!("`{}`, the only sender", entry.network.nodes[to]);
            return Err(entry.fault("to", "another node than the pairs' senders", got).out_of_range());
        }
        Ok(Between::Pairs(pairs.into()))
    }

    fn sizes(&self, entry: &Entry<'_>) -> Result<SizeDistribution, ScenarioError> {
        match (self.bytes, &self.sizes) {
            (Some(bytes), None) => {
                entry.some_bytes(Some(bytes))?;
                Ok(SizeDistribution::constant(bytes))
            }
            (None, Some(sizes)) => entry.sizes("sizes", sizes),
            (Some(_), Some(_)) => Err(entry.fault("bytes", "left out beside `sizes`", "both").out_of_range()),
            (None, None) => {
                let hint = "write for example `bytes = \"64kB\"`";
                Err(entry.fault("bytes", "given, or `sizes`", "nothing").hint(hint).missing())
            }
        }
    }
}
