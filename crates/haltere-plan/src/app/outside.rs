//! TCP: a source from outside the tree, how a language makes it, and its plan.
//!
//! A source says what the application of a TCP flow writes, and when. It is asked by the same events as the sources of
//! the simulator.

use super::prelude::*;
use alloc::boxed::Box;
use core::fmt::Debug;
use haltere_transport::Connection;
use haltere_units::ParamError;
use haltere_units::outside::{About, Location, Origin};

pub use haltere_units::outside::Params;

/// A source from outside the tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutsidePlan {
    /// The TCP of both endpoints.
    pub tcp: TcpPlan,
    /// The source and its parameters.
    pub source: Params,
}

tcp_app!(OutsidePlan);

/// Makes the sources of one language.
pub trait Maker: Send + Sync {
    /// What the source is, without a flow. The laboratory asks for each entry of an experiment that names it, so a
    /// maker keeps what it has read for as long as the code is the same. The error's name is `kind`; its hint may name
    /// the nearest classes.
    fn about(&self, at: Location<'_>) -> Result<About, ParamError>;
    /// A source of a flow that has not started. `params` were checked against [`About::schema`]. Random numbers follow
    /// from the origin's seed alone, which differs between runs and between flows.
    fn make(&self, params: &Params, origin: &Origin) -> Result<Box<dyn OutsideSource>, ParamError>;
}

/// A source from outside the tree: the application on a TCP connection whose client writes. The server reads at once.
///
/// A call that fails [raises](haltere_units::outside::Outside::raise) a fault and returns no time.
pub trait OutsideSource: Debug + Send {
    /// Bytes after which the flow is complete. `None`: it has no end of its own.
    fn limit(&self) -> Option<u64> {
        None
    }
    /// It is time to do something: at the start of the flow, and when it was asked for. When the next step is due,
    /// which is later than `now`.
    fn step(&mut self, now: Time, client: &mut Connection) -> Option<Time>;
    /// A segment reached the client: there may be room to write, or something to read. When a step is due, if it is not
    /// yet asked for.
    fn on_client(&mut self, _now: Time, _client: &mut Connection) -> Option<Time> {
        None
    }
    /// The server has read so many bytes.
    fn on_server(&mut self, _now: Time, _server: &mut Connection, _bytes: u64) {}
    /// Payload bytes that the client read.
    fn received(&self) -> u64 {
        0
    }
}

/// A source of a flow that has not started.
pub fn make(params: &Params, origin: &Origin) -> Result<Box<dyn OutsideSource>, ParamError> {
    origin.outside.find::<dyn Maker>(&params.language)?.make(params, origin)
}
