//! A TCP flow: a client that writes and a server that reads at once.

use super::bulk::Bulk;
use super::{AnySource, App, CLIENT, Place, SERVER, Source, is_over};
use crate::engine::event::Kind;
use crate::engine::prefetch::{fetch, fetch_all};
use crate::engine::timer::Alarms;
use crate::net::fabric::{Fabric, Port};
use crate::net::packet::{Header, Packet};
use haltere_congestion::Control;
use haltere_plan::Record;
use haltere_plan::headers::IPV4_HEADER;
use haltere_plan::plan::{FlowPlan, TcpPlan};
use haltere_plan::record::FlowRecord;
use haltere_plan::rng::Rng;
use haltere_transport::{
    CachedMetrics, Connection, Info, Offload, PrefetchStage, Role, RttReading, Segment, TcpParams,
};
use haltere_units::outside::Origin;
use haltere_units::{Bytes, ParamError, Probe, Time};
use std::sync::Arc;

/// One end of the connection.
#[derive(Debug)]
#[repr(C)]
struct End {
    socket: Connection,
    port: Port,
    alarms: Alarms,
}

#[derive(Debug)]
pub(crate) struct Tcp {
    index: usize,
    ends: [End; 2],
    source: AnySource,
    stop: Option<Time>,
    /// Bytes after which the flow is complete.
    limit: Option<u64>,
    received: u64,
    /// The server has closed its side.
    closed: bool,
    /// A segment may stand for several packets.
    offload: bool,
    /// Ends that have yet to leave their host what it is to remember of the other.
    remembers: [bool; 2],
    /// When the last byte of a limited flow was delivered.
    pub completed: Option<Time>,
}

/// Both ends, the client's first.
fn ends(tcp: &TcpPlan, [near, far]: [Port; 2], origins: [Origin; 2]) -> Result<[End; 2], ParamError> {
    let end = |role, params: &Arc<TcpParams>, port, origin| {
        let socket = Connection::new(role, params.clone(), tcp.congestion.clone(), origin)?;
        Ok(End { socket, port, alarms: Alarms::default() })
    };
    let [first, second] = origins;
    Ok([end(Role::Client, &tcp.sender, near, first)?, end(Role::Server, &tcp.receiver, far, second)?])
}

/// An end of it sends packets that stand for several.
fn offloads(tcp: &TcpPlan) -> bool {
    [&tcp.sender, &tcp.receiver].iter().any(|end| end.offload == Offload::Packet)
}

/// Whether each end's host remembers the other.
fn remembers(tcp: &TcpPlan) -> [bool; 2] {
    [&tcp.sender, &tcp.receiver].map(|end| end.tcp_metrics != CachedMetrics::Off)
}

/// Headers, framing included, of the packets that a segment stands for, but for one: the line carries them all.
fn headers_of_unit(socket: &Connection, segment: &Segment, framing: u32) -> u32 {
    (socket.packets_in(segment) - 1) * (framing + IPV4_HEADER + segment.header_len())
}

impl Tcp {
    pub fn new(plan: &FlowPlan, tcp: &TcpPlan, source: AnySource, place: Place) -> Result<Tcp, ParamError> {
        let origin =
            |side: &str| place.origin.with_seed(Rng::new(place.origin.seed, &format!("{}/{side}", plan.name)).bits());
        let origins = [origin("client"), origin("server")];
        let limit = source.limit();
        let ends = ends(tcp, place.ports, origins)?;
        Ok(Tcp { stop: plan.stop, limit, ..Tcp::with_source(place.index, tcp, ends, source) })
    }
    /// A flow of so many bytes that is no entry of the plan.
    pub fn limited(
        index: usize,
        tcp: &TcpPlan,
        bytes: Bytes,
        ports: [Port; 2],
        origins: [Origin; 2],
    ) -> Result<Tcp, ParamError> {
        let ends = ends(tcp, ports, origins)?;
        let (source, limit) = (AnySource::Bulk(Bulk::of(Some(bytes))), Some(bytes.as_u64()));
        Ok(Tcp { limit, ..Tcp::with_source(index, tcp, ends, source) })
    }
    fn with_source(index: usize, tcp: &TcpPlan, ends: [End; 2], source: AnySource) -> Tcp {
        let (offload, remembers) = (offloads(tcp), remembers(tcp));
        let (stop, limit, completed) = (None, None, None);
        Tcp { index, ends, source, stop, limit, received: 0, closed: false, offload, remembers, completed }
    }
    /// True once both ends have closed and every byte is acknowledged.
    pub fn is_over(&self) -> bool {
        self.closed && self.ends.iter().all(|end| end.socket.is_closed())
    }
    /// True if a packet with that header is for the end at `side`.
    pub fn is_for(&self, side: usize, header: &Header) -> bool {
        self.ends[side].port.receives(header)
    }
    /// Asks for the end at `side`.
    #[inline(always)]
    pub fn fetch(&self, side: usize) {
        fetch_all(&self.ends[side]);
    }
    /// Asks for the parts of that end that lie elsewhere, and for the link into which it sends.
    #[inline(always)]
    pub fn fetch_parts(&self, side: usize, fabric: &Fabric) {
        let end = &self.ends[side];
        end.socket.prefetch_lines(PrefetchStage::Parts, fetch);
        if let Some(&link) = fabric.paths.get(end.port.header.cursor as usize) {
            fabric.fetch_link::<3>(link);
        }
    }
    /// Asks for the record of its oldest segment, and for the queue of the link into which it sends.
    #[inline(always)]
    pub fn fetch_record(&self, side: usize, fabric: &Fabric) {
        let end = &self.ends[side];
        end.socket.prefetch_lines(PrefetchStage::OldestRecord, fetch);
        if let Some(&link) = fabric.paths.get(end.port.header.cursor as usize) {
            fabric.links[link as usize].fetch_places();
        }
    }
    /// The server reads what is there, and closes when the client has.
    #[inline]
    fn read(&mut self, now: Time) {
        let socket = &mut self.ends[SERVER].socket;
        let bytes = socket.read(u64::MAX);
        self.received += bytes;
        self.source.on_server(now, socket, bytes);
        if self.completed.is_none() && self.limit.is_some_and(|limit| self.received >= limit) {
            self.completed = Some(now);
        }
        if !self.closed && socket.is_peer_closed() {
            self.closed = true;
            socket.close();
        }
    }
    /// Sends what may be sent now and sees to the timer.
    #[inline]
    fn transmit(&mut self, side: usize, fabric: &mut Fabric) {
        let End { socket, alarms, port } = &mut self.ends[side];
        let mut segment = Segment::default();
        while let Some(ecn) = socket.poll_into(fabric.now, &mut segment) {
            let more = if self.offload { headers_of_unit(socket, &segment, fabric.framing) } else { 0 };
            port.send_segment(&segment, more, ecn, fabric);
        }
        if let Some(at) = socket.next_timeout() {
            fabric.set_timer(alarms, at, 2 * self.index + side);
        }
        if self.remembers[side] {
            self.remember(side, fabric);
        }
    }
    /// Hosts tell their ends what they remember of each other.
    fn recall(&mut self, fabric: &Fabric) {
        for end in &mut self.ends {
            let header = &end.port.header;
            fabric.hosts.metrics.recall(header.src, header.dst, &mut end.socket);
        }
    }
    /// An end that is closed leaves its host what it is to remember.
    #[cold]
    fn remember(&mut self, side: usize, fabric: &mut Fabric) {
        let end = &self.ends[side];
        if !end.socket.is_closed() {
            return;
        }
        self.remembers[side] = false;
        let header = &end.port.header;
        fabric.hosts.metrics.remember(header.src, header.dst, &end.socket);
    }
    /// How far the samples of the sender's round-trip time are.
    pub fn rtt_reading(&self) -> RttReading {
        self.ends[CLIENT].socket.rtt_reading()
    }
    /// The congestion control of the client, if that has begun to send.
    #[inline]
    pub fn control_mut(&mut self) -> Option<&mut Control> {
        self.ends[CLIENT].socket.control_mut()
    }
    pub fn info(&self) -> Info {
        self.ends[CLIENT].socket.info()
    }
}

impl App for Tcp {
    fn start(&mut self, fabric: &mut Fabric) {
        if self.remembers != [false; 2] {
            self.recall(fabric);
        }
        let socket = &mut self.ends[CLIENT].socket;
        socket.open(fabric.now);
        self.source.start(socket);
        if let Some(stop) = self.stop {
            fabric.schedule(stop, Kind::Stop, self.index);
        }
        self.step(fabric);
    }
    fn step(&mut self, fabric: &mut Fabric) {
        if !is_over(self.stop, fabric.now)
            && let Some(next) = self.source.step(fabric.now, &mut self.ends[CLIENT].socket)
        {
            fabric.schedule(next, Kind::App, self.index);
        }
        self.transmit(CLIENT, fabric);
    }
    fn set_stop(&mut self, at: Time, fabric: &mut Fabric) {
        self.stop = Some(at);
        fabric.schedule(at, Kind::Stop, self.index);
    }
    fn stop(&mut self, fabric: &mut Fabric) {
        self.source.stop(&mut self.ends[CLIENT].socket);
        self.transmit(CLIENT, fabric);
    }
    #[inline]
    fn on_timer(&mut self, side: usize, fabric: &mut Fabric) {
        let end = &mut self.ends[side];
        if !end.alarms.fired(fabric.now) {
            return;
        }
        if end.socket.next_timeout().is_some_and(|at| at <= fabric.now) {
            end.socket.on_timeout(fabric.now);
        }
        self.transmit(side, fabric);
    }
    #[inline]
    fn receive(&mut self, side: usize, packet: Packet, fabric: &mut Fabric) {
        let mut segment = Segment::default();
        if !fabric.pool.open_segment(&packet, &mut segment) {
            return;
        }
        let socket = &mut self.ends[side].socket;
        socket.on_segment(fabric.now, &segment, packet.header.marks.ecn());
        if side == SERVER {
            self.read(fabric.now);
        } else if let Some(next) = self.source.on_client(fabric.now, socket) {
            fabric.schedule(next, Kind::App, self.index);
        }
        self.transmit(side, fabric);
    }
    fn received(&self) -> u64 {
        self.received + self.source.received()
    }
    fn sender(&self) -> Option<Info> {
        Some(self.info())
    }
    fn record(&self, record: &mut FlowRecord) {
        record.completed = self.completed;
    }
    fn sample(&self, _at: Time, probe: &mut Probe, _record: &mut Record) {
        self.ends[CLIENT].socket.probe(probe);
    }
    fn state(&self, probe: &mut Probe) {
        let info = self.info();
        probe.push("ca_state", "open|disorder|cwr|recovery|loss", f64::from(info.state as u8));
        if info.ssthresh != Bytes::MAX {
            probe.push("ssthresh", "B", info.ssthresh.as_f64());
        }
        self.ends[CLIENT].socket.state(probe);
    }
    fn finish(&mut self, at: Time, record: &mut Record) {
        self.source.finish(at, self.index as u32, record);
    }
}
