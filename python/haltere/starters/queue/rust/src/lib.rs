//! The queue discipline `@name@`: first in, first out, with a limit and a threshold for ECN marks. Change this file; `haltere.rs` is the interface.

mod haltere;

use haltere::{Dequeue, Enqueue, Host, Link, Queue};
use std::collections::VecDeque;
use std::ffi::CStr;

/// The numbers of the packets that wait, oldest first.
pub struct @Name@ {
    limit: usize,
    /// A packet that arrives while so many wait is marked; 0: none is.
    threshold: usize,
    waiting: VecDeque<i64>,
    marks: u64,
}

impl Queue for @Name@ {
    const ABOUT: &'static CStr = cr#"{
        "kind": "queue",
        "summary": "First in, first out: packets are marked above a threshold, and dropped at the limit.",
        "parameters": [
            { "name": "limit", "format": "integer", "default": 1000, "minimum": 1, "maximum": 1000000,
              "meaning": "The most packets that wait." },
            { "name": "threshold", "format": "integer", "default": 0, "minimum": 0, "maximum": 1000000,
              "meaning": "Packets that wait when marks begin; 0: there are none." }
        ],
        "state": [{ "name": "marks", "unit": "packets" }]
    }"#;

    fn start(_: &Link, parameters: &[f64]) -> @Name@ {
        let [limit, threshold] = [parameters[0] as usize, parameters[1] as usize];
        @Name@ { limit, threshold, waiting: VecDeque::new(), marks: 0 }
    }

    fn enqueue(&mut self, packet: &Enqueue, host: &mut impl Host) {
        if self.waiting.len() >= self.limit {
            host.drop_overlimit(packet.id);
            return;
        }
        if self.threshold > 0 && self.waiting.len() >= self.threshold && host.mark(packet.id) {
            self.marks += 1;
        }
        self.waiting.push_back(packet.id);
    }

    fn dequeue(&mut self, _: &Dequeue, _: &mut impl Host) -> Option<i64> {
        self.waiting.pop_front()
    }

    fn state(&self, values: &mut [f64]) {
        values[0] = self.marks as f64;
    }
}

haltere::export_queue!(@Name@);

#[cfg(test)]
mod tests {
    use super::*;

    /// What the queue asked for.
    #[derive(Default)]
    struct Asked {
        dropped: Vec<i64>,
        marked: Vec<i64>,
    }
    impl Host for Asked {
        fn drop_overlimit(&mut self, id: i64) {
            self.dropped.push(id);
        }
        fn drop_congestion(&mut self, id: i64) {
            self.dropped.push(id);
        }
        fn mark(&mut self, id: i64) -> bool {
            self.marked.push(id);
            true
        }
        fn random(&mut self) -> u64 {
            0
        }
    }

    #[test]
    fn packets_leave_in_order_are_marked_above_the_threshold_and_dropped_at_the_limit() {
        let (mut queue, mut asked) = (@Name@::start(&Link::default(), &[3.0, 2.0]), Asked::default());
        (0..5).for_each(|id| queue.enqueue(&Enqueue { id, ..Enqueue::default() }, &mut asked));
        assert_eq!((asked.marked.clone(), asked.dropped.clone()), (vec![2], vec![3, 4]));
        let left: Vec<i64> = (0..3).filter_map(|_| queue.dequeue(&Dequeue::default(), &mut asked)).collect();
        assert_eq!(left, [0, 1, 2]);
    }
}
