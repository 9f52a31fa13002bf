//! Multipath TCP without I/O: one stream over several subflows.
//!
//! A [`Multipath`] is one end of a connection. Each subflow is a [`Connection`](crate::Connection) with its own control
//! and its own path; the bytes of the stream are written into subflows by a scheduler (`scheduler/`), and each segment
//! carries a [`Dss`]: where its payload belongs in the stream, and what of the stream has arrived. Correlators
//! (`correlation/`) watch the paths and say which of them share a bottleneck.
//!
//! `connection.rs` is the endpoint; `sending.rs` gives the stream to subflows; `send_queue.rs` knows which path carried
//! what; `subflow.rs` maps a subflow's stream to the connection's, both ways.

mod connection;
pub mod correlation;
mod info;
mod params;
pub mod scheduler;
mod send_queue;
mod sending;
mod subflow;
mod view;

pub use connection::{Multipath, Transmission};
pub use info::{Coefficient, PathInfo};
pub use params::MultipathParams;
pub use subflow::Dss;
pub use view::{MAX_PATHS, PathView, Paths, SegView};
