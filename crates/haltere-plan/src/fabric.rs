//! The network between the hosts: nodes and links, driven by events in order of time.
//!
//! It has no I/O and reads no clock. A world gives it packets with [`Fabric::arrive`], calls [`Fabric::advance`] when
//! [`Fabric::deadline`] comes, and receives the packets that reach a host as [`Ports`]. Every event runs at the time
//! for which it was due. So a world that wakes up late delays packets, but changes neither a rate nor what a discipline
//! sees. A packet that goes on over another link need not wake the world: its event may run as late as that link's
//! delay after its time, and mostly runs when something else wakes the world before.
//!
//! ```text
//!          node 0                                         node 1
//!      arrive │  ▲ deliver                          deliver ▲  │ arrive
//!             ▼  │            link 0>1                      │  ▼
//!           node 0 ──[queue]─[ring]─[line]─[flight]──▶ … ──▶ node 1
//!                  ◀── … ──────── link 1>0 ─────────────────
//! ```
//!
//! The wire and the kernel world use it as it is. The simulator has a faster form. No allocation grows with the length
//! of a run.
//!
//! Units: time ns since the run began. Cost: O(log links) a packet and link.

mod schedule;
mod sockets;

pub use sockets::write_down;

use crate::app::AppPlan;
use crate::fault::Fault;
use crate::link::{Link, Sink, context, later};
use crate::link_queue::LinkQueue;
use crate::plan::{LinkPlan, Plan, Reroute};
use crate::record::{LinkCounters, LinkRecord, QueueSample, SocketRecord};
use crate::routes::{NextHops, Routes};
use crate::series::Series;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use haltere_queue::{Backlog, LinkContext, Pkt, Qdisc};
use haltere_units::outside::{Origin, Outside};
use haltere_units::{Dur, ParamError, Prob, Probe, Time};
use schedule::Schedule;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use sockets::{Seen, Sockets};

/// The parts of a fabric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FabricPlan {
    /// How many nodes the links join.
    pub nodes: usize,
    /// The links, each one direction.
    pub links: Vec<LinkPlan>,
    /// Changes of the routes, in order of time.
    pub reroutes: Vec<Reroute>,
    /// Bytes below IP that packets carry on links.
    pub framing: u32,
    /// The run's random seed, from which the links' random streams follow.
    pub seed: u64,
    /// What disciplines from outside the tree are made with.
    #[serde(skip)]
    pub outside: Outside,
    /// The packets of each connection are counted.
    pub count_sockets: bool,
    /// Interval of the time series of watched queues. `None`: they are not sampled.
    pub sample: Option<Dur>,
    /// When "after warm-up" begins.
    pub warmup: Time,
    /// When the run ends: [`Fabric::totals`] contains nothing later. [`Time::NEVER`]: the world ends the run.
    pub end: Time,
}

impl Plan {
    /// The parts of its network.
    pub fn fabric(&self) -> FabricPlan {
        let Plan { seed, end, warmup, framing, .. } = *self;
        let (links, reroutes, sample) = (self.links.clone(), self.reroutes.clone(), self.measure.queues);
        FabricPlan {
            nodes: self.nodes.len(),
            links,
            reroutes,
            framing,
            seed,
            outside: self.outside.clone(),
            count_sockets: self.flows.iter().any(|flow| matches!(flow.app, AppPlan::Program(_))),
            sample,
            warmup,
            end,
        }
    }
}

/// A packet that finds its way through a fabric.
pub trait Routed: Pkt + Sized {
    /// A line can deliver a packet of this kind twice.
    const IS_COPIED: bool = false;
    /// The queue of a link with such packets.
    type Queue: Qdisc<Self>;
    /// The queue of these parameters on that link.
    fn queue(params: &LinkQueue, link: &LinkContext) -> Result<Self::Queue, ParamError>;
    /// Index of the node to which it goes. `None`: it goes to no node of the network.
    fn destination(&self) -> Option<usize>;
    /// Index of the node from which it comes, if the packet shows it.
    fn source(&self) -> Option<usize> {
        None
    }
    /// A copy for a line that delivers the packet twice, if [`IS_COPIED`](Routed::IS_COPIED).
    fn copied(&self) -> Option<Self> {
        None
    }
    /// Keeps the time at which the packet came from its host.
    fn set_entered(&mut self, _at: Time) {}
    /// The time that was kept. `None`: packets of this kind keep none.
    fn entered(&self) -> Option<Time> {
        None
    }
}

/// The hosts, which receive packets from the fabric. A packet that is dropped or lost is freed when its value is
/// dropped.
pub trait Ports<P> {
    /// The packet, which was due at that time, reaches that node. False: there is no host.
    fn deliver(&mut self, at: Time, node: usize, packet: P) -> bool;
}

/// Counters of a fabric, those of its links aside.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Packets that arrived from hosts.
    pub arrived: u64,
    /// Packets delivered to hosts.
    pub departed: u64,
    /// Copies that disciplines emitted, to go back to their senders.
    pub emitted: u64,
    /// Packets dropped because no link leads to their destination, or no host is there.
    pub unroutable: u64,
    /// Events of links that were carried out.
    pub events: u64,
    /// Sum of the delays from the time at which a packet was due at its host until it was delivered.
    pub late_sum_ns: u64,
    /// The largest of these delays.
    pub late_max_ns: u64,
}

/// All counters at one time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// The links, in the order of the plan.
    pub links: Vec<LinkRecord>,
    /// The fabric's own counters.
    pub counters: Counters,
    /// Packets on the links.
    pub inside: u64,
    /// The connections, if they are counted.
    pub sockets: Vec<SocketRecord>,
}

impl Totals {
    /// Packets that came in or were copied, less those that went out, were dropped or lost, or are inside. It is 0 if
    /// all are counted.
    pub fn unaccounted(&self) -> i64 {
        let links = |of: fn(&LinkCounters) -> u64| self.links.iter().map(|link| of(&link.total)).sum::<u64>();
        let came = self.counters.arrived + self.counters.emitted + links(|c| c.duplicated);
        let gone = links(|c| c.dropped_overlimit + c.dropped_congestion + c.lost);
        came as i64 - (self.counters.departed + gone + self.counters.unroutable + self.inside) as i64
    }
}

/// What is different in another list of the same links: the index of each that is, and whether its discipline is another. Gives the
/// rule if the links are not the same.
pub fn differences(old: &[LinkPlan], new: &[LinkPlan]) -> Result<Vec<(usize, bool)>, &'static str> {
    let ends = |links: &[LinkPlan]| links.iter().map(|link| (link.from, link.to)).collect::<Vec<_>>();
    if ends(old) != ends(new) {
        return Err("the nodes and links must stay, only their parameters may change");
    }
    let pairs = old.iter().zip(new).enumerate().filter(|(_, (old, new))| old != new);
    Ok(pairs.map(|(index, (old, new))| (index, old.queue != new.queue)).collect())
}

/// A link at one instant.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkNow {
    /// Its name.
    pub name: String,
    /// What waits in its queue.
    pub waiting: Backlog,
    /// Packets in its ring.
    pub ring: u32,
    /// Its counters since the run began.
    pub counters: LinkCounters,
}

impl Serialize for LinkNow {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let c = &self.counters;
        let counted = [
            ("arrived", c.arrived),
            ("sent", c.sent),
            ("sent_bytes", c.sent_bytes),
            ("dropped_overlimit", c.dropped_overlimit),
            ("dropped_congestion", c.dropped_congestion),
            ("marked", c.marked),
            ("emitted", c.emitted),
            ("lost", c.lost),
            ("peak_packets", c.peak_packets.into()),
            ("waiting_packets", self.waiting.packets.into()),
            ("waiting_bytes", self.waiting.bytes),
            ("ring_packets", self.ring.into()),
        ];
        let mut object = to.serialize_struct("LinkNow", counted.len() + 2)?;
        object.serialize_field("name", &self.name)?;
        for (name, count) in counted {
            object.serialize_field(name, &count)?;
        }
        object.serialize_field("packet_seconds", &(c.packet_ns as f64 * 1e-9))?;
        object.end()
    }
}

/// The network between the hosts.
#[derive(Debug)]
pub struct Fabric<P: Routed> {
    plan: FabricPlan,
    links: Vec<Link<P, P::Queue>>,
    next: NextHops,
    /// When each link has its next event, and by when that must be carried out.
    events: Schedule,
    deadlines: Schedule,
    /// How late the events of each link may run: those of its line, and deliveries of packets that go on.
    slack: Vec<[Dur; 2]>,
    next_sample: Option<Time>,
    samples: Series<QueueSample>,
    before_warmup: Option<Vec<LinkCounters>>,
    counters: Counters,
    sockets: Sockets,
    /// The counters at the end of the run.
    at_end: Option<Totals>,
    /// Packets that are between two links at this instant.
    moving: VecDeque<(usize, P)>,
    given: Given<P>,
}

/// Packets that a link gave away and that were not collected yet.
#[derive(Debug)]
struct Given<P> {
    delivered: Vec<P>,
    emitted: Vec<P>,
}

impl<P: Routed> Sink<P> for Given<P> {
    fn delivered(&mut self, _at: Time, packet: P) {
        self.delivered.push(packet);
    }
    fn emitted(&mut self, packet: P) {
        self.emitted.push(packet);
    }
    fn copied(&mut self, packet: &P) -> Option<P> {
        packet.copied()
    }
}

impl<P: Routed> Fabric<P> {
    /// A fabric of these parts.
    pub fn new(plan: FabricPlan) -> Result<Fabric<P>, Box<Fault>> {
        let mut links = Vec::new();
        for link in &plan.links {
            let fault = |name, rule, got| Err(Box::new(Fault::new(&link.name, name, rule, got)));
            if let Some(node) = [link.from, link.to, link.emission_node()].into_iter().find(|node| *node >= plan.nodes)
            {
                return fault("its ends", "nodes of the plan", node);
            }
            if !P::IS_COPIED && link.impairments.as_ref().is_some_and(|line| line.duplicate > Prob::ZERO) {
                return fault("duplicate", "0 in the kernel world, which copies no packet", 1);
            }
            let origin = Origin { seed: plan.seed, outside: plan.outside.clone() };
            let queue = P::queue(&link.queue, &context(link, plan.framing, &origin));
            let queue = queue.map_err(|error| Box::new(Fault::param(&link.name, error)))?;
            links.push(Link::with_queue(link, queue, plan.seed));
        }
        let routes = Routes::new(plan.nodes, plan.links.iter().map(|link| (link.from, link.to, link.delay)));
        Ok(Fabric {
            next: NextHops::new(&routes, &plan.reroutes),
            events: Schedule::new(links.len()),
            deadlines: Schedule::new(links.len()),
            slack: slack(&plan, &links),
            next_sample: plan.sample.map(|_| Time::ZERO),
            links,
            plan,
            samples: Series::default(),
            before_warmup: None,
            counters: Counters::default(),
            sockets: Sockets::default(),
            at_end: None,
            moving: VecDeque::new(),
            given: Given { delivered: Vec::new(), emitted: Vec::new() },
        })
    }
    /// A packet arrives from the host of `node`.
    #[inline]
    pub fn arrive(&mut self, now: Time, node: usize, mut packet: P, ports: &mut impl Ports<P>) {
        self.advance(now, ports);
        self.counters.arrived += 1;
        if self.plan.count_sockets
            && let Some(seen) = self.seen(&packet)
        {
            packet.set_entered(now);
            self.sockets.entered(&seen);
        }
        self.moving.push_back((node, packet));
        self.settle(now, now, ports);
    }
    /// Everything that is due by `now` happens, each at its own time.
    pub fn advance(&mut self, now: Time, ports: &mut impl Ports<P>) {
        while let Some(at) = self.earlier_of(self.next_packet()).filter(|&at| at <= now) {
            if self.warmup_due(at) || self.sample_due(at) || self.end_due(at) {
                continue;
            }
            let Some((at, link)) = self.events.take_first() else { return };
            self.counters.events += 1;
            self.links[link].advance(at, &mut self.given);
            self.collect(at, link);
            self.settle(at, now, ports);
        }
    }
    /// The discipline of that link may give a packet that it withheld without a time.
    pub fn wake(&mut self, now: Time, link: usize, ports: &mut impl Ports<P>) {
        self.advance(now, ports);
        self.links[link].wake(now, &mut self.given);
        self.collect(now, link);
        self.settle(now, now, ports);
    }
    /// From `now` on that link is the one of this plan. `queue`: its discipline, too, which takes over what waits.
    pub fn change(
        &mut self,
        now: Time,
        index: usize,
        plan: LinkPlan,
        queue: bool,
        ports: &mut impl Ports<P>,
    ) -> Result<(), ParamError> {
        self.advance(now, ports);
        let origin = Origin { seed: self.plan.seed, outside: self.plan.outside.clone() };
        let made = queue.then(|| P::queue(&plan.queue, &context(&plan, self.plan.framing, &origin))).transpose()?;
        self.links[index].change(now, &plan, made, &mut self.given);
        self.plan.links[index] = plan;
        self.slack = slack(&self.plan, &self.links);
        (0..self.links.len()).for_each(|link| self.schedule(now, link));
        self.collect(now, index);
        self.settle(now, now, ports);
        Ok(())
    }
    /// When [`advance`](Fabric::advance) is to be called next.
    pub fn deadline(&self) -> Option<Time> {
        self.earlier_of(self.deadlines.first())
    }
    /// That time, or that of the end of the warm-up, the next sample or the end of the run if it comes before.
    fn earlier_of(&self, time: Option<Time>) -> Option<Time> {
        let warmup = self.before_warmup.is_none().then_some(self.plan.warmup);
        let (sample, end) = match self.at_end {
            None => (self.next_sample, Some(self.plan.end)),
            Some(_) => (None, None),
        };
        [time, warmup, sample, end].into_iter().flatten().min().filter(|at| *at != Time::NEVER)
    }
    /// When a packet moves next.
    pub fn next_packet(&self) -> Option<Time> {
        self.events.first()
    }
    /// The parts that it was made of, with the changes since.
    pub fn plan(&self) -> &FabricPlan {
        &self.plan
    }
    /// The links, in the order of the plan.
    pub fn links(&self) -> &[Link<P, P::Queue>] {
        &self.links
    }
    /// The counters until now.
    pub fn counters(&self) -> Counters {
        self.counters
    }
    /// Packets on the links.
    pub fn packets(&self) -> u64 {
        self.links.iter().map(Link::packets).sum()
    }
    /// The records of the links at `now`.
    pub fn link_records(&mut self, now: Time) -> Vec<LinkRecord> {
        let none = vec![LinkCounters::default(); self.links.len()];
        let before = self.before_warmup.as_ref().unwrap_or(&none);
        let record = |(link, before): (&mut Link<P, P::Queue>, &LinkCounters)| LinkRecord {
            depths: link.depths(),
            ..LinkRecord::new(before, &link.counters(now))
        };
        self.links.iter_mut().zip(before).map(record).collect()
    }
    /// The links as they are now.
    pub fn links_now(&mut self, now: Time) -> Vec<LinkNow> {
        let at_now = |(link, plan): (&mut Link<P, P::Queue>, &LinkPlan)| LinkNow {
            name: plan.name.clone(),
            waiting: link.backlog(),
            ring: link.ring_packets(),
            counters: link.counters(now),
        };
        self.links.iter_mut().zip(&self.plan.links).map(at_now).collect()
    }
    /// The connections until now, if they are counted.
    pub fn sockets(&self) -> Vec<SocketRecord> {
        self.sockets.records()
    }
    /// All counters at the end of the run. Before the end, the run ends now.
    pub fn totals(&mut self) -> &Totals {
        if self.at_end.is_none() {
            let links = self.link_records(self.plan.end);
            let (inside, sockets) = (self.packets(), self.sockets.records());
            self.at_end = Some(Totals { links, counters: self.counters, inside, sockets });
        }
        self.at_end.get_or_insert_default()
    }
    /// The samples of watched queues. They can be taken out.
    pub fn samples(&mut self) -> &mut Series<QueueSample> {
        &mut self.samples
    }

    /// Takes what a link gave: packets at its other end, and those that its discipline emitted. Schedules its next
    /// event.
    fn collect(&mut self, now: Time, link: usize) {
        let (back, to) = (self.plan.links[link].emission_node(), self.plan.links[link].to);
        self.moving.extend(self.given.delivered.drain(..).map(|packet| (to, packet)));
        self.counters.emitted += self.given.emitted.len() as u64;
        self.moving.extend(self.given.emitted.drain(..).map(|packet| (back, packet)));
        self.schedule(now, link);
    }
    /// When the link has its next event, and by when: later by the link's slack, so that no packet reaches its host late.
    fn schedule(&mut self, now: Time, index: usize) {
        let (link, [own, next]) = (&self.links[index], self.slack[index]);
        let to = Some(self.plan.links[index].to);
        let (line, delivery) = (link.next_before_the_line(), link.next_delivery());
        let slack = |packet: &P| if packet.destination() == to { Dur::ZERO } else { next };
        let first = |times: [Option<Time>; 2]| times.into_iter().flatten().min().map(|at| at.max(now));
        let event = first([line, delivery.map(|(at, _)| at)]);
        let deadline = first([line.map(|at| later(at, own)), delivery.map(|(at, packet)| later(at, slack(packet)))]);
        self.events.set(index, event.filter(|at| *at != Time::NEVER));
        self.deadlines.set(index, deadline.filter(|at| *at != Time::NEVER));
    }
    /// What counts of a packet for its connection. `None`: it has none.
    fn seen(&self, packet: &P) -> Option<Seen> {
        let (flow, framing) = (packet.flow(), self.plan.framing);
        let (from, to) = (packet.source()?, packet.destination()?);
        let bytes = packet.len().saturating_sub(framing);
        (flow.protocol != 0).then_some(Seen { from, to, flow, bytes, ecn: packet.ecn() })
    }
    /// The delay of the links between the two hosts of a packet.
    fn way(&self, at: Time, seen: &Seen) -> Dur {
        let (mut node, mut way) = (seen.from, Dur::ZERO);
        while let Some(link) = self.next.link(at, node, seen.to).filter(|_| node != seen.to) {
            (node, way) = (self.plan.links[link].to, way + self.plan.links[link].delay);
        }
        way
    }
    /// Moves packets on until each is on a link or at its host. They are due at `at`; it is `now`.
    fn settle(&mut self, at: Time, now: Time, ports: &mut impl Ports<P>) {
        while let Some((node, packet)) = self.moving.pop_front() {
            let to = packet.destination();
            if to == Some(node) {
                let seen = if self.plan.count_sockets { self.seen(&packet) } else { None };
                let entered = packet.entered();
                if ports.deliver(at, node, packet) {
                    let late = now.since(at).as_ns();
                    self.counters.departed += 1;
                    if let Some(seen) = seen {
                        let sojourn = entered.map(|entered| at.since(entered).saturating_sub(self.way(at, &seen)));
                        self.sockets.left(&seen, sojourn, at >= self.plan.warmup);
                    }
                    self.counters.late_sum_ns += late;
                    self.counters.late_max_ns = self.counters.late_max_ns.max(late);
                } else {
                    self.counters.unroutable += 1;
                }
                continue;
            }
            match to.and_then(|to| self.next.link(at, node, to)) {
                Some(link) => {
                    self.links[link].arrive(at, packet, &mut self.given);
                    self.collect(at, link);
                }
                None => self.counters.unroutable += 1,
            }
        }
    }
    fn warmup_due(&mut self, at: Time) -> bool {
        let warmup = self.plan.warmup;
        if self.before_warmup.is_some() || at < warmup {
            return false;
        }
        self.before_warmup = Some(self.links.iter_mut().map(|link| link.end_warmup(warmup)).collect());
        true
    }
    fn sample_due(&mut self, at: Time) -> bool {
        let (Some(every), Some(next), None) = (self.plan.sample, self.next_sample, &self.at_end) else { return false };
        if at < next {
            return false;
        }
        self.next_sample = Some(next + every);
        let watched = self.links.iter_mut().zip(&self.plan.links).enumerate().filter(|(_, (_, plan))| plan.watched);
        for (index, (link, _)) in watched {
            // At an instant the sample comes first.
            link.catch_up(next.saturating_sub(Dur::from_ns(1)), &mut self.given);
            let counters = link.counters(next);
            let mut row = Probe::new();
            link.queue().probe(&mut row);
            self.samples.push(QueueSample {
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
        let due = self.at_end.is_none() && at >= self.plan.end;
        if due {
            self.totals();
        }
        due
    }
}

/// How late the events of these links may run. The time of an event of the line is known to it, whenever it runs; the
/// packet has the link's delay before it. A packet that goes on has the delay of the next link before it.
fn slack<P: Routed>(plan: &FabricPlan, links: &[Link<P, P::Queue>]) -> Vec<[Dur; 2]> {
    let (nodes, plans) = (plan.nodes, &plan.links);
    let delay = |link: &Link<P, P::Queue>| if link.needs_time() { Dur::ZERO } else { link.least_delay() };
    let mut next = vec![Dur::MAX; nodes];
    for (plan, link) in plans.iter().zip(links) {
        next[plan.from] = next[plan.from].min(delay(link));
    }
    let next = |to: usize| if next[to] == Dur::MAX { Dur::ZERO } else { next[to] };
    plans.iter().zip(links).map(|(plan, link)| [delay(link), next(plan.to)]).collect()
}

#[cfg(test)]
mod tests;
