//! Traffic of a data centre, as written in an experiment file: flows that come and go, and one flow from each host.

use super::error::{Fault, FaultKind, ScenarioError};
use super::traffic::{Ends, TcpSide};
use haltere_plan::sizes::{self, SizeDistribution, TableFault};
use haltere_units::{Bytes, Dur, Prob};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::Path;

/// TCP flows that arrive as a Poisson process, each between two hosts drawn at random, and end when all is delivered. Hosts are
/// the nodes with one link. Give `load` or `per_second`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Poisson {
    /// Name and times. The hosts are drawn: `pairs`, `from`, `to`, `count`, `direction` and `jitter` have no place here.
    #[serde(flatten)]
    pub ends: Ends,
    /// The TCP of these flows; of a list of congestion controls the first counts.
    #[serde(flatten)]
    pub side: TcpSide,
    /// How large the flows are: a published law (`web_search`, `data_mining`, `cache`) or a table.
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

/// TCP flows from several hosts to one at a time, in rounds. Hosts are the nodes with one link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Incast {
    /// Name and times; `to`: the host that receives, drawn for each round where not given. `pairs`, `from`, `count`,
    /// `direction` and `jitter` have no place here.
    #[serde(flatten)]
    pub ends: Ends,
    /// The TCP of these flows; of a list of congestion controls the first counts.
    #[serde(flatten)]
    pub side: TcpSide,
    /// Flows of a round, each from another host as far as there are so many.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub senders: u32,
    /// Bytes of each flow.
    pub bytes: Bytes,
    /// From one round to the next.
    #[serde(default = "a_second")]
    pub interval: Dur,
    /// Each flow of a round starts later by a span drawn uniformly from zero to this.
    #[serde(default)]
    pub spread: Dur,
    /// No more rounds than these; where not given they go on until `stop` or the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
}

/// TCP from each host to another one, so that each host sends to one and receives from one (a permutation without fixed points,
/// drawn with the seed). Hosts are the nodes with one link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Permutation {
    /// Name and times. The hosts are drawn: `pairs`, `from` and `to` have no place here.
    #[serde(flatten)]
    pub ends: Ends,
    /// The TCP of these flows.
    #[serde(flatten)]
    pub side: TcpSide,
    /// Bytes that each flow sends in all; endless where not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
}

fn a_second() -> Dur {
    Dur::from_secs(1)
}

/// A law of flow sizes: the name of a published one, or a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum SizesSpec {
    /// A published law.
    Published(Published),
    /// The user's own.
    Table(SizeTable),
}

/// A published law of flow sizes.
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

/// A table of a law of flow sizes: a file, or its points.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SizeTable {
    /// The file, from the folder of the experiment file: on each line a size in bytes and the part of the flows that are at most
    /// so large, from 0 to 1; in order, the last part 1. What follows `#` does not count.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// The points of the file, or in the place of a file: `[[1000, 0.5], [50000, 1]]`.
    pub points: Vec<[f64; 2]>,
}

impl SizesSpec {
    /// The law; `path` is the traffic entry, for errors.
    pub(crate) fn law(&self, path: &str) -> Result<SizeDistribution, ScenarioError> {
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

/// Puts the points of each file of sizes in the place of its name, so that a run depends on the experiment and the seed only.
pub(super) fn read_files(experiment: &mut Value, folder: &Path) -> Result<(), ScenarioError> {
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
    let text = std::fs::read_to_string(folder.join(file)).map_err(|e| {
        let hint = "its name counts from the folder of the experiment file";
        let got = format!("`{file}`, which cannot be read: {e}");
        Fault::new(path, "sizes", "a file of sizes in bytes and parts", got).hint(hint).out_of_range()
    })?;
    let points =
        SizeDistribution::read(&text).map_err(|(rule, got)| refused(path, (rule, format!("{got} of `{file}`"))))?;
    let points: Vec<Value> = points.iter().map(|point| Value::from(point.to_vec())).collect();
    table.insert("points".into(), Value::Array(points));
    Ok(())
}
