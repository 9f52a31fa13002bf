//! One UDP flow at a constant rate.

use super::{Context, Done, Endpoint, Observed, Opened, Opening, Side};
use crate::error::{Doing, WireError};
use crate::namespace::node_address;
use haltere_plan::plan::CbrPlan;
use haltere_plan::record::FlowRecord;
use haltere_units::{Bytes, Serialisation, Time};
use nix::sys::epoll::EpollFlags;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

/// Datagrams sent or received in one go.
const BATCH: usize = 64;

const RECEIVE_BUFFER: usize = 8 << 20;

/// Opens a flow of the kind.
pub(super) fn open<'p>(plan: &'p CbrPlan, at: Opening<'p>) -> Opened<'p> {
    Ok(Box::new(Datagram::open(plan, &at)?))
}

#[derive(Debug)]
pub(super) struct Datagram {
    sender: UdpSocket,
    receiver: UdpSocket,
    payload: Vec<u8>,
    pace: Serialisation,
    next: Time,
}

impl Datagram {
    fn open(plan: &CbrPlan, at: &Opening<'_>) -> Result<Datagram, WireError> {
        let (sender, receiver) = sockets(at, plan.ecn)?;
        let payload = vec![0; plan.packet.as_u64() as usize];
        Ok(Datagram { sender, receiver, payload, pace: Serialisation::new(Some(plan.rate)), next: Time::ZERO })
    }
    /// Sends the datagrams that are due, also those of a late wake-up. Returns when the next is due.
    fn send(&mut self, now: Time, record: &mut FlowRecord) -> Time {
        for _ in 0..BATCH {
            if self.next > now {
                break;
            }
            // A datagram that the host cannot send counts as lost.
            record.packets_sent += 1;
            let _ = self.sender.send(&self.payload);
            self.next += self.pace.next(Bytes::new(self.payload.len() as u64));
        }
        self.next
    }
    fn receive(&mut self, record: &mut FlowRecord) {
        let mut buffer = [0; 1];
        for _ in 0..BATCH {
            // The length is that of the plan: nothing else is sent to this port, and only the first byte is copied.
            match self.receiver.recv(&mut buffer) {
                Ok(_) => {
                    record.packets_received += 1;
                    record.received += self.payload.len() as u64;
                }
                Err(_) => return,
            }
        }
    }
}

impl Endpoint for Datagram {
    fn start(&mut self, context: &Context<'_>, at: Time, observed: &mut Observed) -> Done {
        context.watch(self.receiver.as_fd(), Side::Receiver, EpollFlags::EPOLLIN)?;
        self.next = at;
        self.tick(context, at, observed)
    }
    fn tick(&mut self, context: &Context<'_>, _at: Time, observed: &mut Observed) -> Done {
        context.tick_at(self.send(context.now, context.line(observed)));
        Ok(())
    }
    fn ready(&mut self, context: &Context<'_>, _: Side, _: EpollFlags, observed: &mut Observed) -> Done {
        self.receive(context.line(observed));
        Ok(())
    }
}

/// The sockets of a flow of datagrams: its sender's and its receiver's.
pub(super) fn sockets(at: &Opening<'_>, ecn: bool) -> Result<(UdpSocket, UdpSocket), WireError> {
    let (flow, from, to, port) = (at.flow, at.from, at.to, at.port());
    let receiver = to.enter(|| UdpSocket::bind((node_address(flow.to), port)));
    let sender = from.enter(|| {
        let socket = UdpSocket::bind((node_address(flow.from), 0))?;
        socket.connect((node_address(flow.to), port))?;
        Ok(socket)
    });
    let made = |socket: io::Result<UdpSocket>| {
        let socket = socket.and_then(|s| s.set_nonblocking(true).map(|()| s));
        socket.doing(format!("{}: socket", flow.name))
    };
    let (sender, receiver) = (made(sender)?, made(receiver)?);
    // Datagrams must not be lost at the receiver when the agent is late. Without the privilege the default has to do.
    let _ = nix::sys::socket::setsockopt(&receiver, nix::sys::socket::sockopt::RcvBufForce, &RECEIVE_BUFFER);
    set_ecn(&sender, ecn).doing(format!("{}: ECN", flow.name))?;
    Ok((sender, receiver))
}

/// ECT(0) or Not-ECT for all that a socket sends.
pub(super) fn set_ecn(socket: &impl AsFd, ecn: bool) -> io::Result<()> {
    let tos = if ecn { 2 } else { 0 };
    Ok(nix::sys::socket::setsockopt(socket, nix::sys::socket::sockopt::Ipv4Tos, &tos)?)
}
