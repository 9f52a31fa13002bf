//! TCP whose application is a source from outside the tree: `kind = "python:my_module:MySource"`.

use super::prelude::*;
use haltere_plan::app::outside::{OutsidePlan, Params, make};

/// TCP whose application writes what a source from outside the tree says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outside {
    #[serde(flatten)]
    pub(crate) ends: Ends,
    #[serde(flatten)]
    pub(crate) side: TcpSide,
    /// The source. In a file its parameters are keys of the entry.
    #[schemars(skip)]
    pub source: Params,
}

impl TrafficKind for Outside {
    fn about() -> About {
        About::TCP
    }
    fn plan(&self, entry: &Entry<'_>) -> Result<Vec<AppPlan>, ScenarioError> {
        entry.ask(|| entry.place.clone(), |origin| make(&self.source, &origin))?;
        entry.tcp(&self.side, |tcp| Box::new(OutsidePlan { tcp, source: self.source.clone() }).into())
    }
}
