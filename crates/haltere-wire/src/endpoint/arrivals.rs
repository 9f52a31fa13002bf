//! TCP flows that start and end during the run: Poisson arrivals, the rounds of an incast, and flows of a trace.
//!
//! The flows are those of the simulator: start, hosts and size follow from the plan and the seed ([`FlowArrivals`]).
//! Each flow is a connection. It is complete when its last byte is read.
//! Known problems: a host's ephemeral ports limit how many flows it can have in a minute, since a closed connection
//! keeps its port.

use super::socket::{self, READ};
use super::{Context, Done, Endpoint, Observed, Opened, Opening, Side};
use crate::error::WireError;
use crate::kernel_tcp::TcpInfo;
use crate::namespace::node_address;
use haltere_plan::Routes;
use haltere_plan::arrivals::{FlowArrival, FlowArrivals, delay, ideal};
use haltere_plan::plan::ArrivalsPlan;
use haltere_plan::record::Completion;
use haltere_units::Time;
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{Shutdown, SockaddrIn, getpeername, getsockname, setsockopt, shutdown, sockopt};
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Opens a flow of the kind.
pub(super) fn open<'p>(plan: &'p ArrivalsPlan, at: Opening<'p>) -> Opened<'p> {
    Ok(Box::new(Process::open(plan, at)?))
}

/// One traffic entry whose flows arrive during the run.
#[derive(Debug)]
pub(super) struct Process<'p> {
    plan: &'p ArrivalsPlan,
    at: Opening<'p>,
    arrivals: FlowArrivals,
    next: Option<FlowArrival>,
    listeners: Vec<OwnedFd>,
    flows: Vec<Option<ArrivedFlow>>,
    /// Flows whose receiver has not accepted them, by address and port of their sender.
    waiting: HashMap<(Ipv4Addr, u16), usize>,
    routes: Routes,
    done: Vec<Completion>,
    sink: Vec<u8>,
}

#[derive(Debug)]
struct ArrivedFlow {
    sender: OwnedFd,
    receiver: Option<OwnedFd>,
    unwritten: u64,
    received: u64,
    completion: Completion,
}

impl ArrivedFlow {
    /// Its current row of the record.
    fn line(&self) -> Completion {
        let sent_again = TcpInfo::of(self.sender.as_fd()).map_or(0, |info| info.info().retransmissions);
        Completion { retransmissions: sent_again as u32, ..self.completion }
    }
}

impl<'p> Process<'p> {
    fn open(plan: &'p ArrivalsPlan, at: Opening<'p>) -> Result<Process<'p>, WireError> {
        let mut listeners = Vec::new();
        for node in plan.sides().1 {
            let (host, address) = (at.host(node)?, SocketAddrV4::new(node_address(node), at.port()));
            let buffer = plan.tcp.receiver.recv_buffer;
            let made = socket::listener(host, address, false, |socket| socket::set_buffers(socket, None, buffer));
            let listener = made.map_err(|e| at.failed("receiver", e))?;
            at.set_receivers_congestion(&listener, &plan.tcp, host)?;
            listeners.push(listener);
        }
        let arrivals = FlowArrivals::new(plan, &at.flow.name, at.flow.start, at.flow.stop, at.seed);
        let routes = Routes::of(at.plan);
        let (flows, waiting, done) = (Vec::new(), HashMap::new(), Vec::new());
        Ok(Process { plan, at, arrivals, next: None, listeners, flows, waiting, routes, done, sink: vec![0; READ] })
    }
    /// Sets the timer of the next flow.
    fn wait(&mut self, context: &Context<'_>) {
        self.next = self.arrivals.next();
        if let Some(arrival) = self.next {
            context.tick_at(arrival.at);
        }
    }
    fn begin(&mut self, context: &Context<'_>, arrival: FlowArrival) -> Done {
        let FlowArrival { at, from, to, bytes } = arrival;
        let (host, tcp) = (self.at.host(from)?, &self.plan.tcp);
        let ends = (SocketAddrV4::new(node_address(from), 0), SocketAddrV4::new(node_address(to), self.at.port()));
        let sender = self.at.connection(host, (Some(ends.0), ends.1), tcp, |socket| {
            socket::set_buffers(socket, tcp.sender.send_buffer, None)?;
            Ok(setsockopt(socket, sockopt::TcpNoDelay, &!tcp.sender.nagle)?)
        })?;
        let number = self.flows.len();
        let local = getsockname::<SockaddrIn>(sender.as_raw_fd()).map_err(|e| self.at.failed("a flow", e))?;
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
        self.flows.push(Some(ArrivedFlow {
            sender,
            receiver: None,
            unwritten: bytes.as_u64(),
            received: 0,
            completion,
        }));
        Ok(())
    }
    fn accept(&mut self, context: &Context<'_>) -> Done {
        while let Some(receiver) =
            socket::accept(&self.listeners[context.part]).map_err(|e| self.at.failed("accepting", e))?
        {
            let peer = getpeername::<SockaddrIn>(receiver.as_raw_fd()).map_err(|e| self.at.failed("accepting", e))?;
            let Some(number) = self.waiting.remove(&(peer.ip(), peer.port())) else { continue };
            let Some(flow) = &mut self.flows[number] else { continue };
            context.watch_part(receiver.as_fd(), number, Side::Receiver, EpollFlags::EPOLLIN)?;
            flow.receiver = Some(receiver);
        }
        Ok(())
    }
    /// Writes what is left of a flow, and then closes its side.
    fn write(&mut self, context: &Context<'_>) {
        let Some(flow) = self.flows.get_mut(context.part).and_then(Option::as_mut) else { return };
        while flow.unwritten > 0 {
            match socket::write(&flow.sender, flow.unwritten) {
                Ok(Some(n)) => flow.unwritten -= n,
                Ok(None) => return,
                Err(socket::Dead) => return context.forget(flow.sender.as_fd()), // it never completes
            }
        }
        context.forget(flow.sender.as_fd());
        // Not connected (any more): nothing is left to close.
        let _ = shutdown(flow.sender.as_raw_fd(), Shutdown::Write);
    }
    /// Reads from a flow. It is complete at its last byte, and removed when both sides are closed.
    fn read(&mut self, context: &Context<'_>, observed: &mut Observed) {
        let Some(flow) = self.flows.get_mut(context.part).and_then(Option::as_mut) else { return };
        let Some(receiver) = &flow.receiver else { return };
        match socket::read(receiver, &mut self.sink) {
            Ok(None) => {}
            Ok(Some(n @ 1..)) => {
                flow.received += n;
                if flow.received >= flow.completion.bytes && flow.completion.end == Time::NEVER {
                    flow.completion.end = context.now;
                    // A traffic entry delivered what its completed flows delivered.
                    context.line(observed).received += flow.completion.bytes;
                }
            }
            Ok(Some(0)) | Err(socket::Dead) => {
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
        observed.completions.extend(self.flows.iter().flatten().map(ArrivedFlow::line));
    }
}

impl Drop for Process<'_> {
    fn drop(&mut self) {
        self.flows.iter().flatten().for_each(|flow| socket::reset_when_dropped(&flow.sender));
    }
}
