//! ECN from the sender through every discipline that marks, to the receiver and back: classic (RFC 3168), per packet
//! (RFC 8257), negotiation, and hosts without it.

use crate::common::{flow, plan, wire};
use haltere_congestion::CongestionParams;
use haltere_plan::plan::{AppPlan, BulkPlan, CbrPlan, TcpPlan};
use haltere_plan::record::LinkCounters;
use haltere_plan::{Plan, Record};
use haltere_queue::QueueParams;
use haltere_sim::{RunControl, run};
use haltere_transport::{Info, TcpParams};
use haltere_units::{Bytes, Dur, Rate, Time};

/// Every discipline that can mark, set so that 20 Mbit/s and 20 ms meet marks and never the limit.
const MARKING: [(&str, &str); 5] = [
    ("red", r#"{ "kind": "red", "limit": "1000p", "min": "10p", "max": "30p", "avpkt": "1500B", "ecn": true }"#),
    ("codel", r#"{ "kind": "codel", "ecn": true }"#),
    ("fq_codel", r#"{ "kind": "fq_codel", "ecn": true }"#),
    ("pie", r#"{ "kind": "pie", "ecn": true, "ecn_threshold": "100%" }"#),
    ("threshold", r#"{ "kind": "threshold", "upper": "20p", "drop": true }"#),
];
const BOTTLENECK: usize = 4;

fn queue(text: &str) -> QueueParams {
    serde_json::from_str(text).expect("a queue")
}

/// A bulk flow with ECN on or off at the client and at the server.
fn bulk(control: &str, ecn: [bool; 2], bytes: Option<u64>) -> AppPlan {
    let congestion = CongestionParams::default_of(control).expect("a control of the registry");
    let [sender, receiver] = ecn.map(|ecn| TcpParams { ecn, ..TcpParams::default() });
    AppPlan::Bulk(BulkPlan {
        tcp: TcpPlan { congestion: congestion.into(), sender: sender.into(), receiver: receiver.into(), stack: None },
        bytes: bytes.map(Bytes::new),
    })
}

/// Hosts 0 and 1 send to host 3 over the router 2: 20 Mbit/s, a round trip of 20 ms.
fn network(params: QueueParams, apps: Vec<AppPlan>, seconds: u64) -> Plan {
    let mut links = [wire(0, 2, 1000), wire(1, 2, 1000), wire(2, 3, 20)].concat();
    for link in &mut links[BOTTLENECK..] {
        link.delay = Dur::from_ms(9);
    }
    links[BOTTLENECK].queue = params.into();
    let flows = apps.into_iter().enumerate().map(|(i, app)| flow(i % 2, 3, app)).collect();
    plan(4, links, flows, Dur::from_secs(seconds))
}

fn go(plan: &Plan) -> Record {
    run(plan, &RunControl::default()).expect("the run ends well")
}
fn sender(record: &Record, flow: usize) -> Info {
    record.flows[flow].sender.expect("TCP")
}
fn bottleneck(record: &Record) -> LinkCounters {
    record.links[BOTTLENECK].total
}

#[test]
fn classic_echo_reduces_without_a_loss_through_every_discipline() {
    for (name, params) in MARKING {
        for control in ["reno", "cubic"] {
            let record = go(&network(queue(params), vec![bulk(control, [true; 2], None)], 20));
            let (link, info) = (bottleneck(&record), sender(&record, 0));
            assert!(info.ecn && link.marked > 0, "{control} through {name}: {} marked", link.marked);
            assert_eq!(
                (link.dropped_congestion, link.dropped_overlimit, info.retransmissions, info.timeouts),
                (0, 0, 0, 0),
                "{control} through {name}: nothing is lost"
            );
            // RFC 3168 section 6.1.2: at most one reduction a round trip; these lie between 20 and 60 ms.
            assert!((1..=1000).contains(&info.ecn_reductions), "{control} through {name}: {}", info.ecn_reductions);
            assert!(info.ecn_reductions <= link.marked, "{control} through {name}: no reduction without a mark");
            let mbps = record.flows[0].received as f64 * 8.0 / 20e6;
            assert!(mbps > 14.0, "{control} through {name}: {mbps} Mbit/s");
        }
    }
}

#[test]
fn per_packet_echo_reports_every_mark_to_the_sender_through_every_discipline() {
    for (name, params) in MARKING {
        let record = go(&network(queue(params), vec![bulk("dctcp", [false; 2], Some(20_000_000))], 30));
        let (link, info) = (bottleneck(&record), sender(&record, 0));
        assert_eq!(record.flows[0].received, 20_000_000, "{name}: it completes");
        assert!(link.marked > 20, "{name}: {} marked", link.marked);
        assert_eq!((link.dropped_congestion, info.retransmissions), (0, 0), "{name}: nothing is lost");
        // Only data are counted; the client's SYN, its bare acknowledgements and its FIN can be marked as well.
        let missed = link.marked as i64 - info.delivered_ce as i64;
        assert!((0..=3).contains(&missed), "{name}: {} marked, {} reported", link.marked, info.delivered_ce);
    }
}

#[test]
fn a_host_without_ecn_meets_drops_if_another_is_marked() {
    for (name, params) in MARKING {
        let apps = vec![bulk("reno", [true; 2], None), bulk("reno", [false; 2], None)];
        let record = go(&network(queue(params), apps, 20));
        let (link, with, without) = (bottleneck(&record), sender(&record, 0), sender(&record, 1));
        assert!(with.ecn && !without.ecn, "{name}");
        assert!(link.marked > 0 && link.dropped_congestion > 0, "{name}: {link:?}");
        assert_eq!((with.retransmissions, without.ecn_reductions), (0, 0), "{name}: marks and drops go to their own");
        assert!(with.ecn_reductions > 0, "{name}: the one with ECN answers marks");
        let open = link.dropped_congestion.saturating_sub(without.retransmissions);
        assert!(open <= 5, "{name}: every drop but those of the last round trip is repaired; open: {open}");
        assert!(without.recoveries > 0, "{name}: and slows down for it");
    }
}

#[test]
fn both_ends_must_want_ecn() {
    for (ends, agreed) in [([true, true], true), ([true, false], false), ([false, true], false), ([false; 2], false)] {
        let record = go(&network(queue(MARKING[0].1), vec![bulk("cubic", ends, None)], 10));
        let (link, info) = (bottleneck(&record), sender(&record, 0));
        assert_eq!(info.ecn, agreed, "client and server: {ends:?}");
        assert_eq!(link.marked > 0, agreed, "client and server: {ends:?}: {} marked", link.marked);
        assert_eq!(link.dropped_congestion > 0, !agreed, "client and server: {ends:?}: {link:?}");
    }
}

#[test]
fn dctcp_wants_ecn_whatever_the_host_says() {
    for (control, agreed) in [("dctcp", true), ("cubic", false)] {
        let record = go(&network(queue(MARKING[4].1), vec![bulk(control, [false; 2], None)], 5));
        assert_eq!(sender(&record, 0).ecn, agreed, "{control}");
        assert_eq!(bottleneck(&record).marked > 0, agreed, "{control}");
    }
}

#[test]
fn a_syn_is_not_ecn_capable_and_does_not_get_past_a_queue_that_marks_everything() {
    // 30 Mbit/s of ECN-capable UDP keep the queue over RED's upper threshold: it marks what is capable and drops the
    // rest.
    let red = r#"{ "kind": "red", "limit": "20000p", "min": "10p", "max": "30p", "avpkt": "1500B", "ecn": true }"#;
    let udp = AppPlan::Cbr(CbrPlan { rate: Rate::from_mbps(30), packet: Bytes::new(1000), ecn: true });
    let mut plan = network(queue(red), vec![udp, bulk("cubic", [true; 2], None)], 10);
    plan.flows[1].start = Time::ZERO + Dur::from_secs(1);
    let record = go(&plan);
    let link = bottleneck(&record);
    assert_eq!(record.flows[1].received, 0, "it never connects");
    // SYNs at 1, 2, 4 and 8 s.
    assert_eq!(link.dropped_congestion, 4, "every SYN is dropped");
    assert!(link.marked > 1000, "while data are marked: {}", link.marked);
}

#[test]
fn marks_do_not_slow_bbr_down() {
    let params = queue(
        r#"{ "kind": "red", "limit": "1000p", "min": "10p", "max": "11p", "probability": 1.0, "avpkt": "1500B", "ecn": true }"#,
    );
    let record = go(&network(params, vec![bulk("bbr", [true; 2], None), bulk("reno", [true; 2], None)], 20));
    let [bbr, reno] = [0, 1].map(|i| record.flows[i].received as f64);
    assert!(bottleneck(&record).marked > 1000);
    assert!(bbr > 4.0 * reno, "BBR version 1 does not answer marks: {bbr} against {reno} bytes");
    assert_eq!(sender(&record, 0).retransmissions, 0, "and has no losses to answer");
}
