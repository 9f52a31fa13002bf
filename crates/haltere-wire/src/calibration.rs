//! Measures before a run, in its namespaces, whether the machine is fit for it. An unfit machine is refused.
//!
//! Two short runs through the same code with plain queues over the plan's slowest link: pings on the idle
//! network give base delay and jitter; datagrams at 105 % of the link's rate give the rate, what is lost before
//! our queues, and how much of a core the router needs.

use crate::control::Control;
use crate::error::WireError;
use crate::namespace::Topology;
use crate::world::{Outcome, run_in};
use haltere_plan::headers;
use haltere_plan::plan::{AppPlan, CbrPlan, FlowPlan, LinkPlan, Measure, PingPlan};
use haltere_plan::varying::Varying;
use haltere_plan::{Plan, Routes};
use haltere_queue::QueueParams;
use haltere_units::{Bytes, Dur, Prob, Rate, Time};
use serde_json::{Value, json};

/// The measured rate may differ from the plan's by this share.
const RATE_BOUND: f64 = 0.02;
/// The idle round trip may be longer than the plan's by this share of it...
const DELAY_SHARE: f64 = 0.02;
/// ... or by this: two passes of the kernel and of a process that had to be woken.
const DELAY_FLOOR: Dur = Dur::from_us(300);
/// Share of a core above which the router would be late.
const CPU_BOUND: f64 = 0.9;
/// So many measurements must fail before a machine counts as unfit.
const TRIES: u32 = 3;
/// Requests of the idle run.
const PINGS: u64 = 40;
/// Bytes of a datagram's IP and UDP headers.
const UDP_HEADERS: u64 = (headers::IPV4_HEADER + headers::UDP_HEADER) as u64;
const PAYLOAD: u64 = 1472;

/// Rate and delays of this machine, measured in the namespaces of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// The link that was loaded, its rate in the plan, and the rate at which it delivered.
    pub link: Option<(String, Rate, Rate)>,
    /// Idle round trip in the plan and as measured (median).
    pub rtt: (Dur, Dur),
    /// Standard deviation of the idle round trip.
    pub jitter: Dur,
    /// Requests without answer on the idle network.
    pub lost: u64,
    /// Frames lost before our queues saw them, or refused behind them.
    pub unqueued: u64,
    /// Frames with unfinished checksums, or longer than a packet: an offload was on.
    pub offloaded: u64,
    /// Share of a core that the router used under load. `None` with offloads: the load is of single packets, and frames
    /// of the run hold many.
    pub cpu: Option<f64>,
}

impl Calibration {
    /// The first measurement that is out of bounds, as an error.
    pub fn check(&self) -> Result<(), WireError> {
        let Some(fault) = self.faults().into_iter().flatten().next() else { return Ok(()) };
        Err(WireError::Calibration(format!("the machine is not fit for this run: {fault}")))
    }
    fn faults(&self) -> [Option<String>; 7] {
        let ((want, got), Calibration { jitter, lost, unqueued, offloaded, cpu, .. }) = (self.rtt, self);
        let bound = DELAY_FLOOR.max(want.mul_f64(DELAY_SHARE));
        let rate = self.link.as_ref().and_then(|(name, want, got)| {
            let (off, mbps) = (got.as_bps_f64() / want.as_bps_f64() - 1.0, got.as_bps_f64() * 1e-6);
            let percent = off * 100.0;
            (off.abs() > RATE_BOUND)
                .then(|| format!("{name}: rate must be within 2 % of {want}, got {mbps:.3} Mbit/s ({percent:+.1} %)"))
        });
        [
            (*offloaded > 0)
                .then(|| format!("offloads must be off, got {offloaded} frames that were not whole packets")),
            rate,
            (got < want || got.saturating_sub(want) > bound)
                .then(|| format!("base delay must be {want} and at most {bound} more, got {got}")),
            (*jitter > bound).then(|| format!("jitter must be at most {bound}, got {jitter}")),
            (*lost > 0).then(|| format!("an idle network must lose nothing, got {lost} of {PINGS} pings lost")),
            (*unqueued > 0).then(|| format!("no frame may be lost outside our queues, got {unqueued}")),
            cpu.filter(|cpu| *cpu > CPU_BOUND)
                .map(|cpu| format!("the router must need less than {CPU_BOUND} of a core, got {cpu:.2}")),
        ]
    }
    /// The measurements as the manifest of a run has them.
    pub fn json(&self) -> Value {
        let link = self.link.as_ref().map(
            |(name, want, got)| json!({ "name": name, "planned_bps": want.as_bps(), "measured_bps": got.as_bps() }),
        );
        json!({
            "link": link, "planned_rtt_s": self.rtt.0.as_secs_f64(), "measured_rtt_s": self.rtt.1.as_secs_f64(),
            "jitter_s": self.jitter.as_secs_f64(), "pings_lost": self.lost, "frames_lost_outside": self.unqueued,
            "frames_offloaded": self.offloaded, "router_cpu": self.cpu,
            "out_of_bounds": self.check().err().map(|e| e.to_string()),
        })
    }
}

/// Measures the machine with this plan's links. If it is out of bounds it measures again, up to three times: another
/// program may have had the processor for a moment. The last measurement counts.
pub(crate) fn measure(plan: &Plan, topology: &Topology, control: &Control<'_>) -> Result<Calibration, WireError> {
    let control = &Control { progress: None, ..control.clone() };
    // A link that varies is measured at its mean: the machine is tested, not the variation.
    let mut steady = plan.clone();
    steady.links.iter_mut().for_each(|link| link.varying = None);
    let plan = &steady;
    let mut result = once(plan, topology, control)?;
    for _ in 1..TRIES {
        if result.check().is_ok() {
            break;
        }
        result = once(plan, topology, control)?;
    }
    Ok(result)
}

fn once(plan: &Plan, topology: &Topology, control: &Control<'_>) -> Result<Calibration, WireError> {
    let Some(flow) = plan.flows.first() else { return Err(WireError::plan("plan", "must have flows")) };
    let path = path(plan, flow.from, flow.to);
    let back = self::path(plan, flow.to, flow.from);
    let slowest = path.iter().filter_map(|&l| plan.links[l].rate.map(|r| (r, l))).min();
    let judged = |outcome: &Outcome| (!control.gso).then(|| outcome.router.cpu_share());
    let idle = run_in(&idle_plan(plan, flow), topology, control)?;
    let mut rtts: Vec<u64> = idle.record.pings.iter().map(|p| p.rtt.as_ns()).collect();
    rtts.sort_unstable();
    let mean = rtts.iter().sum::<u64>() as f64 / rtts.len().max(1) as f64;
    let variance = rtts.iter().map(|&r| (r as f64 - mean).powi(2)).sum::<f64>() / rtts.len().max(2) as f64;
    let planned = planned_rtt(plan, &path) + planned_rtt(plan, &back);
    let median = rtts.get(rtts.len() / 2).copied().unwrap_or(0);
    let mut result = Calibration {
        link: None,
        rtt: (planned, Dur::from_ns(median)),
        jitter: Dur::from_ns(variance.sqrt() as u64),
        lost: idle.record.flows[0].packets_sent - idle.record.flows[0].packets_received,
        unqueued: outside(&idle),
        offloaded: offloaded(&idle),
        cpu: judged(&idle),
    };
    if let Some((rate, link)) = slowest {
        let loaded = run_in(&loaded_plan(plan, flow, rate), topology, control)?;
        let window = loaded_window(rate);
        // Only what was delivered counts: what the line lets pass, received by the far host.
        let packet = PAYLOAD + UDP_HEADERS + u64::from(plan.framing);
        let packets = loaded.record.flows[0].received_after_warmup / PAYLOAD;
        result.link = Some((plan.links[link].name.clone(), rate, Rate::of(Bytes::new(packets * packet), window)));
        result.unqueued += outside(&loaded);
        result.offloaded += offloaded(&loaded);
        result.cpu = judged(&loaded);
    }
    Ok(result)
}

fn outside(outcome: &Outcome) -> u64 {
    outcome.router.ports.iter().map(|p| p.overrun + p.refused).sum()
}

fn offloaded(outcome: &Outcome) -> u64 {
    outcome.router.ports.iter().map(|p| p.unfinished_checksum + p.oversize).sum()
}

/// The links from one node to another.
fn path(plan: &Plan, from: usize, to: usize) -> Vec<usize> {
    Routes::of(plan).path(from, to).unwrap_or_default()
}

/// Time of a ping of 56 bytes over these links without queues.
fn planned_rtt(plan: &Plan, path: &[usize]) -> Dur {
    let bytes = Bytes::new(84 + u64::from(plan.framing));
    let one = |link: &LinkPlan| {
        let takes = link.rate.filter(|_| !link.handover_at_start).map_or(Dur::ZERO, |r| r.time_for(bytes));
        link.delay + takes
    };
    path.iter().map(|&link| one(&plan.links[link])).sum()
}

/// The plan's network with plain queues and without loss, to measure the machine and not the experiment.
fn plain(plan: &Plan, flow: FlowPlan, warmup: Dur, window: Dur) -> Plan {
    // The discipline that every registry has; its defaults fit any link.
    let queue = QueueParams::default_of("drop_tail").map_or_else(|| plan.links[0].queue.clone(), Into::into);
    let lossless = |varying: &Varying| Box::new(Varying { loss: None, limit: None, ..varying.clone() });
    let links = plan.links.iter().map(|link| LinkPlan {
        loss: Prob::ZERO,
        impairments: None,
        varying: link.varying.as_deref().map(lossless),
        queue: queue.clone(),
        watched: false,
        ..link.clone()
    });
    Plan {
        warmup: Time::ZERO + warmup,
        end: Time::ZERO + warmup + window,
        links: links.collect(),
        flows: vec![flow],
        ecmp: false,
        reroutes: Vec::new(),
        measure: Measure::default(),
        ..plan.clone()
    }
}

fn idle_plan(plan: &Plan, like: &FlowPlan) -> Plan {
    let interval = Dur::from_ms(10);
    let base = planned_rtt(plan, &path(plan, like.from, like.to)) + planned_rtt(plan, &path(plan, like.to, like.from));
    // The last request is sent early enough for its reply to come before the end.
    let last = Time::ZERO + interval * (PINGS - 1);
    let app = AppPlan::Ping(PingPlan { interval, payload: Bytes::new(56), ecn: false });
    let flow = FlowPlan {
        name: "calibration".into(),
        start: Time::ZERO,
        stop: Some(last + Dur::from_us(1)),
        app,
        ..like.clone()
    };
    plain(plan, flow, Dur::ZERO, last.since(Time::ZERO) + base * 2 + Dur::from_ms(50))
}

/// Long enough for the count of whole packets to be exact to a quarter of a percent, and half a second at least.
fn loaded_window(rate: Rate) -> Dur {
    rate.time_for(Bytes::new(400 * 1514)).clamp(Dur::from_ms(500), Dur::from_secs(10))
}

fn loaded_plan(plan: &Plan, like: &FlowPlan, rate: Rate) -> Plan {
    let payload_share = PAYLOAD as f64 / (PAYLOAD + UDP_HEADERS + u64::from(plan.framing)) as f64;
    let app =
        AppPlan::Cbr(CbrPlan { rate: rate.mul_f64(1.05 * payload_share), packet: Bytes::new(PAYLOAD), ecn: false });
    let flow = FlowPlan { name: "calibration".into(), start: Time::ZERO, stop: None, app, ..like.clone() };
    let fill = planned_rtt(plan, &path(plan, like.from, like.to)) + Dur::from_ms(200);
    plain(plan, flow, fill, loaded_window(rate))
}
