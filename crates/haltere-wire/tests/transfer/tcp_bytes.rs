//! Segments of our transport as bytes, and back.
//! Source: RFC 9293 section 3.1 (header), 7323 (timestamps, scaling), 2018 (SACK), 9768 (AccECN), 791 (IPv4), 3168 (ECN
//! field). Deviations: none. Options are laid out as Linux lays them out, so that header lengths are the simulator's.

use haltere_transport::{EcnCounts, Flags, SackBlocks, Segment, Timestamps};
use haltere_units::Ecn;
use haltere_wire::frame::{Frame, checksum};
use std::net::Ipv4Addr;

/// One end of a connection on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// Ethernet address.
    pub mac: [u8; 6],
    /// IPv4 address.
    pub address: Ipv4Addr,
    /// TCP port.
    pub port: u16,
}

/// A frame from `from` to `to` with this segment; `payload` is the segment's, as long as it says. `id` tells packets
/// apart.
pub fn encode(from: &End, to: &End, segment: &Segment, ecn: Ecn, payload: &[u8], id: u16) -> Frame {
    let header = segment.header_len() as usize;
    let total = 20 + header + payload.len();
    Frame::build(14 + total, |bytes| {
        bytes.extend(to.mac);
        bytes.extend(from.mac);
        bytes.extend([8, 0]);
        let tos = match ecn {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        };
        bytes.extend([0x45, tos]);
        bytes.extend((total as u16).to_be_bytes());
        bytes.extend(id.to_be_bytes());
        bytes.extend([0x40, 0, 64, 6, 0, 0]); // do not fragment, TTL 64, TCP
        bytes.extend(from.address.octets());
        bytes.extend(to.address.octets());
        let sum = checksum(&[&bytes[14..34]]);
        bytes[24..26].copy_from_slice(&sum.to_be_bytes());
        put_header(bytes, from.port, to.port, segment);
        bytes.resize(14 + 20 + header, 1); // no-operation, where a header is not filled
        bytes.extend_from_slice(payload);
        let sum = checksum(&[&pseudo_header(&bytes[26..34], header + payload.len()), &bytes[34..]]);
        bytes[50..52].copy_from_slice(&sum.to_be_bytes());
    })
}

fn put_header(bytes: &mut Vec<u8>, from: u16, to: u16, segment: &Segment) {
    bytes.extend(from.to_be_bytes());
    bytes.extend(to.to_be_bytes());
    bytes.extend(segment.seq.to_be_bytes());
    bytes.extend(segment.ack.to_be_bytes());
    let words = (segment.header_len() / 4) as u16;
    bytes.extend((words << 12 | segment.flags.0 & 0x1ff).to_be_bytes());
    bytes.extend(segment.window.to_be_bytes());
    bytes.extend([0, 0, 0, 0]); // checksum, urgent pointer
    if let Some(mss) = segment.mss {
        bytes.extend([2, 4]);
        bytes.extend(mss.to_be_bytes());
    }
    if let Some(stamps) = segment.timestamps {
        // Two bytes of padding, which SACK-permitted fills.
        bytes.extend(if segment.sack_permitted { [4, 2] } else { [1, 1] });
        bytes.extend([8, 10]);
        bytes.extend(stamps.val.to_be_bytes());
        bytes.extend(stamps.ecr.to_be_bytes());
    } else if segment.sack_permitted {
        bytes.extend([1, 1, 4, 2]);
    }
    if let Some(scale) = segment.window_scale {
        bytes.extend([1, 3, 3, scale]);
    }
    let blocks = segment.sack.as_slice();
    if !blocks.is_empty() {
        bytes.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
        for (start, end) in blocks {
            bytes.extend(start.to_be_bytes());
            bytes.extend(end.to_be_bytes());
        }
    }
    if let Some(counts) = &segment.ecn_counts {
        bytes.push(1);
        bytes.extend(counts.to_bytes());
    }
}

/// What the TCP checksum covers of the IP header; `addresses` are its last eight bytes.
fn pseudo_header(addresses: &[u8], len: usize) -> Vec<u8> {
    let [a, b] = (len as u16).to_be_bytes();
    [addresses, &[0, 6, a, b]].concat()
}

/// A segment that came in a frame.
#[derive(Debug, PartialEq)]
pub struct Received<'a> {
    /// Address and port of the sender.
    pub from: (Ipv4Addr, u16),
    /// Address and port of the receiver.
    pub to: (Ipv4Addr, u16),
    /// The segment.
    pub segment: Segment,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its payload.
    pub payload: &'a [u8],
}

/// The TCP segment in an IPv4 frame; `None` where there is none, or a checksum is wrong.
pub fn decode(frame: &Frame) -> Option<Received<'_>> {
    use haltere_queue::Pkt;
    let ip = frame.ip()?;
    if frame.kind() != haltere_wire::frame::Kind::Ipv4 || frame.is_fragment() || *ip.get(9)? != 6 {
        return None;
    }
    let (header, body) = ip.split_at_checked(usize::from(ip.first()? & 15) * 4)?;
    let addresses = header.get(12..20)?;
    if checksum(&[header]) != 0 || checksum(&[&pseudo_header(addresses, body.len()), body]) != 0 {
        return None;
    }
    let fixed: &[u8; 20] = body.first_chunk()?;
    let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let double = |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    let (options, payload) = body.split_at_checked(usize::from(fixed[12] >> 4) * 4)?;
    let mut segment = Segment {
        seq: double(4),
        ack: double(8),
        len: payload.len() as u32,
        window: word(14),
        flags: Flags(word(12) & 0x1ff),
        ..Segment::default()
    };
    read_options(options.get(20..)?, &mut segment);
    let address = |at: usize| -> Option<Ipv4Addr> { Some(Ipv4Addr::from(*addresses.get(at..)?.first_chunk::<4>()?)) };
    Some(Received { from: (address(0)?, word(0)), to: (address(4)?, word(2)), segment, ecn: frame.ecn(), payload })
}

/// Reads the options that are known; stops where their lengths lie (RFC 9293 section 3.2).
fn read_options(mut options: &[u8], segment: &mut Segment) {
    while let [kind, rest @ ..] = options {
        match kind {
            0 => return,
            1 => {
                options = rest;
                continue;
            }
            _ => {}
        }
        let Some(&len) = rest.first() else { return };
        let Some((option, after)) = options.split_at_checked(usize::from(len)) else { return };
        let Some(value) = option.get(2..) else { return };
        let number = |at: usize| value.get(at..).and_then(|v| v.first_chunk()).map(|b| u32::from_be_bytes(*b));
        match (kind, value) {
            (2, &[a, b]) => segment.mss = Some(u16::from_be_bytes([a, b])),
            (3, &[scale]) => segment.window_scale = Some(scale.min(14)), // RFC 7323 section 2.3
            (4, []) => segment.sack_permitted = true,
            (5, blocks) => {
                segment.sack = SackBlocks::default();
                for at in (0..blocks.len() / 8).map(|n| n * 8) {
                    if let (Some(start), Some(end)) = (number(at), number(at + 4)) {
                        segment.sack.push(start, end);
                    }
                }
            }
            (172 | 174, _) => segment.ecn_counts = EcnCounts::from_option(*kind, value),
            (8, _) => {
                if let (Some(val), Some(ecr)) = (number(0), number(4)) {
                    segment.timestamps = Some(Timestamps { val, ecr });
                }
            }
            _ => {}
        }
        options = after;
    }
}
