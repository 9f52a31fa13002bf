//! What worlds may rely on: arrivals, protocols of the traffic kinds, counters of a link and of its warm-up, capacity.

use haltere_congestion::CongestionParams;
use haltere_plan::app::outside::OutsidePlan;
use haltere_plan::app::program::{ProgramPlan, Ready};
use haltere_plan::app::{Protocol, TcpPlan};
use haltere_plan::arrivals::{FlowArrival, FlowArrivals};
use haltere_plan::link::{Link, Sink};
use haltere_plan::plan::{
    AppPlan, ArrivalsPlan, Between, BulkPlan, CbrPlan, DurationDistribution, FlowPlan, FtpPlan, LinkPlan,
    MultipathPlan, OnOffPlan, PathPlan, Pattern, PingPlan, Plan, RpcPlan, VideoPlan, VoipPlan, WebPlan, Work,
};
use haltere_plan::record::{LinkCounters, LinkRecord, Record, SenderCounts};
use haltere_plan::sizes::SizeDistribution;
use haltere_queue::{DropReason, Ecn, FlowKey, Pkt, QueueParams};
use haltere_transport::multipath::MultipathParams;
use haltere_transport::{Info, TcpParams};
use haltere_units::{Bytes, Dur, Rate, Time};
use proptest::prelude::*;

fn tcp() -> TcpPlan {
    TcpPlan::alike(CongestionParams::default_of("cubic").expect("a name of the registry"), TcpParams::default())
}

fn arrivals(hosts: &[usize], pattern: Pattern, max_flows: Option<u64>) -> ArrivalsPlan {
    ArrivalsPlan { tcp: tcp(), between: Between::Hosts(hosts.into()), pattern, sizes: sizes(), max_flows }
}

fn sizes() -> SizeDistribution {
    SizeDistribution::new(&[[100.0, 0.5], [900.0, 1.0]]).expect("a table")
}

fn incast(to: Option<usize>, senders: u32, jitter: Dur) -> Pattern {
    Pattern::Incast { to, senders, interval: Dur::from_ms(10), jitter }
}

fn first(plan: &ArrivalsPlan, seed: u64, count: usize) -> Vec<FlowArrival> {
    FlowArrivals::new(plan, "entry", Time::from_ns(5), None, seed).take(count).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_round_of_an_incast_has_its_senders_its_time_and_one_receiver(
        hosts in 2..12usize, senders in 1..20u32, to in prop::option::of(0..2usize), jitter_us in 0..10_000u64, seed: u64,
    ) {
        // Hosts are indices of nodes, not of the list.
        let hosts: Vec<usize> = (0..hosts).map(|host| 3 * host + 1).collect();
        let to = to.map(|place| hosts[place]);
        let jitter = Dur::from_us(jitter_us);
        let plan = arrivals(&hosts, incast(to, senders, jitter), None);
        let all = first(&plan, seed, 4 * senders as usize);
        for (number, round) in (0u64..).zip(all.chunks(senders as usize)) {
            let begin = Time::from_ns(5) + Dur::from_ms(10) * number;
            let receiver = to.unwrap_or(round[0].to);
            prop_assert!(hosts.contains(&receiver));
            for flow in round {
                prop_assert!(flow.at >= begin && flow.at <= begin + jitter, "{} in round {number}", flow.at);
                prop_assert!(flow.to == receiver && flow.from != receiver && hosts.contains(&flow.from));
                prop_assert!((1..=900).contains(&flow.bytes.as_u64()));
            }
            prop_assert!(round.windows(2).all(|two| two[0].at <= two[1].at));
            // No host sends a second time before each has sent once.
            let counts = hosts.iter().filter(|host| **host != receiver).map(|host| {
                round.iter().filter(|flow| flow.from == *host).count()
            });
            let counts: Vec<usize> = counts.collect();
            prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{counts:?}");
        }
    }

    #[test]
    fn arrivals_are_a_function_of_the_seed_and_end_with_their_number_or_time(seed: u64, most in 0..40u64) {
        for pattern in [Pattern::Poisson { gap: Dur::from_us(100) }, incast(None, 3, Dur::from_ms(1))] {
            let plan = arrivals(&[0, 1, 2, 3], pattern.clone(), Some(most));
            prop_assert_eq!(first(&plan, seed, 100), first(&plan, seed, 100));
            prop_assert_eq!(first(&plan, seed, 100).len() as u64, most);
            if most > 20 {
                prop_assert!(first(&plan, seed, 100) != first(&plan, seed ^ 1, 100));
            }
            let endless = arrivals(&[0, 1, 2, 3], pattern, None);
            let stop = Time::from_ns(0) + Dur::from_ms(25);
            let until: Vec<FlowArrival> = FlowArrivals::new(&endless, "entry", Time::ZERO, Some(stop), seed).collect();
            prop_assert!(!until.is_empty() && until.iter().all(|flow| flow.at < stop));
        }
    }
}

#[test]
fn poisson_arrivals_have_their_mean_gap_and_every_pair_of_hosts() {
    let hosts = [2, 5, 7, 11];
    let plan = arrivals(&hosts, Pattern::Poisson { gap: Dur::from_us(50) }, None);
    let flows = first(&plan, 3, 24_000);
    let mean = flows.last().expect("flows").at.as_ns() as f64 / 24_000.0;
    // The mean of 24,000 exponential gaps has a standard deviation of 0.65 %.
    assert!((mean / 50_000.0 - 1.0).abs() < 0.03, "{mean} ns");
    for from in hosts {
        for to in hosts.into_iter().filter(|to| *to != from) {
            let share = flows.iter().filter(|flow| (flow.from, flow.to) == (from, to)).count();
            // One in twelve: 2000 with a standard deviation of 43.
            assert!(share.abs_diff(2000) < 5 * 43, "{share} from {from} to {to}");
        }
    }
    assert!(flows.iter().all(|flow| flow.from != flow.to));
}

/// One plan of each kind, in the registry's order; the arrivals twice, once for each pattern.
fn kinds() -> Vec<AppPlan> {
    let path = PathPlan { from: 0, to: 1, join: None, leave: None, cut: None };
    let span = DurationDistribution::Constant(Dur::from_ms(1));
    vec![
        BulkPlan { tcp: tcp(), bytes: None }.into(),
        OnOffPlan {
            tcp: tcp(),
            rate: Rate::from_mbps(1),
            chunk: Bytes::new(1),
            on: span,
            off: span,
            begins_off: false,
        }
        .into(),
        CbrPlan { rate: Rate::from_mbps(1), packet: Bytes::new(100), ecn: false }.into(),
        PingPlan { interval: Dur::from_ms(1), payload: Bytes::ZERO, ecn: false }.into(),
        FtpPlan { tcp: tcp(), work: Work::One(Bytes::new(1)), short: Bytes::ZERO }.into(),
        Box::new(MultipathPlan {
            tcp: tcp(),
            multipath: MultipathParams::default(),
            paths: vec![path, PathPlan { from: 2, ..path }],
            rate: None,
            packet: Bytes::ZERO,
            bytes: None,
        })
        .into(),
        Box::new(arrivals(&[0, 1, 2, 3], Pattern::Poisson { gap: Dur::from_ms(1) }, None)).into(),
        Box::new(arrivals(&[0, 1, 2, 3], incast(None, 1, Dur::ZERO), None)).into(),
        Box::new(WebPlan {
            tcp: tcp(),
            objects: (1, 2),
            sizes: sizes(),
            request: Bytes::new(1),
            connections: 1,
            think: span,
        })
        .into(),
        Box::new(RpcPlan { tcp: tcp(), request: sizes(), response: sizes(), outstanding: 1, think: span }).into(),
        Box::new(VideoPlan {
            tcp: tcp(),
            segment: Dur::from_secs(4),
            ladder: vec![Rate::from_mbps(1)].into(),
            buffer: Dur::from_secs(60),
            reservoir: Dur::from_secs(8),
            cushion: Dur::from_secs(40),
        })
        .into(),
        VoipPlan {
            packet: Bytes::new(172),
            interval: Dur::from_ms(20),
            playout: Dur::from_ms(60),
            codec_delay: Dur::from_ms(20),
            impairment: 0.0,
            robustness: 25.1,
        }
        .into(),
        Box::new(ProgramPlan {
            client: vec!["true".into()],
            server: Vec::new(),
            ready: Ready::Port(80),
            environment: Default::default(),
            expect: 0,
        })
        .into(),
        Box::new(OutsidePlan { tcp: tcp(), source: Default::default() }).into(),
    ]
}

#[test]
fn each_kind_says_its_protocol_its_endpoints_and_what_may_be_measured() {
    let kinds = kinds();
    let named: Vec<&str> = kinds.iter().map(AppPlan::kind).collect();
    let arriving = ["poisson", "incast"];
    assert_eq!(named[6..8], arriving);
    let others: Vec<&str> = named.iter().copied().filter(|kind| !arriving.contains(kind)).collect();
    let known: Vec<&str> = AppPlan::NAMES.iter().copied().filter(|kind| *kind != "arrivals").collect();
    assert_eq!(others, known, "a new kind belongs into this test");
    for kind in &kinds {
        let is_tcp = !["cbr", "ping", "voip", "program"].contains(&kind.kind());
        assert_eq!(kind.tcp().is_some(), is_tcp, "{}", kind.kind());
        assert_eq!(kind.protocol() == Protocol::Tcp, is_tcp, "{}", kind.kind());
        assert_eq!(kind.has_goodput(), kind.kind() != "ping");
        assert_eq!(kind.has_replies(), !["cbr", "voip"].contains(&kind.kind()));
        assert_eq!(kind.arrivals().is_some(), arriving.contains(&kind.kind()));
        assert_eq!(kind.paths().len(), if kind.kind() == "multipath" { 2 } else { 0 });
        let json = serde_json::to_string(kind).expect("JSON");
        assert_eq!(&serde_json::from_str::<AppPlan>(&json).expect("what was written"), kind);
    }
    assert_eq!(kinds[0].ends(4, 9), [(4, 9)]);
    assert_eq!(kinds[6].ends(4, 9), [(0, 2), (1, 3), (2, 0), (3, 1)], "each host once in each direction");
}

#[test]
fn protocols_have_the_numbers_of_iana() {
    let numbers = [Protocol::Icmp, Protocol::Tcp, Protocol::Udp].map(|one| (one.number(), one.has_ports()));
    assert_eq!(numbers, [(1, false), (6, true), (17, true)]);
}

fn queue(kind: &str) -> QueueParams {
    QueueParams::default_of(kind).expect("a name of the registry")
}

#[test]
fn a_plan_and_its_record_are_the_same_after_json() {
    let link = LinkPlan { emits_at: Some(1), ..LinkPlan::plain(0, 2, None, Dur::ZERO, queue("codel")) };
    assert_eq!((link.emission_node(), LinkPlan { emits_at: None, ..link.clone() }.emission_node()), (1, 0));
    let flows: Vec<FlowPlan> = kinds().into_iter().map(|app| FlowPlan::new("bulk1:c2>s2#2", 0, 2, app)).collect();
    assert_eq!((flows[0].group_name(), FlowPlan::new("ping", 0, 1, kinds().remove(3)).group_name()), ("bulk1", "ping"));
    let plan = Plan::new(Plan::node_names(3), vec![link], flows, Time::from_ns(7));
    assert_eq!((plan.nodes[2].as_str(), plan.framing, plan.seed, plan.ecmp), ("n2", 14, 1, false));
    let json = serde_json::to_string(&plan).expect("JSON");
    assert_eq!(serde_json::from_str::<Plan>(&json).expect("what was written"), plan);
    let record = Record { events: 3, ..Record::default() };
    let json = serde_json::to_string(&record).expect("JSON");
    assert_eq!(serde_json::from_str::<Record>(&json).expect("what was written"), record);
}

#[test]
fn capacity_is_the_rate_times_the_time() {
    let link = |rate| LinkPlan::plain(0, 1, rate, Dur::ZERO, queue("drop_tail"));
    let (from, to) = (Time::from_ns(500), Time::from_ns(1_000_000_500));
    assert_eq!(link(Some(Rate::from_mbps(3))).capacity(from, to), Some(3e6));
    assert_eq!(link(None).capacity(from, to), None);
    assert!(!link(None).delay_differs() && LinkPlan { jitter: Dur::from_ns(1).into(), ..link(None) }.delay_differs());
}

/// Each counter has a value of its own, so that one taken for another is seen.
fn counters(base: u64, peak_packets: u32) -> LinkCounters {
    LinkCounters {
        arrived: base,
        sent: base * 2,
        sent_bytes: base * 3,
        dropped_overlimit: base * 4,
        dropped_congestion: base * 5,
        marked: base * 6,
        emitted: base * 7,
        lost: base * 8,
        duplicated: base * 9,
        packet_ns: u128::from(base) << 64,
        peak_packets,
    }
}

#[test]
fn counters_after_the_warm_up_are_what_came_since_and_the_peak_is_the_larger() {
    let record = LinkRecord::new(&counters(10, 40), &counters(35, 12));
    assert_eq!(record.after_warmup, counters(25, 12));
    assert_eq!(record.total, counters(35, 40));
    assert_eq!(LinkRecord::new(&counters(0, 3), &counters(1, 9)).total.peak_packets, 9);
}

#[test]
fn what_a_sender_counted_is_taken_from_its_own_counters() {
    let mut info = Info::default();
    info.segments_sent = 1;
    info.retransmissions = 2;
    info.timeouts = 3;
    info.recoveries = 4;
    info.ecn_reductions = 5;
    info.delivered = 6;
    info.delivered_ce = 7;
    let counts = SenderCounts {
        segments_sent: 1,
        retransmissions: 2,
        timeouts: 3,
        recoveries: 4,
        ecn_reductions: 5,
        delivered: 6,
        delivered_ce: 7,
    };
    assert_eq!(SenderCounts::from(&info), counts);
}

#[derive(Debug, Clone)]
struct Packet(Ecn, bool);

impl Pkt for Packet {
    fn len(&self) -> u32 {
        1250
    }
    fn ecn(&self) -> Ecn {
        self.0
    }
    fn set_ce(&mut self) {
        self.0 = Ecn::Ce;
    }
    fn flow(&self) -> FlowKey {
        FlowKey::default()
    }
    fn reflected(&self) -> Option<Packet> {
        self.1.then_some(Packet(Ecn::Ce, false))
    }
}

#[derive(Default)]
struct Seen {
    marked: u64,
    delivered: u64,
    emitted: u64,
    dropped: Vec<DropReason>,
}

impl Sink<Packet> for Seen {
    fn delivered(&mut self, _at: Time, packet: Packet) {
        self.delivered += 1;
        self.marked += u64::from(packet.0 == Ecn::Ce);
    }
    fn emitted(&mut self, _packet: Packet) {
        self.emitted += 1;
    }
    fn dropped(&mut self, _packet: Packet, reason: DropReason) {
        self.dropped.push(reason);
    }
}

/// So many packets a millisecond for 400 ms over a line that carries one a millisecond; the link then runs until it is
/// empty.
fn overloaded(queue: QueueParams, ecn: Ecn, each_ms: u64, reflects: bool) -> (Seen, LinkCounters, u64) {
    let plain = LinkPlan::plain(0, 1, Some(Rate::from_mbps(10)), Dur::from_ms(2), queue);
    let plan = LinkPlan { rtt: Some(Dur::from_ms(10)), ..plain };
    let (mut link, mut seen) = (Link::new(&plan, 14, 1).expect("parameters"), Seen::default());
    for i in 0..400 * each_ms {
        let at = Time::ZERO + Dur::from_us(1000 * i / each_ms);
        link.arrive(at, Packet(ecn, reflects), &mut seen);
    }
    // Not until nothing is due: some disciplines always have a timer.
    link.advance(Time::ZERO + Dur::from_secs(20), &mut seen);
    let left = link.packets();
    (seen, link.counters(Time::ZERO + Dur::from_secs(20)), left)
}

/// Every discipline: what the link counts is what the sink saw, and nothing is lost unseen.
#[test]
fn a_link_counts_every_packet_that_its_discipline_drops_or_marks() {
    let (mut congestion, mut overlimit, mut marked) = (0, 0, 0);
    for kind in QueueParams::NAMES {
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
            let (seen, counted, left) = overloaded(queue(kind), ecn, 4, false);
            assert_eq!(counted.arrived, 1600, "{kind}");
            let dropped = counted.dropped_overlimit + counted.dropped_congestion;
            assert_eq!(counted.arrived, counted.sent + dropped + left, "{kind}");
            assert_eq!((counted.sent, dropped), (seen.delivered, seen.dropped.len() as u64), "{kind}");
            let of_limit = seen.dropped.iter().filter(|reason| **reason == DropReason::Overlimit).count() as u64;
            assert_eq!(counted.dropped_overlimit, of_limit, "{kind}");
            assert!(counted.marked >= seen.marked && (ecn != Ecn::NotEct || counted.marked == 0), "{kind}");
            assert!(counted.marked == 0 || seen.marked > 0, "{kind} {ecn:?}");
            congestion += counted.dropped_congestion;
            overlimit += counted.dropped_overlimit;
            marked += counted.marked;
        }
    }
    assert!(congestion > 100 && overlimit > 100 && marked > 100, "{congestion} {overlimit} {marked}");
}

#[test]
fn emitted_packets_are_counted_as_returned() {
    let threshold: QueueParams =
        serde_json::from_str(r#"{"kind": "threshold", "return_to_sender": true}"#).expect("parameters");
    let (seen, counted, _) = overloaded(threshold.clone(), Ecn::Ect0, 4, true);
    assert!(seen.emitted > 10 && counted.emitted == seen.emitted, "{} {}", seen.emitted, counted.emitted);
    let (_, counted, _) = overloaded(threshold, Ecn::Ect0, 4, false);
    assert_eq!(counted.emitted, 0);
}
