//! A run in parts has the record of the whole run, and the same bytes with any number of threads.

use super::cut::Cut;
use crate::control::{Capture, RunControl};
use crate::error::RunError;
use crate::run::{run, run_with_captures};
use haltere_lab::{Scenario, table};
use haltere_plan::plan::{LinkPlan, Parts};
use haltere_plan::{Plan, Record};
use haltere_queue::outside::{Maker, OutsideQueue, PacketView, Verdicts};
use haltere_queue::{DropReason, LinkContext, QueueParams};
use haltere_units::outside::{About, Location, Makers, Outside, Params};
use haltere_units::{Dur, ParamError, Rate, Time};
use std::collections::VecDeque;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

const DUMBBELL: &str = r#"
    duration = "1.9s"
    warmup = "700.003ms"
    [measure]
    queues = "1ms"
    flows = "10ms"
    state = true
    delays = true
    qlog = true
    packets = ["left>right", "right>s2"]
    [topology.dumbbell]
    pairs = 6
    rtt_spread = 0.3
    access = { rate = "1.0007Gbit", delay = "1.0137ms" }
    bottleneck = { rate = "20.0003Mbit", delay = "2.003ms", queue = { QUEUE } }
    [tcp]
    tcp_metrics = "off"
    [[traffic]]
    kind = "bulk"
    pairs = [1, 2, 3]
    CONTROL
    [[traffic]]
    kind = "bulk"
    pairs = [4]
    direction = "backward"
    bytes = "1.5MB"
    start = "13.7ms"
    [[traffic]]
    kind = "ping"
    pairs = [1]
    interval = "7.003ms"
    [[traffic]]
    kind = "cbr"
    pairs = [5]
    rate = "1.01Mbit"
    [[traffic]]
    kind = "on_off"
    pairs = [6]
    rate = "3Mbit"
    on = { uniform = ["10ms", "100ms"] }
    off = "40.01ms"
"#;

const LEAF_SPINE: &str = r#"
    duration = "4ms"
    warmup = "1ms"
    [measure]
    queues = "100us"
    flows = "100us"
    pcap = ["leaf1>spine1", "spine1>leaf2"]
    [topology.leaf_spine]
    leaves = 4
    spines = 2
    hosts = 3
    access = { rate = "1Gbit", delay = "2us", queue = { kind = "threshold", limit = "100p", upper = "20p" } }
    fabric = { rate = "1Gbit", delay = "3us", queue = { kind = "threshold", limit = "60p", upper = "20p" }, watch = true }
    [[traffic]]
    kind = "permutation"
    congestion = "dctcp"
    jitter = "100us"
"#;

fn fat_tree() -> String {
    let fat_tree = "[topology.fat_tree]\n    k = 4";
    LEAF_SPINE
        .replace("[topology.leaf_spine]\n    leaves = 4\n    spines = 2\n    hosts = 3", fat_tree)
        .replace(r#"pcap = ["leaf1>spine1", "spine1>leaf2"]"#, "")
}

fn plan(text: &str, parts: u32) -> Plan {
    let plan = Scenario::parse(text, "test.toml").and_then(|one| one.plan(1)).unwrap_or_else(|e| panic!("{e}"));
    Plan { parts: Parts::Most(parts), ..plan }
}

/// The same with another delay and rate on every link, so that hardly any two events fall on one nanosecond.
fn spread(plan: Plan) -> Plan {
    let other = |(i, link): (u64, LinkPlan)| LinkPlan {
        delay: link.delay + Dur::from_ns(37 * i + 11),
        rate: link.rate.map(|rate| Rate::from_bps(rate.as_bps() - 100_003 * (i + 1))),
        ..link
    };
    Plan { links: (0..).zip(plan.links).map(other).collect(), ..plan }
}

/// The record on so many threads, and the bytes of the captures.
fn on(threads: usize, plan: &Plan) -> (Record, Vec<Vec<u8>>) {
    let files: Vec<Arc<Mutex<Vec<u8>>>> = plan.measure.captured.iter().map(|_| Arc::default()).collect();
    let capture = |(link, file): (&usize, &Arc<Mutex<Vec<u8>>>)| Capture {
        link: *link,
        writer: Box::new(Memory(file.clone())),
        snaplen: plan.measure.snaplen,
    };
    let captures = plan.measure.captured.iter().zip(&files).map(capture).collect();
    let control = RunControl { threads, ..RunControl::default() };
    let record = run_with_captures(plan, &control, captures).expect("it runs");
    (record, files.iter().map(|file| file.lock().expect("nobody writes").clone()).collect())
}

/// A file in memory.
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no writer panics").write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn parts(plan: &Plan) -> usize {
    Cut::of(plan).expect("the network is right").map_or(1, |cut| cut.parts)
}

#[test]
fn parts_have_the_record_of_the_whole_network() {
    let with = |queue: &str, control: &str| DUMBBELL.replace("QUEUE", queue).replace("CONTROL", control);
    let networks = [
        (with("kind = 'drop_tail', limit = '40p'", ""), [2, 3, 6]),
        (with("kind = 'fq_codel'", "congestion = 'bbr'"), [2, 4, 12]),
        (with("kind = 'pie'", "ecn = true"), [2, 3, 4]),
        (LEAF_SPINE.into(), [2, 3, 4]),
        (fat_tree(), [2, 4, 8]),
    ];
    for (text, cuts) in networks {
        let whole = spread(plan(&text, 1));
        let (usual, files) = on(1, &whole);
        assert!(usual.links.iter().any(|link| link.total.dropped_overlimit + link.total.dropped_congestion > 0));
        for cut in cuts {
            let cut = Plan { parts: Parts::Most(cut), ..whole.clone() };
            assert!(parts(&cut) > 1, "{cut:?}");
            let (record, other) = on(1, &cut);
            let (events, peak_events) = (usual.events, usual.peak_events);
            let record = Record { events, peak_events, ..record };
            assert_eq!(record.links, usual.links, "links with {:?} of {text}", cut.parts);
            assert_eq!(record.flows, usual.flows, "flows with {:?} of {text}", cut.parts);
            assert!(record == usual, "{:?} of {text}", cut.parts);
            assert!(files == other, "captures with {:?} of {text}", cut.parts);
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let dumbbell = DUMBBELL.replace("QUEUE", "kind = 'fq_codel'").replace("CONTROL", "").replace("0.3", "0");
    for (text, cut) in [(dumbbell, 4), (LEAF_SPINE.into(), 4), (fat_tree(), 5)] {
        let plan = plan(&text, cut);
        assert!(parts(&plan) >= 4, "{text}");
        let (alone, files) = on(1, &plan);
        assert_eq!(files.iter().filter(|file| file.len() > 10_000).count(), plan.measure.captured.len());
        let digest = |record: &Record| table::digest(&table::tables(&plan, record));
        for threads in 2..=4 {
            let (record, other) = on(threads, &plan);
            assert_eq!(digest(&record), digest(&alone), "{threads} threads: {text}");
            assert!(record == alone && other == files, "{threads} threads: {text}");
        }
    }
}

#[test]
fn what_cannot_be_cut_stays_whole() {
    let permutation = &LEAF_SPINE[LEAF_SPINE.find("kind = \"permutation\"").expect("it is there")..];
    let whole = [
        LEAF_SPINE.replace(permutation, "kind = \"poisson\"\nsizes = \"web_search\"\nload = 0.1"),
        LEAF_SPINE.replace("delay = \"2us\"", "delay = \"0s\"").replace("delay = \"3us\"", "delay = \"0s\""),
        LEAF_SPINE
            .replace("delay = \"2us\"", "delay = \"2us\", jitter = \"1us\"")
            .replace("delay = \"3us\"", "loss = 0.1"),
    ];
    for text in whole {
        assert_eq!(parts(&plan(&text, 4)), 1, "{text}");
    }
    // Hosts whose flows share state are in one part, with the network cut elsewhere.
    let rpc = DUMBBELL.replace("kind = \"on_off\"", "kind = \"rpc\"").replace("QUEUE", "kind = 'codel'");
    let rpc = rpc.replace("rate = \"3Mbit\"\n    on = { uniform = [\"10ms\", \"100ms\"] }\n    off = \"40.01ms\"", "");
    let whole = spread(plan(&rpc.replace("CONTROL", ""), 1));
    let cut = Plan { parts: Parts::Most(3), ..whole.clone() };
    let found = Cut::of(&cut).expect("the network is right").expect("it is cut");
    let flow = cut.flows.iter().find(|flow| flow.app.kind() == "rpc").expect("it is there");
    assert_eq!(found.part_of(flow.from), found.part_of(flow.to));
    let [usual, record] = [&whole, &cut].map(|plan| on(2, plan).0);
    assert!(!usual.completions.is_empty());
    assert!(record == Record { events: record.events, peak_events: record.peak_events, ..usual });
}

#[test]
fn a_cut_is_even_and_its_windows_are_long() {
    // Access links of 2 us and a fabric of 3 us: no host is cut off its leaf.
    let cut = Cut::of(&plan(LEAF_SPINE, 4)).expect("the network is right").expect("it is cut");
    assert_eq!((cut.parts, cut.window), (4, Dur::from_us(3)));
    // As much work on both sides of a bottleneck of 2.003 ms.
    let (both, _) = DUMBBELL.split_once("[[traffic]]").expect("it has traffic");
    let both = format!("{both}[[traffic]]\nkind = 'bulk'\npairs = 'all'\ndirection = 'both'");
    let cut = Cut::of(&plan(&both.replace("QUEUE", "kind = 'codel'"), 2)).expect("the network is right");
    assert_eq!(cut.map(|cut| (cut.parts, cut.window)), Some((2, Dur::from_us(2003))));
    // The hosts of a pod of the fat tree are in one part with its switches.
    let plan = plan(&fat_tree(), 2);
    let cut = Cut::of(&plan).expect("the network is right").expect("it is cut");
    let inside = plan.links.iter().filter(|link| cut.part_of(link.from) == cut.part_of(link.to)).count();
    assert!(3 * inside > 2 * plan.links.len(), "{inside} of {} links", plan.links.len());
}

#[test]
fn a_cancelled_run_ends_in_all_parts() {
    let plan = Plan { end: Time::NEVER, ..plan(LEAF_SPINE, 4) };
    let (cancel, progress) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while progress.load(Ordering::Relaxed) < 1_000_000 {
                std::thread::yield_now();
            }
            cancel.store(true, Ordering::Relaxed);
        });
        let control = RunControl { cancel: Some(&cancel), progress: Some(&progress), threads: 3 };
        assert!(matches!(run(&plan, &control), Err(RunError::Cancelled { .. })));
    });
}

/// A queue that names a packet which does not wait, after a hundred packets.
#[derive(Debug, Clone, Default)]
struct Failing(VecDeque<u64>, u32);

impl OutsideQueue for Failing {
    fn enqueue(&mut self, _: Time, packet: &PacketView, verdicts: &mut dyn Verdicts) {
        (self.1, _) = (self.1 + 1, self.0.push_back(packet.id));
        if self.1 > 100 {
            verdicts.drop(packet.id + 7, DropReason::Congestion);
        }
    }
    fn dequeue(&mut self, _: Time, _: &mut dyn Verdicts) -> Option<u64> {
        self.0.pop_front()
    }
    fn clone_box(&self) -> Box<dyn OutsideQueue> {
        Box::new(self.clone())
    }
}

struct Test;
impl Maker for Test {
    fn about(&self, at: Location<'_>) -> Result<About, ParamError> {
        Ok(About { name: at.source.into(), ..About::default() })
    }
    fn make(&self, _: &Params, _: &LinkContext) -> Result<Box<dyn OutsideQueue>, ParamError> {
        Ok(Box::new(Failing::default()))
    }
}

#[test]
fn a_mechanism_that_fails_in_one_part_ends_all() {
    let mut makers = Makers::default();
    makers.add::<dyn Maker>("test", Box::new(Test));
    let outside = Outside::of(&Arc::new(makers));
    let mut plan = Plan { end: Time::from_ns(1_000_000_000), outside, ..plan(LEAF_SPINE, 4) };
    let params = Params { language: "test".into(), source: "failing".into(), ..Params::default() };
    let of_sender = plan.links.iter_mut().find(|link| link.from == plan.flows[0].from).expect("a host has a link");
    of_sender.queue = QueueParams::Outside(params).into();
    assert!(parts(&plan) == 4);
    let failed = run(&plan, &RunControl { threads: 4, ..RunControl::default() });
    assert!(matches!(failed, Err(RunError::Outside { .. })), "{failed:?}");
}
