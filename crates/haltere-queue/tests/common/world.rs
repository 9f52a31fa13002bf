//! A link in front of any discipline, for tests: arrivals, service at a rate, timers; conservation checked at each
//! step.
#![allow(dead_code, reason = "each test binary uses a part")]

use crate::common::{Recorder, TestPkt};
use haltere_queue::{Backlog, Qdisc};
use haltere_units::{Bytes, Rate, Time};

/// The result of a run.
pub struct Outcome {
    /// Packets in the order in which the link sent them, with the time at which each left the queue.
    pub sent: Vec<(Time, TestPkt)>,
    pub fate: Recorder,
}

/// Runs those arrivals (in order of time) through the discipline on a link of that rate until nothing waits.
pub fn run(q: &mut impl Qdisc<TestPkt>, arrivals: &[(Time, TestPkt)], rate: Rate, seed: u64) -> Outcome {
    let mut world =
        World { q, rate, arrived: 0, free_at: None, out: Outcome { sent: Vec::new(), fate: Recorder::new(seed) } };
    for (at, pkt) in arrivals {
        world.advance(*at);
        world.arrived += 1;
        world.q.enqueue(*at, pkt.clone(), &mut world.out.fate);
        world.check();
        if world.free_at.is_none() {
            world.send(*at);
        }
    }
    while world.free_at.is_some() {
        world.advance(Time::NEVER);
    }
    assert_eq!(world.q.backlog(), Backlog::default(), "something waits though the link found nothing");
    world.out
}

struct World<'a, Q> {
    q: &'a mut Q,
    rate: Rate,
    arrived: usize,
    /// When the packet on the line is out, or the discipline has one ready; `None` while the line is free and nothing
    /// waits.
    free_at: Option<Time>,
    out: Outcome,
}

impl<Q: Qdisc<TestPkt>> World<'_, Q> {
    /// Lets the timers and the link run up to `end`; with nothing arriving any more, until the line is free.
    fn advance(&mut self, end: Time) {
        loop {
            let timer = self.q.next_timer().unwrap_or(Time::NEVER);
            let free = self.free_at.unwrap_or(Time::NEVER);
            if free == Time::NEVER && end == Time::NEVER || timer.min(free) > end {
                return;
            }
            if timer <= free {
                self.q.on_timer(timer);
                assert!(self.q.next_timer().is_none_or(|next| next > timer), "the timer does not go on from {timer}");
            } else {
                self.send(free);
            }
        }
    }

    fn send(&mut self, now: Time) {
        let next = self.q.dequeue(now, &mut self.out.fate);
        self.free_at = match &next {
            Some(pkt) => Some(now + self.rate.time_for(Bytes::new(u64::from(pkt.len)))),
            None => self.q.ready_at().filter(|at| *at != Time::NEVER),
        };
        assert!(
            next.is_some() || self.free_at.is_none_or(|at| at > now),
            "a packet that is ready at {now} does not leave"
        );
        self.out.sent.extend(next.map(|pkt| (now, pkt)));
        self.check();
    }

    /// What came in is out, dropped, or waiting.
    fn check(&self) {
        let waiting = self.q.backlog();
        let gone = self.out.sent.len() + self.out.fate.dropped.len();
        assert_eq!(self.arrived, gone + waiting.packets as usize, "arrived against sent, dropped and waiting");
        assert_eq!(waiting.packets == 0, waiting.bytes == 0, "{waiting:?}");
    }
}
