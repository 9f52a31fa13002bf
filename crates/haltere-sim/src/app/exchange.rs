//! Requests and responses over TCP: what the closed-loop kinds (`rpc`, `video`, `web`) share.
//!
//! The asker is the flow's receiver and opens connections. The answerer is the flow's sender: so the data of responses goes the way that
//! data goes in every other kind. What is asked for, and when, is the kind's own: its [`Client`].
//!
//! Model: a request is written at once, and answered at once when all of it has been read. Several requests may be in flight on a
//! connection; they are answered in order. A connection that gives up (too many retransmissions) is opened again, and what it had not
//! answered is asked again. Units: bytes, ns. Known problems: neither TLS nor HTTP headers of responses; a server takes no time.

use super::{App, Place};
use crate::engine::event::Kind;
use crate::engine::timer::Alarms;
use crate::net::fabric::{Fabric, Port};
use crate::net::packet::Packet;
use haltere_plan::Record;
use haltere_plan::plan::{FlowPlan, TcpPlan};
use haltere_plan::record::Completion;
use haltere_plan::rng::Rng;
use haltere_transport::{Connection, Role};
use haltere_units::{Bytes, Dur, ParamError, Time};
use std::collections::VecDeque;
use std::fmt::Debug;

/// The side that answers: the flow's sender.
const SERVER: usize = 0;
/// The side that asks.
const CLIENT: usize = 1;

/// What asks.
pub(crate) trait Client: Debug {
    /// Every answer is a row of the table `completions`.
    const COMPLETIONS: bool = false;
    /// The flow starts.
    fn start(&mut self, lines: &mut Lines, fabric: &mut Fabric);
    /// A time for which it asked with [`Lines::wake`] has come.
    fn wake(&mut self, lines: &mut Lines, fabric: &mut Fabric);
    /// The last byte of a response was read.
    fn answered(&mut self, answer: Answer, lines: &mut Lines, fabric: &mut Fabric);
    /// It asks for nothing more from `at` on.
    fn set_stop(&mut self, at: Time);
    /// The run is over at `at`: writes down rows of its own. `flow` is the flow's index.
    fn finish(&mut self, _at: Time, _flow: u32, _record: &mut Record) {}
}

/// A response that has been read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    /// The connection on which it came.
    pub line: usize,
    /// Its bytes.
    pub bytes: u64,
}

/// A request and its response.
#[derive(Debug, Clone, Copy)]
struct Call {
    asked: Time,
    request: u64,
    response: u64,
    /// Bytes of the request that the server has not read.
    request_left: u64,
    /// Bytes of the response that the client has not read.
    response_left: u64,
}

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
    /// What is not answered, the oldest first.
    calls: VecDeque<Call>,
    /// Of requests and of responses, what their writer's socket has not taken.
    unwritten: [u64; 2],
    /// Nothing more will be asked.
    closing: bool,
    /// The server's retransmissions when it last completed a response.
    retransmissions: u64,
}

/// The connections of a flow.
#[derive(Debug)]
pub(crate) struct Lines {
    index: usize,
    tcp: TcpPlan,
    ports: [Port; 2],
    seeds: Rng,
    lines: Vec<Option<Line>>,
    /// Responses of which the client has not heard yet, and their retransmissions.
    done: VecDeque<(Answer, Call, u64)>,
    received: u64,
}

impl Lines {
    /// Opens a connection to that port of the server. Returns its number.
    pub fn open(&mut self, server_port: u16, fabric: &mut Fabric) -> usize {
        let line = self.connect(server_port, fabric);
        let free = self.lines.iter().position(Option::is_none).unwrap_or(self.lines.len());
        if free == self.lines.len() {
            self.lines.push(None);
        }
        self.lines[free] = Some(line);
        free
    }
    /// Asks for `response` bytes with `request` bytes, one at least each.
    pub fn ask(&mut self, line: usize, request: Bytes, response: Bytes, now: Time) {
        let line = self.lines[line].as_mut().expect("a connection that is open");
        let (request, response) = (request.as_u64().max(1), response.as_u64().max(1));
        line.unwritten[CLIENT] += request;
        line.calls.push_back(Call { asked: now, request, response, request_left: request, response_left: response });
    }
    /// Closes all connections once they have answered.
    pub fn close(&mut self) {
        self.lines.iter_mut().flatten().for_each(|line| line.closing = true);
    }
    /// Wakes the client at `at`.
    pub fn wake(&mut self, at: Time, fabric: &mut Fabric) {
        fabric.schedule(at, Kind::App, self.index);
    }
    fn connect(&mut self, server_port: u16, fabric: &mut Fabric) -> Line {
        let client_port = fabric.ephemeral_port();
        let mut end = |side: usize, role, tcp| {
            let mut port = self.ports[side].clone();
            let ports = [server_port, client_port];
            (port.header.src_port, port.header.dst_port) = (ports[side], ports[1 - side]);
            let socket = Connection::new(role, Clone::clone(tcp), self.tcp.congestion.clone(), self.seeds.bits());
            End { socket: socket.expect("checked when the flow was made"), port }
        };
        let mut client = end(CLIENT, Role::Client, &self.tcp.receiver);
        let server = end(SERVER, Role::Server, &self.tcp.sender);
        client.socket.open(fabric.now);
        Line { ends: [server, client], calls: VecDeque::new(), unwritten: [0; 2], closing: false, retransmissions: 0 }
    }
    /// Reads, writes and closes what can be now on a connection.
    fn go_on(&mut self, number: usize, fabric: &mut Fabric) {
        let Some(line) = &mut self.lines[number] else { return };
        if line.is_dead() {
            return self.reopen(number, fabric);
        }
        let done = &mut self.done;
        self.received +=
            line.exchange(|call, bytes, again| done.push_back((Answer { line: number, bytes }, call, again)));
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
        if old.calls.is_empty() && old.closing {
            return;
        }
        let mut line = self.connect(old.ends[SERVER].port.header.src_port, fabric);
        let again = |call: Call| Call { request_left: call.request, response_left: call.response, ..call };
        line.calls = old.calls.into_iter().map(again).collect();
        line.unwritten[CLIENT] = line.calls.iter().map(|call| call.request).sum();
        line.closing = old.closing;
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
    /// Both ends read and write what they can. Returns the bytes that the client read. `done` hears of every response that is read to
    /// its end, with its bytes and the segments that were sent again.
    fn exchange(&mut self, mut done: impl FnMut(Call, u64, u64)) -> u64 {
        let Line { ends: [server, client], calls, unwritten, closing, retransmissions } = self;
        let mut write = |end: &mut End, side: usize| {
            if unwritten[side] > 0 {
                unwritten[side] -= end.socket.write(Bytes::new(unwritten[side])).as_u64();
            }
        };
        write(client, CLIENT);
        let mut heard = server.socket.read(u64::MAX);
        let mut to_answer = 0;
        for call in calls.iter_mut().filter(|call| call.request_left > 0) {
            let part = heard.min(call.request_left);
            (call.request_left, heard) = (call.request_left - part, heard - part);
            if call.request_left > 0 {
                break;
            }
            to_answer += call.response;
        }
        unwritten[SERVER] += to_answer;
        if unwritten[SERVER] > 0 {
            unwritten[SERVER] -= server.socket.write(Bytes::new(unwritten[SERVER])).as_u64();
        }
        let read = client.socket.read(u64::MAX);
        let mut left = read;
        while let Some(call) = calls.front_mut().filter(|_| left > 0) {
            let part = left.min(call.response_left);
            (call.response_left, left) = (call.response_left - part, left - part);
            if call.response_left > 0 {
                break;
            }
            let again = server.socket.info().retransmissions;
            done(*call, call.response, again - *retransmissions);
            *retransmissions = again;
            calls.pop_front();
        }
        if *closing && calls.is_empty() && unwritten[CLIENT] == 0 {
            client.socket.close();
        }
        if server.socket.is_peer_closed() && unwritten[SERVER] == 0 {
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
        Connection::new(Role::Client, tcp.receiver.clone(), tcp.congestion.clone(), 0)?;
        Connection::new(Role::Server, tcp.sender.clone(), tcp.congestion.clone(), 0)?;
        let lines = Lines {
            index: place.index,
            tcp: tcp.clone(),
            ports: place.ports,
            seeds: Rng::new(place.seed, &format!("{}/connections", flow.name)),
            lines: Vec::new(),
            done: VecDeque::new(),
            received: 0,
        };
        let nodes = (flow.from as u32, flow.to as u32);
        Ok(Exchange { client, lines, alarms: Default::default(), nodes, completions: Vec::new() })
    }
    /// Goes on on every connection and tells the client of answers. Then packets are sent: what the client asks for in turn goes with
    /// the acknowledgements of the answer.
    fn go_on(&mut self, fabric: &mut Fabric) {
        loop {
            for number in 0..self.lines.lines.len() {
                self.lines.go_on(number, fabric);
            }
            let Some((answer, call, again)) = self.lines.done.pop_front() else { break };
            if C::COMPLETIONS {
                self.completions.push(Completion { end: fabric.now, ..self.completion(&call, again) });
            }
            self.client.answered(answer, &mut self.lines, fabric);
        }
        self.lines.transmit(fabric);
        for side in [SERVER, CLIENT] {
            self.lines.set_timer(side, &mut self.alarms[side], fabric);
        }
    }
    /// The row of a call. What it takes at least is computed when the run is over.
    fn completion(&self, call: &Call, retransmissions: u64) -> Completion {
        Completion {
            flow: self.lines.index as u32,
            from: self.nodes.0,
            to: self.nodes.1,
            retransmissions: retransmissions as u32,
            bytes: call.response,
            start: call.asked,
            end: Time::NEVER,
            ideal: Dur::ZERO,
        }
    }
}

impl<C: Client> App for Exchange<C> {
    fn start(&mut self, fabric: &mut Fabric) {
        self.client.start(&mut self.lines, fabric);
        self.go_on(fabric);
    }
    fn step(&mut self, fabric: &mut Fabric) {
        self.client.wake(&mut self.lines, fabric);
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
            if h.marks.is_returned() {
                end.socket.on_returned(fabric.now, &segment);
            } else {
                end.socket.on_segment(fabric.now, &segment, h.marks.ecn());
            }
        }
        self.go_on(fabric);
    }
    fn received(&self) -> u64 {
        self.lines.received
    }
    /// The answers, and at last what was not answered.
    fn finish(&mut self, at: Time, record: &mut Record) {
        if C::COMPLETIONS {
            let open = self.lines.lines.iter().flatten().flat_map(|line| &line.calls);
            let open: Vec<Completion> = open.map(|call| self.completion(call, 0)).collect();
            record.completions.extend(self.completions.drain(..).chain(open));
        }
        self.client.finish(at, self.lines.index as u32, record);
    }
}
