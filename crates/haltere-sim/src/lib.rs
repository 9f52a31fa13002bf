//! The simulator: runs a [`Plan`](haltere_plan::Plan) in virtual time, packet by packet, and fills a
//! [`Record`](haltere_plan::Record).
//!
//! A run is a function of the plan: the same plan gives the same record, byte for byte, on every machine.
//!
//! The way of a packet:
//!
//! ```text
//!   app ──> Connection ──> Port ──> Fabric::forward ──> Link::arrive ─ ─ event ─ ─> Link::on_event ──┐
//!    ^          ^                        ^                                                           │
//!    └── read ──┴──── Flow::receive <────┴──────────────── Network::hand_on <────────────────────────┘
//! ```
//!
//! | folder | what |
//! |---|---|
//! | `run` | builds the network of a plan, takes events from the queue and dispatches them |
//! | `engine` | pending events in order of (time, sequence number), endpoint timers, memory prefetches |
//! | `net` | packets, links with their queue disciplines, packets in flight, paths |
//! | `app` | what runs on the hosts: one file a traffic kind |
//! | `prefetcher` | with many flows, prefetches what the next events will need |
//! | `live` | a run that is watched, and changed, while it goes on |
//! | `recorder` | samples and counters |
//! | `capture` | pcapng files with real headers |
//!
//! What makes it fast: at most one event for a packet and a link, whatever the discipline (`net::link` and `net::ahead` say how); the event
//! queue holds O(links + endpoints) entries; packets in flight lie in one place; mechanisms are dispatched by enum.
//! What makes it exact: times are whole nanoseconds, and a line carries the fraction left over from packet to packet.
//! Everything due at or before the plan's end happens.

mod app;
mod capture;
mod control;
pub mod engine;
mod error;
mod live;
mod net;
mod prefetcher;
mod recorder;
mod run;

pub use capture::wire_format;
pub use control::{Capture, RunControl};
pub use error::RunError;
pub use live::{Fresh, Live};
pub use run::{run, run_with_captures};
