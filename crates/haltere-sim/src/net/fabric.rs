//! What lies between the hosts: links, packets on their paths, and the events that move them.

use crate::engine::event_queue::{EventQueue, Target};
use crate::engine::prefetch::{LINE, fetch};
use crate::net::link::{Link, Next};
use crate::net::packet::{Body, Header, IPV4_HEADER, Packet, Pool, is_aligned};
use haltere_plan::{Record, Routes};
use haltere_queue::Ecn;
use haltere_transport::{Flags, Segment};
use haltere_units::Time;

/// At the end of a path.
pub(crate) const DELIVER: u32 = u32::MAX;

/// Whom an event is for.
pub(crate) mod kind {
    /// A link's pending event; index of the link.
    pub const LINK: u32 = 0;
    /// The delivery of a packet that was alone on its line; its place among the packets in flight.
    pub const DELIVERY: u32 = 1;
    /// A TCP endpoint's timer; index of the endpoint (twice the flow, plus one for its far end).
    pub const TIMER: u32 = 2;
    /// An application's next step; index of the flow.
    pub const APP: u32 = 3;
    /// A flow starts; index of the flow.
    pub const START: u32 = 4;
    /// A flow's application stops; index of the flow.
    pub const STOP: u32 = 5;
    /// The recorder: what is written down, see `recorder`.
    pub const RECORD: u32 = 6;
}

/// Links, packets and pending events.
#[derive(Debug)]
pub(crate) struct Fabric {
    /// The virtual time.
    pub now: Time,
    pub events: EventQueue,
    pub links: Vec<Link>,
    pub pool: Pool,
    /// Paths as lists of link indices, each ended by [`DELIVER`].
    pub paths: Vec<u32>,
    /// The end of the warm-up, at which the counters of all links are read before what happens then; never, once it is past.
    pub horizon: Time,
    /// The first instant after the run.
    pub over: Time,
    /// Where paths go.
    pub routes: Routes,
    /// Bytes of every packet below IP.
    pub framing: u32,
    /// Client ports given out while the run goes on.
    pub last_port: u16,
    /// What has been written down so far: rows of flows as they come, samples of the recorder.
    pub record: Record,
}

impl Fabric {
    /// The next port of Linux's ephemeral range, round and round.
    pub fn ephemeral_port(&mut self) -> u16 {
        const FIRST: u16 = 32_768;
        const COUNT: u16 = 28_232;
        self.last_port = (self.last_port + 1) % COUNT;
        FIRST + self.last_port
    }
    /// Adds a path over these links; where it begins is returned.
    pub fn add_path(&mut self, links: &[usize]) -> u32 {
        let start = self.paths.len() as u32;
        self.paths.extend(links.iter().map(|&link| link as u32));
        self.paths.push(DELIVER);
        start
    }
    /// An event of that kind at `at`.
    #[inline(always)]
    pub fn schedule(&mut self, at: Time, kind: u32, index: usize) {
        debug_assert!(at >= self.now, "at {} an event for {at}", self.now);
        self.events.push(at, Target::new(kind, index as u32));
    }
    /// A packet that was sent, or turned round, goes on to the next link of its path.
    pub fn forward(&mut self, packet: Packet) {
        self.pass_on(packet);
    }
    /// The same, where one packet after the other goes on.
    #[inline(always)]
    pub fn pass_on(&mut self, mut packet: Packet) {
        let id = self.paths[packet.header.cursor as usize];
        packet.header.cursor += 1;
        let next = self.links[id as usize].arrive(self.now, packet, &mut self.pool);
        self.follow(id, next);
    }
    /// What link `id` needs next becomes an event.
    #[inline(always)]
    pub fn follow(&mut self, id: u32, next: Next) {
        match next {
            Next::Nothing => {}
            Next::Event(at) => self.schedule(at, kind::LINK, id as usize),
            Next::Delivery(at, place) => self.schedule(at, kind::DELIVERY, place as usize),
        }
    }
    /// Asks for the two lines of a link that a packet touches.
    #[inline(always)]
    pub fn fetch_link(&self, id: u32) {
        let link: *const u8 = self.links.as_ptr().wrapping_add(id as usize).cast();
        fetch(link);
        fetch(link.wrapping_add(LINE));
    }
    /// True where the packet has reached its host.
    #[inline]
    pub fn has_arrived(&self, packet: &Packet) -> bool {
        self.paths[packet.header.cursor as usize] == DELIVER
    }
    /// The event of a link is due: the packet that comes out of it, if any.
    #[inline(always)]
    pub fn on_link(&mut self, id: usize) -> Option<Packet> {
        let (packet, next) = self.links[id].on_event(self.now, &mut self.pool);
        self.follow(id as u32, next);
        packet
    }
}

/// Where an endpoint's packets start: their header, and what changes from one to the next.
#[derive(Debug, Clone)]
pub(crate) struct Port {
    /// The header of every packet from here; length, ECN and identification are filled in.
    pub header: Header,
}

impl Port {
    /// Sends `body`, which takes `bytes` after the IP header.
    #[inline]
    pub fn send(&mut self, bytes: u32, ecn: Ecn, body: Body, fabric: &mut Fabric) {
        let header = self.next_header(bytes, ecn, fabric.framing);
        let packet = fabric.pool.take(header, &body);
        fabric.forward(packet);
    }
    /// Sends a TCP segment with so many bytes of options that are not its own.
    #[inline]
    pub fn send_segment(&mut self, segment: &Segment, options: u32, ecn: Ecn, fabric: &mut Fabric) {
        if segment.flags.contains(Flags::SYN) {
            self.header.marks = self.header.marks.with_aligned(is_aligned(segment.seq));
        }
        let header = self.next_header(segment.header_len() + options + segment.len, ecn, fabric.framing);
        let packet = fabric.pool.carry(header, segment);
        fabric.forward(packet);
    }
    #[inline]
    fn next_header(&mut self, bytes: u32, ecn: Ecn, framing: u32) -> Header {
        self.header.id = self.header.id.wrapping_add(1);
        Header { len: framing + IPV4_HEADER + bytes, marks: self.header.marks.with_ecn(ecn), ..self.header }
    }
}
