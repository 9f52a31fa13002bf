//! Changes of a link while packets are in it.
//!
//! The packet on the line and those in flight keep their times. No packet overtakes the one before it, even if the
//! delay became shorter. If the discipline is replaced, its packets leave it by dequeue and enter the new one by
//! enqueue, all at that instant. Drops and marks of both are counted as usual. The new discipline was idle from the
//! start of the run until then. A link that begins to count what a trace lets wait puts its packets into its discipline
//! in the same way.

use super::{Extras, Next, QueueFate, SimLink};
use crate::net::packet::{Packet, Pool};
use haltere_plan::plan::LinkPlan;
use haltere_queue::{Qdisc, Queue};
use haltere_units::Time;

impl SimLink {
    /// Rate and delay, their course, jitter and loss become those of `fresh`, the link `of` that plan and seed. So does
    /// the discipline if `with_queue`.
    pub fn change_to(
        &mut self,
        fresh: SimLink,
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
                (extras.burst, extras.jitter, extras.losses.probability, extras.varying) =
                    (changed.burst, changed.jitter, changed.losses.probability, changed.varying);
                extras
            }
            none => none.insert(Box::new(changed)),
        };
        (extras.ordered, extras.last_due) = (true, extras.last_due.max(last));
        if let Some(line) = &extras.varying {
            (self.passing, self.moody, self.skips_empty) = (0, false, false);
            self.special |= line.has_limit();
        }
        if with_queue {
            self.replace_queue(fresh.queue, now, pool);
        } else if !self.suits_places() {
            let moved = self.leave_places(now, pool);
            self.enter(now, moved, pool);
        }
        self.schedule(&pool.flights)
    }
    fn replace_queue(&mut self, queue: Queue<Packet>, now: Time, pool: &mut Pool) {
        let mut moved = self.leave_places(now, pool);
        let mut fate = QueueFate { now, waiting: &mut self.waiting, counters: &mut self.counters, pool };
        // A discipline that withholds packets is asked for each when it is ready.
        let ready =
            |queue: &Queue<Packet>| queue.ready_at().filter(|at| *at != Time::NEVER).map_or(now, |at| at.max(now));
        let next = || {
            let first = self.queue.dequeue(ready(&self.queue), &mut fate);
            let next = first.or_else(|| self.queue.dequeue(ready(&self.queue), &mut fate));
            next.inspect(|_| fate.count_departure())
        };
        moved.extend(std::iter::from_fn(next));
        assert_eq!(self.queue.backlog().packets, 0, "a discipline gave out no packet although it has some");
        self.queue = queue;
        self.cache_queue_properties();
        self.run_timers(now);
        self.enter(now, moved, pool);
    }
    /// These packets arrive at the discipline, which is empty, and wait or are dropped.
    fn enter(&mut self, now: Time, packets: Vec<Packet>, pool: &mut Pool) {
        for packet in packets {
            if self.in_place {
                let len = packet.header.len;
                let place = pool.flights.place(Time::NEVER, packet);
                self.wait_in_place(now, (place, len), pool);
            } else {
                self.put(now, packet, pool);
            }
        }
    }
}
