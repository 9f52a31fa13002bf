//! A recorded frame as a classifier sees it.

use haltere_queue::{Ecn, FlowKey, Pkt};
use haltere_wire::frame::{Frame, Kind};

const TCP: u8 = 6;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

/// What a classifier asks of a packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) len: u32,
    ecn: Ecn,
    flow: FlowKey,
    priority: u8,
    dscp: u8,
    pub(crate) offset: Option<u64>,
    /// It opens a flow: a SYN without ACK, or with it the other way.
    pub(crate) opens: bool,
    /// TCP's sequence number, less one where it is no SYN: the initial one plus the offset.
    pub(crate) place: Option<u32>,
}

impl Seen {
    /// What can be read of that frame; `None` for what has no flow.
    pub(crate) fn of(bytes: &[u8]) -> Option<Seen> {
        let mut frame = Frame::parse(bytes);
        let flow = frame.flow();
        if !matches!(frame.kind(), Kind::Ipv4 | Kind::Ipv6) {
            return None;
        }
        // With all bits said to count, a frame tells the whole number.
        frame.set_isn_bits(32);
        let place = frame.stream_offset().map(|place| place as u32);
        let ip = frame.ip()?;
        let class = if frame.kind() == Kind::Ipv4 { ip[1] } else { (ip[0] << 4) | (ip[1] >> 4) };
        let flags = if flow.protocol == TCP && place.is_some() { tcp_flags(ip, frame.kind()) } else { 0 };
        Some(Seen {
            len: frame.len(),
            ecn: frame.ecn(),
            flow,
            priority: frame.priority(),
            dscp: class >> 2,
            offset: None,
            opens: flags & SYN != 0,
            place,
        })
    }
}

/// TCP's flags where the TCP header follows the IP header at once.
fn tcp_flags(ip: &[u8], kind: Kind) -> u8 {
    let start = if kind == Kind::Ipv4 { usize::from(ip[0] & 15) * 4 } else { 40 };
    ip.get(start + 13).copied().unwrap_or(0) & (SYN | ACK)
}

impl Pkt for Seen {
    fn len(&self) -> u32 {
        self.len
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {}
    fn flow(&self) -> FlowKey {
        self.flow
    }
    fn priority(&self) -> u8 {
        self.priority
    }
    fn dscp(&self) -> u8 {
        self.dscp
    }
    fn stream_offset(&self) -> Option<u64> {
        self.offset
    }
}
