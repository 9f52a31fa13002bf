use super::*;
use crate::testing::{in_real_time, privileged};
use haltere_congestion::CongestionParams;
use haltere_plan::LinkQueue;
use haltere_plan::plan::{AppPlan, BulkPlan, CbrPlan, LinkPlan, Measure, OnOffPlan, PathPlan, PingPlan, TcpPlan};
use haltere_transport::multipath::MultipathParams;
use haltere_transport::multipath::scheduler::SchedulerParams;
use haltere_units::{Bytes, Rate};
use std::sync::Arc;
use std::time::Duration;

fn link(from: usize, to: usize, rate: Option<Rate>, delay: Dur, queue: &str) -> LinkPlan {
    let plain = LinkPlan::plain(from, to, rate, delay, serde_json::from_str::<LinkQueue>(queue).unwrap());
    LinkPlan { watched: rate.is_some(), rtt: Some(Dur::from_ms(20)), ..plain }
}

/// Nodes 0 and 1 left, 4 and 5 right, bottleneck 2 to 3 at 10 Mbit/s, 10 ms each way.
fn dumbbell(queue: &str, flows: Vec<(usize, usize, AppPlan)>, seconds: u64) -> Plan {
    let mut links = Vec::new();
    let fifo = r#"{ "kind": "drop_tail" }"#;
    for (a, b) in [(0, 2), (1, 2), (3, 4), (3, 5)] {
        links.push(link(a, b, None, Dur::ZERO, fifo));
        links.push(link(b, a, None, Dur::ZERO, fifo));
    }
    for (a, b) in [(2, 3), (3, 2)] {
        links.push(link(a, b, Some(Rate::from_mbps(10)), Dur::from_ms(10), queue));
    }
    let flow = |(i, (from, to, app)): (usize, (usize, usize, AppPlan))| FlowPlan {
        start: Time::ZERO + Dur::from_ms(10),
        ..FlowPlan::new(format!("f{i}"), from, to, app)
    };
    let flows = flows.into_iter().enumerate().map(flow).collect();
    Plan {
        warmup: Time::ZERO + Dur::from_secs(1),
        measure: Measure { queues: Some(Dur::from_ms(10)), flows: Some(Dur::from_ms(100)), ..Measure::default() },
        ..Plan::new(Plan::node_names(6), links, flows, Time::ZERO + Dur::from_secs(seconds))
    }
}

fn bulk(kind: &str, bytes: Option<u64>) -> AppPlan {
    let congestion = CongestionParams::default_of(kind).unwrap();
    let tcp = TcpPlan::alike(congestion, TcpParams::default());
    AppPlan::Bulk(BulkPlan { tcp, bytes: bytes.map(Bytes::new) })
}

fn ping() -> AppPlan {
    AppPlan::Ping(PingPlan { interval: Dur::from_ms(20), payload: Bytes::new(56), ecn: false })
}

fn quick() -> Control<'static> {
    Control { calibrate: Calibrate::No, ..Control::default() }
}

/// The bottleneck's line (link 8, 10 Mbit/s) did its work, whatever the machine did beside it.
///
/// Between two samples, 10 ms apart, with more packets waiting at both than the line can send in between, it must have
/// sent at its rate to a packet: late wake-ups shift packets, they take no rate away. And where the router was on time,
/// so that the hosts had the processor when they wanted it, their flows fill the line: `goodput` is theirs together, in
/// Mbit/s.
fn the_line_works(outcome: &Outcome, goodput: f64) {
    let samples: Vec<_> = outcome.record.queue_series.iter().filter(|s| s.link == 8).collect();
    for pair in samples.windows(2).filter(|pair| pair.iter().all(|s| s.packets > 9)) {
        let sent = pair[1].sent_bytes - pair[0].sent_bytes;
        assert!(sent.abs_diff(12_500) <= 1514, "{sent} bytes in 10 ms at {}", pair[1].at);
    }
    // 10 Mbit/s times 1448 of 1514 bytes is 9.56.
    assert!(goodput < 9.75, "more than the line carries: {goodput}");
    let late = outcome.router.lateness.quantile(0.99);
    if late <= Dur::from_ms(1) {
        assert!(goodput > 8.5, "{goodput} of 9.56 Mbit/s, with the router at most {late} late in 99 of 100 cases");
    } else {
        eprintln!("a busy machine, the router up to {late} late in 99 of 100 cases: {goodput} Mbit/s is not judged");
    }
}

const FQ_CODEL: &str = r#"{ "kind": "fq_codel" }"#;

#[test]
fn two_kernel_flows_fill_the_bottleneck_and_share_it() {
    in_real_time(|| {
        if !privileged("a dumbbell of kernel flows") {
            return;
        }
        let plan = dumbbell(FQ_CODEL, vec![(0, 4, bulk("cubic", None)), (1, 5, bulk("reno", None)), (0, 4, ping())], 4);
        let outcome = run(&plan, &quick()).unwrap();
        let goodput = |f: usize| outcome.record.flows[f].received_after_warmup as f64 * 8e-6 / 3.0;
        let sum = goodput(0) + goodput(1);
        the_line_works(&outcome, sum);
        assert!((goodput(0) / sum - 0.5).abs() < 0.1, "fair queueing shares: {} {}", goodput(0), goodput(1));
        assert_eq!(outcome.router.unaccounted(), 0, "{:?}", outcome.router);
        assert!(outcome.record.pings.len() > 150);
        assert!(outcome.record.pings.iter().all(|p| p.rtt >= Dur::from_ms(20)), "nothing is faster than the way");
        let sender = outcome.record.flows[0].sender.unwrap();
        assert!(sender.min_rtt >= Dur::from_ms(20) && sender.cwnd > Bytes::new(1448) && sender.acked > 1_000_000);
        assert!(outcome.record.queue_series.iter().any(|s| s.packets > 0));
        assert!(outcome.record.flow_series.iter().filter(|s| s.flow == 1).count() >= 35);
        let LinkRecord { total, after_warmup, .. } = &outcome.record.links[8];
        assert!(total.dropped_congestion > 0 && total.sent > 1000, "{total:?}");
        assert!(after_warmup.peak_packets <= total.peak_packets && after_warmup.sent < total.sent);
    });
}

#[test]
fn ecn_flows_are_marked_and_lose_nothing() {
    in_real_time(|| {
        if !privileged("kernel flows with ECN") {
            return;
        }
        let mut app = bulk("reno", None);
        if let AppPlan::Bulk(BulkPlan { tcp, .. }) = &mut app {
            Arc::make_mut(&mut tcp.sender).ecn = true;
            Arc::make_mut(&mut tcp.receiver).ecn = true;
        }
        let plan = dumbbell(r#"{ "kind": "fq_codel", "ecn": true }"#, vec![(0, 4, app)], 3);
        let outcome = run(&plan, &quick()).unwrap();
        let total = &outcome.record.links[8].total;
        assert!(total.marked > 0 && total.dropped_congestion == 0, "{total:?}");
        let sender = outcome.record.flows[0].sender.unwrap();
        // The kernel counts every packet acknowledged under an echo, of which there are several for one mark.
        assert!(sender.delivered_ce > 0 && sender.retransmissions == 0, "{sender:?}");
    });
}

#[test]
fn a_limited_flow_ends_and_says_when() {
    in_real_time(|| {
        if !privileged("a limited kernel flow") {
            return;
        }
        let plan = dumbbell(FQ_CODEL, vec![(1, 4, bulk("cubic", Some(500_000)))], 2);
        let outcome = run(&plan, &quick()).unwrap();
        let flow = &outcome.record.flows[0];
        assert_eq!(flow.received, 500_000);
        // Not before the bytes can have passed: 346 packets of 1514 bytes at 10 Mbit/s.
        let at = flow.completed.unwrap();
        assert!(at > Time::ZERO + Dur::from_ms(418 + 20) && at < Time::ZERO + Dur::from_secs(1), "{at}");
    });
}

#[test]
fn datagrams_keep_their_rate() {
    in_real_time(|| {
        if !privileged("datagrams") {
            return;
        }
        let cbr = AppPlan::Cbr(CbrPlan { rate: Rate::from_mbps(4), packet: Bytes::new(1000), ecn: true });
        let plan = dumbbell(FQ_CODEL, vec![(0, 5, cbr)], 2);
        let outcome = run(&plan, &quick()).unwrap();
        let flow = &outcome.record.flows[0];
        // 500 a second from 10 ms on.
        assert!((990..=996).contains(&flow.packets_sent), "{}", flow.packets_sent);
        assert!(flow.packets_sent - flow.packets_received <= 6, "{flow:?}"); // 11 ms are under way at the end
    });
}

#[test]
fn an_on_off_source_writes_what_it_should() {
    in_real_time(|| {
        if !privileged("an on-off source") {
            return;
        }
        let AppPlan::Bulk(BulkPlan { tcp, .. }) = bulk("reno", None) else { unreachable!() };
        let half = haltere_plan::plan::DurationDistribution::Constant(Dur::from_ms(250));
        let (rate, chunk) = (Rate::from_mbps(4), Bytes::new(1000));
        // Six times 250 ms of 500 kB/s; begun off, five times and the 240 ms from 2.76 s on; less what is in flight.
        for (begins_off, least, most) in [(false, 735_000, 752_000), (true, 725_000, 746_000)] {
            let source = OnOffPlan { tcp: tcp.clone(), rate, chunk, on: half, off: half, begins_off };
            let outcome = run(&dumbbell(FQ_CODEL, vec![(0, 5, AppPlan::OnOff(source))], 3), &quick()).unwrap();
            let received = outcome.record.flows[0].received;
            assert!((least..=most).contains(&received), "begins off: {begins_off}: {received}");
        }
    });
}

#[test]
fn a_control_that_the_kernel_lacks_is_an_error_that_names_it() {
    in_real_time(|| {
        if !privileged("a missing congestion control") {
            return;
        }
        let missing = "bbr3"; // in no released kernel
        let error = run(&dumbbell(FQ_CODEL, vec![(0, 5, bulk(missing, None))], 2), &quick()).unwrap_err().to_string();
        assert!(
            error.starts_with("traffic[0]: congestion must be one that this kernel has") && error.contains(missing),
            "{error}"
        );
    });
}

#[test]
fn the_bell_ends_a_run() {
    in_real_time(|| {
        if !privileged("stopping a run") {
            return;
        }
        let bell = AtomicBool::new(false);
        let control = Control { stop: Some(&bell), ..quick() };
        let plan = dumbbell(FQ_CODEL, vec![(0, 5, ping())], 600);
        let begun = monotonic_ns();
        let result = std::thread::scope(|scope| {
            let run = scope.spawn(|| run(&plan, &control));
            std::thread::sleep(std::time::Duration::from_millis(300));
            bell.store(true, Ordering::Relaxed);
            run.join().unwrap()
        });
        assert!(matches!(result, Err(WireError::Interrupted)), "{result:?}");
        assert!(monotonic_ns() - begun < 10_000_000_000);
    });
}

#[test]
fn calibration_measures_this_machine() {
    in_real_time(|| {
        if !privileged("calibration") {
            return;
        }
        let plan = dumbbell(FQ_CODEL, vec![(0, 4, bulk("cubic", None))], 1);
        let topology = Topology::build(&hosts(&plan).unwrap()).unwrap();
        let calibration = calibration::measure(&plan, &topology, &quick()).unwrap();
        match calibration.check() {
            Ok(()) => {
                let (name, want, got) = calibration.link.clone().unwrap();
                assert_eq!((name.as_str(), want), ("n2>n3", Rate::from_mbps(10)));
                assert!((got.as_bps_f64() / 10e6 - 1.0).abs() < 0.02);
                assert!(calibration.rtt.1 >= calibration.rtt.0);
            }
            // On a machine that is busy with other things this is the right answer, if it says what was out of bounds.
            Err(WireError::Calibration(why)) => {
                assert!(why.starts_with("the machine is not fit for this run: "), "{why}");
                eprintln!("refused: {why}");
            }
            Err(e) => panic!("{e}"),
        }
    });
}

#[test]
fn a_calibration_out_of_bounds_is_refused_with_the_reason() {
    in_real_time(|| {
        let good = calibration::Calibration {
            link: Some(("n2>n3".into(), Rate::from_mbps(10), Rate::from_bps(10_100_000))),
            rtt: (Dur::from_ms(20), Dur::from_us(20_150)),
            jitter: Dur::from_us(40),
            lost: 0,
            unqueued: 0,
            offloaded: 0,
            cpu: 0.2,
        };
        good.check().unwrap();
        let slow = calibration::Calibration {
            link: Some(("n2>n3".into(), Rate::from_mbps(10), Rate::from_bps(9_700_000))),
            ..good.clone()
        };
        let text = slow.check().unwrap_err().to_string();
        assert_eq!(
            text,
            "the machine is not fit for this run: n2>n3: rate must be within 2 % of 10Mbit, got 9.700 Mbit/s (-3.0 %)"
        );
        let late = calibration::Calibration { rtt: (Dur::from_ms(20), Dur::from_ms(21)), ..good.clone() };
        assert!(
            late.check().unwrap_err().to_string().contains("base delay must be 20ms and at most 400us more, got 21ms")
        );
        for bad in [
            calibration::Calibration { jitter: Dur::from_ms(1), ..good.clone() },
            calibration::Calibration { lost: 1, ..good.clone() },
            calibration::Calibration { unqueued: 3, ..good.clone() },
            calibration::Calibration { offloaded: 1, ..good.clone() },
            calibration::Calibration { cpu: 0.95, ..good },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    });
}

#[test]
fn flows_of_one_host_must_agree_on_its_kernel() {
    in_real_time(|| {
        let mut other = bulk("reno", None);
        if let AppPlan::Bulk(BulkPlan { tcp, .. }) = &mut other {
            Arc::make_mut(&mut tcp.sender).sack = false;
        }
        let error =
            hosts(&dumbbell(FQ_CODEL, vec![(0, 4, bulk("reno", None)), (0, 5, other)], 1)).unwrap_err().to_string();
        assert!(error.starts_with("traffic[0]: tcp must be the same as that of traffic[0] at `n0`"), "{error}");
    });
}

#[test]
fn controls_that_the_kernel_lacks_are_loaded_for_the_run_and_unloaded_after_it() {
    in_real_time(|| {
        if !privileged("controls as BPF") || !crate::testing::has_tools(&["clang", "bpftool"]) {
            return;
        }
        let available = || std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
        let before = available();
        // Step marking at 5 packets: DCTCP keeps the queue there; Vegas keeps its own few packets.
        let step = r#"{ "kind": "threshold", "upper": "5p" }"#;
        let dctcp = run(&dumbbell(step, vec![(0, 4, bulk("dctcp", None))], 4), &quick()).unwrap();
        let vegas =
            run(&dumbbell(r#"{ "kind": "drop_tail" }"#, vec![(0, 4, bulk("vegas", None))], 4), &quick()).unwrap();
        assert_eq!(available(), before, "unloaded");
        for (name, outcome, bound) in [("dctcp", dctcp, 16.0), ("vegas", vegas, 7.0)] {
            let goodput = outcome.record.flows[0].received_after_warmup as f64 * 8e-6 / 3.0;
            the_line_works(&outcome, goodput);
            let late: Vec<_> = outcome
                .record
                .queue_series
                .iter()
                .filter(|s| s.link == 8 && s.at > Time::ZERO + Dur::from_secs(2))
                .collect();
            let mean = late.iter().map(|s| f64::from(s.packets)).sum::<f64>() / late.len() as f64;
            assert!(mean < bound, "{name}: {mean} packets in the queue");
            let sender = outcome.record.flows[0].sender.unwrap();
            assert_eq!(sender.delivered_ce > 0, name == "dctcp", "{sender:?}");
            assert!(sender.retransmissions == 0 || name != "dctcp", "{sender:?}");
        }
    });
}

/// One stream over three paths between two hosts of two interfaces each: the first's other address, the other's first.
fn multipath(scheduler: &str) -> AppPlan {
    let AppPlan::Bulk(BulkPlan { tcp, .. }) = bulk("cubic", None) else { unreachable!() };
    let paths = [(0, 4), (0, 5), (1, 4)].map(|(from, to)| PathPlan { from, to, join: None, leave: None, cut: None });
    let multipath = MultipathParams {
        scheduler: SchedulerParams::default_of(scheduler).unwrap(),
        tune_send_buffer: true,
        opportunistic: false,
        ..MultipathParams::default()
    };
    AppPlan::Multipath(Box::new(haltere_plan::plan::MultipathPlan {
        tcp,
        multipath,
        paths: paths.into(),
        rate: None,
        packet: Bytes::new(1000),
        bytes: None,
    }))
}

#[test]
fn a_kernel_stream_goes_over_all_its_paths() {
    in_real_time(|| {
        if !privileged("Multipath TCP of the kernel") {
            return;
        }
        let outcome = run(&dumbbell(FQ_CODEL, vec![(0, 4, multipath("linux"))], 4), &quick()).unwrap();
        assert_eq!((outcome.router.unaccounted(), outcome.router.fabric.unroutable), (0, 0), "{:?}", outcome.router);
        the_line_works(&outcome, outcome.record.flows[0].received_after_warmup as f64 * 8e-6 / 3.0);
        // Each subflow by what its own endpoint says at the end, and by the way that only it takes.
        let last: Vec<_> =
            outcome.record.path_series.iter().filter(|s| s.at == Time::ZERO + Dur::from_secs(4)).collect();
        let paths: Vec<u32> = last.iter().map(|s| s.path).collect();
        assert_eq!(paths, [0, 1, 2]);
        assert!(
            last.iter().all(|s| s.info.subflow.acked > 14_480 && s.info.subflow.min_rtt >= Dur::from_ms(20)),
            "{last:?}"
        );
        for (what, link) in [("s2 sends", 2), ("s2 hears", 3), ("d2 hears", 6), ("d2 answers", 7)] {
            assert!(outcome.record.links[link].total.sent > 10, "{what}: {:?}", outcome.record.links[link].total);
        }
        // What has come is acknowledged or its acknowledgement is under way.
        let sent: u64 = last.iter().map(|s| s.info.bytes).sum();
        assert!(sent >= outcome.record.flows[0].received, "the subflows together carried the stream");
    });
}

#[test]
fn what_the_kernels_multipath_cannot_do_is_refused() {
    let error = |app| check(&dumbbell(FQ_CODEL, vec![(0, 4, app)], 1)).unwrap_err().to_string();
    let text = error(multipath("red"));
    assert_eq!(
        text,
        "traffic[0]: multipath.scheduler must be `linux` on the wire, got `red`; the kernel has no other; the simulator has"
    );
    let AppPlan::Multipath(mut plan) = multipath("linux") else { unreachable!() };
    plan.paths[2].cut = Some(Time::ZERO);
    assert!(error(AppPlan::Multipath(plan.clone())).starts_with("traffic[0]: paths must be without `leave` and `cut`"));
    plan.paths[2].cut = None;
    plan.multipath.opportunistic = true;
    assert!(error(AppPlan::Multipath(plan)).starts_with("traffic[0]: multipath must be `{ scheduler = \"linux\""));
}

#[test]
fn a_voice_packet_has_room_for_its_header() {
    let call = haltere_plan::plan::VoipPlan {
        packet: Bytes::new(11),
        interval: Dur::from_ms(20),
        playout: Dur::from_ms(60),
        codec_delay: Dur::from_ms(20),
        impairment: 0.0,
        robustness: 25.1,
    };
    let plan = dumbbell(FQ_CODEL, vec![(0, 4, call.into())], 2);
    let error = check(&plan).unwrap_err().to_string();
    let rule = "packet must be at least 12 B on the wire, got 11B; a packet has an RTP header";
    assert_eq!(error, format!("traffic[0]: {rule}"));
}

#[test]
fn with_offloads_on_a_queue_holds_buffers_and_the_line_takes_as_long() {
    in_real_time(|| {
        if !privileged("kernel flows with segmentation offload") {
            return;
        }
        let run = |gso: bool| {
            let plan = dumbbell(r#"{ "kind": "drop_tail", "limit": "50p" }"#, vec![(0, 4, bulk("cubic", None))], 4);
            let outcome = run(&plan, &Control { gso, ..quick() }).unwrap();
            assert_eq!(outcome.router.unaccounted(), 0, "{:?}", outcome.router);
            outcome
        };
        let size = |outcome: &Outcome| {
            let total = &outcome.record.links[8].total;
            total.sent_bytes as f64 / total.sent as f64
        };
        let counted = |outcome: &Outcome, of: fn(&crate::port::PortCounters) -> u64| {
            outcome.router.ports.iter().map(of).sum::<u64>()
        };
        let (single, whole) = (run(false), run(true));
        assert!(size(&single) <= 1514.0 && counted(&single, |port| port.whole) == 0);
        assert!(size(&whole) > 2000.0, "{} bytes a unit", size(&whole));
        assert!(counted(&whole, |port| port.whole) > 500 && counted(&whole, |port| port.segmented) == 0);
        assert_eq!(counted(&whole, |port| port.refused + port.unhandled + port.overrun + port.oversize), 0);
        // 10 Mbit/s times 1448 of 1514 bytes is 9.56: each packet of a buffer has its headers on the line.
        let goodput = whole.record.flows[0].received_after_warmup as f64 * 8e-6 / 3.0;
        assert!(goodput < 9.75, "{goodput}");
        if whole.router.lateness.quantile(0.99) <= Dur::from_ms(1) {
            assert!(goodput > 8.5, "{goodput}");
        }
    });
}

#[test]
fn pages_are_fetched_and_the_agent_sleeps_between_their_packets() {
    in_real_time(|| {
        if !privileged("web pages over kernel sockets") {
            return;
        }
        let congestion = CongestionParams::default_of("cubic").unwrap();
        let web = haltere_plan::plan::WebPlan {
            tcp: TcpPlan::alike(congestion, TcpParams::default()),
            objects: (1, 1),
            sizes: haltere_plan::sizes::SizeDistribution::constant(Bytes::new(5000)),
            request: Bytes::new(400),
            connections: 1,
            think: haltere_plan::rng::DurationDistribution::Constant(Dur::ZERO),
        };
        let plan = dumbbell(FQ_CODEL, vec![(0, 4, AppPlan::Web(Box::new(web)))], 3);
        let spent = || nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap();
        let before = spent();
        let outcome = run(&plan, &quick()).unwrap();
        let spent = spent() - before;
        // The handshake and the request take 40 ms, 5 kB at 10 Mbit/s another 4.2 ms.
        let loads: Vec<Dur> =
            outcome.record.pages.iter().filter(|page| page.end != Time::NEVER).map(|p| p.end.since(p.start)).collect();
        assert!(loads.len() > 40 && loads.iter().all(|load| *load >= Dur::from_ms(44)), "{loads:?}");
        let calls = &outcome.record.completions;
        assert!(calls.len() >= loads.len() && calls.iter().all(|c| c.bytes == 5000 && c.ideal > Dur::from_ms(24)));
        // Some 20 events a page. A connection that closes for a round trip must not keep the agent awake.
        assert!(Duration::from(spent) < Duration::from_millis(400), "the agent took {spent:?} of 3 s");
    });
}
