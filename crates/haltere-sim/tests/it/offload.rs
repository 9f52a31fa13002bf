//! Segmentation offload in a network, and what hosts remember of each other.

use crate::common::{drop_tail, flow, plan, wire};
use haltere_congestion::CongestionParams;
use haltere_plan::plan::{AppPlan, BulkPlan, TcpPlan};
use haltere_plan::{Plan, Record};
use haltere_sim::{RunControl, run};
use haltere_transport::{CachedMetrics, Offload, TcpParams};
use haltere_units::{Bytes, Dur, Time};

const SIZE: u64 = 5_000_000;
/// Bytes of Ethernet, IP, TCP and timestamps.
const HEADERS: u64 = 66;

fn bulk(tcp: TcpParams) -> AppPlan {
    let control = CongestionParams::default_of("reno").expect("a control of the registry");
    AppPlan::Bulk(BulkPlan { tcp: TcpPlan::alike(control, tcp), bytes: Some(Bytes::new(SIZE)) })
}

/// One transfer after the other over 100 Mbit/s and 22 ms, the queue holding so many packets.
fn transfers(tcp: &TcpParams, count: usize, queue: u64) -> Record {
    let mut links = [wire(0, 1, 1000), wire(1, 2, 100)].concat();
    (links[2].delay, links[3].delay) = (Dur::from_ms(10), Dur::from_ms(10));
    links[2].queue = drop_tail(queue).into();
    let mut flows: Vec<_> = (0..count).map(|_| flow(0, 2, bulk(tcp.clone()))).collect();
    for (number, flow) in flows.iter_mut().enumerate() {
        flow.start = Time::ZERO + Dur::from_secs(10 * number as u64);
    }
    let plan: Plan = plan(3, links, flows, Dur::from_secs(10 * count as u64));
    run(&plan, &RunControl::default()).expect("the run ends well")
}

#[test]
fn a_queue_counts_a_unit_as_one_packet_and_the_line_carries_all_headers() {
    let of = |offload| transfers(&TcpParams { offload, ..TcpParams::default() }, 1, 5000);
    let (off, packet, burst) = (of(Offload::Off), of(Offload::Packet), of(Offload::Burst));
    let forward = |record: &Record| record.links[2].total;
    // A burst is as many packets of data. The FIN rides on the last one if all that was written may leave at once, which
    // pacing by units decides: else it is a packet of its own, of headers alone.
    let [single, bursts] = [&off, &burst].map(|record| (forward(record).sent, forward(record).sent_bytes));
    assert!(single.0.abs_diff(bursts.0) <= 1, "{single:?} and {bursts:?}");
    assert_eq!(single.1 - HEADERS * single.0, bursts.1 - HEADERS * bursts.0, "payload: {single:?} and {bursts:?}");
    assert!(3 * forward(&packet).sent < forward(&off).sent, "{:?}", forward(&packet));
    let (packet_bytes, off_bytes) = (forward(&packet).sent_bytes, forward(&off).sent_bytes);
    assert!(
        packet_bytes.abs_diff(off_bytes) < 200,
        "{packet_bytes} and {off_bytes}: the FIN may be a packet of its own"
    );
    for record in [&off, &packet, &burst] {
        assert_eq!(record.flows[0].received, SIZE);
    }
}

#[test]
fn a_host_remembers_the_threshold_for_the_next_connection() {
    let of = |tcp_metrics| transfers(&TcpParams { tcp_metrics, ..TcpParams::default() }, 2, 40);
    let lost = |record: &Record, flow: usize| record.flows[flow].sender.expect("a sender").retransmissions;
    let off = of(CachedMetrics::Off);
    assert_eq!(lost(&off, 0), lost(&off, 1), "the second begins as the first");
    let without = of(CachedMetrics::WithoutSsthresh);
    assert_eq!(lost(&without, 0), lost(&without, 1), "round-trip time and window change nothing here");
    let with = of(CachedMetrics::WithSsthresh);
    assert_eq!(lost(&with, 0), lost(&off, 0));
    assert!(lost(&with, 1) < lost(&off, 1), "{} after {}", lost(&with, 1), lost(&off, 1));
}
