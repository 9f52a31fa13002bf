//! A plan on the wire: namespaces for the hosts, a router thread for the network between them, an agent for the flows.
//!
//! Every node at which a flow begins or ends is a host: a network namespace with the kernel's TCP. All links of the
//! plan with their queues are in the router's fabric, so a packet crosses the kernel twice whatever the number of hops.
//! Deviations from the simulator: hosts hand packets to their access link's queue at once (there is no link between a
//! host and its own first queue, so the kernel does not hold back for it).

use crate::bpf;
use crate::calibration::{self, Calibration};
use crate::clock::{Monotonic, monotonic_ns};
use crate::control::{Calibrate, Control, place};
use crate::endpoint::{self, Agent, Observed, ftp_server};
use crate::error::{Doing, WireError};
use crate::fabric::{Fabric, FabricParams, Steering};
use crate::kernel_tcp;
use crate::mptcp::Role;
use crate::namespace::{HostSettings, Interfaces, Topology, port_name};
use crate::port::packet::PacketPort;
use crate::router::{Router, Watch};
use crate::schedule::PriorityGuard;
use crate::stats::{Snapshot, late_us};
use haltere_plan::fabric::{FabricPlan, write_down};
use haltere_plan::plan::FlowPlan;
use haltere_plan::record::{LinkRecord, QueueSample, SocketRecord};
use haltere_plan::{Histogram, Plan, Record};
use haltere_transport::{AccurateEcn, TcpParams};
use haltere_units::outside::Outside;
use haltere_units::{Dur, Time};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Received frames that all ports together, and one port, can hold while the router is busy (2 kB each).
const SLOTS_IN_ALL: usize = 65_536;
const SLOTS: std::ops::RangeInclusive<usize> = 512..=4096;
/// From the last preparation to time zero: the threads must be waiting by then.
const LEAD: Dur = Dur::from_ms(30);
/// How long the loop may sleep before it looks whether it is to stop.
const ATTENTION: Dur = Dur::from_ms(50);

/// What a run on the wire gives.
#[derive(Debug)]
pub struct Outcome {
    /// The record, as every world fills it.
    pub record: Record,
    /// What was measured before, for the manifest; `None` where it was not asked for.
    pub calibration: Option<Calibration>,
    /// The router's own counters at the end.
    pub router: Snapshot,
    /// How late the agent did what was due: writes, starts, samples.
    pub agent: Histogram,
}

impl Outcome {
    /// What a manifest says of the run beyond its record.
    pub fn json(&self) -> Value {
        let calibration = self.calibration.as_ref().map(Calibration::json);
        json!({ "calibration": calibration, "router": self.router.json(), "agent": { "late_us": late_us(&self.agent) } })
    }
}

/// Whether this process may make network namespaces and what is in them.
pub fn may_run() -> Result<(), WireError> {
    Topology::build(&[]).map(drop)
}

/// Runs the plan on real packets, after the calibration.
pub fn run(plan: &Plan, control: &Control<'_>) -> Result<Outcome, WireError> {
    check(plan)?;
    // Every flow holds a few descriptors. What cannot be raised shows when they run out.
    let _ = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(_, most)| setrlimit(Resource::RLIMIT_NOFILE, most, most));
    let topology = Topology::build_with(&hosts(plan)?, control.gso, Interfaces::Joined)?;
    // Unloaded when this returns, or this process ends.
    let _controls = bpf::load(&missing_controls(plan, &available_controls()?))?;
    let calibration = match control.calibrate {
        Calibrate::No => None,
        _ => Some(calibration::measure(plan, &topology, control)?),
    };
    if let (Calibrate::Refuse, Some(calibration)) = (control.calibrate, &calibration) {
        calibration.check()?;
    }
    let outcome = run_in(plan, &topology, control)?;
    Ok(Outcome { calibration, ..outcome })
}

/// The network between the hosts, if it is not a router of this process.
pub trait Network {
    /// Makes an interface for each of these nodes in the caller's namespace, named by [`port_name`]. They are then
    /// moved to the hosts.
    fn prepare(&self, nodes: &[usize]) -> Result<(), WireError>;
    /// The run begins at that time of `CLOCK_MONOTONIC`, in nanoseconds.
    fn start(&self, origin_ns: u64) -> Result<(), WireError>;
}

/// Runs the plan's flows over that network. The record is without links and queues. `offloads`: hosts hand buffers of
/// several segments to their interface.
pub fn run_over(
    plan: &Plan,
    network: &dyn Network,
    offloads: bool,
    control: &Control<'_>,
) -> Result<Record, WireError> {
    let stand_ins = control.manner.controls.iter().map(|(planned, _)| format!(" {planned}")).collect::<String>();
    check_for(plan, &(available_controls()? + &stand_ins), kernel_tcp::has_accurate_ecn())?;
    let _ = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(_, most)| setrlimit(Resource::RLIMIT_NOFILE, most, most));
    let topology = topology_over(plan, network, offloads)?;
    let _servers = ftp_server::start(plan, &topology, &control.ftp_server)?;
    let mut agent = Agent::prepare(plan, &topology, control)?;
    let mut clock = begin(network)?;
    agent.run(&mut clock, control)?;
    Ok(record_of(agent.finish().0))
}

/// The hosts of the plan on that network.
pub(crate) fn topology_over(plan: &Plan, network: &dyn Network, offloads: bool) -> Result<Topology, WireError> {
    let hosts = hosts(plan)?;
    network.prepare(&nodes(&hosts))?;
    Topology::build_with(&hosts, offloads, Interfaces::Given)
}

/// Starts the network: the clock, at zero.
pub(crate) fn begin(network: &dyn Network) -> Result<Monotonic, WireError> {
    let origin = monotonic_ns() + LEAD.as_ns();
    network.start(origin)?;
    let mut clock = Monotonic::from_origin(origin, Dur::ZERO).doing("the clock")?;
    clock.wait_for_zero().doing("sleeping")?;
    Ok(clock)
}

fn nodes(hosts: &[(Vec<usize>, HostSettings)]) -> Vec<usize> {
    hosts.iter().flat_map(|(nodes, _)| nodes).copied().collect()
}

/// The nodes of the plan that are hosts: those between which its flows run.
pub fn hosts_of(plan: &Plan) -> Result<Vec<usize>, WireError> {
    Ok(nodes(&hosts(plan)?))
}

/// What the agent wrote down, as a record without links.
fn record_of(mut observed: Observed) -> Record {
    for flow in &mut observed.flows {
        flow.received_after_warmup = flow.received - flow.received_after_warmup;
    }
    observed
}

/// Whether the wire, and this kernel, can do what the plan asks; needs no privilege.
pub fn check(plan: &Plan) -> Result<(), WireError> {
    plan.check_queues().map_err(WireError::Refused)?;
    let has = available_controls()?;
    check_for(plan, &has, kernel_tcp::has_accurate_ecn())?;
    bpf::may_load(&missing_controls(plan, &has))
}

/// Whether the wire can do what the plan asks, on a kernel with those congestion controls (names with blanks between), and
/// with accurate ECN or without.
pub fn check_for(plan: &Plan, controls: &str, accurate_ecn: bool) -> Result<(), WireError> {
    plan.check().map_err(WireError::Refused)?;
    if plan.ecmp {
        let hint = "the simulator spreads flows over equal paths";
        return Err(WireError::refused("the experiment", "topology", "one path between two hosts", "several", hint));
    }
    if let Some(key) = plan.measure.of_simulator() {
        let hint = "only the simulator measures it";
        return Err(WireError::refused("measure", key, "left out", "a value", hint));
    }
    hosts(plan)?;
    for flow in &plan.flows {
        endpoint::check(flow)?;
        if let Some(tcp) = flow.app.tcp() {
            if tcp.stack.is_some() {
                let hint = "the simulator runs other stacks";
                return Err(WireError::refused(&place(flow), "stack", "`tcp` in this world", "another", hint));
            }
            kernel_tcp::congestion_names(&place(flow), &tcp.congestion)?;
            let (sender, receiver, _) = needs(flow);
            if !accurate_ecn && [sender, receiver].iter().any(|tcp| tcp.accurate_ecn != AccurateEcn::Off) {
                let hint =
                    "Linux has it from 7.0 on: `haltere kernel build 7.2`, `--world kernel`; the simulator has it";
                return Err(WireError::refused(
                    &place(flow),
                    "accurate_ecn",
                    "one that this kernel has",
                    "another",
                    hint,
                ));
            }
        }
    }
    let (most, count) = (usize::from(u16::MAX - endpoint::FIRST_PORT), plan.flows.len());
    if let Some(last) = plan.flows.last().filter(|_| count > most) {
        let rule = format!("such that there are at most {most} flows");
        return Err(WireError::refused(&place(last), "count", &rule, count, "each has a port of its own"));
    }
    let is_known = |kind: &str| has(controls, kind) || bpf::CONTROLS.contains(&kind);
    let unknown = flows_with_controls(plan).find(|(_, kind)| !is_known(kind));
    let Some((flow, kind)) = unknown else { return Ok(()) };
    let (controls, ours) = (controls.trim(), bpf::CONTROLS.join(" "));
    let rule = format!("one that this kernel has ({controls}) or that is loaded as BPF ({ours})");
    Err(WireError::refused(&place(flow), "congestion", &rule, format!("`{kind}`"), "the simulator has it"))
}

/// The flows with a congestion control, and its kind.
fn flows_with_controls(plan: &Plan) -> impl Iterator<Item = (&FlowPlan, &'static str)> {
    plan.flows.iter().filter_map(|flow| Some((flow, flow.app.tcp()?.congestion.kind())))
}

/// A kernel with those congestion controls has that one.
fn has(controls: &str, kind: &str) -> bool {
    controls.split_whitespace().any(|name| name == kind)
}

fn available_controls() -> Result<String, WireError> {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .doing("asking the kernel for its congestion controls")
}

/// The controls that flows ask for, that this kernel lacks, and that we have as BPF.
fn missing_controls(plan: &Plan, controls: &str) -> Vec<&'static str> {
    let is_asked_for = |kind: &str| flows_with_controls(plan).any(|(_, asked)| asked == kind);
    bpf::CONTROLS.into_iter().filter(|kind| is_asked_for(kind) && !has(controls, kind)).collect()
}

/// The plan's network, with an open port for each of these nodes. `whole`: frames pass with what an offload left undone.
pub(crate) fn network(
    plan: &Plan,
    topology: &Topology,
    nodes: Vec<usize>,
    (isn_bits, whole): (u8, bool),
) -> Result<(Fabric, Vec<PacketPort>), WireError> {
    // Its owner ends it.
    let network = FabricPlan { end: Time::NEVER, ..plan.fabric() };
    let params = FabricParams { plan: network, ports: nodes.clone(), steering: Steering::ByAddress, isn_bits };
    let fabric = Fabric::new(params)?;
    let slots = (SLOTS_IN_ALL / nodes.len().max(1)).clamp(*SLOTS.start(), *SLOTS.end());
    let open = |node: &usize| PacketPort::open_with(&port_name(*node), slots, whole);
    let ports = topology.router.enter(|| Ok(nodes.iter().map(open).collect::<Result<Vec<_>, _>>()));
    Ok((fabric, ports.doing("entering the router's namespace")??))
}

/// Runs the plan in existing namespaces.
pub(crate) fn run_in(plan: &Plan, topology: &Topology, control: &Control<'_>) -> Result<Outcome, WireError> {
    // Ends with this function.
    let _servers = ftp_server::start(plan, topology, &control.ftp_server)?;
    let mut agent = Agent::prepare(plan, topology, control)?;
    // The ports stand before time zero is fixed: what a host sends to a port that is not open yet would be lost.
    let (fabric, ports) = network(plan, topology, topology.nodes(), (endpoint::ISN_BITS, control.gso))?;
    let origin = monotonic_ns() + LEAD.as_ns();
    let ended = AtomicBool::new(false);
    let stops = Stops { all: control, ended: &ended, end: plan.end };
    let routed = std::thread::scope(|scope| {
        let router = scope.spawn(|| {
            let result = route(fabric, ports, origin, control.spin, stops);
            ended.store(true, Ordering::Relaxed);
            result
        });
        let ran = Monotonic::from_origin(origin, Dur::ZERO).doing("the clock").and_then(|mut clock| {
            let _guard = PriorityGuard::short_slice();
            clock.wait_for_zero().doing("sleeping")?;
            agent.run(&mut clock, control)
        });
        if ran.is_err() {
            ended.store(true, Ordering::Relaxed);
        }
        let routed = router.join().unwrap_or_else(|_| Err(WireError::plan("router", "panicked")));
        // Where both failed, the router's reason comes first: without it no flow gets far.
        routed.and_then(|r| ran.map(|()| r))
    });
    let routed = routed?;
    // Nothing more leaves the router: what the hosts have now came before the end.
    agent.read_the_rest()?;
    let (observed, agent) = agent.finish();
    let mut record =
        Record { links: routed.links, queue_series: routed.samples, events: routed.events, ..record_of(observed) };
    write_down(plan, routed.sockets, &mut record);
    Ok(Outcome { record, calibration: None, router: routed.counters, agent })
}

#[derive(Debug, Clone, Copy)]
struct Stops<'a> {
    all: &'a Control<'a>,
    ended: &'a AtomicBool,
    end: Time,
}

struct Attentive<'a> {
    stops: Stops<'a>,
    outside: Outside,
    next: Time,
}

impl Watch for Attentive<'_> {
    fn turn(&mut self, _: &mut dyn FnMut() -> Snapshot, now: Time) -> ControlFlow<()> {
        self.next = (now + ATTENTION).min(self.stops.end);
        let is_over = now >= self.stops.end || self.stops.ended.load(Ordering::Relaxed);
        if is_over || self.stops.all.is_stopped() || self.outside.fault().is_some() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
    fn next(&self) -> Option<Time> {
        Some(self.next)
    }
}

struct Routed {
    links: Vec<LinkRecord>,
    samples: Vec<QueueSample>,
    sockets: Vec<SocketRecord>,
    counters: Snapshot,
    events: u64,
}

fn route(
    fabric: Fabric,
    ports: Vec<PacketPort>,
    origin: u64,
    spin: Dur,
    stops: Stops<'_>,
) -> Result<Routed, WireError> {
    let guard = PriorityGuard::for_router(spin);
    let outside = fabric.network.plan().outside.clone();
    let mut router = Router::new(fabric, ports)?;
    (router.schedule, router.end) = (guard.schedule(), stops.end);
    let mut clock = Monotonic::from_origin(origin, spin).doing("the clock")?;
    let mut watch = Attentive { stops, outside: outside.clone(), next: Time::ZERO };
    // What is in flight at the end stays there, as in the simulator.
    router.run(&mut clock, &mut watch, Dur::ZERO)?;
    if let Some(fault) = outside.fault() {
        return Err(WireError::Outside(Box::new(fault.clone())));
    }
    Ok(Routed {
        links: router.fabric.network.link_records(stops.end),
        samples: std::mem::take(router.fabric.network.samples()).into_vec(),
        sockets: router.fabric.network.sockets(),
        events: router.fabric.network.counters().events,
        counters: router.snapshot(stops.end),
    })
}

/// The hosts, each with its nodes and with what its flows ask of the kernel there.
pub(crate) fn hosts(plan: &Plan) -> Result<Vec<(Vec<usize>, HostSettings)>, WireError> {
    let mut hosts: Vec<(Vec<usize>, HostSettings, String)> = Vec::new();
    for flow in &plan.flows {
        let (sender, receiver, ecn) = needs(flow);
        for (nodes, role) in endpoint::hosts(flow) {
            let tcp = if role == Role::Opens { sender } else { receiver };
            let mut settings = kernel_tcp::settings(&place(flow), tcp, ecn)?;
            settings.sysctls.extend(endpoint::sysctls(flow, role));
            // A flow without TCP asks nothing of the kernel's.
            let silent = flow.app.tcp().is_none();
            let mut host = (nodes, settings, if silent { String::new() } else { place(flow) });
            // All that it has a node in common with is the same host.
            while let Some(found) = hosts.iter().position(|(n, ..)| n.iter().any(|node| host.0.contains(node))) {
                host = same_host(plan, host, hosts.swap_remove(found))?;
            }
            hosts.push(host);
        }
    }
    for (nodes, ..) in &mut hosts {
        nodes.sort_unstable();
    }
    hosts.sort_by_key(|(nodes, ..)| nodes[0]);
    Ok(hosts.into_iter().map(|(nodes, settings, _)| (nodes, settings)).collect())
}

/// Nodes, what is asked of the kernel, and by which entry; empty: nothing was.
type Wanted = (Vec<usize>, HostSettings, String);

fn same_host(plan: &Plan, one: Wanted, other: Wanted) -> Result<Wanted, WireError> {
    let (mut nodes, mut settings, mut asks) = other;
    if asks.is_empty() {
        (settings, asks) = (one.1, one.2);
    } else if !one.2.is_empty() && one.1 != settings {
        let node = one.0.iter().find(|node| nodes.contains(node)).map_or("", |&node| &plan.nodes[node]);
        let rule = format!("the same as that of {asks} at `{node}`");
        let hint = "one host is one kernel: give them hosts of their own";
        return Err(WireError::refused(&one.2, "tcp", &rule, "another one (or another `ecn`)", hint));
    }
    nodes.extend(one.0.iter().filter(|node| !nodes.contains(node)).copied().collect::<Vec<_>>());
    Ok((nodes, settings, asks))
}

/// The flow's endpoints and whether they speak ECN. Flows without TCP ask for nothing of their own.
fn needs(flow: &FlowPlan) -> (&TcpParams, &TcpParams, bool) {
    // A control that counts marks needs them (RFC 8257).
    flow.app.tcp().map_or((&NO_TCP, &NO_TCP, false), |tcp| {
        (&tcp.sender, &tcp.receiver, tcp.sender.ecn || tcp.congestion.kind() == "dctcp")
    })
}

static NO_TCP: std::sync::LazyLock<TcpParams> = std::sync::LazyLock::new(TcpParams::default);

#[cfg(test)]
mod tests;
