//! Distributions of sizes: one size, published ones, laws with parameters, and tables of the user's own.

use super::entry::Entry;
use crate::error::{Fault, FaultKind, ScenarioError};
use crate::files::{Key, read_text};
use crate::limits::SIZE_POINTS;
use haltere_plan::sizes::{self, SizeDistribution, TableFault};
use haltere_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::Path;

/// A distribution of sizes: one size for all, the name of a published distribution, a law with its parameters, or a
/// table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SizesSpec {
    /// A published distribution.
    Published(Published),
    /// Always this size.
    Fixed(Bytes),
    /// A law with its parameters.
    Law(SizeLaw),
    /// The user's own table.
    Table(SizeTable),
}

/// A size distribution with parameters: `{ kind = "exponential", mean }`, `{ kind = "lognormal", mean, sigma }` or
/// `{ kind = "pareto", mean, shape }`. `mean` is the mean in bytes. `sigma` is the standard deviation of the natural
/// logarithm, above 0 and at most 10; the median is the mean times exp(-sigma^2 / 2). `shape` is above 1, so that the
/// mean exists; up to 2 the variance is infinite, and a run's own mean may be far from `mean`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SizeLaw {
    /// Exponential.
    Exponential {
        /// The mean.
        mean: Bytes,
    },
    /// Lognormal: the logarithm of the size is normal.
    Lognormal {
        /// The mean of the sizes. Their median is the mean times exp(-sigma^2 / 2).
        mean: Bytes,
        /// The standard deviation of the natural logarithm, above 0 and at most 10.
        sigma: f64,
    },
    /// Pareto: many small sizes and few very large ones.
    Pareto {
        /// The mean.
        mean: Bytes,
        /// The shape, above 1 so that the mean exists. Up to 2 the variance is infinite: a run's own mean may be far
        /// from `mean`.
        shape: f64,
    },
}

/// A published distribution of flow sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Published {
    /// A web-search cluster (Alizadeh et al., SIGCOMM 2010): from 9 kB to 29 MB, 1.7 MB on average.
    WebSearch,
    /// A data-mining cluster (Greenberg et al., SIGCOMM 2009): half the flows are one packet, the largest 1 GB.
    DataMining,
    /// Cache followers (Roy et al., SIGCOMM 2015): from one packet to 49 MB.
    Cache,
}

/// A table of a distribution of flow sizes: a file, or its points.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SizeTable {
    /// The file. Its path is relative to the folder of the experiment file. Each line has a size in bytes and the part
    /// of the flows that are at most so large, from 0 to 1. Lines are in order, and the last part is 1. `#` begins a
    /// comment.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// The points of the file, or points instead of a file: `[[1000, 0.5], [50000, 1]]`.
    pub points: Vec<[f64; 2]>,
}

impl Entry<'_> {
    /// The distribution at the key `name`.
    pub(crate) fn sizes(&self, name: &str, written: &SizesSpec) -> Result<SizeDistribution, ScenarioError> {
        match written {
            SizesSpec::Published(published) => {
                let text = match published {
                    Published::WebSearch => sizes::WEB_SEARCH,
                    Published::DataMining => sizes::DATA_MINING,
                    Published::Cache => sizes::CACHE,
                };
                let points = SizeDistribution::read(text);
                points
                    .and_then(|points| SizeDistribution::new(&points))
                    .map_err(|fault| refused(&self.place, name, fault))
            }
            SizesSpec::Fixed(bytes) => {
                self.payload(name, *bytes, LARGEST_SIZE)?;
                Ok(SizeDistribution::constant(*bytes))
            }
            SizesSpec::Law(law) => self.law(name, law),
            SizesSpec::Table(table) => {
                SizeDistribution::new(&table.points).map_err(|fault| refused(&self.place, name, fault))
            }
        }
    }

    fn law(&self, name: &str, law: &SizeLaw) -> Result<SizeDistribution, ScenarioError> {
        let fault = |key: &str, rule: &str, got: f64| {
            Err(Fault::new(format!("{}.{name}", self.place), key, rule, got).out_of_range())
        };
        let (SizeLaw::Exponential { mean } | SizeLaw::Lognormal { mean, .. } | SizeLaw::Pareto { mean, .. }) = law;
        if !(1..=LARGEST_SIZE).contains(&mean.as_u64()) {
            let rule = format!("from 1B to {LARGEST_SIZE}B");
            return Err(Fault::new(format!("{}.{name}", self.place), "mean", rule, mean).out_of_range());
        }
        match *law {
            SizeLaw::Exponential { mean } => Ok(SizeDistribution::Exponential(mean.as_f64())),
            SizeLaw::Lognormal { sigma, .. } if !(sigma > 0.0 && sigma <= 10.0) => {
                fault("sigma", "above 0 and at most 10", sigma)
            }
            SizeLaw::Lognormal { mean, sigma } => Ok(SizeDistribution::lognormal(mean.as_f64(), sigma)),
            SizeLaw::Pareto { shape, .. } if !(shape > 1.0 && shape.is_finite()) => {
                fault("shape", "above 1, so that the mean exists", shape)
            }
            SizeLaw::Pareto { mean, shape } => Ok(SizeDistribution::pareto(mean.as_f64(), shape)),
        }
    }
}

/// The largest size that may be written.
const LARGEST_SIZE: u64 = 1_000_000_000_000_000;

fn refused(path: &str, name: &str, (rule, got): TableFault) -> ScenarioError {
    Fault::new(path, name, rule, got).out_of_range()
}

/// Puts the points of a file of sizes in the place of its name.
pub(super) fn read_file(table: &mut Map<String, Value>, key: &Key<'_>, folder: &Path) -> Result<(), ScenarioError> {
    let (Some(Value::String(file)), None) = (table.get("file"), table.get("points")) else { return Ok(()) };
    let refused = |rule, got| refused(key.path, key.name, (rule, got));
    let text = read_text(key, folder, file)?;
    let points = SizeDistribution::read(&text).map_err(|(rule, got)| refused(rule, format!("{got} of `{file}`")))?;
    if points.len() > SIZE_POINTS {
        let rule = format!("a table of at most {SIZE_POINTS} points");
        return Err(refused(rule, format!("{} in `{file}`", points.len())));
    }
    let points: Vec<Value> = points.iter().map(|point| Value::from(point.to_vec())).collect();
    table.insert("points".into(), Value::Array(points));
    Ok(())
}
