//! TCP flows that arrive as a Poisson process.

use super::prelude::*;
use crate::limits::ARRIVALS_PER_SECOND;
use haltere_plan::plan::Pattern;

/// TCP flows that arrive as a Poisson process. A flow ends when all is delivered.
///
/// With `pairs`, or `from` and `to`, each flow runs between the hosts of one pair, drawn at random: `direction` says
/// which way. Without them, each flow runs between two hosts drawn at random. Hosts are the nodes with one link. Give
/// `load` or `per_second`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Poisson {
    #[serde(flatten)]
    pub(crate) ends: Ends,
    #[serde(flatten)]
    pub(crate) side: TcpSide,
    /// How large the flows are: one size, a published distribution (`web_search`, `data_mining`, `cache`), a law or a
    /// table.
    pub sizes: SizesSpec,
    /// The part of the bottleneck that the flows' payload fills on average. The bottleneck is the link that fills
    /// first, of all links on the pairs' paths. With `direction = "both"` the load holds in each direction of a
    /// bottleneck that is alike in both. If hosts are drawn, `load` is the part of all hosts' links together.
    pub load: Option<Prob>,
    /// Flows that arrive in a second, on average.
    pub per_second: Option<f64>,
    /// The most flows that arrive. If it is not given, flows arrive until `stop` or the end.
    pub flows: Option<u64>,
}

impl TrafficKind for Poisson {
    fn about() -> About {
        About::ARRIVALS
    }
    fn pairs(&self, entry: &Entry<'_>) -> Result<Vec<(usize, usize)>, ScenarioError> {
        Ok(Entry::stand_in(&entry.between()?))
    }
    fn plan(&self, entry: &Entry<'_>) -> Result<Vec<AppPlan>, ScenarioError> {
        let between = entry.between()?;
        let sizes = entry.sizes("sizes", &self.sizes)?;
        let (name, per_second) = match (self.load, self.per_second) {
            (Some(_), Some(per_second)) => {
                return Err(entry.fault("per_second", "left out beside `load`", per_second).out_of_range());
            }
            (Some(load), None) => {
                ("load", load.as_f64() * entry.full_load(&between)?.as_bps_f64() / (8.0 * sizes.mean()))
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
        let pattern = Pattern::Poisson { gap: Dur::from_secs_f64(1.0 / per_second) };
        entry.arrivals(&self.side, Arriving { between, pattern, sizes, max_flows: self.flows })
    }
}
