//! Many hosts send to one at a time, in rounds.

use super::{About, Ends, Entry, TcpSide, TrafficKind, a_second};
use crate::error::FaultKind;
use crate::error::ScenarioError;
use haltere_plan::plan::{AppPlan, ArrivalsPlan, Pattern};
use haltere_plan::sizes::SizeDistribution;
use haltere_units::{Bytes, Dur};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// TCP flows from several hosts to one at a time, in rounds. Hosts are the nodes with one link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Incast {
    /// Name and times. `to` is the host that receives; if it is not given, one is drawn for each round. `pairs`, `from`, `count`,
    /// `direction` and `jitter` have no place here.
    #[serde(flatten)]
    pub ends: Ends,
    /// The TCP of these flows, with one congestion control.
    #[serde(flatten)]
    pub side: TcpSide,
    /// Flows of a round. Each comes from another host, as long as there are so many.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub senders: u32,
    /// Bytes of each flow.
    pub bytes: Bytes,
    /// From one round to the next.
    #[serde(default = "a_second")]
    pub interval: Dur,
    /// Each flow of a round starts later by a time drawn uniformly from zero to this.
    #[serde(default)]
    pub spread: Dur,
    /// The most rounds. If it is not given, they go on until `stop` or the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
}

impl TrafficKind for Incast {
    fn about() -> About {
        let example = "senders = 3\nbytes = \"64kB\"\ninterval = \"500ms\"";
        About { arrivals: true, table: Some("completions"), example, ..About::TCP }
    }
    fn ends(&self) -> &Ends {
        &self.ends
    }
    /// Two hosts that stand for all.
    fn pairs(&self, entry: &Entry<'_>) -> Result<Vec<(usize, usize)>, ScenarioError> {
        entry.two_hosts()
    }
    fn plan(&self, entry: &Entry<'_>) -> Result<Vec<AppPlan>, ScenarioError> {
        entry.left_out(&["pairs", "from", "count", "direction", "jitter"])?;
        let hosts = entry.hosts()?;
        entry.some_bytes(Some(self.bytes))?;
        if self.interval.is_zero() {
            return Err(entry.fault("interval", "above zero", self.interval).out_of_range());
        }
        if self.spread >= self.interval {
            let rule = format!("less than the {} from one round to the next", self.interval);
            return Err(entry.fault("spread", rule, self.spread).out_of_range());
        }
        let to = self.ends.to.as_deref().map(|to| entry.network.node(to, &entry.place, "to")).transpose()?;
        let max_flows = self.rounds.map(|rounds| u64::from(rounds) * u64::from(self.senders));
        entry.some_flows(max_flows)?;
        let (senders, interval, jitter) = (self.senders, self.interval, self.spread);
        let pattern = Pattern::Incast { to, senders, interval, jitter };
        let sizes = SizeDistribution::constant(self.bytes);
        entry.arrivals(&self.side, |tcp| ArrivalsPlan {
            tcp,
            hosts: hosts.clone().into(),
            pattern,
            sizes: sizes.clone(),
            max_flows,
        })
    }
}
