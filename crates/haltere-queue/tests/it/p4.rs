//! The P4 program against the discipline: the queue that each packet met in BMv2 is met again here, and the
//! same packets must be marked or returned. Runs where BMv2 is installed; says why where not.

use crate::common::{Recorder, TestPkt};
use haltere_queue::threshold::{Level, Params, Threshold};
use haltere_queue::{Ecn, LinkContext, Qdisc};
use haltere_units::{Bytes, Size, Time};
use std::process::Command;

const UPPER: u32 = 20;
const LOWER: u32 = 12;
/// The driver's exit status where its tools are missing.
const SKIPPED: i32 = 77;

/// The fate of a packet in BMv2; its kind is the driver's (`KINDS` in p4/packets.py).
#[derive(Debug, Clone, PartialEq)]
struct Fate {
    kind: String,
    depth: u32,
    marked: bool,
    returned: bool,
}

/// Runs a variant in BMv2; `None`, with the reason printed, where that cannot be.
fn bmv2(variant: &str) -> Option<Vec<Fate>> {
    let driver = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers/dctcp-hysteresis/p4/drive.py");
    let ran = Command::new("python3").args([driver, variant, &UPPER.to_string(), &LOWER.to_string()]).output();
    let output = match ran {
        Ok(output) => output,
        Err(e) => {
            eprintln!("p4/{variant}: not run: python3: {e}");
            return None;
        }
    };
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.code() == Some(SKIPPED) {
        eprintln!("p4/{variant}: {}", text.trim());
        return None;
    }
    assert!(output.status.success(), "p4/{variant}: {}", String::from_utf8_lossy(&output.stderr));
    Some(text.lines().map(fate).collect())
}

fn fate(line: &str) -> Fate {
    let mut words = line.split(' ');
    let kind = words.next().unwrap_or_default().to_owned();
    let numbers: Vec<u32> = words.map(|n| n.parse().expect("a number")).collect();
    let [depth, marked, returned] = numbers[..] else { panic!("`{line}` must have a kind and three numbers") };
    Fate { kind, depth, marked: marked == 1, returned: returned == 1 }
}

/// A packet of a kind. Packets without payload, with SYN, FIN or RST, fragments and datagrams are no data segments.
fn packet(id: u64, kind: &str) -> TestPkt {
    let ecn = match kind {
        "not-ect" => Ecn::NotEct,
        "ect1" => Ecn::Ect1,
        "ce" => Ecn::Ce,
        _ => Ecn::Ect0,
    };
    let data_segment = matches!(kind, "data" | "ect1" | "not-ect" | "ce" | "options");
    assert!(
        data_segment || matches!(kind, "udp" | "syn" | "ack" | "fin" | "rst" | "fragment"),
        "unknown kind `{kind}`"
    );
    TestPkt { ecn, data_segment, ..TestPkt::new(id, 1500) }
}

/// Lets packets of those kinds meet those depths in the discipline.
fn ours<'a>(params: &Params, met: impl Iterator<Item = (&'a str, u32)>) -> Vec<Fate> {
    let link = LinkContext { rate: None, rtt: None, packet: Bytes::new(1500), seed: 0, ..Default::default() };
    let mut queue = Threshold::new(params, &link).expect("a discipline");
    let mut out = Vec::new();
    for (id, (kind, depth)) in met.enumerate() {
        let mut told = Recorder::new(1);
        while queue.backlog().packets > depth {
            queue.dequeue(Time::ZERO, &mut told);
        }
        assert_eq!(queue.backlog().packets, depth, "a queue rises by one packet at a time");
        queue.enqueue(Time::ZERO, packet(id as u64, kind), &mut told);
        // A packet that came with CE tells nothing new.
        let (marked, returned) = (kind != "ce" && !told.marked.is_empty(), !told.emitted.is_empty());
        out.push(Fate { kind: kind.to_owned(), depth, marked, returned });
    }
    out
}

fn params(hysteresis: bool, return_to_sender: bool) -> Params {
    let level = |n: u32| Level::Size(Size::Packets(u64::from(n)));
    Params { upper: level(UPPER), lower: hysteresis.then(|| level(LOWER)), return_to_sender, ..Params::default() }
}

#[test]
fn bmv2_marks_and_returns_the_same_packets() {
    for (variant, hysteresis, returns) in [
        ("threshold", false, false),
        ("hysteresis", true, false),
        ("return", false, true),
        ("hysteresis-return", true, true),
    ] {
        let Some(theirs) = bmv2(variant) else { return };
        // The driver has checked that the run shows something: every kind above, data packets below and between.
        let met = theirs.iter().map(|f| (f.kind.as_str(), f.depth));
        assert_eq!(theirs, ours(&params(hysteresis, returns), met), "{variant}");
    }
}

#[test]
fn the_same_depths_are_told_apart_by_the_variants() {
    let depths = || (0..=25).chain([15, 11, 12]).map(|depth| ("data", depth));
    let count = |hysteresis, returns| {
        let fates = ours(&params(hysteresis, returns), depths());
        (fates.iter().filter(|f| f.marked).count(), fates.iter().filter(|f| f.returned).count())
    };
    assert_eq!(count(false, false), (6, 0));
    assert_eq!(count(true, false), (7, 0), "15 is between the two");
    assert_eq!(count(false, true), (0, 6));
    assert_eq!(count(true, true), (0, 7));
}

/// The kinds, whether a full queue marks them, and whether it returns them: as test_p4.py beside packets.py has it.
const KINDS: [(&str, bool, bool); 11] = [
    ("data", true, true),
    ("ect1", true, true),
    ("not-ect", false, false),
    ("ce", false, false),
    ("udp", true, false),
    ("options", true, true),
    ("syn", true, false),
    ("ack", true, false),
    ("fin", true, false),
    ("rst", true, false),
    ("fragment", true, false),
];

#[test]
fn a_full_queue_tells_the_same_kinds_as_the_program() {
    for (kind, is_marked, is_returned) in KINDS {
        let last =
            |returns| ours(&params(false, returns), (0..UPPER).map(|d| ("data", d)).chain([(kind, UPPER)])).pop();
        let fate = Fate { kind: kind.to_owned(), depth: UPPER, marked: is_marked, returned: false };
        assert_eq!(last(false), Some(fate.clone()), "marking");
        assert_eq!(last(true), Some(Fate { marked: false, returned: is_returned, ..fate }), "returning");
    }
}
