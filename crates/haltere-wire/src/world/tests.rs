use super::*;
use crate::testing::privileged;
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

fn most(late: &Histogram) -> Dur {
    late.max().unwrap_or_default()
}

/// The longest that anything waited for the router or the agent. Time spans are judged against it, since a busy machine
/// may take the processor away for as long as it wants.
fn late(outcome: &Outcome) -> Dur {
    most(&outcome.router.lateness) + most(&outcome.agent)
}

/// How many times, `every` apart from `first` on, there are before `end`.
fn times(first: Time, every: Dur, end: Time) -> u64 {
    end.as_ns().saturating_sub(first.as_ns()).div_ceil(every.as_ns())
}

/// What the agent did `done` times, `every` apart from `first` on, it did for each time that had come.
fn was_done_when_due(outcome: &Outcome, done: u64, (first, every): (Time, Dur), end: Time) {
    let least = times(first, every, end.saturating_sub(most(&outcome.agent)));
    let all = times(first, every, end);
    assert!((least..=all).contains(&done), "{done}, not {least} to {all}; late: {}", most(&outcome.agent));
}

/// Every frame is accounted for, and the bottleneck's line (link 8, 10 Mbit/s) sent at its rate to a packet: late
/// wake-ups shift packets, they take no rate away.
///
/// Two samples are 10 ms apart. If more bytes wait at the first than the line can send and the queue drops until the
/// second, the line was busy.
fn the_line_works(outcome: &Outcome) {
    assert_eq!((outcome.router.unaccounted(), outcome.router.fabric.unroutable), (0, 0), "{:?}", outcome.router);
    let samples: Vec<_> = outcome.record.queue_series.iter().filter(|s| s.link == 8).collect();
    for pair in samples.windows(2) {
        let (sent, dropped) = (pair[1].sent_bytes - pair[0].sent_bytes, pair[1].dropped - pair[0].dropped);
        assert!(sent <= 12_500 + 1514, "{sent} bytes in 10 ms at {}", pair[1].at);
        let is_busy = pair[0].bytes > 12_500 + 1514 * (dropped + 1);
        assert!(!is_busy || sent + 1514 >= 12_500, "{sent} bytes in 10 ms at {}", pair[1].at);
    }
    // Each packet has at most 1448 bytes of payload and at least 66 of headers.
    let received: u64 = outcome.record.flows.iter().map(|flow| flow.received).sum();
    let sent = outcome.record.links[8].total.sent_bytes;
    assert!(received * 1514 <= sent * 1448, "{received} bytes of payload in {sent}");
}

const FQ_CODEL: &str = r#"{ "kind": "fq_codel" }"#;

#[test]
fn two_kernel_flows_and_a_ping_are_measured() {
    if !privileged("a dumbbell of kernel flows") {
        return;
    }
    let plan = dumbbell(FQ_CODEL, vec![(0, 4, bulk("cubic", None)), (1, 5, bulk("reno", None)), (0, 4, ping())], 4);
    let outcome = run(&plan, &quick()).unwrap();
    the_line_works(&outcome);
    let (record, ms) = (&outcome.record, Dur::from_ms);
    was_done_when_due(&outcome, record.flows[2].packets_sent, (plan.flows[2].start, ms(20)), plan.end);
    assert_eq!(record.pings.len() as u64, record.flows[2].packets_received);
    assert!(!record.pings.is_empty() && record.pings.iter().all(|p| p.rtt >= ms(20)), "nothing is faster than the way");
    for flow in &record.flows[..2] {
        let sender = flow.sender.unwrap();
        assert!(sender.min_rtt >= ms(20) && sender.cwnd >= Bytes::new(1448) && sender.acked > 0, "{sender:?}");
        assert!(sender.acked <= flow.received && flow.received_after_warmup < flow.received, "{flow:?}");
    }
    let samples = record.flow_series.iter().filter(|s| s.flow == 1).count() as u64;
    was_done_when_due(&outcome, samples, (Time::ZERO + ms(100), ms(100)), plan.end);
    let LinkRecord { total, after_warmup, .. } = &record.links[8];
    assert!(after_warmup.peak_packets <= total.peak_packets && after_warmup.sent < total.sent);
    assert!(total.peak_packets > 0 && record.queue_series.iter().any(|s| s.link == 8));
}

#[test]
fn ecn_flows_are_marked_and_lose_nothing() {
    if !privileged("kernel flows with ECN") {
        return;
    }
    let mut app = bulk("reno", None);
    if let AppPlan::Bulk(BulkPlan { tcp, .. }) = &mut app {
        Arc::make_mut(&mut tcp.sender).ecn = true;
        Arc::make_mut(&mut tcp.receiver).ecn = true;
    }
    // The first window alone, ten packets at once, is marked.
    let plan = dumbbell(r#"{ "kind": "threshold", "upper": "2p" }"#, vec![(0, 4, app)], 3);
    let outcome = run(&plan, &quick()).unwrap();
    the_line_works(&outcome);
    let total = &outcome.record.links[8].total;
    assert!(total.marked > 0 && total.dropped_congestion + total.dropped_overlimit == 0, "{total:?}");
    let sender = outcome.record.flows[0].sender.unwrap();
    // The kernel counts every packet acknowledged under an echo, of which there are several for one mark.
    assert!(sender.delivered_ce > 0, "{sender:?}");
}

#[test]
fn a_limited_flow_ends_and_says_when() {
    if !privileged("a limited kernel flow") {
        return;
    }
    let plan = dumbbell(FQ_CODEL, vec![(1, 4, bulk("cubic", Some(100_000)))], 3);
    let outcome = run(&plan, &quick()).unwrap();
    the_line_works(&outcome);
    let flow = &outcome.record.flows[0];
    assert!(flow.received <= 100_000);
    assert_eq!(flow.completed.is_some(), flow.received == 100_000, "{flow:?}");
    // A handshake and four windows.
    assert!(flow.completed.is_some() || late(&outcome) > Dur::from_ms(100), "{flow:?}, late: {}", late(&outcome));
    // Not before the bytes can have passed: 69 packets of 1514 bytes at 10 Mbit/s, behind a round trip and a half.
    assert!(flow.completed.is_none_or(|at| at > Time::ZERO + Dur::from_ms(10 + 83 + 30)), "{flow:?}");
}

#[test]
fn datagrams_keep_their_rate() {
    if !privileged("datagrams") {
        return;
    }
    let cbr = AppPlan::Cbr(CbrPlan { rate: Rate::from_mbps(4), packet: Bytes::new(1000), ecn: true });
    let plan = dumbbell(FQ_CODEL, vec![(0, 5, cbr)], 2);
    let outcome = run(&plan, &quick()).unwrap();
    the_line_works(&outcome);
    let (flow, router) = (&outcome.record.flows[0], &outcome.router);
    let packets = (plan.flows[0].start, Dur::from_ms(2));
    was_done_when_due(&outcome, flow.packets_sent, packets, plan.end);
    // From the sender to the receiver: what one counts the next has, or had it under way at the end.
    let [there, back] = &router.ports[..] else { panic!("{router:?}") };
    assert_eq!((there.overrun, there.refused, back.refused), (0, 0, 0), "{router:?}");
    assert!(flow.packets_sent >= there.received, "{flow:?} {router:?}");
    assert_eq!((router.fabric.arrived, router.fabric.departed), (there.received, back.sent), "{router:?}");
    assert_eq!(router.holds, there.received - back.sent, "nothing is dropped: {router:?}");
    assert_eq!(back.sent, flow.packets_received, "what left the router before the end was read: {flow:?} {router:?}");
    // A packet takes 11 ms to pass, and twice as long as anybody was late to be sent, taken in and let out.
    let passed = plan.end.saturating_sub(Dur::from_ms(11 + 4) + late(&outcome) * 2);
    let least = times(packets.0, packets.1, passed);
    assert!(flow.packets_received >= least, "{} of at least {least}: {flow:?}", flow.packets_received);
}

#[test]
fn an_on_off_source_writes_no_more_than_it_should() {
    if !privileged("an on-off source") {
        return;
    }
    let AppPlan::Bulk(BulkPlan { tcp, .. }) = bulk("reno", None) else { unreachable!() };
    let half = haltere_plan::plan::DurationDistribution::Constant(Dur::from_ms(250));
    let (rate, chunk) = (Rate::from_mbps(4), Bytes::new(1000));
    // What it writes is counted in virtual time, in `endpoint/stream.rs`.
    for (begins_off, most) in [(false, 500_000), (true, 495_000)] {
        let source = OnOffPlan { tcp: tcp.clone(), rate, chunk, on: half, off: half, begins_off };
        let outcome = run(&dumbbell(FQ_CODEL, vec![(0, 5, AppPlan::OnOff(source))], 2), &quick()).unwrap();
        the_line_works(&outcome);
        let (flow, late) = (&outcome.record.flows[0], late(&outcome));
        assert!((1..=most).contains(&flow.received), "begins off: {begins_off}: {flow:?}");
        assert!(flow.sender.unwrap().acked <= flow.received, "{flow:?}");
        // After each pause the window opens from ten segments again: with long round trips much is under way at the end.
        assert!(flow.received >= most * 9 / 10 || late > Dur::from_ms(5), "{flow:?}, late: {late}");
    }
}

#[test]
fn a_control_that_the_kernel_lacks_is_an_error_that_names_it() {
    if !privileged("a missing congestion control") {
        return;
    }
    let missing = "bbr3"; // in no released kernel
    let error = run(&dumbbell(FQ_CODEL, vec![(0, 5, bulk(missing, None))], 2), &quick()).unwrap_err().to_string();
    assert!(
        error.starts_with("traffic[0]: congestion must be one that this kernel has") && error.contains(missing),
        "{error}"
    );
}

#[test]
fn the_cancel_flag_ends_a_run() {
    if !privileged("stopping a run") {
        return;
    }
    let cancel = AtomicBool::new(false);
    let control = Control { stop: Some(&cancel), ..quick() };
    let plan = dumbbell(FQ_CODEL, vec![(0, 5, ping())], 600);
    let begun = monotonic_ns();
    let result = std::thread::scope(|scope| {
        let run = scope.spawn(|| run(&plan, &control));
        std::thread::sleep(std::time::Duration::from_millis(300));
        cancel.store(true, Ordering::Relaxed);
        run.join().unwrap()
    });
    assert!(matches!(result, Err(WireError::Interrupted)), "{result:?}");
    assert!(monotonic_ns() - begun < 120_000_000_000, "it ended long before its 600 s");
}

#[test]
fn calibration_measures_this_machine() {
    if !privileged("calibration") {
        return;
    }
    let plan = dumbbell(FQ_CODEL, vec![(0, 4, bulk("cubic", None))], 1);
    let topology = Topology::build(&hosts(&plan).unwrap()).unwrap();
    let with_offloads = calibration::measure(&plan, &topology, &Control { gso: true, ..quick() }).unwrap();
    assert_eq!(with_offloads.cpu, None, "its load is of single packets");
    let calibration = calibration::measure(&plan, &topology, &quick()).unwrap();
    assert!(calibration.cpu.is_some_and(|cpu| cpu > 0.0));
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
}

#[test]
fn a_calibration_out_of_bounds_is_refused_with_the_reason() {
    let good = calibration::Calibration {
        link: Some(("n2>n3".into(), Rate::from_mbps(10), Rate::from_bps(10_100_000))),
        rtt: (Dur::from_ms(20), Dur::from_us(20_150)),
        jitter: Dur::from_us(40),
        lost: 0,
        unqueued: 0,
        offloaded: 0,
        cpu: Some(0.2),
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
    assert!(late.check().unwrap_err().to_string().contains("base delay must be 20ms and at most 400us more, got 21ms"));
    for bad in [
        calibration::Calibration { jitter: Dur::from_ms(1), ..good.clone() },
        calibration::Calibration { lost: 1, ..good.clone() },
        calibration::Calibration { unqueued: 3, ..good.clone() },
        calibration::Calibration { offloaded: 1, ..good.clone() },
        calibration::Calibration { cpu: Some(0.95), ..good },
    ] {
        assert!(bad.check().is_err(), "{bad:?}");
    }
}

#[test]
fn flows_of_one_host_must_agree_on_its_kernel() {
    let mut other = bulk("reno", None);
    if let AppPlan::Bulk(BulkPlan { tcp, .. }) = &mut other {
        Arc::make_mut(&mut tcp.sender).sack = false;
    }
    let error = hosts(&dumbbell(FQ_CODEL, vec![(0, 4, bulk("reno", None)), (0, 5, other)], 1)).unwrap_err().to_string();
    assert!(error.starts_with("traffic[0]: tcp must be the same as that of traffic[0] at `n0`"), "{error}");
}

#[test]
fn controls_that_the_kernel_lacks_are_loaded_for_the_run_and_unloaded_after_it() {
    if !privileged("controls as BPF") || !crate::testing::has_tools(&["clang", "bpftool"]) {
        return;
    }
    let available = || std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    let before = available();
    // Step marking at 5 packets, which DCTCP answers; Vegas keeps its own few packets.
    let step = r#"{ "kind": "threshold", "upper": "5p" }"#;
    let dctcp = run(&dumbbell(step, vec![(0, 4, bulk("dctcp", None))], 4), &quick()).unwrap();
    let vegas = run(&dumbbell(r#"{ "kind": "drop_tail" }"#, vec![(0, 4, bulk("vegas", None))], 4), &quick()).unwrap();
    assert_eq!(available(), before, "unloaded");
    for (name, outcome) in [("dctcp", dctcp), ("vegas", vegas)] {
        the_line_works(&outcome);
        let sender = outcome.record.flows[0].sender.unwrap();
        assert!(sender.acked > 0 && (sender.delivered_ce > 0) == (name == "dctcp"), "{name}: {sender:?}");
        let total = &outcome.record.links[8].total;
        assert!(name == "vegas" || total.dropped_overlimit + total.dropped_congestion == 0, "{total:?}");
    }
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
    if !privileged("Multipath TCP of the kernel") {
        return;
    }
    let outcome = run(&dumbbell(FQ_CODEL, vec![(0, 4, multipath("linux"))], 4), &quick()).unwrap();
    the_line_works(&outcome);
    // Each subflow by what its own endpoint says at the end, and by the way that only it takes.
    let last: Vec<_> = outcome.record.path_series.iter().filter(|s| s.at == Time::ZERO + Dur::from_secs(4)).collect();
    let (paths, late): (Vec<u32>, _) = (last.iter().map(|s| s.path).collect(), late(&outcome));
    assert!(paths == [0, 1, 2] || late > Dur::from_ms(100), "{paths:?}, late: {late}");
    let subflows = || last.iter().map(|s| s.info.subflow).filter(|subflow| subflow.acked > 0);
    assert!(subflows().all(|subflow| subflow.min_rtt >= Dur::from_ms(20)), "{last:?}");
    for (path, data, answers) in [(1, 6, 7), (2, 2, 3)] {
        let [data, answers] = [data, answers].map(|link: usize| outcome.record.links[link].total.sent);
        let acked = last.iter().find(|s| s.path == path).map_or(0, |s| s.info.subflow.acked);
        assert!(data * 1448 >= acked && (acked == 0 || answers > 0), "path {path}: {acked} bytes, {data}, {answers}");
        assert!(acked > 14_480 || late > Dur::from_ms(100), "path {path}: {acked} bytes, late: {late}");
    }
    // What has come is acknowledged or its acknowledgement is under way.
    let sent: u64 = last.iter().map(|s| s.info.bytes).sum();
    assert!(sent >= outcome.record.flows[0].received, "the subflows together carried the stream");
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
    let counted =
        |outcome: &Outcome, of: fn(&crate::port::PortCounters) -> u64| outcome.router.ports.iter().map(of).sum::<u64>();
    let (single, whole) = (run(false), run(true));
    assert!(size(&single) <= 1514.0 && counted(&single, |port| port.whole) == 0);
    assert!(size(&whole) > 2000.0, "{} bytes a unit", size(&whole));
    assert!(counted(&whole, |port| port.whole) > 0 && counted(&whole, |port| port.segmented) == 0);
    assert_eq!(counted(&whole, |port| port.refused + port.unhandled + port.overrun + port.oversize), 0);
    // Each packet of a buffer has its headers on the line.
    let (received, sent) = (whole.record.flows[0].received, whole.record.links[8].total.sent_bytes);
    assert!(received > 0 && received * 1514 <= sent * 1448, "{received} bytes of payload in {sent}");
    assert!(sent <= 5_000_000 + 65_536, "4 s at 10 Mbit/s, and one buffer: {sent}");
}

#[test]
fn pages_are_fetched_and_the_agent_sleeps_between_their_packets() {
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
    assert!(loads.iter().all(|load| *load >= Dur::from_ms(44)), "{loads:?}");
    // A page takes some 66 ms, and is held up by those who are late a few times.
    let each = Dur::from_ms(75) + late(&outcome) * 8;
    let least = (plan.end.as_ns() / each.as_ns()).saturating_sub(1) as usize;
    assert!(loads.len() >= least.max(1), "{} pages of {least}: {loads:?}", loads.len());
    let calls = &outcome.record.completions;
    assert!(calls.len() >= loads.len() && calls.iter().all(|c| c.bytes == 5000 && c.ideal > Dur::from_ms(24)));
    // Some 20 events a page. A connection that closes for a round trip must not keep the agent awake.
    assert!(Duration::from(spent) < Duration::from_millis(400), "the agent took {spent:?} of 3 s");
}
