//! The experiment: what is run, and what came of it. The same for every world.
//!
//! [`Scenario`] is the experiment file, read and checked. [`Scenario::plan`] turns it, with a seed, into a [`Plan`](haltere_plan::Plan):
//! explicit nodes, links and flows, everything resolved. A world runs the plan and fills a [`Record`](haltere_plan::Record), which becomes
//! tables.

mod build;
pub mod scenario;
pub mod schema;
#[cfg(feature = "tables")]
pub mod table;

pub use scenario::{Point, Scenario, ScenarioError};
