//! Links that take packets ahead of time.
//!
//! Where all packets of a link come from one other link, that link's order is theirs, and when it puts a packet on its line the rest of the way
//! is known: the packet arrives then, finds the line free, and is delivered then. So it goes on the next line
//! at once, as of the instant at which it arrives there, and the event in between is saved. A dumbbell has such links behind the bottleneck, in both
//! directions: of six events a packet and its acknowledgement need four.
//!
//! ```text
//!   feeder:  dequeue ──> line ──> [due: known] ──> open link: line, as of then ──> delivery
//! ```
//!
//! A packet that would wait goes the usual way, and those behind it, too, until it has arrived; so does one that arrives after the run.
//! One that arrives after the end of the warm-up counts after that. So all that is recorded is as it would be, but for the number of events,
//! and for the order of events at the same nanosecond, which follows the order in which they became known.
//!
//! A feeder without a packet in flight has an event only as late as it may: nothing that it sends after `free_at` arrives before
//! `free_at + delay`. What it sends meanwhile it sends when the next packet arrives.

use crate::net::fabric::{DELIVER, Fabric};
use haltere_plan::Plan;
use haltere_units::Time;

/// A packet that a feeder put on its line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ahead {
    /// The feeder.
    pub from: u32,
    /// Its place among the packets in flight, in no line's flight yet.
    pub place: u32,
}

/// Of a link, where its packets come from.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Source {
    Nowhere,
    Link(u32),
    Several,
}

impl Fabric {
    /// Finds the links that may take packets ahead of time. Paths must not be added afterwards.
    pub fn open_links(&mut self, plan: &Plan) {
        let paths_are_known = plan.flows.iter().all(|flow| flow.app.arrivals().is_none());
        if !paths_are_known || self.links.iter().any(|link| link.returns()) {
            return;
        }
        let mut sources = vec![Source::Nowhere; self.links.len()];
        let mut before = None;
        for &link in &self.paths {
            if let Some(source) = sources.get_mut(link as usize) {
                *source = match (before, *source) {
                    (Some(before), Source::Nowhere) => Source::Link(before),
                    (Some(before), Source::Link(other)) if before == other => Source::Link(before),
                    _ => Source::Several,
                };
            }
            before = (link != DELIVER).then_some(link);
        }
        for (index, source) in sources.into_iter().enumerate() {
            let Source::Link(feeder) = source else { continue };
            let (link, from) = (&self.links[index], &self.links[feeder as usize]);
            let fit = link.lets_pass() && link.is_plain() && from.is_plain() && !plan.links[index].watched;
            // Of a chain every other link.
            if fit && !link.feeds() && !from.is_open() {
                self.links[index].open_after(Time::ZERO);
                self.links[feeder as usize].feed(feeder);
            }
        }
    }
    /// Puts what feeders sent on the links that it comes to.
    #[inline(never)]
    pub fn send_ahead(&mut self) {
        let mut packets = core::mem::take(&mut self.pool.ahead);
        for Ahead { from, place } in packets.drain(..) {
            let (packet, due) = self.pool.flights.get_mut(place);
            let header = &mut packet.header;
            let (len, id) = (header.len, self.paths[header.cursor as usize]);
            let (id, next) = match self.links.get_mut(id as usize) {
                Some(link) if due < self.over && link.will_pass(self.now, due, len) => {
                    header.cursor += 1;
                    (id, link.pass_ahead((self.now, due, self.horizon), (place, len), &mut self.pool.flights))
                }
                link => {
                    if let Some(link) = link.filter(|link| link.is_open()) {
                        link.open_after(due);
                    }
                    (from, self.links[from as usize].fly(place, &mut self.pool.flights))
                }
            };
            self.follow(id, next);
        }
        self.pool.ahead = packets;
    }
}

#[cfg(test)]
mod tests {
    use crate::run::Network;
    use haltere_lab::Scenario;
    use haltere_plan::Record;
    use std::borrow::Cow;

    /// Both ways, with odd delays, so that hardly any two events fall on one nanosecond.
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

    fn both(text: &str) -> [Record; 2] {
        let plan = Scenario::parse(text, "test.toml").and_then(|one| one.plan(1)).expect("the experiment is right");
        [true, false].map(|open| {
            let mut network = Network::new(Cow::Borrowed(&plan)).expect("the network is right");
            if open {
                network.fabric.open_links(&plan);
            }
            network.live(plan.end, &Default::default()).expect("it runs");
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
            let [ahead, usual] = both(&text);
            assert!(usual.links.iter().any(|link| link.total.dropped_overlimit + link.total.dropped_congestion > 0));
            assert!(10 * ahead.events < 9 * usual.events, "{} events of {}", ahead.events, usual.events);
            let (events, peak_events) = (usual.events, usual.peak_events);
            assert!(Record { events, peak_events, ..ahead } == usual, "{rate} {queue}: the records differ");
            let [ahead, usual] = both(&text.replace("700.003ms", "1.8997s"));
            assert!(
                ahead.links == usual.links,
                "{rate} {queue}: where the warm-up ends just before the run, counters differ"
            );
        }
    }
}
