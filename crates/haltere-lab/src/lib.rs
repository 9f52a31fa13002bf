//! The experiment: what is run, and its result. The same for every world.
//!
//! # A tour
//!
//! ```text
//!  experiment.toml              value            checked value           Experiment            Plan
//!        ──── scenario/text ────> ──── schema ────> ──── serde ────────────> ──── build ────────> ── a world ─┐
//!                                                                                                             │
//!        Arrow tables, qlog <──── table ──────────────────────────────────────────────── Record <─────────────┘
//! ```
//!
//! 1. `scenario/text.rs` turns TOML or JSON into plain values and remembers the line of each key. [`Scenario`] is what comes
//!    out at the end: an experiment that was read and checked. It never changes; [`Scenario::with`] gives another one.
//! 2. Files that an experiment names (traces, tables of sizes, flows) are read into the value at once, so that a run depends
//!    on the experiment and the seed alone. `files.rs` is the only place that opens one.
//! 3. [`schema`] is made from the types and their doc comments by schemars. `schema/check.rs` holds a value to it, with
//!    errors that name the place, the rule and the nearest right name, and brings it into one form. After that serde reads
//!    the types and cannot fail.
//! 4. `scenario/experiment.rs` is the file as types. A topology is one file of `topology`, a traffic kind one file of
//!    `traffic`, each with one line in the registry of its folder: its keys with their defaults, its checks, and what it adds
//!    to a plan.
//! 5. `build` makes a [`Plan`](haltere_plan::Plan) of an experiment and a seed: first the network, then the flows on it,
//!    then what depends on both, such as the round-trip time of each link. Everything is explicit afterwards. When an
//!    experiment is read, its first plan is made, and each mechanism is asked whether it takes its parameters.
//! 6. `scenario/sweep.rs` reads the axes of a sweep; [`Scenario::points`] gives a scenario for each point.
//! 7. A world runs the plan and fills a [`Record`](haltere_plan::Record); `table` makes columns of it.
//!
//! Read `scenario/mod.rs` first, then `build/mod.rs`, and then one kind: `traffic/bulk.rs` is the shortest.
//!
//! Errors are [`ScenarioError`]s: a kind, and a [`Fault`](haltere_plan::Fault) with the place, the rule and what is there.
//! Nothing is run before all that can be wrong has been found.

mod build;
mod code;
mod error;
mod files;
mod keys;
pub mod limits;
mod names;
pub mod scenario;
pub mod schema;
#[cfg(feature = "tables")]
pub mod table;
mod topology;
mod traffic;

pub use code::Code;
pub use files::{open_regular, unreadable};
pub use scenario::{ErrorKind, Point, Scenario, ScenarioError};
pub use topology::Topology;
pub use topology::drawing::Drawing;
pub use topology::link::MEDIA;
#[doc(hidden)]
pub use topology::trace::exercise_trace;
pub use traffic::Traffic;
pub use traffic::kind::About;
