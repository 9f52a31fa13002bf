//! The contract between the laboratory and the worlds.
//!
//! The laboratory resolves an experiment and a seed to a [`Plan`]: explicit nodes, links and flows. A world runs the plan and fills
//! a [`Record`]. This crate holds both, and what every world must do in the same way: draw random numbers ([`rng`]), find routes
//! ([`routes`]), send packets over a link ([`mod@link`]) whose rate may vary ([`varying`]), let flows arrive ([`arrivals`], [`sizes`]),
//! number ports ([`ports`]) and count the bytes of headers ([`headers`]).
//!
//! A world depends on this crate and not on the laboratory, so it cannot read experiment files.

pub mod arrivals;
mod fault;
pub mod headers;
pub mod link;
pub mod plan;
pub mod ports;
pub mod record;
pub mod rng;
pub mod routes;
pub mod sizes;
pub mod varying;

pub use fault::Fault;
pub use plan::Plan;
pub use record::Record;
pub use routes::Routes;
