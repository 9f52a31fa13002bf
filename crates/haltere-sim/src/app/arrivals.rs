//! Flows that start and end during a run.
//!
//! A flow occupies a slot from its start until both its ends have closed; then only its line in the record
//! is left. Endpoints of slots are numbered from [`FIRST`] up, so they need no place in the plan. A packet or a timer
//! of a flow that is gone finds its slot empty, or another flow there with other ports.

use super::bulk::Bulk;
use super::stack::{Maker, Single};
use super::tcp::Tcp;
use super::{AnySource, App, Asked, Place};
use crate::engine::event::Kind;
use crate::engine::prefetch::fetch;
use crate::net::fabric::{Fabric, Port};
use crate::net::packet::{Header, Packet};
use haltere_plan::app::Protocol;
use haltere_plan::arrivals::{FlowArrival, FlowArrivals, delay, ideal};
use haltere_plan::plan::{ArrivalsPlan, FlowPlan};
use haltere_plan::record::{Completion, PacketRecord};
use haltere_plan::rng::Rng;
use haltere_plan::stack::Keeps;
use haltere_plan::{Plan, Record};
use haltere_units::outside::Origin;
use haltere_units::{Bytes, ParamError, Time};
use std::collections::HashMap;

/// Number of the first slot, counted as a flow: far above every flow of a plan.
pub(crate) const FIRST: usize = 1 << 27;

/// The flow of the plan that stands for an arrival process. The flows that arrive are in [`SpawnedFlows`].
#[derive(Debug)]
pub(crate) struct Arrivals;

impl Arrivals {
    pub fn new(flow: &FlowPlan, plan: &ArrivalsPlan, place: Place) -> Result<Arrivals, ParamError> {
        // Built to hear what it says of its parameters.
        if plan.tcp.stack.is_some() {
            return Maker::new(flow, &plan.tcp, 0, &place.origin, place.asked.keeps)
                .check(place.ports)
                .map(|()| Arrivals);
        }
        let origins = [place.origin.clone(), place.origin];
        Tcp::limited(0, &plan.tcp, Bytes::new(1), place.ports, origins).map(|_| Arrivals)
    }
}

impl App for Arrivals {
    fn start(&mut self, _fabric: &mut Fabric) {}
    fn receive(&mut self, _side: usize, packet: Packet, fabric: &mut Fabric) {
        fabric.pool.give(&packet);
    }
    /// A live run refuses it: arrivals are drawn up to the stop that the plan gave.
    fn set_stop(&mut self, _at: Time, _fabric: &mut Fabric) {}
    /// What its flows delivered is added when the run is over.
    fn received(&self) -> u64 {
        0
    }
    fn spawns(&self) -> bool {
        true
    }
}

/// A flow in its slot.
#[derive(Debug)]
struct SpawnedFlow {
    on: Transport,
    completion: Completion,
}

/// What a flow that arrived runs on.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "the large one is the usual one")]
enum Transport {
    Tcp(Tcp),
    Stack(Box<Single>),
}

haltere_units::matcher! { ($) each: Transport { Tcp, Stack } }

impl Transport {
    /// The flow is over: what a stack wrote is kept.
    fn log(&mut self, record: &mut Record) {
        if let Transport::Stack(single) = self {
            single.log(record);
        }
    }
}

/// One traffic entry whose flows arrive during the run.
#[derive(Debug)]
struct Process {
    /// Index of its flow in the plan.
    index: usize,
    arrivals: FlowArrivals,
    next: Option<FlowArrival>,
    plan: Box<ArrivalsPlan>,
    name: String,
    spawned: u64,
}

/// All flows that arrive during the run.
#[derive(Debug)]
pub(crate) struct SpawnedFlows {
    sources: Vec<Process>,
    slots: Vec<Option<Box<SpawnedFlow>>>,
    free: Vec<u32>,
    /// The index among the fabric's paths of each path that was ever taken.
    known: HashMap<Vec<usize>, u32>,
    spawned: u64,
    origin: Origin,
    /// What ends on stacks keep.
    keeps: Keeps,
    ecmp: bool,
    /// Flows that are gone.
    pub completions: Vec<Completion>,
    /// The entry of each flow by slot and client port, if packets are logged.
    entries: Option<HashMap<(usize, u16), u32>>,
}

impl SpawnedFlows {
    pub fn new(plan: &Plan) -> SpawnedFlows {
        SpawnedFlows {
            sources: sources(plan, 0),
            slots: Vec::new(),
            free: Vec::new(),
            known: HashMap::new(),
            spawned: 0,
            origin: plan.origin(),
            keeps: Asked::of(plan).keeps,
            ecmp: plan.ecmp,
            completions: Vec::new(),
            entries: (!plan.measure.logged.is_empty()).then(HashMap::new),
        }
    }
    /// From now on `plan` holds, which has more flows than the first `known`, and perhaps more links.
    pub fn change(&mut self, plan: &Plan, known: usize) {
        self.sources.extend(sources(plan, known));
    }
    /// The flow in that slot, if there is one.
    #[inline(always)]
    pub fn tcp(&self, slot: usize) -> Option<&Tcp> {
        match &self.slots.get(slot)?.as_ref()?.on {
            Transport::Tcp(tcp) => Some(tcp),
            Transport::Stack(_) => None,
        }
    }
    /// Prefetches that flow's state.
    #[inline(always)]
    pub fn fetch(&self, slot: usize) {
        fetch(self.slots.as_ptr().wrapping_add(slot));
    }
    fn source(&mut self, index: usize) -> Option<usize> {
        self.sources.iter().position(|source| source.index == index)
    }
    /// The entry at `index` of the plan begins.
    pub fn start(&mut self, index: usize, fabric: &mut Fabric) {
        let Some(at) = self.source(index) else { return };
        self.wait(at, fabric);
    }
    /// Schedules the next arrival.
    fn wait(&mut self, at: usize, fabric: &mut Fabric) {
        let source = &mut self.sources[at];
        source.next = source.arrivals.next();
        if let Some(arrival) = source.next {
            fabric.schedule(arrival.at, Kind::App, source.index);
        }
    }
    /// Starts the next flow of the entry at `index` of the plan.
    pub fn spawn(&mut self, index: usize, plan: &Plan, fabric: &mut Fabric) {
        let Some(at) = self.source(index) else { return };
        let Some(arrival) = self.sources[at].next.take() else { return };
        let slot = match self.free.pop() {
            Some(slot) => slot as usize,
            None => {
                self.slots.push(None);
                self.slots.len() - 1
            }
        };
        assert!(slot < FIRST, "more flows at a time than there are numbers");
        self.slots[slot] = Some(self.new_flow(at, arrival, slot, plan, fabric));
        self.wait(at, fabric);
        self.act(slot, fabric, |on, fabric| each!(on, flow => flow.start(fabric)));
    }
    fn new_flow(
        &mut self,
        at: usize,
        arrival: FlowArrival,
        slot: usize,
        plan: &Plan,
        fabric: &mut Fabric,
    ) -> Box<SpawnedFlow> {
        let (ends, number) = ((arrival.from, arrival.to), self.spawned);
        self.spawned += 1;
        let ports = haltere_plan::ports::of_arrival(number);
        let protocol = self.sources[at].plan.tcp.protocol();
        let (there, near) = self.path(plan, protocol, ends, ports, fabric);
        let (back, far) = self.path(plan, protocol, (arrival.to, arrival.from), (ports.1, ports.0), fabric);
        let endpoint = 2 * (FIRST + slot) as u32;
        let dscp = plan.flows[self.sources[at].index].dscp;
        let port = |ends, ports, cursor, endpoint| Port {
            header: Header { cursor, endpoint, dscp, ..Header::new(protocol, ends, ports) },
        };
        let near = port(ends, ports, near, endpoint + 1);
        let far = port((arrival.to, arrival.from), (ports.1, ports.0), far, endpoint);
        let source = &mut self.sources[at];
        if let Some(entries) = &mut self.entries {
            entries.insert((slot, ports.0), source.index as u32);
        }
        source.spawned += 1;
        let mut chance = Rng::new(self.origin.seed, &format!("{}/{}", source.name, source.spawned));
        let tcp = &source.plan.tcp;
        let mss = tcp.sender.mss.min(tcp.receiver.mss);
        let completion = Completion {
            flow: source.index as u32,
            from: arrival.from as u32,
            to: arrival.to as u32,
            retransmissions: 0,
            bytes: arrival.bytes.as_u64(),
            start: fabric.now,
            end: Time::NEVER,
            ideal: ideal(plan, (&there, &back), arrival.bytes, mss) + delay(plan, &there),
        };
        let origins = [chance.bits(), chance.bits()].map(|seed| self.origin.with_seed(seed));
        let (index, bytes, ports) = (FIRST + slot, arrival.bytes, [near, far]);
        let on = if tcp.stack.is_some() {
            let ends = Maker::of(tcp, &origins[0], self.keeps).open(fabric.now, ports);
            let name = (source.index as u32, source.spawned);
            Transport::Stack(Box::new(Single::of(index, name, ends, AnySource::Bulk(Bulk::of(Some(bytes))))))
        } else {
            let tcp = Tcp::limited(index, tcp, bytes, ports, origins);
            Transport::Tcp(tcp.expect("the parameters were checked when the run was built"))
        };
        Box::new(SpawnedFlow { on, completion })
    }
    /// The links from one node to another, and where their list begins.
    fn path(
        &mut self,
        plan: &Plan,
        protocol: Protocol,
        (from, to): (usize, usize),
        ports: (u16, u16),
        fabric: &mut Fabric,
    ) -> (Vec<usize>, u32) {
        let header = Header::new(protocol, (from, to), ports);
        let key = self.ecmp.then(|| header.flow().hash(self.origin.seed));
        let way = fabric.routes(plan).choose(from, to, key);
        let way = way.unwrap_or_else(|| panic!("no way from node {from} to {to}: looked for when the run was built"));
        let start = match self.known.get(&way) {
            Some(&start) => start,
            None => *self.known.entry(way.clone()).or_insert(fabric.add_path(&way)),
        };
        (way, fabric.with_detours((from as u32, to as u32), key, start))
    }
    /// Lets the flow in a slot act, and frees the slot if the flow is over.
    #[inline]
    fn act(&mut self, slot: usize, fabric: &mut Fabric, act: impl FnOnce(&mut Transport, &mut Fabric)) {
        let Some(flow) = &mut self.slots[slot] else { return };
        act(&mut flow.on, fabric);
        if each!(&mut flow.on, flow => flow.is_over())
            && let Some(mut flow) = self.slots[slot].take()
        {
            flow.on.log(&mut fabric.record);
            self.completions.push(flow.line());
            self.free.push(slot as u32);
        }
    }
    /// The timer of an endpoint is due.
    pub fn on_timer(&mut self, slot: usize, side: usize, fabric: &mut Fabric) {
        self.act(slot, fabric, |on, fabric| each!(on, flow => flow.on_timer(side, fabric)));
    }
    /// A packet reached an endpoint.
    pub fn receive(&mut self, slot: usize, side: usize, packet: Packet, fabric: &mut Fabric) {
        match &self.slots[slot] {
            Some(flow) if each!(&flow.on, flow => flow.is_for(side, &packet.header)) => {
                self.act(slot, fabric, |on, fabric| each!(on, flow => flow.receive(side, packet, fabric)));
            }
            _ => fabric.pool.give(&packet),
        }
    }
    /// The flow in the plan of a logged packet, in which the endpoint to which it goes is in place of the flow.
    pub fn flow_of(&self, packet: &PacketRecord) -> Option<u32> {
        let endpoint = packet.flow? as usize;
        let Some(slot) = slot(endpoint) else { return Some(endpoint as u32 / 2) };
        let (source, destination) = packet.ports;
        let client = if endpoint % 2 == 1 { source } else { destination };
        self.entries.as_ref()?.get(&(slot, client)).copied()
    }
    /// The run is over: all flows, those last that did not end.
    pub fn finish(mut self, record: &mut Record) -> Vec<Completion> {
        self.slots.iter_mut().flatten().for_each(|flow| flow.on.log(record));
        self.completions.extend(self.slots.iter().flatten().map(|flow| flow.line()));
        self.completions
    }
}

/// The slot of an endpoint, if it is one of these.
#[inline(always)]
pub(crate) fn slot(endpoint: usize) -> Option<usize> {
    (endpoint / 2).checked_sub(FIRST)
}

/// The entries whose flows arrive during the run, those of the first `known` flows of the plan left out.
fn sources(plan: &Plan, known: usize) -> Vec<Process> {
    let process = |(index, flow): (usize, &FlowPlan)| {
        let process = flow.app.arrivals()?;
        let arrivals = FlowArrivals::new(process, &flow.name, flow.start, flow.stop, plan.seed);
        let plan = Box::new(process.clone());
        Some(Process { index, arrivals, next: None, plan, name: flow.name.clone(), spawned: 0 })
    };
    plan.flows.iter().enumerate().skip(known).filter_map(process).collect()
}

impl SpawnedFlow {
    fn line(&self) -> Completion {
        let (info, completed) = each!(&self.on, flow => (flow.info(), flow.completed));
        let retransmissions = info.retransmissions as u32;
        Completion { end: completed.unwrap_or(Time::NEVER), retransmissions, ..self.completion }
    }
}
