//! One end of a multipath connection: subflows, the way in and out, joining, leaving, closing.
//! Source: RFC 8684 (sections 2, 3.2 to 3.4), RFC 6356 (a coupled control learns the state of its siblings).
//! Deviations: no keys, tokens and address exchange: both ends are made with the same paths in the same order, and a
//! subflow that has left is reset; SACK blocks are not limited by the room that the option leaves of TCP's 40 bytes.
//! The first subflow must be established before others join. Data goes from client to server.
//! Units: bytes of the connection's stream from 0, ns. Cost: O(paths) a segment.
//! Known problems: the receive window is not auto-tuned; nothing is sent from server to client but acknowledgements.

use super::correlation::{Correlators, Observation};
use super::info::{Coefficient, PathInfo};
use super::params::MultipathParams;
use super::scheduler::Scheduler;
use super::send_queue::SendQueue;
use super::subflow::{DATA_OPTION, Dss, Subflow};
use super::view::{MAX_PATHS, PathView, Paths};
use crate::tcp::connection::{Connection, Role};
use crate::tcp::params::{AccurateEcn, Offload, TcpParams};
use crate::tcp::receiver::reassembly::Reassembly;
use crate::tcp::segment::{Flags, Segment};
use crate::tcp::seq::Offset;
use crate::tcp::time::{Deadline, or_zero};
use alloc::sync::Arc;
use alloc::vec::Vec;
use haltere_congestion::{CongestionControl, CongestionParams, CouplingView, Sibling};
use haltere_units::outside::Origin;
use haltere_units::{Bytes, Dur, Ecn, ParamError, Time};

/// A segment to send, and on which path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transmission {
    /// Number of the path on which it leaves.
    pub path: usize,
    /// The segment as the subflow's TCP sends it.
    pub segment: Segment,
    /// ECN codepoint of its IP header.
    pub ecn: Ecn,
    /// What it carries besides TCP.
    pub dss: Dss,
}

/// Bytes of the option of a segment with data.
const DSS_LEN: u64 = DATA_OPTION as u64;

/// Least time between two probes of a peer that owes an answer to the connection.
const PROBE: Dur = Dur::from_ms(200);

/// One end of a multipath connection, without I/O.
#[derive(Debug)]
pub struct Multipath {
    pub(super) role: Role,
    tcp: Arc<TcpParams>,
    control: Arc<CongestionParams>,
    origin: Origin,
    pub(super) flows: Vec<Subflow>,
    /// Subflows that may have something to send.
    pub(super) pending: Paths,
    coupled: bool,
    pub(super) scheduler: Scheduler,
    pub(super) correlators: Correlators,
    pub(super) params: MultipathParams,
    pub(super) queue: SendQueue,
    /// Ranges to be sent again on another path than those that carried them.
    pub(super) reinject: alloc::collections::VecDeque<(u64, u32)>,
    /// First byte that the peer does not take.
    pub(super) window_end: u64,
    /// When the peer is asked again, and how often it was.
    probe_at: Deadline,
    probes: u32,
    /// The stream as it arrives.
    arrived: Offset,
    read: u64,
    holes: Reassembly,
    end: Option<u64>,
    /// The window that was advertised last.
    window_advertised: u64,
    pub(super) views: Vec<PathView>,
    siblings: Vec<Sibling>,
}

impl Multipath {
    /// One end, without paths; the origin's seed gives the subflows' initial sequence numbers and such.
    pub fn new(
        role: Role,
        params: &MultipathParams,
        tcp: &TcpParams,
        control: &CongestionParams,
        origin: impl Into<Origin>,
    ) -> Result<Multipath, ParamError> {
        params.check(tcp.mss)?;
        let origin = origin.into();
        // The option takes its place in each full segment.
        let mss = tcp.mss.saturating_sub(Bytes::new(DSS_LEN)).max(Bytes::new(64));
        let mut own = TcpParams {
            mss,
            nagle: false,
            offload: Offload::Off,
            recv_buffer: Some(params.recv_buffer),
            ..tcp.clone()
        };
        let control = Arc::new(control.clone());
        if Connection::new(role, own.clone(), control.clone(), origin.clone())?.asks_accurate_ecn() {
            own.accurate_ecn = AccurateEcn::Ace; // beside the option of MPTCP there is no room for another
        }
        let tcp = Arc::new(own);
        let scheduler = Scheduler::new(&params.scheduler, &origin)?;
        Ok(Multipath {
            role,
            tcp,
            control,
            origin,
            flows: Vec::new(),
            pending: Paths::NONE,
            coupled: false,
            scheduler,
            correlators: Correlators::new(&params.correlators),
            params: params.clone(),
            queue: SendQueue::default(),
            reinject: alloc::collections::VecDeque::new(),
            window_end: 0,
            probe_at: Deadline::NONE,
            probes: 0,
            arrived: Offset::default(),
            read: 0,
            holes: Reassembly::default(),
            end: None,
            window_advertised: params.recv_buffer.as_u64(),
            views: Vec::new(),
            siblings: Vec::new(),
        })
    }

    /// Adds a path and returns its number. A client opens it at once if it is the first, else when another path is
    /// established.
    pub fn join(&mut self) -> Result<usize, ParamError> {
        let path = self.flows.len();
        if path == MAX_PATHS {
            return Err(ParamError::new("paths", alloc::format!("at most {MAX_PATHS}"), path + 1));
        }
        let seed = self.origin.seed.wrapping_add((path as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let conn = Connection::new(self.role, self.tcp.clone(), self.control.clone(), self.origin.with_seed(seed))?;
        let mut flow = Subflow::new(conn);
        self.coupled = flow.conn.made_sender().control().is_coupled();
        flow.cursor = self.queue.una;
        self.flows.push(flow);
        self.correlators.add_path();
        Ok(path)
    }

    /// A client opens: the first path, and those that may join already.
    pub fn open(&mut self, now: Time) {
        let any = self.flows.iter().any(|f| f.conn.is_established());
        for (path, flow) in self.flows.iter_mut().enumerate() {
            if !flow.opened && !flow.gone && (any || path == 0) {
                flow.opened = true;
                flow.conn.open(now);
                self.pending = self.pending.with(path);
            }
        }
    }

    /// A path leaves: its subflow is reset, and what it carried is sent on other paths.
    pub fn leave(&mut self, path: usize) {
        if let Some(flow) = self.flows.get_mut(path)
            && !flow.gone
        {
            flow.conn.abort();
            self.pending = self.pending.with(path);
            self.lost_path(path);
        }
    }

    /// The path carries nothing any more.
    fn lost_path(&mut self, path: usize) {
        self.flows[path].gone = true;
        self.reinject_from(path);
        self.queue.forget(path);
    }

    /// A segment arrived on a path.
    pub fn on_segment(&mut self, now: Time, path: usize, segment: &Segment, ecn: Ecn, dss: &Dss) {
        // It would say nothing of the path of the data.
        if segment.flags.contains(Flags::REFLECTED) {
            return;
        }
        let Some(flow) = self.flows.get_mut(path) else { return };
        let was_up = flow.conn.is_established();
        if segment.len > 0 {
            flow.delay_here = Some(now.since(dss.sent_at));
            if let Some(data) = dss.data {
                flow.map_arrival(segment, data);
            }
        } else if was_up && !flow.conn.made_sender().is_all_acked() {
            let una = flow.conn.iss().number_of(flow.conn.una());
            flow.dup_acks += u64::from(segment.ack == una);
        }
        if self.coupled {
            self.update_coupling(path);
        }
        let flow = &mut self.flows[path];
        let was_silent = flow.is_silent();
        flow.conn.on_segment(now, segment, ecn);
        flow.trim();
        self.pending = self.pending.with(path);
        if was_silent && !flow.is_silent() {
            flow.cursor = self.queue.una; // it answers again
        }
        if !was_up && flow.conn.is_established() && self.role == Role::Client {
            self.open(now);
        }
        self.take_dss(now, path, dss);
        self.take_data(path);
        self.observe(now, path, dss);
        self.check_subflow(path);
    }

    /// Takes the connection-level fields of a segment.
    fn take_dss(&mut self, now: Time, path: usize, dss: &Dss) {
        if self.queue.acknowledge(dss.ack) {
            (self.probes, self.probe_at) = (0, Deadline::NONE);
        }
        self.window_end = self.window_end.max(dss.ack + dss.window);
        if let Some(end) = dss.end {
            self.end = Some(end);
        }
        if self.queue.is_complete() {
            self.flows.iter_mut().for_each(|f| f.conn.close());
            (0..self.flows.len()).for_each(|p| self.pending = self.pending.with(p));
        }
        if let Some(delay) = dss.delay {
            self.flows[path].delay_there = Some(delay);
        }
        self.arm_probe(now);
    }

    /// Takes what the subflow has in order into the stream.
    fn take_data(&mut self, path: usize) {
        while let Some(range) = self.flows[path].next_range() {
            if range.end > self.arrived {
                if range.start <= self.arrived {
                    self.arrived = range.end;
                } else {
                    self.holes.insert(range);
                }
                self.arrived = self.holes.advance(self.arrived);
            }
        }
    }

    /// Feeds the correlators with what this segment measured.
    fn observe(&mut self, now: Time, path: usize, dss: &Dss) {
        if self.correlators.is_empty() {
            return;
        }
        let flow = &mut self.flows[path];
        let tx = flow.conn.made_sender();
        let delivered = tx.delivery().segments();
        if let Some(srtt) = tx.srtt()
            && delivered != flow.srtt_seen
        {
            flow.srtt_seen = delivered;
            self.correlators.observe(now, path, Observation::Srtt(srtt.dur()));
        }
        if let Some(delay) = dss.delay {
            let output = flow.conn.made_sender().output();
            let (lost, sent) = (output.retransmissions(), output.segments());
            self.correlators.observe(now, path, Observation::Delay { delay, lost, sent });
        }
    }

    /// Acts on a subflow that was reset, timed out or was closed by the peer.
    fn check_subflow(&mut self, path: usize) {
        let flow = &mut self.flows[path];
        if !flow.gone && flow.conn.is_reset() {
            return self.lost_path(path);
        }
        let timeouts = flow.conn.made_sender().timers().timeouts();
        if timeouts != flow.timeouts {
            flow.timeouts = timeouts;
            self.reinject_from(path);
        } else if flow.conn.is_peer_closed() {
            flow.conn.close();
        }
    }

    /// Shows a coupled control the state of its siblings.
    fn update_coupling(&mut self, path: usize) {
        self.siblings.clear();
        let mut this = None;
        for (i, flow) in self.flows.iter().enumerate().filter(|(_, f)| f.is_usable()) {
            if i == path {
                this = Some(self.siblings.len());
            }
            let tx = flow.conn.made_sender();
            self.siblings.push(Sibling {
                cwnd: tx.control().cwnd(),
                srtt: or_zero(tx.srtt()),
                between_losses: tx.control().bytes_between_losses(),
            });
        }
        if let Some(this) = this {
            let view = CouplingView { siblings: &self.siblings, this };
            self.flows[path].conn.sender().control_mut().on_coupling(&view);
        }
    }

    /// The time that [`next_timeout`](Multipath::next_timeout) named has come (earlier calls do no harm).
    pub fn on_timeout(&mut self, now: Time) {
        for path in 0..self.flows.len() {
            let flow = &mut self.flows[path];
            if flow.conn.next_timeout().is_some_and(|at| at <= now) {
                flow.conn.on_timeout(now);
                self.pending = self.pending.with(path);
                self.check_subflow(path);
            }
        }
        if self.probe_at.take_due(now) {
            self.probe();
            self.probes += 1;
        }
        self.arm_probe(now);
    }

    /// When [`on_timeout`](Multipath::on_timeout) is to be called, if ever.
    pub fn next_timeout(&self) -> Option<Time> {
        self.flows.iter().filter_map(|f| f.conn.next_timeout()).chain(self.probe_at.time()).min()
    }

    /// The peer owes an acknowledgement of the end, or a window: asks for it after a while.
    fn arm_probe(&mut self, now: Time) {
        let q = &self.queue;
        // A window that is open, but not by a whole segment, blocks as well.
        let mss = self.flows.first().map_or(0, |f| f.conn.receiver().mss());
        let blocked = q.una == q.nxt && q.nxt < q.end && !self.new_fits(mss);
        if !(blocked || q.wants_end()) {
            self.probe_at = Deadline::NONE;
        } else if !self.probe_at.is_set() {
            let usable = self.flows.iter().filter(|f| f.is_usable());
            let srtt = usable.map(|f| or_zero(f.conn.made_sender().srtt())).min().unwrap_or(Dur::ZERO);
            self.probe_at = Deadline::at(now + (srtt * 2).max(PROBE) * (1 << self.probes.min(5)));
        }
    }

    /// Asks the peer on every usable path: each answer says what of the stream has arrived.
    fn probe(&mut self) {
        for (path, flow) in self.flows.iter_mut().enumerate() {
            let established = flow.conn.is_established();
            let tx = flow.conn.sender();
            if flow.gone || !established || tx.nxt() != tx.buffer().write_end() {
                continue;
            }
            tx.force_window_probe();
            self.pending = self.pending.with(path);
        }
    }

    /// The next segment to send now; call until `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmission> {
        loop {
            while let Some(path) = self.pending.first() {
                if let Some((segment, ecn)) = self.flows[path].conn.poll_transmit(now) {
                    let dss = self.dss(now, path, &segment);
                    return Some(Transmission { path, segment, ecn, dss });
                }
                self.pending = self.pending.without(path);
                self.flows[path].tune_memory();
            }
            if !self.schedule(now) {
                return None;
            }
        }
    }

    fn dss(&mut self, now: Time, path: usize, segment: &Segment) -> Dss {
        let window = self.window();
        self.window_advertised = window;
        let flow = &self.flows[path];
        Dss {
            data: flow.mapping(segment),
            ack: self.arrived.get() + u64::from(self.end == Some(self.arrived.get())),
            window,
            end: self.queue.closed.then_some(self.queue.end),
            sent_at: now,
            delay: flow.delay_here,
        }
    }

    /// Bytes that this end takes beyond what has arrived in order.
    fn window(&self) -> u64 {
        self.params.recv_buffer.as_u64().saturating_sub(self.readable())
    }

    /// The application writes up to `bytes`. Returns what the buffer takes.
    pub fn write(&mut self, bytes: Bytes) -> Bytes {
        if self.queue.closed {
            return Bytes::ZERO;
        }
        let taken = bytes.min(self.writable());
        self.queue.end += taken.as_u64();
        taken
    }
    /// Bytes that [`write`](Multipath::write) would take now.
    pub fn writable(&self) -> Bytes {
        let held = self.queue.end - self.queue.una.min(self.queue.end);
        let free = self.send_buffer().saturating_sub(held);
        // Linux wakes a writer that waits once a third of the buffer is free.
        let worth = !self.params.tune_send_buffer || free >= held / 2;
        Bytes::new(if worth { free } else { 0 })
    }
    /// Bytes that are kept until they are acknowledged: those of the one subflow that has most, if it is tuned.
    fn send_buffer(&self) -> u64 {
        let most = self.params.send_buffer.as_u64();
        if !self.params.tune_send_buffer {
            return most;
        }
        self.flows.iter().map(|f| f.memory).max().unwrap_or(0).min(most)
    }
    /// No more will be written.
    pub fn close(&mut self, now: Time) {
        self.queue.closed = true;
        if self.queue.wants_end() {
            self.probe();
        }
        self.arm_probe(now);
    }
    /// Bytes that arrived in order and were not read.
    pub fn readable(&self) -> u64 {
        self.arrived.get() - self.read
    }
    /// The application reads up to `bytes`. Returns what was there.
    pub fn read(&mut self, bytes: u64) -> u64 {
        let taken = bytes.min(self.readable());
        self.read += taken;
        // RFC 9293 section 3.8.6.2.2: a window that had closed is advertised again once it is large enough.
        let mss = self.tcp.mss.as_u64();
        if self.window_advertised < mss && self.window() >= (2 * mss).min(self.params.recv_buffer.as_u64()) {
            for (path, flow) in self.flows.iter_mut().enumerate().filter(|(_, f)| f.conn.is_established() && !f.gone) {
                flow.conn.demand_ack();
                self.pending = self.pending.with(path);
            }
        }
        taken
    }
    /// The peer has closed and everything was read.
    pub fn is_finished(&self) -> bool {
        self.end == Some(self.read)
    }
    /// All that was written is acknowledged, and so is the end.
    pub fn is_complete(&self) -> bool {
        self.queue.is_complete()
    }
    /// Bytes of the stream that the peer has in order.
    pub fn acked(&self) -> u64 {
        self.queue.una.min(self.queue.end)
    }
    /// Number of paths, those that left included.
    pub fn path_count(&self) -> usize {
        self.flows.len()
    }
    /// What a path shows of itself.
    pub fn path(&self, path: usize) -> PathInfo {
        let flow = &self.flows[path];
        PathInfo {
            subflow: flow.conn.info(),
            segments: flow.segments,
            bytes: flow.bytes,
            replicas: flow.replicas,
            reinjected: flow.reinjected,
            dup_acks: flow.dup_acks,
            delay: flow.delay_there.unwrap_or(Dur::ZERO),
        }
    }
    /// What the correlators have said since the last call.
    pub fn take_coefficients(&mut self) -> Vec<Coefficient> {
        self.correlators.take_log()
    }
}
