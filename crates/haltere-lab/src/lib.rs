//! The experiment: what is run, and its result. The same for every world.
//!
//! [`Scenario`] is the experiment file, read and checked. [`Scenario::plan`] turns it, with a seed, into a
//! [`Plan`](haltere_plan::Plan): explicit nodes, links and flows, everything resolved. A world runs the plan and fills
//! a [`Record`](haltere_plan::Record), which becomes tables.
//!
//! A traffic kind is one file of `traffic`, a topology one file of `topology`, each with one line in the registry of
//! its folder.

mod build;
mod error;
mod files;
pub mod limits;
mod names;
pub mod scenario;
pub mod schema;
#[cfg(feature = "tables")]
pub mod table;
#[doc(hidden)]
pub mod testing;
mod topology;
mod traffic;

pub use files::open_regular;
pub use scenario::{ErrorKind, Point, Scenario, ScenarioError};
pub use topology::Topology;
pub use topology::drawing::Drawing;
pub use traffic::Traffic;
pub use traffic::kind::About;
