//! Frames, ports in memory and virtual time for tests, and the bodies that the fuzz targets and the bounded tests share.
#![allow(dead_code, reason = "each test program uses a part")]

mod memory;
mod virtual_time;

use haltere_plan::fabric::FabricPlan;
use haltere_plan::plan::{Impairments, LinkPlan};
use haltere_queue::{Ecn, Pkt, QueueParams};
use haltere_units::outside::Outside;
use haltere_units::{Bytes, Dur, Prob, Rate, Time};
use haltere_wire::fabric::{Fabric, FabricParams, Steering};
use haltere_wire::frame::offload::Offload;
use haltere_wire::frame::{Frame, Kind, checksum};
use haltere_wire::namespace::Namespace;
use haltere_wire::router::{Router, Watch};
use haltere_wire::stats::Snapshot;
use memory::MemoryPort;
use std::ops::ControlFlow;
use virtual_time::Virtual;

/// An Ethernet frame round `payload`.
pub fn ethernet(ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    bytes.extend_from_slice(&ethertype.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// An IPv4 packet round `payload`, its checksum right.
pub fn ipv4(tos: u8, protocol: u8, src: [u8; 4], dst: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let total = (20 + payload.len()) as u16;
    let mut bytes = vec![0x45, tos, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0];
    bytes[2..4].copy_from_slice(&total.to_be_bytes());
    bytes.extend_from_slice(&src);
    bytes.extend_from_slice(&dst);
    let sum = checksum(&[&bytes]);
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// An IPv6 packet round `payload`.
pub fn ipv6(traffic_class: u8, next: u8, src: u128, dst: u128, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x60 | (traffic_class >> 4), traffic_class << 4, 0, 0, 0, 0, next, 64];
    bytes[4..6].copy_from_slice(&(payload.len() as u16).to_be_bytes());
    bytes.extend_from_slice(&src.to_be_bytes());
    bytes.extend_from_slice(&dst.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// A TCP segment with `payload` zero bytes (checksum left zero).
pub fn tcp(src_port: u16, dst_port: u16, seq: u32, payload: usize) -> Vec<u8> {
    let mut bytes = vec![0; 20 + payload];
    bytes[0..2].copy_from_slice(&src_port.to_be_bytes());
    bytes[2..4].copy_from_slice(&dst_port.to_be_bytes());
    bytes[4..8].copy_from_slice(&seq.to_be_bytes());
    bytes[12] = 5 << 4;
    bytes[13] = 0x10;
    bytes
}

/// A UDP datagram with `payload` zero bytes.
pub fn udp(src_port: u16, dst_port: u16, payload: usize) -> Vec<u8> {
    let mut bytes = vec![0; 8 + payload];
    bytes[0..2].copy_from_slice(&src_port.to_be_bytes());
    bytes[2..4].copy_from_slice(&dst_port.to_be_bytes());
    bytes[4..6].copy_from_slice(&((8 + payload) as u16).to_be_bytes());
    bytes
}

/// Everything that a router does to a frame, on any bytes: panics where an invariant breaks.
pub fn exercise_frame(bytes: &[u8]) {
    let mut frame = Frame::parse(bytes);
    assert_eq!(frame.bytes(), bytes);
    frame.set_isn_bits(22);
    let before = (frame.flow(), frame.priority(), frame.stream_offset(), frame.len());
    assert!(before.2.is_none_or(|offset| offset < 1 << 22));
    if let Some(ip) = frame.ip() {
        assert!(ip.len() <= bytes.len());
    }
    if let Some(back) = frame.turned_round() {
        assert_eq!(back.ecn(), Ecn::Ce);
        assert_eq!((back.flow().src, back.flow().dst_port), (before.0.dst, before.0.src_port));
        assert_eq!(back.bytes().len(), bytes.len());
    }
    if frame.ecn().is_capable() {
        frame.set_ce();
        assert_eq!(frame.ecn(), Ecn::Ce);
    }
    if frame.ip().is_some() {
        let ecn = frame.ecn();
        frame.set_dscp(45);
        assert_eq!((frame.dscp(), frame.ecn()), (45, ecn));
    }
    assert_eq!((frame.flow(), frame.stream_offset(), frame.len()), (before.0, before.2, before.3));
    let _ = Frame::with_tag(bytes, 0x8100, 1).flow();
    if let Some((header, rest)) = bytes.split_first_chunk() {
        // Any bytes as what an offload left undone.
        let mut longest = 0;
        let _ = Offload::read(header).finish(rest, None, &mut |packet| longest = longest.max(packet.bytes().len()));
        assert!(longest <= rest.len());
    }
    if frame.kind() == Kind::Arp {
        assert_eq!(frame.bytes(), bytes, "ARP passes untouched");
    }
}

/// A link from node `from` to node `to`, 10 Mbit/s and 1 ms, with that discipline.
pub fn link(from: usize, to: usize, queue: QueueParams) -> LinkPlan {
    let plain = LinkPlan::plain(from, to, Some(Rate::from_mbps(10)), Dur::from_ms(1), queue);
    LinkPlan { watched: true, rtt: Some(Dur::from_ms(10)), ..plain }
}

/// Two ports with `there` from the first to the second and `back` from the second to the first.
pub fn cable(there: LinkPlan, back: LinkPlan) -> FabricParams {
    let plan = FabricPlan {
        nodes: 2,
        links: vec![there, back],
        reroutes: Vec::new(),
        framing: 14,
        seed: 1,
        outside: Outside::NONE,
        count_sockets: false,
        sample: None,
        warmup: Time::ZERO,
        end: Time::NEVER,
    };
    FabricParams { plan, ports: vec![0, 1], steering: Steering::Across, isn_bits: 0 }
}

/// Ends at a time.
#[derive(Debug, Clone, Copy)]
struct Until(Time);

impl Watch for Until {
    fn turn(&mut self, _router: &mut dyn FnMut() -> Snapshot, now: Time) -> ControlFlow<()> {
        if now >= self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
    fn next(&self) -> Option<Time> {
        Some(self.0)
    }
}

/// Runs frames that arrive at the ports by script through a router in virtual time, until `end` and then until empty.
pub fn run_script(params: FabricParams, scripts: Vec<Vec<(Time, Vec<u8>)>>, end: Time) -> Router<MemoryPort> {
    let mut times: Vec<Time> = scripts.iter().flatten().map(|(at, _)| *at).collect();
    times.sort();
    let mut clock = Virtual::new();
    clock.set_arrivals(times);
    let fabric = Fabric::new(params).expect("the parts are valid");
    let mut router = Router::new(fabric, scripts.into_iter().map(MemoryPort::new).collect()).expect("a port for each");
    router.run(&mut clock, &mut Until(end), Dur::from_secs(1000)).expect("memory does not fail");
    router
}

/// A whole router in virtual time on a script made of any bytes: panics where an invariant breaks.
///
/// The first bytes choose the discipline and the link; then come frames: gap, port, damage, length.
pub fn exercise_router(bytes: &[u8]) {
    let mut input = bytes.iter().copied();
    let mut byte = || input.next().unwrap_or(0);
    let kind = QueueParams::NAMES[usize::from(byte()) % QueueParams::NAMES.len()];
    let queue = QueueParams::default_of(kind).expect("a name of the registry");
    let flags = byte();
    let mut there = link(0, 1, queue.clone());
    there.loss = Prob::of(f64::from(byte()) / 255.0);
    let (reorder, reorder_by) = (Prob::of(f64::from(byte()) / 255.0), Dur::from_us(u64::from(byte()) * 100));
    there.impairments = Some(Box::new(Impairments { reorder, reorder_by, ..Impairments::default() }));
    there.rate = (flags & 1 == 0).then_some(Rate::from_bps(1 + u64::from(byte()) * 100_000));
    there.ring = (flags & 2 != 0).then_some(u32::from(byte()) + 1);
    there.handover_at_start = flags & 4 != 0;
    there.jitter = Dur::from_us(u64::from(byte())).into();
    there.burst = Bytes::new(u64::from(byte()) * 50);
    let mut params = cable(there, link(1, 0, queue));
    params.isn_bits = byte() % 33;
    params.plan.framing = u32::from(byte());
    if flags & 8 != 0 {
        params.steering = Steering::ByAddress;
    }
    let (mut now, mut scripts) = (Time::ZERO, vec![Vec::new(), Vec::new()]);
    let mut count = 0;
    while let Some(gap) = input.next() {
        let mut byte = || input.next().unwrap_or(0);
        now += Dur::from_us(u64::from(gap) * 10);
        let (port, len, tos) = (usize::from(byte() & 1), usize::from(byte()) * 6, byte());
        let mut frame = ethernet(0x0800, &ipv4(tos, 6, [10, 0, 0, byte()], [10, 0, 0, 2], &tcp(1, 2, 3, len)));
        let (at, value) = (usize::from(byte()), byte());
        if let Some(place) = frame.get_mut(at) {
            *place = value;
        }
        if flags & 16 != 0 {
            frame.truncate(usize::from(byte()));
        }
        scripts[port].push((now, frame));
        count += 1;
    }
    if Fabric::new(params.clone()).is_err() {
        return; // refused before it starts, e.g. a size in `bdp` on a link without rate
    }
    let mut router = run_script(params, scripts, now);
    let snapshot = router.snapshot(now);
    assert_eq!(snapshot.fabric.arrived, count);
    assert_eq!(snapshot.unaccounted(), 0, "{snapshot:?}");
    assert!(serde_json::to_string(&snapshot.json()).is_ok_and(|text| text.len() > 2));
    assert!(!snapshot.prometheus().is_empty() && !snapshot.line(&snapshot).is_empty());
}

/// True if network namespaces may be made. If not, says that the test `what` is skipped, but in CI (`CI=true`) fails.
pub fn privileged(what: &str) -> bool {
    match Namespace::new() {
        Ok(_) => true,
        Err(e) => {
            assert!(std::env::var("CI").is_err(), "{what}: must not be skipped in CI: {e}");
            eprintln!("skipped: {what}: {e}");
            false
        }
    }
}

/// True if these programs are installed. If not, says so, but in CI fails.
pub fn has_tools(names: &[&str]) -> bool {
    let missing = names.iter().find(|name| std::process::Command::new(name).arg("--version").output().is_err());
    if let Some(name) = missing {
        assert!(std::env::var("CI").is_err(), "must not be skipped in CI: `{name}` is not installed");
        eprintln!("skipped: `{name}` is not installed");
    }
    missing.is_none()
}
