//! Topologies: which nodes there are, and which links join them.
//!
//! `kinds!` below is the registry: one line and one file a topology. The file holds the topology's keys with their defaults (the schema and
//! `haltere explain` are made from them), its checks, and how it becomes nodes and links. What all topologies share is done once: links with
//! their two directions in [`link`] and [`direction`], paths and round-trip times in [`network`], the picture of a network in [`drawing`].

mod direction;
mod drawing;
mod failure;
mod link;
mod loss;
mod network;
mod trace;
mod varying;

pub use drawing::Drawing;

pub(crate) use direction::{Direction, both, slowest, watched};
pub(crate) use failure::Failures;
pub(crate) use link::{Handover, Link, Step, default_queue};
pub(crate) use loss::Loss;
pub(crate) use network::{Hint, Network};
pub(crate) use trace::{Leo, Rows, TraceSpec, exercise_trace, read_files};

use crate::error::ScenarioError;
use haltere_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Makes the type of the key `kind` of one table, such as a trace.
macro_rules! kind {
    ($(#[$doc:meta])* $name:ident, $variant:ident, $text:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        #[schemars(inline, extend("const" = $text))]
        pub enum $name {
            #[default]
            /// The only one.
            $variant,
        }
    };
}
use kind;

/// What a topology must say of itself.
pub(crate) trait TopologyKind {
    /// Adds its nodes and links to an empty network. Everything that can be wrong is found here.
    fn build(&self, network: &mut Network, context: &Context<'_>) -> Result<(), ScenarioError>;
    /// A table, as keys of TOML, with traffic entries that run on it.
    fn example() -> &'static str
    where
        Self: Sized;
}

/// What a topology may ask while it builds its network.
pub(crate) struct Context<'a> {
    /// The table in which it is, such as `topology.chain`.
    pub(crate) place: &'a str,
    /// Bytes that every packet carries on a link below IP.
    pub(crate) framing: Bytes,
    /// The random seed of the run.
    pub(crate) seed: u64,
}

impl Context<'_> {
    /// A table or key below it.
    pub(crate) fn below(&self, key: &str) -> String {
        format!("{}.{key}", self.place)
    }
}

macro_rules! kinds {
    ($($variant:ident, $module:ident);+ $(;)?) => {
        $(mod $module;)+

        /// Nodes and links: exactly one of these.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        #[allow(clippy::large_enum_variant, reason = "there is one in an experiment")]
        pub enum Topology {
            $(#[expect(missing_docs, reason = "the schema takes the text of the kind's own table")] $variant($module::$variant)),+
        }

        impl Topology {
            /// The names of all topologies.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($module)),+];

            /// The name of this topology.
            pub fn kind(&self) -> &'static str {
                match self { $(Topology::$variant(_) => stringify!($module)),+ }
            }
            /// An experiment with the topology of that name, as TOML without its duration.
            pub fn example(name: &str) -> Option<&'static str> {
                $(if name == stringify!($module) { return Some($module::$variant::example()); })+
                None
            }
            /// It as any topology.
            pub(crate) fn as_kind(&self) -> &dyn TopologyKind {
                match self { $(Topology::$variant(kind) => kind),+ }
            }
        }
    };
}

kinds! {
    Dumbbell, dumbbell;
    Chain, chain;
    Switch, switch;
    LeafSpine, leaf_spine;
    FatTree, fat_tree;
    Multipath, multipath;
    Graph, graph;
}
