//! A recorded packet as classifiers and correlators see it.
//! Source: RFC 791, 8200 (IP), 9293 (TCP), 7323 (timestamps), 768 (UDP); IEEE 802.1Q. Deviations: unlike a frame on a
//! live line, a packet here may have been cut off behind its headers (snap length), so lengths come from the IP header
//! and not from the bytes. A length of zero there (segmentation offload) is taken from the capture.
//! Units: bytes. Cost: one pass over the headers, nothing is copied.

use crate::reader::{LinkType, Record};
use haltere_queue::{Ecn, FlowKey, Pkt};

/// Bytes that count below IP: an Ethernet header.
pub const ETHERNET: u32 = 14;

const TCP: u8 = 6;
const UDP: u8 = 17;
const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

/// Fields of the TCP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tcp {
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Acknowledgement number, where there is one.
    pub ack: Option<u32>,
    /// The flag SYN is set.
    pub syn: bool,
    /// The flag FIN is set.
    pub fin: bool,
    /// Bytes of payload on the line.
    pub payload: u32,
    /// Timestamp value and echo.
    pub timestamps: Option<(u32, u32)>,
}

/// The headers of a recorded packet.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// IP bytes and an Ethernet header.
    pub len: u32,
    /// The five fields; ports are 0 where there are none to read.
    pub flow: FlowKey,
    /// The TOS byte or traffic class.
    pub class: u8,
    /// Its addresses are IPv6's.
    pub v6: bool,
    /// Fields of the TCP header, if it could be read.
    pub tcp: Option<Tcp>,
    /// Place in the flow's stream, as far as that is known.
    pub offset: Option<u64>,
}

impl Packet {
    /// Reads that record. `None`: it is not an IP packet.
    pub fn of(record: &Record<'_>) -> Option<Packet> {
        let bytes = record.bytes;
        let skipped = match record.link {
            LinkType::Ethernet => after_ethernet(bytes)?,
            LinkType::Ip => 0,
            LinkType::Loopback => 4,
            LinkType::Cooked => after_cooked(bytes, 14, 16)?,
            LinkType::Cooked2 => after_cooked(bytes, 0, 20)?,
        };
        let ip = bytes.get(skipped..)?;
        let rest = record.length.saturating_sub(skipped as u32);
        match ip.first()? >> 4 {
            4 => ipv4(ip, rest),
            6 => ipv6(ip, rest),
            _ => None,
        }
    }
    /// True if the packet opens a flow: a SYN of either side.
    pub fn opens(&self) -> bool {
        self.tcp.is_some_and(|tcp| tcp.syn)
    }
    /// TCP's sequence number, less one where it is no SYN: the initial one plus the place in the stream.
    pub fn place(&self) -> Option<u32> {
        self.tcp.map(|tcp| if tcp.syn { tcp.seq } else { tcp.seq.wrapping_sub(1) })
    }
}

/// The other direction's five fields.
pub fn reversed(flow: FlowKey) -> FlowKey {
    let FlowKey { src, dst, src_port, dst_port, protocol } = flow;
    FlowKey { src: dst, dst: src, src_port: dst_port, dst_port: src_port, protocol }
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Where IP begins behind an Ethernet header and at most two tags.
fn after_ethernet(bytes: &[u8]) -> Option<usize> {
    let mut at = 12;
    for _ in 0..2 {
        if matches!(be16(bytes, at)?, 0x8100 | 0x88a8) {
            at += 4;
        }
    }
    matches!(be16(bytes, at)?, 0x0800 | 0x86dd).then_some(at + 2)
}

/// Where IP begins behind a cooked header of `size` bytes with its protocol at `at`.
fn after_cooked(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    matches!(be16(bytes, at)?, 0x0800 | 0x86dd).then_some(size)
}

fn ipv4(ip: &[u8], rest: u32) -> Option<Packet> {
    let header: &[u8; 20] = ip.first_chunk()?;
    let head = u32::from(header[0] & 15) * 4;
    let total = match be16(header, 2)? {
        0 => rest,
        total => u32::from(total),
    };
    if head < 20 || total < head {
        return None;
    }
    let address = |at: usize| be32(header, at).map(u128::from);
    let flow = FlowKey { src: address(12)?, dst: address(16)?, protocol: header[9], ..FlowKey::default() };
    let packet = Packet { len: total + ETHERNET, flow, class: header[1], v6: false, tcp: None, offset: None };
    let fragment = be16(header, 6)? & 0x3fff != 0;
    Some(if fragment { packet } else { transport(packet, ip.get(head as usize..).unwrap_or_default(), total - head) })
}

fn ipv6(ip: &[u8], rest: u32) -> Option<Packet> {
    let header: &[u8; 40] = ip.first_chunk()?;
    let payload = match be16(header, 4)? {
        0 => rest.checked_sub(40)?,
        payload => u32::from(payload),
    };
    let address = |at: usize| header[at..].first_chunk().map(|bytes| u128::from_be_bytes(*bytes));
    let (mut protocol, mut at) = (header[6], 40usize);
    let mut fragment = false;
    // RFC 8200 section 4: hop-by-hop, routing and destination options; a fragment header ends what can be read.
    for _ in 0..8 {
        match (protocol, ip.get(at..at + 2)) {
            (0 | 43 | 60, Some(&[next, words])) => {
                protocol = next;
                at += 8 + usize::from(words) * 8;
            }
            (44, next) => {
                fragment = true;
                protocol = next.map_or(44, |next| next[0]);
                break;
            }
            _ => break,
        }
    }
    let flow = FlowKey { src: address(8)?, dst: address(24)?, protocol, ..FlowKey::default() };
    let class = (be16(header, 0)? >> 4) as u8;
    let packet = Packet { len: payload + 40 + ETHERNET, flow, class, v6: true, tcp: None, offset: None };
    let left = (payload + 40).checked_sub(at as u32);
    Some(match (fragment, ip.get(at..), left) {
        (false, Some(segment), Some(left)) => transport(packet, segment, left),
        _ => packet,
    })
}

/// Adds ports and what TCP says; `size` is the length on the line of what may be cut off in `segment`.
fn transport(packet: Packet, segment: &[u8], size: u32) -> Packet {
    let with_ports = |packet: Packet| {
        let (src_port, dst_port) = (be16(segment, 0)?, be16(segment, 2)?);
        Some(Packet { flow: FlowKey { src_port, dst_port, ..packet.flow }, ..packet })
    };
    match packet.flow.protocol {
        UDP if size >= 8 => with_ports(packet).unwrap_or(packet),
        TCP => match tcp(segment, size) {
            Some(tcp) => with_ports(Packet { tcp: Some(tcp), ..packet }).unwrap_or(packet),
            None => packet,
        },
        _ => packet,
    }
}

fn tcp(segment: &[u8], size: u32) -> Option<Tcp> {
    let header: &[u8; 20] = segment.first_chunk()?;
    let head = u32::from(header[12] >> 4) * 4;
    let payload = size.checked_sub(head).filter(|_| head >= 20)?;
    let flags = header[13];
    let end = segment.len().min(head as usize);
    Some(Tcp {
        seq: be32(header, 4)?,
        ack: (flags & ACK != 0).then(|| be32(header, 8)).flatten(),
        syn: flags & SYN != 0,
        fin: flags & FIN != 0,
        payload,
        timestamps: timestamps(&segment[20..end]),
    })
}

/// RFC 7323 section 3.2: kind 8, length 10, value, echo.
fn timestamps(mut options: &[u8]) -> Option<(u32, u32)> {
    loop {
        match options {
            [1, rest @ ..] => options = rest,
            [8, 10, rest @ ..] => return Some((be32(rest, 0)?, be32(rest, 4)?)),
            [kind, size, ..] if *kind >= 2 && *size >= 2 => options = options.get(usize::from(*size)..)?,
            _ => return None,
        }
    }
}

impl Pkt for Packet {
    fn len(&self) -> u32 {
        self.len
    }
    fn ecn(&self) -> Ecn {
        [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(self.class & 3)]
    }
    fn set_ce(&mut self) {}
    fn flow(&self) -> FlowKey {
        self.flow
    }
    fn priority(&self) -> u8 {
        0 // no classifier asks for it
    }
    fn dscp(&self) -> u8 {
        self.class >> 2
    }
    fn stream_offset(&self) -> Option<u64> {
        self.offset
    }
}

#[cfg(test)]
mod tests;
