//! A capture made by the simulator: its packets get the classes that the simulated router gave them.
#![allow(missing_docs, reason = "tests")]

mod common;

use common::{File, link};
use haltere_capture::replay::Options;
use haltere_capture::{CaptureError, Watch, classify, classify_with};
use haltere_congestion::CongestionParams;
use haltere_plan::Plan;
use haltere_plan::plan::{AppPlan, FlowPlan, FtpPlan, TcpPlan, Work};
use haltere_plan::rng::Rng;
use haltere_queue::classify::{Class, ClassifierParams};
use haltere_queue::{DropReason, Fate, MarkReason, QueueParams, classed, drop_tail};
use haltere_sim::{Capture, RunControl, run_with_captures};
use haltere_transport::TcpParams;
use haltere_units::{Bytes, Dur, Size, Time};
use std::collections::HashMap;

/// Twelve uploads from n0 over n1, which sorts and marks, to n2.
fn plan(classifier: &ClassifierParams) -> Plan {
    let roomy = || QueueParams::DropTail(drop_tail::Params { limit: Size::Packets(100_000) });
    let sorted = classed::Params {
        classifier: classifier.clone(),
        short: Box::new(roomy()),
        long: Box::new(roomy()),
        remark: true,
        ..classed::Params::default()
    };
    let host = TcpParams { isn_zero_bits: 22, ..TcpParams::default() };
    let congestion = CongestionParams::default_of("reno").unwrap();
    let tcp = TcpPlan::alike(congestion, host);
    let flow = |i: u64| {
        let work = Work::One(Bytes::new(600 << (2 * (i % 6))));
        let app = AppPlan::Ftp(FtpPlan { tcp: tcp.clone(), work, short: Bytes::new(16_000) });
        FlowPlan { start: Time::ZERO + Dur::from_ms(i), ..FlowPlan::new(format!("f{i}"), 0, 2, app) }
    };
    let links = vec![
        link(0, 1, 100, 1, roomy()),
        link(1, 0, 100, 1, roomy()),
        link(1, 2, 1, 1, QueueParams::Classed(sorted)),
        link(2, 1, 1, 1, roomy()),
    ];
    let flows = (0..12).map(flow).collect();
    Plan { seed: 5, ..Plan::new(Plan::node_names(3), links, flows, Time::ZERO + Dur::from_secs(30)) }
}

/// What the router sees in order of arrival (the line before it), and what it sends (the line behind it).
fn captures(plan: &Plan) -> [Vec<u8>; 2] {
    let files = [File::default(), File::default()];
    let taps = [0, 2].into_iter().zip(&files);
    let taps = taps.map(|(link, file)| Capture { link, writer: Box::new(file.clone()), snaplen: Some(96) });
    run_with_captures(plan, &RunControl::default(), taps.collect()).unwrap();
    files.map(|file| std::mem::take(&mut *file.0.lock().unwrap()))
}

#[test]
fn the_flows_of_a_capture_have_their_starts_and_their_bytes() {
    let plan = plan(&ClassifierParams::default_of("las").expect("the registry holds las"));
    let [before, _] = captures(&plan);
    let flows = haltere_capture::flows(before.as_slice(), Watch::default()).expect("a capture");
    assert!(flows.windows(2).all(|two| two[0].start_ns <= two[1].start_ns));
    assert!(flows.iter().all(|flow| flow.from_client && flow.client == 0), "the uploads of one host");
    let mut bytes: Vec<u64> = flows.iter().map(|flow| flow.bytes).filter(|bytes| *bytes >= 600).collect();
    bytes.sort_unstable();
    // Each file once, retransmissions left out, and the largest as far as they came in 30 s at 1 Mbit/s.
    let files: Vec<u64> = (0..12).map(|i| 600 << (2 * (i / 2))).collect();
    assert_eq!(bytes[..10], files[..10]);
    // The other connections are the dialogues: what the client says until it has sent its file.
    assert!(flows.iter().filter(|flow| flow.bytes < 600).count() >= 12);
}

/// The random stream of the router's queue.
struct Router(Rng);
impl<P> Fate<P> for Router {
    fn dropped(&mut self, _: P, _: DropReason) {}
    fn marked(&mut self, _: &P, _: MarkReason) {}
    fn random(&mut self) -> u64 {
        self.0.bits()
    }
}

fn options(classifier: &ClassifierParams) -> Options {
    Options { classifiers: vec![classifier.clone()], draws: 1, ..Options::default() }
}

/// Each packet by its addresses, ports and IP identification, and the DSCP with which the router sent it.
fn sent(capture: &[u8]) -> HashMap<Vec<u8>, u8> {
    frames(capture).map(|frame| (identity(frame), frame[15] >> 2)).collect()
}
/// An Ethernet frame's IP identification, source and destination with ports.
fn identity(frame: &[u8]) -> Vec<u8> {
    [&frame[18..20], &frame[26..38]].concat()
}
/// The blocks of a pcapng file: kind, and where each starts and ends.
fn blocks(capture: &[u8]) -> Vec<(usize, usize, usize)> {
    let word = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().unwrap()) as usize;
    let mut out = vec![];
    while let at = out.last().map_or(0, |&(_, _, end)| end)
        && at < capture.len()
    {
        out.push((word(at), at, at + word(at + 4)));
    }
    out
}
/// The frames of the simulator's pcapng files: enhanced packet blocks only.
fn frames(capture: &[u8]) -> impl Iterator<Item = &[u8]> {
    let word = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().unwrap()) as usize;
    let packets = blocks(capture).into_iter().filter(|(kind, ..)| *kind == 6);
    packets.map(move |(_, at, _)| &capture[at + 28..at + 28 + word(at + 20)])
}

#[test]
fn a_capture_s_packets_get_the_classes_that_the_simulated_router_gave() {
    for name in ["rafle", "run2c", "las"] {
        let classifier = ClassifierParams::default_of(name).unwrap();
        let plan = plan(&classifier);
        let [arrived, left] = captures(&plan);
        let marks = sent(&left);
        let order: Vec<_> = frames(&arrived).map(identity).collect();
        let chance = vec![Router(Rng::new(plan.seed, "n1>n2/queue"))];
        let mut seen = [0u64; 2];
        let told = |number: u64, classes: &[Class]| {
            let mark = marks[&order[number as usize - 1]];
            assert_eq!(Class::of_mark(mark), Some(classes[0]), "{name}: packet {number}");
            seen[classes[0].index()] += 1;
        };
        let report = classify_with(arrived.as_slice(), &options(&classifier), Watch::default(), chance, told).unwrap();
        assert_eq!((report.packets as usize, report.without_flow), (marks.len(), 0), "{name}");
        assert!(seen.iter().all(|&n| n > 100), "{name}: {seen:?}");
    }
}

#[test]
fn the_report_counts_flows_by_what_they_turned_out_to_be() {
    let classifier = ClassifierParams::default_of("las").unwrap();
    let [arrived, _] = captures(&plan(&classifier));
    let report = classify(arrived.as_slice(), &options(&classifier), Watch::default()).unwrap();
    // Twelve control connections, and data connections of 0.6, 2.4, 9.6, 38.4, 154 and 614 kB, two of each.
    assert_eq!(report.flows, [12 + 6, 6]);
    assert_eq!(report.packets_of.iter().sum::<u64>(), report.packets);
    let score = &report.scores[0];
    assert_eq!(score.short.part, 1.0, "LAS calls nothing long that stays below its threshold");
    assert!(score.long.part > 0.6 && score.long.half > 0.0, "{score:?}");
}

#[test]
fn a_truncated_capture_is_an_error_with_the_packet_s_number() {
    let classifier = ClassifierParams::default_of("rafle").unwrap();
    let [arrived, _] = captures(&plan(&classifier));
    let all = blocks(&arrived);
    let (_, start, end) = all[all.len() / 2];
    let before = all.iter().filter(|&&(kind, at, _)| kind == 6 && at < start).count();
    let read = |bytes: &[u8]| classify(bytes, &options(&classifier), Watch::default());
    assert!(read(&arrived[..start]).is_ok(), "it ends between two packets");
    for cut in start + 1..end {
        let error = read(&arrived[..cut]).expect_err("it ends within a packet").to_string();
        assert!(error.starts_with(&format!("packet {} must be whole", before + 1)), "cut at {}: {error}", cut - start);
        assert!(error.contains("truncated or corrupt"), "{error}");
    }
    assert!(matches!(read(b"GET / HTTP/1.1"), Err(CaptureError::Format(_))));
}

#[test]
fn several_replays_agree_with_one_another_and_narrow_the_interval() {
    let classifier = ClassifierParams::default_of("rafle").unwrap();
    let [arrived, _] = captures(&plan(&classifier));
    let of = |draws: u32, seed: u64| {
        let options = Options { draws, seed, ..options(&classifier) };
        classify(arrived.as_slice(), &options, Watch::default()).unwrap().scores.remove(0)
    };
    let (one, many) = (of(1, 1), of(50, 1));
    assert_eq!((one.replays, many.replays), (1, 50));
    assert_eq!(of(50, 1).long, many.long, "the same seed, the same figures");
    assert!((one.long.part - many.long.part).abs() < one.long.half + many.long.half, "{one:?} {many:?}");
    assert!((many.product.part - many.short.part * many.long.part).abs() < 1e-12);
    // Two runs of 50 replays differ by less than two of one.
    let spread = |draws| (of(draws, 2).long.part - of(draws, 3).long.part).abs();
    assert!(spread(200) < 0.01, "{}", spread(200));
}
