//! What an offload left undone in a received frame: its checksum, and the cut into packets.
//! Source: virtio 1.2 section 5.1.6 (`struct virtio_net_hdr`), which AF_PACKET puts before a frame (packet(7),
//! `PACKET_VNET_HDR`); RFC 9293 section 3.1, RFC 768, RFC 8200 section 8.1 (checksums); RFC 3168 section 6.1.2 (CWR is
//! in one packet). Deviations: none.
//! Model: on a veth pair, and behind a card that joins packets (GRO), one frame may hold up to 64 kB of payload and a
//! checksum that covers its pseudo-header only. On a line the same bytes are many packets of the MTU's size, and so a
//! queue must see them: each packet has a copy of the headers with its own length, IPv4 identification, sequence number
//! and checksum; FIN and PSH are in the last one, CWR in the first.
//! Units: bytes. Cost: one copy and one checksum of each packet. Known problems: tunnels and SCTP's CRC are not
//! finished.

use super::{Frame, Kind, Layout, TCP, UDP, be16, checksum, layout};

/// Bytes of the header that AF_PACKET puts before a frame.
pub const HEADER: usize = 10;
/// Bytes of the longest frame that a sender may hand over: 64 kB of IP, the Ethernet header, two tags.
pub const LONGEST: usize = 65_535 + super::ETHERNET + 8;

const NEEDS_CHECKSUM: u8 = 1;
const TCP_OVER_IPV4: u8 = 1;
const TCP_OVER_IPV6: u8 = 4;
const UDP_DATAGRAMS: u8 = 5;
/// Flag of the kind: CWR is not to be repeated.
const WITH_CWR: u8 = 0x80;
const SCTP: u8 = 132;

const FIN_PSH: u8 = 0x09;
const CWR: u8 = 0x80;

/// An 802.1Q tag: protocol identifier and control information.
pub type Tag = (u16, u16);

/// What is left to do. The default is nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offload {
    flags: u8,
    kind: u8,
    /// Payload bytes of each packet.
    size: u16,
    /// Where the checksum begins to cover the frame, and its place from there.
    start: u16,
    offset: u16,
}

impl Offload {
    /// As AF_PACKET tells it, in the machine's byte order.
    pub fn read(bytes: &[u8; HEADER]) -> Offload {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        // Bytes 2 and 3 are the length of the headers, which the headers tell better.
        Offload { flags: bytes[0], kind: bytes[1], size: word(4), start: word(6), offset: word(8) }
    }
    /// As AF_PACKET expects it, in the machine's byte order.
    pub fn write(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        (bytes[0], bytes[1]) = (self.flags, self.kind);
        for (at, word) in [(4, self.size), (6, self.start), (8, self.offset)] {
            bytes[at..at + 2].copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }
    /// How many packets a TCP frame holds, and the bytes of the headers below its payload from IP on; one of them if it
    /// holds no others.
    pub fn packets(&self, bytes: &[u8]) -> (u32, u32) {
        match Cut::of(self, bytes, None).filter(|_| self.holds_several()) {
            Some(cut) => {
                let headers = cut.headers - usize::from(cut.layout.l3);
                (cut.payload.len().div_ceil(cut.size).max(1) as u32, headers as u32)
            }
            None => (1, 0),
        }
    }
    /// Nothing is left to do.
    #[inline]
    pub fn is_nothing(&self) -> bool {
        !self.needs_checksum() && self.kind == 0
    }
    /// The checksum covers the pseudo-header only.
    pub fn needs_checksum(&self) -> bool {
        self.flags & NEEDS_CHECKSUM != 0
    }
    /// The frame holds several packets.
    pub fn holds_several(&self) -> bool {
        self.kind != 0
    }
    /// Passes the finished packets of a frame to `each`; `tag` was taken out of it and goes into each. False, and none
    /// is handed over, if it cannot be finished.
    #[must_use]
    pub fn finish(&self, bytes: &[u8], tag: Option<Tag>, each: &mut dyn FnMut(Frame)) -> bool {
        if !self.holds_several() {
            return self.with_checksum(bytes, tag).map(each).is_some();
        }
        match Cut::of(self, bytes, tag) {
            Some(cut) if cut.payload.is_empty() => self.with_checksum(bytes, tag).map(each).is_some(),
            Some(cut) => {
                cut.packets(each);
                true
            }
            None => false,
        }
    }
    /// The whole frame with its checksum finished.
    fn with_checksum(&self, bytes: &[u8], tag: Option<Tag>) -> Option<Frame> {
        if !self.needs_checksum() {
            return Some(tagged(bytes, &[], tag, |_, _| {}));
        }
        let (start, at) = (usize::from(self.start), usize::from(self.start) + usize::from(self.offset));
        let covered = bytes.get(start..).filter(|_| at + 2 <= bytes.len())?;
        // The sum of the pseudo-header stands in the field already.
        let (sum, protocol) = (checksum(&[covered]), layout(bytes).map(|layout| layout.protocol));
        let sum = if protocol == Some(TCP) { sum } else { not_zero(sum) };
        (protocol != Some(SCTP)).then(|| tagged(bytes, &[], tag, |frame, shift| put(frame, at + shift, sum)))
    }
}

/// A frame of several packets.
struct Cut<'a> {
    bytes: &'a [u8],
    layout: Layout,
    /// Bytes of all headers.
    headers: usize,
    payload: &'a [u8],
    size: usize,
    tag: Option<Tag>,
    cwr_once: bool,
    /// A UDP sender may have asked for no checksum.
    has_checksum: bool,
}

impl<'a> Cut<'a> {
    fn of(offload: &Offload, bytes: &'a [u8], tag: Option<Tag>) -> Option<Cut<'a>> {
        let layout = layout(bytes)?;
        let (l3, l4) = (usize::from(layout.l3), usize::from(layout.l4));
        let transport = match (offload.kind & !WITH_CWR, layout.kind, layout.protocol) {
            (TCP_OVER_IPV4, Kind::Ipv4, TCP) | (TCP_OVER_IPV6, Kind::Ipv6, TCP) => {
                usize::from(*bytes.get(l4 + 12)? >> 4) * 4
            }
            (UDP_DATAGRAMS, Kind::Ipv4 | Kind::Ipv6, UDP) => 8,
            _ => return None,
        };
        // Inside a tunnel the checksum begins at the inner header.
        let elsewhere = offload.needs_checksum() && usize::from(offload.start) != l4;
        if l4 == 0 || offload.size == 0 || elsewhere {
            return None;
        }
        let end = l3 + ip_length(bytes, &layout)?;
        let headers = l4 + transport;
        let payload = bytes.get(headers..end)?;
        let has_checksum = layout.protocol == TCP || offload.needs_checksum() || be16(bytes, l4 + 6)? != 0;
        let cwr_once = offload.kind & WITH_CWR != 0;
        Some(Cut { bytes, layout, headers, payload, size: usize::from(offload.size), tag, cwr_once, has_checksum })
    }
    fn packets(&self, each: &mut dyn FnMut(Frame)) {
        let last = self.payload.len().div_ceil(self.size) - 1;
        for (index, chunk) in self.payload.chunks(self.size).enumerate() {
            each(tagged(&self.bytes[..self.headers], chunk, self.tag, |frame, shift| {
                self.number(frame, shift, index, index == last);
                self.sum_up(frame, shift);
            }));
        }
    }
    /// Lengths, identification, sequence number and flags of the packet at that place.
    fn number(&self, frame: &mut [u8], shift: usize, index: usize, is_last: bool) {
        let (l3, l4) = (usize::from(self.layout.l3) + shift, usize::from(self.layout.l4) + shift);
        let len = frame.len() - l3;
        if self.layout.kind == Kind::Ipv4 {
            put(frame, l3 + 2, len as u16);
            let id = u16::from_be_bytes([frame[l3 + 4], frame[l3 + 5]]);
            put(frame, l3 + 4, id.wrapping_add(index as u16));
        } else {
            put(frame, l3 + 4, (len - 40) as u16);
        }
        if self.layout.protocol == UDP {
            put(frame, l4 + 4, (frame.len() - l4) as u16);
            return;
        }
        let first = u32::from_be_bytes([frame[l4 + 4], frame[l4 + 5], frame[l4 + 6], frame[l4 + 7]]);
        let seq = first.wrapping_add((index * self.size) as u32);
        frame[l4 + 4..l4 + 8].copy_from_slice(&seq.to_be_bytes());
        if !is_last {
            frame[l4 + 13] &= !FIN_PSH;
        }
        if index > 0 && self.cwr_once {
            frame[l4 + 13] &= !CWR;
        }
    }
    /// The checksums of a packet whose other fields are right.
    fn sum_up(&self, frame: &mut [u8], shift: usize) {
        let (l3, l4) = (usize::from(self.layout.l3) + shift, usize::from(self.layout.l4) + shift);
        let addresses = if self.layout.kind == Kind::Ipv4 {
            let end = l3 + usize::from(frame[l3] & 15) * 4;
            put(frame, l3 + 10, 0);
            put(frame, l3 + 10, checksum(&[&frame[l3..end]]));
            l3 + 12..l3 + 20
        } else {
            l3 + 8..l3 + 40
        };
        let at = l4 + if self.layout.protocol == TCP { 16 } else { 6 };
        put(frame, at, 0);
        if self.has_checksum {
            let len = (frame.len() - l4) as u32;
            let sum = checksum(&[&frame[addresses], &[0, self.layout.protocol], &len.to_be_bytes(), &frame[l4..]]);
            put(frame, at, if self.layout.protocol == UDP { not_zero(sum) } else { sum });
        }
    }
}

/// Length of the IP packet with its header.
fn ip_length(bytes: &[u8], layout: &Layout) -> Option<usize> {
    let l3 = usize::from(layout.l3);
    if layout.kind == Kind::Ipv4 { be16(bytes, l3 + 2) } else { Some(be16(bytes, l3 + 4)? + 40) }
}

/// A frame of `head` and `rest` with `tag` put in, changed by `change`, which hears by how much headers moved.
fn tagged(head: &[u8], rest: &[u8], tag: Option<Tag>, change: impl FnOnce(&mut [u8], usize)) -> Frame {
    Frame::build(head.len() + rest.len() + 4, |buffer| {
        let (addresses, after) = head.split_at(head.len().min(12));
        buffer.extend_from_slice(addresses);
        if let Some((tpid, tci)) = tag {
            buffer.extend_from_slice(&tpid.to_be_bytes());
            buffer.extend_from_slice(&tci.to_be_bytes());
        }
        buffer.extend_from_slice(after);
        buffer.extend_from_slice(rest);
        change(buffer, if tag.is_some() { 4 } else { 0 });
    })
}

fn put(bytes: &mut [u8], at: usize, word: u16) {
    bytes[at..at + 2].copy_from_slice(&word.to_be_bytes());
}

/// RFC 768: a sum of zero is sent as its other form, for zero means that there is none.
fn not_zero(sum: u16) -> u16 {
    if sum == 0 { 0xffff } else { sum }
}

#[cfg(test)]
mod tests;
