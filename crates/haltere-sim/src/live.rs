//! A run that is watched, and changed, during the run.
//!
//! A live run that is never changed gives the same record as [`run`](crate::run), however many steps it takes, if no two
//! packets come to a queue at the same instant. Links do not accept packets [ahead of time](crate::net::ahead), because a
//! change may add paths, so the number of events differs, and the order of such packets may. [`Live::watched`] has no
//! changes and no such difference. A run that is changed is a function of its plans and of the instants at which they were given.

use crate::app::{AnyFlow, App, Asked, Place};
use crate::control::RunControl;
use crate::engine::event::Kind;
use crate::error::RunError;
use crate::net::link::SimLink;
use crate::run::{Run, check, links, path_ports, ports};
use haltere_congestion::outside::OutsideControl;
use haltere_plan::plan::{FlowPlan, LinkPlan};
use haltere_plan::record::{FlowRecord, FlowSample, LinkCounters, PingSample, QueueSample};
use haltere_plan::{Plan, Record};
use haltere_queue::outside::OutsideQueue;
use haltere_queue::{Backlog, Qdisc};
use haltere_transport::Info;
use haltere_units::{ParamError, Probe, Time};
use std::borrow::Cow;

/// A run that is watched, and changed, during the run.
#[derive(Debug)]
pub struct Live {
    network: Run<'static>,
    /// How many samples of queues, flows and pings have been [read](Live::fresh).
    read: [usize; 3],
    /// No plan may replace that of the start.
    fixed: bool,
}

/// Samples that were not read before, each kind in order of time.
#[derive(Debug, Clone, Copy)]
pub struct Fresh<'a> {
    /// The plan after the last change.
    pub plan: &'a Plan,
    /// New samples of watched queues.
    pub queues: &'a [QueueSample],
    /// New samples of flows.
    pub flows: &'a [FlowSample],
    /// New samples of pings.
    pub pings: &'a [PingSample],
}

impl Live {
    /// The run of that plan, at its start.
    pub fn new(plan: Plan) -> Result<Live, RunError> {
        Ok(Live { network: Run::new(Cow::Owned(plan))?, read: [0; 3], fixed: false })
    }
    /// The same for a run that is only watched: [`change`](Live::change) refuses every plan, and the record is that of
    /// [`run`](crate::run) to the byte, also where packets come at the same instant.
    pub fn watched(plan: Plan) -> Result<Live, RunError> {
        let mut live = Live { fixed: true, ..Live::new(plan)? };
        let Run { plan, fabric, .. } = &mut live.network;
        fabric.enable_ahead(plan);
        Ok(live)
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
    /// The same, but ends early: after the first event after which `goes_on` is false.
    pub fn advance_while(
        &mut self,
        until: Time,
        control: &RunControl,
        mut goes_on: impl FnMut(&mut Live) -> bool,
    ) -> Result<(), RunError> {
        let until = until.min(self.plan().end);
        while until > self.now() && self.network.carry_out_next(until, control)? && goes_on(self) {}
        self.network.poll(control)
    }
    /// The samples taken since the last call.
    pub fn fresh(&mut self) -> Fresh<'_> {
        let Run { plan, fabric, .. } = &self.network;
        let (record, [queues, flows, pings]) = (&fabric.record, self.read);
        self.read = [record.queue_series.len(), record.flow_series.len(), record.pings.len()];
        Fresh {
            plan,
            queues: &record.queue_series[queues..],
            flows: &record.flow_series[flows..],
            pings: &record.pings[pings..],
        }
    }
    /// The inner values of the discipline of that link at this time, named and with their units.
    pub fn queue_state(&mut self, link: usize) -> Option<Probe> {
        let Run { fabric, .. } = &mut self.network;
        let (now, mut probe) = (fabric.now, Probe::new());
        let link = fabric.links.get_mut(link)?;
        link.catch_up(now, &mut fabric.pool);
        link.queue().probe(&mut probe);
        Some(probe)
    }
    /// The sender of that flow, and the inner values of its congestion control, at this time. `None`: it has no sender
    /// of TCP.
    pub fn flow_state(&self, flow: usize) -> Option<(Info, Probe)> {
        let flow = self.network.flows.get(flow)?;
        let mut probe = Probe::new();
        flow.sample(self.now(), &mut probe, &mut Record::default());
        Some((flow.sender()?, probe))
    }
    /// The line that the record would have of that flow if the run ended at this time.
    pub fn flow_line(&self, flow: usize) -> Option<FlowRecord> {
        self.network.flows.get(flow).map(AnyFlow::line)
    }
    /// True if that flow is one TCP connection with a limit, and all its bytes are delivered.
    #[inline]
    pub fn is_complete(&self, flow: usize) -> bool {
        self.network.flows.get(flow).and_then(AnyFlow::tcp).is_some_and(|tcp| tcp.completed.is_some())
    }
    /// The congestion control from outside the tree of that flow's sender. `None` if it has none, or has not begun to
    /// send.
    #[inline]
    pub fn outside_control(&mut self, flow: usize) -> Option<&mut dyn OutsideControl> {
        self.network.flows.get_mut(flow)?.tcp_mut()?.control_mut()?.outside_mut()
    }
    /// The discipline from outside the tree of that link, at this time. `None` if it has none.
    pub fn outside_queue(&mut self, link: usize) -> Option<&mut dyn OutsideQueue> {
        let Run { fabric, .. } = &mut self.network;
        let link = fabric.links.get_mut(link)?;
        link.catch_up(fabric.now, &mut fabric.pool);
        link.queue_mut().outside_mut()
    }
    /// The counters of that link up to this time, and what waits in its queue.
    pub fn link_counters(&mut self, link: usize) -> Option<(LinkCounters, Backlog)> {
        let Run { fabric, .. } = &mut self.network;
        let view = fabric.links.get_mut(link)?.view(fabric.now, &mut fabric.pool);
        Some((view.counters, Backlog { packets: view.waiting, bytes: view.waiting_bytes }))
    }
    /// Continues the run with `plan`. Links may have another rate, delay, jitter, loss, discipline and course of rate
    /// and delay. Nodes, links and flows may be added after the existing ones. A flow whose start has passed starts
    /// now. A flow may get a stop, or an earlier one. The file `net/link/change.rs` says what happens to packets in a
    /// link. A plan that differs otherwise is refused, and nothing is changed.
    pub fn change(&mut self, plan: Plan) -> Result<(), RunError> {
        if self.fixed {
            let error = ParamError::new("plan", "that of the start in a run that is only watched", "another");
            return Err(RunError::Param { place: "run".into(), error });
        }
        // The mechanisms that stay know where this run looks for faults.
        let plan = Plan { outside: self.plan().outside.clone(), ..plan };
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
        network.send_emitted();
        for (flow, (had, has)) in network.flows.iter_mut().zip(old.flows.iter().zip(&plan.flows)) {
            if let Some(stop) = has.stop.filter(|_| had.stop != has.stop) {
                flow.set_stop(stop, &mut network.fabric);
            }
        }
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
    fn join(&mut self, plan: &Plan) -> Result<Vec<AnyFlow>, RunError> {
        let fabric = &mut self.network.fabric;
        let (paths, routes) = (fabric.paths.len(), fabric.routes.take());
        fabric.detours.renew(plan);
        let more = plan.flows.iter().enumerate().skip(self.network.flows.len());
        let joined: Result<Vec<AnyFlow>, RunError> = more
            .map(|(index, flow)| {
                let both = ports(plan, flow, index, fabric)?;
                let more = path_ports(plan, flow, index, fabric)?;
                let place = Place { index, ports: both, paths: more, origin: plan.origin(), asked: Asked::of(plan) };
                AnyFlow::new(flow, place)
            })
            .collect();
        if joined.is_err() {
            fabric.paths.truncate(paths);
            fabric.routes = routes;
            fabric.detours.renew(&self.network.plan);
            fabric.detours.forget_from(paths as u32);
        }
        joined
    }
    /// The run is over. Returns its plan and its record.
    pub fn finish(self) -> (Plan, Record) {
        let plan = self.plan().clone();
        (plan, self.network.finish())
    }
}

fn replace(network: &mut Run<'_>, index: usize, link: SimLink, of: (&LinkPlan, u64), with_queue: bool) {
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
                let rule =
                    format!("`{}` as it was except rate, delay, their course, jitter, loss and queue", link.name);
                return refuse("links", rule, format!("`{}`", other.name));
            }
            None => return refuse("links", "those of the run, and any after them".into(), format!("{i} links")),
        }
    }
    for (i, flow) in old.flows.iter().enumerate() {
        let other = new.flows.get(i);
        if other.is_none_or(|other| FlowPlan { stop: flow.stop, ..other.clone() } != *flow) {
            let got = other.map_or_else(|| "nothing".into(), |flow| format!("`{}`", flow.name));
            return refuse("flows", format!("those of the run, `{}` as it was, and any after them", flow.name), got);
        }
        if let Some((rule, got)) = other.and_then(|other| wrong_stop(flow, other.stop, now)) {
            return refuse("stop", format!("{rule} for `{}`", flow.name), got);
        }
    }
    if (old.seed, old.warmup, old.framing, &old.measure, &old.reroutes)
        != (new.seed, new.warmup, new.framing, &new.measure, &new.reroutes)
    {
        return refuse(
            "seed, warmup, framing, measure and changes of the routes",
            "those of the run".into(),
            "others".into(),
        );
    }
    if new.end < now {
        return refuse("duration", format!("at least the {now} that have passed"), new.end.to_string());
    }
    Ok(())
}

/// Why a flow of the run cannot have that stop from `now` on.
fn wrong_stop(flow: &FlowPlan, stop: Option<Time>, now: Time) -> Option<(String, String)> {
    let named = |stop: Option<Time>| stop.map_or_else(|| "none".into(), |at| at.to_string());
    let rule = match stop {
        stop if stop == flow.stop => return None,
        Some(_) if flow.app.arrivals().is_some() => format!("{} as before", named(flow.stop)),
        Some(at) if at < now => format!("at least the {now} that have passed"),
        Some(at) if flow.stop.is_none_or(|had| at < had) => return None,
        _ => format!("at most {} as before", named(flow.stop)),
    };
    Some((rule, named(stop)))
}

fn same_except_what_may_change(old: &LinkPlan, new: &LinkPlan) -> bool {
    let LinkPlan { rate, delay, varying, jitter, loss, queue, rtt, .. } = new.clone();
    LinkPlan { rate, delay, varying, jitter, loss, queue, rtt, ..old.clone() } == *new
}
