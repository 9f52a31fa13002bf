//! A link that becomes another while packets are in it.
//!
//! The packet on the line and those in flight go on as they began; no packet overtakes one before it, also
//! where the way became shorter. Those that wait in a discipline that is replaced leave it through its dequeue and enter the
//! new one through its enqueue, all at that instant: what either drops or marks meanwhile counts as ever. The
//! new discipline has then idled since the start of the run.

use super::{Extras, Link, Next, QueueFate};
use crate::net::packet::{Packet, Pool};
use haltere_plan::plan::LinkPlan;
use haltere_queue::{Qdisc, Queue};
use haltere_units::Time;

impl Link {
    /// Rate, delay, jitter and loss become those of `fresh`, the link `of` that plan and seed, and the discipline where `with_queue` says so.
    pub fn become_like(
        &mut self,
        fresh: Link,
        of: (&LinkPlan, u64),
        with_queue: bool,
        now: Time,
        pool: &mut Pool,
    ) -> Next {
        let (plan, seed) = of;
        self.catch_up(now, pool);
        if self.line.rate() != fresh.line.rate() {
            self.line = fresh.line;
        }
        self.delay = fresh.delay;
        let last = pool.flights.last_due(&self.flight).unwrap_or(Time::ZERO);
        let changed = Extras::new(plan, seed);
        let extras = match &mut self.extras {
            Some(extras) => {
                (extras.burst, extras.jitter, extras.loss, extras.varying) =
                    (changed.burst, changed.jitter, changed.loss, changed.varying);
                extras
            }
            none => none.insert(Box::new(changed)),
        };
        (extras.ordered, extras.last_due) = (true, extras.last_due.max(last));
        if extras.varying.is_some() {
            self.passing = 0;
        }
        if with_queue {
            self.replace_queue(fresh.queue, now, pool);
        }
        self.schedule(&pool.flights)
    }
    fn replace_queue(&mut self, queue: Queue<Packet>, now: Time, pool: &mut Pool) {
        let mut verdict = QueueFate { now, waiting: &mut self.waiting, tally: &mut self.tally, pool };
        let moved: Vec<_> = std::iter::from_fn(|| self.queue.dequeue(now, &mut verdict)).collect();
        assert_eq!(self.queue.backlog().packets, 0, "a discipline keeps packets although the link can send");
        self.queue = queue;
        self.cache_queue_properties();
        self.run_timers(now);
        let mut verdict = QueueFate { now, waiting: &mut self.waiting, tally: &mut self.tally, pool };
        for packet in moved {
            self.queue.enqueue(now, packet, &mut verdict);
        }
    }
}
