//! A run: builds the network of a plan and carries out its events until the end.
//!
//! What a run does is what this loop does, which acts on every instant (`tests/it/event_loop.rs` compares the records):
//!
//! ```ignore
#![doc = include_str!("../tests/it/event_loop/reference.rs")]
//! ```
//!
//! It is faster because pending events are in a timing wheel, links are computed lazily, and packets lie in one pool.

use crate::app::arrivals::{self, FIRST, SpawnedFlows};
use crate::app::{AnyFlow, App, Asked, Elsewhere, Place, check_kinds};
use crate::capture::pcap::Tap;
use crate::control::{Capture, RunControl};
use crate::engine::event::{Kind, Target};
use crate::engine::event_queue::EventQueue;
use crate::engine::large_pages;
use crate::error::RunError;
use crate::hosts::Hosts;
use crate::net::border::Border;
use crate::net::detours::Detours;
use crate::net::fabric::{DELIVER, Fabric, Port};
use crate::net::link::SimLink;
use crate::net::packet::{Header, Packet, Pool};
use crate::parts;
use crate::parts::cut::{Cut, Part};
use crate::prefetcher::Prefetcher;
use crate::recorder::Recorder;
use haltere_plan::plan::{FlowPlan, PathPlan};
use haltere_plan::ports::of_flow;
use haltere_plan::{Histogram, Plan, Record};
use haltere_units::{Dur, ParamError, Time};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// Events between two looks at the cancel flag.
const EVENTS_PER_POLL: u64 = 1024;

/// The state of a run.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub plan: Cow<'a, Plan>,
    pub fabric: Fabric,
    pub flows: Vec<AnyFlow>,
    pub recorder: Recorder,
    pub spawned: SpawnedFlows,
    pub prefetcher: Prefetcher,
    /// The first index of each return path, by (node, destination). `None`: there is no path.
    return_paths: BTreeMap<(u32, u32), Option<u32>>,
    events: u64,
}

/// Runs `plan` to its end.
pub fn run(plan: &Plan, control: &RunControl) -> Result<Record, RunError> {
    run_with_captures(plan, control, Vec::new())
}

/// Runs `plan` to its end and writes the packets of some links to pcapng files.
pub fn run_with_captures(plan: &Plan, control: &RunControl, captures: Vec<Capture>) -> Result<Record, RunError> {
    check(plan)?;
    if let Some(capture) = captures.iter().find(|capture| capture.link >= plan.links.len()) {
        let rule = format!("a link's index below {}", plan.links.len());
        let error = ParamError::new("link", rule, capture.link);
        return Err(RunError::Param { place: "capture".into(), error });
    }
    if let Some(cut) = Cut::of(plan)? {
        return parts::run(plan, &cut, control, captures);
    }
    let mut network = Run::new(Cow::Borrowed(plan))?;
    network.prepare(captures);
    network.run_until(plan.end, control)?;
    network.end()
}

impl<'a> Run<'a> {
    /// The whole network.
    pub fn new(owned: Cow<'a, Plan>) -> Result<Run<'a>, RunError> {
        check(&owned)?;
        Run::part(owned, Part::default())
    }
    /// The part of the network of a plan that was [checked](check).
    pub fn part(owned: Cow<'a, Plan>, part: Part<'_>) -> Result<Run<'a>, RunError> {
        let plan: &Plan = &owned;
        let mut fabric = Fabric {
            now: Time::ZERO,
            events: EventQueue::new(),
            warmup: plan.warmup,
            after_end: plan.end.checked_add(Dur::from_ns(1)).unwrap_or(Time::NEVER),
            links: links(plan)?,
            pool: Pool::default(),
            paths: Vec::new(),
            routes: None,
            detours: Detours::new(plan),
            framing: plan.framing,
            hosts: Hosts::default(),
            border: Border::default(),
            record: Record::default(),
        };
        watch(plan, &mut fabric.links);
        let recorder = Recorder::new(plan, part, &mut fabric);
        let mut flows = large_pages::with_capacity(plan.flows.len());
        for (index, flow) in plan.flows.iter().enumerate() {
            let ports = ports(plan, flow, index, &mut fabric)?;
            let more = path_ports(plan, flow, index, &mut fabric)?;
            if !part.has(flow.from) && !part.has(flow.to) {
                flows.push(AnyFlow::Elsewhere(Elsewhere));
                continue;
            }
            flows.push(AnyFlow::new(
                flow,
                Place { index, ports, paths: more, origin: plan.origin(), asked: Asked::of(plan) },
            )?);
            if part.has(flow.from) {
                fabric.schedule(flow.start, Kind::Start, index);
            }
        }
        // Most runs choose no more paths.
        fabric.routes = None;
        let spawned = SpawnedFlows::new(plan);
        let prefetcher = Prefetcher::default();
        Ok(Run { plan: owned, fabric, flows, recorder, spawned, prefetcher, return_paths: BTreeMap::new(), events: 0 })
    }
    /// Nothing has happened yet, and no paths are added from now on. Writes the packets of these links to files.
    pub fn prepare(&mut self, captures: Vec<Capture>) {
        for capture in captures {
            let link = &mut self.fabric.links[capture.link];
            let tap = Tap::new(capture, &self.plan.links, self.plan.framing);
            link.watch_with(|watch| watch.tap = Some(Box::new(tap)));
        }
        self.fabric.enable_ahead(&self.plan);
    }
    /// The run has reached its end. Closes the files and returns the record.
    pub fn end(mut self) -> Result<Record, RunError> {
        for link in &mut self.fabric.links {
            // The file contains what the line took until the end.
            link.catch_up(self.plan.end, &mut self.fabric.pool);
            if let Some(tap) = link.take_tap() {
                tap.close()?;
            }
        }
        Ok(self.finish())
    }
    /// Carries out everything that is due by `until`.
    pub fn run_until(&mut self, until: Time, control: &RunControl) -> Result<(), RunError> {
        while self.carry_out_next(until, control)? {}
        Ok(())
    }
    /// Carries out the next event, if one is due by `until`. False: none was, and the time is `until`.
    #[inline(always)]
    pub fn carry_out_next(&mut self, until: Time, control: &RunControl) -> Result<bool, RunError> {
        let Some((now, target)) = self.fabric.events.pop(until) else {
            self.fabric.now = until;
            self.poll(control)?;
            return Ok(false);
        };
        debug_assert!(now >= self.fabric.now, "an event at {now} comes after {}", self.fabric.now);
        self.fabric.now = now;
        if self.fabric.events.len() > self.prefetcher.min_pending {
            self.prefetcher.step(target, &mut self.fabric, &self.flows, &self.spawned);
        }
        self.handle(target);
        self.events += 1;
        if self.events.is_multiple_of(EVENTS_PER_POLL) {
            self.poll(control)?;
        }
        Ok(true)
    }
    /// The run is over. Returns its record.
    pub fn finish(self) -> Record {
        let Run { plan, mut fabric, flows, recorder, spawned, events, .. } = self;
        let (warmup, until) = (plan.warmup, plan.measured_until());
        let mut record = recorder.finish(&mut fabric, flows);
        record.packets.iter_mut().for_each(|packet| packet.flow = spawned.flow_of(packet));
        record.events = events;
        if !record.completions.is_empty() {
            haltere_plan::arrivals::set_ideals(&plan, fabric.routes(&plan), &mut record.completions);
        }
        let spawned = spawned.finish(&mut record);
        for flow in spawned.iter().filter(|flow| flow.end != Time::NEVER) {
            // A traffic entry delivered what its completed flows delivered.
            let source = &mut record.flows[flow.flow as usize];
            source.received += flow.bytes;
            source.received_after_warmup += if flow.end > warmup && flow.end <= until { flow.bytes } else { 0 };
        }
        record.completions.splice(0..0, spawned);
        record
    }
    /// Whether the run is to go on: nobody cancelled it, and no mechanism from outside failed.
    pub fn poll(&self, control: &RunControl) -> Result<(), RunError> {
        let at = self.fabric.now;
        if let Some(progress) = control.progress {
            progress.store(at.as_ns(), Ordering::Relaxed);
        }
        if let Some(fault) = self.plan.outside.fault() {
            return Err(RunError::Outside { at, fault: Box::new(fault.clone()) });
        }
        match control.cancel {
            Some(cancel) if cancel.load(Ordering::Relaxed) => Err(RunError::Cancelled { at }),
            _ => Ok(()),
        }
    }
    #[inline(always)]
    fn handle(&mut self, target: Target) {
        let index = target.index();
        match target.kind() {
            Kind::Link => {
                if let Some(place) = self.fabric.on_link(index) {
                    self.receive_or_forward(place);
                }
            }
            Kind::Delivery => self.receive_or_forward(index as u32),
            Kind::Timer => match arrivals::slot(index) {
                Some(slot) => self.spawned.on_timer(slot, index % 2, &mut self.fabric),
                None => self.flows[index / 2].on_timer(index % 2, &mut self.fabric),
            },
            Kind::App => match &mut self.flows[index] {
                flow if flow.spawns() => self.spawned.spawn(index, &self.plan, &mut self.fabric),
                flow => flow.step(&mut self.fabric),
            },
            Kind::Start => match &mut self.flows[index] {
                flow if flow.spawns() => self.spawned.start(index, &mut self.fabric),
                flow => flow.start(&mut self.fabric),
            },
            Kind::Stop => self.flows[index].stop(&mut self.fabric),
            Kind::Record => self.recorder.on_event(index, &mut self.fabric, &self.flows),
        }
        if !self.fabric.pool.ahead.is_empty() {
            self.fabric.send_ahead();
        }
        if !self.fabric.pool.emitted.is_empty() {
            self.send_emitted();
        }
    }
    /// The packet at that place is at a node: it is forwarded, or an endpoint receives it.
    #[inline(always)]
    fn receive_or_forward(&mut self, place: u32) {
        if self.fabric.pass_on(place) {
            return;
        }
        let packet = self.fabric.pool.flights.take(place);
        let endpoint = packet.header.endpoint as usize;
        if let Some(slot) = arrivals::slot(endpoint) {
            return self.spawned.receive(slot, endpoint % 2, packet, &mut self.fabric);
        }
        self.flows[endpoint / 2].receive(endpoint % 2, packet, &mut self.fabric);
    }
    /// Puts the packets that disciplines emitted on their paths.
    #[cold]
    pub fn send_emitted(&mut self) {
        while let Some(mut packet) = self.fabric.pool.emitted.pop() {
            match self.path_of_emitted(&packet) {
                Some(cursor) => {
                    packet.header.cursor = cursor;
                    let place = self.fabric.pool.flights.place(Time::NEVER, packet);
                    self.receive_or_forward(place);
                }
                None => self.fabric.pool.give(&packet),
            }
        }
    }
    /// The path of `packet`. It begins at the emission node of the link whose discipline emitted it, which the cursor
    /// still names.
    fn path_of_emitted(&mut self, packet: &Packet) -> Option<u32> {
        let h = &packet.header;
        let link = self.fabric.paths[h.cursor as usize - 1];
        let node = self.plan.links[link as usize].emission_node() as u32;
        let (plan, fabric) = (&self.plan, &mut self.fabric);
        let cursor = *self.return_paths.entry((node, h.dst)).or_insert_with(|| {
            let start = fabric.paths.len() as u32;
            let found = add_path(fabric.routes(plan).path(node as usize, h.dst as usize), &mut fabric.paths);
            found.then(|| fabric.with_detours((node, h.dst), None, start))
        });
        cursor.map(|cursor| self.fabric.resolve(cursor))
    }
}

/// The links of the plan.
pub(crate) fn links(plan: &Plan) -> Result<Vec<SimLink>, RunError> {
    let link = |link| SimLink::new(link, plan.framing, plan.origin());
    let mut links = large_pages::with_capacity(plan.links.len());
    for plan in &plan.links {
        links.push(link(plan).map_err(|error| RunError::Param { place: format!("link {}", plan.name), error })?);
    }
    Ok(links)
}

/// Sets up what the plan asks of single links beyond their counters.
fn watch(plan: &Plan, links: &mut [SimLink]) {
    let asked = &plan.measure;
    let window = (plan.warmup, asked.until.unwrap_or(Time::NEVER));
    for (index, (link, of)) in links.iter_mut().zip(&plan.links).enumerate() {
        let (delays, log) = (asked.delays && of.watched, asked.logged.contains(&index));
        if delays || log {
            link.watch_with(|watch| {
                (watch.link, watch.window) = (index as u32, window);
                watch.sojourns = delays.then(Histogram::default);
                watch.log = log.then(Vec::new);
            });
        }
    }
}

/// Adds a path to `paths`, and its end. False if there is none.
fn add_path(path: Option<Vec<usize>>, paths: &mut Vec<u32>) -> bool {
    paths.extend(path.iter().flatten().map(|&link| link as u32));
    paths.push(DELIVER);
    path.is_some()
}

/// The port numbers of both ends of a flow.
pub(crate) fn flow_ports(flow: &FlowPlan, index: usize) -> (u16, u16) {
    if flow.app.protocol().has_ports() { of_flow(index) } else { (0, 0) }
}

/// The ports of both ends of a flow. Adds their paths to the fabric.
pub(crate) fn ports(plan: &Plan, flow: &FlowPlan, index: usize, fabric: &mut Fabric) -> Result<[Port; 2], RunError> {
    let protocol = flow.app.protocol();
    let (near_port, far_port) = flow_ports(flow, index);
    let mut port = |side: usize, from: usize, to: usize, src_port, dst_port| {
        let cursor = fabric.paths.len() as u32;
        let endpoint = (2 * index + 1 - side) as u32;
        let header = Header::new(protocol, (from, to), (src_port, dst_port));
        let key = header.key(plan);
        let mut header = Header { cursor, endpoint, dscp: flow.dscp, ..header };
        if add_path(fabric.routes(plan).choose(from, to, key), &mut fabric.paths) {
            header.cursor = fabric.with_detours((header.src, header.dst), key, cursor);
        } else if side == 0 || flow.app.has_replies() {
            let name = |node: usize| plan.nodes[node].clone();
            return Err(RunError::Unreachable { flow: flow.name.clone(), from: name(from), to: name(to) });
        }
        Ok(Port { header })
    };
    Ok([port(0, flow.from, flow.to, near_port, far_port)?, port(1, flow.to, flow.from, far_port, near_port)?])
}

/// The ports of both ends of each path of a multipath flow. Each path has its own client port.
pub(crate) fn path_ports(
    plan: &Plan,
    flow: &FlowPlan,
    index: usize,
    fabric: &mut Fabric,
) -> Result<Vec<[Port; 2]>, RunError> {
    let one = |(number, path): (usize, &PathPlan)| {
        let flow = FlowPlan { from: path.from, to: path.to, ..flow.clone() };
        let mut both = ports(plan, &flow, index, fabric)?;
        let (client, _) = of_flow(index * haltere_transport::multipath::MAX_PATHS + number);
        (both[0].header.src_port, both[1].header.dst_port) = (client, client);
        Ok(both)
    };
    flow.app.paths().iter().enumerate().map(one).collect()
}

/// Refuses a plan that no world, or not this one, could run.
pub(crate) fn check(plan: &Plan) -> Result<(), RunError> {
    plan.check().and_then(|()| check_kinds(plan)).map_err(|fault| RunError::from(*fault))?;
    let most = Target::MAX_INDEX as usize;
    if plan.links.len() > most || plan.flows.len() > FIRST {
        let error = ParamError::new("links and flows", format!("at most {most} and {FIRST}"), "more");
        return Err(RunError::Param { place: "plan".into(), error });
    }
    Ok(())
}
