//! Recorded packets through classifiers, and what came of it.
//! Source: the hit rates of the RAFLE study's table 1. Model: a flow (five fields, one direction, from SYN to the next SYN) is
//! short when all its packets together have at most `short` bytes of IP. A packet is a hit when it was called what its
//! flow turned out to be. The interval takes flows as clusters, whose packets depend on each other: with h hits among n
//! packets of a flow and r = sum h / sum n over K flows, var r = K / (K - 1) * sum (h - r n)^2 / (sum n)^2.
//! Units: bytes, packets. Cost: O(classifiers) a packet; memory O(flows). Known problems: a flow that had begun before the
//! capture tells no offset and is judged by the part that was seen.

use crate::packet::Seen;
use crate::reader::{CaptureError, Reader};
use haltere_queue::classify::{CLASSES, Class, Classifier, ClassifierParams, Sorter};
use haltere_queue::{DropReason, Fate, FlowKey, LinkContext, MarkReason, Pkt};
use haltere_units::{Bytes, ParamError, Time};
use serde::Serialize;
use std::collections::HashMap;
use std::io::Read;
use std::time::Instant;

/// What is asked.
#[derive(Debug, Clone)]
pub struct Options {
    /// The classifiers.
    pub classifiers: Vec<ClassifierParams>,
    /// Flows up to this are short.
    pub short: Bytes,
    /// Seed of the classifiers' chance; each has a stream of its own.
    pub seed: u64,
}

/// A part with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rate {
    /// The part, from 0 to 1; not a number where there were no packets.
    pub part: f64,
    /// Half the interval's width; not a number for fewer than two flows.
    pub half: f64,
}

/// What came of one classifier.
#[derive(Debug, Clone, Serialize)]
pub struct Score {
    /// The classifier.
    pub classifier: ClassifierParams,
    /// Packets of short flows called short.
    pub short: Rate,
    /// Packets of long flows called long.
    pub long: Rate,
}

/// What came of a capture.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Packets read.
    pub packets: u64,
    /// Of these, packets without a flow (no IP, or unreadable).
    pub without_flow: u64,
    /// Packets of short and of long flows.
    pub packets_of: [u64; CLASSES],
    /// Short and long flows.
    pub flows: [u64; CLASSES],
    /// Packets of TCP flows whose beginning was not seen: their offset cannot be told.
    pub without_offset: u64,
    /// Seconds that reading and classifying took.
    pub seconds: f64,
    /// One entry a classifier, as asked.
    pub scores: Vec<Score>,
}

/// A flow under way.
struct Flow {
    bytes: u64,
    packets: u64,
    isn: Option<u32>,
    /// Packets that each classifier called long.
    long: Box<[u64]>,
}

/// Sums over the flows of one class, for one classifier: hits h and packets n.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    flows: f64,
    h: f64,
    n: f64,
    hh: f64,
    hn: f64,
    nn: f64,
}

impl Sums {
    fn add(&mut self, hits: u64, packets: u64) {
        let (h, n) = (hits as f64, packets as f64);
        self.flows += 1.0;
        self.h += h;
        self.n += n;
        self.hh += h * h;
        self.hn += h * n;
        self.nn += n * n;
    }
    fn rate(&self) -> Rate {
        let part = self.h / self.n;
        let squares = (self.hh - 2.0 * part * self.hn + part * part * self.nn).max(0.0);
        let variance = self.flows / (self.flows - 1.0) * squares / (self.n * self.n);
        Rate { part, half: if self.flows > 1.0 { 1.96 * variance.sqrt() } else { f64::NAN } }
    }
}

/// A classifier's chance: SplitMix64.
struct Chance(u64);

impl Fate<Seen> for Chance {
    fn dropped(&mut self, _: Seen, _: DropReason) {}
    fn marked(&mut self, _: &Seen, _: MarkReason) {}
    fn random(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Classifies every packet of a capture.
pub fn classify(input: impl Read, options: &Options) -> Result<Result<Report, ParamError>, CaptureError> {
    let chances = (0..options.classifiers.len() as u64).map(|i| Chance(options.seed.wrapping_mul(0x1000_0001) ^ i));
    classify_with(input, options, chances.collect(), |_, _| {})
}

/// The same with chance from elsewhere, one stream a classifier; `told` hears of every packet with a flow: its number from 1 and
/// its classes.
#[expect(private_bounds, reason = "whoever gives chance need not know the packets")]
pub fn classify_with<C: Fate<Seen>>(
    input: impl Read,
    options: &Options,
    chances: Vec<C>,
    mut told: impl FnMut(u64, &[Class]),
) -> Result<Result<Report, ParamError>, CaptureError> {
    let link = LinkContext { rate: None, rtt: None, packet: Bytes::new(1514), seed: options.seed };
    let sorters: Result<Vec<Sorter>, ParamError> = options.classifiers.iter().map(|p| Sorter::new(p, &link)).collect();
    let sorters = match sorters {
        Ok(sorters) => sorters,
        Err(error) => return Ok(Err(error)),
    };
    let mut replay = Replay::new(sorters, chances, options.short);
    #[expect(clippy::disallowed_methods, reason = "how fast the replay itself is, is told in wall time")]
    let begun = Instant::now();
    let mut reader = Reader::new(input)?;
    while let Some((at, frame)) = reader.next()? {
        let seen = Seen::of(frame);
        if let Some(classes) = replay.take(at, seen) {
            told(reader.number, classes);
        }
    }
    Ok(Ok(replay.report(reader.number, begun.elapsed().as_secs_f64(), options)))
}

struct Replay<C> {
    sorters: Vec<Sorter>,
    chances: Vec<C>,
    short: u64,
    flows: HashMap<FlowKey, Flow>,
    classes: Vec<Class>,
    without_flow: u64,
    without_offset: u64,
    flow_count: [u64; CLASSES],
    /// By classifier and by what flows were.
    sums: Vec<[Sums; CLASSES]>,
}

impl<C: Fate<Seen>> Replay<C> {
    fn new(sorters: Vec<Sorter>, chances: Vec<C>, short: Bytes) -> Replay<C> {
        let sums = vec![[Sums::default(); CLASSES]; sorters.len()];
        let (flows, classes) = (HashMap::new(), Vec::with_capacity(sorters.len()));
        let short = short.as_u64();
        Replay {
            sorters,
            chances,
            short,
            flows,
            classes,
            without_flow: 0,
            without_offset: 0,
            flow_count: [0; CLASSES],
            sums,
        }
    }
    /// Shows a packet to every classifier.
    fn take(&mut self, at: Time, seen: Option<Seen>) -> Option<&[Class]> {
        let Some(mut seen) = seen else {
            self.without_flow += 1;
            return None;
        };
        let key = seen.flow();
        if seen.opens && self.flows.get(&key).is_some_and(|flow| flow.isn != seen.place) {
            // The same five fields again: another flow. A repeated SYN is not.
            let over = self.flows.remove(&key).expect("it is there");
            self.over(&over);
        }
        let count = self.sorters.len();
        let flow = self.flows.entry(key).or_insert_with(|| Flow {
            bytes: 0,
            packets: 0,
            isn: seen.place.filter(|_| seen.opens),
            long: vec![0; count].into(),
        });
        flow.bytes += u64::from(seen.len - 14);
        flow.packets += 1;
        seen.offset = flow.isn.zip(seen.place).map(|(isn, place)| u64::from(place.wrapping_sub(isn)));
        self.without_offset += u64::from(seen.place.is_some() && seen.offset.is_none());
        self.classes.clear();
        for ((sorter, chance), long) in self.sorters.iter_mut().zip(&mut self.chances).zip(&mut flow.long) {
            let class = sorter.classify(at, &seen, chance);
            *long += u64::from(class == Class::Long);
            self.classes.push(class);
        }
        Some(&self.classes)
    }
    /// A flow is over: its size says what it was.
    fn over(&mut self, flow: &Flow) {
        let truth = if flow.bytes <= self.short { Class::Short } else { Class::Long };
        self.flow_count[truth.index()] += 1;
        for (sums, long) in self.sums.iter_mut().zip(&flow.long) {
            let hits = if truth == Class::Long { *long } else { flow.packets - long };
            sums[truth.index()].add(hits, flow.packets);
        }
    }
    fn report(mut self, packets: u64, seconds: f64, options: &Options) -> Report {
        let flows = std::mem::take(&mut self.flows);
        let mut rest: Vec<Flow> = flows.into_values().collect();
        // Sums of floating-point numbers depend on their order, and a map's order on the run.
        rest.sort_unstable_by_key(|flow| (flow.bytes, flow.packets, flow.long.clone()));
        let mut packets_of = [0; CLASSES];
        rest.iter().for_each(|flow| self.over(flow));
        if let Some(sums) = self.sums.first() {
            packets_of = sums.map(|s| s.n as u64);
        }
        let scores = options.classifiers.iter().zip(&self.sums).map(|(classifier, [short, long])| Score {
            classifier: classifier.clone(),
            short: short.rate(),
            long: long.rate(),
        });
        let (without_flow, without_offset, flows) = (self.without_flow, self.without_offset, self.flow_count);
        Report { packets, without_flow, packets_of, flows, without_offset, seconds, scores: scores.collect() }
    }
}
