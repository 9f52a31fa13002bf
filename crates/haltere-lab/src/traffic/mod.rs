//! Traffic kinds: what the flows of a `[[traffic]]` entry do.
//!
//! `kinds!` below is the registry: one line and one file a kind. The file holds the kind's keys with their defaults
//! (the schema and `haltere explain` are made from them), its checks, and how it becomes the explicit plan of its
//! flows. What all kinds share is done once: names, starts, stops, directions and counts in [`entry`], the TCP of the
//! flows in [`tcp`].
//!
//! A kind need not run in every world: one without a line in a world's own registry is refused there with the kinds
//! that the world has. So programs of one's own can be a kind of the worlds that have sockets.

pub(crate) mod draft;
mod duration;
mod ends;
pub(crate) mod entry;
mod hosts;
pub(crate) mod kind;
mod prelude;
mod sizes;
mod tcp;

use crate::error::ScenarioError;
use crate::files::Key;
use kind::{About, TrafficKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

macro_rules! kinds {
    ($($variant:ident, $module:ident);+; @outside $foreign:ident, $outside:ident;) => {
        $(mod $module;)+
        mod $outside;

        /// Flows of one kind, distinguished by `kind`.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum Traffic {
            $(
                #[expect(missing_docs, reason = "the schema takes the text of the kind's own table")]
                $variant($module::$variant),
            )+
            /// A source from outside the tree. It is not in `NAMES`, and the schema does not have it.
            #[schemars(skip)]
            $foreign($outside::$foreign),
        }

        impl Traffic {
            /// The names of all kinds.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($module)),+];

            /// The name of this kind.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Traffic::$variant(_) => stringify!($module),)+
                    Traffic::$foreign(_) => stringify!($outside),
                }
            }
            /// The name of this kind in results: that of a source from outside the tree is its class's.
            pub fn label(&self) -> &str {
                if let Traffic::$foreign(entry) = self { &entry.source.name } else { self.kind() }
            }
            /// What the kind of that name is.
            pub fn about(name: &str) -> Option<About> {
                $(if name == stringify!($module) { return Some($module::$variant::about()); })+
                (name == stringify!($outside)).then($outside::$foreign::about)
            }
            /// The nodes and times of its flows.
            pub(crate) fn ends(&self) -> &ends::Ends {
                match self { $(Traffic::$variant(kind) => &kind.ends,)+ Traffic::$foreign(kind) => &kind.ends }
            }
            /// The entry as any kind.
            pub(crate) fn as_kind(&self) -> &dyn TrafficKind {
                match self { $(Traffic::$variant(kind) => kind,)+ Traffic::$foreign(kind) => kind }
            }
        }
    };
}

kinds! {
    Bulk, bulk;
    OnOff, on_off;
    Cbr, cbr;
    Ping, ping;
    Ftp, ftp;
    Multipath, multipath;
    Poisson, poisson;
    Incast, incast;
    Permutation, permutation;
    Web, web;
    Rpc, rpc;
    Replay, replay;
    Video, video;
    Voip, voip;
    Program, program;
    @outside Outside, outside;
}

/// Keys of traffic entries that take a distribution of sizes.
const KEYS: [&str; 3] = ["sizes", "request", "response"];

/// Replaces the name of each file of sizes by its points, and of each file of flows by its flows, so that a run depends
/// on the experiment and the seed only.
pub(crate) fn read_files(experiment: &mut Value, folder: &Path) -> Result<(), ScenarioError> {
    let Some(Value::Array(entries)) = experiment.get_mut("traffic") else { return Ok(()) };
    for (i, entry) in entries.iter_mut().enumerate() {
        if let Some(entry) = entry.as_object_mut().filter(|entry| entry.get("kind") == Some(&"replay".into())) {
            replay::read_file(entry, &format!("traffic[{i}]"), folder)?;
        }
        for name in KEYS {
            if let Some(Value::Object(table)) = entry.get_mut(name) {
                sizes::read_file(
                    table,
                    &Key { path: &format!("traffic[{i}]"), name, rule: "a file of sizes in bytes and parts" },
                    folder,
                )?;
            }
        }
    }
    Ok(())
}
