//! The contract between the laboratory and the worlds.
//!
//! The laboratory resolves an experiment and a seed to a [`Plan`]: explicit nodes, links and flows. A world runs the plan and fills
//! a [`Record`]. This crate holds both, and the parts that all worlds share: draw random numbers ([`rng`]), find routes
//! ([`routes`]), send packets over a link ([`mod@link`]) whose rate may vary ([`varying`]), let flows arrive ([`arrivals`], [`sizes`]),
//! number ports ([`ports`]) and count the bytes of headers ([`headers`]).
//! What a flow does is the explicit plan of its traffic kind: one file a kind in [`app`]. What a closed loop asks for and when ([`exchange`]),
//! and what a listener hears ([`voice`]), is here, too: every world has real or simulated packets for it, and no rule of its own.
//!
//! A world depends on this crate and not on the laboratory, so it cannot read experiment files.
//!
//! Plan and record can be written and read with serde, for a world in another process. The crate needs no `std`, so the link also runs
//! inside a kernel. The feature `std` (on by default) is needed to read a record.

#![cfg_attr(not(test), no_std)]
extern crate alloc;
#[cfg(all(feature = "std", not(test)))]
extern crate std;

pub mod app;
pub mod arrivals;
pub mod exchange;
mod fault;
pub mod headers;
mod histogram;
pub mod link;
#[cfg(feature = "std")]
pub mod outside;
pub mod plan;
pub mod ports;
pub mod record;
pub mod rng;
pub mod routes;
pub mod sizes;
pub mod varying;
pub mod voice;
mod written;

pub use fault::Fault;
pub use histogram::Histogram;
pub use plan::Plan;
pub use record::Record;
pub use routes::{NextHops, Routes};

/// Bytes of a full IP packet over Ethernet.
pub const FULL_PACKET: u64 = 1500;
