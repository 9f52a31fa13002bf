//! Ethernet frames as packets for the disciplines. Only the needed headers are read, changes are made in place, and no
//! input panics.
//! Source: RFC 791, 8200, 9293, 768; IEEE 802.1Q tags; ECN RFC 3168; checksum update RFC 1624 equation 3.
//! Model: a [`Frame`] owns its bytes and the places of its headers, found once by [`Frame::parse`]. What cannot be
//! read (truncated, lying about its length, unknown) stays a frame without flow: it is forwarded unclassified.
//! Units: bytes. Cost: one pass over the headers; buffers come from a pool, so none is allocated in the steady state.
//! Known problems: the stream offset is only as good as the sender's initial sequence number, see
//! [`Frame::set_isn_bits`].

pub mod offload;

use self::offload::Offload;
use haltere_queue::pfifo_fast::priority_of_dscp;
use haltere_queue::{Ecn, FlowKey, Pkt, PureAck};
use haltere_units::Time;
use std::cell::RefCell;

/// Bytes of an Ethernet header without tags.
pub const ETHERNET: usize = 14;
/// Every pooled buffer can hold this many bytes: a 1500-byte packet with two tags and room to spare.
const POOLED: usize = 2048;
/// No more buffers than this wait for reuse in one thread (32 MB).
const POOL_MAX: usize = 16384;

const TCP: u8 = 6;
const UDP: u8 = 17;
/// TTLs with which hosts start (RFC 1700's 64, Windows' 128, the maximum).
const INITIAL_TTLS: [u8; 3] = [64, 128, 255];

thread_local! {
    static POOL: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

fn take_buffer(len: usize) -> Vec<u8> {
    let pooled = (len <= POOLED).then(|| POOL.try_with(|p| p.borrow_mut().pop()).ok().flatten()).flatten();
    pooled.unwrap_or_else(|| Vec::with_capacity(len.max(POOLED)))
}

/// What kind of frame it is, as far as the router cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// IPv4, readable.
    Ipv4,
    /// IPv6, readable.
    Ipv6,
    /// ARP: passes untouched.
    Arp,
    /// Another protocol: passes unclassified.
    Other,
    /// An IP packet that is truncated or contradicts itself: passes unclassified, and is counted.
    Malformed,
}

/// Where the headers are.
#[derive(Debug, Clone, Copy)]
struct Layout {
    kind: Kind,
    /// Start of the IP header.
    l3: u16,
    /// Start of the TCP or UDP header; 0 where there is none to read (fragment, other protocol, truncated).
    l4: u16,
    protocol: u8,
    fragment: bool,
}

impl Layout {
    const fn without_flow(kind: Kind) -> Layout {
        Layout { kind, l3: 0, l4: 0, protocol: 0, fragment: false }
    }
}

/// An Ethernet frame with the places of its headers.
#[derive(Debug)]
pub struct Frame {
    bytes: Vec<u8>,
    layout: Layout,
    framing: u32,
    isn_bits: u8,
    /// The nodes of the sender and of the receiver, where known.
    route: (Option<u16>, Option<u16>),
    whole: Option<Whole>,
    /// When it came into the network; zero if nobody asks.
    pub(crate) entered: Time,
}

/// What is left to do of a frame that is passed on as its sender made it.
#[derive(Debug, Clone, Copy)]
struct Whole {
    offload: Offload,
    /// The packets that it holds, and the bytes of the headers of each from IP on.
    packets: u32,
    headers: u32,
}

impl Clone for Frame {
    fn clone(&self) -> Frame {
        let mut bytes = take_buffer(self.bytes.len());
        bytes.extend_from_slice(&self.bytes);
        Frame { bytes, ..*self }
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.bytes);
        if bytes.capacity() == POOLED {
            bytes.clear();
            // A thread that ends has no pool any more: the buffer is then simply freed.
            let _ = POOL.try_with(|p| {
                let mut pool = p.borrow_mut();
                if pool.len() < POOL_MAX {
                    pool.push(bytes);
                }
            });
        }
    }
}

impl Frame {
    /// A frame with a copy of these bytes (from the destination address on, without frame check sequence).
    pub fn parse(bytes: &[u8]) -> Frame {
        Frame::build(bytes.len(), |buffer| buffer.extend_from_slice(bytes))
    }
    /// A frame with the 802.1Q tag that the kernel took out of `bytes` put back.
    pub fn with_tag(bytes: &[u8], tpid: u16, tci: u16) -> Frame {
        let (addresses, rest) = bytes.split_at(bytes.len().min(12));
        Frame::build(bytes.len() + 4, |buffer| {
            buffer.extend_from_slice(addresses);
            buffer.extend_from_slice(&tpid.to_be_bytes());
            buffer.extend_from_slice(&tci.to_be_bytes());
            buffer.extend_from_slice(rest);
        })
    }
    /// A frame whose `offload` is not carried out. A queue holds it as one packet, and its transmission takes as long as
    /// that of its packets.
    pub fn whole(bytes: &[u8], offload: Offload) -> Frame {
        let (packets, headers) = offload.packets(bytes);
        let mut frame = Frame::parse(bytes);
        frame.whole = Some(Whole { offload, packets, headers });
        frame
    }
    /// What is left undone of it.
    pub fn offload(&self) -> Offload {
        self.whole.map(|whole| whole.offload).unwrap_or_default()
    }
    /// A frame whose bytes `fill` writes into an empty pooled buffer; `capacity` bytes fit without growing.
    pub fn build(capacity: usize, fill: impl FnOnce(&mut Vec<u8>)) -> Frame {
        let mut bytes = take_buffer(capacity);
        fill(&mut bytes);
        let layout = layout(&bytes).unwrap_or(Layout::without_flow(Kind::Malformed));
        Frame {
            bytes,
            layout,
            framing: ETHERNET as u32,
            isn_bits: 0,
            route: (None, None),
            whole: None,
            entered: Time::ZERO,
        }
    }
    /// The bytes from the destination address on.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
    /// Which headers could be read.
    pub fn kind(&self) -> Kind {
        self.layout.kind
    }
    /// True for a fragment of an IP packet: it has no ports (the first one neither, so that all stay one flow).
    pub fn is_fragment(&self) -> bool {
        self.layout.fragment
    }
    /// Bytes below IP that [`Pkt::len`] counts instead of the Ethernet header.
    pub fn set_framing(&mut self, framing: u32) {
        self.framing = framing;
    }
    /// Declares that the low `bits` bits of senders' initial sequence numbers are zero. These bits of a sequence number
    /// are then the position in the stream, modulo 2^bits bytes. 0: not known.
    pub fn set_isn_bits(&mut self, bits: u8) {
        self.isn_bits = bits;
    }
    /// Sets the nodes of the sender and of the receiver. `None`: it is no node of the network.
    pub fn set_route(&mut self, route: (Option<u16>, Option<u16>)) {
        self.route = route;
    }
    /// The nodes of the sender and of the receiver.
    #[inline]
    pub fn route(&self) -> (Option<u16>, Option<u16>) {
        self.route
    }
    /// Destination and source address.
    pub fn macs(&self) -> Option<([u8; 6], [u8; 6])> {
        let (dst, rest) = self.bytes.split_first_chunk()?;
        Some((*dst, *rest.first_chunk()?))
    }
    /// The IP packet, without link header and padding.
    pub fn ip(&self) -> Option<&[u8]> {
        let l3 = usize::from(self.layout.l3);
        let total = match self.layout.kind {
            Kind::Ipv4 => be16(&self.bytes, l3 + 2)?,
            Kind::Ipv6 => be16(&self.bytes, l3 + 4)? + 40,
            _ => return None,
        };
        self.bytes.get(l3..l3 + total)
    }
    /// The TOS byte or traffic class.
    #[inline]
    fn traffic_class(&self) -> Option<u8> {
        let l3 = usize::from(self.layout.l3);
        match self.layout.kind {
            Kind::Ipv4 => self.bytes.get(l3 + 1).copied(),
            Kind::Ipv6 => Some((be16(&self.bytes, l3)? >> 4) as u8),
            _ => None,
        }
    }
    /// A TCP segment in one piece with payload and without SYN, FIN and RST.
    fn is_data_segment(&self) -> bool {
        let (l3, l4) = (usize::from(self.layout.l3), usize::from(self.layout.l4));
        let Some(&[offset, flags]) = self.bytes.get(l4 + 12..).and_then(|rest| rest.first_chunk()) else {
            return false;
        };
        let payload_at = l4 - l3.min(l4) + usize::from(offset >> 4) * 4;
        let has_payload = self.ip().is_some_and(|ip| payload_at < ip.len());
        // FIN, SYN and RST are the lowest three flags.
        l4 != 0 && self.layout.protocol == TCP && has_payload && flags & 0x07 == 0
    }
    /// A copy to be sent back: addresses and ports swapped, the TTL as a sender sets it, CE set.
    /// `None` if there is nothing to return (no IP), or the field is Not-ECT and CE would be a lie.
    pub fn turned_round(&self) -> Option<Frame> {
        if !self.ecn().is_capable() {
            return None;
        }
        let mut back = self.clone();
        back.route = (self.route.1, self.route.0);
        let (l3, l4) = (usize::from(self.layout.l3), usize::from(self.layout.l4));
        swap(&mut back.bytes, 0, 6, 6)?;
        match self.layout.kind {
            Kind::Ipv4 => {
                swap(&mut back.bytes, l3 + 12, l3 + 16, 4)?;
                let ttl = initial_ttl(*back.bytes.get(l3 + 8)?);
                back.change_v4_word(l3 + 8, |word| (u16::from(ttl) << 8) | (word & 0xff));
            }
            Kind::Ipv6 => {
                swap(&mut back.bytes, l3 + 8, l3 + 24, 16)?;
                let hops = back.bytes.get_mut(l3 + 7)?;
                *hops = initial_ttl(*hops);
            }
            _ => return None,
        }
        if l4 != 0 {
            swap(&mut back.bytes, l4, l4 + 2, 2)?;
        }
        back.set_ce();
        Some(back)
    }
    /// Changes the 16-bit word of the IPv4 header that holds byte `at`, and the header checksum with it.
    fn change_v4_word(&mut self, at: usize, change: impl FnOnce(u16) -> u16) {
        let l3 = usize::from(self.layout.l3);
        let word = l3 + ((at - l3) & !1);
        let (Some(old), Some(sum)) = (be16(&self.bytes, word), be16(&self.bytes, l3 + 10)) else { return };
        let new = change(old as u16);
        self.bytes[word..word + 2].copy_from_slice(&new.to_be_bytes());
        let sum = checksum_update(sum as u16, old as u16, new);
        self.bytes[l3 + 10..l3 + 12].copy_from_slice(&sum.to_be_bytes());
    }
}

impl Pkt for Frame {
    #[inline]
    fn len(&self) -> u32 {
        let more = self.whole.map_or(0, |whole| (whole.packets - 1) * (self.framing + whole.headers));
        (self.bytes.len().saturating_sub(ETHERNET)) as u32 + self.framing + more
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        match self.traffic_class().unwrap_or(0) & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
    fn set_ce(&mut self) {
        let l3 = usize::from(self.layout.l3);
        match self.layout.kind {
            Kind::Ipv4 => self.change_v4_word(l3, |word| word | 3),
            // No checksum covers the traffic class of IPv6.
            Kind::Ipv6 => {
                if let Some(byte) = self.bytes.get_mut(l3 + 1) {
                    *byte |= 0x30;
                }
            }
            _ => {}
        }
    }
    fn flow(&self) -> FlowKey {
        self.flow_key().unwrap_or_default()
    }
    fn priority(&self) -> u8 {
        self.traffic_class().map_or(0, |tos| priority_of_dscp(tos >> 2))
    }
    fn dscp(&self) -> u8 {
        self.traffic_class().map_or(0, |tos| tos >> 2)
    }
    fn set_dscp(&mut self, dscp: u8) {
        let l3 = usize::from(self.layout.l3);
        match self.layout.kind {
            Kind::Ipv4 => self.change_v4_word(l3, |word| (word & 0xff03) | (u16::from(dscp & 63) << 2)),
            // The traffic class lies across the first two bytes: version, class, flow label.
            Kind::Ipv6 => {
                if let Some([a, b]) = self.bytes.get_mut(l3..).and_then(|rest| rest.first_chunk_mut()) {
                    *a = (*a & 0xf0) | (dscp >> 2 & 15);
                    *b = (*b & 0x3f) | (dscp << 6);
                }
            }
            _ => {}
        }
    }
    fn reflected(&self) -> Option<Frame> {
        if self.is_data_segment() { self.turned_round() } else { None }
    }
    fn pure_ack(&self) -> Option<PureAck> {
        let (l3, l4) = (usize::from(self.layout.l3), usize::from(self.layout.l4));
        if l4 == 0 || self.layout.protocol != TCP {
            return None;
        }
        let header: &[u8; 20] = self.bytes.get(l4..)?.first_chunk()?;
        let (len, flags) = (usize::from(header[12] >> 4) * 4, header[13]);
        let is_bare = self.ip()?.len() == l4 - l3.min(l4) + len;
        let sack = sack_alone(self.bytes.get(l4 + 20..l4 + len)?)?;
        let answers = (flags & 0xc0) | (header[12] & 1);
        let ack = u32::from_be_bytes([header[8], header[9], header[10], header[11]]);
        // Of FIN, SYN, RST, PSH and ACK it has ACK, and PSH or not.
        (is_bare && flags & 0x17 == 0x10).then_some(PureAck { ack, flags: answers, sack })
    }
    fn stream_offset(&self) -> Option<u64> {
        if self.isn_bits == 0 || self.layout.l4 == 0 || self.layout.protocol != TCP {
            return None;
        }
        let l4 = usize::from(self.layout.l4);
        let seq = u32::from_be_bytes(*self.bytes.get(l4 + 4..)?.first_chunk()?);
        // The SYN takes the first number: the first payload byte has the next.
        let is_syn = self.bytes.get(l4 + 13)? & 0x02 != 0;
        let from_isn = if is_syn { seq } else { seq.wrapping_sub(1) };
        Some(u64::from(from_isn) & ((1u64 << self.isn_bits.min(32)) - 1))
    }
}

/// The SACK blocks among a segment's options; `None` if there are others than timestamps, SACK (kinds 8 and 5) and
/// padding.
fn sack_alone(mut options: &[u8]) -> Option<[(u32, u32); 4]> {
    let mut blocks = [(0, 0); 4];
    loop {
        options = match options {
            [] | [0, ..] => return Some(blocks),
            [1, rest @ ..] => rest,
            [8, 10, rest @ ..] => rest.get(8..)?,
            [5, len, rest @ ..] if len % 8 == 2 => {
                let (edges, rest) = rest.split_at_checked(usize::from(*len) - 2)?;
                for (block, edges) in blocks.iter_mut().zip(edges.chunks_exact(8)) {
                    let edge = |at: usize| Some(u32::from_be_bytes(*edges.get(at..)?.first_chunk()?));
                    *block = (edge(0)?, edge(4)?);
                }
                rest
            }
            _ => return None,
        };
    }
}

impl Frame {
    fn flow_key(&self) -> Option<FlowKey> {
        let (l3, l4) = (usize::from(self.layout.l3), usize::from(self.layout.l4));
        let v4 = |at: usize| Some(u128::from(u32::from_be_bytes(*self.bytes.get(at..)?.first_chunk()?)));
        let v6 = |at: usize| Some(u128::from_be_bytes(*self.bytes.get(at..)?.first_chunk()?));
        let (src, dst) = match self.layout.kind {
            Kind::Ipv4 => (v4(l3 + 12)?, v4(l3 + 16)?),
            Kind::Ipv6 => (v6(l3 + 8)?, v6(l3 + 24)?),
            _ => return None,
        };
        let port = |at| if l4 == 0 { Some(0) } else { be16(&self.bytes, l4 + at).map(|p| p as u16) };
        Some(FlowKey { src, dst, src_port: port(0)?, dst_port: port(2)?, protocol: self.layout.protocol })
    }
}

#[inline]
fn be16(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?)))
}

fn swap(bytes: &mut [u8], a: usize, b: usize, len: usize) -> Option<()> {
    let (low, high) = bytes.split_at_mut_checked(b)?;
    low.get_mut(a..a + len)?.swap_with_slice(high.get_mut(..len)?);
    Some(())
}

fn initial_ttl(ttl: u8) -> u8 {
    INITIAL_TTLS.into_iter().find(|&start| start >= ttl).unwrap_or(255)
}

/// The Internet checksum after one word of what it covers changed (RFC 1624 equation 3: HC' = ~(~HC + ~m + m')).
pub fn checksum_update(sum: u16, old: u16, new: u16) -> u16 {
    let total = u32::from(!sum) + u32::from(!old) + u32::from(new);
    let folded = (total & 0xffff) + (total >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

/// The Internet checksum (RFC 1071) of `parts` laid end to end; all but the last have even length.
pub fn checksum(parts: &[&[u8]]) -> u16 {
    let mut total = 0u64;
    for part in parts {
        let (words, extras) = part.as_chunks::<2>();
        total += words.iter().map(|w| u64::from(u16::from_be_bytes(*w))).sum::<u64>();
        total += extras.first().map_or(0, |&b| u64::from(b) << 8);
    }
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    !(total as u16)
}

/// Finds the headers; `None` where the frame ends too early.
fn layout(bytes: &[u8]) -> Option<Layout> {
    let mut l3 = ETHERNET;
    let mut ethertype = be16(bytes, 12)?;
    for _ in 0..2 {
        if ethertype != 0x8100 && ethertype != 0x88a8 {
            break;
        }
        ethertype = be16(bytes, l3 + 2)?;
        l3 += 4;
    }
    match ethertype {
        0x0800 => layout_v4(bytes, l3),
        0x86dd => layout_v6(bytes, l3),
        0x0806 => Some(Layout::without_flow(Kind::Arp)),
        _ => Some(Layout::without_flow(Kind::Other)),
    }
}

fn layout_v4(bytes: &[u8], l3: usize) -> Option<Layout> {
    let packet = bytes.get(l3..)?;
    let header: &[u8; 20] = packet.first_chunk()?;
    let header_len = usize::from(header[0] & 15) * 4;
    let total = be16(header, 2)?;
    if header[0] >> 4 != 4 || header_len < 20 || total < header_len || total > packet.len() {
        return None;
    }
    // More-fragments or an offset: Linux's flow dissector reads no ports from such packets.
    let fragment = be16(header, 6)? & 0x3fff != 0;
    let protocol = header[9];
    let l4 = if fragment { 0 } else { transport_at(bytes, l3 + header_len, l3 + total, protocol) };
    Some(Layout { kind: Kind::Ipv4, l3: l3 as u16, l4, protocol, fragment })
}

fn layout_v6(bytes: &[u8], l3: usize) -> Option<Layout> {
    let packet = bytes.get(l3..)?;
    let header: &[u8; 40] = packet.first_chunk()?;
    let end = 40 + be16(header, 4)?;
    if header[0] >> 4 != 6 || end > packet.len() {
        return None;
    }
    let (mut at, mut protocol, mut fragment) = (40, header[6], false);
    // RFC 8200 section 4: hop-by-hop, routing, destination options; a fragment header ends what can be read.
    for _ in 0..8 {
        match protocol {
            0 | 43 | 60 => {
                let Some(&[next, words]) = packet.get(at..end).and_then(|p| p.first_chunk()) else { break };
                protocol = next;
                at += 8 + usize::from(words) * 8;
            }
            44 => {
                fragment = true;
                protocol = *packet.get(at..end).and_then(|p| p.first()).unwrap_or(&44);
                break;
            }
            _ => break,
        }
    }
    let l4 = if fragment { 0 } else { transport_at(bytes, l3 + at, l3 + end, protocol) };
    Some(Layout { kind: Kind::Ipv6, l3: l3 as u16, l4, protocol, fragment })
}

/// `at` if a whole TCP or UDP header is there before `end`, otherwise 0.
fn transport_at(bytes: &[u8], at: usize, end: usize, protocol: u8) -> u16 {
    let Some(header) = bytes.get(at..end) else { return 0 };
    let whole = match protocol {
        TCP => header.get(12).is_some_and(|&b| (20..=header.len()).contains(&(usize::from(b >> 4) * 4))),
        UDP => header.len() >= 8,
        _ => false,
    };
    // Offsets lie within the first 10 kB at most (eight extension headers): they fit.
    if whole { u16::try_from(at).unwrap_or(0) } else { 0 }
}

#[cfg(test)]
mod tests;
