//! One direction of a telephone call over UDP. What the listener hears of it is [`Voice`]'s to say, as in the
//! simulator.
//!
//! Each packet begins with an RTP header (RFC 3550 section 5.1), whose timestamp is the packet's number. A packet's
//! delay is from the call that sends it to the kernel's stamp at its arrival, so that the agent's own delays do not
//! count.

use super::ping::receive;
use super::{Context, Done, Endpoint, Observed, Opened, Opening, Side, cbr};
use crate::clock::wall_ns;
use crate::error::{Doing, WireError};
use haltere_plan::plan::VoipPlan;
use haltere_plan::voice::Voice;
use haltere_units::{Bytes, Dur, Time};
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{setsockopt, sockopt};
use std::net::UdpSocket;
use std::os::fd::AsFd;

/// Bytes of an RTP header.
const RTP: usize = 12;
/// Version 2, no extras; payload type 0 is PCMU (RFC 3551).
const VERSION: u8 = 0x80;

/// A packet must have room for its header.
pub(super) fn check(plan: &VoipPlan, place: &str) -> Done {
    if plan.packet < Bytes::new(RTP as u64) {
        let (rule, hint) = ("at least 12 B", "a packet has an RTP header");
        return Err(WireError::refused(place, "packet", rule, plan.packet, hint));
    }
    Ok(())
}

/// Opens a flow of the kind.
pub(super) fn open<'p>(plan: &'p VoipPlan, at: Opening<'p>) -> Opened<'p> {
    let voice = Voice::new(plan, at.flow.start).map_err(|e| at.refused(e))?;
    let (sender, receiver) = cbr::sockets(&at, false)?;
    setsockopt(&receiver, sockopt::ReceiveTimestampns, &true).doing(format!("{}: time stamps", at.flow.name))?;
    Ok(Box::new(Call { at, voice, sender, receiver, packet: packet(plan.packet), left: Vec::new() }))
}

/// A talker and a listener.
#[derive(Debug)]
pub(super) struct Call<'p> {
    at: Opening<'p>,
    voice: Voice,
    sender: UdpSocket,
    receiver: UdpSocket,
    packet: Vec<u8>,
    /// By number: when it left, wall clock in nanoseconds.
    left: Vec<u64>,
}

/// A packet of that size, without a number.
fn packet(bytes: Bytes) -> Vec<u8> {
    let mut packet = vec![0; bytes.as_u64() as usize];
    packet[0] = VERSION;
    packet
}

fn set_number(packet: &mut [u8], number: u32) {
    packet[2..4].copy_from_slice(&(number as u16).to_be_bytes());
    packet[4..8].copy_from_slice(&number.to_be_bytes());
}

/// The number of a packet, if enough of it was read.
fn number(packet: &[u8]) -> Option<u32> {
    packet.get(4..8).and_then(|bytes| bytes.first_chunk()).map(|bytes| u32::from_be_bytes(*bytes))
}

impl Endpoint for Call<'_> {
    fn start(&mut self, context: &Context<'_>, at: Time, observed: &mut Observed) -> Done {
        context.watch(self.receiver.as_fd(), Side::Receiver, EpollFlags::EPOLLIN)?;
        self.voice.begin(at);
        self.tick(context, at, observed)
    }
    /// Sends one packet and sets the time of the next.
    fn tick(&mut self, context: &Context<'_>, _at: Time, _observed: &mut Observed) -> Done {
        set_number(&mut self.packet, self.voice.sent() as u32);
        let next = self.voice.send();
        self.left.push(wall_ns());
        // A packet that the host cannot send counts as lost.
        let _ = self.sender.send(&self.packet);
        context.tick_at(next);
        Ok(())
    }
    fn ready(&mut self, context: &Context<'_>, _: Side, _: EpollFlags, observed: &mut Observed) -> Done {
        let mut header = [0u8; RTP];
        while let Some((bytes, stamp)) = receive(&self.receiver, &mut header) {
            let Some(number) = number(&header[..bytes]) else { continue };
            let left = self.left.get(number as usize);
            if let (Some(left), Some(came)) = (left, stamp)
                && self.voice.arrive(u64::from(number), Dur::from_ns(came.saturating_sub(*left)))
            {
                context.line(observed).received += self.packet.len() as u64;
            }
        }
        Ok(())
    }
    fn is_sampled(&self) -> bool {
        true
    }
    fn finish(&mut self, observed: &mut Observed) {
        let (from, to) = observed.measured;
        self.voice.count(&mut observed.flows[self.at.index]);
        observed.voices.push(self.voice.heard(self.at.index as u32, from, to));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_rtp_and_holds_its_number() {
        let mut packet = packet(Bytes::new(172));
        set_number(&mut packet, 70_000);
        assert_eq!((packet.len(), packet[0] >> 6, number(&packet)), (172, 2, Some(70_000)));
        assert_eq!(u16::from_be_bytes([packet[2], packet[3]]), (70_000 % 65_536) as u16);
        assert_eq!(number(&packet[..7]), None);
    }
}
