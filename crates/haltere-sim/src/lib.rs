//! The simulator: runs a [`Plan`](haltere_plan::Plan) in virtual time, packet by packet, and fills a
//! [`Record`](haltere_plan::Record).
//!
//! A run is a function of the plan: the same plan gives the same record, byte for byte, on every machine.
//!
//! ```
//! use haltere_congestion::CongestionParams;
//! use haltere_plan::Plan;
//! use haltere_plan::plan::{AppPlan, BulkPlan, FlowPlan, LinkPlan, TcpPlan};
//! use haltere_queue::QueueParams;
//! use haltere_transport::TcpParams;
//! use haltere_units::{Dur, Rate, Time};
//! use std::sync::Arc;
//!
//! let queue = QueueParams::default_of("fq_codel").unwrap();
//! let link = |from, to| LinkPlan::plain(from, to, Some(Rate::from_mbps(10)), Dur::from_ms(10), queue.clone());
//! let bbr = CongestionParams::default_of("bbr").unwrap();
//! let tcp = TcpPlan::alike(Arc::new(bbr), Arc::new(TcpParams::default()));
//! let flow = FlowPlan::new("bulk1", 0, 1, AppPlan::Bulk(BulkPlan { tcp, bytes: None }));
//! let plan = Plan::new(Plan::node_names(2), vec![link(0, 1), link(1, 0)], vec![flow], Time::ZERO + Dur::from_secs(10));
//! let record = haltere_sim::run(&plan, &haltere_sim::RunControl::default())?;
//! assert!(record.flows[0].received > 11_000_000);
//! # Ok::<(), haltere_sim::RunError>(())
//! ```
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
mod parts;
mod prefetcher;
mod recorder;
mod run;

pub use app::check_kinds;
pub use capture::wire_format;
pub use control::{Capture, RunControl};
pub use error::RunError;
pub use live::{Fresh, Live};
pub use run::{run, run_with_captures};
