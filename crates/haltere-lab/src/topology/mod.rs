//! Topologies: which nodes there are, and which links join them.
//!
//! `kinds!` below is the registry: one line and one file a topology. The file holds the topology's keys with their
//! defaults (the schema and `haltere explain` are made from them), its checks, and how it becomes nodes and links. What
//! all topologies share is done once: links with their two directions in [`link`] and [`direction`], paths and
//! round-trip times in [`network`], the picture of a network in [`drawing`].

pub(crate) mod access;
pub(crate) mod context;
mod direction;
pub(crate) mod drawing;
mod failure;
mod jitter;
pub(crate) mod link;
mod loss;
pub(crate) mod network;
mod prelude;
pub(crate) mod trace;
mod varying;

use context::TopologyKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! kinds {
    ($($variant:ident, $module:ident);+ $(;)?) => {
        $(mod $module;)+

        /// Nodes and links: exactly one of these.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        #[allow(clippy::large_enum_variant, reason = "there is one in an experiment")]
        pub enum Topology {
            $(
                #[expect(missing_docs, reason = "the schema takes the text of the kind's own table")]
                $variant($module::$variant)
            ),+
        }

        impl Topology {
            /// The names of all topologies.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($module)),+];

            /// The name of this topology.
            pub fn kind(&self) -> &'static str {
                match self { $(Topology::$variant(_) => stringify!($module)),+ }
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
    Wireless, wireless;
}
