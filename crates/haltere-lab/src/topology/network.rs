//! Nodes and links of a topology, the paths of flows over them, and the links' round-trip times.

use super::direction::DirectionDraft;
use super::link::{Handover, LinkSpec};
use super::trace::TraceSpec;
use crate::error::{Fault, FaultKind, ScenarioError};
use crate::limits::{HANDOVERS, LONGEST};
use crate::names::{did_you_mean, rule};
use crate::traffic::draft::FlowDraft;
use haltere_plan::headers::FULL_PACKET;
use haltere_plan::plan::{LinkPlan, Reroute};
use haltere_plan::replay::TwoTraces;
use haltere_plan::rng::Rng;
use haltere_plan::routes::Routes;
use haltere_plan::varying::Capacity;
use haltere_units::{Bytes, Dur, Rate};
use std::collections::HashMap;
use std::rc::Rc;

/// Nodes and links of one run.
#[derive(Default)]
pub(crate) struct NetworkDraft {
    pub(crate) nodes: Vec<String>,
    pub(crate) links: Vec<LinkPlan>,
    /// Where each link is in the experiment, for errors about its queue.
    pub(crate) places: Vec<Rc<str>>,
    /// The pairs of hosts that `pairs` of a traffic entry counts from 1, if the topology has any.
    pub(crate) pairs: Vec<(usize, usize)>,
    /// Flows are spread over equal paths.
    pub(crate) ecmp: bool,
    /// Links whose trace is drawn, by their index.
    drawn: Vec<(usize, TraceSpec)>,
    /// Changes of the routes during the run.
    pub(crate) reroutes: Vec<Reroute>,
    /// Where nodes are in a drawing, if the topology says so.
    pub(crate) hints: HashMap<usize, Hint>,
    by_name: HashMap<String, usize>,
    /// How many links there are from one node to another.
    between: HashMap<(usize, usize), u32>,
}

/// Where a node is in a drawing, and which others are drawn as one with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hint {
    /// Nodes of one group are drawn as one.
    pub(crate) group: &'static str,
    /// Its column, from 0 on the left, if it sends data.
    pub(crate) layer: u32,
    /// Its column if it receives data.
    pub(crate) receivers_layer: u32,
    /// It is a host, not a switch.
    pub(crate) host: bool,
}

impl Hint {
    /// A switch in that column.
    pub(crate) fn switch(group: &'static str, layer: u32) -> Hint {
        Hint { group, layer, receivers_layer: layer, host: false }
    }
    /// A host in that column.
    pub(crate) fn host(group: &'static str, layer: u32) -> Hint {
        Hint { host: true, ..Hint::switch(group, layer) }
    }
    /// In another column if it receives data.
    pub(crate) fn or_receives(self, layer: u32) -> Hint {
        Hint { receivers_layer: layer, ..self }
    }
}

/// The links of each flow's round trip: those that its data takes, and those of its acknowledgements or replies.
#[derive(Default)]
pub(crate) struct RoundTrips {
    links: Vec<u32>,
    /// Where in `links` each round trip ends.
    ends: Vec<usize>,
}

impl RoundTrips {
    fn push(&mut self, links: impl Iterator<Item = usize>) {
        self.links.extend(links.map(|link| link as u32));
        self.ends.push(self.links.len());
    }
    fn iter(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(&start, &end)| &self.links[start..end])
    }
}

impl NetworkDraft {
    /// Draws what changes on the links whose traces are drawn. Both directions of one over satellites draw from one
    /// stream.
    pub(crate) fn draw(&mut self, duration: Dur, seed: u64) -> Result<(), ScenarioError> {
        for (index, trace) in std::mem::take(&mut self.drawn) {
            let place = format!("{}.trace", self.places[index]);
            let link = &mut self.links[index];
            let varying = match trace {
                TraceSpec::Leo(leo) => {
                    if duration.as_ns() / leo.interval.as_ns() > HANDOVERS {
                        let rule = format!("so long that a run has at most {HANDOVERS} hand-overs");
                        return Err(Fault::new(place, "interval", rule, leo.interval).out_of_range());
                    }
                    let ends = [link.from.min(link.to), link.from.max(link.to)].map(|node| self.nodes[node].as_str());
                    let mut rng = Rng::new(seed, &format!("{}>{}/leo", ends[0], ends[1]));
                    leo.draw(&mut rng, duration, link.loss)
                }
                TraceSpec::Cellular(cellular) => {
                    let mut rng = Rng::new(seed, &format!("{}/cellular", link.name));
                    cellular.draw(&mut rng, duration, &place)?
                }
                _ => continue,
            };
            link.varying = Some(Box::new(varying));
        }
        Ok(())
    }
    /// Gives the varying links their mean rate, and the traces without a size of their own that of a full packet.
    pub(crate) fn set_means(&mut self, duration: Dur, framing: Bytes) {
        for link in &mut self.links {
            let Some(varying) = &mut link.varying else { continue };
            if let Capacity::Trace(trace) | Capacity::TwoTraces(TwoTraces { heavy: trace, .. }) = &mut varying.capacity
                && trace.opportunity == Bytes::ZERO
            {
                trace.opportunity = Bytes::new(FULL_PACKET.into()) + framing;
            }
            // A mean that rounds to nothing is still not a link without a rate.
            link.rate = varying.capacity.mean(duration).map(|mean| mean.max(Rate::from_bps(1)));
        }
    }

    /// Index of the node of that name, which is at `key` in the table `path`.
    pub(crate) fn node(&self, name: &str, path: &str, key: &str) -> Result<usize, ScenarioError> {
        self.by_name.get(name).copied().ok_or_else(|| {
            let rule = rule(&self.nodes, "nodes", None);
            Fault::new(path, key, rule, format!("`{name}`")).hint(did_you_mean(name, &self.nodes)).unknown_name()
        })
    }

    pub(crate) fn add(&mut self, name: &str) -> usize {
        self.by_name.insert(name.into(), self.nodes.len());
        self.nodes.push(name.into());
        self.nodes.len() - 1
    }

    /// Says where a node is in a drawing.
    pub(crate) fn show(&mut self, node: usize, hint: Hint) {
        self.hints.insert(node, hint);
    }

    /// Adds nodes whose names the user gave.
    pub(crate) fn add_all(&mut self, names: &[String], path: &str) -> Result<(), ScenarioError> {
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
    pub(crate) fn join(
        &mut self,
        from: usize,
        to: usize,
        directions: &[DirectionDraft; 2],
        watched: impl Fn(&LinkSpec) -> bool,
    ) {
        for (direction, (from, to)) in directions.iter().zip([(from, to), (to, from)]) {
            self.lay(from, to, direction, watched(&direction.link));
        }
    }

    /// Adds one direction of a link.
    pub(crate) fn lay(&mut self, from: usize, to: usize, direction: &DirectionDraft, watched: bool) {
        let count = self.between.entry((from, to)).or_insert(0);
        *count += 1;
        let (first, second) = (&self.nodes[from], &self.nodes[to]);
        let name = if *count == 1 { format!("{first}>{second}") } else { format!("{first}>{second}#{count}") };
        let link = &direction.link;
        if let Some(trace @ (TraceSpec::Leo(_) | TraceSpec::Cellular(_))) = &link.trace {
            self.drawn.push((self.links.len(), trace.clone()));
        }
        self.links.push(LinkPlan {
            name,
            from,
            to,
            rate: link.rate,
            delay: link.delay,
            varying: direction.varying.clone(),
            jitter: link.jitter.into(),
            loss: link.loss.probability(),
            queue: link.queue.clone(),
            ring: direction.ring,
            handover_at_start: link.handover == Handover::Start,
            burst: link.burst,
            mpu: direction.mpu,
            impairments: link.impairments(),
            watched,
            ..LinkPlan::default()
        });
        self.places.push(direction.place.clone());
    }

    /// Packets that the queue of the last link emits start at that node.
    pub(crate) fn emit_at(&mut self, node: usize) {
        if let Some(link) = self.links.last_mut() {
            link.emits_at = Some(node);
        }
    }

    /// The paths of all flows; a flow whose ends do not reach each other is an error.
    pub(crate) fn route(&self, flows: &[FlowDraft]) -> Result<RoundTrips, ScenarioError> {
        let mut routes = Routes::new(self.nodes.len(), self.links.iter().map(|l| (l.from, l.to, l.delay)));
        let mut paths = RoundTrips::default();
        let longest: Vec<Dur> = self.links.iter().map(longest_delay).collect();
        let ends = |flow: &FlowDraft| flow.plan.app.ends(flow.plan.from, flow.plan.to);
        for (flow, (from, to)) in flows.iter().flat_map(|flow| ends(flow).into_iter().map(move |ends| (flow, ends))) {
            match (routes.path(from, to), routes.path(to, from)) {
                (Some(there), Some(back)) => {
                    let links = || there.iter().chain(&back).copied();
                    let rtt = links().fold(Dur::ZERO, |sum, link| sum.saturating_add(longest[link]));
                    if rtt > LONGEST {
                        let rule = format!("a node with a round trip of at most {LONGEST}, a year");
                        return Err(Fault::new(&*flow.place, "to", rule, rtt).out_of_range());
                    }
                    paths.push(links());
                }
                _ => {
                    let rule = format!("a node that can be reached from `{}`", self.nodes[flow.from_written]);
                    let got = format!("`{}`", self.nodes[flow.to_written]);
                    let hint = "no links join the two";
                    return Err(Fault::new(&*flow.place, "to", rule, got).hint(hint).unreachable());
                }
            }
        }
        Ok(paths)
    }

    /// Gives each link the median round-trip time of the flows over it, those of their replies included; a link without
    /// flows gets the median of all flows.
    pub(crate) fn set_round_trips(&mut self, paths: &RoundTrips) {
        let (mut all, mut over) = (Vec::with_capacity(paths.ends.len()), Vec::with_capacity(paths.links.len()));
        for links in paths.iter() {
            let rtt = links.iter().fold(Dur::ZERO, |sum, &link| sum.saturating_add(self.links[link as usize].delay));
            over.extend(links.iter().map(|&link| (link, rtt)));
            all.push(rtt);
        }
        all.sort_unstable();
        let of_all = median(all.len(), |i| all[i]);
        self.links.iter_mut().for_each(|link| link.rtt = of_all);
        over.sort_unstable();
        for of_link in over.chunk_by(|one, next| one.0 == next.0) {
            self.links[of_link[0].0 as usize].rtt = median(of_link.len(), |i| of_link[i].1);
        }
    }
}

/// The most time that a packet needs on a line, besides that of its transmission.
fn longest_delay(link: &LinkPlan) -> Dur {
    let steps = link.varying.iter().filter_map(|varying| varying.delay.as_ref());
    let delays = steps.flat_map(|delay| delay.steps.iter().map(|step| step.1).chain([delay.first]));
    let held_back = link.impairments.as_ref().map_or(Dur::ZERO, |line| line.reorder_by);
    let jitters = link.varying.iter().filter_map(|varying| varying.jitter.as_ref());
    let jitters = jitters.flat_map(|jitter| jitter.steps.iter().map(|step| step.1));
    let most = jitters.chain([link.jitter]).map(|jitter| jitter.most()).max().unwrap_or_default();
    delays.fold(link.delay, Dur::max).saturating_add(most).saturating_add(held_back)
}

/// The median of so many values in ascending order: of an even number, halfway between the two in the middle.
fn median(n: usize, value: impl Fn(usize) -> Dur) -> Option<Dur> {
    let (low, high) = (value(n.checked_sub(1)? / 2).as_ns(), value(n / 2).as_ns());
    Some(Dur::from_ns(low + (high - low) / 2))
}
