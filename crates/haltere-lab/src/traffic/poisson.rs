//! TCP flows that arrive as a Poisson process.

use super::{About, Ends, Entry, SizesSpec, TcpSide, TrafficKind};
use crate::error::FaultKind;
use crate::error::ScenarioError;
use crate::limits::ARRIVALS_PER_SECOND;
use haltere_plan::plan::{AppPlan, ArrivalsPlan, Pattern};
use haltere_units::{Dur, Prob};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// TCP flows that arrive as a Poisson process, each between two hosts drawn at random. A flow ends when all is delivered. Hosts are
/// the nodes with one link. Give `load` or `per_second`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Poisson {
    /// Name and times. The hosts are drawn: `pairs`, `from`, `to`, `count`, `direction` and `jitter` have no place here.
    #[serde(flatten)]
    pub ends: Ends,
    /// The TCP of these flows, with one congestion control.
    #[serde(flatten)]
    pub side: TcpSide,
    /// How large the flows are: a published distribution (`web_search`, `data_mining`, `cache`) or a table.
    pub sizes: SizesSpec,
    /// The part of all hosts' links that the flows' payload fills on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Prob>,
    /// Flows that arrive in a second, on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_second: Option<f64>,
    /// The most flows that arrive. If it is not given, flows arrive until `stop` or the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<u64>,
}

impl TrafficKind for Poisson {
    fn about() -> About {
        let example = "sizes = \"web_search\"\nload = 0.3";
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
        entry.left_out(&["pairs", "from", "to", "count", "direction", "jitter"])?;
        let hosts = entry.hosts()?;
        let sizes = self.sizes.distribution(&entry.place)?;
        let (name, per_second) = match (self.load, self.per_second) {
            (Some(_), Some(per_second)) => {
                return Err(entry.fault("per_second", "left out beside `load`", per_second).out_of_range());
            }
            (Some(load), None) => {
                ("load", load.as_f64() * entry.hosts_rate(&hosts)?.as_bps_f64() / (8.0 * sizes.mean()))
            }
            (None, Some(per_second)) => ("per_second", per_second),
            (None, None) => {
                let hint = "or write `per_second`";
                return Err(entry.fault("load", "given, or `per_second`", "nothing").hint(hint).missing());
            }
        };
        if !(per_second > 0.0 && per_second <= ARRIVALS_PER_SECOND) {
            let rule = format!("above 0 and at most {ARRIVALS_PER_SECOND} flows a second");
            return Err(entry.fault(name, rule, format!("{per_second} flows a second")).out_of_range());
        }
        entry.some_flows(self.flows)?;
        let pattern = Pattern::Poisson { gap: Dur::from_secs_f64(1.0 / per_second) };
        entry.arrivals(&self.side, |tcp| ArrivalsPlan {
            tcp,
            hosts: hosts.clone().into(),
            pattern,
            sizes: sizes.clone(),
            max_flows: self.flows,
        })
    }
}
