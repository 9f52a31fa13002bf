//! ICMP echo requests, and how long their replies take: from the call that sends to the kernel's stamp on the reply, so
//! that the agent's own delays do not count.
//! Source: RFC 792.

use super::{Context, Side, datagram::set_ecn};
use crate::error::WireError;
use crate::frame::checksum;
use crate::namespace::{Namespace, node_address};
use haltere_plan::plan::{AppPlan, FlowPlan};
use haltere_plan::record::{FlowRecord, PingSample};
use haltere_units::{Dur, Time};
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, recvmsg, sendto,
    setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use std::collections::VecDeque;
use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Requests whose replies are still waited for; older ones are given up.
const OUTSTANDING: usize = 4096;

/// One flow of echo requests.
#[derive(Debug)]
pub(super) struct Ping {
    socket: OwnedFd,
    to: SockaddrIn,
    id: u16,
    sequence: u16,
    interval: Dur,
    payload: usize,
    /// Sequence number, time of the run, wall clock in nanoseconds.
    sent: VecDeque<(u16, Time, u64)>,
}

impl Ping {
    pub(super) fn open(flow: &FlowPlan, id: u16, from: &Namespace) -> Result<Ping, WireError> {
        let AppPlan::Ping { interval, payload, ecn } = &flow.app else {
            return Err(WireError::plan(&flow.name, "must be ping"));
        };
        let made = from.enter(|| {
            let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
            let socket = socket(AddressFamily::Inet, SockType::Raw, flags, SockProtocol::Icmp)?;
            setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
            set_ecn(&socket, *ecn)?;
            Ok(socket)
        });
        let socket = made.map_err(|e| WireError::os(format!("{}: ping socket", flow.name), e))?;
        let to = SockaddrIn::from(std::net::SocketAddrV4::new(node_address(flow.to), 0));
        let payload = payload.as_u64() as usize;
        Ok(Ping { socket, to, id: id + 1, sequence: 0, interval: *interval, payload, sent: VecDeque::new() })
    }
    /// Sends the next request; when the one after it is due.
    pub(super) fn tick(
        &mut self,
        context: &Context<'_>,
        at: Time,
        start: bool,
        record: &mut FlowRecord,
    ) -> Result<Time, WireError> {
        if start {
            context.watch(self.socket.as_fd(), Side::Receiver, EpollFlags::EPOLLIN)?;
        }
        self.sequence = self.sequence.wrapping_add(1);
        let request = echo_request(self.id, self.sequence, self.payload);
        record.packets_sent += 1;
        self.sent.push_back((self.sequence, context.now, wall_clock_ns()));
        if self.sent.len() > OUTSTANDING {
            self.sent.pop_front();
        }
        // A request that the host cannot send stays unanswered.
        let _ = sendto(self.socket.as_raw_fd(), &request, &self.to, MsgFlags::MSG_DONTWAIT);
        Ok(at + self.interval)
    }
    pub(super) fn receive(&mut self, flow: u32, record: &mut FlowRecord, pings: &mut Vec<PingSample>) {
        let mut buffer = [0u8; 2048];
        let mut control = nix::cmsg_space!(TimeSpec);
        loop {
            let mut parts = [IoSliceMut::new(&mut buffer)];
            let answer = recvmsg::<()>(self.socket.as_raw_fd(), &mut parts, Some(&mut control), MsgFlags::MSG_DONTWAIT);
            let Ok(answer) = answer else { return };
            let stamp = answer.cmsgs().ok().and_then(|mut all| {
                all.find_map(|c| if let ControlMessageOwned::ScmTimestampns(t) = c { Some(ns(t)) } else { None })
            });
            let bytes = answer.bytes;
            let Some(sequence) = reply_sequence(&buffer[..bytes.min(2048)], self.id) else { continue };
            let Some(place) = self.sent.iter().position(|(s, _, _)| *s == sequence) else { continue };
            if let (Some((_, at, left)), Some(came)) = (self.sent.remove(place), stamp) {
                record.packets_received += 1;
                pings.push(PingSample { at, flow, rtt: Dur::from_ns(came.saturating_sub(left)) });
            }
        }
    }
}

fn ns(t: TimeSpec) -> u64 {
    t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64
}

/// The clock of the kernel's stamps on packets.
fn wall_clock_ns() -> u64 {
    clock_gettime(ClockId::CLOCK_REALTIME).map(ns).unwrap_or(0)
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
