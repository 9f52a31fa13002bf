//! A run that is watched, and changed, during the run.
//!
//! A live run that is never changed gives the same record as [`run`](crate::run), however many steps it takes. Only the number of events
//! differs: links do not accept packets [ahead of time](crate::net::ahead), because a change may add paths. A run that is changed is
//! a function of its plans and of the instants at which they were given.

use crate::app::{Asked, Flow, Place};
use crate::control::RunControl;
use crate::engine::event::Kind;
use crate::error::RunError;
use crate::net::link::Link;
use crate::run::{Network, check, links, path_ports, ports};
use haltere_plan::plan::{FlowPlan, LinkPlan};
use haltere_plan::record::{FlowSample, PingSample, QueueSample};
use haltere_plan::{Plan, Record, Routes};
use haltere_units::{ParamError, Time};
use std::borrow::Cow;

/// A run that is watched, and changed, during the run.
#[derive(Debug)]
pub struct Live {
    network: Network<'static>,
    /// How many samples of queues, flows and pings have been [read](Live::fresh).
    read: [usize; 3],
}

/// Samples that were not read before, each kind in order of time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fresh<'a> {
    /// Of watched queues.
    pub queues: &'a [QueueSample],
    /// Of flows.
    pub flows: &'a [FlowSample],
    /// Of pings.
    pub pings: &'a [PingSample],
}

impl Live {
    /// The run of that plan, at its start.
    pub fn new(plan: Plan) -> Result<Live, RunError> {
        Ok(Live { network: Network::new(Cow::Owned(plan))?, read: [0; 3] })
    }
    /// The plan after the last change.
    pub fn plan(&self) -> &Plan {
        &self.network.plan
    }
    /// The virtual time reached.
    pub fn now(&self) -> Time {
        self.network.fabric.now
    }
    /// Runs on to `until`, at most to the plan's end. A run that was cancelled is at a time in between.
    pub fn advance(&mut self, until: Time, control: &RunControl) -> Result<(), RunError> {
        let until = until.min(self.plan().end);
        if until > self.now() { self.network.run_until(until, control) } else { Ok(()) }
    }
    /// The samples taken since the last call.
    pub fn fresh(&mut self) -> Fresh<'_> {
        let record = &self.network.fabric.record;
        let [queues, flows, pings] = self.read;
        self.read = [record.queue_series.len(), record.flow_series.len(), record.pings.len()];
        Fresh {
            queues: &record.queue_series[queues..],
            flows: &record.flow_series[flows..],
            pings: &record.pings[pings..],
        }
    }
    /// Continues the run with `plan`. Links may have another rate, delay, jitter, loss and discipline. Nodes, links and flows may be
    /// added after the existing ones. A flow whose start has passed starts now. The file `net/link/change.rs` says what happens to
    /// packets in a link. A plan that differs otherwise is refused, and nothing is changed.
    pub fn change(&mut self, plan: Plan) -> Result<(), RunError> {
        check(&plan)?;
        fits(self.plan(), &plan, self.now())?;
        let (old, known) = (self.network.plan.clone(), self.network.plan.links.len());
        let differ: Vec<usize> = (0..known).filter(|&i| old.links[i] != plan.links[i]).collect();
        let fresh = links(&plan)?;
        let joined = self.join(&plan)?;
        let network = &mut self.network;
        for (i, link) in fresh.into_iter().enumerate() {
            if i >= known {
                network.fabric.links.push(link);
            } else if differ.contains(&i) {
                replace(network, i, link, (&plan.links[i], plan.seed), old.links[i].queue != plan.links[i].queue);
            }
        }
        network.send_back();
        network.spawned.change(&plan, network.flows.len());
        for flow in joined {
            let (index, start) = (network.flows.len(), plan.flows[network.flows.len()].start);
            network.flows.push(flow);
            network.fabric.schedule(start.max(network.fabric.now), Kind::Start, index);
        }
        network.plan = Cow::Owned(plan);
        Ok(())
    }
    /// The flows that `plan` adds. Adds their paths.
    fn join(&mut self, plan: &Plan) -> Result<Vec<Flow>, RunError> {
        let fabric = &mut self.network.fabric;
        let (paths, routes) = (fabric.paths.len(), core::mem::replace(&mut fabric.routes, Routes::of(plan)));
        let more = plan.flows.iter().enumerate().skip(self.network.flows.len());
        let joined: Result<Vec<Flow>, RunError> = more
            .map(|(index, flow)| {
                let both = ports(plan, flow, index, fabric)?;
                let more = path_ports(plan, flow, index, fabric)?;
                Flow::new(flow, Place { index, ports: both, paths: more, seed: plan.seed, asked: Asked::of(plan) })
            })
            .collect();
        if joined.is_err() {
            fabric.paths.truncate(paths);
            fabric.routes = routes;
        }
        joined
    }
    /// The run is over. Returns its plan and its record.
    pub fn finish(self) -> (Plan, Record) {
        let plan = self.plan().clone();
        (plan, self.network.finish())
    }
}

fn replace(network: &mut Network<'_>, index: usize, link: Link, of: (&LinkPlan, u64), with_queue: bool) {
    let fabric = &mut network.fabric;
    let next = fabric.links[index].change_to(link, of, with_queue, fabric.now, &mut fabric.pool);
    fabric.schedule_next(index as u32, next);
}

/// Refuses a plan with which a run of `old` cannot continue at `now`.
fn fits(old: &Plan, new: &Plan, now: Time) -> Result<(), RunError> {
    let refuse = |name, rule: String, got: String| {
        Err(RunError::Param { place: "change".into(), error: ParamError::new(name, rule, got) })
    };
    let nodes = |plan: &Plan| plan.nodes.len().min(old.nodes.len());
    if new.nodes[..nodes(new)] != old.nodes[..] {
        return refuse("nodes", "those of the run, and any after them".into(), format!("{} nodes", new.nodes.len()));
    }
    for (i, link) in old.links.iter().enumerate() {
        match new.links.get(i) {
            Some(other) if same_except_what_may_change(link, other) => {}
            Some(other) => {
                let rule = format!("`{}` as it was except rate, delay, jitter, loss and queue", link.name);
                return refuse("links", rule, format!("`{}`", other.name));
            }
            None => return refuse("links", "those of the run, and any after them".into(), format!("{i} links")),
        }
    }
    for (i, flow) in old.flows.iter().enumerate() {
        if new.flows.get(i) != Some(flow) {
            let got = new.flows.get(i).map_or_else(|| "nothing".into(), |flow: &FlowPlan| format!("`{}`", flow.name));
            return refuse("flows", format!("those of the run, `{}` as it was, and any after them", flow.name), got);
        }
    }
    if (old.seed, old.warmup, old.framing, &old.measure) != (new.seed, new.warmup, new.framing, &new.measure) {
        return refuse("seed, warmup, framing and measure", "those of the run".into(), "others".into());
    }
    if new.end < now {
        return refuse("duration", format!("at least the {now} that have passed"), new.end.to_string());
    }
    Ok(())
}

fn same_except_what_may_change(old: &LinkPlan, new: &LinkPlan) -> bool {
    let LinkPlan { rate, delay, jitter, loss, queue, rtt, .. } = new.clone();
    LinkPlan { rate, delay, jitter, loss, queue, rtt, ..old.clone() } == *new
}
