//! The network between the hosts: links, packets on their paths, and the events that move them.

use crate::engine::event::{Kind, Target};
use crate::engine::event_queue::EventQueue;
use crate::engine::prefetch::{LINE, fetch};
use crate::engine::timer::Alarms;
use crate::hosts::Hosts;
use crate::net::border::Border;
use crate::net::detours::Detours;
use crate::net::link::{Next, SimLink};
use crate::net::packet::{Body, Header, Packet, Pool, is_aligned};
use haltere_plan::headers::{IPV4_HEADER, UDP_HEADER};
use haltere_plan::{Plan, Record, Routes};
use haltere_queue::Ecn;
use haltere_transport::{Flags, Segment};
use haltere_units::Time;

/// The end of a path.
pub(crate) const DELIVER: u32 = u32::MAX;

/// Links, packets and pending events.
#[derive(Debug)]
pub(crate) struct Fabric {
    pub now: Time,
    pub events: EventQueue,
    pub links: Vec<SimLink>,
    pub pool: Pool,
    /// Paths as lists of link indices, each ended by [`DELIVER`].
    pub paths: Vec<u32>,
    /// The end of the warm-up. The counters of all links are read then, before anything else of that instant. Never: it
    /// is past.
    pub warmup: Time,
    /// The first instant after the run.
    pub after_end: Time,
    /// Made when paths are chosen.
    pub routes: Option<Routes>,
    /// Paths that change during the run.
    pub detours: Detours,
    /// Bytes of every packet below IP.
    pub framing: u32,
    /// What the hosts keep beyond their connections.
    pub hosts: Hosts,
    /// The links to other parts of a network that is cut.
    pub border: Border,
    /// The record so far: rows of flows as they come, samples of the recorder.
    pub record: Record,
}

impl Fabric {
    /// The routes of this plan, which is that of the run.
    pub fn routes(&mut self, plan: &Plan) -> &mut Routes {
        self.routes.get_or_insert_with(|| Routes::of(plan))
    }
    /// Adds a path over these links. Returns its first index in `paths`.
    pub fn add_path(&mut self, links: &[usize]) -> u32 {
        let start = self.paths.len() as u32;
        self.paths.extend(links.iter().map(|&link| link as u32));
        self.paths.push(DELIVER);
        start
    }
    /// Adds an event of that kind at `at`.
    #[inline(always)]
    pub fn schedule(&mut self, at: Time, kind: Kind, index: usize) {
        debug_assert!(at >= self.now, "at {} an event for {at}", self.now);
        self.events.push(at, Target::new(kind, index as u32));
    }
    /// The timer of that endpoint is due at `at`, or at once if that is past.
    #[inline(always)]
    pub fn set_timer(&mut self, alarms: &mut Alarms, at: Time, endpoint: usize) {
        let at = at.max(self.now);
        if alarms.wants(at) {
            self.schedule(at, Kind::Timer, endpoint);
        }
    }
    /// A packet that was sent arrives at the first link of its path.
    pub fn forward(&mut self, mut packet: Packet) {
        if packet.header.cursor as usize >= self.paths.len() {
            self.take_detour(&mut packet.header);
        }
        let place = self.pool.flights.place(Time::NEVER, packet);
        self.pass_on(place);
    }
    /// The path of a packet with that header changes: where it begins now.
    #[cold]
    #[inline(never)]
    fn take_detour(&mut self, header: &mut Header) {
        header.cursor = self.resolve(header.cursor);
        assert!((header.cursor as usize) < self.paths.len(), "no path begins at {}", header.cursor);
    }
    /// The packet at that [place](crate::net::flight::Flights::place) is at a node: it arrives at the next link of its
    /// path. False if it has reached its host.
    #[inline(always)]
    pub fn pass_on(&mut self, place: u32) -> bool {
        let header = &mut self.pool.flights.get_mut(place).0.header;
        let id = self.paths[header.cursor as usize];
        if id == DELIVER {
            return false;
        }
        header.cursor += 1;
        let len = header.len;
        let next = self.links[id as usize].arrive(self.now, (place, len), &mut self.pool);
        self.schedule_next(id, next);
        true
    }
    /// Schedules what link `id` needs next.
    #[inline(always)]
    pub fn schedule_next(&mut self, id: u32, next: Next) {
        match next {
            Next::Nothing => {}
            Next::Event(at) => self.events.push_inlined(at, Target::new(Kind::Link, id)),
            Next::Delivery(at, place) => self.events.push_inlined(at, Target::new(Kind::Delivery, place)),
        }
    }
    /// Prefetches so many lines of a link. A packet that finds the line free touches two, one that waits three.
    #[inline(always)]
    pub fn fetch_link<const LINES: usize>(&self, id: u32) {
        let link: *const u8 = self.links.as_ptr().wrapping_add(id as usize).cast();
        (0..LINES).for_each(|line| fetch(link.wrapping_add(line * LINE)));
    }
    /// The event of a link is due. Returns the place of the packet that it delivers, if any.
    #[inline(always)]
    pub fn on_link(&mut self, id: usize) -> Option<u32> {
        let (packet, next) = self.links[id].on_event(self.now, &mut self.pool);
        self.schedule_next(id as u32, next);
        packet
    }
}

/// What an endpoint sends from: the header of its packets.
#[derive(Debug, Clone)]
pub(crate) struct Port {
    /// The header of every packet from here. Length, ECN and identification are filled in.
    pub header: Header,
}

impl Port {
    /// True if a packet with that header is for this end.
    pub fn receives(&self, header: &Header) -> bool {
        let mine = &self.header;
        (mine.src_port, mine.dst_port, mine.dst) == (header.dst_port, header.src_port, header.src)
    }
    /// Sends `body`, which takes `bytes` after the IP header.
    #[inline]
    pub fn send(&mut self, bytes: u32, ecn: Ecn, body: Body, fabric: &mut Fabric) {
        let header = self.next_header(bytes, ecn, fabric.framing);
        let packet = fabric.pool.take(header, &body);
        fabric.forward(packet);
    }
    /// Sends a TCP segment with so many bytes of options besides its own.
    #[inline]
    pub fn send_segment(&mut self, segment: &Segment, options: u32, ecn: Ecn, fabric: &mut Fabric) {
        if segment.flags.contains(Flags::SYN) {
            self.header.marks = self.header.marks.with_aligned(is_aligned(segment.seq));
        }
        let header = self.next_header(segment.header_len() + options + segment.len, ecn, fabric.framing);
        let packet = fabric.pool.carry(header, segment);
        fabric.forward(packet);
    }
    /// Sends a UDP datagram with that payload.
    pub fn send_payload(&mut self, payload: &[u8], ecn: Ecn, fabric: &mut Fabric) {
        let header = self.next_header(UDP_HEADER + payload.len() as u32, ecn, fabric.framing);
        let packet = fabric.pool.carry_payload(header, payload);
        fabric.forward(packet);
    }
    #[inline]
    fn next_header(&mut self, bytes: u32, ecn: Ecn, framing: u32) -> Header {
        self.header.id = self.header.id.wrapping_add(1);
        Header { len: framing + IPV4_HEADER + bytes, marks: self.header.marks.with_ecn(ecn), ..self.header }
    }
}
