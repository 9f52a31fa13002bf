//! What a worker may ask.

use serde::Deserialize;
use serde_json::Value;

/// A request; its name is the value of `do`. `text` is an experiment file as TOML or as JSON, `point` a place in its
/// sweep.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Request {
    /// The version, and what each traffic kind is.
    About {},
    /// The JSON Schema of experiment files.
    Schema {},
    /// What a page must know of an experiment: title, seeds, duration, and the points of its sweep.
    Check { text: String },
    /// An experiment, given as a value, as TOML.
    Toml { experiment: Value },
    /// A whole run: the digest over all tables, as `haltere hash` prints it, and the tables that are named.
    Run { text: String, point: usize, seed: u64, tables: Vec<String> },
    /// Begins a run that is watched. It replaces the one before.
    Start {
        text: String,
        point: usize,
        seed: u64,
        /// It is only watched: its digest is that of `Run`, and it cannot be changed.
        #[serde(default)]
        fixed: bool,
    },
    /// Goes on by so many seconds of virtual time: the samples since the last request, with the queues of these links and
    /// the inner state of these flows, by their places.
    Advance { seconds: f64, links: Vec<usize>, flows: Vec<usize> },
    /// From now on that experiment holds.
    Change { text: String },
    /// Ends the run where it is: as `Run`.
    Finish { tables: Vec<String> },
}
