//! The experiment file as types: what can be written, with what default, in what unit.
//!
//! The JSON Schema, the error messages, `haltere explain` and the reference pages are made from these doc comments and
//! defaults. They are written nowhere else.

use super::measure::MeasureSpec;
use super::precision::Precision;
use super::sweep::Sweep;
use crate::keys::defaults;
use crate::topology::Topology;
use crate::traffic::Traffic;
use haltere_plan::plan::Parts;
use haltere_transport::TcpParams;
use haltere_units::outside::Outside;
use haltere_units::{Bytes, Dur};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
    /// The last part of a run, which statistics leave out, as they do the warm-up: flows that began before have time to
    /// end. Statistics of flows, pages and calls count those that began in between. The simulator alone has it.
    #[serde(default)]
    pub cooldown: Dur,
    /// How many times the experiment is repeated, each time with another random seed.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = crate::limits::SEEDS))]
    pub seeds: u32,
    /// How well the means must be known, such as `"2%"`, instead of a number of seeds. See `haltere explain precision`.
    #[serde(default)]
    #[schemars(schema_with = "super::precision::schema")]
    pub precision: Option<Precision>,
    /// Bytes that every packet carries on a link below IP. The default is that of Ethernet.
    #[serde(default = "ethernet")]
    pub framing: Bytes,
    /// Into how many parts the simulator cuts the network, so that several cores can share a run: a number, or `auto`
    /// for as many as pay. The number of cores changes nothing in the results. Of events at the same nanosecond, the
    /// order differs from that of a network that is not cut.
    #[serde(default, skip_serializing_if = "Parts::is_one")]
    pub parts: Parts,
    /// Nodes and links: exactly one topology.
    pub topology: Topology,
    /// TCP of every host, unless a traffic entry says otherwise.
    #[serde(default)]
    pub tcp: TcpParams,
    /// What is sent: one entry for each sort of flow.
    #[schemars(length(min = 1))]
    pub traffic: Vec<Traffic>,
    /// What is measured while it runs, and how it is summed up.
    #[serde(default)]
    pub measure: MeasureSpec,
    /// Axes of a grid: the dotted path of a key, and its values. See `haltere explain sweep`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(with = "Sweep")]
    pub sweep: Map<String, Value>,
    /// The languages of mechanisms from outside the tree.
    #[serde(skip)]
    pub outside: Outside,
}

defaults! {
    ten: u32 = 10;
    ethernet: Bytes = Bytes::new(14);
}
