//! The closed-loop kinds on a stack: each request is a stream, and all that a client opens before it closes share one
//! connection, as with HTTP/3.

use super::{End, Ends, Maker, logs};
use crate::app::{App, Place};
use crate::engine::event::Kind;
use crate::engine::timer::Alarms;
use crate::net::fabric::{Fabric, Port};
use crate::net::packet::Packet;
use haltere_plan::Record;
use haltere_plan::exchange::{Answer, CLIENT, Call, Calls, Client, Connections, SERVER};
use haltere_plan::plan::{FlowPlan, TcpPlan};
use haltere_plan::record::Completion;
use haltere_units::{Bytes, ParamError, Time};
use std::collections::{BTreeMap, VecDeque};

/// A connection with its streams that are not over.
#[derive(Debug)]
struct Connection {
    /// Which of the flow's connections it is, from 1.
    number: u64,
    ends: Ends,
    /// By its number, what the client calls a stream's connection, and what is asked on it.
    streams: BTreeMap<u64, (usize, Calls)>,
    next_stream: u64,
    /// Nothing more will be asked.
    is_closing: bool,
    server_port: u16,
}

/// The connections of a flow.
#[derive(Debug)]
struct Net {
    index: usize,
    maker: Maker,
    ports: [Port; 2],
    /// The last is that on which is asked, unless it is closing.
    connections: Vec<Connection>,
    alarms: [Alarms; 2],
    /// Connections so far.
    connected: u64,
    /// Numbers that the client was given.
    opened: usize,
    done: VecDeque<(Answer, Call)>,
    received: u64,
}

/// The connections as the client sees them.
struct Open<'a>(&'a mut Net, &'a mut Fabric);

impl Connections for Open<'_> {
    fn now(&self) -> Time {
        self.1.now
    }
    fn open(&mut self, server_port: u16) -> usize {
        let Open(net, fabric) = self;
        if net.connections.last().is_none_or(|last| last.is_closing || last.server_port != server_port) {
            net.connect(server_port, fabric);
        }
        net.opened += 1;
        net.opened - 1
    }
    fn ask(&mut self, connection: usize, request: Bytes, response: Bytes) {
        let Open(net, fabric) = self;
        let mut calls = Calls::default();
        calls.ask(request, response, fabric.now);
        net.connections.last_mut().expect("the client has opened one").add(connection, calls);
    }
    fn close(&mut self) {
        self.0.connections.iter_mut().for_each(|connection| connection.is_closing = true);
    }
    fn wake(&mut self, at: Time) {
        self.1.schedule(at, Kind::App, self.0.index);
    }
}

impl Connection {
    fn add(&mut self, number: usize, calls: Calls) {
        self.streams.insert(self.next_stream, (number, calls));
        self.next_stream += 1;
    }
    fn write(&mut self, side: usize) {
        for (stream, (_, calls)) in self.streams.iter_mut().filter(|(_, (_, calls))| calls.unwritten(side) > 0) {
            let bytes = calls.unwritten(side);
            let taken = self.ends[side].endpoint.write(*stream, bytes, true);
            calls.wrote(side, taken.min(bytes));
        }
    }
    /// Both ends read and write what they can. Returns the bytes that the client read.
    fn exchange(&mut self, now: Time, done: &mut VecDeque<(Answer, Call)>) -> u64 {
        self.write(CLIENT);
        while let Some(read) = self.ends[SERVER].endpoint.read() {
            if let Some((_, calls)) = self.streams.get_mut(&read.stream) {
                calls.heard(read.bytes);
            }
        }
        self.write(SERVER);
        let mut received = 0;
        while let Some(read) = self.ends[CLIENT].endpoint.read() {
            received += read.bytes;
            let Some((connection, calls)) = self.streams.get_mut(&read.stream) else { continue };
            let (connection, mut is_over) = (*connection, false);
            calls.read(read.bytes, |call| {
                is_over = true;
                done.push_back((Answer { connection, bytes: call.response() }, call));
            });
            if is_over {
                self.streams.remove(&read.stream);
            }
        }
        let client = &mut self.ends[CLIENT].endpoint;
        if self.is_closing && self.streams.is_empty() && !client.is_closed() {
            client.close(now);
        }
        received
    }
}

impl Net {
    fn connect(&mut self, server_port: u16, fabric: &mut Fabric) {
        let client_port = fabric.hosts.ephemeral_port();
        let mut ports = self.ports.clone();
        let [server, client] = &mut ports;
        (server.header.src_port, server.header.dst_port) = (server_port, client_port);
        (client.header.src_port, client.header.dst_port) = (client_port, server_port);
        let ends = self.maker.open(fabric.now, ports);
        let streams = BTreeMap::new();
        self.connected += 1;
        let number = self.connected;
        self.connections.push(Connection { number, ends, streams, next_stream: 0, is_closing: false, server_port });
    }
    /// Reads, writes and closes what can be now. A connection that gave up is replaced, and what it had not answered is
    /// asked again.
    fn go_on(&mut self, fabric: &mut Fabric) {
        let mut lost = Vec::new();
        for connection in &mut self.connections {
            if connection.ends.iter_mut().any(|end| end.endpoint.is_closed()) && !connection.streams.is_empty() {
                lost.push((connection.server_port, core::mem::take(&mut connection.streams), connection.is_closing));
                connection.is_closing = true;
            }
            self.received += connection.exchange(fabric.now, &mut self.done);
        }
        for (server_port, streams, is_closing) in lost {
            self.connect(server_port, fabric);
            let new = self.connections.last_mut().expect("it was opened now");
            new.is_closing = is_closing;
            streams.into_values().for_each(|(number, calls)| new.add(number, calls.again()));
            self.received += new.exchange(fabric.now, &mut self.done);
        }
    }
    /// Sends what may be sent now, sees to the timers, and forgets connections that both ends have closed.
    fn transmit(&mut self, fabric: &mut Fabric) {
        for connection in &mut self.connections {
            connection.ends.iter_mut().for_each(|end| end.transmit(fabric));
        }
        let is_over = |one: &mut Connection| one.ends.iter_mut().all(|end| end.endpoint.is_closed());
        for mut over in self.connections.extract_if(.., is_over) {
            fabric.record.logs.extend(logs(&mut over.ends, (self.index as u32, over.number), CLIENT));
        }
        for side in [SERVER, CLIENT] {
            let next = self.ends(side).filter_map(|end| end.endpoint.next_timeout()).min();
            if let Some(at) = next {
                fabric.set_timer(&mut self.alarms[side], at, 2 * self.index + side);
            }
        }
    }
    fn ends(&mut self, side: usize) -> impl Iterator<Item = &mut End> {
        self.connections.iter_mut().map(move |connection| &mut connection.ends[side])
    }
}

/// A flow of requests and responses.
#[derive(Debug)]
pub(crate) struct Exchange<C> {
    client: C,
    net: Net,
    nodes: (u32, u32),
    completions: Vec<Completion>,
}

impl<C: Client> Exchange<C> {
    pub fn of(flow: &FlowPlan, tcp: &TcpPlan, client: C, place: Place) -> Result<Exchange<C>, ParamError> {
        let index = place.index;
        let mut maker = Maker::new(flow, tcp, CLIENT, &place.origin, place.asked.keeps);
        maker.check(place.ports.clone())?;
        let (connections, alarms, done) = (Vec::new(), Default::default(), VecDeque::new());
        let net =
            Net { index, maker, ports: place.ports, connections, alarms, connected: 0, opened: 0, done, received: 0 };
        Ok(Exchange { client, net, nodes: (flow.from as u32, flow.to as u32), completions: Vec::new() })
    }
    fn row(&self, call: &Call) -> Completion {
        call.completion(self.net.index as u32, self.nodes, 0)
    }
    fn go_on(&mut self, fabric: &mut Fabric) {
        loop {
            self.net.go_on(fabric);
            let Some((answer, call)) = self.net.done.pop_front() else { break };
            if C::COMPLETIONS {
                let row = Completion { end: fabric.now, ..self.row(&call) };
                self.completions.push(row);
            }
            self.client.answered(answer, &mut Open(&mut self.net, fabric));
        }
        self.net.transmit(fabric);
    }
}

impl<C: Client + Send> App for Exchange<C> {
    fn start(&mut self, fabric: &mut Fabric) {
        self.client.start(&mut Open(&mut self.net, fabric));
        self.go_on(fabric);
    }
    fn step(&mut self, fabric: &mut Fabric) {
        self.client.wake(&mut Open(&mut self.net, fabric));
        self.go_on(fabric);
    }
    fn set_stop(&mut self, at: Time, _fabric: &mut Fabric) {
        self.client.set_stop(at);
    }
    fn on_timer(&mut self, side: usize, fabric: &mut Fabric) {
        if !self.net.alarms[side].fired(fabric.now) {
            return;
        }
        for end in self.net.ends(side) {
            if end.endpoint.next_timeout().is_some_and(|at| at <= fabric.now) {
                end.endpoint.on_timeout(fabric.now);
            }
        }
        self.go_on(fabric);
    }
    fn receive(&mut self, side: usize, packet: Packet, fabric: &mut Fabric) {
        match self.net.ends(side).find(|end| end.path_of(&packet.header).is_some()) {
            Some(end) => end.receive(&packet, fabric),
            None => fabric.pool.give(&packet),
        }
        self.go_on(fabric);
    }
    fn received(&self) -> u64 {
        self.net.received
    }
    /// The answers, and at last what was not answered.
    fn finish(&mut self, at: Time, record: &mut Record) {
        if C::COMPLETIONS {
            let calls = self.net.connections.iter().flat_map(|one| one.streams.values());
            let open: Vec<Completion> = calls.flat_map(|(_, calls)| calls.open()).map(|call| self.row(call)).collect();
            record.completions.extend(self.completions.drain(..).chain(open));
        }
        let flow = self.net.index as u32;
        self.client.finish(at, flow, record);
        for one in &mut self.net.connections {
            record.logs.extend(logs(&mut one.ends, (flow, one.number), CLIENT));
        }
    }
}
