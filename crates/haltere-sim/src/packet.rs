//! A packet on its way, and the pool from which packets come.

use haltere_queue::{Ecn, FlowKey, Pkt};
use haltere_transport::{Flags, Segment};
use haltere_units::Time;

/// Bytes of an IPv4 header without options.
pub(crate) const IPV4_HEADER: u32 = 20;
/// Low bits of the sequence number that RuN2C's senders start at zero (`isn_zero_bits` of TCP): offsets to 4 MiB.
const ISN_BITS: u32 = 22;
/// Bytes of a UDP header, and of an ICMP echo header.
pub(crate) const UDP_HEADER: u32 = 8;

/// What a router needs of a packet; one cache line with the start of the body.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub(crate) struct Header {
    /// Length on a link in bytes, framing included.
    pub len: u32,
    /// Where on its path the packet is: index of its next link in the network's list of paths.
    pub cursor: u32,
    /// The endpoint to which it goes: twice the flow's index, plus one at the flow's far end.
    pub endpoint: u32,
    /// Index of the node that sent it.
    pub src: u32,
    /// Index of the node to which it goes.
    pub dst: u32,
    /// TCP: the initial sequence number of its stream.
    pub isn: u32,
    /// Source port (ICMP: 0).
    pub src_port: u16,
    /// Destination port (ICMP: 0).
    pub dst_port: u16,
    /// IP identification.
    pub id: u16,
    /// IP protocol number.
    pub protocol: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// DSCP.
    pub dscp: u8,
    /// A copy that a queue turned round.
    pub returned: bool,
}

/// What a packet carries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Body {
    /// A TCP segment.
    Tcp(Segment),
    /// A UDP datagram with that many bytes of payload.
    Udp(u32),
    /// An ICMP echo request or reply.
    Echo(Echo),
}

/// An ICMP echo.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Echo {
    /// When the request left.
    pub sent: Time,
    /// Sequence number.
    pub seq: u16,
    /// Payload bytes.
    pub payload: u32,
    /// It is the answer.
    pub reply: bool,
}

/// A packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Packet {
    pub header: Header,
    pub body: Body,
}

impl Packet {
    /// Sends the packet back where it came from, CE set: ends exchanged. The cursor is left to the caller.
    pub fn turn_round(&mut self) {
        let h = &mut self.header;
        core::mem::swap(&mut h.src, &mut h.dst);
        core::mem::swap(&mut h.src_port, &mut h.dst_port);
        h.endpoint ^= 1;
        h.ecn = Ecn::Ce;
        h.returned = true;
    }
}

/// The IPv4 address of a node: 10.0.0.1 and up.
pub(crate) const fn address(node: u32) -> u32 {
    0x0a00_0001 + node
}

impl Pkt for Box<Packet> {
    #[inline]
    fn len(&self) -> u32 {
        self.header.len
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        self.header.ecn
    }
    #[inline]
    fn set_ce(&mut self) {
        self.header.ecn = Ecn::Ce;
    }
    fn flow(&self) -> FlowKey {
        let h = &self.header;
        FlowKey {
            src: u128::from(address(h.src)),
            dst: u128::from(address(h.dst)),
            src_port: h.src_port,
            dst_port: h.dst_port,
            protocol: h.protocol,
        }
    }
    fn dscp(&self) -> u8 {
        self.header.dscp
    }
    fn set_dscp(&mut self, dscp: u8) {
        self.header.dscp = dscp;
    }
    fn is_returned(&self) -> bool {
        self.header.returned
    }
    /// A router can read the offset only where the initial sequence number ends in [`ISN_BITS`] zero bits.
    fn stream_offset(&self) -> Option<u64> {
        match &self.body {
            Body::Tcp(_) if self.header.isn.trailing_zeros() < ISN_BITS => None,
            Body::Tcp(segment) if segment.flags.contains(Flags::SYN) => Some(0),
            // RFC 9293 section 3.4: the SYN takes one number, so the first byte has ISN + 1.
            Body::Tcp(segment) => Some(u64::from(segment.seq.wrapping_sub(1)) & ((1 << ISN_BITS) - 1)),
            Body::Udp(_) | Body::Echo(_) => None,
        }
    }
}

/// Packets not in use, last in first out (the last one used is still in the cache): after warm-up
/// nothing is allocated.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "packets move between queues as boxes; none is moved out of its own")]
pub(crate) struct Pool {
    free: Vec<Box<Packet>>,
    /// Copies that disciplines turned round, for the network to send.
    pub returned: Vec<Box<Packet>>,
}

impl Pool {
    /// A packet with that content.
    #[inline]
    pub fn take(&mut self, header: Header, body: Body) -> Box<Packet> {
        match self.free.pop() {
            Some(mut packet) => {
                *packet = Packet { header, body };
                packet
            }
            None => Box::new(Packet { header, body }),
        }
    }
    /// The packet is no longer needed.
    #[inline]
    pub fn give(&mut self, packet: Box<Packet>) {
        self.free.push(packet);
    }
    /// A copy of `packet` goes back to its sender.
    pub fn send_back(&mut self, packet: &Packet) {
        let mut copy = self.take(packet.header, packet.body);
        copy.turn_round();
        self.returned.push(copy);
    }
}
