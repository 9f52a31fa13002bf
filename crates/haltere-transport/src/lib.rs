//! Transport endpoints without I/O.
//!
//! A [`Connection`] is a TCP endpoint as a pure state machine. It never sleeps, sends or asks for the
//! time: a world hands it segments ([`Connection::on_segment`]) and expired timers
//! ([`Connection::on_timeout`]), takes segments from it ([`Connection::poll_transmit`]) and asks when it
//! wants to be woken ([`Connection::next_timeout`]). The same code runs in the simulator, where segments
//! carry lengths only, and on the wire, where they carry bytes.

#![no_std]
extern crate alloc;

mod connection;
mod params;
mod segment;

pub use connection::{Connection, Info, Role};
pub use params::TcpParams;
pub use segment::{Flags, SackBlocks, Segment, Timestamps};
