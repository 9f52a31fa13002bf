//! Transport stacks from outside the tree that do no I/O: what a program passes in, and what a world may ask of one.
//!
//! A traffic entry names its stack. `tcp` is Haltere's own. Any other is a [`library`]: the two ends of its
//! connections are [`Endpoint`]s that a [`Maker`] of the program makes. Only the simulator runs them.

pub mod library;
pub mod tcp;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;
use haltere_congestion::CongestionParams;
use haltere_queue::Ecn;
use haltere_transport::Info;
use haltere_units::outside::{About, Location, Origin};
use haltere_units::{ParamError, Time};

pub use library::LANGUAGE;

haltere_units::params_registry! {
    /// A transport stack, distinguished by `kind`.
    pub enum StackParams {
        Tcp(tcp::Params) = tcp,
        ; outside Outside(library::Params)
    }
}

impl Default for StackParams {
    fn default() -> StackParams {
        StackParams::Tcp(tcp::Params::default())
    }
}

/// Makes the ends of the connections of stacks.
pub trait Maker: Send + Sync {
    /// What the stack is, with its parameters. The laboratory asks for each entry of an experiment that names it.
    fn about(&self, at: Location<'_>) -> Result<About, ParamError>;
    /// One end of a connection. `params` were checked against [`About::schema`].
    fn make(&self, params: &library::Params, end: &EndContext) -> Result<Box<dyn Endpoint>, ParamError>;
}

/// What one end of a connection is made with.
#[derive(Debug, Clone)]
pub struct EndContext {
    /// It waits for the other end's first datagram.
    pub is_server: bool,
    /// The time at which it is made.
    pub now: Time,
    /// The congestion control that the traffic entry names.
    pub congestion: Arc<CongestionParams>,
    /// The largest UDP payload that the path carries.
    pub max_datagram: u32,
    /// Use ECN.
    pub ecn: bool,
    /// Disjoint paths to the peer.
    pub paths: u32,
    /// What it keeps for the files of the run.
    pub keeps: Keeps,
    /// Its seed, and the languages of the program.
    pub origin: Origin,
}

/// What an end keeps for the files of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Keeps {
    /// The TLS secrets, for captures.
    pub secrets: bool,
    /// A log.
    pub log: bool,
}

/// One end of a connection of a stack without I/O.
///
/// A call that fails [raises](haltere_units::outside::Outside::raise) a fault, and the end does nothing more.
pub trait Endpoint: Debug + Send {
    /// A datagram arrived over that path.
    fn on_datagram(&mut self, now: Time, path: usize, ecn: Ecn, payload: &[u8]);
    /// The time that [`next_timeout`](Endpoint::next_timeout) named has come.
    fn on_timeout(&mut self, now: Time);
    /// When it wants to be called.
    fn next_timeout(&mut self) -> Option<Time>;
    /// Puts datagrams that are to leave now into `out`, which it empties first. `None`: there are none.
    fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Burst>;
    /// The application writes so many bytes to a stream, which ends after them with `fin`. Returns those that were
    /// taken.
    fn write(&mut self, stream: u64, bytes: u64, fin: bool) -> u64;
    /// The application reads what is there.
    fn read(&mut self) -> Option<Read>;
    /// The application closes the connection.
    fn close(&mut self, now: Time);
    /// No more payload will come.
    fn is_closed(&mut self) -> bool;
    /// What it shows of itself, as a TCP sender does. Packets stand for segments, and lost packets for retransmissions.
    fn info(&self) -> Info;
    /// The same of one path.
    fn path_info(&self, path: usize) -> Info;
    /// New TLS secrets, whole lines in the format of SSLKEYLOGFILE.
    fn secrets(&mut self) -> String {
        String::new()
    }
    /// The log that it wrote, a qlog in JSON text sequences. It is then empty.
    fn log(&mut self) -> Vec<u8> {
        Vec::new()
    }
}

/// Datagrams that leave at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// Bytes of each but the last, which may be shorter.
    pub segment: usize,
    /// Their ECN field.
    pub ecn: Ecn,
    /// The path that they take.
    pub path: usize,
}

/// What was read from a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read {
    /// The stream.
    pub stream: u64,
    /// Bytes that were there.
    pub bytes: u64,
    /// The stream ends here.
    pub fin: bool,
}

/// The end of a connection of that stack.
pub fn make(params: &library::Params, end: &EndContext) -> Result<Box<dyn Endpoint>, ParamError> {
    end.origin.outside.find::<dyn Maker>(&params.language)?.make(params, end)
}

/// The parameter of every stack that says whose congestion control runs.
pub const CONTROL: &str = "control";
/// Its values for which the control is that which the entry's `congestion` names: the stack's own, or Haltere's.
pub const OWN: &str = "own";
/// See [`OWN`].
pub const HALTERE: &str = "haltere";

/// Which congestion control a stack runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control<'a> {
    /// The stack's own of that name.
    Own(&'a str),
    /// Haltere's, with its parameters.
    Haltere,
}

/// The control that a stack with these parameters runs, in an entry with that `congestion`.
pub fn control<'a>(params: &'a library::Params, congestion: &'a CongestionParams) -> Control<'a> {
    match params.parameters.get(CONTROL).and_then(|value| value.as_str()) {
        Some(HALTERE) => Control::Haltere,
        None | Some(OWN) => Control::Own(congestion.label()),
        Some(name) => Control::Own(name),
    }
}

/// The stack and its control in reports: `noq:cubic`, and `noq:haltere-cubic` with Haltere's.
pub fn label(params: &library::Params, congestion: &CongestionParams) -> String {
    match control(params, congestion) {
        Control::Own(name) => format!("{}:{name}", params.name),
        Control::Haltere => format!("{}:haltere-{}", params.name, congestion.label()),
    }
}
