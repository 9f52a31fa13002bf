//! The picture of a network as data: which nodes and links a drawing shows, those that are alike as one.
//!
//! It follows from the graph: hosts on one link each to the same node, with the same link and the same part in the
//! traffic, are drawn as one. A topology may say more by a [`Hint`](super::network::Hint): which nodes belong together,
//! and in which column they are.

use super::network::NetworkDraft;
use haltere_plan::LinkQueue;
use haltere_plan::plan::{FlowPlan, LinkPlan};
use haltere_plan::varying::Capacity;
use haltere_units::{Bytes, Dur, Rate};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Fewer alike hosts than this are drawn each for itself, if the topology does not say that they belong together.
const FEWEST_AS_ONE: usize = 3;

/// A network to be drawn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drawing {
    /// The nodes, in the network's order.
    pub nodes: Vec<DrawnNode>,
    /// The links, in the network's order.
    pub links: Vec<DrawnLink>,
}

/// A node, or several as one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DrawnNode {
    /// The name of the first of them, by which links name it.
    pub name: String,
    /// What its names begin with, if the topology draws them as one: `c` of `c1`, `c2`, ...
    pub group: Option<&'static str>,
    /// What is written on it: the name, two names, or the first and the last.
    pub label: String,
    /// How many they are.
    pub count: usize,
    /// It is a host, not a switch: it sends or receives data, or has one link only.
    pub host: bool,
    /// Its column, from 0 on the left, if the topology says.
    pub layer: Option<u32>,
}

/// A link between two drawn nodes, or several as one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DrawnLink {
    /// Name of the drawn node at one end.
    pub from: String,
    /// Name of the drawn node at the other end.
    pub to: String,
    /// How many they are.
    pub count: usize,
    /// The direction from `from` to `to`.
    pub there: DrawnDirection,
    /// The other direction; `None`: the link has one.
    pub back: Option<DrawnDirection>,
}

/// One direction of a link. Of several links it is the first; delays are the least and the most.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DrawnDirection {
    /// The rate; of a trace its mean. `None`: packets take no time.
    pub rate: Option<Rate>,
    /// Every packet takes the same time on it: packets per second.
    pub packet_rate: Option<f64>,
    /// The rate follows a trace.
    pub trace: bool,
    /// Rate or delay change in steps.
    pub schedule: bool,
    /// The least and the most propagation time.
    pub delay: [Dur; 2],
    /// Each packet is delayed by up to this in addition; of Wi-Fi's jitter the mean.
    pub jitter: Dur,
    /// Probability that a packet is lost.
    pub loss: f64,
    /// The queue discipline with its parameters.
    pub queue: LinkQueue,
    /// Packets in the device ring under it.
    pub ring: Option<u32>,
    /// It is sampled and reported.
    pub watched: bool,
}

/// What a node does in the traffic: its part and the kind, of each flow.
type Roles = BTreeSet<(bool, &'static str)>;

impl Drawing {
    pub(crate) fn of<'a>(network: &NetworkDraft, flows: impl Iterator<Item = &'a FlowPlan>) -> Drawing {
        let links = joined(&network.links);
        let mut roles = vec![Roles::new(); network.nodes.len()];
        let mut sends: Vec<Option<bool>> = vec![None; network.nodes.len()];
        for flow in flows.filter(|flow| flow.app.arrivals().is_none()) {
            for (node, sender) in [(flow.from, true), (flow.to, false)] {
                roles[node].insert((sender, flow.app.kind()));
                sends[node].get_or_insert(sender);
            }
        }
        let layers = layers(network, &sends);
        let stands_for = classes(network, &links, &roles, &layers);
        let nodes = nodes(network, &stands_for, &roles, &layers);
        let links = drawn_links(network, &links, &stands_for, &layers);
        Drawing { nodes, links }
    }
}

/// Indices of the two directions of each link.
type Joined = (usize, Option<usize>);

/// The links, each direction with the other one.
fn joined(links: &[LinkPlan]) -> Vec<Joined> {
    let mut out: Vec<Joined> = Vec::new();
    let mut open: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
    for (i, link) in links.iter().enumerate() {
        match open.get_mut(&(link.to, link.from)).filter(|waiting| !waiting.is_empty()) {
            Some(waiting) => out[waiting.remove(0)].1 = Some(i),
            None => {
                open.entry((link.from, link.to)).or_default().push(out.len());
                out.push((i, None));
            }
        }
    }
    out
}

/// The column of each node that has one. If all hosts of a group send, or none does, the first half is on the left.
fn layers(network: &NetworkDraft, sends: &[Option<bool>]) -> Vec<Option<u32>> {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (node, hint) in &network.hints {
        groups.entry(hint.group).or_default().push(*node);
    }
    let mut out = vec![None; network.nodes.len()];
    for nodes in groups.values_mut() {
        nodes.sort_unstable();
        let left = nodes.iter().filter(|node| sends[**node] == Some(true)).count();
        let half = left == 0 || left == nodes.len();
        for (place, node) in nodes.iter().enumerate() {
            let hint = network.hints[node];
            let sender = if half { place < nodes.len() / 2 } else { sends[*node] == Some(true) };
            out[*node] = Some(if sender { hint.layer } else { hint.receivers_layer });
        }
    }
    out
}

/// The node that represents each: the first of those that are drawn as one.
fn classes(network: &NetworkDraft, links: &[Joined], roles: &[Roles], layers: &[Option<u32>]) -> Vec<usize> {
    let mut degree = vec![0usize; network.nodes.len()];
    let mut only_link = vec![0usize; network.nodes.len()];
    for (i, (there, _)) in links.iter().enumerate() {
        let LinkPlan { from, to, .. } = network.links[*there];
        for node in [from, to] {
            degree[node] += 1;
            only_link[node] = i;
        }
    }
    let mut classes: HashMap<String, Vec<usize>> = HashMap::new();
    let mut out: Vec<usize> = (0..network.nodes.len()).collect();
    for node in 0..network.nodes.len() {
        let key = match network.hints.get(&node) {
            Some(hint) => format!("{} {:?}", hint.group, layers[node]),
            None if degree[node] == 1 => {
                let (there, back) = links[only_link[node]];
                let link = &network.links[there];
                let other = link.from + link.to - node;
                if degree[other] == 1 {
                    continue;
                }
                let told = |i: usize| serde_json::to_string(&direction(&network.links[i])).unwrap_or_default();
                format!("{other} {} {} {:?} {:?}", link.from == node, told(there), back.map(told), roles[node])
            }
            None => continue,
        };
        classes.entry(key).or_default().push(node);
    }
    for nodes in classes.values() {
        if network.hints.contains_key(&nodes[0]) || nodes.len() >= FEWEST_AS_ONE {
            nodes.iter().for_each(|&node| out[node] = nodes[0]);
        }
    }
    out
}

fn nodes(network: &NetworkDraft, stands_for: &[usize], roles: &[Roles], layers: &[Option<u32>]) -> Vec<DrawnNode> {
    let mut links = vec![0usize; network.nodes.len()];
    network.links.iter().for_each(|link| links[link.from] += 1);
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (node, &first) in stands_for.iter().enumerate() {
        members.entry(first).or_default().push(node);
    }
    let drawn = |(first, nodes): (usize, Vec<usize>)| {
        let name = |node: usize| network.nodes[node].as_str();
        let label = match nodes.as_slice() {
            [one] => name(*one).to_owned(),
            [one, two] => format!("{}, {}", name(*one), name(*two)),
            [one, .., last] => format!("{} … {}", name(*one), name(*last)),
            [] => String::new(),
        };
        let hint = network.hints.get(&first);
        DrawnNode {
            name: name(first).to_owned(),
            group: hint.map(|hint| hint.group),
            label,
            count: nodes.len(),
            host: hint.map_or(links[first] == 1 || !roles[first].is_empty(), |hint| hint.host),
            layer: layers[first],
        }
    };
    members.into_iter().map(drawn).collect()
}

fn drawn_links(
    network: &NetworkDraft,
    links: &[Joined],
    stands_for: &[usize],
    layers: &[Option<u32>],
) -> Vec<DrawnLink> {
    let mut several = vec![false; stands_for.len()];
    for (node, &first) in stands_for.iter().enumerate().filter(|(node, first)| node != *first) {
        (several[node], several[first]) = (true, true);
    }
    let mut out: Vec<DrawnLink> = Vec::new();
    let mut places: HashMap<(usize, usize), usize> = HashMap::new();
    for &(there, back) in links {
        let link = &network.links[there];
        // Of a host with one link in and another one out, only that towards the right is drawn.
        if back.is_none() && layers[link.from].zip(layers[link.to]).is_some_and(|(from, to)| from > to) {
            continue;
        }
        let (from, to) = (stands_for[link.from], stands_for[link.to]);
        // Parallel links between two nodes that are drawn by themselves are drawn side by side.
        let as_one = several[from] || several[to];
        if let Some(&place) = places.get(&(from, to)).filter(|_| as_one) {
            out[place].count += 1;
            out[place].there.widen(link);
            if let (Some(direction), Some(back)) = (&mut out[place].back, back) {
                direction.widen(&network.links[back]);
            }
            continue;
        }
        places.insert((from, to), out.len());
        let (there, back) = (direction(link), back.map(|back| direction(&network.links[back])));
        let (from, to) = (network.nodes[from].clone(), network.nodes[to].clone());
        out.push(DrawnLink { from, to, count: 1, there, back });
    }
    out
}

fn direction(link: &LinkPlan) -> DrawnDirection {
    let varying = link.varying.as_deref();
    DrawnDirection {
        rate: link.rate,
        packet_rate: link
            .rate
            .filter(|_| link.mpu > Bytes::ZERO)
            .map(|rate| rate.as_bps_f64() / 8.0 / link.mpu.as_f64()),
        trace: varying.is_some_and(|varying| matches!(varying.capacity, Capacity::Trace(_) | Capacity::TwoTraces(_))),
        schedule: varying
            .is_some_and(|v| matches!(v.capacity, Capacity::Schedule(_)) || v.delay.is_some() || v.loss.is_some()),
        delay: [link.delay; 2],
        jitter: link.jitter.size(),
        loss: link
            .impairments
            .as_ref()
            .and_then(|all| all.gilbert_elliott)
            .map_or(link.loss.as_f64(), |bursts| bursts.loss()),
        queue: link.queue.clone(),
        ring: link.ring,
        watched: link.watched,
    }
}

impl DrawnDirection {
    /// It represents `link`, too.
    fn widen(&mut self, link: &LinkPlan) {
        self.delay = [self.delay[0].min(link.delay), self.delay[1].max(link.delay)];
        self.watched |= link.watched;
    }
}
