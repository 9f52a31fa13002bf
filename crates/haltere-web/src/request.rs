//! What a worker may ask.

use serde::Deserialize;
use serde_json::Value;

/// A request; its name is the value of `do`. `text` is an experiment file as TOML or as JSON, `point` a place in its
/// sweep.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// The version, and what each traffic kind is.
    About {},
    /// The JSON Schema of experiment files.
    Schema {},
    /// What a page must know of an experiment: title, seeds, duration, and the points of its sweep.
    Check {
        /// The experiment.
        text: String,
    },
    /// An experiment, given as a value, as TOML.
    Toml {
        /// The experiment.
        experiment: Value,
    },
    /// A whole run: the digest over all tables, as `haltere hash` prints it, and the tables that are named.
    Run {
        /// The experiment.
        text: String,
        /// Which point.
        point: usize,
        /// The random seed.
        seed: u64,
        /// Names of tables.
        tables: Vec<String>,
    },
    /// Begins a run that is watched. It replaces the one before.
    Start {
        /// The experiment.
        text: String,
        /// Which point.
        point: usize,
        /// The random seed.
        seed: u64,
        /// It is only watched: its digest is that of [`Request::Run`], and it cannot be changed.
        #[serde(default)]
        fixed: bool,
    },
    /// Goes on by so many seconds of virtual time: the samples since the last request.
    Advance {
        /// Virtual seconds.
        seconds: f64,
        /// Places of the links whose queues are reported.
        links: Vec<usize>,
        /// Places of the flows whose inner state is reported.
        flows: Vec<usize>,
    },
    /// From now on that experiment holds.
    Change {
        /// The experiment.
        text: String,
    },
    /// Ends the run where it is: as [`Request::Run`].
    Finish {
        /// Names of tables.
        tables: Vec<String>,
    },
}
