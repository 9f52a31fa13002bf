//! What every discipline of the registry promises. A new line in the registry is tested here without a change;
//! further parameter sets of its own may be added to [`SETS`].
#![allow(missing_docs, reason = "tests")]

use crate::common::{Recorder, TestPkt, link};
use crate::world;
use haltere_queue::classify::ClassifierParams;
use haltere_queue::service::ServiceParams;
use haltere_queue::{Admission, Backlog, Ecn, Fate, MarkReason, Pkt, Qdisc, Queue, QueueParams};
use haltere_units::{Dur, Probe, Rate, Time};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::{HashSet, VecDeque};

/// Parameter sets besides those that every discipline gets.
const SETS: &[(&str, &str)] = &[
    ("pfifo_fast", r#"{"limit": "20p", "shared_limit": true}"#),
    (
        "red",
        r#"{"limit": "40p", "min": "5p", "max": "15p", "weight": 0.1, "gentle": true, "wait": true, "idle": "paper"}"#,
    ),
    (
        "red",
        r#"{"limit": "60kB", "min": "9kB", "max": "9001B", "burst": 7, "avpkt": "1500B", "probability": 1,
            "ecn": true}"#,
    ),
    (
        "red",
        r#"{"limit": "60kB", "min": "5kB", "max": "15kB", "ecn": true, "harddrop": true, "bytemode": true,
            "adaptive": true}"#,
    ),
    ("red", r#"{"limit": "60p", "ecn": true, "nodrop": true, "adaptive": true}"#),
    ("codel", r#"{"limit": "50p", "target": "1ms", "interval": "10ms", "root": "exact"}"#),
    ("codel", r#"{"target": "1ms", "interval": "10ms", "ecn": true, "ce_threshold": "500us"}"#),
    (
        "fq_codel",
        r#"{"limit": "20p", "flows": 4, "quantum": "300B", "drop_batch": 2, "target": "1ms", "interval": "5ms"}"#,
    ),
    ("fq_codel", r#"{"memory_limit": "20kB", "flows": 1, "ecn": false}"#),
    ("pie", r#"{"limit": "50p", "target": "1ms", "tupdate": "1ms", "max_burst": "5ms", "ecn": true}"#),
    ("pie", r#"{"target": "1ms", "tupdate": "1ms", "max_burst": "0", "dq_rate_estimator": true, "bytemode": true}"#),
    ("pie", r#"{"target": "1ms", "max_burst": "1ms", "derandomisation": false}"#),
    ("dualpi2", r#"{"limit": "50p", "target": "1ms", "tupdate": "1ms", "step": "200us", "ramp": "1ms"}"#),
    (
        "dualpi2",
        r#"{"target": "1ms", "tupdate": "1ms", "coupling": 4, "drop_overload": false, "min_step_packets": 3,
            "min_backlog": "3kB", "queue_protection": true}"#,
    ),
    ("fq_pie", r#"{"limit": "30p", "flows": 4, "quantum": "300B", "target": "1ms", "tupdate": "1ms", "ecn": true}"#),
    ("fq_pie", r#"{"memory_limit": "20kB", "flows": 1, "target": "1ms", "tupdate": "1ms", "max_burst": "0"}"#),
    ("sfq", r#"{"limit": "20p", "flows": 4, "depth": 5, "quantum": "300B"}"#),
    ("sfq", r#"{"limit": "40p", "head_drop": true}"#),
    ("choke", r#"{"limit": "40p", "min": "5p", "max": "15p", "burst": 7, "ecn": true}"#),
    ("sfb", r#"{"limit": "60p", "target": 5, "max": 8, "increment": 0.01, "decrement": 0.001, "ecn": true}"#),
    ("sfb", r#"{"limit": "60p", "increment": 0.2, "penalty_burst": 2, "rehash": "50ms", "warmup": "10ms"}"#),
    ("threshold", r#"{"upper": "10p", "lower": "5p", "drop": true}"#),
    ("threshold", r#"{"limit": "30kB", "upper": "9kB", "lower_fraction": 0.5}"#),
    ("threshold", r#"{"upper": "3ms", "lower_fraction": 0.5, "return_to_sender": true, "drop": true, "mark": true}"#),
    ("threshold", r#"{"limit": "20p", "upper": "10p", "lower_fraction": 0.15, "per_destination": true}"#),
    ("threshold", r#"{"upper": "10p", "per_destination": true, "shared_state": true, "output_buffer": 5}"#),
    ("input_buffer", r#"{"limit": "10p", "socket": "20p"}"#),
    ("cake", r#"{"bandwidth": "20Mbit", "limit": "30p", "overhead": 44, "framing": "atm", "rtt": "10ms"}"#),
    ("cake", r#"{"bandwidth": "30Mbit", "diffserv": "diffserv4", "isolation": "dual-srchost", "rtt": "5ms"}"#),
    ("cake", r#"{"diffserv": "besteffort", "isolation": "hosts", "ack_filter": "aggressive", "rtt": "5ms"}"#),
    ("cake", r#"{"diffserv": "diffserv4", "isolation": "flowblind", "limit": "20p"}"#),
    ("fq", r#"{"limit": "60p", "flows": 4, "flow_limit": 9, "quantum": "300B", "ce_threshold": "1ms"}"#),
    ("fq", r#"{"maxrate": "5Mbit", "initial_quantum": "1500B", "refill_delay": "1ms"}"#),
    ("fq", r#"{"maxrate": "5Mbit", "low_rate_threshold": "10Mbit"}"#),
    (
        "drr",
        r#"{"classes": [{"match": {"dscp": [10]}, "quantum": "300B"}, {"queue": {"kind": "codel", "target": "1ms",
            "interval": "5ms"}}]}"#,
    ),
    (
        "drr",
        r#"{"classes": [{"match": {"ports": [1, 2]}, "queue": {"kind": "fq_pie", "flows": 4}}, {"quantum": "9kB"}],
            "limit": "30p"}"#,
    ),
    (
        "htb",
        r#"{"rate": "20Mbit", "classes": [{"name": "a", "rate": "5Mbit"}, {"name": "x", "parent": "a",
            "rate": "1Mbit", "match": {"dscp": [10]}},
            {"name": "y", "parent": "a", "rate": "2Mbit", "priority": 1, "match": {"dscp": [8]}}, {"name": "b",
                "rate": "3Mbit", "ceil": "6Mbit", "burst": "9kB"}]}"#,
    ),
    (
        "htb",
        r#"{"classes": [{"name": "a", "queue": {"kind": "pie", "limit": "30p", "tupdate": "1ms",
            "max_burst": "1ms"}}], "limit": "40kB"}"#,
    ),
    (
        "codel",
        r#"{"target": "1ms", "interval": "10ms", "ecn": true, "ce_threshold": "500us",
            "ce_threshold_selector": "0x1/0x3"}"#,
    ),
    ("tbf", r#"{"rate": "20Mbit", "burst": "3kB", "latency": "20ms", "peakrate": "30Mbit"}"#),
    ("tbf", r#"{"rate": "30Mbit", "burst": "1515B", "queue": {"kind": "fq_codel", "flows": 4, "limit": "20p"}}"#),
    ("tbf", r#"{"queue": {"kind": "pie", "limit": "30p", "tupdate": "1ms", "max_burst": "1ms", "ecn": true}}"#),
    ("policer", r#"{"rate": "20Mbit", "burst": "9kB", "exceed": "mark", "queue": {"kind": "codel", "ecn": true}}"#),
    ("policer", r#"{"burst": "2kB", "limit": "9p"}"#),
    ("policer", r#"{"queue": {"kind": "tbf", "rate": "5Mbit"}}"#),
    ("classed", r#"{"classifier": {"kind": "ideal"}, "service": {"kind": "priority"}, "limit": "20p"}"#),
    (
        "classed",
        r#"{"classifier": {"kind": "las", "threshold": "3kB"}, "service": {"kind": "priority", "guard": 3},
            "short": {"kind": "codel", "target": "1ms", "interval": "10ms"}, "long": {"kind": "fq_codel",
                "flows": 4, "limit": "20p"}}"#,
    ),
    (
        "classed",
        r#"{"classifier": {"kind": "run2c", "threshold": "3kB"}, "service": {"kind": "deficit_round_robin"},
            "short": {"kind": "pie", "target": "1ms", "tupdate": "1ms", "max_burst": "1ms", "ecn": true},
            "long": {"kind": "red", "limit": "40p", "min": "5p", "max": "15p", "ecn": true, "adaptive": true}}"#,
    ),
    (
        "classed",
        r#"{"classifier": {"kind": "ideal"}, "short": {"kind": "classed", "limit": "10p"},
            "long": {"kind": "threshold"}}"#,
    ),
    (
        "wifi",
        r#"{"stations": [{"host": 10, "rate": "72Mbit", "error": 0.1}, {"host": 11, "rate": "6Mbit"}, {"host": 2}]}"#,
    ),
    (
        "wifi",
        r#"{"stations": [{"host": 10}, {"host": 1}, {"host": 3}], "scheduler": "round_robin", "uplink": {"kind": "codel"}}"#,
    ),
    (
        "wifi",
        r#"{"stations": [{"host": 10, "error": 0.5}, {"host": 12}], "scheduler": "driver", "aggregate_packets": 4,
            "queue": {"kind": "fq_codel", "flows": 4, "limit": "50p"}}"#,
    ),
    ("cell", r#"{"users": [{"host": 10, "doppler": 50}, {"host": 11, "rate": "3Mbit"}, {"host": 12}], "error": 0.3}"#),
    ("cell", r#"{"grant": "8ms", "memory": "1s", "queue": {"kind": "fq_codel", "flows": 4, "limit": "20p"}}"#),
    ("docsis", r#"{"rate": "5Mbit", "interval": "1ms", "latency": 1}"#),
    ("docsis", r#"{"queue": {"kind": "fq_codel", "flows": 4, "limit": "20p"}}"#),
    ("rafle", r#"{"n": 4, "draws": 2, "key": "five_tuple", "service": {"kind": "priority"}, "limit": "30kB"}"#),
];

fn params(name: &str, fields: &Map<String, Value>) -> QueueParams {
    let mut object = fields.clone();
    object.insert("kind".into(), json!(name));
    serde_json::from_value(Value::Object(object)).unwrap_or_else(|e| panic!("{name} {fields:?}: {e}"))
}

/// Every discipline: its defaults, two small limits, each also with ECN where it has that switch, and its own sets.
fn all_params() -> Vec<QueueParams> {
    let mut out = Vec::new();
    for &name in QueueParams::NAMES {
        let default = serde_json::to_value(QueueParams::default_of(name).unwrap()).unwrap();
        for limit in [None, Some("30p"), Some("40kB")] {
            for ecn in [false, true].iter().take(1 + usize::from(default.get("ecn").is_some())) {
                let mut fields = Map::new();
                fields.extend(limit.map(|limit| ("limit".to_string(), json!(limit))));
                fields.extend(default.get("ecn").map(|_| ("ecn".to_string(), json!(ecn))));
                out.push(params(name, &fields));
            }
        }
        let own = SETS.iter().filter(|(n, _)| *n == name);
        out.extend(own.map(|(_, fields)| params(name, &serde_json::from_str(fields).unwrap())));
    }
    out
}

fn queue(params: &QueueParams) -> Queue<TestPkt> {
    Queue::new(params, &link()).unwrap_or_else(|e| panic!("{params:?}: {e}"))
}

/// Bursts from eight flows (a flow keeps its priority), from idle to several times the rate of the link.
fn arrivals() -> impl Strategy<Value = Vec<(Time, TestPkt)>> {
    let gap = prop_oneof![Just(0u64), 0..2_000_000u64, 50_000_000..300_000_000u64];
    let gaps = prop_oneof![40 => 0..200_000u64, 1 => gap];
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)];
    let packet = (gaps, 0..8u16, prop_oneof![40..1515u32, Just(1500u32)], ecn);
    prop::collection::vec(packet, 1..600).prop_map(|packets| {
        let mut now = Time::ZERO;
        let build = |(id, (gap, flow, len, ecn))| {
            now += Dur::from_ns(gap);
            let pkt = TestPkt::new(id, len).flow(flow).priority(flow as u8).ecn(ecn);
            // A flow keeps its mark (short, long, none) and its hosts, too; its offset in the stream grows.
            let (dscp, offset) = ([10, 8, 0][usize::from(flow % 3)], (flow % 2 == 0).then_some(100 * id));
            let (src, dst) = (flow as u8 % 4, 10 + flow as u8 % 3);
            (now, TestPkt { dscp, offset, src, dst, ..pkt })
        };
        (0u64..).zip(packets).map(build).collect()
    })
}

const RATE: Rate = Rate::from_mbps(40);

/// A discipline that admits packets, with the packets in a store of the world's.
struct Admitted {
    discipline: Queue<TestPkt>,
    waiting: VecDeque<TestPkt>,
}

impl Qdisc<TestPkt> for Admitted {
    fn enqueue(&mut self, _now: Time, mut pkt: TestPkt, fate: &mut impl Fate<TestPkt>) {
        match self.discipline.admit(self.backlog(), &pkt) {
            Admission::Drop(reason) => return fate.dropped(pkt, reason),
            Admission::Mark => {
                pkt.set_ce();
                fate.marked(&pkt, MarkReason::Threshold);
            }
            Admission::Keep => {}
        }
        self.waiting.push_back(pkt);
    }
    fn dequeue(&mut self, _now: Time, _fate: &mut impl Fate<TestPkt>) -> Option<TestPkt> {
        self.waiting.pop_front()
    }
    fn backlog(&self) -> Backlog {
        let bytes = self.waiting.iter().map(|pkt| u64::from(pkt.len)).sum();
        Backlog { packets: self.waiting.len() as u32, bytes }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_packet_is_sent_or_dropped_once(arrivals in arrivals(), seed: u64) {
        for params in all_params() {
            let out = world::run(&mut queue(&params), &arrivals, RATE, seed);
            let gone = out.sent.iter().map(|(_, p)| p.id).chain(out.fate.dropped_ids());
            let ids: HashSet<u64> = gone.collect();
            prop_assert_eq!(ids.len(), arrivals.len(), "{:?}", params);
        }
    }

    #[test]
    fn packets_of_a_flow_keep_their_order(arrivals in arrivals(), seed: u64) {
        for params in all_params().into_iter().filter(|params| queue(params).keeps_flow_order()) {
            let out = world::run(&mut queue(&params), &arrivals, RATE, seed);
            for flow in 0..8 {
                let ids: Vec<u64> = out.sent.iter().filter(|(_, p)| p.flow == flow).map(|(_, p)| p.id).collect();
                prop_assert!(ids.is_sorted(), "{:?}: flow {} left as {:?}", params, flow, ids);
            }
        }
    }

    #[test]
    fn only_told_marks_change_a_packet_and_only_capable_ones(arrivals in arrivals(), seed: u64) {
        for params in all_params() {
            let out = world::run(&mut queue(&params), &arrivals, RATE, seed);
            let marked: HashSet<u64> = out.fate.marked_ids().into_iter().collect();
            for (_, pkt) in &out.sent {
                let came = &arrivals[pkt.id as usize].1;
                let expected = if marked.contains(&pkt.id) { Ecn::Ce } else { came.ecn };
                prop_assert_eq!(pkt, &came.clone().ecn(expected), "{:?}", params);
            }
            for (pkt, _) in &out.fate.marked {
                prop_assert!(arrivals[pkt.id as usize].1.ecn.is_capable(), "{:?} marked {:?}", params, pkt);
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_verdicts(arrivals in arrivals(), seed: u64) {
        for params in all_params() {
            let [a, b] = [(); 2].map(|()| world::run(&mut queue(&params), &arrivals, RATE, seed));
            prop_assert_eq!(a.sent, b.sent, "{:?}", params);
            prop_assert_eq!(a.fate.dropped, b.fate.dropped, "{:?}", params);
            prop_assert_eq!(a.fate.marked, b.fate.marked, "{:?}", params);
        }
    }

    #[test]
    fn a_discipline_that_admits_packets_does_the_same_as_one_that_holds_them(arrivals in arrivals(), seed: u64) {
        let mut kinds = HashSet::new();
        for params in all_params().into_iter().filter(|params| queue(params).admits()) {
            let held = world::run(&mut queue(&params), &arrivals, RATE, seed);
            let mut admitted = Admitted { discipline: queue(&params), waiting: VecDeque::new() };
            let out = world::run(&mut admitted, &arrivals, RATE, seed);
            prop_assert_eq!(&out.sent, &held.sent, "{:?}", params);
            prop_assert_eq!(&out.fate.dropped, &held.fate.dropped, "{:?}", params);
            prop_assert_eq!(&out.fate.marked, &held.fate.marked, "{:?}", params);
            prop_assert_eq!(held.fate.emitted.len(), 0, "{:?} emits", params);
            prop_assert_eq!(admitted.discipline.backlog(), Backlog::default(), "{:?} holds packets", params);
            kinds.insert(params.kind());
        }
        prop_assert_eq!(kinds, HashSet::from(["drop_tail", "threshold"]));
    }

    #[test]
    fn backlog_counts_the_bytes_that_wait(lens in prop::collection::vec(40..1515u32, 1..20)) {
        for params in all_params() {
            let (mut q, mut fate) = (queue(&params), Recorder::new(1));
            for (id, &len) in (0..).zip(&lens) {
                q.enqueue(Time::ZERO, TestPkt::new(id, len), &mut fate);
            }
            let dropped: u64 = fate.dropped.iter().map(|(p, _)| u64::from(p.len)).sum();
            let came: u64 = lens.iter().map(|&len| u64::from(len)).sum();
            prop_assert_eq!(q.backlog().bytes, came - dropped, "{:?}", params);
        }
    }
}

#[test]
fn a_discipline_that_says_it_may_reorder_a_flow_does_so() {
    // So that nobody leaves the contract without need: every kind that declares it has a set that shows it.
    let arrivals: Vec<_> = (0..200)
        .map(|id| {
            let ecn = if id % 2 == 0 { Ecn::Ect0 } else { Ecn::Ect1 };
            (Time::ZERO, TestPkt { offset: Some(100 * id), ecn, ..TestPkt::new(id, 1500) })
        })
        .collect();
    let reorders = |params: &QueueParams| {
        let out = world::run(&mut queue(params), &arrivals, RATE, 1);
        !out.sent.iter().map(|(_, p)| p.id).collect::<Vec<_>>().is_sorted()
    };
    for name in QueueParams::NAMES {
        let mut sets =
            all_params().into_iter().filter(|p| p.kind() == *name && !queue(p).keeps_flow_order()).peekable();
        assert!(sets.peek().is_none() || sets.any(|params| reorders(&params)), "{name} need not say that it reorders");
    }
}

#[test]
fn light_load_is_neither_dropped_nor_marked() {
    // A packet takes 0.3 ms and the next comes 10 ms later.
    let at = |id| Time::ZERO + Dur::from_ms(10 * id);
    let arrivals: Vec<_> = (0..3000).map(|id| (at(id), TestPkt::new(id, 1500).ecn(Ecn::Ect0))).collect();
    for params in all_params() {
        let out = world::run(&mut queue(&params), &arrivals, RATE, 1);
        assert!(out.fate.dropped.is_empty() && out.fate.marked.is_empty(), "{params:?}: {:?}", out.fate);
    }
}

#[test]
fn a_burst_within_the_default_limit_is_kept() {
    // Ten packets of each of five flows: SFB holds 25 of one.
    let packet = |id: u64| TestPkt::new(id, 1500).flow(id as u16 % 5).ecn(Ecn::Ect0);
    let arrivals: Vec<_> = (0..50).map(|id| (Time::ZERO, packet(id))).collect();
    for name in QueueParams::NAMES {
        let out = world::run(&mut queue(&QueueParams::default_of(name).unwrap()), &arrivals, RATE, 1);
        assert!(out.fate.dropped.is_empty(), "{name}: {:?}", out.fate.dropped_ids());
    }
}

#[test]
fn every_discipline_drops_when_it_overflows() {
    let arrivals: Vec<_> = (0..1000).map(|id| (Time::ZERO, TestPkt::new(id, 1500).flow(id as u16))).collect();
    for &name in QueueParams::NAMES {
        let params = params(name, &Map::from_iter([("limit".to_string(), json!("30p"))]));
        let (mut q, mut fate) = (queue(&params), Recorder::new(1));
        for (at, pkt) in &arrivals {
            q.enqueue(*at, pkt.clone(), &mut fate);
            assert!(q.backlog().packets <= 30, "{name} holds {:?}", q.backlog());
        }
        assert_eq!(q.backlog().packets as usize + fate.dropped.len(), 1000, "{name}");
    }
}

#[test]
fn parameters_survive_being_written_and_read() {
    for params in all_params() {
        let text = serde_json::to_string(&params).unwrap();
        assert_eq!(serde_json::from_str::<QueueParams>(&text).unwrap(), params, "{text}");
    }
}

/// The laboratory refuses unknown keys of these by their schema: they flatten the parameters of another.
const FLATTENED: [&str; 7] = ["red", "choke", "codel", "fq_codel", "pie", "fq_pie", "rafle"];

#[test]
fn unknown_parameters_are_refused() {
    for name in QueueParams::NAMES.iter().filter(|name| !FLATTENED.contains(name)) {
        let error = serde_json::from_value::<QueueParams>(json!({ "kind": name, "limits": "1p" })).unwrap_err();
        assert!(error.to_string().contains("limits"), "{name}: {error}");
    }
}

#[test]
fn a_discipline_s_name_is_its_tag_and_its_file() {
    for name in QueueParams::NAMES {
        let params = QueueParams::default_of(name).unwrap();
        assert_eq!(params.kind(), *name);
        assert_eq!(serde_json::to_value(&params).unwrap()["kind"], json!(name));
        let file = format!("{}/src/{name}.rs", env!("CARGO_MANIFEST_DIR"));
        assert!(std::path::Path::new(&file).exists(), "no {file}");
    }
}

/// Calls `see` for each property of each object in the schema.
fn properties(schema: &Value, see: &mut impl FnMut(&str, &Value)) {
    if let Some(Value::Object(map)) = schema.get("properties") {
        map.iter().for_each(|(name, property)| see(name, property));
    }
    match schema {
        Value::Object(map) => map.values().for_each(|v| properties(v, see)),
        Value::Array(list) => list.iter().for_each(|v| properties(v, see)),
        _ => {}
    }
}

/// The tables of the mechanisms of a registry.
fn mechanisms<T: schemars::JsonSchema>() -> Vec<Value> {
    let schema = serde_json::to_value(schemars::schema_for!(T)).unwrap();
    schema["oneOf"].as_array().expect("one table a mechanism").clone()
}

#[test]
fn every_mechanism_names_its_source_and_every_parameter_its_meaning() {
    let all = [mechanisms::<QueueParams>(), mechanisms::<ClassifierParams>(), mechanisms::<ServiceParams>()];
    for mechanism in all.iter().flatten() {
        let text = mechanism["description"].as_str().unwrap_or("");
        for part in ["\n\nSource: ", "\n\nDeviations: ", "\n\nKnown problems: "] {
            assert!(text.contains(part), "no `{}` in the description of Params: {text}", part.trim());
        }
        for (name, parameter) in mechanism["properties"].as_object().unwrap().iter().filter(|(name, _)| *name != "kind")
        {
            let text = parameter["description"].as_str().unwrap_or("");
            assert!(text.len() > 10, "{name} has no description");
            // The value stands in `impl Default` alone, from which the schema has it.
            assert!(!text.contains("Default "), "{name} repeats its default: {text}");
            let has_default = parameter.get("default").is_some_and(|value| !value.is_null());
            assert!(has_default || text.contains("Left out: "), "{name} says nothing of being left out: {text}");
        }
    }
}

#[test]
fn the_schema_has_every_parameter() {
    let schema = serde_json::to_value(schemars::schema_for!(QueueParams)).unwrap();
    let mut seen = HashSet::new();
    properties(&schema, &mut |name, _| {
        seen.insert(name.to_string());
    });
    for params in all_params() {
        let Value::Object(fields) = serde_json::to_value(&params).unwrap() else { panic!("not an object") };
        for name in fields.keys() {
            assert!(seen.contains(name), "{} has {name}, the schema has not", params.kind());
        }
    }
}

#[test]
fn probes_show_numbers_under_names_of_their_own() {
    for params in all_params() {
        let mut row = Probe::new();
        queue(&params).probe(&mut row);
        let names: HashSet<_> = row.values().iter().map(|(name, _, _)| name).collect();
        assert_eq!(names.len(), row.values().len(), "{params:?}");
        assert!(row.values().iter().all(|(_, _, value)| value.is_finite()), "{params:?}: {row:?}");
    }
}
