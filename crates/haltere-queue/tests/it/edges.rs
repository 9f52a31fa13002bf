//! Where a rule of a discipline begins to hold: one value on either side.

#![allow(missing_docs, reason = "tests")]

use crate::common::{Recorder, TestPkt, link};
use haltere_queue::{DropReason, Fate, MarkReason, Qdisc, Queue, QueueParams};
use haltere_units::{Probe, Time};
use serde_json::{Value, json};

fn queue(params: Value) -> Result<Queue<TestPkt>, String> {
    let params: QueueParams = serde_json::from_value(params).expect("parameters");
    Queue::new(&params, &link()).map_err(|error| error.to_string())
}

#[test]
fn fq_codel_drops_once_its_memory_is_exceeded_and_not_when_it_is_full() {
    let mut q = queue(json!({ "kind": "fq_codel", "memory_limit": "3kB" })).expect("a queue");
    let mut fate = Recorder::new(1);
    (0..3).for_each(|id| q.enqueue(Time::ZERO, TestPkt::new(id, 1000), &mut fate));
    assert!(fate.dropped.is_empty() && q.backlog().bytes == 3000);
    q.enqueue(Time::ZERO, TestPkt::new(3, 1000).flow(1), &mut fate);
    // The fattest queue loses from its head: half of its 3000 bytes, in whole packets.
    assert_eq!(fate.dropped_ids(), [0, 1]);
}

#[test]
fn threshold_takes_a_fraction_from_0_to_below_1() {
    let with = |part: f64| queue(json!({ "kind": "threshold", "upper": "20p", "lower_fraction": part }));
    for part in [0.0, 0.15, 0.999] {
        assert!(with(part).is_ok(), "{part}");
    }
    for part in [1.0, 1.5, -0.1] {
        let told = with(part).expect_err("out of range");
        assert!(told.starts_with("lower_fraction must be at least 0 and below 1, got "), "{told}");
    }
}

#[test]
fn threshold_shows_its_levels_and_whether_it_is_congested() {
    let q = queue(json!({ "kind": "threshold", "upper": "20p", "lower_fraction": 0.5 })).expect("a queue");
    let mut row = Probe::new();
    q.probe(&mut row);
    assert_eq!(["upper", "lower", "congested"].map(|name| row.get(name)), [Some(20.0), Some(10.0), Some(0.0)]);
}

/// A host whose random bits are always these.
struct Bits(u64);

impl Fate<TestPkt> for Bits {
    fn dropped(&mut self, _: TestPkt, _: DropReason) {}
    fn marked(&mut self, _: &TestPkt, _: MarkReason) {}
    fn random(&mut self) -> u64 {
        self.0
    }
}

#[test]
fn a_uniform_number_is_at_least_0_and_below_1() {
    assert_eq!([0, 1 << 63, 3 << 62].map(|bits| Bits(bits).uniform()), [0.0, 0.5, 0.75]);
    let last = Bits(u64::MAX).uniform();
    assert!(last < 1.0 && last > 1.0 - 1e-15, "{last}");
    assert_eq!([0, 1 << 63, u64::MAX].map(|bits| Bits(bits).below(10)), [0, 5, 9]);
}
