//! Lengths of packets and headers, in bytes.

/// The longest IP packet on a link: the payload of a full Ethernet frame (RFC 894). A "full packet" has this length and
/// its framing.
pub const FULL_PACKET: u32 = 1500;
/// An Ethernet header without tags (IEEE 802.3): the usual framing.
pub const ETHERNET_FRAMING: u32 = 14;
/// An IPv4 header without options (RFC 791).
pub const IPV4_HEADER: u32 = 20;
/// A UDP header (RFC 768).
pub const UDP_HEADER: u32 = 8;
/// The header of an ICMP echo request or reply (RFC 792).
pub const ICMP_HEADER: u32 = 8;
/// A TCP header with timestamps: 20 bytes, and 12 of options (RFC 9293, RFC 7323).
pub const TCP_HEADER_WITH_TIMESTAMPS: u32 = 32;
/// The longest payload of UDP or of an ICMP echo in one IPv4 packet: 65,535 bytes less both headers.
pub const MAX_DATAGRAM: u64 = (u16::MAX as u32 - IPV4_HEADER - UDP_HEADER) as u64;

const _: () = assert!(MAX_DATAGRAM == 65_507);
