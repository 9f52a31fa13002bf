//! Multipath flows in the simulator: both paths add up, a shared receiver interface confuses nothing, runs repeat.

use crate::common::{flow, plan, wire};
use haltere_congestion::CongestionParams;
use haltere_plan::plan::{AppPlan, MultipathPlan, PathPlan, TcpPlan};
use haltere_plan::{Plan, Record};
use haltere_sim::{RunControl, run};
use haltere_transport::TcpParams;
use haltere_transport::multipath::MultipathParams;
use haltere_units::{Bytes, Dur, Rate, Time};

/// Nodes 0 and 1 are the sender's interfaces, 3 the receiver's only one, 2 a router on the second path.
fn two_paths(rate: Option<Rate>, cut: Option<Time>) -> Plan {
    let tcp = TcpPlan::alike(CongestionParams::default_of("cubic").unwrap(), TcpParams::default());
    let path = |from, cut| PathPlan { from, to: 3, join: None, leave: None, cut };
    let app = AppPlan::Multipath(Box::new(MultipathPlan {
        tcp,
        multipath: MultipathParams::default(),
        paths: vec![path(0, cut), path(1, None)],
        rate,
        packet: Bytes::new(1000),
        bytes: None,
    }));
    let links = [wire(0, 3, 10), wire(1, 2, 20), wire(2, 3, 20)].concat();
    plan(4, links, vec![flow(0, 3, app)], Dur::from_secs(20))
}

fn result(plan: &Plan) -> Record {
    run(plan, &RunControl::default()).unwrap()
}

#[test]
fn two_paths_to_one_interface_add_up() {
    let record = result(&two_paths(None, None));
    let mbit = record.flows[0].received as f64 * 8.0 / 20.0 / 1e6;
    assert!((25.0..28.5).contains(&mbit), "{mbit} Mbit/s of 30, headers included");
    let given = |path: u32| record.path_series.iter().rfind(|s| s.path == path).unwrap().info.bytes;
    assert!(given(0) > 15_000_000 && given(1) > 35_000_000, "{} and {} bytes", given(0), given(1));
}

#[test]
fn a_stream_is_late_once_when_its_path_is_cut_and_then_recovers() {
    let plan = two_paths(Some(Rate::from_mbps(1)), Some(Time::from_ns(10_000_000_000)));
    let record = result(&plan);
    assert_eq!(record, result(&plan), "the same plan, the same record");
    let late = record.delays.iter().filter(|d| d.rtt > Dur::from_ms(50)).count();
    // A write every 8 ms: what was in flight waits for a timeout of some hundred milliseconds, and no more.
    assert!((1..150).contains(&late), "{late} of {} writes were late", record.delays.len());
    let last = record.delays.last().unwrap();
    assert!(last.at > Time::from_ns(19_900_000_000) && last.rtt < Dur::from_ms(10), "{last:?}");
}
