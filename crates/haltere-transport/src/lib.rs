//! Transport endpoints without I/O.
//!
//! A [`Connection`] is a TCP endpoint as a pure state machine. It never sends, sleeps or reads a clock: time is an
//! argument, segments come in and go out as values. A world drives it by five calls:
//!
//! - [`on_segment(now, segment, ecn)`](Connection::on_segment): a segment arrived;
//! - [`on_timeout(now)`](Connection::on_timeout): the time of the timer has come;
//! - [`poll_transmit(now)`](Connection::poll_transmit): the next segment to send now, until there is none;
//! - [`next_timeout()`](Connection::next_timeout): when the timer is due;
//! - [`write(bytes)`](Connection::write) and [`read(bytes)`](Connection::read): what the application does.
//!
//! ```
//! use haltere_congestion::CongestionParams;
//! use haltere_transport::{Connection, Role, TcpParams};
//! use haltere_units::{Bytes, Time};
//!
//! let cubic = CongestionParams::default_of("cubic").unwrap();
//! let mut client = Connection::new(Role::Client, TcpParams::default(), cubic.clone(), 1)?;
//! let mut server = Connection::new(Role::Server, TcpParams::default(), cubic, 2)?;
//! let now = Time::ZERO;
//! client.open(now);
//! client.write(Bytes::new(1000));
//! loop {
//!     let mut idle = true;
//!     while let Some((segment, ecn)) = client.poll_transmit(now) {
//!         server.on_segment(now, &segment, ecn);
//!         idle = false;
//!     }
//!     while let Some((segment, ecn)) = server.poll_transmit(now) {
//!         client.on_segment(now, &segment, ecn);
//!         idle = false;
//!     }
//!     if idle {
//!         break;
//!     }
//! }
//! assert_eq!(server.read(2000), 1000);
//! # Ok::<(), haltere_units::ParamError>(())
//! ```
//!
//! The same code runs in the simulator, where segments carry lengths only, and on the wire, where they carry bytes. It
//! behaves as Linux 6.1 does, from the RFCs. If the two differ, the head of the file says so.
//!
//! `tcp/connection/` holds the handshake and the way between header fields and the two halves of an endpoint.
//! `tcp/sender/` is the sending half, `tcp/receiver/` the receiving half; they know nothing of each other. The sending
//! half is made when it is first needed (`tcp/connection/lazy.rs`). [`multipath`] sends one stream over several
//! connections.

#![no_std]
extern crate alloc;

pub mod multipath;
mod tcp;

pub use tcp::connection::{Connection, PrefetchStage, Role};
pub use tcp::info::Info;
pub use tcp::metrics::{Metrics, MetricsCache};
pub use tcp::params::{AccurateEcn, CachedMetrics, Offload, RtoRule, TcpParams};
pub use tcp::segment::{EcnCounts, Flags, SackBlocks, Segment, Timestamps};
pub use tcp::sender::episode::CaState;
pub use tcp::sender::rtt::RttReading;
