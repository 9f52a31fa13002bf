//! What this machine's wire can do: forwarding rate beside the kernel's bridge, jitter of departures, delay of pings,
//! goodput and share of two flows.
//!
//! `cargo run --release -p haltere-wire --example measure [forwarding|jitter|ping|flows]...` (as root, or in `unshare -Urn`)

#[path = "../tests/support/mod.rs"]
mod support;

use haltere_congestion::CongestionParams;
use haltere_plan::Plan;
use haltere_plan::plan::{AppPlan, BulkPlan, FlowPlan, LinkPlan, PingPlan, TcpPlan};
use haltere_queue::QueueParams;
use haltere_transport::TcpParams;
use haltere_units::{Bytes, Dur, Rate, Time};
use haltere_wire::clock::{Clock, Monotonic, monotonic_ns};
use haltere_wire::fabric::{Fabric, node_mac};
use haltere_wire::frame::Frame;
use haltere_wire::namespace::{HostSettings, Namespace, Topology, node_address, port_name};
use haltere_wire::port::Port;
use haltere_wire::port::packet::PacketPort;
use haltere_wire::router::Router;
use haltere_wire::schedule::PriorityGuard;
use haltere_wire::stats::lateness;
use haltere_wire::{Calibrate, Control, run};
use std::collections::VecDeque;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use support::{cable, ethernet, ipv4, link, udp};

fn settings() -> HostSettings {
    HostSettings { mtu: 1500, sysctls: vec![], metrics: vec![] }
}

fn frame(len: usize, flow: u16) -> Frame {
    let [a, b] = [node_address(0).octets(), node_address(1).octets()];
    let mut bytes = ethernet(0x0800, &ipv4(0, 17, a, b, &udp(1000 + flow, 9, len - 42)));
    bytes[..6].copy_from_slice(&node_mac(1));
    bytes[6..12].copy_from_slice(&node_mac(0));
    Frame::parse(&bytes)
}

/// Sends frames as fast as they go until it is cancelled.
fn flood(host: &Namespace, len: usize, stop: &AtomicBool) -> u64 {
    host.stay().unwrap();
    let mut port = PacketPort::open("e0", 64).unwrap();
    let frames: Vec<Frame> = (0..64).map(|flow| frame(len, flow)).collect();
    while !stop.load(Ordering::Relaxed) {
        let mut batch: VecDeque<(Time, Frame)> = frames.iter().map(|f| (Time::ZERO, f.clone())).collect();
        port.send(Time::ZERO, &mut batch).unwrap();
    }
    port.counters().sent
}

/// Frames that the host's interface has received.
fn received(host: &Namespace) -> u64 {
    let text = host.enter(|| std::fs::read_to_string("/proc/thread-self/net/dev")).unwrap();
    let line = text.lines().find(|l| l.trim_start().starts_with("e0:")).unwrap();
    line.split_whitespace().nth(2).unwrap().parse().unwrap()
}

/// Offered and forwarded frames a second while `forwarder` runs.
fn throughput(topology: &Topology, len: usize, forwarder: impl FnOnce(&AtomicBool) + Send) -> (f64, f64) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let forwarding = scope.spawn(|| forwarder(&stop));
        std::thread::sleep(std::time::Duration::from_millis(200));
        let sender = scope.spawn(|| flood(&topology.hosts[0].namespace, len, &stop));
        std::thread::sleep(std::time::Duration::from_millis(500));
        let (from, begun) = (received(&topology.hosts[1].namespace), monotonic_ns());
        std::thread::sleep(std::time::Duration::from_secs(3));
        let (to, ended) = (received(&topology.hosts[1].namespace), monotonic_ns());
        stop.store(true, Ordering::Relaxed);
        let sent = sender.join().unwrap();
        forwarding.join().unwrap();
        (sent as f64 / 3.5, (to - from) as f64 / ((ended - begun) as f64 * 1e-9))
    })
}

struct Cancelled<'a>(&'a AtomicBool, Time);

impl haltere_wire::router::Watch for Cancelled<'_> {
    fn turn(&mut self, _: &mut dyn FnMut() -> haltere_wire::stats::Snapshot, now: Time) -> std::ops::ControlFlow<()> {
        self.1 = now + Dur::from_ms(50);
        if self.0.load(Ordering::Relaxed) {
            std::ops::ControlFlow::Break(())
        } else {
            std::ops::ControlFlow::Continue(())
        }
    }
    fn next(&self) -> Option<Time> {
        Some(self.1)
    }
}

fn ours(topology: &Topology, queue: &QueueParams, rate: Option<Rate>, spin: Dur, stop: &AtomicBool) {
    topology.router.stay().unwrap();
    let mut params = cable(link(0, 1, queue.clone()), link(1, 0, queue.clone()));
    for link in &mut params.plan.links {
        link.rate = rate;
        link.delay = Dur::ZERO;
    }
    let ports = [0, 1].map(|n| PacketPort::open(&port_name(n), 4096).unwrap());
    let guard = PriorityGuard::for_router(spin);
    let mut router = Router::new(Fabric::new(params).unwrap(), ports.into()).unwrap();
    router.schedule = guard.schedule();
    let mut clock = Monotonic::start(spin).unwrap();
    router.run(&mut clock, &mut Cancelled(stop, Time::ZERO), Dur::ZERO).unwrap();
    let counters = router.snapshot(clock.now());
    let [mean, _, p99, max] = lateness(&counters.lateness);
    println!(
        "      {}: late mean {mean} p99 {p99} max {max}, unaccounted {}, {:.1} % of a core",
        counters.schedule.name(),
        counters.unaccounted(),
        counters.cpu_share() * 100.0
    );
}

fn forwarding() {
    println!("forwarding, frames offered as fast as one thread sends them");
    for len in [1514, 64] {
        for kind in ["fq_codel", "drop_tail", "rafle"] {
            let Some(queue) = QueueParams::default_of(kind) else { continue };
            let topology = Topology::build(&[(vec![0], settings()), (vec![1], settings())]).unwrap();
            let (offered, forwarded) =
                throughput(&topology, len, |stop| ours(&topology, &queue, None, Dur::ZERO, stop));
            report(&format!("haltere-router {kind}"), len, offered, forwarded);
        }
        let topology = Topology::build(&[(vec![0], settings()), (vec![1], settings())]).unwrap();
        for arguments in
            ["link add br0 type bridge", "link set n0 master br0", "link set n1 master br0", "link set br0 up"]
        {
            let mut ip = Command::new("ip");
            let status = topology.router.spawn(ip.args(arguments.split(' '))).unwrap().wait().unwrap();
            assert!(status.success(), "ip {arguments}");
        }
        let (offered, forwarded) = throughput(&topology, len, |_| ());
        report("kernel's bridge", len, offered, forwarded);
    }
}

fn report(what: &str, len: usize, offered: f64, forwarded: f64) {
    println!(
        "  {len:5} B  {what:28} offered {:7.1} kpps, forwarded {:7.1} kpps = {:8.1} Mbit/s",
        offered * 1e-3,
        forwarded * 1e-3,
        forwarded * len as f64 * 8e-6
    );
}

fn jitter() {
    println!("inter-departure times of 1514-byte frames behind a full queue, stamped by the far host's kernel");
    for spin in [0, 25, 200].map(Dur::from_us) {
        for mbps in [10, 100, 1000] {
            let topology = Topology::build(&[(vec![0], settings()), (vec![1], settings())]).unwrap();
            let queue = QueueParams::default_of("drop_tail").unwrap();
            let rate = Rate::from_mbps(mbps);
            let stop = AtomicBool::new(false);
            let stamps = std::thread::scope(|scope| {
                scope.spawn(|| ours(&topology, &queue, Some(rate), spin, &stop));
                std::thread::sleep(std::time::Duration::from_millis(200));
                scope.spawn(|| offer(&topology.hosts[0].namespace, rate, &stop));
                let stamps = scope.spawn(|| collect(&topology.hosts[1].namespace)).join().unwrap();
                stop.store(true, Ordering::Relaxed);
                stamps
            });
            print_gaps(mbps, spin, &stamps, rate.time_for(Bytes::new(1514)));
        }
    }
}

/// Sends 4 % more than the rate, in batches of a millisecond: the queue is never empty.
fn offer(host: &Namespace, rate: Rate, stop: &AtomicBool) {
    host.stay().unwrap();
    let mut port = PacketPort::open("e0", 64).unwrap();
    let (begun, mut sent) = (monotonic_ns(), 0u64);
    while !stop.load(Ordering::Relaxed) {
        let due = rate.mul_f64(1.04).bytes_in(Dur::from_ns(monotonic_ns() - begun)).as_u64() / 1514 + 20;
        let mut batch: VecDeque<(Time, Frame)> =
            (sent..due).map(|n| (Time::ZERO, frame(1514, (n % 64) as u16))).collect();
        sent = due;
        port.send(Time::ZERO, &mut batch).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

fn collect(host: &Namespace) -> Vec<u64> {
    host.stay().unwrap();
    let mut port = PacketPort::open("e0", 16384).unwrap();
    let (begun, mut stamps) = (monotonic_ns(), Vec::new());
    while monotonic_ns() - begun < 3_000_000_000 {
        port.receive_stamped(4096, |stamp, _| stamps.push(stamp));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(port.counters().overrun, 0, "the receiver was too slow to judge");
    stamps
}

fn print_gaps(mbps: u64, spin: Dur, stamps: &[u64], ideal: Dur) {
    let warm = &stamps[stamps.len() / 5..];
    let mut gaps: Vec<f64> = warm.windows(2).map(|w| w[1] as f64 - w[0] as f64).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let deviation = (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
    gaps.sort_by(f64::total_cmp);
    let at = |q: f64| gaps[((gaps.len() - 1) as f64 * q) as usize] * 1e-3;
    let bursts = gaps.iter().filter(|g| **g < 0.5 * ideal.as_ns() as f64).count() as f64 / gaps.len() as f64;
    println!(
        "  {mbps:5} Mbit/s spin {spin:5}: ideal {:.2} us, mean {:.3} us, deviation {:.2} us, p1 {:.2} p50 {:.2} p99 {:.2} max {:.1} us, closer than half {:.2} %",
        ideal.as_ns() as f64 * 1e-3,
        mean * 1e-3,
        deviation * 1e-3,
        at(0.01),
        at(0.5),
        at(0.99),
        at(1.0),
        bursts * 100.0
    );
}

fn ping() {
    println!("pings through a path of 5 ms each way, 100 a second for 10 s");
    let queue = QueueParams::default_of("fq_codel").unwrap();
    let one = |from: usize, to: usize| LinkPlan::plain(from, to, None, Dur::from_ms(5), queue.clone());
    for spin in [Dur::ZERO, Dur::from_us(200)] {
        let app = AppPlan::Ping(PingPlan { interval: Dur::from_ms(10), payload: Bytes::new(56), ecn: false });
        let (links, flows) = (vec![one(0, 1), one(1, 0)], vec![FlowPlan::new("ping", 0, 1, app)]);
        let plan = Plan::new(Plan::node_names(2), links, flows, Time::ZERO + Dur::from_secs(10));
        let outcome = run(&plan, &Control { calibrate: Calibrate::No, spin, ..Control::default() }).unwrap();
        let mut rtts: Vec<f64> = outcome.record.pings.iter().map(|p| p.rtt.as_secs_f64() * 1e3).collect();
        let mean = rtts.iter().sum::<f64>() / rtts.len() as f64;
        let deviation = (rtts.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / rtts.len() as f64).sqrt();
        rtts.sort_by(f64::total_cmp);
        let at = |q: f64| rtts[((rtts.len() - 1) as f64 * q) as usize];
        let (least, most) = (at(0.0), at(1.0));
        println!(
            "  {} spin {spin:5}: {} replies, mean {mean:.4} ms, deviation {deviation:.4} ms, least {least:.4}, p50 {:.4}, p99 {:.4}, \
             most {most:.4}, router {:.1} % of a core",
            outcome.router.schedule.name(),
            rtts.len(),
            at(0.5),
            at(0.99),
            outcome.router.cpu_share() * 100.0
        );
    }
}

fn flows() {
    println!("two flows of the kernel through FQ-CoDel at 10 Mbit/s, 10 ms each way, for 10 s");
    let queue = QueueParams::default_of("fq_codel").unwrap();
    let one = |from, to| LinkPlan::plain(from, to, Some(Rate::from_mbps(10)), Dur::from_ms(10), queue.clone());
    let flow = |kind: &str| {
        let tcp = TcpPlan::alike(CongestionParams::default_of(kind).unwrap(), TcpParams::default());
        FlowPlan::new(kind, 0, 1, AppPlan::Bulk(BulkPlan { tcp, bytes: None }))
    };
    let (links, flows) = (vec![one(0, 1), one(1, 0)], vec![flow("cubic"), flow("reno")]);
    let warmup = Time::ZERO + Dur::from_secs(2);
    let plan = Plan { warmup, ..Plan::new(Plan::node_names(2), links, flows, Time::ZERO + Dur::from_secs(10)) };
    let outcome = run(&plan, &Control { calibrate: Calibrate::No, ..Control::default() }).unwrap();
    let goodput = |flow: usize| outcome.record.flows[flow].received_after_warmup as f64 * 8e-6 / 8.0;
    let (sum, [_, _, p99, _]) = (goodput(0) + goodput(1), lateness(&outcome.router.lateness));
    println!(
        "  goodput {sum:.2} of 9.56 Mbit/s, CUBIC's share {:.2}; the router at most {p99} late in 99 of 100 cases",
        goodput(0) / sum,
    );
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let all = wanted.is_empty();
    for (name, measure) in [("forwarding", forwarding as fn()), ("jitter", jitter), ("ping", ping), ("flows", flows)] {
        if all || wanted.iter().any(|w| w == name) {
            let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
            println!("load average, running/all: {}", load.trim());
            measure();
        }
    }
}
