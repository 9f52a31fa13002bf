//! The cut of a network into parts.
//!
//! A good cut has parts with equal work and a long delay between them. What must not be cut is joined first: links that
//! do not send [ahead of time](crate::net::ahead), and the hosts of flows whose ends share state. Then, for a delay, all
//! links with a shorter one are joined, and hosts with their switch. What is left goes into the parts. The longest delay is
//! taken that leaves the parts about equal.

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
const PAYS: f64 = 1.0 / 12.0;
/// What a packet that crosses adds, as a part of its work on a link. Measured: see 0151.
const CROSSING: f64 = 0.45;
/// What a window adds for each part, in units of work of some 40 ns: 4 us for mail, barrier and threads out of step.
/// Measured: see 0151.
const WINDOW: f64 = 100.0;
/// Bits of a packet, for the work of a second.
const PACKET_BITS: f64 = 12_000.0;
/// The largest part may have this many times its share of the work if that makes the windows longer.
const UNEQUAL: f64 = 1.15;
/// Work of a flow, in units of one packet on one link: at its sender and at its receiver.
const ENDS: [u64; 2] = [10, 4];
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
    /// The nodes with one neighbour, and that neighbour.
    hosts: Vec<(usize, usize)>,
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

/// The work of all nodes.
fn work_of(nodes: &[u64]) -> u64 {
    nodes.iter().sum()
}

/// The nodes with one neighbour, and that neighbour.
fn hosts(plan: &Plan) -> Vec<(usize, usize)> {
    const SEVERAL: usize = usize::MAX;
    let mut neighbours = vec![None; plan.nodes.len()];
    for (node, other) in plan.links.iter().flat_map(|link| [(link.from, link.to), (link.to, link.from)]) {
        let only = neighbours[node].is_none_or(|known| known == other);
        neighbours[node] = Some(if only { other } else { SEVERAL });
    }
    let host = |(node, other): (usize, Option<usize>)| Some((node, other.filter(|other| *other != SEVERAL)?));
    neighbours.into_iter().enumerate().filter_map(host).collect()
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
        let mut graph = Graph { plan, joined, work, on_link, paths: Vec::new(), hosts: hosts(plan) };
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
        let (work, a_second) = (work_of(&self.work) as f64, self.work_of_a_second());
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
        let share = UNEQUAL * work_of(&self.work) as f64 / most as f64;
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
        let share = work_of(&self.work) / most as u64;
        for &(host, switch) in &self.hosts {
            let [a, b] = [host, switch].map(|node| joined.root(node));
            if a != b && work[a] + work[b] <= share {
                joined.join(a, b);
                work[a.min(b)] = work[a] + work[b];
            }
        }
        let root = roots(&mut joined);
        let (part, largest) = self.placed(&root, &work, most);
        (root.into_iter().map(|root| part[root]).collect(), largest)
    }
    /// The part of each cluster of nodes, of which one is its root, and the work of the largest part. The largest
    /// clusters come first, neighbours in the plan together. A smaller one goes where it has the most traffic, if there
    /// is room, else to the part with the least work.
    fn placed(&self, root: &[usize], work: &[u64], most: usize) -> (Vec<u32>, u64) {
        let mut near: Vec<Vec<(usize, u64)>> = vec![Vec::new(); root.len()];
        for (link, on_link) in self.plan.links.iter().zip(&self.on_link) {
            let [a, b] = [root[link.from], root[link.to]];
            if a != b && *on_link > 0 {
                near[a].push((b, *on_link));
                near[b].push((a, *on_link));
            }
        }
        let mut clusters: Vec<usize> = (0..root.len()).filter(|node| root[*node] == *node).collect();
        clusters.sort_by_key(|cluster| Reverse(work[*cluster]));
        let is_large = |cluster: &usize| 2 * work[*cluster] > work[clusters[0]];
        let (mut large, small): (Vec<usize>, Vec<usize>) = clusters.iter().partition(|cluster| is_large(cluster));
        large.sort_unstable();
        let of_large = large.iter().map(|cluster| work[*cluster]).sum::<u64>().max(1);
        let (mut part, mut loads, mut before) = (vec![most; root.len()], vec![0; most], 0);
        for cluster in large {
            let middle = before + work[cluster] / 2;
            part[cluster] = (middle as u128 * most as u128 / of_large as u128) as usize;
            (before, loads[part[cluster]]) = (before + work[cluster], loads[part[cluster]] + work[cluster]);
        }
        let share = work_of(&self.work) / most as u64;
        let mut traffic = vec![0; most + 1];
        for cluster in small {
            traffic.fill(0);
            near[cluster].iter().for_each(|(other, on_link)| traffic[part[*other]] += on_link);
            let room = (0..most).filter(|part| traffic[*part] > 0 && loads[*part] + work[cluster] <= share);
            let nearest = room.max_by_key(|part| (traffic[*part], Reverse(*part)));
            let lightest = || (0..most).min_by_key(|part| loads[*part]).unwrap_or(0);
            part[cluster] = nearest.unwrap_or_else(lightest);
            loads[part[cluster]] += work[cluster];
        }
        (part.into_iter().map(|part| part as u32).collect(), loads.into_iter().max().unwrap_or(0))
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
