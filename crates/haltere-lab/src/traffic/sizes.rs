//! Distributions of flow sizes: published ones, and tables of the user's own.

use crate::error::{Fault, FaultKind, ScenarioError};
use crate::files::{Key, read_text};
use crate::limits::SIZE_POINTS;
use haltere_plan::sizes::{self, SizeDistribution, TableFault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::Path;

/// A distribution of flow sizes: the name of a published one, or a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum SizesSpec {
    /// A published distribution.
    Published(Published),
    /// The user's own.
    Table(SizeTable),
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
    /// The file. Its name counts from the folder of the experiment file. Each line has a size in bytes and the part of the flows that
    /// are at most so large, from 0 to 1. Lines are in order, and the last part is 1. What follows `#` does not count.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// The points of the file, or points instead of a file: `[[1000, 0.5], [50000, 1]]`.
    pub points: Vec<[f64; 2]>,
}

impl SizesSpec {
    /// The distribution; `path` is the traffic entry, for errors.
    pub(crate) fn distribution(&self, path: &str) -> Result<SizeDistribution, ScenarioError> {
        let points = match self {
            SizesSpec::Published(name) => {
                let text = match name {
                    Published::WebSearch => sizes::WEB_SEARCH,
                    Published::DataMining => sizes::DATA_MINING,
                    Published::Cache => sizes::CACHE,
                };
                SizeDistribution::read(text).map_err(|fault| refused(path, fault))?
            }
            SizesSpec::Table(table) => table.points.clone(),
        };
        SizeDistribution::new(&points).map_err(|fault| refused(path, fault))
    }
}

fn refused(path: &str, (rule, got): TableFault) -> ScenarioError {
    Fault::new(path, "sizes", rule, got).out_of_range()
}

/// Replaces the name of each file of sizes by its points, so that a run depends on the experiment and the seed only.
pub(crate) fn read_files(experiment: &mut Value, folder: &Path) -> Result<(), ScenarioError> {
    let Some(Value::Array(entries)) = experiment.get_mut("traffic") else { return Ok(()) };
    for (i, entry) in entries.iter_mut().enumerate() {
        if let Some(Value::Object(table)) = entry.get_mut("sizes") {
            read_file(table, &format!("traffic[{i}]"), folder)?;
        }
    }
    Ok(())
}

fn read_file(table: &mut Map<String, Value>, path: &str, folder: &Path) -> Result<(), ScenarioError> {
    let (Some(Value::String(file)), None) = (table.get("file"), table.get("points")) else { return Ok(()) };
    let text = read_text(&Key { path, name: "sizes", rule: "a file of sizes in bytes and parts" }, folder, file)?;
    let points =
        SizeDistribution::read(&text).map_err(|(rule, got)| refused(path, (rule, format!("{got} of `{file}`"))))?;
    if points.len() > SIZE_POINTS {
        let rule = format!("a table of at most {SIZE_POINTS} points");
        return Err(refused(path, (rule, format!("{} in `{file}`", points.len()))));
    }
    let points: Vec<Value> = points.iter().map(|point| Value::from(point.to_vec())).collect();
    table.insert("points".into(), Value::Array(points));
    Ok(())
}
