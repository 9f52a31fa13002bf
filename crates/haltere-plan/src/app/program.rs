//! A program of the machine: a client on one host, and a server on the other.

use super::prelude::*;
use alloc::collections::BTreeMap;
use alloc::string::String;

/// A client program and, if it needs one, its server.
///
/// In arguments and environment, `{from}` and `{to}` stand for the addresses of the client's and the server's host,
/// `{seed}` for the random seed of the run, and `{out}` for a folder of the program's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgramPlan {
    /// The client's name and arguments.
    pub client: Vec<String>,
    /// The server's. Empty: there is none.
    pub server: Vec<String>,
    /// When the server is ready for its client.
    pub ready: Ready,
    /// Variables that both have beside the usual ones.
    pub environment: BTreeMap<String, String>,
    /// The client's exit status.
    pub expect: i32,
}

/// How the readiness of a server shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ready {
    /// So much time has passed since its start.
    After(Dur),
    /// It wrote a line that contains this text.
    Line(String),
    /// It listens at this TCP port, or has bound this UDP port.
    Port(u16),
}

impl App for ProgramPlan {
    /// Not TCP of ours: the worlds that run programs read the protocol off each packet.
    fn protocol(&self) -> Protocol {
        Protocol::Udp
    }
}
