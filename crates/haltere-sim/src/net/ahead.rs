//! Links that accept packets ahead of time.
//!
//! Suppose that all packets of a link come from one other link. Then they arrive in the order in which that link sends
//! them. When it sends a packet, the time of arrival is known; if the next line is then free, the time of delivery is
//! known, too. So the packet is put on the next line at once, as of the instant at which it arrives there, and the
//! event in between is saved. A dumbbell has such links behind the bottleneck, in both directions. A packet and its
//! acknowledgement then need four events, not six.
//!
//! ```text
//!   first link:  dequeue ──> line ──> [due: known] ──> next link: line, as of then ──> delivery
//! ```
//!
//! A packet that would wait arrives by an event, as do those behind it until it has arrived, and a packet that arrives
//! after the run. A packet that arrives after the warm-up is counted after it. So the record is the same, except for
//! the number of events and for the order of events at the same nanosecond, which is the order in which they became
//! known.
//!
//! A link that sends ahead of time and has no packet in flight has its next event as late as possible. Nothing that it
//! sends after `free_at` arrives before `free_at + delay`. It carries out what is due until then when the next packet
//! arrives.

use crate::net::fabric::{DELIVER, Fabric};
use crate::net::flight::Ahead;
use haltere_plan::Plan;
use haltere_units::Time;

/// The links from which a link receives packets.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Feeders {
    Nowhere,
    Link(u32),
    Several,
}

impl Fabric {
    /// Finds the links that may send and accept packets ahead of time. Paths must not be added afterwards.
    pub fn enable_ahead(&mut self, plan: &Plan) {
        self.send_over_border();
        let paths_are_known = plan.flows.iter().all(|flow| flow.app.arrivals().is_none());
        if !paths_are_known || self.links.iter().any(|link| link.emits()) {
            return;
        }
        let mut sources = vec![Feeders::Nowhere; self.links.len()];
        let mut before = None;
        for &link in &self.paths {
            if let Some(source) = sources.get_mut(link as usize) {
                *source = match (before, *source) {
                    (Some(before), Feeders::Nowhere) => Feeders::Link(before),
                    (Some(before), Feeders::Link(other)) if before == other => Feeders::Link(before),
                    _ => Feeders::Several,
                };
            }
            before = (link != DELIVER).then_some(link);
        }
        for (index, source) in sources.into_iter().enumerate() {
            let Feeders::Link(first) = source else { continue };
            let (link, from) = (&self.links[index], &self.links[first as usize]);
            let fit = link.lets_pass() && link.is_plain() && from.is_plain() && !plan.links[index].watched;
            // In a chain every other link accepts them.
            if fit && !link.sends_ahead() && !from.accepts_ahead() {
                self.links[index].accept_ahead_after(Time::ZERO);
                self.links[first as usize].send_ahead_as(first);
            }
        }
    }
    /// Puts packets that were sent ahead of time on their next links.
    #[inline(never)]
    pub fn send_ahead(&mut self) {
        let mut packets = core::mem::take(&mut self.pool.ahead);
        for Ahead { from, place } in packets.drain(..) {
            if let Some(part) = self.border.crossed_by(from) {
                self.post(part, Ahead { from, place });
                continue;
            }
            let (packet, due) = self.pool.flights.get_mut(place);
            let header = &mut packet.header;
            let (len, id) = (header.len, self.paths[header.cursor as usize]);
            let (id, next) = match self.links.get_mut(id as usize) {
                Some(link) if due < self.after_end && link.will_pass(self.now, due, len) => {
                    header.cursor += 1;
                    (id, link.pass_ahead((self.now, due, self.warmup), (place, len), &mut self.pool.flights))
                }
                link => {
                    if let Some(link) = link.filter(|link| link.accepts_ahead()) {
                        link.accept_ahead_after(due);
                    }
                    (from, self.links[from as usize].join_flight(place, &mut self.pool.flights))
                }
            };
            self.schedule_next(id, next);
        }
        self.pool.ahead = packets;
    }
}

#[cfg(test)]
mod tests {
    use crate::run::Run;
    use haltere_lab::Scenario;
    use haltere_plan::Record;
    use std::borrow::Cow;

    /// Traffic in both directions. Because of its delays hardly any two events fall on one nanosecond.
    const DUMBBELL: &str = r#"
        duration = "1.9s"
        warmup = "700.003ms"
        [measure]
        queues = "1ms"
        flows = "10ms"
        [topology.dumbbell]
        pairs = 5
        rtt_spread = 0.3
        access = { rate = "RATE", delay = "1.0137ms" }
        bottleneck = { rate = "20.0003Mbit", delay = "2.003ms", queue = { QUEUE } }
        [[traffic]]
        kind = "bulk"
        pairs = [1, 2, 3]
        [[traffic]]
        kind = "bulk"
        pairs = [4]
        direction = "backward"
        start = "13.7ms"
        [[traffic]]
        kind = "ping"
        pairs = [1]
        interval = "7.003ms"
        [[traffic]]
        kind = "cbr"
        pairs = [5]
        rate = "1.01Mbit"
    "#;

    fn with_and_without(text: &str) -> [Record; 2] {
        let plan = Scenario::parse(text, "test.toml").and_then(|one| one.plan(1)).expect("the experiment is right");
        [true, false].map(|ahead| {
            let mut network = Run::new(Cow::Borrowed(&plan)).expect("the network is right");
            if ahead {
                network.fabric.enable_ahead(&plan);
            }
            network.run_until(plan.end, &Default::default()).expect("it runs");
            network.finish()
        })
    }

    #[test]
    fn what_is_recorded_is_the_same_with_fewer_events() {
        for (rate, queue) in [
            ("1.0007Gbit", "kind = 'drop_tail', limit = '40p'"),
            ("1.0007Gbit", "kind = 'codel'"),
            ("1.0007Gbit", "kind = 'fq_codel'"),
            ("1.0007Gbit", "kind = 'pie'"),
            ("20.0003Mbit", "kind = 'drop_tail', limit = '40p'"),
            ("7.03Mbit", "kind = 'drop_tail', limit = '7p'"),
        ] {
            let text = DUMBBELL.replace("RATE", rate).replace("QUEUE", queue);
            let [ahead, usual] = with_and_without(&text);
            assert!(usual.links.iter().any(|link| link.total.dropped_overlimit + link.total.dropped_congestion > 0));
            assert!(10 * ahead.events < 9 * usual.events, "{} events of {}", ahead.events, usual.events);
            let (events, peak_events) = (usual.events, usual.peak_events);
            assert!(Record { events, peak_events, ..ahead } == usual, "{rate} {queue}: the records differ");
            let [ahead, usual] = with_and_without(&text.replace("700.003ms", "1.8997s"));
            assert!(
                ahead.links == usual.links,
                "{rate} {queue}: counters differ if the warm-up ends just before the run"
            );
        }
    }
}
