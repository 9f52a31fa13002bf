//! The connections of the closed-loop kinds (`rpc`, `video`, `web`). What is asked for, and when, is the kind's own:
//! its [`Client`].

use super::{App, Place};
use crate::engine::event::Kind;
use crate::engine::timer::Alarms;
use crate::net::fabric::{Fabric, Port};
use crate::net::packet::Packet;
use haltere_plan::Record;
use haltere_plan::exchange::{Answer, CLIENT, Call, Calls, Client, Connections, SERVER};
use haltere_plan::plan::{FlowPlan, TcpPlan};
use haltere_plan::record::Completion;
use haltere_plan::rng::Rng;
use haltere_transport::{Connection, Role};
use haltere_units::outside::Origin;
use haltere_units::{Bytes, ParamError, Time};
use std::collections::VecDeque;

/// One end of a connection.
#[derive(Debug)]
struct End {
    socket: Connection,
    port: Port,
}

/// A connection with what is asked on it.
#[derive(Debug)]
struct Line {
    /// The server's end and the client's.
    ends: [End; 2],
    calls: Calls,
    /// The server's retransmissions when it last completed a response.
    retransmissions: u64,
}

/// The connections of a flow.
#[derive(Debug)]
pub(crate) struct Lines {
    index: usize,
    tcp: TcpPlan,
    ports: [Port; 2],
    origin: Origin,
    seeds: Rng,
    lines: Vec<Option<Line>>,
    /// Responses of which the client has not heard yet, and their retransmissions.
    done: VecDeque<(Answer, Call, u64)>,
    received: u64,
}

/// The connections as the client sees them.
struct Open<'a>(&'a mut Lines, &'a mut Fabric);

impl Connections for Open<'_> {
    fn now(&self) -> Time {
        self.1.now
    }
    fn open(&mut self, server_port: u16) -> usize {
        let Open(lines, fabric) = self;
        let line = lines.connect(server_port, fabric);
        let free = lines.lines.iter().position(Option::is_none).unwrap_or(lines.lines.len());
        if free == lines.lines.len() {
            lines.lines.push(None);
        }
        lines.lines[free] = Some(line);
        free
    }
    fn ask(&mut self, connection: usize, request: Bytes, response: Bytes) {
        let line = self.0.lines[connection].as_mut().expect("a connection that is open");
        line.calls.ask(request, response, self.1.now);
    }
    fn close(&mut self) {
        self.0.lines.iter_mut().flatten().for_each(|line| line.calls.close());
    }
    fn wake(&mut self, at: Time) {
        self.1.schedule(at, Kind::App, self.0.index);
    }
}

impl Lines {
    fn connect(&mut self, server_port: u16, fabric: &mut Fabric) -> Line {
        let client_port = fabric.hosts.ephemeral_port();
        let mut end = |side: usize, role, tcp| {
            let mut port = self.ports[side].clone();
            let ports = [server_port, client_port];
            (port.header.src_port, port.header.dst_port) = (ports[side], ports[1 - side]);
            let socket = Connection::new(
                role,
                Clone::clone(tcp),
                self.tcp.congestion.clone(),
                self.origin.with_seed(self.seeds.bits()),
            );
            End { socket: socket.expect("checked when the flow was made"), port }
        };
        let mut client = end(CLIENT, Role::Client, &self.tcp.receiver);
        let server = end(SERVER, Role::Server, &self.tcp.sender);
        client.socket.open(fabric.now);
        Line { ends: [server, client], calls: Calls::default(), retransmissions: 0 }
    }
    /// Reads, writes and closes what can be now on a connection.
    fn go_on(&mut self, number: usize, fabric: &mut Fabric) {
        let Some(line) = &mut self.lines[number] else { return };
        if line.is_dead() {
            return self.reopen(number, fabric);
        }
        let done = &mut self.done;
        self.received += line.exchange(|call, again| {
            done.push_back((Answer { connection: number, bytes: call.response() }, call, again))
        });
    }
    /// Sends what may be sent now, and forgets connections that both ends have closed.
    fn transmit(&mut self, fabric: &mut Fabric) {
        for place in &mut self.lines {
            let Some(line) = place else { continue };
            if line.ends.iter().all(|end| end.socket.is_closed()) {
                *place = None;
            } else {
                line.transmit(fabric);
            }
        }
    }
    /// A connection gave up: what it had not answered is asked again on another one.
    fn reopen(&mut self, number: usize, fabric: &mut Fabric) {
        let Some(old) = self.lines[number].take() else { return };
        if old.calls.is_over() {
            return;
        }
        let mut line = self.connect(old.ends[SERVER].port.header.src_port, fabric);
        line.calls = old.calls.again();
        self.lines[number] = Some(line);
    }
    /// Sees to the timer of one side of all connections.
    fn set_timer(&self, side: usize, alarms: &mut Alarms, fabric: &mut Fabric) {
        let sockets = self.lines.iter().flatten().map(|line| &line.ends[side].socket);
        let Some(next) = sockets.filter_map(Connection::next_timeout).min() else { return };
        let at = next.max(fabric.now);
        if next != Time::NEVER && alarms.wants(at) {
            fabric.schedule(at, Kind::Timer, 2 * self.index + side);
        }
    }
}

impl Line {
    /// The connection gave up: it ended though the peer had not closed.
    fn is_dead(&self) -> bool {
        self.ends.iter().any(|end| end.socket.is_closed() && !end.socket.is_peer_closed())
    }
    /// Both ends read and write what they can. Returns the bytes that the client read. `done` is called for every response
    /// that is read to its end, with the segments that were sent again.
    fn exchange(&mut self, mut done: impl FnMut(Call, u64)) -> u64 {
        let Line { ends: [server, client], calls, retransmissions } = self;
        let write = |end: &mut End, side: usize, calls: &mut Calls| {
            if calls.unwritten(side) > 0 {
                calls.wrote(side, end.socket.write(Bytes::new(calls.unwritten(side))).as_u64());
            }
        };
        write(client, CLIENT, calls);
        calls.heard(server.socket.read(u64::MAX));
        write(server, SERVER, calls);
        let read = client.socket.read(u64::MAX);
        calls.read(read, |call| {
            let again = server.socket.info().retransmissions;
            done(call, again - *retransmissions);
            *retransmissions = again;
        });
        if calls.is_over() && calls.unwritten(CLIENT) == 0 {
            client.socket.close();
        }
        if server.socket.is_peer_closed() && calls.unwritten(SERVER) == 0 {
            server.socket.close();
        }
        read
    }
    /// Sends what may be sent now.
    fn transmit(&mut self, fabric: &mut Fabric) {
        for End { socket, port } in &mut self.ends {
            while let Some((segment, ecn)) = socket.poll_transmit(fabric.now) {
                port.send_segment(&segment, 0, ecn, fabric);
            }
        }
    }
}

/// A flow of requests and responses.
#[derive(Debug)]
pub(crate) struct Exchange<C> {
    client: C,
    lines: Lines,
    alarms: [Alarms; 2],
    /// Node indices of the server and the client, for rows of `completions`.
    nodes: (u32, u32),
    completions: Vec<Completion>,
}

impl<C: Client> Exchange<C> {
    /// The flow of that plan, whose client asks.
    pub fn of(flow: &FlowPlan, tcp: &TcpPlan, client: C, place: Place) -> Result<Exchange<C>, ParamError> {
        // What the endpoints have to say of their parameters, they say before the run.
        Connection::new(Role::Client, tcp.receiver.clone(), tcp.congestion.clone(), place.origin.clone())?;
        Connection::new(Role::Server, tcp.sender.clone(), tcp.congestion.clone(), place.origin.clone())?;
        let lines = Lines {
            index: place.index,
            tcp: tcp.clone(),
            ports: place.ports,
            seeds: Rng::new(place.origin.seed, &format!("{}/connections", flow.name)),
            origin: place.origin,
            lines: Vec::new(),
            done: VecDeque::new(),
            received: 0,
        };
        let nodes = (flow.from as u32, flow.to as u32);
        Ok(Exchange { client, lines, alarms: Default::default(), nodes, completions: Vec::new() })
    }
    /// Goes on on every connection and tells the client of answers. Then packets are sent: what the client asks for in
    /// turn goes with the acknowledgements of the answer.
    fn go_on(&mut self, fabric: &mut Fabric) {
        loop {
            for number in 0..self.lines.lines.len() {
                self.lines.go_on(number, fabric);
            }
            let Some((answer, call, again)) = self.lines.done.pop_front() else { break };
            if C::COMPLETIONS {
                let row = call.completion(self.lines.index as u32, self.nodes, again);
                self.completions.push(Completion { end: fabric.now, ..row });
            }
            self.client.answered(answer, &mut Open(&mut self.lines, fabric));
        }
        self.lines.transmit(fabric);
        for side in [SERVER, CLIENT] {
            self.lines.set_timer(side, &mut self.alarms[side], fabric);
        }
    }
}

impl<C: Client> App for Exchange<C> {
    fn start(&mut self, fabric: &mut Fabric) {
        self.client.start(&mut Open(&mut self.lines, fabric));
        self.go_on(fabric);
    }
    fn step(&mut self, fabric: &mut Fabric) {
        self.client.wake(&mut Open(&mut self.lines, fabric));
        self.go_on(fabric);
    }
    fn set_stop(&mut self, at: Time, _fabric: &mut Fabric) {
        self.client.set_stop(at);
    }
    fn on_timer(&mut self, side: usize, fabric: &mut Fabric) {
        if !self.alarms[side].fired(fabric.now) {
            return;
        }
        for line in self.lines.lines.iter_mut().flatten() {
            let socket = &mut line.ends[side].socket;
            if socket.next_timeout().is_some_and(|at| at <= fabric.now) {
                socket.on_timeout(fabric.now);
            }
        }
        self.go_on(fabric);
    }
    fn receive(&mut self, side: usize, packet: Packet, fabric: &mut Fabric) {
        let h = &packet.header;
        let mut ends = self.lines.lines.iter_mut().flatten().map(|line| &mut line.ends[side]);
        // A packet of a connection that is no more finds none.
        let end = ends.find(|e| (e.port.header.src_port, e.port.header.dst_port) == (h.dst_port, h.src_port));
        if let (Some(end), Some(segment)) = (end, fabric.pool.open_segment(&packet)) {
            end.socket.on_segment(fabric.now, &segment, h.marks.ecn());
        }
        self.go_on(fabric);
    }
    fn received(&self) -> u64 {
        self.lines.received
    }
    /// The answers, and at last what was not answered.
    fn finish(&mut self, at: Time, record: &mut Record) {
        if C::COMPLETIONS {
            let open = self.lines.lines.iter().flatten().flat_map(|line| line.calls.open());
            let open = open.map(|call| call.completion(self.lines.index as u32, self.nodes, 0));
            record.completions.extend(self.completions.drain(..).chain(open));
        }
        self.client.finish(at, self.lines.index as u32, record);
    }
}
