//! The simulator: runs a [`Plan`](haltere_lab::Plan) in virtual time, packet by packet, and fills a
//! [`Record`](haltere_lab::Record).
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
//! | file | what |
//! |---|---|
//! | `network` | builds the network of a plan, takes events from the queue and hands them out |
//! | `fabric` | links, packets on their paths and pending events: what applications act upon |
//! | `link` | queue discipline, device ring and line, with one pending event |
//! | `flight` | the packets in flight on all lines |
//! | `large_pages` | where large lists lie |
//! | `lookahead` | with many flows, what the next events will need is fetched before they are due |
//! | `event_queue` | the pending events in order of (time, sequence number) |
//! | `packet` | the packet and its pool |
//! | `app` | one flow each, both ends: `tcp` with the sources `bulk` and `on_off`, `cbr`, `ping` |
//! | `ahead` | links that take packets ahead of time, and the events that this saves |
//! | `alarms` | the timer of an endpoint with few entries in the event queue |
//! | `births` | flows that are born and die while the run goes on |
//! | `live` | a run that is watched, and changed, while it goes on |
//! | `recorder` | samples and counters |
//! | `pcap`, `wire_format` | captures as pcapng files with real headers |
//!
//! What makes it fast: at most one event for a packet and a link, whatever the discipline (`link` and `ahead` say how); the event
//! queue holds O(links + endpoints) entries; packets in flight lie in one place; mechanisms are dispatched by enum.
//! What makes it exact: times are whole nanoseconds, and a line carries the fraction left over from packet to packet.
//! Everything due at or before the plan's end happens.

mod ahead;
mod alarms;
mod app;
mod births;
mod control;
mod error;
pub mod event_queue;
mod fabric;
mod flight;
mod large_pages;
mod link;
mod live;
mod lookahead;
mod network;
mod packet;
mod pcap;
mod recorder;
pub mod wire_format;

pub use control::{Capture, RunControl};
pub use error::RunError;
pub use live::{Fresh, Live};
pub use network::{run, run_with_captures};
