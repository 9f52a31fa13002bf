//! Durations that may be drawn from a distribution.

use super::entry::Entry;
use crate::error::{Fault, FaultKind, ScenarioError};
use crate::keys::defaults;
use haltere_plan::plan::DurationDistribution;
use haltere_units::Dur;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A duration: always the same (`"1s"`), or drawn from a distribution each time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum DurationSpec {
    /// Always this long.
    Constant(Dur),
    /// Drawn each time.
    RandomDuration(RandomDuration),
}

/// The distribution of a duration: exactly one of these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RandomDuration {
    /// Exponential with this mean.
    Exponential(Dur),
    /// Uniform between two durations.
    Uniform([Dur; 2]),
    /// Pareto.
    Pareto(Pareto),
    /// Normal, truncated at zero.
    Normal(Normal),
}

/// A Pareto distribution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pareto {
    /// The mean.
    pub mean: Dur,
    /// The shape, above 1 so that the mean exists.
    #[serde(default = "shape")]
    pub shape: f64,
}

/// A normal distribution, truncated at zero: a value below zero is drawn again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Normal {
    /// The mean, before it is truncated.
    pub mean: Dur,
    /// The standard deviation. ns-3's `NormalRandomVariable` takes its square, the variance.
    pub sd: Dur,
}

defaults! { shape: f64 = 1.5; }

/// The default of intervals.
pub(crate) fn a_second() -> Dur {
    Dur::from_secs(1)
}
/// The same as a duration that may be drawn.
pub(super) fn one_second() -> DurationSpec {
    DurationSpec::Constant(a_second())
}

impl Entry<'_> {
    /// The distribution at the key `name`.
    pub(crate) fn duration(&self, name: &str, written: &DurationSpec) -> Result<DurationDistribution, ScenarioError> {
        let drawn = match written {
            DurationSpec::Constant(span) => return Ok(DurationDistribution::Constant(*span)),
            DurationSpec::RandomDuration(drawn) => drawn,
        };
        let fault = |key: &str, rule: &str, got: String| {
            Err(Fault::new(format!("{}.{name}", self.place), key, rule, got).out_of_range())
        };
        match drawn {
            RandomDuration::Exponential(mean) if mean.is_zero() => fault("exponential", "above zero", mean.to_string()),
            RandomDuration::Exponential(mean) => Ok(DurationDistribution::Exponential(*mean)),
            RandomDuration::Uniform([low, high]) if low >= high => {
                fault("uniform", "the smaller span and then the larger", format!("{low} and {high}"))
            }
            RandomDuration::Uniform([low, high]) => Ok(DurationDistribution::Uniform(*low, *high)),
            RandomDuration::Pareto(pareto) if pareto.mean.is_zero() => {
                fault("pareto", "a law with a mean above zero", "0s".into())
            }
            RandomDuration::Pareto(pareto) if pareto.shape.is_nan() || pareto.shape <= 1.0 => {
                fault("pareto", "a law with a shape above 1, so that the mean exists", pareto.shape.to_string())
            }
            RandomDuration::Pareto(pareto) => Ok(DurationDistribution::Pareto(pareto.mean, pareto.shape)),
            RandomDuration::Normal(normal) if normal.mean.is_zero() => {
                fault("normal", "a law with a mean above zero", "0s".into())
            }
            RandomDuration::Normal(normal) => Ok(DurationDistribution::Normal(normal.mean, normal.sd)),
        }
    }
}
