//! Loss on the line, as written in an experiment file.

use crate::error::{Fault, FaultKind, ScenarioError};
use crate::keys::{defaults, kind};
use haltere_plan::plan;
use haltere_units::Prob;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Loss on the line: the probability that a packet is lost, or a table with `kind`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Loss {
    /// Each packet is lost with that probability, whatever became of the others.
    Independent(Prob),
    /// Loss in bursts.
    Bursts(GilbertElliott),
}

kind! {
    /// The kind `gilbert_elliott`.
    GilbertElliottKind, GilbertElliott, "gilbert_elliott"
}

/// Loss in bursts: a chain of two states, good and bad (Gilbert 1960, Elliott 1963). For each packet the state may
/// change. Of all packets `(r * loss_good + p * loss_bad) / (p + r)` are lost. The mean burst has `1 / r` packets, if
/// the bad state alone loses packets, and all. Linux's `netem` has it as `loss gemodel p r 1-h 1-k`: `loss_bad` is 1-h,
/// and `loss_good` is 1-k.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GilbertElliott {
    /// The kind.
    pub kind: GilbertElliottKind,
    /// Probability that the state changes from good to bad.
    pub p: Prob,
    /// Probability that the state changes from bad to good.
    pub r: Prob,
    /// Probability of loss in the good state (1 - k).
    #[serde(default)]
    pub loss_good: Prob,
    /// Probability of loss in the bad state (1 - h).
    #[serde(default = "always")]
    pub loss_bad: Prob,
}

defaults! { always: Prob = Prob::ONE; }

impl Loss {
    /// The probability, if losses do not depend on each other.
    pub(crate) fn probability(&self) -> Prob {
        if let Loss::Independent(probability) = self { *probability } else { Prob::ZERO }
    }
    /// The process, if losses depend on each other.
    pub(crate) fn bursts(&self) -> Option<plan::GilbertElliott> {
        let Loss::Bursts(GilbertElliott { p, r, loss_good, loss_bad, .. }) = *self else { return None };
        Some(plan::GilbertElliott { p, r, loss_good, loss_bad })
    }
    /// Refuses a process that never leaves a state. The link is in the table `path`.
    pub(crate) fn check(&self, path: &str) -> Result<(), ScenarioError> {
        let Some(plan::GilbertElliott { p, r, .. }) = self.bursts() else { return Ok(()) };
        for (name, probability) in [("p", p), ("r", r)] {
            if probability == Prob::ZERO {
                let fault = Fault::new(format!("{path}.loss"), name, "above zero", probability);
                return Err(fault.hint("a chain that never changes its state has no share of losses").out_of_range());
            }
        }
        Ok(())
    }
}

impl Default for Loss {
    fn default() -> Loss {
        Prob::ZERO.into()
    }
}

impl From<Prob> for Loss {
    fn from(probability: Prob) -> Loss {
        Loss::Independent(probability)
    }
}
