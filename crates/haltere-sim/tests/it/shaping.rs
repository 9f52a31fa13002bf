//! Shapers and policers in a whole network.

use crate::common::{cbr, flow, link, plan};
use haltere_congestion::CongestionParams;
use haltere_plan::Record;
use haltere_plan::plan::{AppPlan, BulkPlan, LinkPlan, TcpPlan};
use haltere_queue::QueueParams;
use haltere_sim::{RunControl, run};
use haltere_transport::TcpParams;
use haltere_units::Dur;

/// Ten seconds of `app` over 100 Mbit/s behind that queue.
fn behind(queue: &str, app: AppPlan) -> Record {
    let queue: QueueParams = serde_json::from_str(queue).expect("parameters");
    let there = LinkPlan { queue: queue.into(), ..link(0, 1, 100) };
    let plan = plan(2, vec![there, link(1, 0, 100)], vec![flow(0, 1, app)], Dur::from_secs(10));
    run(&plan, &RunControl::default()).expect("a run")
}

fn bulk() -> AppPlan {
    let cubic = CongestionParams::default_of("cubic").expect("a control of the registry");
    AppPlan::Bulk(BulkPlan { tcp: TcpPlan::alike(cubic, TcpParams::default()), bytes: None })
}

#[test]
fn tcp_gets_the_rate_of_the_shaper() {
    for inner in [r#""limit": "100p""#, r#""queue": { "kind": "fq_codel" }"#] {
        let record = behind(&format!(r#"{{ "kind": "tbf", "rate": "8Mbit", "burst": "15140B", {inner} }}"#), bulk());
        // A megabyte a second, the burst, and less than a packet that is not yet sent.
        let sent = record.links[0].total.sent_bytes;
        assert!((9_900_000..=10_015_140).contains(&sent), "{sent}");
    }
}

#[test]
fn a_constant_rate_gets_the_rate_and_the_burst_of_the_policer() {
    // 20 Mbit/s of payload meet 8 Mbit/s and 100 kB.
    let record = behind(r#"{ "kind": "policer", "rate": "8Mbit", "burst": "100kB" }"#, cbr(20, 1000));
    let total = record.links[0].total;
    assert!((10_097_000..=10_100_000).contains(&total.sent_bytes), "{total:?}");
    assert_eq!(total.dropped_congestion, total.arrived - total.sent);
    assert_eq!(total.peak_packets, 0, "the policer holds no packet back");
}

#[test]
fn tcp_behind_a_policer_loses_packets_and_stays_below_its_rate() {
    let record = behind(r#"{ "kind": "policer", "rate": "8Mbit", "burst": "60kB" }"#, bulk());
    let total = record.links[0].total;
    assert!(total.dropped_congestion > 10, "{total:?}");
    assert!((2_000_000..=10_060_000).contains(&total.sent_bytes), "{total:?}");
}
