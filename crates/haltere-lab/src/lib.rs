//! The experiment: what is run, and what came of it. The same for every world.
//!
//! [`Scenario`] is the experiment file. [`Scenario::plan`] turns it, with a seed, into a [`Plan`]: explicit
//! nodes, links and flows, everything resolved and checked. A world runs the plan and fills a
//! [`Record`], which becomes tables.

pub mod plan;
pub mod record;
pub mod scenario;

pub use plan::Plan;
pub use record::Record;
pub use scenario::Scenario;
