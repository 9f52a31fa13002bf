//! A stream over several paths: a client that writes, without end or at a rate, and a server that reads at once.
//!
//! What a segment carries besides TCP ([`Dss`]) does not travel in the packet, which every other flow would pay for:
//! each end keeps what it has sent by the packet's identification, and the other end looks it up when the packet
//! arrives.

use super::{App, CLIENT, Place, SERVER, is_over, positive_rate, positive_span};
use crate::engine::event::Kind;
use crate::engine::timer::Alarms;
use crate::net::fabric::{Fabric, Port};
use crate::net::packet::Packet;
use haltere_plan::Record;
use haltere_plan::plan::{FlowPlan, MultipathPlan, PathPlan};
use haltere_plan::record::{FlowRecord, PathSample, PingSample};
use haltere_plan::rng::Rng;
use haltere_transport::multipath::{Dss, Multipath as Connection};
use haltere_transport::{Info, Role, Segment};
use haltere_units::outside::Origin;
use haltere_units::{Bytes, Dur, ParamError, Probe, Time};
use std::collections::VecDeque;

/// Packets of one direction of a path that may overtake each other.
const REORDERING: usize = 4096;

/// What was sent on one path in one direction, by the packet's identification.
#[derive(Debug, Default)]
struct Sent {
    first: u16,
    kept: VecDeque<Dss>,
}

impl Sent {
    fn keep(&mut self, id: u16, dss: Dss) {
        if self.kept.is_empty() {
            self.first = id;
        }
        self.kept.push_back(dss);
        if self.kept.len() > usize::from(u16::MAX) / 2 {
            self.kept.pop_front(); // lost long ago
            self.first = self.first.wrapping_add(1);
        }
    }
    fn get(&mut self, id: u16) -> Option<Dss> {
        let at = usize::from(id.wrapping_sub(self.first));
        let dss = self.kept.get(at).copied();
        if dss.is_some() {
            let old = at.saturating_sub(REORDERING);
            self.kept.drain(..old);
            self.first = self.first.wrapping_add(old as u16);
        }
        dss
    }
}

/// A write whose bytes have not all been read: where it ends in the stream, and when it was.
type Write = (u64, Time);

#[derive(Debug)]
pub(crate) struct Multipath {
    index: usize,
    ends: [Connection; 2],
    alarms: [Alarms; 2],
    paths: Vec<PathPlan>,
    ports: Vec<[Port; 2]>,
    sent: Vec<[Sent; 2]>,
    /// Time between two writes; zero where there is no rate.
    gap: Dur,
    next_write: Time,
    packet: u64,
    /// Bytes that the application has had to write so far, and those that the connection took.
    produced: u64,
    written: u64,
    limit: u64,
    writes: VecDeque<Write>,
    delays: Vec<PingSample>,
    stop: Option<Time>,
    closed: bool,
    /// Payload bytes delivered to the server's application.
    received: u64,
    /// When the last byte of a limited flow was delivered.
    completed: Option<Time>,
}

impl Multipath {
    pub fn new(plan: &FlowPlan, multi: &MultipathPlan, place: Place) -> Result<Multipath, ParamError> {
        let origin =
            |side: &str| place.origin.with_seed(Rng::new(place.origin.seed, &format!("{}/{side}", plan.name)).bits());
        let end =
            |role, tcp, origin: Origin| Connection::new(role, &multi.multipath, tcp, &multi.tcp.congestion, origin);
        let ends = [
            end(Role::Client, &multi.tcp.sender, origin("client"))?,
            end(Role::Server, &multi.tcp.receiver, origin("server"))?,
        ];
        let rate = multi.rate.map(positive_rate).transpose()?;
        let gap = rate.map_or(Dur::ZERO, |rate| rate.time_for(multi.packet));
        if rate.is_some() {
            positive_span("packet", gap)?;
        }
        // The subflows have their numbers in the order of joining.
        let mut order: Vec<usize> = (0..multi.paths.len()).collect();
        order.sort_by_key(|&i| multi.paths[i].join.unwrap_or(Time::ZERO));
        Ok(Multipath {
            index: place.index,
            ends,
            alarms: Default::default(),
            paths: order.iter().map(|&i| multi.paths[i]).collect(),
            ports: order.iter().map(|&i| place.paths[i].clone()).collect(),
            sent: order.iter().map(|_| Default::default()).collect(),
            gap,
            next_write: Time::NEVER,
            packet: multi.packet.as_u64(),
            produced: 0,
            written: 0,
            limit: multi.bytes.map_or(u64::MAX, Bytes::as_u64),
            writes: VecDeque::new(),
            delays: Vec::new(),
            stop: plan.stop,
            closed: false,
            received: 0,
            completed: None,
        })
    }
    /// The client writes what it has.
    fn fill(&mut self, now: Time) {
        if self.closed {
            return;
        }
        self.written += self.ends[CLIENT].write(Bytes::new(self.produced - self.written)).as_u64();
        if self.written >= self.limit {
            self.closed = true;
            self.ends[CLIENT].close(now);
        }
    }
    /// The server reads what is there.
    fn read(&mut self, now: Time) {
        self.received += self.ends[SERVER].read(u64::MAX);
        while let Some(&(end, at)) = self.writes.front()
            && end <= self.received
        {
            self.writes.pop_front();
            self.delays.push(PingSample { at, flow: self.index as u32, rtt: now.since(at) });
        }
        if self.completed.is_none() && self.ends[SERVER].is_finished() {
            self.completed = Some(now);
        }
    }
    /// Sends what may be sent now and sees to the timer.
    fn transmit(&mut self, side: usize, fabric: &mut Fabric) {
        let now = fabric.now;
        if side == CLIENT {
            self.fill(now);
        }
        while let Some(t) = self.ends[side].poll_transmit(now) {
            if self.paths[t.path].cut.is_some_and(|at| at <= now) {
                continue;
            }
            let port = &mut self.ports[t.path][side];
            self.sent[t.path][side].keep(port.header.id.wrapping_add(1), t.dss);
            port.send_segment(&t.segment, t.dss.option_len(), t.ecn, fabric);
        }
        if let Some(at) = self.ends[side].next_timeout() {
            fabric.set_timer(&mut self.alarms[side], at, 2 * self.index + side);
        }
    }
    /// Writes down the paths as they are.
    fn write_paths(&self, at: Time, into: &mut Vec<PathSample>) {
        let client = &self.ends[CLIENT];
        let flow = self.index as u32;
        into.extend((0..client.path_count()).map(|p| PathSample { at, flow, path: p as u32, info: client.path(p) }));
    }
}

impl App for Multipath {
    fn start(&mut self, fabric: &mut Fabric) {
        if let Some(stop) = self.stop {
            fabric.schedule(stop, Kind::Stop, self.index);
        }
        let times = |path: &PathPlan| [path.join, path.leave];
        let now = fabric.now;
        for at in self.paths.iter().flat_map(times).flatten().filter(|at| *at > now) {
            fabric.schedule(at, Kind::App, self.index);
        }
        self.next_write = fabric.now;
        self.step(fabric);
    }
    /// A write, a path's joining or its leaving is due.
    fn step(&mut self, fabric: &mut Fabric) {
        let now = fabric.now;
        while let Some(path) = self.paths.get(self.ends[CLIENT].path_count())
            && path.join.is_none_or(|at| at <= now)
        {
            for end in &mut self.ends {
                end.join().expect("the laboratory has counted the paths");
            }
            self.ends[CLIENT].open(now);
        }
        for (number, path) in self.paths.iter().enumerate() {
            if path.leave.is_some_and(|at| at <= now) {
                self.ends[CLIENT].leave(number);
            }
        }
        if self.gap.is_zero() {
            self.produced = self.limit;
        } else if self.next_write <= now && !is_over(self.stop, now) && self.produced < self.limit {
            self.produced = (self.produced + self.packet).min(self.limit);
            self.writes.push_back((self.produced, now));
            self.next_write = now + self.gap;
            fabric.schedule(self.next_write, Kind::App, self.index);
        }
        self.transmit(CLIENT, fabric);
    }
    fn set_stop(&mut self, at: Time, fabric: &mut Fabric) {
        self.stop = Some(at);
        fabric.schedule(at, Kind::Stop, self.index);
    }
    fn stop(&mut self, fabric: &mut Fabric) {
        self.limit = self.written;
        self.produced = self.produced.min(self.limit);
        self.transmit(CLIENT, fabric);
    }
    fn on_timer(&mut self, side: usize, fabric: &mut Fabric) {
        if self.alarms[side].fired(fabric.now) {
            self.ends[side].on_timeout(fabric.now);
            self.transmit(side, fabric);
        }
    }
    fn receive(&mut self, side: usize, packet: Packet, fabric: &mut Fabric) {
        let h = &packet.header;
        let from = 1 - side;
        // The client's port tells the paths apart.
        let ports = (h.src_port, h.dst_port);
        let of = |p: &[Port; 2]| (p[from].header.src_port, p[from].header.dst_port);
        let path = self.ports.iter().position(|p| of(p) == ports);
        let mut segment = Segment::default();
        if fabric.pool.open_segment(&packet, &mut segment)
            && let Some(path) = path
            && let Some(dss) = self.sent[path][from].get(h.id)
        {
            self.ends[side].on_segment(fabric.now, path, &segment, h.marks.ecn(), &dss);
        }
        if side == SERVER {
            self.read(fabric.now);
        }
        self.transmit(side, fabric);
    }
    fn received(&self) -> u64 {
        self.received
    }
    /// The client's paths as one endpoint: counters are sums, the rest is the first path's.
    fn sender(&self) -> Option<Info> {
        let client = &self.ends[CLIENT];
        let mut all = (0..client.path_count()).map(|p| client.path(p).subflow);
        let mut info = all.next().unwrap_or_default();
        for other in all {
            info.segments_sent += other.segments_sent;
            info.retransmissions += other.retransmissions;
            info.bytes_retransmitted += other.bytes_retransmitted;
            info.timeouts += other.timeouts;
            info.recoveries += other.recoveries;
            info.ecn_reductions += other.ecn_reductions;
            info.delivered += other.delivered;
            info.delivered_ce += other.delivered_ce;
        }
        info.acked = client.acked();
        Some(info)
    }
    fn record(&self, record: &mut FlowRecord) {
        record.completed = self.completed;
    }
    fn sample(&self, at: Time, _probe: &mut Probe, record: &mut Record) {
        self.write_paths(at, &mut record.path_series);
    }
    fn finish(&mut self, at: Time, record: &mut Record) {
        if record.path_series.last().is_none_or(|last| last.at < at || last.flow != self.index as u32) {
            self.write_paths(at, &mut record.path_series);
        }
        let flow = self.index as u32;
        record.coefficients.extend(self.ends[CLIENT].take_coefficients().into_iter().map(|c| (flow, c)));
        record.delays.append(&mut self.delays);
    }
}
