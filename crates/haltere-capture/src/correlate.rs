//! Flows of captures through correlators: which of them share a bottleneck.
//! Source: the correlators of `haltere-transport` (RED-CPI, MSCM, RFC 8382); [`samples`](crate::samples) for what they
//! are given.
//! Model: the captures are read twice. First every direction of every TCP connection is measured, and those with most
//! payload are kept. A flow is followed by its round-trip times or its one-way delays, whichever vary more: a capture
//! before the bottleneck sees the queue in the ones, a capture behind it in the others. Then the files are read side by
//! side in order of time. At each step of `every` RED-CPI gets each flow's smoothed delay (RFC 6298, 1/8) and MSCM the
//! mean over the step, so that their windows cover equal times; RFC 8382 gets every measurement. A method puts two
//! flows behind one bottleneck if it said so in more than half of its decisions while both sent.
//! Units: ns inside, ms and s in the report. Cost: O(1) a packet and O(flows^2) at each correlation. Memory: flows,
//! windows, and what the report holds. Known problems: captures whose clocks differ by more than a fraction of a second
//! correlate nothing.

use crate::error::{CaptureError, Watch};
use crate::packet::{Packet, Tcp, reversed};
use crate::reader::Reader;
use crate::samples::{Moments, Track};
use haltere_queue::FlowKey;
use haltere_transport::multipath::correlation::CorrelatorParams;
use haltere_units::{Dur, ParamError};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::Read;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::atomic::Ordering;
use std::time::Instant;

mod follow;

/// What is correlated, and how.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The correlators, in the order of the report.
    pub methods: Vec<CorrelatorParams>,
    /// Step at which delays are sampled for methods that pair samples by their order; 0: each measurement.
    pub every: Dur,
    /// At most so many flows, those with most payload. 2 to 64.
    pub flows: usize,
    /// Flows with fewer measurements are left out. At least 3.
    pub least: u64,
    /// Which delay of a flow is followed.
    pub source: DelaySource,
}

impl Default for Options {
    fn default() -> Options {
        Options { methods: vec![], every: Dur::from_ms(100), flows: 8, least: 200, source: DelaySource::Auto }
    }
}

/// What is measured of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DelaySource {
    /// The one of the two that varies more.
    Auto,
    /// Times from a segment to its acknowledgement.
    RoundTrip,
    /// One-way delays by the sender's timestamps.
    OneWay,
}

impl Options {
    fn check(&self) -> Result<(), ParamError> {
        if self.methods.is_empty() {
            return Err(ParamError::new("methods", "at least one", 0));
        }
        if !(2..=64).contains(&self.flows) {
            return Err(ParamError::new("flows", "from 2 to 64", self.flows));
        }
        if self.least < 3 {
            return Err(ParamError::new("least", "at least 3 measurements", self.least));
        }
        if self.every != Dur::ZERO && !(Dur::from_ms(1)..=Dur::from_secs(3600)).contains(&self.every) {
            return Err(ParamError::new("every", "0 or from 1ms to 1h", self.every));
        }
        self.methods.iter().try_for_each(CorrelatorParams::check)
    }
}

/// One flow: one direction of a connection in one capture.
#[derive(Debug, Clone, Serialize)]
pub struct CorrelatedFlow {
    /// Which of the captures, from 0.
    pub capture: usize,
    /// Address and port of both ends, sender first.
    pub name: String,
    /// Payload bytes, segments and how many of these came again.
    pub bytes: u64,
    /// Data segments, repeated ones included.
    pub segments: u64,
    /// Data segments that came again.
    pub again: u64,
    /// Which delay is followed.
    pub source: DelaySource,
    /// Number of measurements of it.
    pub samples: u64,
    /// Their standard deviation in milliseconds.
    pub deviation_ms: f64,
    /// Time of the first data segment in seconds.
    pub from_s: f64,
    /// Time of the last data segment in seconds.
    pub to_s: f64,
}

/// What a method says of two flows.
#[derive(Debug, Clone, Serialize)]
pub struct Pair {
    /// Index of the method.
    pub method: usize,
    /// Place of one flow in the list of flows.
    pub a: usize,
    /// Place of the other flow.
    pub b: usize,
    /// How often it could tell.
    pub told: u64,
    /// The part of these in which it said that they share a bottleneck.
    pub shared: Option<f64>,
    /// Quartiles of the coefficient, where it has one.
    pub quartiles: Option<[f64; 3]>,
    /// The verdict; `None` where it could never tell.
    pub shares: Option<bool>,
}

/// One line of the log.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Told {
    /// Time of the decision in seconds.
    pub at_s: f64,
    /// Index of the method.
    pub method: usize,
    /// Place of one flow in the list of flows.
    pub a: usize,
    /// Place of the other flow.
    pub b: usize,
    /// The coefficient, where the method has one.
    pub coefficient: Option<f64>,
    /// They share a bottleneck.
    pub shares: bool,
}

/// A flow's smoothed delay over time.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Series {
    /// Times of the points in seconds.
    pub at_s: Vec<f64>,
    /// Milliseconds; one-way delays above their least.
    pub delay_ms: Vec<f64>,
}

/// Which flows of the captures share a bottleneck.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Packets in all files.
    pub packets: u64,
    /// The flows that were followed.
    pub flows: Vec<CorrelatedFlow>,
    /// Flows with payload that were not.
    pub left_out: u64,
    /// Every pair by every method.
    pub pairs: Vec<Pair>,
    /// For each method the groups of flows that share a bottleneck; a flow alone is a group.
    pub groups: Vec<Vec<Vec<usize>>>,
    /// For each method the flows that are alone and have a pair without a verdict: they may share with another.
    pub untold: Vec<Vec<usize>>,
    /// What was said when.
    pub log: Vec<Told>,
    /// The delay of each flow over time.
    pub series: Vec<Series>,
    /// Seconds that both readings took.
    pub seconds: f64,
}

/// An error and the file it is about.
pub type Fault = (usize, CaptureError);

/// One direction of a connection, as the first reading knows it.
#[derive(Debug)]
struct Known {
    v6: bool,
    bytes: u64,
    track: Track,
    round_trips: Moments,
    delays: CoMoments,
    from_ns: u64,
    to_ns: u64,
}

/// Moments of times and timestamp values, which give the deviation of their difference for any tick.
#[derive(Debug, Default)]
struct CoMoments {
    count: u64,
    /// Means of seconds and of ticks since the first, and the sums of their squared and joint differences.
    mean: [f64; 2],
    squares: [f64; 3],
    origin: Option<(u64, u32)>,
}

impl CoMoments {
    fn add(&mut self, at_ns: u64, value: u32) {
        let (from, first) = *self.origin.get_or_insert((at_ns, value));
        let x = at_ns.saturating_sub(from) as f64 * 1e-9;
        let v = f64::from(value.wrapping_sub(first) as i32);
        self.count += 1;
        let off = [x - self.mean[0], v - self.mean[1]];
        self.mean[0] += off[0] / self.count as f64;
        self.mean[1] += off[1] / self.count as f64;
        let now = [x - self.mean[0], v - self.mean[1]];
        self.squares[0] += off[0] * now[0];
        self.squares[1] += off[0] * now[1];
        self.squares[2] += off[1] * now[1];
    }
    /// Standard deviation of x - k v, in ns.
    fn deviation(&self, tick_ns: f64) -> f64 {
        let k = tick_ns * 1e-9;
        let [xx, xv, vv] = self.squares;
        let squares = (xx - 2.0 * k * xv + k * k * vv).max(0.0);
        if self.count < 2 { 0.0 } else { (squares / (self.count - 1) as f64).sqrt() * 1e9 }
    }
}

/// A flow that is followed.
#[derive(Debug, Clone)]
struct Chosen {
    capture: usize,
    key: FlowKey,
    source: DelaySource,
    /// Length of a timestamp's tick, for one-way delays.
    tick_ns: Option<f64>,
    from_ns: u64,
    to_ns: u64,
}

/// Correlates the flows of captures, which are read twice. `captures` has an entry a file: the capture that it is a
/// part of, from 0 (both directions of a line may be in one file or in two). `open` opens a file by its place there;
/// `watch` hears of the bytes read in both readings.
pub fn correlate<R: Read>(
    captures: &[usize],
    open: impl Fn(usize) -> std::io::Result<R>,
    options: &Options,
    watch: Watch<'_>,
) -> Result<Report, Fault> {
    options.check().map_err(|error| (0, error.into()))?;
    #[expect(clippy::disallowed_methods, reason = "how long it took is told in wall time")]
    let begun = Instant::now();
    let (known, packets) = survey(captures, &open, watch)?;
    let (chosen, flows, left_out) = choose(known, options).map_err(|error| (0, error))?;
    let mut report = follow::follow(SideBySide::open(captures.len(), &open, watch)?, captures, options, &chosen)?;
    report.flows = flows;
    (report.packets, report.left_out) = (packets, left_out);
    report.seconds = begun.elapsed().as_secs_f64();
    Ok(report)
}

/// A TCP packet of one of the files.
#[derive(Debug, Clone, Copy)]
struct Passed {
    at_ns: u64,
    file: usize,
    flow: FlowKey,
    v6: bool,
    tcp: Tcp,
}

/// Files read side by side, in order of time.
struct SideBySide<'w, R: Read> {
    heads: Vec<(Reader<'w, R>, Option<Passed>)>,
}

impl<'w, R: Read> SideBySide<'w, R> {
    fn open(files: usize, open: impl Fn(usize) -> std::io::Result<R>, watch: Watch<'w>) -> Result<Self, Fault> {
        let mut all = SideBySide { heads: vec![] };
        let before = watch.read.map_or(0, |read| read.load(Ordering::Relaxed));
        for file in 0..files {
            let input = open(file).map_err(|error| (file, CaptureError::Open(error)))?;
            // Of files side by side the first tells how far the reading is.
            let watch = Watch { read: watch.read.filter(|_| file == 0), before, ..watch };
            let reader = Reader::new(input, watch).map_err(|error| (file, error))?;
            all.heads.push((reader, None));
            all.refill(file)?;
        }
        Ok(all)
    }
    fn refill(&mut self, file: usize) -> Result<(), Fault> {
        let (reader, next) = &mut self.heads[file];
        *next = None;
        while let Some(record) = reader.next_record().map_err(|error| (file, error))? {
            let at_ns = record.at_ns;
            if let Some((Packet { flow, v6, .. }, tcp)) = Packet::of(&record).and_then(|p| Some((p, p.tcp?))) {
                *next = Some(Passed { at_ns, file, flow, v6, tcp });
                break;
            }
        }
        Ok(())
    }
    /// The packet of all files that comes next.
    fn next_record(&mut self) -> Result<Option<Passed>, Fault> {
        let soonest = self.heads.iter().filter_map(|(_, next)| *next).min_by_key(|passed| passed.at_ns);
        if let Some(passed) = soonest {
            self.refill(passed.file)?;
        }
        Ok(soonest)
    }
    fn packets(&self) -> u64 {
        self.heads.iter().map(|(reader, _)| reader.number()).sum()
    }
}

type Survey = Vec<(usize, FlowKey, Known)>;

/// The first reading: the flows of each capture, and the number of packets.
fn survey<R: Read>(
    captures: &[usize],
    open: impl Fn(usize) -> std::io::Result<R>,
    watch: Watch<'_>,
) -> Result<(Survey, u64), Fault> {
    let mut files = SideBySide::open(captures.len(), open, watch)?;
    let mut flows: HashMap<(usize, FlowKey), Known> = HashMap::new();
    while let Some(Passed { at_ns, file, flow, v6, tcp }) = files.next_record()? {
        let capture = captures[file];
        if let Some(other) = flows.get_mut(&(capture, reversed(flow)))
            && let Some(rtt) = other.track.answered(at_ns, &tcp)
        {
            other.round_trips.add(rtt as f64);
        }
        if tcp.payload == 0 || tcp.syn {
            continue;
        }
        let flow = flows.entry((capture, flow)).or_insert_with(|| Known {
            v6,
            bytes: 0,
            track: Track::default(),
            round_trips: Moments::default(),
            delays: CoMoments::default(),
            from_ns: at_ns,
            to_ns: at_ns,
        });
        flow.bytes += u64::from(tcp.payload);
        flow.to_ns = flow.to_ns.max(at_ns);
        flow.track.sent(at_ns, &tcp, None);
        if let Some((value, _)) = tcp.timestamps {
            flow.delays.add(at_ns, value);
        }
    }
    Ok((flows.into_iter().map(|((capture, key), flow)| (capture, key, flow)).collect(), files.packets()))
}

/// What to follow of a flow: measure, number of measurements, tick and deviation in ns. `None` where there is too
/// little.
fn source(flow: &Known, options: &Options) -> Option<(DelaySource, u64, Option<f64>, f64)> {
    let enough = |count: u64| count >= options.least;
    let round_trip = (options.source != DelaySource::OneWay && enough(flow.round_trips.count))
        .then(|| (DelaySource::RoundTrip, flow.round_trips.count, None, flow.round_trips.deviation()));
    let tick =
        flow.track.clock().tick_ns().filter(|_| options.source != DelaySource::RoundTrip && enough(flow.delays.count));
    let one_way = tick.map(|tick| (DelaySource::OneWay, flow.delays.count, Some(tick), flow.delays.deviation(tick)));
    match (round_trip, one_way) {
        (Some(there), Some(way)) => Some(if there.3 >= way.3 { there } else { way }),
        (there, way) => there.or(way),
    }
}

fn choose(known: Survey, options: &Options) -> Result<(Vec<Chosen>, Vec<CorrelatedFlow>, u64), CaptureError> {
    let all = known.len();
    let usable =
        known.into_iter().filter_map(|(capture, key, flow)| Some((capture, key, source(&flow, options)?, flow)));
    let mut usable: Vec<_> = usable.collect();
    let order = |key: &FlowKey| (key.src, key.dst, key.src_port, key.dst_port);
    usable.sort_by_key(|(capture, key, _, flow)| (std::cmp::Reverse(flow.bytes), *capture, order(key)));
    usable.truncate(options.flows);
    usable.sort_by_key(|(capture, key, _, flow)| (*capture, flow.from_ns, order(key)));
    if usable.len() < 2 {
        let text = format!(
            "captures must hold at least 2 TCP flows with {} measurements each, got {} of {all} with payload; \
             lower --least or capture for longer",
            options.least,
            usable.len()
        );
        return Err(CaptureError::Nothing(text));
    }
    let zero = usable.iter().map(|(.., flow)| flow.from_ns).min().unwrap_or(0);
    let (mut chosen, mut flows) = (vec![], vec![]);
    for (capture, key, (source, samples, tick_ns, deviation), flow) in usable {
        let Known { from_ns, to_ns, .. } = flow;
        chosen.push(Chosen { capture, key, source, tick_ns, from_ns, to_ns });
        flows.push(CorrelatedFlow {
            capture,
            name: name(&key, flow.v6),
            bytes: flow.bytes,
            segments: flow.track.sent,
            again: flow.track.again,
            source,
            samples,
            deviation_ms: deviation * 1e-6,
            from_s: (from_ns - zero) as f64 * 1e-9,
            to_s: (to_ns - zero) as f64 * 1e-9,
        });
    }
    let left_out = (all - flows.len()) as u64;
    Ok((chosen, flows, left_out))
}

fn name(key: &FlowKey, v6: bool) -> String {
    let end = |address: u128, port: u16| {
        if v6 {
            format!("[{}]:{port}", Ipv6Addr::from(address))
        } else {
            format!("{}:{port}", Ipv4Addr::from(address as u32))
        }
    };
    format!("{} > {}", end(key.src, key.src_port), end(key.dst, key.dst_port))
}
