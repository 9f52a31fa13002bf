//! The experiment file as types: what can be written, with what default, in what unit.
//!
//! The JSON Schema, the error messages, `haltere explain` and the reference pages are made from these doc comments and defaults. They
//! are written nowhere else.

use super::precision::Precision;
use super::sweep::Sweep;
use crate::error::{Fault, FaultKind, ScenarioError};
use crate::{Topology, Traffic};
use haltere_transport::TcpParams;
use haltere_units::{Bytes, Dur};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// An experiment: a topology, the traffic on it, and what is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Haltere experiment")]
pub struct Experiment {
    /// What the experiment is about, in one line.
    #[serde(default)]
    pub title: String,
    /// How long one run lasts.
    pub duration: Dur,
    /// The first part of a run, which statistics leave out.
    #[serde(default)]
    pub warmup: Dur,
    /// The last part of a run, which statistics leave out, as they do the warm-up: flows that began before have time to end. Statistics of
    /// flows, pages and calls count those that began in between. The simulator alone has it.
    #[serde(default)]
    pub cooldown: Dur,
    /// How many times the experiment is repeated, each time with another random seed.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = crate::limits::SEEDS))]
    pub seeds: u32,
    /// How well the means must be known, such as `"2%"`, instead of a number of seeds. See `haltere explain precision`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// Bytes that every packet carries on a link below IP. The default is that of Ethernet.
    #[serde(default = "ethernet")]
    pub framing: Bytes,
    /// Nodes and links: exactly one topology.
    pub topology: Topology,
    /// TCP of every host, unless a traffic entry says otherwise.
    #[serde(default)]
    pub tcp: TcpParams,
    /// What is sent: one entry for each sort of flow.
    #[schemars(length(min = 1))]
    pub traffic: Vec<Traffic>,
    /// What is sampled while it runs, and how often.
    #[serde(default)]
    pub measure: MeasureSpec,
    /// Axes of a grid: the dotted path of a key, and its values. See `haltere explain sweep`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(with = "Sweep")]
    pub sweep: Map<String, Value>,
}

fn ten() -> u32 {
    10
}
fn ethernet() -> Bytes {
    Bytes::new(14)
}

/// What is sampled while it runs, and how often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MeasureSpec {
    /// Interval of the watched queues' time series, or `off`.
    pub queues: Every,
    /// Interval of the flows' time series, or `off`.
    pub flows: Every,
    /// True: count how many packets each packet leaves behind when it leaves a watched queue (the depth at dequeue). The table `depths`
    /// and the metrics `depth`, `depth_p50` and `depth_p95` show it.
    pub depths: bool,
}

impl Default for MeasureSpec {
    fn default() -> MeasureSpec {
        MeasureSpec { queues: Every(Some(Dur::from_ms(10))), flows: Every(Some(Dur::from_ms(100))), depths: false }
    }
}

/// An interval, or `off`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Every(pub Option<Dur>);

impl Serialize for Every {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(interval) => interval.serialize(s),
            None => s.serialize_str("off"),
        }
    }
}
impl<'de> Deserialize<'de> for Every {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Every, D::Error> {
        let text = Cow::<str>::deserialize(d)?;
        if text == "off" {
            return Ok(Every(None));
        }
        text.parse().map(|interval| Every(Some(interval))).map_err(serde::de::Error::custom)
    }
}
impl JsonSchema for Every {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Every".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let interval = generator.subschema_for::<Dur>();
        schemars::json_schema!({ "anyOf": [{ "const": "off" }, interval] })
    }
}

impl Experiment {
    /// Reads a value that was checked against the schema: an error is a bug of the schema.
    pub(crate) fn deserialize_checked(value: &Value) -> Result<Experiment, ScenarioError> {
        Experiment::deserialize(value).map_err(|e| {
            let fault = Fault::new("", "the experiment", "what its schema says", format!("what the types refuse: {e}"));
            fault.hint("this is a bug of Haltere: please report it with the file").bug()
        })
    }
}
