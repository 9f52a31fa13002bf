//! The network between the hosts, inside the guest kernel: nodes, links and ports, driven by events in order of time.
//!
//! It has no I/O and asks for no time. The kernel gives it packets with [`Fabric::arrive`], calls [`Fabric::advance`] when its timer
//! expires, and sets the timer to [`Fabric::next_event`]. The links are the same compiled [`Link`] as in every world, so a discipline sees
//! the same packets at the same times.
//!
//! Units: time ns since the run began. Cost: O(log links) a packet and link.

use alloc::boxed::Box;
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use haltere_plan::NextHops;
use haltere_plan::link::{Link, Sink};
use haltere_plan::plan::{LinkPlan, Reroute};
use haltere_plan::record::{LinkCounters, LinkRecord, QueueSample};
use haltere_queue::{DropReason, Pkt, Qdisc, QueueParams};
use haltere_units::{Dur, Prob, Probe, Time};
use serde::{Deserialize, Serialize};

/// The parts of a fabric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FabricPlan {
    /// Number of nodes.
    pub nodes: usize,
    /// The links.
    pub links: Vec<LinkPlan>,
    /// Changes of the routes, in order of time.
    pub reroutes: Vec<Reroute>,
    /// Bytes below IP that packets carry on links.
    pub framing: u32,
    /// Seed of all random draws.
    pub seed: u64,
    /// Interval of the time series of watched queues.
    pub sample: Option<Dur>,
    /// When "after warm-up" begins.
    pub warmup: Time,
    /// When the run ends. What happens later is not counted.
    pub end: Time,
}

/// The queues of links that are the kernel's own: index of the link, and the `tc` words.
pub fn kernel_queues(links: &[LinkPlan]) -> impl Iterator<Item = (usize, &str)> {
    links.iter().enumerate().filter_map(|(index, link)| match &link.queue {
        QueueParams::Kernel(params) => Some((index, params.tc.as_str())),
        _ => None,
    })
}

/// What a fabric counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "host", derive(Deserialize))]
pub struct Counted {
    /// The links, in the order of the plan.
    pub links: Vec<LinkRecord>,
    /// Samples of watched queues, in order of time.
    pub samples: Vec<QueueSample>,
    /// Packets that arrived at a port.
    pub arrived: u64,
    /// Packets handed to a port.
    pub departed: u64,
    /// Copies that disciplines sent back.
    pub returned: u64,
    /// Packets dropped because no link leads to where they go.
    pub unroutable: u64,
    /// Packets inside at the end.
    pub inside: u64,
    /// Events of links.
    pub events: u64,
    /// Requests for memory that the kernel refused, and that a reserve served.
    pub refused: u64,
    /// How late packets reached their port: sum and maximum in nanoseconds.
    pub late_sum_ns: u64,
    /// See [`late_sum_ns`](Counted::late_sum_ns).
    pub late_max_ns: u64,
}

impl Counted {
    /// Packets that came in or were made, less those that went out, were dropped or lost, or are inside: 0, or a count is wrong.
    pub fn unaccounted(&self) -> i64 {
        let gone = |c: &LinkCounters| c.dropped_overlimit + c.dropped_congestion + c.lost;
        let dropped: u64 = self.links.iter().map(|l| gone(&l.total)).sum();
        (self.arrived + self.returned) as i64 - (self.departed + dropped + self.unroutable + self.inside) as i64
    }
}

/// A packet as the fabric knows it.
pub trait Routed: Pkt + Sized {
    /// Index of the node to which it goes.
    fn destination(&self) -> usize;
    /// A copy that returns to its sender; `None` if there can be none.
    fn turned_round(&self) -> Option<Self>;
}

/// The kernel, which takes packets out of the fabric. A packet that is dropped is freed when its value is dropped.
pub trait Ports<P> {
    /// The packet reaches the host of that node.
    fn deliver(&mut self, node: usize, packet: P);
}

/// The network between the hosts.
#[derive(Debug)]
pub struct Fabric<P> {
    plan: FabricPlan,
    links: Vec<Link<P>>,
    next: NextHops,
    /// (when, link); an entry that is not the link's `scheduled` is stale.
    events: BinaryHeap<Reverse<(Time, u32)>>,
    scheduled: Vec<Option<Time>>,
    next_sample: Option<Time>,
    before_warmup: Option<Vec<LinkCounters>>,
    counted: Counted,
    ended: bool,
    /// Packets that are between two links at this instant.
    moving: VecDeque<(usize, P)>,
    /// What links gave since the last look.
    given: Given<P>,
}

/// What a link gives away.
#[derive(Debug)]
struct Given<P> {
    delivered: Vec<(Time, P)>,
    returned: Vec<P>,
}

impl<P: Routed> Sink<P> for Given<P> {
    fn delivered(&mut self, at: Time, packet: P) {
        self.delivered.push((at, packet));
    }
    fn returned(&mut self, packet: &P) -> bool {
        let copy = packet.turned_round();
        let made = copy.is_some();
        self.returned.extend(copy);
        made
    }
    fn dropped(&mut self, _packet: P, _reason: DropReason) {}
    fn lost(&mut self, _packet: P) {}
}

impl<P: Routed> Fabric<P> {
    /// A fabric of these parts; the text says what is wrong with them.
    pub fn new(plan: FabricPlan) -> Result<Box<Fabric<P>>, String> {
        let mut links = Vec::new();
        for link in &plan.links {
            if link.from >= plan.nodes || link.to >= plan.nodes {
                return Err(alloc::format!("{}: its ends must be nodes of the plan", link.name));
            }
            if link.impairments.as_ref().is_some_and(|impairments| impairments.duplicate > Prob::ZERO) {
                return Err(alloc::format!(
                    "{}: duplicate must be 0 in the kernel world, which copies no packet",
                    link.name
                ));
            }
            links.push(Link::new(link, plan.framing, plan.seed).map_err(|e| e.to_string())?);
        }
        Ok(Box::new(Fabric {
            next: NextHops::new(
                plan.nodes,
                &plan.links.iter().map(|link| (link.from, link.to)).collect::<Vec<_>>(),
                &plan.reroutes,
            ),
            scheduled: vec![None; links.len()],
            next_sample: plan.sample.map(|_| Time::ZERO),
            links,
            plan,
            events: BinaryHeap::new(),
            before_warmup: None,
            counted: Counted::default(),
            ended: false,
            moving: VecDeque::new(),
            given: Given { delivered: Vec::new(), returned: Vec::new() },
        }))
    }
    /// A packet comes in from the host of `node`.
    pub fn arrive(&mut self, now: Time, node: usize, packet: P, ports: &mut impl Ports<P>) {
        self.advance(now, ports);
        self.counted.arrived += u64::from(!self.ended);
        self.moving.push_back((node, packet));
        self.settle(now, now, ports);
    }
    /// Runs everything that is due up to `now`, each at its own time.
    pub fn advance(&mut self, now: Time, ports: &mut impl Ports<P>) {
        while let Some(at) = self.next_event().filter(|&at| at <= now) {
            if self.warmup_due(at) || self.sample_due(at) || self.end_due(at) {
                continue;
            }
            let Some(Reverse((at, index))) = self.events.pop() else { return };
            let link = index as usize;
            if self.scheduled[link] != Some(at) {
                continue;
            }
            self.scheduled[link] = None;
            self.counted.events += 1;
            self.links[link].advance(at, &mut self.given);
            self.collect(link);
            self.schedule(at, link);
            self.settle(at, now, ports);
        }
    }
    /// The kernel's queue of that number, counted in the order of the links that have one, may have a packet.
    pub fn wake(&mut self, now: Time, queue: usize, ports: &mut impl Ports<P>) {
        self.advance(now, ports);
        let Some(link) = kernel_queues(&self.plan.links).nth(queue).map(|(link, _)| link) else { return };
        self.links[link].wake(now, &mut self.given);
        self.collect(link);
        self.schedule(now, link);
        self.settle(now, now, ports);
    }
    /// When [`advance`](Fabric::advance) is to be called next.
    pub fn next_event(&self) -> Option<Time> {
        let event = self.events.peek().map(|Reverse((at, _))| *at);
        let warmup = self.before_warmup.is_none().then_some(self.plan.warmup);
        let end = (!self.ended).then_some(self.plan.end);
        [event, warmup, self.next_sample.filter(|_| !self.ended), end].into_iter().flatten().min()
    }
    /// Everything counted until the end of the run.
    pub fn counted(&mut self) -> &Counted {
        if !self.ended {
            self.finish(self.plan.end);
        }
        &self.counted
    }

    /// Takes what a link gave: packets at its other end, and copies that go back from its return node.
    fn collect(&mut self, link: usize) {
        let (from, to) = (self.plan.links[link].return_node(), self.plan.links[link].to);
        self.moving.extend(self.given.delivered.drain(..).map(|(_, packet)| (to, packet)));
        if !self.ended {
            self.counted.returned += self.given.returned.len() as u64;
        }
        self.moving.extend(self.given.returned.drain(..).map(|packet| (from, packet)));
    }
    /// Moves packets on until each is on a link or at its host. They are due at `at`; it is `now`.
    fn settle(&mut self, at: Time, now: Time, ports: &mut impl Ports<P>) {
        while let Some((node, packet)) = self.moving.pop_front() {
            let to = packet.destination();
            if to == node {
                if !self.ended {
                    let late = now.since(at).as_ns();
                    self.counted.departed += 1;
                    self.counted.late_sum_ns += late;
                    self.counted.late_max_ns = self.counted.late_max_ns.max(late);
                }
                ports.deliver(node, packet);
                continue;
            }
            match self.next.link(at, node, to) {
                Some(link) => {
                    self.links[link].arrive(at, packet, &mut self.given);
                    self.collect(link);
                    self.schedule(at, link);
                }
                None => self.counted.unroutable += u64::from(!self.ended),
            }
        }
    }
    fn schedule(&mut self, now: Time, link: usize) {
        let next = self.links[link].next_event().map(|at| at.max(now)).filter(|at| *at != Time::NEVER);
        if next != self.scheduled[link] {
            self.scheduled[link] = next;
            self.events.extend(next.map(|at| Reverse((at, link as u32))));
        }
    }
    fn warmup_due(&mut self, at: Time) -> bool {
        let warmup = self.plan.warmup;
        if self.before_warmup.is_some() || at < warmup {
            return false;
        }
        self.before_warmup = Some(self.links.iter_mut().map(|l| l.end_warmup(warmup)).collect());
        true
    }
    fn sample_due(&mut self, at: Time) -> bool {
        let (Some(every), Some(next), false) = (self.plan.sample, self.next_sample, self.ended) else { return false };
        if at < next {
            return false;
        }
        self.next_sample = Some(next + every);
        let watched = self.links.iter_mut().zip(&self.plan.links).enumerate().filter(|(_, (_, plan))| plan.watched);
        for (index, (link, _)) in watched {
            let counters = link.counters(next);
            let mut row = Probe::new();
            link.queue().probe(&mut row);
            self.counted.samples.push(QueueSample {
                at: next,
                link: index as u32,
                packets: link.backlog().packets,
                bytes: link.backlog().bytes,
                ring_packets: link.ring_packets(),
                dropped: counters.dropped_overlimit + counters.dropped_congestion,
                marked: counters.marked,
                sent_bytes: counters.sent_bytes,
                vars: row.values().iter().map(|&(name, _, value)| (name, value)).collect(),
            });
        }
        true
    }
    fn end_due(&mut self, at: Time) -> bool {
        let due = !self.ended && at >= self.plan.end;
        if due {
            self.finish(self.plan.end);
        }
        due
    }
    fn finish(&mut self, end: Time) {
        let none = vec![LinkCounters::default(); self.links.len()];
        let before = self.before_warmup.as_ref().unwrap_or(&none);
        let record = |(link, before): (&mut Link<P>, &LinkCounters)| LinkRecord {
            depths: link.depths(),
            ..LinkRecord::new(before, &link.counters(end))
        };
        self.counted.links = self.links.iter_mut().zip(before).map(record).collect();
        self.counted.inside = self.links.iter().map(Link::packets).sum();
        self.ended = true;
    }
}

#[cfg(test)]
mod tests;
