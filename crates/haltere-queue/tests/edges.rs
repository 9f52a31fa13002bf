//! Where a rule of a discipline begins to hold: one value on either side.

#![allow(missing_docs, reason = "tests")]

mod common;

use common::{Recorder, TestPkt, link};
use haltere_queue::{Qdisc, Queue, QueueParams};
use haltere_units::Time;
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
