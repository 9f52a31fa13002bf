//! TCP whose application writes at a rate while it is on.

use super::prelude::*;
use haltere_plan::plan::{DurationDistribution, OnOffPlan};

/// TCP whose application writes at a rate while it is on, and is silent while it is off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct OnOff {
    #[serde(flatten)]
    pub(crate) ends: Ends,
    #[serde(flatten)]
    pub(crate) side: TcpSide,
    /// The rate at which the application writes while it is on.
    pub rate: Rate,
    /// Bytes of one write.
    #[serde(default = "super::entry::packet")]
    pub packet: Bytes,
    /// How long it is on.
    #[serde(default = "one_second")]
    pub on: DurationSpec,
    /// How long it is off. With `0s` it is always on.
    #[serde(default = "one_second")]
    pub off: DurationSpec,
    /// The state in which it begins. `off`: its first write comes after one off time, as in ns-3.
    #[serde(default)]
    pub begin: Phase,
}

/// A state of an on-off source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// It writes.
    #[default]
    On,
    /// It is silent.
    Off,
}

impl TrafficKind for OnOff {
    fn about() -> About {
        About::TCP
    }
    fn plan(&self, entry: &Entry<'_>) -> Result<Vec<AppPlan>, ScenarioError> {
        entry.payload("packet", self.packet, u64::from(u32::MAX))?;
        entry.writes(self.rate, self.packet)?;
        let (on, off) = (entry.duration("on", &self.on)?, entry.duration("off", &self.off)?);
        refuse_if!(on == DurationDistribution::Constant(Dur::ZERO), entry.fault("on", "above zero", Dur::ZERO));
        let (rate, chunk, begins_off) = (self.rate, self.packet, self.begin == Phase::Off);
        entry.tcp(&self.side, |tcp| OnOffPlan { tcp, rate, chunk, on, off, begins_off }.into())
    }
}
