//! The stopping rule: as many seeds as it takes, instead of a number of them.

use crate::error::{Fault, FaultKind, ScenarioError};
use crate::keys::defaults;
use crate::schema::short_or_table;
use haltere_units::Prob;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

/// Seeds are added until the means are known this well. The first runs use `seeds` of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PrecisionTable")]
pub struct Precision {
    /// Half of the 95 % Student-t interval of the mean, relative to the mean. Seeds are enough when it is no wider.
    pub within: Prob,
    /// Of which metrics, such as `goodput`, `jain`, `ping_p95`, `goodput.bulk1` or `utilisation.left>right`. If none is
    /// given, they are `goodput`, `jain` and, if there are pings, `ping_p50`.
    #[serde(default)]
    pub of: Vec<String>,
    /// The most seeds of one point of the sweep.
    #[serde(default = "max_seeds")]
    #[schemars(range(min = 2, max = crate::limits::SEEDS))]
    pub max_seeds: u32,
}

defaults! {
    /// The half-width shrinks with the square root of the seeds: with 200 it is 4.5 times narrower than with 10.
    max_seeds: u32 = 200;
}

/// The table, or `within` alone.
pub(super) fn schema(generator: &mut SchemaGenerator) -> Schema {
    short_or_table::<Prob, Precision>("within", generator)
}

impl Precision {
    /// The rules that go beyond one key. `seeds` is how many it begins with.
    pub(super) fn check(&self, seeds: u32) -> Result<(), ScenarioError> {
        let within = self.within.as_f64();
        if within <= 0.0 || within >= 1.0 {
            let rule = "above 0 and below 100 %";
            return Err(Fault::new("precision", "within", rule, format!("{} %", within * 100.0)).out_of_range());
        }
        if self.max_seeds < seeds {
            let rule = format!("at least `seeds`, {seeds}, with which it begins");
            let fault = Fault::new("precision", "max_seeds", rule, self.max_seeds);
            return Err(fault.hint("write a smaller `seeds`").out_of_range());
        }
        Ok(())
    }
}
