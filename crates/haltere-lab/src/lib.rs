//! The experiment: what is run, and what came of it. The same for every world.
//!
//! [`Scenario`] is the experiment file, read and checked. [`Scenario::plan`] turns it, with a seed, into a [`Plan`]:
//! explicit nodes, links and flows, everything resolved. A world runs the plan and fills a [`Record`], which becomes
//! tables.

pub mod arrivals;
mod build;
pub mod plan;
pub mod record;
pub mod rng;
pub mod routes;
pub mod scenario;
pub mod schema;
pub mod sizes;
#[cfg(feature = "tables")]
pub mod table;
pub mod varying;

pub use plan::Plan;
pub use record::Record;
pub use routes::Routes;
pub use scenario::{Point, Scenario, ScenarioError};
