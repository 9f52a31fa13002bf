//! Nodes and links of a topology, the paths of flows over them, and the links' round-trip times.

#[path = "clos.rs"]
mod clos;
#[path = "switch.rs"]
mod switch;
#[path = "two_by_two.rs"]
mod two_by_two;
#[path = "varying.rs"]
mod varying;

use super::flows::FlowDraft;
use crate::scenario::Experiment;
use crate::scenario::error::{Fault, FaultKind, ScenarioError, did_you_mean, listed};
use crate::scenario::topology::{Chain, Dumbbell, Graph, Handover, Link, Topology, default_queue};
use haltere_plan::plan::{AppPlan, LinkPlan};
use haltere_plan::rng::Rng;
use haltere_plan::routes::Routes;
use haltere_plan::varying::Varying;
use haltere_units::{Bytes, Dur, Rate, Size};
use std::collections::HashMap;

/// Nodes and links of one run.
pub(crate) struct Network {
    pub(crate) nodes: Vec<String>,
    pub(crate) links: Vec<LinkPlan>,
    /// Where each link stands in the experiment, for errors about its queue.
    pub(crate) places: Vec<String>,
    /// Number of pairs, in a dumbbell.
    pub(crate) pairs: Option<u32>,
    /// Flows are spread over equal paths.
    pub(crate) ecmp: bool,
    by_name: HashMap<String, usize>,
    link_names: HashMap<String, u32>,
}

/// The links that a flow's data takes, and those that come back.
pub(crate) struct Path {
    there: Vec<usize>,
    back: Vec<usize>,
}

impl Network {
    /// The network of that experiment.
    pub(crate) fn of(experiment: &Experiment, seed: u64) -> Result<Network, ScenarioError> {
        let mut network = Network {
            nodes: Vec::new(),
            links: Vec::new(),
            places: Vec::new(),
            pairs: None,
            ecmp: false,
            by_name: HashMap::new(),
            link_names: HashMap::new(),
        };
        match &experiment.topology {
            Topology::Dumbbell(dumbbell) => network.dumbbell(dumbbell, seed)?,
            Topology::Chain(chain) => network.chain(chain)?,
            Topology::Switch(switch) => network.switch(switch, experiment.framing)?,
            Topology::LeafSpine(leaf_spine) => network.leaf_spine(leaf_spine)?,
            Topology::FatTree(fat_tree) => network.fat_tree(fat_tree)?,
            Topology::Multipath(two_by_two) => network.two_by_two(two_by_two)?,
            Topology::Graph(graph) => network.graph(graph)?,
        }
        network.set_means(experiment);
        Ok(network)
    }

    /// Index of the node of that name, which stands at `key` in the table `path`.
    pub(crate) fn node(&self, name: &str, path: &str, key: &str) -> Result<usize, ScenarioError> {
        self.by_name.get(name).copied().ok_or_else(|| {
            let rule = format!("one of the nodes {}", listed(&self.nodes));
            Fault::new(path, key, rule, format!("`{name}`")).hint(did_you_mean(name, &self.nodes)).unknown_name()
        })
    }

    fn dumbbell(&mut self, dumbbell: &Dumbbell, seed: u64) -> Result<(), ScenarioError> {
        const PATH: &str = "topology.dumbbell";
        let (left, right) = (self.add("left"), self.add("right"));
        let core = both(&dumbbell.bottleneck, &format!("{PATH}.bottleneck"))?;
        let access = both(&dumbbell.access, &format!("{PATH}.access"))?;
        self.join(left, right, &core, |link| link.watch.unwrap_or(true));
        self.pairs = Some(dumbbell.pairs);
        for (i, shift) in shifts(dumbbell, &core, &access, seed)?.into_iter().enumerate() {
            let mut mine = access.clone();
            for direction in &mut mine {
                direction.link.delay = Dur::from_ns((direction.link.delay.as_ns() as i128 + shift) as u64);
            }
            let (client, server) = (self.add(&format!("c{}", i + 1)), self.add(&format!("s{}", i + 1)));
            self.join(client, left, &mine, |link| link.watch.unwrap_or(false));
            self.join(server, right, &mine, |link| link.watch.unwrap_or(false));
        }
        Ok(())
    }

    fn chain(&mut self, chain: &Chain) -> Result<(), ScenarioError> {
        const PATH: &str = "topology.chain";
        let names = match chain.nodes.as_slice() {
            [] => (1..=chain.links.len() + 1).map(|i| format!("n{i}")).collect(),
            given => given.to_vec(),
        };
        if names.len() != chain.links.len() + 1 {
            let rule = format!("a list of {}, one more than links", chain.links.len() + 1);
            return Err(Fault::new(PATH, "nodes", rule, format!("a list of {}", names.len())).out_of_range());
        }
        self.add_all(&names, PATH)?;
        let links = chain.links.iter().enumerate().map(|(i, link)| both(link, &format!("{PATH}.links[{i}]")));
        let links = links.collect::<Result<Vec<_>, _>>()?;
        let slowest = slowest(&links);
        for (i, link) in links.iter().enumerate() {
            self.join(i, i + 1, link, |direction| watched(direction, slowest));
        }
        Ok(())
    }

    fn graph(&mut self, graph: &Graph) -> Result<(), ScenarioError> {
        const PATH: &str = "topology.graph";
        self.add_all(&graph.nodes, PATH)?;
        let links = graph.links.iter().enumerate().map(|(i, l)| both(&l.link, &format!("{PATH}.links[{i}]")));
        let links = links.collect::<Result<Vec<_>, _>>()?;
        let slowest = slowest(&links);
        for (i, (written, link)) in graph.links.iter().zip(&links).enumerate() {
            let path = format!("{PATH}.links[{i}]");
            let (from, to) = (self.node(&written.from, &path, "from")?, self.node(&written.to, &path, "to")?);
            if from == to {
                return Err(
                    Fault::new(path, "to", "another node than `from`", format!("`{}`", written.to)).out_of_range()
                );
            }
            self.join(from, to, link, |direction| watched(direction, slowest));
        }
        Ok(())
    }

    fn add(&mut self, name: &str) -> usize {
        self.by_name.insert(name.into(), self.nodes.len());
        self.nodes.push(name.into());
        self.nodes.len() - 1
    }

    fn add_all(&mut self, names: &[String], path: &str) -> Result<(), ScenarioError> {
        for (i, name) in names.iter().enumerate() {
            let fault = |rule: &str| Fault::new(path, format!("nodes[{i}]"), rule, format!("`{name}`")).out_of_range();
            if self.by_name.contains_key(name) {
                return Err(fault("a name of its own"));
            }
            if name.is_empty()
                || name.contains(['>', ':', '#'])
                || name.chars().any(|c| c.is_control() || c.is_whitespace())
            {
                return Err(fault("a name without blanks, `>`, `:` and `#`"));
            }
            self.add(name);
        }
        Ok(())
    }

    /// Adds both directions of a link.
    fn join(&mut self, from: usize, to: usize, directions: &[Direction; 2], watched: impl Fn(&Link) -> bool) {
        for (direction, (from, to)) in directions.iter().zip([(from, to), (to, from)]) {
            self.lay(from, to, direction, watched(&direction.link));
        }
    }

    /// Adds one direction of a link.
    fn lay(&mut self, from: usize, to: usize, direction: &Direction, watched: bool) {
        let base = format!("{}>{}", self.nodes[from], self.nodes[to]);
        let count = self.link_names.entry(base.clone()).or_insert(0);
        *count += 1;
        let name = if *count == 1 { base } else { format!("{base}#{count}") };
        let link = &direction.link;
        self.links.push(LinkPlan {
            name,
            from,
            to,
            rate: link.rate,
            delay: link.delay,
            varying: direction.varying.clone(),
            jitter: link.jitter,
            loss: link.loss,
            queue: link.queue.clone(),
            ring: direction.ring,
            handover_at_start: link.handover == Handover::Start,
            burst: link.burst,
            mpu: direction.mpu,
            watched,
            rtt: None,
        });
        self.places.push(direction.place.clone());
    }

    /// The paths of all flows; a flow whose ends do not reach each other is an error.
    pub(crate) fn route(&self, flows: &[FlowDraft]) -> Result<Vec<Path>, ScenarioError> {
        let mut routes = Routes::new(self.nodes.len(), self.links.iter().map(|l| (l.from, l.to, l.delay)));
        let mut paths = Vec::with_capacity(flows.len());
        let ends = |flow: &FlowDraft| match &flow.plan.app {
            AppPlan::Arrivals(arrivals) => {
                // Between all these hosts: each of them sends to one halfway round.
                let (hosts, n) = (arrivals.hosts.clone(), arrivals.hosts.len());
                (0..n).map(|i| (hosts[i], hosts[(i + n / 2) % n])).collect()
            }
            _ => vec![(flow.plan.from, flow.plan.to)],
        };
        for (flow, (from, to)) in flows.iter().flat_map(|flow| ends(flow).into_iter().map(move |ends| (flow, ends))) {
            match (routes.path(from, to), routes.path(to, from)) {
                (Some(there), Some(back)) => paths.push(Path { there, back }),
                _ => {
                    let rule = format!("a node that can be reached from `{}`", self.nodes[flow.from_written]);
                    let got = format!("`{}`", self.nodes[flow.to_written]);
                    let hint = "no links join the two";
                    return Err(Fault::new(&flow.place, "to", rule, got).hint(hint).unreachable());
                }
            }
        }
        Ok(paths)
    }

    /// Gives each link the median round-trip time of the flows over it, those of their replies included; a link without
    /// flows gets the median of all flows.
    pub(crate) fn set_round_trips(&mut self, paths: &[Path]) {
        let mut over: Vec<Vec<Dur>> = vec![Vec::new(); self.links.len()];
        let mut all = Vec::with_capacity(paths.len());
        for path in paths {
            let links = || path.there.iter().chain(&path.back);
            let rtt = links().fold(Dur::ZERO, |sum, &l| sum.saturating_add(self.links[l].delay));
            links().for_each(|&l| over[l].push(rtt));
            all.push(rtt);
        }
        let all = median(&mut all);
        for (link, rtts) in self.links.iter_mut().zip(&mut over) {
            link.rtt = median(rtts).or(all);
        }
    }
}

/// One direction of a link as written.
#[derive(Clone)]
struct Direction {
    link: Link,
    ring: Option<u32>,
    mpu: Bytes,
    varying: Option<Box<Varying>>,
    place: String,
}

/// Both directions of a link, the second with its overrides.
fn both(link: &Link, place: &str) -> Result<[Direction; 2], ScenarioError> {
    let mut reverse = link
        .reverse
        .apply(link)
        .map_err(|e| Fault::new(place, "reverse", "what the schema says", e).hint("this is a bug of Haltere").bug())?;
    varying::one_capacity(&mut reverse, &link.reverse);
    // An override tells about the other direction only, so `place` names the table that gave the queue.
    let back = if link.reverse.has("queue") { format!("{place}.reverse") } else { place.into() };
    Ok([direction(link.clone(), place, place.into())?, direction(reverse, &reverse_path(link, place), back)?])
}

fn reverse_path(link: &Link, place: &str) -> String {
    if link.reverse.is_empty() { place.into() } else { format!("{place}.reverse") }
}

fn direction(link: Link, path: &str, place: String) -> Result<Direction, ScenarioError> {
    if link.rate == Some(Rate::ZERO) {
        let hint = "leave it out for a link on which packets take no time";
        return Err(Fault::new(path, "rate", "above zero", Rate::ZERO).hint(hint).out_of_range());
    }
    let ring = match link.ring {
        None => None,
        Some(Size::Packets(n)) if n >= 1 && n <= u64::from(u32::MAX) => Some(n as u32),
        Some(other) => {
            let rule = format!("from 1p to {}p, in packets", u32::MAX);
            return Err(Fault::new(path, "ring", rule, other).out_of_range());
        }
    };
    let varying = varying::of(&link, path)?;
    Ok(Direction { link, ring, mpu: Bytes::ZERO, varying, place })
}

fn slowest(links: &[[Direction; 2]]) -> Option<Rate> {
    links.iter().flatten().filter_map(|d| d.link.rate).min()
}

fn watched(link: &Link, slowest: Option<Rate>) -> bool {
    let slow = link.rate.is_some() && link.rate == slowest;
    link.watch.unwrap_or(slow || link.queue != default_queue() || link.trace.is_some() || !link.schedule.is_empty())
}

/// By how many nanoseconds the access delays of each pair differ from what is written, so that the round-trip times
/// spread evenly. A round trip crosses four access links.
fn shifts(d: &Dumbbell, core: &[Direction; 2], access: &[Direction; 2], seed: u64) -> Result<Vec<i128>, ScenarioError> {
    let pairs = d.pairs as usize;
    let delay = |both: &[Direction; 2]| both.iter().map(|d| i128::from(d.link.delay.as_ns())).sum::<i128>();
    let rtt = delay(core) + 2 * delay(access);
    let most = (rtt as f64 * d.rtt_spread.as_f64() / 4.0).round() as i128;
    let least = access.iter().map(|d| i128::from(d.link.delay.as_ns())).min().unwrap_or(0);
    if most > least {
        let limit = (least * 400) as f64 / rtt as f64;
        let rule = format!("at most {:.1}% with these delays", (limit * 10.0).floor() / 10.0);
        let got = format!("{}%", d.rtt_spread.as_f64() * 100.0);
        let hint = "the access links are what differs: give them more of the delay";
        return Err(Fault::new("topology.dumbbell", "rtt_spread", rule, got).hint(hint).out_of_range());
    }
    let last = pairs.saturating_sub(1).max(1) as i128;
    let mut shifts: Vec<i128> =
        (0..pairs as i128).map(|i| if pairs == 1 { 0 } else { most * (2 * i - last) / last }).collect();
    Rng::new(seed, "rtt_spread").shuffle(&mut shifts);
    Ok(shifts)
}

/// The median: of an even number, halfway between the two in the middle.
fn median(values: &mut [Dur]) -> Option<Dur> {
    values.sort_unstable();
    let n = values.len();
    let (low, high) = (values.get(n.checked_sub(1)? / 2)?.as_ns(), values[n / 2].as_ns());
    Some(Dur::from_ns(low + (high - low) / 2))
}
