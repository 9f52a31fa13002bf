//! A plan on the wire: namespaces for the hosts, a router thread for the network between them, an agent for the flows.
//!
//! Every node at which a flow begins or ends is a host: a network namespace with the kernel's TCP. All links of the plan
//! with their queues are in the router's fabric, so a packet crosses the kernel twice whatever the number of hops.
//! Deviations from the simulator: hosts hand packets to their access link's queue at once (there is no link between a
//! host and its own first queue, so the kernel does not hold back for it).

use crate::bpf;
use crate::calibration::{self, Calibration};
use crate::clock::{Monotonic, monotonic_ns};
use crate::endpoint::Agent;
use crate::error::WireError;
use crate::fabric::{Fabric, FabricParams, Steering};
use crate::kernel_tcp;
use crate::namespace::{HostSettings, Topology, port_name};
use crate::port::packet::PacketPort;
use crate::router::{Router, Watch};
use crate::stats::Snapshot;
use haltere_lab::plan::{AppPlan, FlowPlan};
use haltere_lab::record::{LinkRecord, QueueSample};
use haltere_lab::{Plan, Record};
use haltere_transport::TcpParams;
use haltere_units::{Dur, Time};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Received frames that one port can hold while the router is busy.
const SLOTS: usize = 4096;
/// From the last preparation to time zero: the threads must be waiting by then.
const LEAD: Dur = Dur::from_ms(30);
/// How long the loop may sleep before it looks whether it is to stop.
const ATTENTION: Dur = Dur::from_ms(50);

/// How a run is to be done, and its bell.
#[derive(Debug)]
pub struct Control {
    /// Set to end the run early: it is then an error, [`WireError::Interrupted`].
    pub stop: AtomicBool,
    /// Time before a deadline through which the router does not sleep (a whole core).
    pub spin: Dur,
    /// Measure the machine first, and refuse where it is not fit.
    pub calibrate: bool,
}

impl Default for Control {
    fn default() -> Control {
        Control { stop: AtomicBool::new(false), spin: Dur::ZERO, calibrate: true }
    }
}

/// What a run on the wire gives.
#[derive(Debug)]
pub struct Outcome {
    /// The record, as every world fills it.
    pub record: Record,
    /// What was measured before, for the manifest; `None` where it was not asked for.
    pub calibration: Option<Calibration>,
    /// The router's own books at the end.
    pub router: Snapshot,
    /// Share of a core that the router used.
    pub router_cpu: f64,
}

/// Runs the plan.
pub fn run(plan: &Plan, control: &Control) -> Result<Outcome, WireError> {
    let hosts = hosts(plan)?;
    let topology = Topology::build(&hosts)?;
    // Unloaded when this returns, or this process ends.
    let _controls = bpf::load(&missing_controls(plan)?)?;
    let calibration = control.calibrate.then(|| calibration::measure(plan, &topology, control)).transpose()?;
    let outcome = run_in(plan, &topology, control)?;
    Ok(Outcome { calibration, ..outcome })
}

/// The controls that flows ask for, that this kernel lacks, and that we have as BPF.
fn missing_controls(plan: &Plan) -> Result<Vec<&'static str>, WireError> {
    let has = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .map_err(|e| WireError::os("asking the kernel for its congestion controls", e))?;
    let asked = |kind: &str| {
        plan.flows.iter().any(|flow| match &flow.app {
            AppPlan::Bulk { tcp, .. } | AppPlan::OnOff { tcp, .. } => tcp.congestion.kind() == kind,
            _ => false,
        })
    };
    let lacks = |kind: &str| !has.split_whitespace().any(|name| name == kind);
    Ok(bpf::CONTROLS.iter().copied().filter(|kind| asked(kind) && lacks(kind)).collect())
}

/// Runs the plan in namespaces that stand already.
pub(crate) fn run_in(plan: &Plan, topology: &Topology, control: &Control) -> Result<Outcome, WireError> {
    let agent = Agent::prepare(plan, topology)?;
    let ports: Vec<usize> = topology.hosts.iter().map(|h| h.node).collect();
    let fabric = Fabric::new(fabric_params(plan, ports.clone()))?;
    let origin = monotonic_ns() + LEAD.as_ns();
    let ended = AtomicBool::new(false);
    let stops = Stops { all: &control.stop, ended: &ended, end: plan.end };
    let routed = std::thread::scope(|scope| {
        let router = scope.spawn(|| {
            let result = route(fabric, &ports, topology, origin, control.spin, stops);
            ended.store(true, Ordering::Relaxed);
            result
        });
        let observed = Monotonic::from_origin(origin, Dur::ZERO)
            .map_err(|e| WireError::os("the clock", e))
            .and_then(|mut clock| agent.run(&mut clock, &control.stop));
        if observed.is_err() {
            ended.store(true, Ordering::Relaxed);
        }
        let routed = router.join().unwrap_or_else(|_| Err(WireError::plan("router", "panicked")));
        // Where both failed, the router's reason comes first: without it no flow gets far.
        routed.and_then(|r| observed.map(|o| (r, o)))
    });
    let (routed, mut observed) = routed?;
    for flow in &mut observed.flows {
        flow.received_after_warmup = flow.received - flow.received_after_warmup;
    }
    let record = Record {
        flows: observed.flows,
        links: routed.links,
        flow_series: observed.series,
        queue_series: routed.samples,
        pings: observed.pings,
        events: routed.events,
        ..Record::default()
    };
    Ok(Outcome { record, calibration: None, router: routed.books, router_cpu: routed.cpu })
}

/// The plan's network with ports at these nodes.
pub fn fabric_params(plan: &Plan, ports: Vec<usize>) -> FabricParams {
    FabricParams {
        nodes: plan.nodes.len(),
        ports,
        links: plan.links.iter().map(Into::into).collect(),
        steering: Steering::ByAddress,
        framing: plan.framing,
        isn_bits: crate::endpoint::ISN_BITS,
        seed: plan.seed,
        sample: plan.measure.queues,
        warmup: plan.warmup,
    }
}

#[derive(Debug, Clone, Copy)]
struct Stops<'a> {
    all: &'a AtomicBool,
    ended: &'a AtomicBool,
    end: Time,
}

struct Attentive<'a> {
    stops: Stops<'a>,
    next: Time,
}

impl Watch for Attentive<'_> {
    fn turn(&mut self, _: &mut dyn FnMut() -> Snapshot, now: Time) -> ControlFlow<()> {
        self.next = (now + ATTENTION).min(self.stops.end);
        let flag = |bell: &AtomicBool| bell.load(Ordering::Relaxed);
        if now >= self.stops.end || flag(self.stops.all) || flag(self.stops.ended) {
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
    books: Snapshot,
    events: u64,
    cpu: f64,
}

/// The router's thread.
fn route(
    fabric: Fabric,
    nodes: &[usize],
    topology: &Topology,
    origin: u64,
    spin: Dur,
    stops: Stops<'_>,
) -> Result<Routed, WireError> {
    topology.router.stay().map_err(|e| WireError::os("entering the router's namespace", e))?;
    let ports = nodes.iter().map(|&node| PacketPort::open(&port_name(node), SLOTS)).collect::<Result<Vec<_>, _>>()?;
    let mut router = Router::new(fabric, ports)?;
    let mut clock = Monotonic::from_origin(origin, spin).map_err(|e| WireError::os("the clock", e))?;
    let mut watch = Attentive { stops, next: Time::ZERO };
    let (cpu, started) = (cpu_ns(), monotonic_ns());
    // What is under way at the end stays there, as in the simulator.
    router.run(&mut clock, &mut watch, Dur::ZERO)?;
    let cpu = (cpu_ns() - cpu) as f64 / (monotonic_ns() - started).max(1) as f64;
    Ok(Routed {
        links: router.fabric.link_records(stops.end),
        samples: router.fabric.take_samples(),
        events: router.fabric.events(),
        books: router.snapshot(stops.end),
        cpu,
    })
}

/// CPU time of this thread, its packets' way through the kernel included.
fn cpu_ns() -> u64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD);
    usage.map_or(0, |u| (u.user_time().num_microseconds() + u.system_time().num_microseconds()) as u64 * 1000)
}

/// The nodes that are hosts, each with what its flows ask of the kernel there.
fn hosts(plan: &Plan) -> Result<Vec<(usize, HostSettings)>, WireError> {
    let mut hosts: Vec<(usize, HostSettings, String)> = Vec::new();
    for flow in &plan.flows {
        let (sender, receiver, ecn) = needs(flow);
        for (node, tcp) in [(flow.from, sender), (flow.to, receiver)] {
            let settings = kernel_tcp::settings(&flow.name, tcp, ecn)?;
            match hosts.iter().find(|(n, ..)| *n == node) {
                None => hosts.push((node, settings, flow.name.clone())),
                Some((_, other, _)) if *other == settings => {}
                Some((_, _, other)) => {
                    let node = plan.nodes.get(node).map_or("?", |n| n.as_str());
                    let what = format!(
                        "tcp must be the same for all flows of `{node}`, got other values than {other}'s: one host is one kernel"
                    );
                    return Err(WireError::plan(&flow.name, what));
                }
            }
        }
    }
    hosts.sort_by_key(|(node, ..)| *node);
    Ok(hosts.into_iter().map(|(node, settings, _)| (node, settings)).collect())
}

/// The flow's endpoints and whether they speak ECN. Flows without TCP ask for nothing of their own.
fn needs(flow: &FlowPlan) -> (&TcpParams, &TcpParams, bool) {
    match &flow.app {
        AppPlan::Bulk { tcp, .. } | AppPlan::OnOff { tcp, .. } => {
            // A control that counts marks needs them (RFC 8257).
            let counts = tcp.congestion.kind() == "dctcp";
            (&tcp.sender, &tcp.receiver, tcp.sender.ecn || counts)
        }
        _ => (&NO_TCP, &NO_TCP, false),
    }
}

static NO_TCP: std::sync::LazyLock<TcpParams> = std::sync::LazyLock::new(TcpParams::default);

#[cfg(test)]
mod tests;
