//! The contract between the laboratory and the worlds.
//!
//! The laboratory resolves an experiment and a seed to a [`Plan`]: explicit nodes, links and flows. A world runs the
//! plan and fills a [`Record`]. This crate holds both, and the parts that all worlds share: draw random numbers
//! ([`rng`]), find routes ([`routes`]), send packets over links ([`mod@link`], [`fabric`]) whose rate may vary
//! ([`varying`]), let flows arrive ([`arrivals`], [`sizes`]), number ports ([`ports`]) and count the bytes of headers
//! ([`headers`]). What a flow does is the explicit plan of its traffic kind: one file a kind in [`app`]. What a closed
//! loop asks for and when ([`exchange`]), and what a listener hears ([`voice`]), is here, too: every world has real or
//! simulated packets for it, and no rule of its own.
//!
//! A world depends on this crate and not on the laboratory, so it cannot read experiment files.
//!
//! Plan and record can be written and read with serde, for a world in another process. The crate needs no `std`, so the
//! link also runs inside a kernel. With the feature `std` (on by default), worlds can run mechanisms from outside the
//! tree.

#![cfg_attr(not(test), no_std)]
extern crate alloc;
#[cfg(all(feature = "std", not(test)))]
extern crate std;

pub mod app;
pub mod arrivals;
mod check;
pub mod exchange;
pub mod fabric;
mod fault;
pub mod headers;
mod histogram;
pub mod link;
mod link_queue;
pub mod plan;
pub mod ports;
pub mod record;
pub mod rng;
pub mod routes;
mod series;
pub mod sizes;
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

/// Bytes of a full IP packet over Ethernet.
pub const FULL_PACKET: u64 = 1500;
