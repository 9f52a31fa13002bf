//! The network between the hosts: nodes, links and ports, driven by events in order of time.
//!
//! It does no I/O and asks for no time, like everything below it: frames come in with
//! [`Fabric::arrive`], what is due happens in [`Fabric::advance`], frames for a port wait in its
//! outbox. Events run at the time for which they were due, so a run with late wake-ups decides as one without.
//!
//! ```text
//!            port 0                                        port 1
//!      arrive │  ▲ outbox                            outbox ▲  │ arrive
//!             ▼  │            link 0>1                      │  ▼
//!           node 0 ──[queue]─[ring]─[line]─[way]──▶ … ──▶ node 1
//!                  ◀── … ──────── link 1>0 ───────────────
//! ```

use crate::WireError;
use crate::frame::Frame;
use crate::link::{Link, LinkParams};
use haltere_plan::NextHops;
use haltere_plan::plan::Reroute;
use haltere_plan::record::{LinkCounters, LinkRecord, QueueSample};
use haltere_units::{Dur, Probe, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// How the fabric finds a frame's destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steering {
    /// Two ports: what comes in at one goes out at the other, like a cable.
    Across,
    /// By destination address, which for node `i` is [`node_mac`]`(i)`.
    ByAddress,
}

/// The Ethernet address of the port of node `i`: locally administered, `HL`, the index.
pub fn node_mac(node: usize) -> [u8; 6] {
    let [.., a, b] = (node as u64).to_be_bytes();
    [0x02, b'H', b'L', 0, a, b]
}

fn mac_node(mac: [u8; 6]) -> Option<usize> {
    (mac[..4] == [0x02, b'H', b'L', 0]).then(|| usize::from(u16::from_be_bytes([mac[4], mac[5]])))
}

/// A fabric's parts.
#[derive(Debug, Clone, PartialEq)]
pub struct FabricParams {
    /// Number of nodes.
    pub nodes: usize,
    /// The nodes that have a port; a port's index is its place here.
    pub ports: Vec<usize>,
    /// The links.
    pub links: Vec<LinkParams>,
    /// Changes of the routes, in order of time.
    pub reroutes: Vec<Reroute>,
    /// How destinations are found.
    pub steering: Steering,
    /// Bytes below IP that packets carry on links.
    pub framing: u32,
    /// Low bits of initial sequence numbers that are zero; 0: not known.
    pub isn_bits: u8,
    /// The random seed.
    pub seed: u64,
    /// Interval of the watched queues' time series.
    pub sample: Option<Dur>,
    /// When "after warm-up" begins.
    pub warmup: Time,
}

/// Frames that went nowhere, by reason; and frames that could not be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FabricCounters {
    /// Frames that came in at a port.
    pub arrived: u64,
    /// Frames put into an outbox.
    pub departed: u64,
    /// Copies made for senders.
    pub returned: u64,
    /// Dropped: no node has that address, or no link leads there.
    pub unroutable: u64,
    /// Forwarded without flow: truncated or contradicting itself.
    pub malformed: u64,
    /// Forwarded without flow: not IP.
    pub not_ip: u64,
    /// Fragments.
    pub fragments: u64,
}

/// The network between the hosts.
#[derive(Debug)]
pub struct Fabric {
    params: FabricParams,
    links: Vec<Link>,
    next: NextHops,
    port_of_node: Vec<Option<usize>>,
    outbox: Vec<VecDeque<(Time, Frame)>>,
    /// (when, link); an entry that is not the link's `scheduled` is stale.
    events: BinaryHeap<Reverse<(Time, usize)>>,
    scheduled: Vec<Option<Time>>,
    next_sample: Option<Time>,
    samples: Vec<QueueSample>,
    before_warmup: Option<Vec<LinkCounters>>,
    counters: FabricCounters,
    handled: u64,
    scratch: Vec<Frame>,
}

impl Fabric {
    /// A fabric of these parts.
    pub fn new(params: FabricParams) -> Result<Fabric, WireError> {
        let mut links = Vec::new();
        for link in &params.links {
            let plan = &link.plan;
            if plan.from >= params.nodes || plan.to >= params.nodes {
                return Err(WireError::plan(&plan.name, "its ends must be nodes of the plan"));
            }
            let made = Link::new(link.clone(), params.framing, params.seed);
            links.push(made.map_err(|e| WireError::plan(&plan.name, e))?);
        }
        if params.steering == Steering::Across && params.ports.len() != 2 {
            return Err(WireError::plan("router", format!("ports must be two, got {}", params.ports.len())));
        }
        let mut port_of_node = vec![None; params.nodes];
        for (port, &node) in params.ports.iter().enumerate() {
            port_of_node[node] = Some(port);
        }
        Ok(Fabric {
            next: NextHops::new(
                params.nodes,
                &params.links.iter().map(|l| (l.plan.from, l.plan.to)).collect::<Vec<_>>(),
                &params.reroutes,
            ),
            outbox: params.ports.iter().map(|_| VecDeque::new()).collect(),
            scheduled: vec![None; links.len()],
            next_sample: params.sample.map(|_| Time::ZERO),
            port_of_node,
            links,
            params,
            events: BinaryHeap::new(),
            samples: Vec::new(),
            before_warmup: None,
            counters: FabricCounters::default(),
            handled: 0,
            scratch: Vec::new(),
        })
    }
    /// A frame comes in at a port.
    pub fn arrive(&mut self, now: Time, port: usize, mut frame: Frame) {
        use crate::frame::Kind;
        self.counters.arrived += 1;
        self.counters.fragments += u64::from(frame.is_fragment());
        match frame.kind() {
            Kind::Malformed => self.counters.malformed += 1,
            Kind::Other | Kind::Arp => self.counters.not_ip += 1,
            _ => {}
        }
        frame.set_framing(self.params.framing);
        frame.set_isn_bits(self.params.isn_bits);
        let node = self.params.ports[port];
        let to = match self.params.steering {
            Steering::Across => Some(self.params.ports[1 - port]),
            Steering::ByAddress => frame.macs().and_then(|(dst, _)| mac_node(dst)),
        };
        self.at_node(now, node, to, frame);
    }
    /// Runs everything that is due up to `now`, each at its own time.
    pub fn advance(&mut self, now: Time) {
        while let Some(at) = self.next_event().filter(|&at| at <= now) {
            if self.warmup_due(at) || self.sample_due(at) {
                continue;
            }
            let Some(Reverse((at, link))) = self.events.pop() else { return };
            if self.scheduled[link] == Some(at) {
                self.scheduled[link] = None;
                self.handled += 1;
                self.run_link(at, link);
            }
        }
    }
    /// When [`advance`](Fabric::advance) wants to be called next.
    pub fn next_event(&self) -> Option<Time> {
        let event = self.events.peek().map(|Reverse((at, _))| *at);
        let warmup = self.before_warmup.is_none().then_some(self.params.warmup);
        [event, warmup, self.next_sample].into_iter().flatten().min()
    }
    /// When the next packet moves by itself, samples aside.
    pub fn next_packet(&self) -> Option<Time> {
        self.events.peek().map(|Reverse((at, _))| *at)
    }
    /// Frames due at that port, each with the time at which it was due.
    #[inline]
    pub fn outbox(&mut self, port: usize) -> &mut VecDeque<(Time, Frame)> {
        &mut self.outbox[port]
    }
    /// Packets inside, outboxes included.
    pub fn holds(&self) -> u64 {
        self.links.iter().map(Link::holds).sum::<u64>() + self.outbox.iter().map(|o| o.len() as u64).sum::<u64>()
    }
    /// What went in and out.
    pub fn counters(&self) -> FabricCounters {
        self.counters
    }
    /// Events handled.
    pub fn events(&self) -> u64 {
        self.handled
    }
    /// The links.
    pub fn links(&mut self) -> &mut [Link] {
        &mut self.links
    }
    /// The parameters.
    pub fn params(&self) -> &FabricParams {
        &self.params
    }
    /// The links' records up to `now`.
    pub fn link_records(&mut self, now: Time) -> Vec<LinkRecord> {
        let none = vec![LinkCounters::default(); self.links.len()];
        let before = self.before_warmup.as_ref().unwrap_or(&none);
        let pair = |(link, before): (&mut Link, &LinkCounters)| LinkRecord {
            depths: link.depths(),
            ..LinkRecord::new(before, &link.counters(now))
        };
        self.links.iter_mut().zip(before).map(pair).collect()
    }
    /// Takes the samples of the watched queues.
    pub fn take_samples(&mut self) -> Vec<QueueSample> {
        std::mem::take(&mut self.samples)
    }

    fn warmup_due(&mut self, at: Time) -> bool {
        if self.before_warmup.is_some() || at < self.params.warmup {
            return false;
        }
        let warmup = self.params.warmup;
        self.before_warmup = Some(self.links.iter_mut().map(|l| l.end_warmup(warmup)).collect());
        true
    }
    fn sample_due(&mut self, at: Time) -> bool {
        let (Some(every), Some(next)) = (self.params.sample, self.next_sample) else { return false };
        if at < next {
            return false;
        }
        self.next_sample = Some(next + every);
        for (index, link) in self.links.iter_mut().enumerate().filter(|(_, l)| l.params().plan.watched) {
            let counters = link.counters(next);
            let (backlog, ring_packets) = link.backlog();
            let mut row = Probe::new();
            link.probe(&mut row);
            self.samples.push(QueueSample {
                at: next,
                link: index as u32,
                packets: backlog.packets,
                bytes: backlog.bytes,
                ring_packets,
                dropped: counters.dropped_overlimit + counters.dropped_congestion,
                marked: counters.marked,
                sent_bytes: counters.sent_bytes,
                vars: row.values().iter().map(|&(name, _, value)| (name, value)).collect(),
            });
        }
        true
    }
    fn run_link(&mut self, at: Time, link: usize) {
        let mut out = std::mem::take(&mut self.scratch);
        let node = self.links[link].params().plan.to;
        self.links[link].run(at, |frame| out.push(frame));
        for frame in out.drain(..) {
            let to = match self.params.steering {
                Steering::Across => Some(node),
                Steering::ByAddress => frame.macs().and_then(|(dst, _)| mac_node(dst)),
            };
            self.at_node(at, node, to, frame);
        }
        self.scratch = out;
        self.settle(at, link);
    }
    fn at_node(&mut self, now: Time, node: usize, to: Option<usize>, frame: Frame) {
        if to == Some(node) {
            match self.port_of_node[node] {
                Some(port) => {
                    self.counters.departed += 1;
                    self.outbox[port].push_back((now, frame));
                }
                None => self.counters.unroutable += 1,
            }
            return;
        }
        let link = to.and_then(|to| self.next.link(now, node, to));
        match link {
            Some(link) => {
                self.links[link].arrive(now, frame);
                self.settle(now, link);
            }
            None => self.counters.unroutable += 1,
        }
    }
    /// After a link did something: its next event, and copies to send back from its return node.
    fn settle(&mut self, now: Time, link: usize) {
        let next = self.links[link].next();
        if next != self.scheduled[link] {
            self.scheduled[link] = next;
            if let Some(at) = next {
                self.events.push(Reverse((at.max(now), link)));
                self.scheduled[link] = Some(at.max(now));
            }
        }
        while let Some(copy) = self.links[link].take_returned() {
            self.counters.returned += 1;
            let node = self.links[link].params().plan.return_node();
            let to = match self.params.steering {
                Steering::Across => Some(node),
                Steering::ByAddress => copy.macs().and_then(|(dst, _)| mac_node(dst)),
            };
            self.at_node(now, node, to, copy);
        }
    }
}

#[cfg(test)]
mod tests;
