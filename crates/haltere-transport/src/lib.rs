//! Transport endpoints without I/O.
//!
//! A [`Connection`] is a TCP endpoint as a pure state machine. It never sleeps, sends or asks for the
//! time: a world hands it segments ([`Connection::on_segment`]) and expired timers
//! ([`Connection::on_timeout`]), takes segments from it ([`Connection::poll_transmit`]) and asks when it
//! wants to be woken ([`Connection::next_timeout`]). The same code runs in the simulator, where segments
//! carry lengths only, and on the wire, where they carry bytes.
//!
//! It behaves as Linux 6.1 does, from the RFCs; where the two differ the head of the file says so.
//! `connection.rs` is the handshake and the way in and out; below it the sending half (`sender.rs`, `ack.rs`,
//! `recovery.rs`, `rack.rs`, `timers.rs`, on `scoreboard.rs`, `rtt.rs`, `rate.rs`) and the receiving half
//! (`receiver.rs`, on `reassembly.rs`, `receive_window.rs`) know nothing of each other. The sending half is made when it is
//! first needed; `quiet.rs` stands for it until then.

#![no_std]
extern crate alloc;

pub mod multipath;
mod tcp;

pub use tcp::connection::{Connection, Role};
pub use tcp::info::Info;
pub use tcp::params::{RtoRule, TcpParams};
pub use tcp::segment::{Flags, SackBlocks, Segment, Timestamps};
pub use tcp::sender::recovery::CaState;
