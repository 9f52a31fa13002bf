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
//! Two endpoints in a world of events of your own, 10 ms apart:
//!
//! ```
//! use haltere_congestion::CongestionParams;
//! use haltere_transport::{Connection, Role, TcpParams};
//! use haltere_units::{Bytes, Dur, Time};
//! use std::collections::VecDeque;
//!
//! let new = |role| Connection::new(role, TcpParams::default(), CongestionParams::default_of("cubic").unwrap(), 1);
//! let (mut ends, mut flight, mut now) = ([new(Role::Client)?, new(Role::Server)?], VecDeque::new(), Time::ZERO);
//! ends[0].open(now);
//! ends[0].write(Bytes::new(20_000));
//! let mut got = 0;
//! while got < 20_000 {
//!     for from in [0, 1] {
//!         while let Some((segment, ecn)) = ends[from].poll_transmit(now) {
//!             flight.push_back((now + Dur::from_ms(10), 1 - from, segment, ecn));
//!         }
//!     }
//!     let arrival = flight.front().map(|(at, ..)| *at);
//!     now = ends.iter().filter_map(Connection::next_timeout).chain(arrival).min().expect("an event");
//!     if arrival == Some(now) {
//!         let (_, to, segment, ecn) = flight.pop_front().expect("a segment");
//!         ends[to].on_segment(now, &segment, ecn);
//!     }
//!     ends.iter_mut().for_each(|end| end.on_timeout(now)); // of those whose time has come
//!     got += ends[1].read(u64::MAX);
//! }
//! // The handshake, ten segments, and the last four: each begins 20 ms after what was before it.
//! assert_eq!(now, Time::ZERO + Dur::from_ms(50));
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
