//! The P4 program against the discipline: the queue that each packet met in BMv2 is met again here, and the
//! same packets must be marked or returned. Runs where BMv2 is installed; says why where not.

mod common;

use common::{Recorder, TestPkt};
use haltere_queue::threshold::{Level, Params, Threshold};
use haltere_queue::{Ecn, LinkContext, Qdisc};
use haltere_units::{Bytes, Size, Time};
use std::process::Command;

const UPPER: u32 = 20;
const LOWER: u32 = 12;
/// The driver's exit status where its tools are missing.
const SKIPPED: i32 = 77;

/// What became of a packet in BMv2.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Fate {
    depth: u32,
    marked: bool,
    returned: bool,
}

/// Runs a variant in BMv2; `None`, with the reason printed, where that cannot be.
fn bmv2(variant: &str) -> Option<Vec<Fate>> {
    let driver = concat!(env!("CARGO_MANIFEST_DIR"), "/../../p4/drive.py");
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
    let numbers: Vec<u32> = line.split(' ').map(|n| n.parse().expect("a number")).collect();
    let [depth, marked, returned] = numbers[..] else { panic!("`{line}` must have three numbers") };
    Fate { depth, marked: marked == 1, returned: returned == 1 }
}

/// Lets packets meet those depths in the discipline.
fn ours(params: &Params, depths: impl Iterator<Item = u32>) -> Vec<Fate> {
    let link = LinkContext { rate: None, rtt: None, packet: Bytes::new(1500), seed: 0 };
    let mut queue = Threshold::new(params, &link).expect("a discipline");
    let mut out = Vec::new();
    for (id, depth) in depths.enumerate() {
        let mut told = Recorder::new(1);
        while queue.backlog().packets > depth {
            queue.dequeue(Time::ZERO, &mut told);
        }
        assert_eq!(queue.backlog().packets, depth, "a queue rises by one packet at a time");
        queue.enqueue(Time::ZERO, TestPkt::new(id as u64, 1500).ecn(Ecn::Ect0), &mut told);
        out.push(Fate { depth, marked: !told.marked.is_empty(), returned: !told.returned.is_empty() });
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
        assert!(theirs.iter().any(|f| f.depth >= UPPER), "{variant}: the queue never reached the upper threshold");
        assert_eq!(theirs, ours(&params(hysteresis, returns), theirs.iter().map(|f| f.depth)), "{variant}");
    }
}

#[test]
fn the_same_depths_are_told_apart_by_the_variants() {
    let depths = || (0..=25).chain([15, 11, 12]);
    let count = |hysteresis, returns| {
        let fates = ours(&params(hysteresis, returns), depths());
        (fates.iter().filter(|f| f.marked).count(), fates.iter().filter(|f| f.returned).count())
    };
    assert_eq!(count(false, false), (6, 0));
    assert_eq!(count(true, false), (7, 0), "15 is between the two");
    assert_eq!(count(false, true), (0, 6));
    assert_eq!(count(true, true), (0, 7));
}
