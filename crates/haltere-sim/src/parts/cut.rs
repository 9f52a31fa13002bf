//! The cut of a network into parts.
//!
//! A good cut has parts with equal work and a long delay between them. What must not be cut is joined first: links that
//! do not send [ahead of time](crate::net::ahead), and the hosts of flows whose ends share state. Then, for a delay, all
//! links with a shorter one are joined, and hosts with their switch. What is left goes into the parts, the
//! largest first. The longest delay is taken that leaves the parts about equal.

use crate::error::RunError;
use crate::net::packet::Header;
use crate::run::{flow_ports, links};
use haltere_plan::plan::{AppPlan, FlowPlan, LinkPlan, Parts};
use haltere_plan::{Plan, Routes};
use haltere_transport::CachedMetrics;
use haltere_units::Dur;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Numbers of parts from which `auto` takes the first that pays.
const AUTO: [usize; 4] = [16, 8, 4, 2];
/// A cut pays if it adds at most this to the work.
const PAYS: f64 = 0.125;
/// What a packet that crosses adds, as a part of its work on a link. Measured as instructions: `benches/parts.py`.
const CROSSING: f64 = 0.7;
/// What a window adds to each part, in units of work: a microsecond for the barrier and the mail.
const WINDOW: f64 = 25.0;
/// Bits of a packet, for the work of a second.
const PACKET_BITS: f64 = 12_000.0;
/// The largest part may have this many times its share of the work if that makes the windows longer.
const UNEQUAL: f64 = 1.15;
/// Work of a flow, in units of one packet on one link: at its sender and at its receiver.
const ENDS: [u64; 2] = [8, 6];
/// Work on each link of a path: of data, and of acknowledgements, of which there is one for two segments.
const HOPS: [u64; 2] = [2, 1];

/// Which part each node is in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cut {
    nodes: Vec<u32>,
    pub parts: usize,
    /// The least delay between two parts.
    pub window: Dur,
}

/// One part of a network.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Part<'a> {
    /// The part of each node. Empty: the network is whole.
    nodes: &'a [u32],
    number: u32,
}

impl Part<'_> {
    /// The node is in this part.
    pub fn has(&self, node: usize) -> bool {
        self.nodes.get(node).is_none_or(|part| *part == self.number)
    }
}

/// Nodes that are joined, as a forest: each node's parent.
#[derive(Clone)]
struct Joined(Vec<u32>);

impl Joined {
    fn root(&mut self, node: usize) -> usize {
        let mut at = node;
        while self.0[at] as usize != at {
            self.0[at] = self.0[self.0[at] as usize];
            at = self.0[at] as usize;
        }
        at
    }
    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b) as u32;
    }
}

/// The network of a plan with the work in it.
struct Graph<'a> {
    plan: &'a Plan,
    /// What must not be cut is joined.
    joined: Joined,
    /// The work at each node, the queues and lines of its links included.
    work: Vec<u64>,
    /// The part of it on each link.
    on_link: Vec<u64>,
    /// The links of each flow from its sender to its receiver.
    paths: Vec<Vec<usize>>,
}

/// The state of the ends of that flow is apart, so they can be in two parts.
fn can_be_cut(flow: &FlowPlan) -> bool {
    let alone = matches!(flow.app, AppPlan::Bulk(_) | AppPlan::OnOff(_) | AppPlan::Cbr(_) | AppPlan::Ping(_));
    alone && flow.app.tcp().is_none_or(|tcp| tcp.stack.is_none())
}

/// A host remembers the other when a connection of that flow closes.
fn remembers(flow: &FlowPlan) -> bool {
    let ends = flow.app.tcp().map(|tcp| [tcp.sender.tcp_metrics, tcp.receiver.tcp_metrics]);
    ends.is_some_and(|ends| ends != [CachedMetrics::Off; 2])
}

impl Cut {
    /// The cut of the network of that plan. `None`: it stays whole.
    pub fn of(plan: &Plan) -> Result<Option<Cut>, RunError> {
        if plan.parts.is_one() || plan.flows.iter().any(|flow| flow.app.arrivals().is_some()) {
            return Ok(None);
        }
        Ok(Graph::of(plan)?.and_then(|graph| match plan.parts {
            Parts::Auto(_) => graph.cut_that_pays(),
            Parts::Most(most) => graph.cut(most as usize),
        }))
    }
    pub fn part(&self, number: usize) -> Part<'_> {
        Part { nodes: &self.nodes, number: number as u32 }
    }
    /// The part of that node.
    pub fn part_of(&self, node: usize) -> usize {
        self.nodes[node] as usize
    }
}

impl Graph<'_> {
    /// `None`: nothing can be cut, because a queue emits packets, whose paths are not known.
    fn of(plan: &Plan) -> Result<Option<Graph<'_>>, RunError> {
        let links = links(plan)?;
        if links.iter().any(|link| link.emits()) {
            return Ok(None);
        }
        let mut joined = Joined((0..plan.nodes.len() as u32).collect());
        for (link, of) in links.iter().zip(&plan.links) {
            if !link.is_plain() || of.delay.is_zero() {
                joined.join(of.from, of.to);
            }
        }
        let mut whole = plan.flows.iter().filter(|flow| !can_be_cut(flow)).flat_map(nodes_of);
        if let Some(first) = whole.next() {
            whole.for_each(|node| joined.join(first, node));
        }
        plan.flows.iter().filter(|flow| remembers(flow)).for_each(|flow| joined.join(flow.from, flow.to));
        let (work, on_link) = (vec![0; plan.nodes.len()], vec![0; plan.links.len()]);
        let mut graph = Graph { plan, joined, work, on_link, paths: Vec::new() };
        graph.add_work();
        Ok(Some(graph))
    }
    fn add_work(&mut self) {
        let (plan, mut routes) = (self.plan, Routes::of(self.plan));
        for (index, flow) in plan.flows.iter().enumerate() {
            let (near, far) = flow_ports(flow, index);
            let data = Header::new(flow.app.protocol(), (flow.from, flow.to), (near, far));
            let acks = Header::new(flow.app.protocol(), (flow.to, flow.from), (far, near));
            for (header, (end, hop)) in [data, acks].into_iter().zip(ENDS.into_iter().zip(HOPS)) {
                let (from, to) = (header.src as usize, header.dst as usize);
                self.work[from] += end;
                let path = routes.choose(from, to, header.key(plan)).unwrap_or_default();
                for &link in &path {
                    self.work[plan.links[link].from] += hop;
                    self.on_link[link] += hop;
                }
                if header == data {
                    self.paths.push(path);
                }
            }
        }
    }
    /// The work of a second if every flow sends at its share of the link that leaves it the least.
    fn work_of_a_second(&self) -> f64 {
        let packets = |link: &usize| {
            let rate = self.plan.links[*link].rate.map_or(f64::INFINITY, |rate| rate.as_bps() as f64);
            rate / PACKET_BITS * HOPS[0] as f64 / self.on_link[*link] as f64
        };
        let of_flow = |path: &Vec<usize>| {
            let work = ENDS.iter().sum::<u64>() + HOPS.iter().sum::<u64>() * path.len() as u64;
            work as f64 * path.iter().map(packets).fold(f64::INFINITY, f64::min)
        };
        self.paths.iter().map(of_flow).sum()
    }
    /// The cut into the most parts that pays, if one does.
    fn cut_that_pays(&self) -> Option<Cut> {
        let (work, a_second) = (self.work.iter().sum::<u64>() as f64, self.work_of_a_second());
        let cost = |cut: &Cut| {
            let crosses = |link: &LinkPlan| cut.nodes[link.from] != cut.nodes[link.to];
            let crossed = self.plan.links.iter().zip(&self.on_link).filter(|(link, _)| crosses(link));
            let copies = CROSSING * crossed.map(|(_, on_link)| on_link).sum::<u64>() as f64 / work;
            copies + WINDOW * cut.parts as f64 / (a_second * cut.window.as_secs_f64())
        };
        AUTO.into_iter().filter_map(|most| self.cut(most)).find(|cut| cost(cut) <= PAYS)
    }
    /// The best cut into at most so many parts, if there is one.
    fn cut(&self, most: usize) -> Option<Cut> {
        let delays: BTreeSet<Dur> = self.plan.links.iter().map(|link| link.delay).collect();
        let delays: Vec<Dur> = delays.into_iter().collect();
        let share = UNEQUAL * self.work.iter().sum::<u64>() as f64 / most as f64;
        // The longer the delay, the fewer ways to divide the work.
        let fair = delays.partition_point(|least| self.divided(most, *least).1 as f64 <= share);
        let least = delays.get(fair.saturating_sub(1))?;
        self.finished(self.divided(most, *least).0)
    }
    /// The part of each node, if only links with at least that delay are cut, and the work of the largest part.
    fn divided(&self, most: usize, least: Dur) -> (Vec<u32>, u64) {
        let (plan, mut joined) = (self.plan, self.joined.clone());
        for link in plan.links.iter().filter(|link| link.delay < least) {
            joined.join(link.from, link.to);
        }
        let roots = |joined: &mut Joined| (0..plan.nodes.len()).map(|node| joined.root(node)).collect::<Vec<_>>();
        let mut work = vec![0; plan.nodes.len()];
        roots(&mut joined).iter().zip(&self.work).for_each(|(root, of)| work[*root] += of);
        let share = self.work.iter().sum::<u64>() / most as u64;
        for (host, switch) in self.hosts() {
            let [a, b] = [host, switch].map(|node| joined.root(node));
            if a != b && work[a] + work[b] <= share {
                joined.join(a, b);
                work[a.min(b)] = work[a] + work[b];
            }
        }
        let root = roots(&mut joined);
        let mut clusters: Vec<usize> = (0..plan.nodes.len()).filter(|node| root[*node] == *node).collect();
        clusters.sort_by_key(|cluster| Reverse(work[*cluster]));
        let mut loads = vec![0; most];
        let mut part = vec![0; plan.nodes.len()];
        for cluster in clusters {
            let lightest = (0..most).min_by_key(|part| loads[*part]).unwrap_or(0);
            (part[cluster], loads[lightest]) = (lightest as u32, loads[lightest] + work[cluster]);
        }
        (root.into_iter().map(|root| part[root]).collect(), loads.into_iter().max().unwrap_or(0))
    }
    /// The nodes with one neighbour, and that neighbour.
    fn hosts(&self) -> impl Iterator<Item = (usize, usize)> {
        let mut neighbours = vec![BTreeSet::new(); self.plan.nodes.len()];
        for link in &self.plan.links {
            neighbours[link.from].insert(link.to);
            neighbours[link.to].insert(link.from);
        }
        let only = |all: BTreeSet<usize>| if all.len() == 1 { all.into_iter().next() } else { None };
        neighbours.into_iter().map(only).enumerate().filter_map(|(host, switch)| Some((host, switch?)))
    }
    /// The cut with these parts, of which some may be empty.
    fn finished(&self, mut nodes: Vec<u32>) -> Option<Cut> {
        let used: Vec<u32> = nodes.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        nodes.iter_mut().for_each(|part| *part = used.partition_point(|other| other < part) as u32);
        let cut = |link: &&LinkPlan| nodes[link.from] != nodes[link.to];
        let window = self.plan.links.iter().filter(cut).map(|link| link.delay).min()?;
        Some(Cut { nodes, parts: used.len(), window })
    }
}

/// The nodes of a flow.
fn nodes_of(flow: &FlowPlan) -> impl Iterator<Item = usize> {
    [flow.from, flow.to].into_iter().chain(flow.app.paths().iter().flat_map(|path| [path.from, path.to]))
}
