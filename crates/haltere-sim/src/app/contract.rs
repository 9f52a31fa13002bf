//! What a flow is to the simulator: [`App`], or a [`Source`] of bytes on one connection.

use super::stream::Stream;
use crate::net::fabric::{Fabric, Port};
use crate::net::packet::Packet;
use haltere_plan::record::FlowRecord;
use haltere_plan::stack::Keeps;
use haltere_plan::{Plan, Record};
use haltere_transport::Info;
use haltere_units::outside::Origin;
use haltere_units::{Probe, Time};
use std::fmt::Debug;

/// The side of a connection that opens it, in flows whose sender does.
pub(crate) const CLIENT: usize = 0;
pub(crate) const SERVER: usize = 1;

/// A flow: both of its ends, and what its applications do there. Side 0 is the flow's sender, side 1 its receiver.
///
/// It acts on the fabric: it sends through a [`Port`], asks for events with `Fabric::schedule`, and writes rows into
/// `Fabric::record`.
pub(crate) trait App: Debug + Send {
    /// Its start has come.
    fn start(&mut self, fabric: &mut Fabric);
    /// An event that it asked for (`Kind::App`) is due.
    fn step(&mut self, _fabric: &mut Fabric) {}
    /// Its stop has come, for which it asked (`Kind::Stop`).
    fn stop(&mut self, _fabric: &mut Fabric) {}
    /// It is to stop at `at`, which is not past and not after the stop that it had. It has started or starts later.
    fn set_stop(&mut self, at: Time, fabric: &mut Fabric);
    /// The timer of the endpoint at `side` is due.
    fn on_timer(&mut self, _side: usize, _fabric: &mut Fabric) {}
    /// A packet reached the endpoint at `side`. The flow must take it out of the pool.
    fn receive(&mut self, side: usize, packet: Packet, fabric: &mut Fabric);
    /// Payload bytes delivered to the receiving application so far.
    fn received(&self) -> u64;
    /// The sender's TCP endpoint, if it has one.
    fn sender(&self) -> Option<Info> {
        None
    }
    /// Adds to the flow's line of the record what is neither [`received`](App::received) nor [`sender`](App::sender).
    fn record(&self, _record: &mut FlowRecord) {}
    /// It has samples in the time series of flows.
    fn is_sampled(&self) -> bool {
        true
    }
    /// Inner variables for `[measure] state`.
    fn state(&self, _probe: &mut Probe) {}
    /// A sample is due: adds inner variables to `probe`, and rows of its own to `record`.
    fn sample(&self, _at: Time, _probe: &mut Probe, _record: &mut Record) {}
    /// The run is over at `at`: writes down the rest.
    fn finish(&mut self, _at: Time, _record: &mut Record) {}
    /// Its flows arrive during the run: `SpawnedFlows` starts and steps it.
    fn spawns(&self) -> bool {
        false
    }
}

/// A flow both of whose ends are in other parts of the network.
#[derive(Debug)]
pub(crate) struct Elsewhere;

impl App for Elsewhere {
    fn start(&mut self, _fabric: &mut Fabric) {}
    fn set_stop(&mut self, _at: Time, _fabric: &mut Fabric) {}
    fn receive(&mut self, _side: usize, packet: Packet, fabric: &mut Fabric) {
        fabric.pool.give(&packet);
    }
    fn received(&self) -> u64 {
        0
    }
    fn is_sampled(&self) -> bool {
        false
    }
}

/// The application on a TCP connection: what the client and the server write. The server reads at once.
pub(crate) trait Source {
    /// Bytes after which the flow is complete.
    fn limit(&self) -> Option<u64> {
        None
    }
    /// The client has asked for the connection.
    fn start(&mut self, _client: &mut dyn Stream) {}
    /// It is time to do something: at the start, and when it was asked for. When the next step is due.
    fn step(&mut self, _now: Time, _client: &mut dyn Stream) -> Option<Time> {
        None
    }
    /// A segment reached the client: there may be room to write, or something to read. When a step is due, if it is not
    /// yet asked for.
    fn on_client(&mut self, _now: Time, _client: &mut dyn Stream) -> Option<Time> {
        None
    }
    /// The server has read so many bytes.
    fn on_server(&mut self, _now: Time, _server: &mut dyn Stream, _bytes: u64) {}
    fn stop(&mut self, client: &mut dyn Stream) {
        client.close();
    }
    /// Payload bytes that the client read.
    fn received(&self) -> u64 {
        0
    }
    /// The run is over at `at`: writes down rows of its own. `flow` is the flow's index.
    fn finish(&mut self, _at: Time, _flow: u32, _record: &mut Record) {}
}

/// Where both ends of a flow send from, its place in the plan, and the run's origin.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub index: usize,
    pub ports: [Port; 2],
    /// Of a flow over several paths: both ends of each.
    pub paths: Vec<[Port; 2]>,
    pub origin: Origin,
    pub asked: Asked,
}

/// What the plan asks of its flows beyond their counters.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Asked {
    /// Delays are measured from the first instant until the second.
    pub window: Option<(Time, Time)>,
    /// What senders do is recorded.
    pub senders: bool,
    /// What ends on stacks keep.
    pub keeps: Keeps,
}

impl Asked {
    /// What that plan asks.
    pub fn of(plan: &Plan) -> Asked {
        let window = (plan.warmup, plan.measure.until.unwrap_or(Time::NEVER));
        Asked {
            window: plan.measure.delays.then_some(window),
            senders: plan.measure.senders,
            keeps: Keeps { secrets: !plan.measure.captured.is_empty(), log: plan.measure.senders },
        }
    }
    /// Delays are measured at that time.
    pub fn measures_at(&self, now: Time) -> bool {
        self.window.is_some_and(|(from, until)| from <= now && now < until)
    }
}
