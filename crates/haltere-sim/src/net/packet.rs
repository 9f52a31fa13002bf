//! Packets as values, and the pool for what few packets carry.
//!
//! A packet has 56 bytes, so a packet and a time fill a cache line. Queues hold packets in rings; [`Flights`] holds the
//! packets on lines. SACK blocks and the options of a SYN are kept in the pool, and the packet holds their number.

use crate::capture::wire_format::ecn_bits;
use crate::engine::prefetch::fetch;
use crate::net::flight::{Ahead, Flights};
use haltere_plan::Plan;
use haltere_plan::app::Protocol;
pub(crate) use haltere_plan::headers::UDP_HEADER;
use haltere_queue::pfifo_fast::priority_of_dscp;
use haltere_queue::{CONTROL, Ecn, FlowKey, Pkt, PureAck};
use haltere_transport::{EcnCounts, Flags, SackBlocks, Segment, Timestamps};
use haltere_units::Time;

/// Low bits of the sequence number that RuN2C's senders start at zero (`isn_zero_bits` of TCP): offsets to 4 MiB.
const ISN_BITS: u32 = 22;
/// IP protocol numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// The part of a packet that links and routers read.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub(crate) struct Header {
    /// Length on a link in bytes, framing included.
    pub len: u32,
    /// The packet's place on its path: index of its next link in the network's list of paths.
    pub cursor: u32,
    /// The endpoint to which it goes: twice the flow's index, plus one at the flow's far end.
    pub endpoint: u32,
    /// Index of the node that sent it.
    pub src: u32,
    /// Index of the node to which it goes.
    pub dst: u32,
    /// Source port (ICMP: 0).
    pub src_port: u16,
    /// Destination port (ICMP: 0).
    pub dst_port: u16,
    pub id: u16,
    pub protocol: u8,
    pub dscp: u8,
    /// The ECN field and three flags.
    pub marks: Marks,
    /// TCP flags. Of an echo: 1 if it is the reply.
    pub flags: u8,
}

/// The ECN field and three flags in one byte, of which every value is valid. If a field of the packet had invalid
/// values, `Option<Packet>` would store its `None` there, in the middle of the packet, and the compiler would copy it
/// in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Marks(u8);

impl Marks {
    const ECN: u8 = 3;
    const ALIGNED: u8 = 8;
    const AE: u8 = 16;
    /// The packet is a copy that a queue sent back to its sender.
    const REFLECTED: u8 = 32;

    #[inline]
    pub fn ecn(self) -> Ecn {
        match self.0 & Marks::ECN {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
    /// The same with that ECN field.
    #[inline]
    pub fn with_ecn(self, ecn: Ecn) -> Marks {
        Marks(self.0 & !Marks::ECN | ecn_bits(ecn))
    }
    /// TCP: the initial sequence number of its stream ends in so many zero bits that a router can read the offset.
    #[inline]
    pub fn is_aligned(self) -> bool {
        self.0 & Marks::ALIGNED != 0
    }
    /// TCP: the flag AE, which the byte of the other flags has no room for.
    #[inline]
    fn has_ae(self) -> bool {
        self.0 & Marks::AE != 0
    }
    /// TCP: the flags of a segment that the byte of the other flags has no room for.
    #[inline]
    fn high_flags(self) -> u16 {
        const SHIFT: u32 = Flags::AE.0.trailing_zeros() - Marks::AE.trailing_zeros();
        const _: () = assert!((Marks::REFLECTED as u16) << SHIFT == Flags::REFLECTED.0);
        u16::from(self.0 & (Marks::AE | Marks::REFLECTED)) << SHIFT
    }
    /// The same with that flag.
    pub fn with_aligned(self, aligned: bool) -> Marks {
        Marks(self.0 & !Marks::ALIGNED | if aligned { Marks::ALIGNED } else { 0 })
    }
}

/// True for an initial sequence number from which a router can compute the offset of a later one.
pub(crate) fn is_aligned(isn: u32) -> bool {
    isn.trailing_zeros() >= ISN_BITS
}

/// What a packet carries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Body {
    Tcp(Segment),
    Udp(Datagram),
    /// An ICMP echo request or reply.
    Echo(Echo),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Datagram {
    /// When it left.
    pub sent: Time,
    /// Its number at its sender.
    pub seq: u32,
    pub payload: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Echo {
    /// When the request left.
    pub sent: Time,
    pub seq: u16,
    pub payload: u32,
    /// It is the reply.
    pub reply: bool,
}

/// The part of a packet that only its receiver reads.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Content {
    /// TCP: sequence number; an echo or a datagram: high half of the time at which it left.
    seq: u32,
    /// TCP: acknowledgement number; an echo or a datagram: the low half.
    ack: u32,
    /// TCP: timestamps. A datagram: its number.
    val: u32,
    ecr: u32,
    /// TCP: [`TIMESTAMPS`], and one more than the place of its rare options in the pool.
    more: u32,
    /// TCP: window field; an echo: sequence number.
    window: u16,
    payload: u16,
}

impl Content {
    /// When an echo or a datagram left.
    fn sent(&self) -> Time {
        Time::from_ns(u64::from(self.seq) << 32 | u64::from(self.ack))
    }
}

/// The high and the low half of a time.
fn halves(time: Time) -> (u32, u32) {
    ((time.as_ns() >> 32) as u32, time.as_ns() as u32)
}

/// The segment has timestamps.
const TIMESTAMPS: u32 = 1 << 31;

/// A packet. The alignment keeps the pieces of a copy the same, whether a time, a tag or nothing is before the packet.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(8))]
pub(crate) struct Packet {
    pub header: Header,
    content: Content,
}

const _: () = assert!(size_of::<Packet>() == 56, "with its due time a packet fills a cache line");

/// Options that few segments have.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rare {
    sack: SackBlocks,
    mss: Option<u16>,
    window_scale: Option<u8>,
    sack_permitted: bool,
    ecn_counts: Option<EcnCounts>,
}

/// The IPv4 address of a node: 10.0.0.1 and up.
pub(crate) const fn address(node: u32) -> u32 {
    0x0a00_0001 + node
}

impl Header {
    /// Of the packets from one node to another, as they are before they are sent: without a path, an endpoint and
    /// marks.
    pub fn new(protocol: Protocol, (src, dst): (usize, usize), (src_port, dst_port): (u16, u16)) -> Header {
        Header {
            len: 0,
            cursor: 0,
            endpoint: 0,
            src: src as u32,
            dst: dst as u32,
            src_port,
            dst_port,
            id: 0,
            protocol: protocol.number(),
            dscp: 0,
            marks: Marks::default(),
            flags: 0,
        }
    }
    /// What chooses one of several equal paths, if the plan spreads flows over them.
    pub fn key(&self, plan: &Plan) -> Option<u64> {
        plan.ecmp.then(|| self.flow().hash(plan.seed))
    }
    pub fn flow(&self) -> FlowKey {
        FlowKey {
            src: u128::from(address(self.src)),
            dst: u128::from(address(self.dst)),
            src_port: self.src_port,
            dst_port: self.dst_port,
            protocol: self.protocol,
        }
    }
}

impl Pkt for Packet {
    #[inline]
    fn len(&self) -> u32 {
        self.header.len
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        self.header.marks.ecn()
    }
    #[inline]
    fn set_ce(&mut self) {
        self.header.marks = self.header.marks.with_ecn(Ecn::Ce);
    }
    fn flow(&self) -> FlowKey {
        self.header.flow()
    }
    /// As a Linux router gives it by the DSCP.
    fn priority(&self) -> u8 {
        if self.header.marks.0 & Marks::REFLECTED != 0 {
            return CONTROL;
        }
        priority_of_dscp(self.header.dscp)
    }
    fn dscp(&self) -> u8 {
        self.header.dscp
    }
    fn set_dscp(&mut self, dscp: u8) {
        self.header.dscp = dscp;
    }
    /// The rare options of the copy are those of the packet in the pool, and its cursor is that of the packet.
    fn reflected(&self) -> Option<Packet> {
        let others = Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0;
        let is_data = self.header.protocol == TCP && self.content.payload > 0;
        if !is_data || u16::from(self.header.flags) & others != 0 || !self.ecn().is_capable() {
            return None;
        }
        let mut copy = *self;
        let h = &mut copy.header;
        core::mem::swap(&mut h.src, &mut h.dst);
        core::mem::swap(&mut h.src_port, &mut h.dst_port);
        h.endpoint ^= 1;
        h.marks = Marks(h.marks.with_ecn(Ecn::Ce).0 | Marks::REFLECTED);
        Some(copy)
    }
    /// A router can read the offset only if the initial sequence number ends in [`ISN_BITS`] zero bits.
    fn stream_offset(&self) -> Option<u64> {
        if self.header.protocol != TCP || !self.header.marks.is_aligned() {
            return None;
        }
        if Flags(u16::from(self.header.flags)).contains(Flags::SYN) {
            return Some(0);
        }
        // RFC 9293 section 3.4: the SYN takes one number, so the first byte has ISN + 1.
        Some(u64::from(self.content.seq.wrapping_sub(1)) & ((1 << ISN_BITS) - 1))
    }
}

/// Packets in flight, the rare options of packets, and packets that disciplines emitted.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    pub flights: Flights<Packet>,
    rare: Vec<Rare>,
    /// The payload of the datagram to which that place of `rare` belongs, if it is one of a stack. A place that is not
    /// in use keeps its memory.
    payloads: Vec<Vec<u8>>,
    /// Places in `rare` not in use.
    free: Vec<u32>,
    /// TLS secrets of the run so far, in the format of SSLKEYLOGFILE, for captures.
    pub secrets: Vec<u8>,
    /// Packets that disciplines emitted. The network puts them on their paths.
    pub emitted: Vec<Packet>,
    /// Packets that links sent ahead of time. The fabric puts them on their next links.
    pub ahead: Vec<Ahead>,
}

impl Pool {
    /// A packet with that content.
    #[inline]
    pub fn take(&mut self, mut header: Header, body: &Body) -> Packet {
        let content = match body {
            Body::Tcp(segment) => return self.carry(header, segment),
            Body::Udp(datagram) => {
                let (seq, ack) = halves(datagram.sent);
                Content { seq, ack, val: datagram.seq, payload: datagram.payload as u16, ..Content::default() }
            }
            Body::Echo(echo) => {
                header.flags = u8::from(echo.reply);
                let (seq, ack) = halves(echo.sent);
                Content { seq, ack, window: echo.seq, payload: echo.payload as u16, ..Content::default() }
            }
        };
        Packet { header, content }
    }
    /// A packet that carries that segment.
    #[inline(always)]
    pub fn carry(&mut self, mut header: Header, segment: &Segment) -> Packet {
        header.flags = segment.flags.0 as u8;
        if segment.flags.contains(Flags::AE) {
            header.marks.0 |= Marks::AE;
        }
        let (val, ecr) = segment.timestamps.map_or((0, 0), |t| (t.val, t.ecr));
        let mut more = if segment.timestamps.is_some() { TIMESTAMPS } else { 0 };
        if !segment.sack.is_empty() || segment.flags.contains(Flags::SYN) || segment.ecn_counts.is_some() {
            more |= self.keep(segment);
        }
        let (seq, ack, window) = (segment.seq, segment.ack, segment.window);
        Packet { header, content: Content { seq, ack, val, ecr, more, window, payload: segment.len as u16 } }
    }
    #[cold]
    fn keep(&mut self, segment: &Segment) -> u32 {
        let Segment { sack, mss, window_scale, sack_permitted, ecn_counts, .. } = *segment;
        self.keep_rare(Rare { sack, mss, window_scale, sack_permitted, ecn_counts })
    }
    fn keep_rare(&mut self, rare: Rare) -> u32 {
        match self.free.pop() {
            Some(at) => {
                self.rare[at as usize] = rare;
                at + 1
            }
            None => {
                self.rare.push(rare);
                self.rare.len() as u32
            }
        }
    }
    /// A packet that carries that UDP payload.
    pub fn carry_payload(&mut self, header: Header, payload: &[u8]) -> Packet {
        let more = self.keep(&Segment::default());
        let at = more as usize - 1;
        if self.payloads.len() <= at {
            self.payloads.resize_with(at + 1, Vec::new);
        }
        self.payloads[at].clear();
        self.payloads[at].extend_from_slice(payload);
        Packet { header, content: Content { more, payload: payload.len() as u16, ..Content::default() } }
    }
    /// The UDP payload of a packet of a stack.
    pub fn payload(&self, packet: &Packet) -> Option<&[u8]> {
        let at = packet.content.more.checked_sub(1).filter(|_| packet.header.protocol == UDP)?;
        Some(&self.payloads[at as usize])
    }
    /// Prefetches the part of the packet that is kept here, if there is one.
    #[inline(always)]
    pub fn fetch_rare(&self, packet: &Packet) {
        if let Some(at) = (packet.content.more & !TIMESTAMPS).checked_sub(1) {
            fetch(self.rare.as_ptr().wrapping_add(at as usize));
        }
    }
    /// What a packet carries.
    #[inline]
    pub fn body(&self, packet: &Packet) -> Body {
        let (header, content) = (&packet.header, &packet.content);
        match header.protocol {
            TCP => {
                let mut segment = Segment::default();
                self.read_segment(packet, &mut segment);
                Body::Tcp(segment)
            }
            UDP => {
                let payload = u32::from(content.payload);
                Body::Udp(Datagram { sent: content.sent(), seq: content.val, payload })
            }
            _ => {
                let (seq, payload) = (content.window, u32::from(content.payload));
                Body::Echo(Echo { sent: content.sent(), seq, payload, reply: header.flags != 0 })
            }
        }
    }
    /// What a packet acknowledges, if it does nothing else and has no option but timestamps and SACK.
    pub fn pure_ack(&self, packet: &Packet) -> Option<PureAck> {
        let Packet { header, content } = packet;
        let flags = u16::from(header.flags);
        let others = Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0;
        let is_pure = header.protocol == TCP && content.payload == 0 && flags & others == 0;
        let rare = (content.more & !TIMESTAMPS).checked_sub(1).map(|at| &self.rare[at as usize]);
        let is_plain = rare.is_none_or(|rare| rare.ecn_counts.is_none());
        if !is_pure || !is_plain || !Flags(flags).contains(Flags::ACK) {
            return None;
        }
        // The eighth bit of the byte is CWR, so AE takes the place of ACK, which all of these have.
        let ae = if header.marks.has_ae() { 0 } else { Flags::ACK.0 };
        let mut said = PureAck { ack: content.ack, flags: (flags & !Flags::ACK.0 | ae) as u8, ..PureAck::default() };
        for (place, block) in said.sack.iter_mut().zip(rare.iter().flat_map(|rare| rare.sack.as_slice())) {
            *place = *block;
        }
        Some(said)
    }
    /// The segment that a TCP packet carries, written into `segment`, whose options are not set.
    #[inline(always)]
    fn read_segment(&self, packet: &Packet, segment: &mut Segment) {
        let (header, content) = (&packet.header, &packet.content);
        (segment.seq, segment.ack, segment.window) = (content.seq, content.ack, content.window);
        segment.len = u32::from(content.payload);
        segment.flags = Flags(u16::from(header.flags) | header.marks.high_flags());
        if content.more & TIMESTAMPS != 0 {
            segment.timestamps = Some(Timestamps { val: content.val, ecr: content.ecr });
        }
        if let Some(at) = (content.more & !TIMESTAMPS).checked_sub(1) {
            let rare = &self.rare[at as usize];
            (segment.sack, segment.mss) = (rare.sack, rare.mss);
            (segment.window_scale, segment.sack_permitted) = (rare.window_scale, rare.sack_permitted);
            segment.ecn_counts = rare.ecn_counts;
        }
    }
    /// The packet has reached its receiver. Writes the segment that it carries into `segment`, whose options are not
    /// set. False if it is not TCP.
    #[inline(always)]
    pub fn open_segment(&mut self, packet: &Packet, segment: &mut Segment) -> bool {
        let is_tcp = packet.header.protocol == TCP;
        if is_tcp {
            self.read_segment(packet, segment);
        }
        self.give(packet);
        is_tcp
    }
    /// The packet has reached its receiver. Returns what it carries.
    #[inline]
    pub fn open(&mut self, packet: &Packet) -> Body {
        let body = self.body(packet);
        self.give(packet);
        body
    }
    /// The packet is no longer needed.
    #[inline]
    pub fn give(&mut self, packet: &Packet) {
        if let Some(at) = (packet.content.more & !TIMESTAMPS).checked_sub(1) {
            self.free.push(at);
        }
    }
    /// A copy of that packet.
    pub fn copy(&mut self, packet: &Packet) -> Packet {
        if let Some(payload) = self.payload(packet) {
            let payload = payload.to_vec();
            return self.carry_payload(packet.header, &payload);
        }
        let body = self.body(packet);
        self.take(packet.header, &body)
    }
    /// Takes over a packet of another pool.
    #[inline]
    pub fn adopt(&mut self, mut packet: Packet, from: &mut Pool) -> Packet {
        if let Some(at) = (packet.content.more & !TIMESTAMPS).checked_sub(1) {
            let place = match from.payload(&packet) {
                Some(payload) => self.carry_payload(packet.header, payload).content.more,
                None => self.keep_rare(from.rare[at as usize]),
            };
            from.give(&packet);
            packet.content.more = packet.content.more & TIMESTAMPS | place;
        }
        packet
    }
    /// A discipline made this copy of a packet that is in its queue.
    pub fn emit(&mut self, copy: &Packet) {
        let copy = self.copy(copy);
        self.emitted.push(copy);
    }
}
