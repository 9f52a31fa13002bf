//! Captures made by the simulator: flows that share a bottleneck are found, and those that do not are not.
#![allow(missing_docs, reason = "tests")]

mod common;

use common::{File, link};
use haltere_capture::correlate::{DelaySource, Options, Report, correlate};
use haltere_capture::{CaptureError, Watch};
use haltere_congestion::CongestionParams;
use haltere_plan::Plan;
use haltere_plan::plan::{AppPlan, BulkPlan, FlowPlan, LinkPlan, TcpPlan};
use haltere_queue::{QueueParams, drop_tail};
use haltere_sim::{Capture, RunControl, run_with_captures};
use haltere_transport::TcpParams;
use haltere_transport::multipath::correlation::CorrelatorParams;
use haltere_units::{Bytes, Dur, Size, Time};

fn wire(a: usize, b: usize, mbps: u64, delay_ms: u64, packets: u64) -> [LinkPlan; 2] {
    let queue = || QueueParams::DropTail(drop_tail::Params { limit: Size::Packets(packets) });
    [(a, b), (b, a)].map(|(from, to)| link(from, to, mbps, delay_ms, queue()))
}

fn flow(name: &str, from: usize, to: usize, start_ms: u64, timestamps: bool) -> FlowPlan {
    // Without timestamps the receiver's window stays near 64 kB: two of those never fill the queue, and delays that
    // stand still tell nothing.
    let recv_buffer = (!timestamps).then(|| Bytes::new(1_000_000));
    let host = TcpParams { timestamps, recv_buffer, ..TcpParams::default() };
    let congestion = CongestionParams::default_of("cubic").unwrap();
    let tcp = TcpPlan::alike(congestion, host);
    let start = Time::ZERO + Dur::from_ms(start_ms);
    FlowPlan { start, ..FlowPlan::new(name, from, to, AppPlan::Bulk(BulkPlan { tcp, bytes: None })) }
}

/// Two dumbbells: 0, 1 > 2 = 3 > 4, 5 at 10 Mbit/s and 6, 7 > 8 = 9 > 10, 11 at 8 Mbit/s. Flows f0 and f1 share the
/// first bottleneck, f2 and f3 the second.
fn plan(timestamps: bool) -> Plan {
    let mut links = vec![];
    for (from, mbps, bottleneck_ms) in [(0, 10, 10), (6, 8, 17)] {
        links.extend(wire(from, from + 2, 100, 1, 1000));
        links.extend(wire(from + 1, from + 2, 100, 5, 1000));
        links.extend(wire(from + 2, from + 3, mbps, bottleneck_ms, 60));
        links.extend(wire(from + 3, from + 4, 100, 1, 1000));
        links.extend(wire(from + 3, from + 5, 100, 2, 1000));
    }
    let flows = [(0, 4, 0), (1, 5, 700), (6, 10, 300), (7, 11, 1500)];
    let flow = |(i, &(from, to, start))| flow(&format!("f{i}"), from, to, start, timestamps);
    let flows = flows.iter().enumerate().map(flow).collect();
    Plan { seed: 3, ..Plan::new(Plan::node_names(12), links, flows, Time::ZERO + Dur::from_secs(60)) }
}

/// What passed these links, one file a link.
fn captures(plan: &Plan, links: &[&str]) -> Vec<Vec<u8>> {
    let files: Vec<File> = links.iter().map(|_| File::default()).collect();
    let place = |name: &str| plan.links.iter().position(|link| link.name == name).unwrap();
    let taps = links.iter().zip(&files);
    let taps =
        taps.map(|(name, file)| Capture { link: place(name), writer: Box::new(file.clone()), snaplen: Some(96) });
    run_with_captures(plan, &RunControl::default(), taps.collect()).unwrap();
    files.into_iter().map(|file| std::mem::take(&mut *file.0.lock().unwrap())).collect()
}

/// The senders' lines in both directions.
const BEFORE: [&str; 8] = ["n0>n2", "n2>n0", "n1>n2", "n2>n1", "n6>n8", "n8>n6", "n7>n8", "n8>n7"];
/// The receivers' lines, data only.
const BEHIND: [&str; 4] = ["n3>n4", "n3>n5", "n9>n10", "n9>n11"];

fn ask(files: &[Vec<u8>], parts: &[usize], options: &Options) -> Report {
    correlate(parts, |file| Ok(files[file].as_slice()), options, Watch::default()).unwrap()
}

fn options() -> Options {
    let methods = ["red_cpi", "mscm", "sbd"].map(|name| CorrelatorParams::default_of(name).unwrap());
    Options { methods: methods.into(), ..Options::default() }
}

/// Which flows belong together by each method; flows are f0 to f3 in order.
fn check(report: &Report, what: &str) {
    assert_eq!(report.flows.len(), 4, "{what}");
    for method in 0..2 {
        let pairs: Vec<_> = report.pairs.iter().filter(|pair| pair.method == method).collect();
        assert_eq!(report.groups[method], [vec![0, 1], vec![2, 3]], "{what}, method {method}: {pairs:#?}");
        for pair in pairs {
            let together = pair.a / 2 == pair.b / 2;
            let median = pair.quartiles.expect("it could tell")[1];
            assert!(if together { median > 0.8 } else { median.abs() < 0.7 }, "{what}: {pair:?}");
        }
    }
}

#[test]
fn before_the_bottleneck_round_trips_tell_who_shares_it() {
    let files = captures(&plan(true), &BEFORE);
    let report = ask(&files, &[0, 0, 1, 1, 2, 2, 3, 3], &options());
    assert!(report.flows.iter().all(|flow| flow.source == DelaySource::RoundTrip), "{:?}", report.flows);
    check(&report, "timestamps");
    // Without timestamps, sequence numbers and acknowledgements tell the same.
    let files = captures(&plan(false), &BEFORE);
    check(&ask(&files, &[0, 0, 1, 1, 2, 2, 3, 3], &options()), "acknowledgements");
}

#[test]
fn behind_the_bottleneck_one_way_delays_tell_it_without_the_other_direction() {
    let files = captures(&plan(true), &BEHIND);
    let report = ask(&files, &[0, 1, 2, 3], &options());
    assert!(report.flows.iter().all(|flow| flow.source == DelaySource::OneWay), "{:?}", report.flows);
    check(&report, "one way");
}

#[test]
fn the_measured_round_trip_is_the_path_s_and_its_queue_s() {
    let files = captures(&plan(true), &BEFORE[..4]);
    let report = ask(&files, &[0, 0, 1, 1], &options());
    // From the sender's line on: 2 (1 + 10 + 1) ms and at most 60 packets of 1.2 ms; delayed acknowledgements are rare
    // in bulk.
    let delays = &report.series[0].delay_ms;
    let (least, most) = delays.iter().fold((f64::MAX, 0.0f64), |(low, high), &ms| (low.min(ms), high.max(ms)));
    assert!((24.0..40.0).contains(&least) && (70.0..105.0).contains(&most), "{least} {most}");
}

#[test]
fn too_little_to_tell_and_broken_files_are_errors() {
    let files = captures(&plan(true), &["n0>n2"]);
    let error = correlate(&[0], |_| Ok(files[0].as_slice()), &options(), Watch::default()).unwrap_err();
    assert!(matches!(&error.1, CaptureError::Nothing(text) if text.contains("at least 2 TCP flows")), "{error:?}");
    let cut = &files[0][..files[0].len() - 5];
    let error =
        correlate(&[0, 1], |i| Ok(if i == 0 { &files[0][..] } else { cut }), &options(), Watch::default()).unwrap_err();
    assert!(error.0 == 1 && error.1.to_string().contains("must be whole"), "{error:?}");
}
