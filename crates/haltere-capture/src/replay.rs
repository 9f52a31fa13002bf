//! Recorded packets through classifiers, and their hit rates.
//! Source: the hit rates of the RAFLE study's table 1.
//! Model: a flow (five fields, one direction, from SYN to the next SYN) is short if all its packets together have at
//! most `short` bytes of IP. A packet is a hit if its class is the one of its whole flow. The interval takes flows as
//! clusters, whose packets depend on each other: with h hits among n packets of a flow and r = sum h / sum n over K
//! flows, var r = K / (K - 1) * sum (h - r n)^2 / (sum n)^2. A classifier that draws random numbers is replayed several
//! times in one pass, each time with a random stream of its own. h and n then sum over the replays, so the interval
//! covers the draws as well. For the product s l of two rates var = l^2 var s + s^2 var l, because their flows differ.
//! Units: bytes, packets. Cost: O(classifiers * draws) a packet; memory O(flows). Known problems: a flow that began
//! before the capture shows no offset and is judged by the part in the capture; offsets are those of 32-bit sequence
//! numbers.

use crate::error::{CaptureError, Watch};
use crate::packet::{ETHERNET, Packet};
use crate::reader::Reader;
use haltere_plan::rng::Rng;
use haltere_queue::classify::{CLASSES, Class, Classifier, ClassifierParams, FlowClassifier};
use haltere_queue::{DropReason, Fate, FlowKey, LinkContext, MarkReason};
use haltere_units::outside::Outside;
use haltere_units::{Bytes, ParamError, Time};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::Read;
use std::time::Instant;

/// Which classifiers are replayed, and how.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The classifiers, in the order of the report.
    pub classifiers: Vec<ClassifierParams>,
    /// Flows up to this are short.
    pub short: Bytes,
    /// How often a classifier that draws random numbers is replayed, from 1 to 1000.
    pub draws: u32,
    /// Random seed; each replay has a random stream of its own.
    pub seed: u64,
    /// The languages of classifiers from outside the tree.
    #[serde(skip)]
    pub outside: Outside,
}

impl Default for Options {
    fn default() -> Options {
        Options { classifiers: vec![], short: Bytes::new(16_000), draws: 10, seed: 1, outside: Outside::NONE }
    }
}

impl Options {
    fn check(&self) -> Result<(), ParamError> {
        if self.classifiers.is_empty() {
            return Err(ParamError::new("classifiers", "at least one", 0));
        }
        if !(1..=1000).contains(&self.draws) {
            return Err(ParamError::new("draws", "from 1 to 1000", self.draws));
        }
        if self.short == Bytes::ZERO {
            return Err(ParamError::new("short", "above 0", self.short).hint("the paper takes `16kB`"));
        }
        Ok(())
    }
    /// The classifier of these parameters, and how often it is replayed: once if it draws no random numbers.
    fn replayed(&self, params: &ClassifierParams) -> Result<(Classifier, u32), ParamError> {
        let link =
            LinkContext { rate: None, rtt: None, packet: Bytes::new(1514), seed: self.seed, ..Default::default() };
        let classifier = Classifier::new(params, &link)?;
        let replays = if FlowClassifier::<Packet>::is_random(&classifier) { self.draws } else { 1 };
        Ok((classifier, replays))
    }
}

/// A part with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rate {
    /// The part, from 0 to 1; not a number if there were no packets.
    pub part: f64,
    /// Half the interval's width; not a number for fewer than two flows.
    pub half: f64,
}

impl Rate {
    /// The product of two rates over different flows.
    fn times(self, other: Rate) -> Rate {
        let half = ((other.part * self.half).powi(2) + (self.part * other.half).powi(2)).sqrt();
        Rate { part: self.part * other.part, half }
    }
}

/// The hit rates of one classifier.
#[derive(Debug, Clone, Serialize)]
pub struct Score {
    /// The classifier and its parameters.
    pub classifier: ClassifierParams,
    /// Packets of short flows called short.
    pub short: Rate,
    /// Packets of long flows called long.
    pub long: Rate,
    /// The product of the two, by which the RAFLE study chooses N.
    pub product: Rate,
    /// How often it was replayed.
    pub replays: u32,
}

/// The result of a capture.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Packets of the capture.
    pub packets: u64,
    /// Of these, packets without a flow (no IP, or unreadable).
    pub without_flow: u64,
    /// Packets of short and of long flows.
    pub packets_of: [u64; CLASSES],
    /// Short and long flows.
    pub flows: [u64; CLASSES],
    /// Packets of TCP flows that began before the capture: their offset is unknown.
    pub without_offset: u64,
    /// Packets that their sender marked as short or long, by which `ideal` classifies.
    pub marked: u64,
    /// Seconds that reading and classifying took.
    pub seconds: f64,
    /// One entry a classifier.
    pub scores: Vec<Score>,
}

/// A flow that is not over yet.
struct OpenFlow {
    bytes: u64,
    packets: u64,
    isn: Option<u32>,
    /// Packets that each classifier called long, summed over its replays.
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

/// A replay's random stream.
struct Chance(Rng);

impl<P> Fate<P> for Chance {
    fn dropped(&mut self, _: P, _: DropReason) {}
    fn marked(&mut self, _: &P, _: MarkReason) {}
    fn random(&mut self) -> u64 {
        self.0.bits()
    }
}

/// Classifies every packet of a capture.
pub fn classify(input: impl Read, options: &Options, watch: Watch<'_>) -> Result<Report, CaptureError> {
    options.check()?;
    let replays: Result<Vec<u32>, ParamError> =
        options.classifiers.iter().map(|params| options.replayed(params).map(|(_, replays)| replays)).collect();
    let chances = (0..replays?.iter().sum()).map(|i| Chance(Rng::new(options.seed, &format!("capture/{i}"))));
    classify_with(input, options, watch, chances.collect(), |_, _| {})
}

/// The same with given random streams, one a replay, in the order of the classifiers. The callback gets every packet
/// with a flow: its number from 1 and its class in each replay.
pub fn classify_with<C: Fate<Packet>>(
    input: impl Read,
    options: &Options,
    watch: Watch<'_>,
    chances: Vec<C>,
    mut told: impl FnMut(u64, &[Class]),
) -> Result<Report, CaptureError> {
    options.check()?;
    #[expect(clippy::disallowed_methods, reason = "how fast the replay itself is, is told in wall time")]
    let begun = Instant::now();
    let mut replay = Replay::new(options, chances)?;
    let mut reader = Reader::new(input, watch)?;
    let mut first = None;
    while let Some(record) = reader.next_record()? {
        // A clock that was set back gives no time before the first packet.
        let at = Time::from_ns(record.at_ns.saturating_sub(*first.get_or_insert(record.at_ns)));
        if let Some(classes) = replay.take(at, Packet::of(&record)) {
            told(reader.number(), classes);
        }
    }
    Ok(replay.report(reader.number(), begun.elapsed().as_secs_f64(), options))
}

/// One replay of one classifier.
struct Run<C> {
    /// Which classifier it is, and the classifier.
    index: usize,
    classifier: Classifier,
    chance: C,
}

struct Replay<C> {
    runs: Vec<Run<C>>,
    /// How often each classifier is replayed.
    replays: Vec<u32>,
    short: u64,
    flows: HashMap<FlowKey, OpenFlow>,
    classes: Vec<Class>,
    without_flow: u64,
    without_offset: u64,
    marked: u64,
    flow_count: [u64; CLASSES],
    packet_count: [u64; CLASSES],
    /// By classifier and by what flows were.
    sums: Vec<[Sums; CLASSES]>,
}

impl<C: Fate<Packet>> Replay<C> {
    fn new(options: &Options, chances: Vec<C>) -> Result<Replay<C>, ParamError> {
        let mut runs = Vec::with_capacity(chances.len());
        let mut replays = Vec::with_capacity(options.classifiers.len());
        let mut chances = chances.into_iter();
        for (index, params) in options.classifiers.iter().enumerate() {
            let (classifier, count) = options.replayed(params)?;
            for chance in chances.by_ref().take(count as usize) {
                runs.push(Run { index, classifier: classifier.clone(), chance });
            }
            replays.push(count);
        }
        assert_eq!(runs.len(), replays.iter().sum::<u32>() as usize, "one stream of chance a replay");
        Ok(Replay {
            classes: Vec::with_capacity(runs.len()),
            runs,
            sums: vec![[Sums::default(); CLASSES]; replays.len()],
            replays,
            short: options.short.as_u64(),
            flows: HashMap::new(),
            without_flow: 0,
            without_offset: 0,
            marked: 0,
            flow_count: [0; CLASSES],
            packet_count: [0; CLASSES],
        })
    }
    /// Shows a packet to every classifier.
    fn take(&mut self, at: Time, packet: Option<Packet>) -> Option<&[Class]> {
        let Some(mut packet) = packet else {
            self.without_flow += 1;
            return None;
        };
        let (key, place) = (packet.flow, packet.place());
        if packet.opens() && self.flows.get(&key).is_some_and(|flow| flow.isn.is_none() || flow.isn != place) {
            // The same five fields again: another flow. A repeated SYN is not.
            let over = self.flows.remove(&key).expect("it is there");
            self.over(&over);
        }
        let count = self.replays.len();
        let flow = self.flows.entry(key).or_insert_with(|| OpenFlow {
            bytes: 0,
            packets: 0,
            isn: place.filter(|_| packet.opens()),
            long: vec![0; count].into(),
        });
        flow.bytes += u64::from(packet.len - ETHERNET);
        flow.packets += 1;
        packet.offset = flow.isn.zip(place).map(|(isn, place)| u64::from(place.wrapping_sub(isn)));
        self.without_offset += u64::from(place.is_some() && packet.offset.is_none());
        self.marked += u64::from(Class::of_mark(packet.class >> 2).is_some());
        self.classes.clear();
        for Run { index, classifier, chance } in &mut self.runs {
            let class = classifier.classify(at, &packet, chance);
            flow.long[*index] += u64::from(class == Class::Long);
            self.classes.push(class);
        }
        Some(&self.classes)
    }
    /// A flow is over: its size says what it was.
    fn over(&mut self, flow: &OpenFlow) {
        let truth = if flow.bytes <= self.short { Class::Short } else { Class::Long };
        self.flow_count[truth.index()] += 1;
        self.packet_count[truth.index()] += flow.packets;
        for ((sums, long), &replays) in self.sums.iter_mut().zip(&flow.long).zip(&self.replays) {
            let shown = flow.packets * u64::from(replays);
            let hits = if truth == Class::Long { *long } else { shown - long };
            sums[truth.index()].add(hits, shown);
        }
    }
    fn report(mut self, packets: u64, seconds: f64, options: &Options) -> Report {
        let flows = std::mem::take(&mut self.flows);
        let mut rest: Vec<OpenFlow> = flows.into_values().collect();
        // Sums of floating-point numbers depend on their order, and a map's order on the run.
        rest.sort_unstable_by(|a, b| (a.bytes, a.packets, &a.long).cmp(&(b.bytes, b.packets, &b.long)));
        rest.iter().for_each(|flow| self.over(flow));
        let scores = options.classifiers.iter().zip(&self.sums).zip(&self.replays);
        let scores = scores.map(|((classifier, [short, long]), &replays)| {
            let (short, long) = (short.rate(), long.rate());
            Score { classifier: classifier.clone(), short, long, product: short.times(long), replays }
        });
        Report {
            packets,
            without_flow: self.without_flow,
            packets_of: self.packet_count,
            flows: self.flow_count,
            without_offset: self.without_offset,
            marked: self.marked,
            seconds,
            scores: scores.collect(),
        }
    }
}

#[cfg(test)]
mod tests;
