//! A flow that is one connection of one stream: the client writes, and the server reads at once.

use super::end::{Way, way};
use super::{Ends, Maker, Number, logs};
use crate::app::bulk::Bulk;
use crate::app::stream::Stream;
use crate::app::{AnySource, App, CLIENT, Place, SERVER, Source, is_over};
use crate::engine::event::Kind;
use crate::engine::timer::Alarms;
use crate::net::fabric::Fabric;
use crate::net::packet::{Header, Packet};
use haltere_plan::Record;
use haltere_plan::plan::{FlowPlan, MultipathPlan, TcpPlan};
use haltere_plan::record::{FlowRecord, PathSample};
use haltere_plan::stack::Endpoint;
use haltere_transport::Info;
use haltere_transport::multipath::PathInfo;
use haltere_units::{Bytes, ParamError, Probe, Time};

/// What an endless source writes at a time.
const CHUNK: u64 = 1 << 16;

/// A flow on a stack.
#[derive(Debug)]
pub(crate) struct Single {
    index: usize,
    number: Number,
    ends: Ends,
    alarms: [Alarms; 2],
    source: AnySource,
    output: Output,
    stop: Option<Time>,
    limit: Option<u64>,
    received: u64,
    /// When the last byte of a limited flow was delivered.
    pub completed: Option<Time>,
}

/// What the client's application is about to write.
#[derive(Debug, Default)]
struct Output {
    is_endless: bool,
    /// Bytes that were written to the stack.
    written: u64,
    /// Nothing more will be written.
    is_closing: bool,
    /// The stack knows of the end.
    is_ended: bool,
}

/// The client's end as a source writes to it.
struct Writer<'a>(&'a mut dyn Endpoint, &'a mut Output);

impl Stream for Writer<'_> {
    fn write(&mut self, bytes: Bytes) -> Bytes {
        let taken = self.0.write(0, bytes.as_u64(), false);
        self.1.written += taken;
        Bytes::new(taken)
    }
    fn write_endless(&mut self) {
        self.1.is_endless = true;
    }
    /// The stack says only when it is asked to take some.
    fn writable(&self) -> Bytes {
        Bytes::MAX
    }
    fn unacknowledged(&self) -> Bytes {
        Bytes::new(self.1.written.saturating_sub(self.0.info().acked))
    }
    fn close(&mut self) {
        self.1.is_closing = true;
    }
}

impl Output {
    /// Writes what an endless source has, and the end of the stream.
    fn fill(&mut self, endpoint: &mut dyn Endpoint) {
        while self.is_endless && !self.is_closing {
            let taken = endpoint.write(0, CHUNK, false);
            self.written += taken;
            if taken < CHUNK {
                break;
            }
        }
        if self.is_closing && !self.is_ended {
            self.is_ended = endpoint.write(0, 0, true) > 0;
        }
    }
}

impl Single {
    pub fn new(plan: &FlowPlan, tcp: &TcpPlan, source: AnySource, place: Place) -> Result<Single, ParamError> {
        Single::over(plan, tcp, source, place.ports.clone().map(way), &place)
    }
    /// A flow over several paths: both ends' ports of each, and from when on nothing passes.
    pub fn multipath(plan: &FlowPlan, of: &MultipathPlan, place: &Place) -> Result<Single, ParamError> {
        let ways = [CLIENT, SERVER].map(|side| {
            let each = place.paths.iter().zip(&of.paths);
            each.map(|(ports, path)| Way { port: ports[side].clone(), cut: path.cut, bytes: 0 }).collect()
        });
        Single::over(plan, &of.tcp, AnySource::Bulk(Bulk::of(of.bytes)), ways, place)
    }
    fn over(
        plan: &FlowPlan,
        tcp: &TcpPlan,
        source: AnySource,
        ways: [Vec<Way>; 2],
        place: &Place,
    ) -> Result<Single, ParamError> {
        let index = place.index;
        let mut maker = Maker::new(plan, tcp, CLIENT, &place.origin, place.asked.keeps);
        let ends = maker.try_open(plan.start, ways)?;
        Ok(Single { stop: plan.stop, ..Single::of(index, (index as u32, 1), ends, source) })
    }
    /// A flow on these ends.
    pub fn of(index: usize, number: Number, ends: Ends, source: AnySource) -> Single {
        let (output, limit) = (Output::default(), source.limit());
        let (alarms, stop, completed) = (Default::default(), None, None);
        Single { index, number, ends, alarms, source, output, stop, limit, received: 0, completed }
    }
    /// Both ends are closed.
    pub fn is_over(&mut self) -> bool {
        self.ends.iter_mut().all(|end| end.endpoint.is_closed())
    }
    /// True if a packet with that header is for the end at `side`.
    pub fn is_for(&self, side: usize, header: &Header) -> bool {
        self.ends[side].path_of(header).is_some()
    }
    /// The connection is over: its ends' logs are kept.
    pub fn log(&mut self, record: &mut Record) {
        record.logs.extend(logs(&mut self.ends, self.number, CLIENT));
    }
    pub fn info(&self) -> Info {
        self.ends[CLIENT].endpoint.info()
    }
    /// Writes down the paths as they are, if there are several.
    fn write_paths(&self, at: Time, record: &mut Record) {
        let client = &self.ends[CLIENT];
        if client.ways.len() < 2 {
            return;
        }
        record.path_series.extend(client.ways.iter().enumerate().map(|(path, way)| {
            let mut info = PathInfo::default();
            (info.subflow, info.bytes) = (client.endpoint.path_info(path), way.bytes);
            info.segments = info.subflow.segments_sent;
            PathSample { at, flow: self.index as u32, path: path as u32, info }
        }));
    }
    /// The server reads what is there, and closes when the stream ends.
    fn read(&mut self, now: Time) {
        while let Some(read) = self.ends[SERVER].endpoint.read() {
            self.received += read.bytes;
            if self.completed.is_none() && self.limit.is_some_and(|limit| self.received >= limit) {
                self.completed = Some(now);
            }
            if read.fin {
                self.ends[SERVER].endpoint.close(now);
            }
        }
    }
    /// Writes and sends what may be sent now, and sees to the timer.
    fn go_on(&mut self, side: usize, fabric: &mut Fabric) {
        let end = &mut self.ends[side];
        if side == CLIENT {
            self.output.fill(&mut *end.endpoint);
        }
        end.transmit(fabric);
        if let Some(at) = end.endpoint.next_timeout() {
            fabric.set_timer(&mut self.alarms[side], at, 2 * self.index + side);
        }
    }
    /// Lets the source act on the client's end.
    fn write<T>(&mut self, act: impl FnOnce(&mut AnySource, &mut dyn Stream) -> T) -> T {
        act(&mut self.source, &mut Writer(&mut *self.ends[CLIENT].endpoint, &mut self.output))
    }
}

impl App for Single {
    fn start(&mut self, fabric: &mut Fabric) {
        self.write(|source, client| source.start(client));
        if let Some(stop) = self.stop {
            fabric.schedule(stop, Kind::Stop, self.index);
        }
        self.step(fabric);
    }
    fn step(&mut self, fabric: &mut Fabric) {
        if !is_over(self.stop, fabric.now)
            && let Some(next) = self.write(|source, client| source.step(fabric.now, client))
        {
            fabric.schedule(next, Kind::App, self.index);
        }
        self.go_on(CLIENT, fabric);
    }
    fn set_stop(&mut self, at: Time, fabric: &mut Fabric) {
        self.stop = Some(at);
        fabric.schedule(at, Kind::Stop, self.index);
    }
    fn stop(&mut self, fabric: &mut Fabric) {
        self.write(|source, client| source.stop(client));
        self.go_on(CLIENT, fabric);
    }
    fn on_timer(&mut self, side: usize, fabric: &mut Fabric) {
        if !self.alarms[side].fired(fabric.now) {
            return;
        }
        let endpoint = &mut self.ends[side].endpoint;
        if endpoint.next_timeout().is_some_and(|at| at <= fabric.now) {
            endpoint.on_timeout(fabric.now);
        }
        self.go_on(side, fabric);
    }
    fn receive(&mut self, side: usize, packet: Packet, fabric: &mut Fabric) {
        self.ends[side].receive(&packet, fabric);
        if side == SERVER {
            self.read(fabric.now);
        } else if let Some(next) = self.write(|source, client| source.on_client(fabric.now, client)) {
            fabric.schedule(next, Kind::App, self.index);
        }
        self.go_on(side, fabric);
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
    fn state(&self, probe: &mut Probe) {
        let info = self.info();
        if info.ssthresh != Bytes::MAX {
            probe.push("ssthresh", "B", info.ssthresh.as_f64());
        }
    }
    fn sample(&self, at: Time, _probe: &mut Probe, record: &mut Record) {
        self.write_paths(at, record);
    }
    fn finish(&mut self, at: Time, record: &mut Record) {
        if record.path_series.last().is_none_or(|last| last.at < at || last.flow != self.index as u32) {
            self.write_paths(at, record);
        }
        self.source.finish(at, self.index as u32, record);
        self.log(record);
    }
}
