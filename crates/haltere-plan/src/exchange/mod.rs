//! Requests and responses over TCP: what the closed-loop kinds (`rpc`, `video`, `web`) ask for, and when.
//!
//! The client is the flow's receiver and opens connections. The server is the flow's sender, so responses travel in the
//! direction in which data travels in every other kind. A kind is one [`Client`], a state machine that every world runs. A
//! world has the [`Connections`]: it moves bytes, and [`Calls`] says to which request or response they belong.
//!
//! Model: a request is written at once, and answered at once when all of it has been read. Several requests may be in
//! flight on a connection; they are answered in order. A connection that gives up (too many retransmissions) is opened
//! again, and what it had not answered is asked again. Units: bytes, ns. Known problems: neither TLS nor HTTP headers
//! of responses; a server takes no time.

mod calls;
mod rpc;
mod video;
mod web;

pub use calls::{CLIENT, Call, Calls, SERVER};
pub use rpc::Caller;
pub use video::Player;
pub use web::User;

use crate::record::Record;
use core::fmt::Debug;
use haltere_units::{Bytes, Time};

/// The connections of a flow, as its client sees them.
pub trait Connections {
    /// The present time of the run.
    fn now(&self) -> Time;
    /// Opens a connection to that port of the server, in a world whose servers have ports of their own. Returns its
    /// number.
    fn open(&mut self, server_port: u16) -> usize;
    /// Asks for `response` bytes with `request` bytes, one at least each.
    fn ask(&mut self, connection: usize, request: Bytes, response: Bytes);
    /// Closes all connections once they have answered.
    fn close(&mut self);
    /// Calls [`Client::wake`] at that time.
    fn wake(&mut self, at: Time);
}

/// The side that sends requests: a state machine that opens connections and asks.
pub trait Client: Debug {
    /// Every answer is a row of the table `completions`.
    const COMPLETIONS: bool = false;
    /// The flow starts: it opens connections and asks.
    fn start(&mut self, on: &mut impl Connections);
    /// A time for which it asked with [`Connections::wake`] has come.
    fn wake(&mut self, on: &mut impl Connections);
    /// The last byte of a response was read.
    fn answered(&mut self, answer: Answer, on: &mut impl Connections);
    /// It asks for nothing more from `at` on.
    fn set_stop(&mut self, at: Time);
    /// The run is over at `at`: writes down rows of its own. `flow` is the flow's index.
    fn finish(&mut self, _at: Time, _flow: u32, _record: &mut Record) {}
}

/// A response that has been read.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    /// The connection on which it came.
    pub connection: usize,
    /// Bytes of the response.
    pub bytes: u64,
}
