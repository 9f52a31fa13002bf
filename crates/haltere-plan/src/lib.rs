//! The contract between the laboratory and the worlds.
//!
//! # A tour
//!
//! ```text
//!  haltere-lab ──── Plan ────> a world: the simulator, the wire, the kernel world ──── Record ────> haltere-lab
//!               (plan, app)          │ parts that all worlds share                    (record)
//!                                    │
//!     rng ── one random stream a component        routes ── which links a packet takes
//!     link, varying, replay ── one direction of a link    fabric ── an event loop over all links
//!     arrivals, sizes ── flows that arrive        exchange ── requests and responses
//!     voice ── what a listener hears              headers, ports ── bytes and numbers of packets
//! ```
//!
//! - [`Plan`] is one run, explicit: nodes and links by index, limits resolved, start times drawn. What a flow does is the
//!   plan of its traffic kind, one file a kind in [`app`]. [`Plan::check`] refuses what no world could run.
//! - [`Record`] is what a world writes down: plain rows in order of time.
//! - [`mod@link`] is the model of a link: discipline, device ring, line, flight, and the order of random draws. [`fabric`]
//!   drives all links of a plan by events. The wire and the kernel world run both as they are; the simulator has a faster
//!   form, which tests compare with this one.
//! - [`stack`] is what a world needs to run transport stacks of other people.
//! - [`exchange`] has the closed loops (`rpc`, `video`, `web`) as state machines. A world moves their bytes and has no rule
//!   of its own.
//!
//! Read `plan.rs` first, then `link/mod.rs`, then `fabric.rs`.
//!
//! A world depends on this crate and not on the laboratory, so it cannot read experiment files. Plan and record can be
//! written and read with serde, for a world in another process. The crate needs no `std`, so the link also runs inside a
//! kernel. With the feature `std` (on by default), worlds can run mechanisms from outside the tree.

#![cfg_attr(not(test), no_std)]
extern crate alloc;
#[cfg(all(feature = "std", not(test)))]
extern crate std;

pub mod app;
pub mod arrivals;
#[cfg(feature = "std")]
pub mod capture;
mod check;
pub mod exchange;
pub mod fabric;
mod fault;
pub mod headers;
mod histogram;
pub mod jitter;
pub mod link;
mod link_queue;
pub mod plan;
pub mod ports;
pub mod record;
pub mod replay;
pub mod rng;
pub mod routes;
mod series;
pub mod sizes;
pub mod stack;
pub mod varying;
pub mod voice;
mod written;

pub use fault::Fault;
pub use histogram::Histogram;
pub use link_queue::{KernelQueue, LinkQueue, WorldQueue};
pub use plan::Plan;
pub use record::Record;
pub use routes::{NextHops, Routes};
pub use series::Series;
#[cfg(feature = "std")]
pub use written::kept;
