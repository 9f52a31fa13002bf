//! The bytes of headers on the wire.
//! Source: RFC 791 (IPv4), RFC 9293 (TCP), RFC 7323 (window scale, timestamps), RFC 2018 (SACK), RFC 768 (UDP), RFC 792
//! (ICMP), RFC 1071 (checksum). Deviations: none. Options are laid out as Linux does, so that their length is
//! [`Segment::header_len`].

use haltere_queue::Ecn;
use haltere_transport::Segment;

/// The ECN field's two bits (RFC 3168 section 5).
pub const fn ecn_bits(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b00,
        Ecn::Ect1 => 0b01,
        Ecn::Ect0 => 0b10,
        Ecn::Ce => 0b11,
    }
}

/// The Internet checksum over `parts` one after the other; each but the last has an even length (RFC 1071).
pub fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum: u64 = 0;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// The fields of an IPv4 header that differ from packet to packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv4 {
    /// Source address.
    pub src: u32,
    /// Destination address.
    pub dst: u32,
    /// Protocol number.
    pub protocol: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// DSCP.
    pub dscp: u8,
    /// Identification.
    pub id: u16,
    /// Bytes after this header.
    pub payload: u16,
}

impl Ipv4 {
    /// Appends the header: no options, don't fragment, time to live 64.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend([0x45, self.dscp << 2 | ecn_bits(self.ecn)]);
        out.extend((20 + self.payload).to_be_bytes());
        out.extend(self.id.to_be_bytes());
        out.extend([0x40, 0, 64, self.protocol, 0, 0]);
        out.extend(self.src.to_be_bytes());
        out.extend(self.dst.to_be_bytes());
        let sum = checksum(&[&out[start..]]);
        out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
    }
    /// The pseudo-header over which TCP and UDP compute their checksum (RFC 9293 section 3.1).
    fn pseudo(&self) -> [u8; 12] {
        let ([a, b, c, d], [e, f, g, h], [l, m]) =
            (self.src.to_be_bytes(), self.dst.to_be_bytes(), self.payload.to_be_bytes());
        [a, b, c, d, e, f, g, h, 0, self.protocol, l, m]
    }
    /// Puts the checksum of everything from `start` at `start + offset`; payload beyond `out` is zeros, which add
    /// nothing.
    fn fill_checksum(&self, out: &mut [u8], start: usize, offset: usize) {
        let sum = checksum(&[&self.pseudo(), &out[start..]]);
        // RFC 768: a UDP checksum of zero is sent as all ones.
        let sum = if sum == 0 && self.protocol == 17 { 0xffff } else { sum };
        out[start + offset..start + offset + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Appends the TCP header of `segment` with its options; the checksum is that of a payload of zeros.
pub fn encode_tcp(segment: &Segment, ip: &Ipv4, ports: (u16, u16), out: &mut Vec<u8>) {
    let start = out.len();
    out.extend(ports.0.to_be_bytes());
    out.extend(ports.1.to_be_bytes());
    out.extend(segment.seq.to_be_bytes());
    out.extend(segment.ack.to_be_bytes());
    let words = (segment.header_len() / 4) as u16;
    out.extend((words << 12 | segment.flags.0 & 0x01ff).to_be_bytes());
    out.extend(segment.window.to_be_bytes());
    out.extend([0; 4]); // checksum, urgent pointer
    encode_options(segment, out);
    assert_eq!(out.len() - start, segment.header_len() as usize, "length of the TCP header of {segment:?}");
    ip.fill_checksum(out, start, 16);
}

const NOP: u8 = 1;

fn encode_options(segment: &Segment, out: &mut Vec<u8>) {
    if let Some(mss) = segment.mss {
        out.extend([2, 4]);
        out.extend(mss.to_be_bytes());
    }
    if let Some(timestamps) = segment.timestamps {
        out.extend(if segment.sack_permitted { [4, 2] } else { [NOP, NOP] });
        out.extend([8, 10]);
        out.extend(timestamps.val.to_be_bytes());
        out.extend(timestamps.ecr.to_be_bytes());
    } else if segment.sack_permitted {
        out.extend([NOP, NOP, 4, 2]);
    }
    if let Some(shift) = segment.window_scale {
        out.extend([NOP, 3, 3, shift]);
    }
    let blocks = segment.sack.as_slice();
    if !blocks.is_empty() {
        out.extend([NOP, NOP, 5, 2 + 8 * blocks.len() as u8]);
        for (left, right) in blocks {
            out.extend(left.to_be_bytes());
            out.extend(right.to_be_bytes());
        }
    }
    if let Some(counts) = &segment.ecn_counts {
        out.push(NOP);
        out.extend(counts.to_bytes());
    }
}

/// Appends a UDP header and `payload`. Without a payload, the checksum is that of one of zeros.
pub fn encode_udp(ip: &Ipv4, ports: (u16, u16), payload: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend(ports.0.to_be_bytes());
    out.extend(ports.1.to_be_bytes());
    out.extend(ip.payload.to_be_bytes());
    out.extend([0; 2]);
    out.extend(payload);
    ip.fill_checksum(out, start, 6);
}

/// Appends an ICMP echo header; the checksum is that of a payload of zeros.
pub fn encode_echo(reply: bool, id: u16, seq: u16, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend([if reply { 0 } else { 8 }, 0, 0, 0]);
    out.extend(id.to_be_bytes());
    out.extend(seq.to_be_bytes());
    let sum = checksum(&[&out[start..]]);
    out[start + 2..start + 4].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_transport::{Flags, Timestamps};

    #[test]
    fn checksum_matches_the_example_of_rfc_1071() {
        // RFC 1071 section 3: the sum is ddf2, the checksum its complement.
        assert_eq!(checksum(&[&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]]), !0xddf2);
    }
    #[test]
    fn a_header_with_its_checksum_sums_to_zero() {
        let ip = Ipv4 { src: 0x0a00_0001, dst: 0x0a00_0002, protocol: 6, ecn: Ecn::Ect0, dscp: 0, id: 7, payload: 32 };
        let mut out = Vec::new();
        ip.encode(&mut out);
        assert_eq!(checksum(&[&out]), 0);
        let timestamps = Some(Timestamps { val: 1, ecr: 2 });
        let segment = Segment { seq: 9, ack: 8, flags: Flags::ACK, timestamps, ..Segment::default() };
        let mut tcp = Vec::new();
        encode_tcp(&segment, &ip, (5000, 5001), &mut tcp);
        assert_eq!(checksum(&[&ip.pseudo(), &tcp]), 0);
    }
    #[test]
    fn options_of_a_syn_are_laid_out_as_linux_does() {
        let timestamps = Some(Timestamps { val: 0x0102_0304, ecr: 0 });
        let (mss, window_scale) = (Some(1460), Some(7));
        let syn =
            Segment { flags: Flags::SYN, mss, window_scale, timestamps, sack_permitted: true, ..Segment::default() };
        let ip = Ipv4 { src: 1, dst: 2, protocol: 6, ecn: Ecn::NotEct, dscp: 0, id: 0, payload: 40 };
        let mut out = Vec::new();
        encode_tcp(&syn, &ip, (1, 2), &mut out);
        assert_eq!(out[20..], [2, 4, 0x05, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, NOP, 3, 3, 7]);
        assert_eq!(out[12], 0xa0, "ten words");
    }
}
