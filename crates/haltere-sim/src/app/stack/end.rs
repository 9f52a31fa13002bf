//! One end of a connection of a stack, with its port and its timer.

use crate::net::fabric::{Fabric, Port};
use crate::net::packet::{Header, Packet};
use haltere_plan::plan::{FlowPlan, TcpPlan};
use haltere_plan::record::StackLog;
use haltere_plan::rng::Rng;
use haltere_plan::stack::{Burst, EndContext, Endpoint, Keeps, Read, make};
use haltere_queue::Ecn;
use haltere_transport::Info;
use haltere_units::outside::{self, Origin};
use haltere_units::{ParamError, Time};

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct End {
    pub endpoint: Box<dyn Endpoint>,
    pub ways: Vec<Way>,
    keeps: Keeps,
    /// A burst that is sent.
    burst: Vec<u8>,
}

/// A path of a connection at one of its ends.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    pub port: Port,
    /// From when on nothing passes.
    pub cut: Option<Time>,
    /// UDP payload that the end sent over it.
    pub bytes: u64,
}

/// The only path.
pub(super) fn way(port: Port) -> Vec<Way> {
    vec![Way { port, cut: None, bytes: 0 }]
}

/// Both ends of a connection, that of the flow's sender first.
pub(crate) type Ends = [End; 2];

/// The flow of a connection, and which of the flow's connections it is, from 1.
pub(crate) type Number = (u32, u64);

/// What both ends wrote into their logs.
pub(super) fn logs(ends: &mut Ends, number: Number, client: usize) -> impl Iterator<Item = StackLog> {
    ends.iter_mut().enumerate().filter_map(move |(side, end)| end.log(number, side == client))
}

impl End {
    /// Sends what may be sent now.
    pub fn transmit(&mut self, fabric: &mut Fabric) {
        while let Some(Burst { segment, ecn, path }) = self.endpoint.poll_transmit(fabric.now, &mut self.burst) {
            if self.keeps.secrets {
                fabric.pool.secrets.extend(self.endpoint.secrets().into_bytes());
            }
            let way = &mut self.ways[path];
            way.bytes += self.burst.len() as u64;
            if way.cut.is_some_and(|at| at <= fabric.now) {
                continue;
            }
            for payload in self.burst.chunks(segment) {
                way.port.send_payload(payload, ecn, fabric);
            }
        }
    }
    /// What it wrote into its log, if it keeps one, for the record.
    fn log(&mut self, (flow, connection): Number, is_client: bool) -> Option<StackLog> {
        let text = if self.keeps.log { self.endpoint.log() } else { Vec::new() };
        (!text.is_empty()).then_some(StackLog { flow, connection, is_client, text })
    }
    /// The path over which a packet with that header arrives, if it is for this end.
    pub fn path_of(&self, header: &Header) -> Option<usize> {
        self.ways.iter().position(|way| way.port.receives(header))
    }
    /// A packet of this connection arrived.
    pub fn receive(&mut self, packet: &Packet, fabric: &mut Fabric) {
        if let (Some(payload), Some(path)) = (fabric.pool.payload(packet), self.path_of(&packet.header)) {
            self.endpoint.on_datagram(fabric.now, path, packet.header.marks.ecn(), payload);
        }
        fabric.pool.give(packet);
    }
}

/// Makes both ends of the connections of a flow.
#[derive(Debug)]
pub(crate) struct Maker {
    tcp: TcpPlan,
    origin: Origin,
    keeps: Keeps,
    /// Gives each end its seed.
    seeds: Rng,
    /// The flow's side that opens connections.
    client: usize,
}

impl Maker {
    pub fn new(flow: &FlowPlan, tcp: &TcpPlan, client: usize, origin: &Origin, keeps: Keeps) -> Maker {
        let seed = Rng::new(origin.seed, &format!("{}/connections", flow.name)).bits();
        Maker { client, ..Maker::of(tcp, &origin.with_seed(seed), keeps) }
    }
    /// Of connections whose client is the flow's sender.
    pub fn of(tcp: &TcpPlan, origin: &Origin, keeps: Keeps) -> Maker {
        let seeds = Rng::new(origin.seed, "ends");
        Maker { tcp: tcp.clone(), origin: origin.clone(), keeps, seeds, client: 0 }
    }
    /// Makes a pair to hear what the stack says of the parameters.
    pub fn check(&mut self, ports: [Port; 2]) -> Result<(), ParamError> {
        self.try_open(Time::ZERO, ports.map(way)).map(drop)
    }
    /// A new connection over these paths.
    pub fn try_open(&mut self, now: Time, ways: [Vec<Way>; 2]) -> Result<Ends, ParamError> {
        let mut end = |side: usize, ways: Vec<Way>| {
            let origin = self.origin.with_seed(self.seeds.bits());
            let one = self.tcp.end_context(side != self.client, now, self.keeps, origin);
            let context = EndContext { paths: ways.len() as u32, ..one };
            let stack = self.tcp.stack.as_ref().expect("the flow is one on a stack");
            let endpoint = make(stack, &context)?;
            Ok(End { endpoint, ways, keeps: self.keeps, burst: Vec::new() })
        };
        let [near, far] = ways;
        Ok([end(0, near)?, end(1, far)?])
    }
    /// The same between two ports. If the stack fails, the run ends, and until then the ends are closed.
    pub fn open(&mut self, now: Time, ports: [Port; 2]) -> Ends {
        let ways = ports.map(way);
        self.try_open(now, ways.clone()).unwrap_or_else(|error| {
            let kind = self.tcp.stack.as_ref().map(|stack| stack.kind()).unwrap_or_default();
            self.origin.outside.raise(outside::Fault::new(kind, &error.name, &format!("be {}", error.rule), error.got));
            ways.map(|ways| End { endpoint: Box::new(Closed), ways, keeps: Keeps::default(), burst: Vec::new() })
        })
    }
}

/// An end that does nothing.
#[derive(Debug)]
struct Closed;

impl Endpoint for Closed {
    fn on_datagram(&mut self, _now: Time, _path: usize, _ecn: Ecn, _payload: &[u8]) {}
    fn on_timeout(&mut self, _now: Time) {}
    fn next_timeout(&mut self) -> Option<Time> {
        None
    }
    fn poll_transmit(&mut self, _now: Time, _out: &mut Vec<u8>) -> Option<Burst> {
        None
    }
    fn write(&mut self, _stream: u64, _bytes: u64, _fin: bool) -> u64 {
        0
    }
    fn read(&mut self) -> Option<Read> {
        None
    }
    fn close(&mut self, _now: Time) {}
    fn is_closed(&mut self) -> bool {
        true
    }
    fn info(&self) -> Info {
        Info::default()
    }
    fn path_info(&self, _path: usize) -> Info {
        Info::default()
    }
}
