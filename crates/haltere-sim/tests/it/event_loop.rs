//! The simulator gives the record of the reference loop in `reference.rs`, which the documentation of `run` shows.
//!
//! The loop knows nothing of timing wheels, pools or lazily computed links. Equal are the counters of each link, what
//! each flow delivered, and its sender's state at the end, if no two things that touch one link happen at the same
//! nanosecond: their order is that of events in the simulator, and that of links in the loop. If packets of two flows
//! arrive together, the test takes another plan.

use haltere_congestion::CongestionParams;
use haltere_plan::headers::IPV4_HEADER;
use haltere_plan::link::{self, Sink};
use haltere_plan::plan::{AppPlan, BulkPlan, FlowPlan, LinkPlan, TcpPlan};
use haltere_plan::record::LinkCounters;
use haltere_plan::rng::Rng;
use haltere_plan::{Plan, Routes, ports};
use haltere_queue::{Ecn, FlowKey, Pkt, QueueParams};
use haltere_sim::RunControl;
use haltere_transport::{Connection, Info, Role, Segment, TcpParams};
use haltere_units::{Dur, Rate, Time};
use std::cell::Cell;
use std::collections::VecDeque;

include!("event_loop/reference.rs");

/// A segment on its path: the links that are left, and the endpoint behind them.
struct Packet {
    segment: Segment,
    ecn: Ecn,
    len: u32,
    flow: FlowKey,
    path: VecDeque<usize>,
    to: usize,
}

impl Pkt for Packet {
    fn len(&self) -> u32 {
        self.len
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn flow(&self) -> FlowKey {
        self.flow
    }
}

/// The packets that a link delivers.
#[derive(Default)]
struct Delivered(Vec<Packet>);

impl Sink<Packet> for Delivered {
    fn delivered(&mut self, _at: Time, packet: Packet) {
        self.0.push(packet);
    }
}

thread_local! {
    /// Packets of two flows arrived at a link at one instant, so that their order in the queue was arbitrary.
    static TIE: Cell<bool> = const { Cell::new(false) };
}

/// A link that notices ties.
struct Link {
    link: link::Link<Packet>,
    last: Option<(Time, FlowKey)>,
}

impl Link {
    fn arrive(&mut self, now: Time, packet: Packet, sink: &mut Delivered) {
        if self.last.is_some_and(|(at, flow)| at == now && flow != packet.flow) {
            TIE.set(true);
        }
        self.last = Some((now, packet.flow));
        self.link.arrive(now, packet, sink);
    }
    fn advance(&mut self, now: Time, sink: &mut Delivered) {
        self.link.advance(now, sink);
    }
    fn next_event(&self) -> Option<Time> {
        self.link.next_event()
    }
    fn counters(&mut self, now: Time) -> LinkCounters {
        self.link.counters(now)
    }
}

/// One end of a flow: the client has always something to send, the server reads at once.
struct End {
    socket: Connection,
    /// When the client starts. `None`: it has, or this is a server.
    start: Option<Time>,
    received: u64,
    flow: FlowKey,
    path: VecDeque<usize>,
    to: usize,
    framing: u32,
}

impl End {
    fn due(&self) -> Option<Time> {
        [self.start, self.socket.next_timeout()].into_iter().flatten().min()
    }
    /// Starts, or lets the timer expire, if it is time.
    fn act(&mut self, now: Time) -> Vec<Packet> {
        if self.due().is_none_or(|due| due > now) {
            return Vec::new();
        }
        if self.start.take_if(|start| *start <= now).is_some() {
            self.socket.open(now);
            self.socket.write_endless();
        } else {
            self.socket.on_timeout(now);
        }
        self.transmit(now)
    }
    fn receive(&mut self, now: Time, packet: &Packet) -> Vec<Packet> {
        self.socket.on_segment(now, &packet.segment, packet.ecn);
        self.received += self.socket.read(u64::MAX);
        self.transmit(now)
    }
    fn transmit(&mut self, now: Time) -> Vec<Packet> {
        let (framing, flow, to) = (self.framing, self.flow, self.to);
        let segments = std::iter::from_fn(|| self.socket.poll_transmit(now));
        segments
            .map(|(segment, ecn)| {
                let len = framing + IPV4_HEADER + segment.header_len() + segment.len;
                Packet { segment, ecn, len, flow, path: self.path.clone(), to }
            })
            .collect()
    }
}

fn links(plan: &Plan) -> Vec<Link> {
    let link = |of| Link { link: link::Link::new(of, plan.framing, plan.seed).expect("parameters"), last: None };
    plan.links.iter().map(link).collect()
}

/// Both ends of each flow, the client first.
fn ends(plan: &Plan) -> Vec<End> {
    let mut routes = Routes::of(plan);
    let mut ends = Vec::new();
    for (index, flow) in plan.flows.iter().enumerate() {
        let (client, server) = ports::of_flow(index);
        let tcp = flow.app.tcp().expect("a TCP flow");
        let mut end = |role, side: &str, params, (from, to), (src_port, dst_port), start, peer| {
            let seed = Rng::new(plan.seed, &format!("{}/{side}", flow.name)).bits();
            let address = |node: usize| 0x0a00_0001 + node as u128; // as in captures
            ends.push(End {
                socket: Connection::new(role, params, tcp.congestion.clone(), seed).expect("parameters"),
                start,
                received: 0,
                flow: FlowKey { src: address(from), dst: address(to), src_port, dst_port, protocol: 6 },
                path: routes.path(from, to).expect("a path").into(),
                to: peer,
                framing: plan.framing,
            });
        };
        let (from, to) = (flow.from, flow.to);
        end(Role::Client, "client", tcp.sender.clone(), (from, to), (client, server), Some(flow.start), 2 * index + 1);
        end(Role::Server, "server", tcp.receiver.clone(), (to, from), (server, client), None, 2 * index);
    }
    ends
}

/// Two flows of different round-trip times over one bottleneck, of which the second starts so many nanoseconds later.
fn dumbbell(control: &str, queue: &str, later_ns: u64) -> Plan {
    let congestion = CongestionParams::default_of(control).expect("a control of the registry");
    let tcp = TcpPlan::alike(congestion, TcpParams { ecn: control == "dctcp", ..TcpParams::default() });
    let link = |from, to, kbps: u64, ns: u64| {
        let queue =
            QueueParams::default_of(if (from, to) == (2, 3) { queue } else { "drop_tail" }).expect("a discipline");
        LinkPlan {
            rtt: Some(Dur::from_ms(20)),
            ..LinkPlan::plain(from, to, Some(Rate::from_bps(kbps * 1000)), Dur::from_ns(ns), queue)
        }
    };
    let ends =
        [(0, 2, 99_991, 1_013_009), (1, 2, 99_989, 2_707_071), (3, 4, 99_971, 1_511_017), (3, 5, 99_961, 3_301_051)];
    let both = |(a, b, kbps, ns): (usize, usize, u64, u64)| [link(a, b, kbps, ns), link(b, a, kbps + 2, ns + 1009)];
    let links = ends.into_iter().chain([(2, 3, 9_973, 8_009_021)]).flat_map(both).collect();
    let flow = |i: usize| FlowPlan {
        start: Time::from_ns(1 + later_ns * i as u64),
        ..FlowPlan::new(format!("f{i}"), i, 4 + i, AppPlan::Bulk(BulkPlan { tcp: tcp.clone(), bytes: None }))
    };
    Plan::new(Plan::node_names(6), links, vec![flow(0), flow(1)], Time::from_ns(8_000_000_000))
}

/// A plan in which no packets of two flows meet at one instant, with the record of the loop. About one in ten has such a tie.
fn without_ties(control: &str, queue: &str) -> (Plan, Vec<LinkCounters>, Vec<(u64, Info)>) {
    let plans = (0..20).map(|n| dumbbell(control, queue, 700_000_013 + n * 1_000_019));
    let mut runs = plans.filter_map(|plan| {
        TIE.set(false);
        let (links, flows) = run(&plan);
        (!TIE.get()).then_some((plan, links, flows))
    });
    runs.next().unwrap_or_else(|| panic!("ties in twenty plans with {control} over {queue}"))
}

#[test]
fn the_simulator_gives_the_record_of_the_reference_loop() {
    for control in ["reno", "cubic", "dctcp", "bbr"] {
        for queue in ["drop_tail", "red", "codel", "fq_codel", "pie"] {
            let (plan, links, flows) = without_ties(control, queue);
            let record = haltere_sim::run(&plan, &RunControl::default()).expect("the run ends well");
            let got: Vec<_> = record.links.iter().map(|link| link.total).collect();
            assert_eq!(got, links, "links with {control} over {queue}");
            let got: Vec<_> = record.flows.iter().map(|flow| (flow.received, flow.sender.expect("TCP"))).collect();
            assert_eq!(got, flows, "flows with {control} over {queue}");
            assert!(links[8].peak_packets > 2, "a queue forms with {control} over {queue}");
        }
    }
}
