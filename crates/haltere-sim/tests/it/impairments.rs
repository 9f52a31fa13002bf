//! Links that lose packets by number, deliver twice, and hold back, in a whole network.

use crate::common::{cbr, flow, link, plan};
use haltere_congestion::CongestionParams;
use haltere_plan::Record;
use haltere_plan::plan::{AppPlan, BulkPlan, Impairments, LinkPlan, TcpPlan};
use haltere_sim::{RunControl, run};
use haltere_transport::{Info, TcpParams};
use haltere_units::{Bytes, Dur, Prob};

/// One transfer of 300 kB over 100 Mbit/s, whose link does such things to the data. The round-trip time is 2 ms.
fn transfer(impairments: Impairments) -> (Info, Record) {
    let cubic = CongestionParams::default_of("cubic").expect("a control of the registry");
    let tcp = TcpParams::default();
    let app = AppPlan::Bulk(BulkPlan { tcp: TcpPlan::alike(cubic, tcp), bytes: Some(Bytes::new(300_000)) });
    let there = LinkPlan { impairments: Some(Box::new(impairments)), ..link(0, 1, 100) };
    let plan = plan(2, vec![there, link(1, 0, 100)], vec![flow(0, 1, app)], Dur::from_secs(20));
    let record = run(&plan, &RunControl::default()).expect("a run");
    let info = record.flows[0].sender.expect("TCP");
    assert_eq!(record.flows[0].received, 300_000, "all arrives");
    (info, record)
}

#[test]
fn each_packet_lost_by_number_is_repaired_once() {
    // Packet 1 is the SYN, 2 the acknowledgement; data follows.
    let (info, record) = transfer(Impairments { lose: vec![20, 40, 90], ..Impairments::default() });
    assert_eq!((record.links[0].total.lost, info.retransmissions, info.timeouts), (3, 3, 0), "{info:?}");
}

#[test]
fn the_lost_syn_is_sent_again_after_a_second() {
    let (_, record) = transfer(Impairments { lose: vec![1], ..Impairments::default() });
    assert_eq!(record.links[0].total.lost, 1);
}

#[test]
fn duplicates_are_reported_and_reduce_nothing() {
    let (info, record) = transfer(Impairments { duplicate: Prob::of(0.2), ..Impairments::default() });
    let duplicated = record.links[0].total.duplicated;
    assert!(duplicated > 20, "{duplicated}");
    assert_eq!((info.retransmissions, info.recoveries), (0, 0), "{info:?}");
}

#[test]
fn reordering_within_the_window_of_rack_repeats_nothing() {
    // RFC 8985 section 6.2: a quarter of the least round trip, 0.5 ms. A segment takes 0.12 ms, so two overtake.
    let impairments = Impairments { reorder: Prob::of(0.05), reorder_by: Dur::from_us(300), ..Impairments::default() };
    let (info, record) = transfer(impairments);
    assert_eq!((record.links[0].total.lost, info.retransmissions), (0, 0), "{info:?}");
}

#[test]
fn datagrams_are_received_twice() {
    let there = LinkPlan {
        impairments: Some(Box::new(Impairments { duplicate: Prob::of(1.0), ..Impairments::default() })),
        ..link(0, 1, 10)
    };
    let plan = plan(2, vec![there, link(1, 0, 10)], vec![flow(0, 1, cbr(1, 1000))], Dur::from_secs(1));
    let record = run(&plan, &RunControl::default()).expect("a run");
    let total = record.links[0].total;
    assert!(total.sent > 50 && total.duplicated == total.sent, "{total:?}");
}
