//! The connections of the closed-loop kinds (`rpc`, `video`, `web`). What is asked for, and when, is the kind's own:
//! its [`Client`].

use super::sockets::{self, End, Peers, Sockets, is_dead};
use super::{App, Place};
use crate::engine::event::Kind;
use crate::net::fabric::Fabric;
use crate::net::packet::Packet;
use haltere_plan::Record;
use haltere_plan::exchange::{Answer, CLIENT, Call, Calls, Client, Connections, SERVER};
use haltere_plan::plan::{FlowPlan, TcpPlan};
use haltere_plan::record::Completion;
use haltere_units::{Bytes, ParamError, Time};
use std::collections::VecDeque;

/// A connection with what is asked on it.
#[derive(Debug)]
struct Line {
    /// The server's end and the client's.
    ends: Peers,
    calls: Calls,
    /// The server's retransmissions when it last completed a response.
    retransmissions: u64,
}

/// The connections of a flow.
#[derive(Debug)]
pub(crate) struct Lines {
    sockets: Sockets,
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
        self.1.schedule(at, Kind::App, self.0.sockets.index);
    }
}

impl Lines {
    fn connect(&mut self, server_port: u16, fabric: &mut Fabric) -> Line {
        let ends = self.sockets.open(server_port, None, fabric);
        Line { ends, calls: Calls::default(), retransmissions: 0 }
    }
    fn ends_mut(&mut self) -> (&mut Sockets, impl Iterator<Item = &mut Peers>) {
        (&mut self.sockets, self.lines.iter_mut().flatten().map(|line| &mut line.ends))
    }
    /// Reads, writes and closes what can be now on a connection.
    fn go_on(&mut self, number: usize, fabric: &mut Fabric) {
        let Some(line) = &mut self.lines[number] else { return };
        if is_dead(&line.ends) {
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
                line.ends.iter_mut().for_each(|end| end.transmit(fabric));
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
}

impl Line {
    /// Both ends read and write what they can. Returns the bytes that the client read. `done` is called for every
    /// response that is read to its end, with the segments that were sent again.
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
}

/// A flow of requests and responses.
#[derive(Debug)]
pub(crate) struct Exchange<C> {
    client: C,
    lines: Lines,
    /// Node indices of the server and the client, for rows of `completions`.
    nodes: (u32, u32),
    completions: Vec<Completion>,
}

impl<C: Client> Exchange<C> {
    /// The flow of that plan, whose client asks.
    pub fn of(flow: &FlowPlan, tcp: &TcpPlan, client: C, place: Place) -> Result<Exchange<C>, ParamError> {
        let sockets = Sockets::new(flow, tcp, CLIENT, place)?;
        let lines = Lines { sockets, lines: Vec::new(), done: VecDeque::new(), received: 0 };
        let nodes = (flow.from as u32, flow.to as u32);
        Ok(Exchange { client, lines, nodes, completions: Vec::new() })
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
                let row = call.completion(self.lines.sockets.index as u32, self.nodes, again);
                self.completions.push(Completion { end: fabric.now, ..row });
            }
            self.client.answered(answer, &mut Open(&mut self.lines, fabric));
        }
        self.lines.transmit(fabric);
        for side in [SERVER, CLIENT] {
            let (sockets, ends) = self.lines.ends_mut();
            sockets.set_timer(side, ends.map(|ends| &*ends), fabric);
        }
    }
}

impl<C: Client + Send> App for Exchange<C> {
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
        let (sockets, ends) = self.lines.ends_mut();
        if sockets.on_timer(side, fabric.now, ends) {
            self.go_on(fabric);
        }
    }
    fn receive(&mut self, side: usize, packet: Packet, fabric: &mut Fabric) {
        sockets::receive(side, &packet, self.lines.ends_mut().1, fabric);
        self.go_on(fabric);
    }
    fn received(&self) -> u64 {
        self.lines.received
    }
    /// The answers, and at last what was not answered.
    fn finish(&mut self, at: Time, record: &mut Record) {
        if C::COMPLETIONS {
            let open = self.lines.lines.iter().flatten().flat_map(|line| line.calls.open());
            let open = open.map(|call| call.completion(self.lines.sockets.index as u32, self.nodes, 0));
            record.completions.extend(self.completions.drain(..).chain(open));
        }
        self.client.finish(at, self.lines.sockets.index as u32, record);
    }
}
