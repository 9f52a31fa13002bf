//! Whole networks with TCP: a printed table as a snapshot, completion, cancellation, captures.
//!
//! `UPDATE=1 cargo test -p haltere-sim --test it tcp` writes the table anew; a reviewer sees what changed.

use crate::common::{cbr, drop_tail, flow, ping, plan, wire};
use haltere_congestion::CongestionParams;
use haltere_plan::plan::{AppPlan, BulkPlan, DurationDistribution, OnOffPlan, TcpPlan};
use haltere_plan::{Plan, Record};
use haltere_queue::QueueParams;
use haltere_sim::{Capture, RunControl, run, run_with_captures};
use haltere_transport::TcpParams;
use haltere_units::{Bytes, Dur, Prob, Rate, Time};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

fn tcp(control: &str, ecn: bool) -> TcpPlan {
    let congestion = CongestionParams::default_of(control).expect("a control of the registry");
    let end = TcpParams { ecn, ..TcpParams::default() };
    TcpPlan::alike(congestion, end)
}

fn bulk(control: &str, ecn: bool, bytes: Option<u64>) -> AppPlan {
    AppPlan::Bulk(BulkPlan { tcp: tcp(control, ecn), bytes: bytes.map(Bytes::new) })
}

fn go(plan: &Plan) -> Record {
    run(plan, &RunControl::default()).expect("the run ends well")
}

/// Two flows and a ping over 10 Mbit/s and about 20 ms, and what shows of them.
fn dumbbell(queue: QueueParams, control: &str) -> Plan {
    let ecn = control == "dctcp";
    let mut links = Vec::new();
    for (a, b) in [(0, 2), (1, 2), (3, 4), (3, 5)] {
        links.extend(wire(a, b, 100));
    }
    links.extend(wire(2, 3, 10));
    links[8].delay = Dur::from_ms(8);
    links[9].delay = Dur::from_ms(8);
    links[8].queue = queue.into();
    let mut flows = vec![flow(0, 4, bulk(control, ecn, None)), flow(1, 5, bulk(control, ecn, None))];
    flows.push(flow(0, 4, ping(100)));
    flows[1].start = Time::from_ns(1_000_000_000);
    let mut plan = plan(6, links, flows, Dur::from_secs(20));
    plan.warmup = Time::from_ns(5_000_000_000);
    plan
}

#[test]
fn the_table_of_controls_and_disciplines_is_as_it_was() {
    let mut table = String::from(
        "10 Mbit/s, 20 ms, two flows, 5 to 20 s; goodput in Mbit/s, ping median in ms, queue in packets\n\
         control  queue         f0     f1     ping   queue   drops  marks  retrans  timeouts\n",
    );
    for &control in CongestionParams::NAMES {
        for &queue in QueueParams::NAMES {
            let params =
                if queue == "drop_tail" { drop_tail(50) } else { QueueParams::default_of(queue).expect("known") };
            let record = go(&dumbbell(params, control));
            let mbps = |i: usize| record.flows[i].received_after_warmup as f64 * 8.0 / 15e6;
            let mut rtts: Vec<f64> = record.pings.iter().map(|p| p.rtt.as_secs_f64() * 1e3).collect();
            rtts.sort_by(f64::total_cmp);
            let link = &record.links[8].after_warmup;
            let senders = record.flows.iter().filter_map(|f| f.sender);
            let (again, timeouts) = senders.fold((0, 0), |(r, t), s| (r + s.retransmissions, t + s.timeouts));
            let _ = writeln!(
                table,
                "{control:<8} {queue:<12} {:>5.2}  {:>5.2} {:>8.2} {:>7.1} {:>7} {:>6} {again:>8} {timeouts:>9}",
                mbps(0),
                mbps(1),
                rtts[rtts.len() / 2],
                link.packet_ns as f64 / 15e9,
                link.dropped_overlimit + link.dropped_congestion,
                link.marked,
            );
        }
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/controls.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, &table).expect("the snapshot can be written");
    }
    let want = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(table == want, "the table changed; UPDATE=1 accepts it\n--- was\n{want}\n--- is\n{table}");
}
#[test]
fn a_limited_flow_completes_and_both_ends_close() {
    let plan = plan(2, wire(0, 1, 10), vec![flow(0, 1, bulk("cubic", false, Some(1_000_000)))], Dur::from_secs(10));
    let record = go(&plan);
    let flow = &record.flows[0];
    assert_eq!(flow.received, 1_000_000);
    let at = flow.completed.expect("it completes").as_secs_f64();
    // 691 segments of 1514 B at 10 Mbit/s take 0.837 s; handshake and slow start a few round trips of 2 ms.
    assert!((0.837..0.870).contains(&at), "completed after {at} s");
    assert!(record.events < 5000, "nothing goes on after the end: {} events", record.events);
}
#[test]
fn an_on_off_source_offers_its_rate() {
    let received = |on: u64, off: u64, begins_off: bool, end: Dur| {
        let [on, off] = [on, off].map(|ms| DurationDistribution::Constant(Dur::from_ms(ms)));
        let (rate, chunk) = (Rate::from_mbps(2), Bytes::new(1000));
        let source = OnOffPlan { tcp: tcp("cubic", false), rate, chunk, on, off, begins_off };
        go(&plan(2, wire(0, 1, 10), vec![flow(0, 1, AppPlan::OnOff(source))], end)).flows[0].received
    };
    for (on, off, begins_off, want) in [(1000, 0, false, 2e6), (300, 700, false, 0.6e6), (300, 700, true, 0.6e6)] {
        let bps = received(on, off, begins_off, Dur::from_secs(20)) as f64 * 8.0 / 20.0;
        assert!((bps - want).abs() < 0.01 * want, "on {on} ms, off {off} ms: {bps} bit/s, offered {want}");
    }
    // On for 300 ms at 2 Mbit/s: 75 chunks of 1000 bytes. Begun off, they come 700 ms later.
    let of_first_cycle = [(false, 500, 75_000), (true, 690, 0), (true, 1100, 75_000)];
    for (begins_off, end_ms, want) in of_first_cycle {
        assert_eq!(received(300, 700, begins_off, Dur::from_ms(end_ms)), want, "{begins_off}, {end_ms} ms");
    }
}
#[test]
fn same_seed_same_record_with_tcp_over_a_lossy_link() {
    let outcome = |seed| {
        let mut plan = dumbbell(QueueParams::default_of("pie").expect("known"), "bbr");
        plan.links[8].loss = Prob::of(0.01);
        plan.seed = seed;
        plan.measure.flows = Some(Dur::from_ms(20));
        format!("{:?}", go(&plan))
    };
    assert!(outcome(1) == outcome(1), "two runs of one seed differ");
    assert!(outcome(1) != outcome(2), "two seeds give the same run");
}
#[test]
fn the_event_queue_holds_links_and_endpoints_only() {
    let plan = dumbbell(drop_tail(1000), "cubic");
    let record = go(&plan);
    let most = plan.links.len() + 4 * 2 * plan.flows.len() + 3;
    assert!(record.peak_events as usize <= most, "{} entries, expected at most {most}", record.peak_events);
}

/// A `Write` whose bytes can be read after it was given away.
#[derive(Clone, Default)]
struct Shared(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("one thread").extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn tshark_reads_captures_without_complaint() {
    // In CI tshark is required; elsewhere its absence skips the test.
    if Command::new("tshark").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "tshark must be installed in CI");
        println!("skipped: tshark is not installed");
        return;
    }
    let mut plan = dumbbell(QueueParams::default_of("threshold").expect("known"), "dctcp");
    plan.links[8].loss = Prob::of(0.01); // so that there are SACK blocks
    plan.flows.push(flow(0, 4, cbr(1, 333)));
    plan.flows[0].stop = Some(Time::from_ns(1_500_000_000));
    plan.end = Time::from_ns(3_000_000_000);
    plan.warmup = Time::ZERO;
    for (link, snaplen) in [(8, None), (9, None), (8, Some(100))] {
        let file = Shared::default();
        let captures = vec![Capture { link, writer: Box::new(file.clone()), snaplen }];
        let record = run_with_captures(&plan, &RunControl::default(), captures).expect("the run ends well");
        let name = format!("haltere-{}-{link}-{}.pcapng", std::process::id(), snaplen.unwrap_or(0));
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, &*file.0.lock().expect("one thread")).expect("the capture can be written");
        let tshark = |filter: &str| {
            let mut command = Command::new("tshark");
            command.arg("-r").arg(&path).args(["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]);
            let out = command.args(["-o", "udp.check_checksum:TRUE", "-Y", filter]).output().expect("tshark runs");
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
            String::from_utf8_lossy(&out.stdout).lines().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(tshark("frame").len() as u64, record.links[link].total.sent, "every packet is in the file");
        let bad = "_ws.malformed or ip.checksum.status == Bad or tcp.checksum.status == Bad or udp.checksum.status == Bad \
                   or icmp.checksum.status == Bad";
        assert_eq!(tshark(bad), Vec::<String>::new());
        assert!(!tshark("tcp.flags.syn == 1").is_empty());
        assert!(!tshark("tcp.flags.fin == 1").is_empty());
        assert!(!tshark("icmp").is_empty());
        if link == 9 {
            assert!(!tshark("tcp.options.sack_le").is_empty(), "selective acknowledgements");
        }
        std::fs::remove_file(&path).expect("the capture can be removed");
    }
}
