//! The connections of the closed-loop kinds (`rpc`, `video`, `web`) as sockets. The kind's
//! [`Client`], the same as in the simulator, decides what is asked for and when. The agent drives both ends, so a
//! request does not carry its contents: [`Calls`] has them.
//!
//! Model: epoll is edge-triggered. A socket is then read until it is empty, and written until it is full or nothing is
//! left.
//! Deviations from the simulator: the server of each flow has a port of its own.
//! Known problems: a host's ephemeral ports limit how many connections it can have in a minute, since a closed
//! connection keeps its port. Servers' initial sequence numbers are the kernel's, so a classifier cannot tell a
//! packet's place in its stream.

use super::socket::{self, Dead, READ};
use super::{Context, Done, Endpoint, Observed, Opening, Side};
use crate::error::WireError;
use crate::kernel_tcp::TcpInfo;
use crate::namespace::node_address;
use haltere_plan::exchange::{Answer, CLIENT, Call, Calls, Client, Connections, SERVER};
use haltere_plan::plan::TcpPlan;
use haltere_plan::record::Completion;
use haltere_transport::TcpParams;
use haltere_units::{Bytes, Time};
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{Shutdown, SockaddrIn, getpeername, getsockname, setsockopt, shutdown, sockopt};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

const EDGES: EpollFlags =
    EpollFlags::EPOLLIN.union(EpollFlags::EPOLLOUT).union(EpollFlags::EPOLLRDHUP).union(EpollFlags::EPOLLET);
/// After these the end of a stream may follow its last bytes.
const ENDS: EpollFlags = EpollFlags::EPOLLRDHUP.union(EpollFlags::EPOLLHUP).union(EpollFlags::EPOLLERR);

/// A flow of requests and responses.
#[derive(Debug)]
pub(super) struct Exchange<'p, C> {
    client: C,
    pairs: Pairs<'p>,
    /// The answers, if they are rows of the table `completions`.
    done: Vec<Completion>,
}

/// The connections of a flow.
#[derive(Debug)]
struct Pairs<'p> {
    at: Opening<'p>,
    tcp: &'p TcpPlan,
    listener: OwnedFd,
    all: Vec<Option<SocketPair>>,
    /// Connections that the server has not accepted, by the client's port.
    waiting: HashMap<u16, usize>,
    /// Connections on which there may be something to write.
    asked: VecDeque<usize>,
    sink: Vec<u8>,
}

/// A connection with what is asked on it.
#[derive(Debug)]
struct SocketPair {
    client: OwnedFd,
    server: Option<OwnedFd>,
    calls: Calls,
    /// The server's retransmissions when it last completed a response.
    retransmissions: u64,
    /// The client has closed its side. Each further `shutdown` would be an edge, and wake the agent.
    is_shut: bool,
}

impl<'p, C: Client> Exchange<'p, C> {
    /// The flow at that place, whose client asks.
    pub(super) fn open(tcp: &'p TcpPlan, client: C, at: Opening<'p>) -> Result<Exchange<'p, C>, WireError> {
        let address = SocketAddrV4::new(node_address(at.flow.from), at.port());
        let listener = socket::listener(at.from, address, false, |socket| set_up(socket, &tcp.sender));
        let listener = listener.map_err(|e| at.failed("server", e))?;
        // What it accepts has its control and its buffers.
        at.set_congestion(&listener, tcp, at.from)?;
        let (all, waiting, asked, sink) = (Vec::new(), HashMap::new(), VecDeque::new(), vec![0; READ]);
        let pairs = Pairs { at, tcp, listener, all, waiting, asked, sink };
        Ok(Exchange { client, pairs, done: Vec::new() })
    }
    /// Lets the client act, and writes what it asks for.
    fn act(&mut self, context: &Context<'_>, act: impl FnOnce(&mut C, &mut Open<'_, 'p>)) -> Done {
        let mut open = Open { pairs: &mut self.pairs, context, failed: None };
        act(&mut self.client, &mut open);
        if let Some(error) = open.failed {
            return Err(error);
        }
        while let Some(number) = self.pairs.asked.pop_front() {
            self.pairs.write(context, number, CLIENT)?;
        }
        Ok(())
    }
    /// The client reads and is called for each complete answer.
    fn read(&mut self, context: &Context<'_>, ends: bool, observed: &mut Observed) -> Done {
        let mut answers = Vec::new();
        let received = &mut context.line(observed).received;
        *received += self.pairs.read(context, ends, |call, again| answers.push((call, again)))?;
        for (call, again) in answers {
            if C::COMPLETIONS {
                let row = call.completion(context.flow as u32, self.pairs.nodes(), again);
                self.done.push(Completion { end: context.now, ..row });
            }
            let answer = Answer { connection: context.part, bytes: call.response() };
            self.act(context, |client, open| client.answered(answer, open))?;
        }
        self.pairs.close_if_over(context.part);
        Ok(())
    }
}

impl Pairs<'_> {
    /// The nodes of the server and the client.
    fn nodes(&self) -> (u32, u32) {
        (self.at.flow.from as u32, self.at.flow.to as u32)
    }
    fn pair(&mut self, number: usize) -> Option<&mut SocketPair> {
        self.all.get_mut(number)?.as_mut()
    }
    /// Begins a connection that gets that number.
    fn connect(&mut self, context: &Context<'_>, number: usize, calls: Calls) -> Done {
        let (at, tcp) = (&self.at, self.tcp);
        let own = SocketAddrV4::new(node_address(at.flow.to), 0);
        let to = SocketAddrV4::new(node_address(at.flow.from), at.port());
        let client = at.connection(at.to, (Some(own), to), tcp, |socket| set_up(socket, &tcp.receiver))?;
        let local = getsockname::<SockaddrIn>(client.as_raw_fd()).map_err(|e| at.failed("a connection", e))?;
        self.waiting.insert(local.port(), number);
        context.watch_part(client.as_fd(), number, Side::Receiver, EDGES)?;
        self.all[number] = Some(SocketPair { client, server: None, calls, retransmissions: 0, is_shut: false });
        Ok(())
    }
    fn accept(&mut self, context: &Context<'_>) -> Done {
        while let Some(server) = socket::accept(&self.listener).map_err(|e| self.at.failed("a connection", e))? {
            // One that is closed already has no peer, and nothing to answer.
            let Ok(peer) = getpeername::<SockaddrIn>(server.as_raw_fd()) else { continue };
            let Some(number) = self.waiting.remove(&peer.port()) else { continue };
            let Some(pair) = self.pair(number) else { continue };
            context.watch_part(server.as_fd(), number, Side::Sender, EDGES)?;
            pair.server = Some(server);
        }
        Ok(())
    }
    /// A connection gave up: what it had not answered is asked again on another one.
    fn reopen(&mut self, context: &Context<'_>, number: usize) -> Done {
        match self.all[number].take() {
            Some(old) if !old.calls.is_over() => {
                self.connect(context, number, old.calls.again())?;
                self.write(context, number, CLIENT)
            }
            _ => Ok(()),
        }
    }
    /// Writes what is left to write on one side.
    fn write(&mut self, context: &Context<'_>, number: usize, side: usize) -> Done {
        match self.pair(number).map(|pair| pair.write(side)) {
            Some(Err(Dead)) => self.reopen(context, number),
            _ => Ok(()),
        }
    }
    /// The server reads requests and answers them.
    fn serve(&mut self, context: &Context<'_>, ends: bool) -> Done {
        let (number, sink) = (context.part, &mut self.sink);
        let Some(pair) = self.all.get_mut(number).and_then(Option::as_mut) else { return Ok(()) };
        let Some(server) = &pair.server else { return Ok(()) };
        let Ok((bytes, is_end)) = take(server, sink, ends) else { return self.reopen(context, number) };
        pair.calls.heard(bytes);
        if is_end && pair.calls.unwritten(SERVER) == 0 {
            // Its FIN tells the client, which then forgets the connection.
            pair.server = None;
            return Ok(());
        }
        self.write(context, number, SERVER)
    }
    /// The client reads responses. Returns the number of bytes. `done` is called for every complete response, with its
    /// retransmissions.
    fn read(&mut self, context: &Context<'_>, ends: bool, mut done: impl FnMut(Call, u64)) -> Result<u64, WireError> {
        let (number, sink) = (context.part, &mut self.sink);
        let Some(pair) = self.all.get_mut(number).and_then(Option::as_mut) else { return Ok(0) };
        let SocketPair { client, server, calls, retransmissions, .. } = pair;
        let Ok((bytes, is_end)) = take(client, sink, ends) else { return self.reopen(context, number).map(|()| 0) };
        calls.read(bytes, |call| {
            let info = server.as_ref().and_then(|server| TcpInfo::of(server.as_fd()).ok());
            let now = info.map_or(*retransmissions, |info| info.info().retransmissions);
            done(call, now - *retransmissions);
            *retransmissions = now;
        });
        if is_end {
            self.reopen(context, number)?;
        }
        Ok(bytes)
    }
    /// Closes the client's side if it asks for nothing more.
    fn close_if_over(&mut self, number: usize) {
        if let Some(pair) = self.pair(number)
            && pair.calls.is_over()
            && pair.calls.unwritten(CLIENT) == 0
            && !std::mem::replace(&mut pair.is_shut, true)
        {
            // Not connected (any more): nothing is left to close.
            let _ = shutdown(pair.client.as_raw_fd(), Shutdown::Write);
        }
    }
}

impl SocketPair {
    /// Writes what is left to write on one side.
    fn write(&mut self, side: usize) -> Result<(), Dead> {
        let socket = if side == CLIENT { Some(&self.client) } else { self.server.as_ref() };
        let Some(socket) = socket else { return Ok(()) };
        while self.calls.unwritten(side) > 0 {
            let Some(n) = socket::write(socket, self.calls.unwritten(side))? else { return Ok(()) };
            self.calls.wrote(side, n);
        }
        Ok(())
    }
}

/// Reads everything. Returns the number of bytes, and whether the peer has closed its side, as it may have if `ends`.
fn take(socket: &OwnedFd, sink: &mut [u8], ends: bool) -> Result<(u64, bool), Dead> {
    let mut bytes = 0;
    loop {
        match socket::read(socket, sink)? {
            Some(0) => return Ok((bytes, true)),
            None => return Ok((bytes, false)),
            Some(n) => {
                bytes += n;
                if n < sink.len() as u64 && !ends {
                    return Ok((bytes, false)); // it is empty: what comes later is another edge
                }
            }
        }
    }
}

/// The buffers and the Nagle algorithm of one end, before it is connected.
fn set_up(socket: &OwnedFd, tcp: &TcpParams) -> io::Result<()> {
    socket::set_buffers(socket, tcp.send_buffer, tcp.recv_buffer)?;
    Ok(setsockopt(socket, sockopt::TcpNoDelay, &!tcp.nagle)?)
}

/// The connections as the client sees them.
struct Open<'a, 'p> {
    pairs: &'a mut Pairs<'p>,
    context: &'a Context<'a>,
    failed: Option<WireError>,
}

impl Connections for Open<'_, '_> {
    fn now(&self) -> Time {
        self.context.now
    }
    fn open(&mut self, _server_port: u16) -> usize {
        let free = self.pairs.all.iter().position(Option::is_none).unwrap_or(self.pairs.all.len());
        if free == self.pairs.all.len() {
            self.pairs.all.push(None);
        }
        if let Err(error) = self.pairs.connect(self.context, free, Calls::default()) {
            self.failed = Some(error);
        }
        free
    }
    fn ask(&mut self, connection: usize, request: Bytes, response: Bytes) {
        if let Some(pair) = self.pairs.pair(connection) {
            pair.calls.ask(request, response, self.context.now);
            self.pairs.asked.push_back(connection);
        }
    }
    fn close(&mut self) {
        for number in 0..self.pairs.all.len() {
            if let Some(pair) = self.pairs.pair(number) {
                pair.calls.close();
            }
            self.pairs.close_if_over(number);
        }
    }
    fn wake(&mut self, at: Time) {
        self.context.tick_at(at);
    }
}

impl<C: Client> Endpoint for Exchange<'_, C> {
    fn start(&mut self, context: &Context<'_>, _at: Time, _observed: &mut Observed) -> Done {
        context.watch(self.pairs.listener.as_fd(), Side::Listener, EpollFlags::EPOLLIN)?;
        self.act(context, |client, open| client.start(open))
    }
    fn tick(&mut self, context: &Context<'_>, _at: Time, _observed: &mut Observed) -> Done {
        self.act(context, |client, open| client.wake(open))
    }
    fn ready(&mut self, context: &Context<'_>, side: Side, events: EpollFlags, observed: &mut Observed) -> Done {
        let ends = events.intersects(ENDS);
        match side {
            Side::Listener => self.pairs.accept(context),
            Side::Sender => self.pairs.serve(context, ends),
            Side::Receiver => {
                self.pairs.write(context, context.part, CLIENT)?;
                self.read(context, ends, observed)
            }
        }
    }
    /// Closes the connections without an open request. The client stops asking by itself.
    fn stop(&mut self, _context: &Context<'_>) {
        for number in 0..self.pairs.all.len() {
            if let Some(pair) = self.pairs.pair(number)
                && pair.calls.open().next().is_none()
            {
                pair.calls.close();
                self.pairs.close_if_over(number);
            }
        }
    }
    fn is_sampled(&self) -> bool {
        true
    }
    fn finish(&mut self, observed: &mut Observed) {
        let flow = self.pairs.at.index as u32;
        if C::COMPLETIONS {
            let open = self.pairs.all.iter().flatten().flat_map(|pair| pair.calls.open());
            let open = open.map(|call| call.completion(flow, self.pairs.nodes(), 0));
            observed.completions.extend(self.done.drain(..).chain(open));
        }
        self.client.finish(self.pairs.at.plan.end, flow, observed);
    }
}

impl Drop for Pairs<'_> {
    fn drop(&mut self) {
        for pair in self.all.iter().flatten() {
            [Some(&pair.client), pair.server.as_ref()].into_iter().flatten().for_each(socket::reset_when_dropped);
        }
    }
}
