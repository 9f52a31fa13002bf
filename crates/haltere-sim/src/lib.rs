//! The simulator: runs a [`Plan`](haltere_plan::Plan) in virtual time, packet by packet, and fills a
//! [`Record`](haltere_plan::Record).
//!
//! A run is a function of the plan: the same plan gives the same record, byte for byte, on every machine.
//!
//! The path of a packet:
//!
//! ```text
//!   app ──> Connection ──> Port ──> Fabric::forward ──> SimLink::arrive ─ ─ event ─ ─> SimLink::on_event ──┐
//!    ^          ^                        ^                                                                 │
//!    └── read ──┴─── AnyFlow::receive <───┴────────────── Run::receive_or_forward <────────────────────────┘
//! ```
//!
//! | folder | what |
//! |---|---|
//! | `run` | builds the network of a plan, takes events from the queue and dispatches them |
//! | `engine` | events, the queue of pending events in order of (time, sequence number), endpoint timers, memory prefetches |
//! | `net` | packets, links with their queue disciplines, packets in flight, paths |
//! | `app` | what runs on the hosts: one file a traffic kind |
//! | `prefetcher` | with many flows, prefetches what the next events will need |
//! | `live` | a run that is watched, and changed, during the run |
//! | `recorder` | samples and counters |
//! | `capture` | pcapng files with real headers |
//!
//! It is fast because a packet costs at most one event a link, whatever the discipline (see `net::link` and
//! `net::ahead`). The event queue holds O(links + endpoints) entries, all packets in flight are in one list, and
//! mechanisms are dispatched by enum. It is exact because times are whole nanoseconds, and a line carries the remaining
//! fraction from packet to packet. Everything that is due at or before the plan's end happens.

mod app;
mod capture;
mod control;
pub mod engine;
mod error;
mod hosts;
mod live;
mod net;
mod prefetcher;
mod recorder;
mod run;

pub use app::check_kinds;
pub use capture::wire_format;
pub use control::{Capture, RunControl};
pub use error::RunError;
pub use live::{Fresh, Live};
pub use run::{run, run_with_captures};
