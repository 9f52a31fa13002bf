//! TCP flows that start and end during the run: Poisson arrivals, the rounds of an incast, and flows of a trace.
//!
//! The same flows as in the simulator: when, between whom and how large is drawn from the plan and the seed alone
//! ([`FlowArrivals`]). Each is a connection of its own. It is complete when its last byte is read.
//! Known problems: a host's ephemeral ports limit how many flows it can have in a minute, since a closed connection keeps its port.

use super::stream::{READ, ZEROS, choose_isn, set_congestion, stream_socket};
use super::{Context, Done, Endpoint, Kind, Observed, Opening, Side};
use crate::error::WireError;
use crate::kernel_tcp::TcpInfo;
use crate::namespace::node_address;
use haltere_plan::Routes;
use haltere_plan::arrivals::{FlowArrival, FlowArrivals, delay, ideal};
use haltere_plan::plan::ArrivalsPlan;
use haltere_plan::record::Completion;
use haltere_units::Time;
use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{
    Backlog, MsgFlags, Shutdown, SockFlag, SockaddrIn, accept4, bind, connect, getpeername, getsockname, listen, recv,
    send, setsockopt, shutdown, sockopt,
};
use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// The kind.
pub(super) struct Arrivals;

impl Kind for Arrivals {
    type Plan = Box<ArrivalsPlan>;
    type Endpoint<'p> = Process<'p>;
    fn open<'p>(plan: &'p Box<ArrivalsPlan>, at: Opening<'p>) -> Result<Process<'p>, WireError> {
        Process::open(plan, at)
    }
}

/// One traffic entry whose flows arrive during the run.
#[derive(Debug)]
pub(super) struct Process<'p> {
    plan: &'p ArrivalsPlan,
    at: Opening<'p>,
    arrivals: FlowArrivals,
    next: Option<FlowArrival>,
    listeners: Vec<OwnedFd>,
    flows: Vec<Option<Flow>>,
    /// Flows whose receiver has not accepted them, by address and port of their sender.
    waiting: HashMap<(Ipv4Addr, u16), usize>,
    routes: Routes,
    done: Vec<Completion>,
    sink: Vec<u8>,
}

/// One flow.
#[derive(Debug)]
struct Flow {
    sender: OwnedFd,
    receiver: Option<OwnedFd>,
    unwritten: u64,
    received: u64,
    completion: Completion,
}

impl Flow {
    /// What is known of it now.
    fn line(&self) -> Completion {
        let sent_again = TcpInfo::of(self.sender.as_fd()).map_or(0, |info| info.info().retransmissions);
        Completion { retransmissions: sent_again as u32, ..self.completion }
    }
}

impl<'p> Process<'p> {
    fn open(plan: &'p ArrivalsPlan, at: Opening<'p>) -> Result<Process<'p>, WireError> {
        let mut listeners = Vec::new();
        let dctcp = plan.tcp.congestion.kind() == "dctcp";
        for node in nodes(plan).1 {
            let host = at.host(node)?;
            let listener = host.enter(|| {
                let listener = stream_socket(false)?;
                if let Some(bytes) = plan.tcp.receiver.recv_buffer {
                    // The kernel doubles it, and half is window.
                    setsockopt(&listener, sockopt::RcvBufForce, &(bytes.as_u64() as usize))?;
                }
                bind(listener.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(node_address(node), at.port())))?;
                listen(&listener, Backlog::MAXCONN)?;
                Ok(listener)
            });
            let listener = listener.map_err(|e| WireError::os(format!("{}: receiver", at.flow.name), e))?;
            if dctcp {
                set_congestion(&at.flow.name, &listener, &plan.tcp, host, at.manner)?;
            }
            listeners.push(listener);
        }
        let arrivals = FlowArrivals::new(plan, &at.flow.name, at.flow.start, at.flow.stop, at.seed);
        let routes = Routes::of(at.plan);
        let (flows, waiting, done) = (Vec::new(), HashMap::new(), Vec::new());
        Ok(Process { plan, at, arrivals, next: None, listeners, flows, waiting, routes, done, sink: vec![0; READ] })
    }
    /// The next flow is due at its time.
    fn wait(&mut self, context: &Context<'_>) {
        self.next = self.arrivals.next();
        if let Some(arrival) = self.next {
            context.tick_at(arrival.at);
        }
    }
    fn begin(&mut self, context: &Context<'_>, arrival: FlowArrival) -> Done {
        let failed = |e: io::Error| WireError::os(format!("{}: a flow", self.at.flow.name), e);
        let FlowArrival { at, from, to, bytes } = arrival;
        let (host, port, tcp) = (self.at.host(from)?, self.at.port(), &self.plan.tcp);
        let own = SockaddrIn::from(SocketAddrV4::new(node_address(from), 0));
        let made = host.enter(|| {
            let sender = stream_socket(false)?;
            bind(sender.as_raw_fd(), &own)?;
            choose_isn(sender.as_fd(), port)?;
            if let Some(bytes) = tcp.sender.send_buffer {
                setsockopt(&sender, sockopt::SndBufForce, &(bytes.as_u64() as usize))?;
            }
            setsockopt(&sender, sockopt::TcpNoDelay, &!tcp.sender.nagle)?;
            Ok(sender)
        });
        let sender = made.map_err(failed)?;
        set_congestion(&self.at.flow.name, &sender, tcp, host, self.at.manner)?;
        match connect(sender.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(node_address(to), port))) {
            Ok(()) | Err(Errno::EINPROGRESS) => {}
            Err(e) => return Err(failed(e.into())),
        }
        let number = self.flows.len();
        let local = getsockname::<SockaddrIn>(sender.as_raw_fd()).map_err(|e| failed(e.into()))?;
        self.waiting.insert((node_address(from), local.port()), number);
        context.watch_part(sender.as_fd(), number, Side::Sender, EpollFlags::EPOLLOUT)?;
        let [there, back] = [(from, to), (to, from)].map(|(from, to)| self.routes.path(from, to).unwrap_or_default());
        let mss = tcp.sender.mss.min(tcp.receiver.mss);
        let completion = Completion {
            flow: self.at.index as u32,
            from: from as u32,
            to: to as u32,
            retransmissions: 0,
            bytes: bytes.as_u64(),
            start: at,
            end: Time::NEVER,
            ideal: ideal(self.at.plan, (&there, &back), bytes, mss) + delay(self.at.plan, &there),
        };
        self.flows.push(Some(Flow { sender, receiver: None, unwritten: bytes.as_u64(), received: 0, completion }));
        Ok(())
    }
    fn accept(&mut self, context: &Context<'_>) -> Done {
        let failed = |e: Errno| WireError::os(format!("{}: accepting", self.at.flow.name), e);
        let listener = &self.listeners[context.part];
        loop {
            let receiver = match accept4(listener.as_raw_fd(), SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC) {
                Ok(fd) => super::stream::owned(fd),
                Err(Errno::EAGAIN) => return Ok(()),
                Err(Errno::EINTR | Errno::ECONNABORTED) => continue,
                Err(e) => return Err(failed(e)),
            };
            let peer = getpeername::<SockaddrIn>(receiver.as_raw_fd()).map_err(failed)?;
            let Some(number) = self.waiting.remove(&(peer.ip(), peer.port())) else { continue };
            let Some(flow) = &mut self.flows[number] else { continue };
            context.watch_part(receiver.as_fd(), number, Side::Receiver, EpollFlags::EPOLLIN)?;
            flow.receiver = Some(receiver);
        }
    }
    /// Writes what is left of a flow, and then closes its side.
    fn write(&mut self, context: &Context<'_>) {
        let Some(flow) = self.flows.get_mut(context.part).and_then(Option::as_mut) else { return };
        while flow.unwritten > 0 {
            let most = flow.unwritten.min(ZEROS.len() as u64) as usize;
            match send(flow.sender.as_raw_fd(), &ZEROS[..most], MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL) {
                Ok(n) => flow.unwritten -= n as u64,
                Err(Errno::EAGAIN | Errno::EINTR) => return,
                Err(_) => return context.forget(flow.sender.as_fd()), // reset: it never completes
            }
        }
        context.forget(flow.sender.as_fd());
        // Not connected (any more): nothing is left to close.
        let _ = shutdown(flow.sender.as_raw_fd(), Shutdown::Write);
    }
    /// Reads what has come of a flow. At its last byte it is complete; when both sides are closed it is gone.
    fn read(&mut self, context: &Context<'_>, observed: &mut Observed) {
        let Some(flow) = self.flows.get_mut(context.part).and_then(Option::as_mut) else { return };
        let Some(receiver) = &flow.receiver else { return };
        match recv(receiver.as_raw_fd(), &mut self.sink, MsgFlags::MSG_TRUNC | MsgFlags::MSG_DONTWAIT) {
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            Ok(n @ 1..) => {
                flow.received += n as u64;
                if flow.received >= flow.completion.bytes && flow.completion.end == Time::NEVER {
                    flow.completion.end = context.now;
                    // A traffic entry delivered what its completed flows delivered.
                    context.line(observed).received += flow.completion.bytes;
                }
            }
            Ok(_) | Err(_) => {
                context.forget(receiver.as_fd());
                if let Some(flow) = self.flows[context.part].take() {
                    self.done.push(flow.line());
                }
            }
        }
    }
}

impl Endpoint for Process<'_> {
    fn start(&mut self, context: &Context<'_>, _at: Time, _observed: &mut Observed) -> Done {
        for (place, listener) in self.listeners.iter().enumerate() {
            context.watch_part(listener.as_fd(), place, Side::Listener, EpollFlags::EPOLLIN)?;
        }
        self.wait(context);
        Ok(())
    }
    fn tick(&mut self, context: &Context<'_>, _at: Time, _observed: &mut Observed) -> Done {
        if let Some(arrival) = self.next.take() {
            self.begin(context, arrival)?;
        }
        self.wait(context);
        Ok(())
    }
    fn ready(&mut self, context: &Context<'_>, side: Side, _: EpollFlags, observed: &mut Observed) -> Done {
        match side {
            Side::Listener => self.accept(context)?,
            Side::Sender => self.write(context),
            Side::Receiver => self.read(context, observed),
        }
        Ok(())
    }
    fn finish(&mut self, observed: &mut Observed) {
        observed.completions.extend(&self.done);
        observed.completions.extend(self.flows.iter().flatten().map(Flow::line));
    }
}

impl Drop for Process<'_> {
    fn drop(&mut self) {
        // Reset instead of a long goodbye: orphans would keep TCP memory for minutes.
        let linger = libc::linger { l_onoff: 1, l_linger: 0 };
        for flow in self.flows.iter().flatten() {
            let _ = setsockopt(&flow.sender, sockopt::Linger, &linger);
        }
    }
}

/// The nodes that may send, and those that may receive.
pub(crate) fn nodes(plan: &ArrivalsPlan) -> (Vec<usize>, Vec<usize>) {
    use haltere_plan::plan::{Between, Pattern};
    let (mut from, mut to): (Vec<usize>, Vec<usize>) = match (&plan.pattern, &plan.between) {
        (Pattern::Replay(flows), _) => flows.iter().map(|flow| (flow.from, flow.to)).unzip(),
        (Pattern::Incast { to: Some(to), .. }, Between::Hosts(hosts)) => (hosts.to_vec(), vec![*to]),
        (_, Between::Hosts(hosts)) => (hosts.to_vec(), hosts.to_vec()),
        (_, Between::Pairs(pairs)) => pairs.iter().copied().unzip(),
    };
    for nodes in [&mut from, &mut to] {
        nodes.sort_unstable();
        nodes.dedup();
    }
    (from, to)
}
