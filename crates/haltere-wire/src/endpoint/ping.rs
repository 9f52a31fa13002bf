//! ICMP echo requests, and how long their replies take: from the call that sends to the kernel's stamp on the reply, so
//! that the agent's own delays do not count.
//! Source: RFC 792.

use super::{Context, Done, Endpoint, Observed, Opened, Opening, Side, cbr::set_ecn};
use crate::clock::wall_ns;
use crate::error::{Doing, WireError};
use crate::frame::checksum;
use crate::namespace::node_address;
use haltere_plan::plan::PingPlan;
use haltere_plan::record::PingSample;
use haltere_units::{Dur, Time};
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, recvmsg, sendto,
    setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;
use std::collections::VecDeque;
use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Requests whose replies are still waited for; older ones are given up.
const OUTSTANDING: usize = 4096;

/// Opens a flow of the kind.
pub(super) fn open<'p>(plan: &'p PingPlan, at: Opening<'p>) -> Opened<'p> {
    Ok(Box::new(Echo::open(plan, &at)?))
}

/// One flow of echo requests.
#[derive(Debug)]
pub(super) struct Echo {
    socket: OwnedFd,
    to: SockaddrIn,
    id: u16,
    sequence: u16,
    interval: Dur,
    payload: usize,
    /// Sequence number, time of the run, wall clock in nanoseconds.
    sent: VecDeque<(u16, Time, u64)>,
}

impl Echo {
    fn open(plan: &PingPlan, at: &Opening<'_>) -> Result<Echo, WireError> {
        let flow = at.flow;
        let made = at.from.enter(|| {
            let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
            let socket = socket(AddressFamily::Inet, SockType::Raw, flags, SockProtocol::Icmp)?;
            setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
            set_ecn(&socket, plan.ecn)?;
            Ok(socket)
        });
        let socket = made.doing(format!("{}: ping socket", flow.name))?;
        let to = SockaddrIn::from(std::net::SocketAddrV4::new(node_address(flow.to), 0));
        let (id, payload) = (at.index as u16 + 1, plan.payload.as_u64() as usize);
        Ok(Echo { socket, to, id, sequence: 0, interval: plan.interval, payload, sent: VecDeque::new() })
    }
}

impl Endpoint for Echo {
    fn start(&mut self, context: &Context<'_>, at: Time, observed: &mut Observed) -> Done {
        context.watch(self.socket.as_fd(), Side::Receiver, EpollFlags::EPOLLIN)?;
        self.tick(context, at, observed)
    }
    /// Sends the next request.
    fn tick(&mut self, context: &Context<'_>, at: Time, observed: &mut Observed) -> Done {
        self.sequence = self.sequence.wrapping_add(1);
        let request = echo_request(self.id, self.sequence, self.payload);
        context.line(observed).packets_sent += 1;
        self.sent.push_back((self.sequence, context.now, wall_ns()));
        if self.sent.len() > OUTSTANDING {
            self.sent.pop_front();
        }
        // A request that the host cannot send stays unanswered.
        let _ = sendto(self.socket.as_raw_fd(), &request, &self.to, MsgFlags::MSG_DONTWAIT);
        context.tick_at(at + self.interval);
        Ok(())
    }
    fn ready(&mut self, context: &Context<'_>, _: Side, _: EpollFlags, observed: &mut Observed) -> Done {
        let mut buffer = [0u8; 2048];
        while let Some((bytes, stamp)) = receive(&self.socket, &mut buffer) {
            let Some(sequence) = reply_sequence(&buffer[..bytes], self.id) else { continue };
            let Some(place) = self.sent.iter().position(|(s, _, _)| *s == sequence) else { continue };
            if let (Some((_, at, left)), Some(came)) = (self.sent.remove(place), stamp) {
                context.line(observed).packets_received += 1;
                let rtt = Dur::from_ns(came.saturating_sub(left));
                observed.pings.push(PingSample { at, flow: context.flow as u32, rtt });
            }
        }
        Ok(())
    }
}

/// Reads the next packet, as far as the buffer holds it: its bytes, and the kernel's stamp on it in nanoseconds of the
/// wall clock. `None`: there is none now.
pub(super) fn receive(socket: &impl AsRawFd, buffer: &mut [u8]) -> Option<(usize, Option<u64>)> {
    let room = buffer.len();
    let mut control = nix::cmsg_space!(TimeSpec);
    let mut parts = [IoSliceMut::new(buffer)];
    let packet = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut control), MsgFlags::MSG_DONTWAIT).ok()?;
    let stamp = |c| if let ControlMessageOwned::ScmTimestampns(t) = c { Some(ns(t)) } else { None };
    Some((packet.bytes.min(room), packet.cmsgs().ok().and_then(|mut all| all.find_map(stamp))))
}

fn ns(t: TimeSpec) -> u64 {
    t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64
}

fn echo_request(id: u16, sequence: u16, payload: usize) -> Vec<u8> {
    let mut bytes = vec![8, 0, 0, 0];
    bytes.extend(id.to_be_bytes());
    bytes.extend(sequence.to_be_bytes());
    bytes.resize(8 + payload, 0x48);
    let sum = checksum(&[&bytes]);
    bytes[2..4].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// The sequence number, where `packet` (with its IP header) is a reply to us.
fn reply_sequence(packet: &[u8], id: u16) -> Option<u16> {
    let header = usize::from(packet.first()? & 15) * 4;
    let &[kind, _, _, _, a, b, c, d] = packet.get(header..)?.first_chunk()?;
    (kind == 0 && u16::from_be_bytes([a, b]) == id).then(|| u16::from_be_bytes([c, d]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_a_right_checksum_and_replies_are_told_apart() {
        let request = echo_request(7, 300, 57);
        assert_eq!(checksum(&[&request]), 0);
        let mut reply = vec![0; 20];
        reply[0] = 0x45;
        reply.extend(&request);
        assert_eq!(reply_sequence(&reply, 7), None, "a request is no reply");
        reply[20] = 0;
        assert_eq!(reply_sequence(&reply, 7), Some(300));
        assert_eq!(reply_sequence(&reply, 8), None);
        assert_eq!(reply_sequence(&reply[..25], 7), None);
    }
}
