//! A transfer each way between our transport and the kernel's, over a router that loses and reorders: every byte
//! arrives and is right, with ECN, SACK and window scaling, and a clean close; tshark finds nothing malformed in what
//! passed. It needs root and tshark, or does nothing.
//!
//! `HALTERE_MEGABYTES=100` makes it the long run; the default is 4 each way.

mod stack;
#[path = "../support/mod.rs"]
mod support;
mod tcp_bytes;

use haltere_congestion::CongestionParams;
use haltere_plan::plan::Impairments;
use haltere_queue::QueueParams;
use haltere_transport::{Connection, Role, TcpParams};
use haltere_units::outside::{Origin, Outside};
use haltere_units::{Dur, Prob, Rate, Time};
use haltere_wire::clock::{Clock, Monotonic};
use haltere_wire::fabric::{Fabric, Steering, node_mac};
use haltere_wire::namespace::{HostSettings, Topology, node_address, port_name};
use haltere_wire::port::packet::PacketPort;
use haltere_wire::router::{Router, Watch};
use haltere_wire::stats::Snapshot;
use stack::{Either, Stack, Task, pattern};
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use support::{cable, has_tools, link, privileged};
use tcp_bytes::End;

/// Ends when the connection is closed, or at a time.
struct UntilClosed {
    is_closed: Rc<Cell<bool>>,
    next: Time,
    end: Time,
}

impl Watch for UntilClosed {
    fn turn(&mut self, _: &mut dyn FnMut() -> Snapshot, now: Time) -> ControlFlow<()> {
        self.next = now + Dur::from_ms(50);
        if self.is_closed.get() || now >= self.end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
    fn next(&self) -> Option<Time> {
        Some(self.next)
    }
}

fn kernel_peer(listener: TcpListener, bytes: u64) -> std::io::Result<(u64, u64)> {
    let (mut peer, _) = listener.accept()?;
    let mut buffer = vec![0; 1 << 16];
    let (mut received, mut wrong) = (0u64, 0u64);
    while received < bytes {
        let count = peer.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        wrong += (0..count).filter(|&i| buffer[i] != pattern(received + i as u64)).count() as u64;
        received += count as u64;
    }
    let mut sent = 0;
    while sent < bytes {
        let count = (bytes - sent).min(buffer.len() as u64) as usize;
        (0..count).for_each(|i| buffer[i] = pattern(sent + i as u64));
        peer.write_all(&buffer[..count])?;
        sent += count as u64;
    }
    // Our side closes first; the kernel then sees the end of the stream.
    let rest = peer.read(&mut buffer)?;
    assert_eq!(rest, 0, "nothing more was to come");
    Ok((received, wrong))
}

/// A transfer with that control; `number` tells the files of tests apart.
pub fn transfer(control: &CongestionParams, number: u32, languages: &Outside) {
    if !privileged("our transport against the kernel's") || !has_tools(&["tshark"]) {
        return;
    }
    let megabytes = std::env::var("HALTERE_MEGABYTES").map_or(4, |text| text.parse::<u64>().unwrap());
    let bytes = megabytes * 1_000_000;
    let sysctls = vec![("ipv4/tcp_ecn".to_string(), "1".to_string())];
    let topology = Topology::build(&[(vec![1], HostSettings { mtu: 1500, sysctls, metrics: vec![] })]).unwrap();
    let host = &topology.hosts[0].namespace;
    let listener = host
        .enter(|| {
            // Only the router knows our stack: its Ethernet address is given to the kernel by hand.
            let listener = TcpListener::bind((node_address(1), 5001))?;
            haltere_wire::namespace::add_neighbour(node_address(0), node_mac(0))?;
            Ok(listener)
        })
        .unwrap();
    let capture = std::env::temp_dir().join(format!("haltere-own-transport-{}-{number}.pcapng", std::process::id()));
    let routed = std::thread::scope(|scope| {
        let peer = scope.spawn(|| kernel_peer(listener, bytes));
        let router = scope.spawn(|| route(&topology, control, bytes, &capture, languages));
        let router = router.join().unwrap();
        if !router.done {
            panic!("the connection did not end: {router:?}");
        }
        (peer.join().unwrap().unwrap(), router)
    });
    let ((received, wrong), ours) = routed;
    assert_eq!((received, wrong), (bytes, 0), "what the kernel received");
    assert_eq!((ours.left, ours.wrong), (0, 0), "what we received");
    assert!(ours.lost > 0 && ours.retransmissions > 0, "{ours:?}");
    assert!(ours.marked > 0 && ours.ecn_reductions > 0, "marks are echoed and answered: {ours:?}");
    assert_eq!(ours.strangers, 0, "every segment of the kernel was readable");
    let Ours { lost, marked, retransmissions, seconds, .. } = ours;
    println!(
        "{megabytes} MB each way in {seconds:.1} s: {lost} lost, {marked} marked, {retransmissions} retransmitted by us"
    );
    check_with_tshark(&capture);
    let _ = std::fs::remove_file(&capture);
}

#[derive(Debug)]
struct Ours {
    done: bool,
    left: u64,
    wrong: u64,
    strangers: u64,
    lost: u64,
    marked: u64,
    retransmissions: u64,
    ecn_reductions: u64,
    seconds: f64,
}

fn route(topology: &Topology, control: &CongestionParams, bytes: u64, capture: &Path, languages: &Outside) -> Ours {
    topology.router.stay().unwrap();
    // Marks what slow start heaps up; loses nothing itself.
    let queue: QueueParams = serde_json::from_str(r#"{ "kind": "threshold", "upper": "20p" }"#).unwrap();
    let direction = |from, to| {
        let mut link = link(from, to, queue.clone());
        link.rate = Some(Rate::from_mbps(100));
        link.delay = Dur::from_ms(2);
        link.loss = Prob::of(0.001);
        let (reorder, reorder_by) = (Prob::of(0.001), Dur::from_ms(1));
        link.impairments = Some(Box::new(Impairments { reorder, reorder_by, ..Impairments::default() }));
        link
    };
    let mut params = cable(direction(0, 1), direction(1, 0));
    (params.steering, params.plan.seed) = (Steering::ByAddress, 3);
    let fabric = Fabric::new(params).unwrap();
    let mut clock = Monotonic::start(Dur::ZERO).unwrap();
    let tcp = TcpParams { ecn: true, ..TcpParams::default() };
    let connection =
        Connection::new(Role::Client, tcp, control.clone(), Origin { seed: 7, outside: languages.clone() }).unwrap();
    let end = |node, port| End { mac: node_mac(node), address: node_address(node), port };
    let task = Task { send: bytes, receive: bytes, wrong: 0 };
    let stack = Stack::connect(connection, end(0, 40_000), end(1, 5001), task, clock.now());
    let is_closed = stack.is_closed();
    let kernel = PacketPort::open(&port_name(1), 4096).unwrap();
    let mut router = Router::new(fabric, vec![Either::Left(stack), Either::Right(kernel)]).unwrap();
    router.capture(1, capture, "kernel", 0).unwrap();
    let mut watch =
        UntilClosed { is_closed, next: Time::ZERO, end: Time::ZERO + Dur::from_secs(300 + bytes / 100_000) };
    router.run(&mut clock, &mut watch, Dur::from_ms(100)).unwrap();
    assert_eq!(languages.fault(), None, "a fault of the control");
    let now = clock.now();
    let records = router.fabric.network.link_records(now);
    let Either::Left(stack) = &router.ports[0] else { unreachable!() };
    let info = stack.connection().info();
    Ours {
        done: stack.is_closed().get(),
        left: stack.left().receive + stack.left().send,
        wrong: stack.left().wrong,
        strangers: stack.strangers,
        lost: records.iter().map(|r| r.total.lost).sum(),
        marked: records.iter().map(|r| r.total.marked).sum(),
        retransmissions: info.retransmissions,
        ecn_reductions: info.ecn_reductions,
        seconds: now.as_secs_f64(),
    }
}

fn check_with_tshark(capture: &Path) {
    let count = |filter: &str| {
        let mut tshark = Command::new("tshark");
        tshark.arg("-r").arg(capture).args([
            "-o",
            "tcp.check_checksum:TRUE",
            "-o",
            "ip.check_checksum:TRUE",
            "-Y",
            filter,
        ]);
        let output = tshark.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).lines().count()
    };
    assert!(count("tcp") > 1000, "the capture holds the connection");
    // Where Linux completes a sum of zero itself it writes 0xffff, for TCP too (`skb_checksum_help`): one packet of 65,536.
    let of_linux = format!(
        "ip.src == {} and tcp.checksum == 0xffff and tcp.checksum_calculated == 0 and not ip.checksum.status == 0",
        node_address(1)
    );
    let bad = "_ws.malformed or tcp.checksum.status == 0 or ip.checksum.status == 0 or tcp.flags.reset == 1";
    assert_eq!(count(&format!("({bad}) and not ({of_linux})")), 0, "malformed, wrong checksums or resets");
    // The kernel sends ICMP errors for what it cannot make sense of.
    assert_eq!(count("icmp"), 0);
    assert_eq!(count("tcp.flags.syn == 1 and not tcp.options.wscale"), 0);
    assert_eq!(count("tcp.flags.syn == 1 and not tcp.options.sack_perm"), 0);
    assert!(count("tcp.flags.fin == 1") >= 2, "both sides close");
    assert!(count("tcp.options.sack_le") > 0, "SACK was used");
}
