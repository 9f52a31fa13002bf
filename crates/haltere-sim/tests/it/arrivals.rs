//! Flows that arrive and complete during a run.

use haltere_lab::Scenario;
use haltere_plan::Plan;
use haltere_plan::plan::{AppPlan, Pattern};
use haltere_plan::record::Record;
use haltere_sim::{RunControl, run};
use haltere_units::Time;

fn plan(topology: &str, traffic: &str, seed: u64) -> Plan {
    let text = format!(
        "duration = \"200ms\"\nmeasure = {{ queues = \"off\", flows = \"off\" }}\n{topology}\n[[traffic]]\n{traffic}\n"
    );
    Scenario::parse(&text, "test.toml").unwrap_or_else(|e| panic!("{e}")).plan(seed).expect("a plan")
}

const LEAF_SPINE: &str = r#"
[topology.leaf_spine]
leaves = 3
spines = 2
hosts = 4
access = { rate = "10Gbit", delay = "1us" }
fabric = { rate = "10Gbit", delay = "1us" }
"#;

fn go(plan: &Plan) -> Record {
    run(plan, &RunControl::default()).expect("the run ends well")
}

#[test]
fn every_flow_is_delivered_whole_and_never_faster_than_its_ideal() {
    let plan = plan(
        LEAF_SPINE,
        "kind = \"poisson\"\nsizes = { points = [[100, 0.3], [300000, 1]] }\nload = 0.5\nstop = \"50ms\"",
        1,
    );
    let record = go(&plan);
    assert!(record.completions.len() > 1000, "{} flows", record.completions.len());
    for c in &record.completions {
        assert_ne!(c.end, Time::NEVER, "{c:?}");
        assert!(c.end.since(c.start) >= c.ideal, "{c:?}");
        assert_ne!(c.from, c.to);
    }
    // A share of half the hosts' links for 50 ms: of so many flows the sum is within a tenth (four deviations).
    let bytes: u64 = record.completions.iter().map(|c| c.bytes).sum();
    let want = 12.0 * 10e9 / 8.0 * 0.5 * 0.05;
    assert!((bytes as f64 / want - 1.0).abs() < 0.1, "{bytes} B of {want}");
}

#[test]
fn a_flow_alone_takes_its_ideal_time_and_what_windows_and_acknowledgements_add() {
    let plan = plan(
        LEAF_SPINE,
        "kind = \"incast\"\nsenders = 1\nbytes = \"1000B\"\nrounds = 3\ninterval = \"1ms\"\nto = \"h1\"",
        1,
    );
    let record = go(&plan);
    assert_eq!(record.completions.len(), 3);
    for c in &record.completions {
        // One packet: the handshake's headers on six hops are all that the ideal leaves out.
        let more = c.end.since(c.start).as_ns() - c.ideal.as_ns();
        assert!(more < 1000, "{more} ns more than {:?}", c.ideal);
    }
}

#[test]
fn the_same_seed_bears_the_same_flows_and_another_seed_others() {
    let traffic = "kind = \"poisson\"\nsizes = \"web_search\"\nload = 0.3\nflows = 50";
    let one = go(&plan(LEAF_SPINE, traffic, 1));
    assert_eq!(one, go(&plan(LEAF_SPINE, traffic, 1)));
    assert_ne!(one.completions, go(&plan(LEAF_SPINE, traffic, 2)).completions);
    assert_eq!(one.completions.len(), 50);
}

#[test]
fn a_fat_tree_gives_every_host_of_a_permutation_its_flow() {
    let topology = "[topology.fat_tree]\nk = 4\naccess = { rate = \"1Gbit\", delay = \"1us\" }\nfabric = { rate = \"1Gbit\", delay = \"1us\" }";
    let plan = plan(topology, "kind = \"permutation\"\nbytes = \"100kB\"\njitter = \"0s\"", 3);
    // k = 4: 16 hosts, 4 cores, 8 + 8 switches; 16 + 16 + 16 links of two directions.
    assert_eq!((plan.flows.len(), plan.nodes.len(), plan.links.len()), (16, 36, 96));
    let (mut from, mut to): (Vec<_>, Vec<_>) = plan.flows.iter().map(|f| (f.from, f.to)).unzip();
    from.sort_unstable();
    to.sort_unstable();
    assert_eq!(from, to, "each host sends to one and receives from one");
    let record = go(&plan);
    assert!(record.flows.iter().all(|flow| flow.received == 100_000), "all is delivered");
    let used = |name: &str| {
        record.links.iter().zip(&plan.links).filter(|(r, l)| l.name.starts_with(name) && r.total.sent > 0).count()
    };
    assert!(used("core") > 4, "flows are spread over the cores");
}

#[test]
fn an_incast_begins_round_by_round_at_one_host() {
    let plan = plan(LEAF_SPINE, "kind = \"incast\"\nsenders = 8\nbytes = \"20kB\"\ninterval = \"50ms\"", 1);
    let AppPlan::Arrivals(arrivals) = &plan.flows[0].app else { panic!("{:?}", plan.flows[0].app) };
    assert!(matches!(arrivals.pattern, Pattern::Incast { to: None, senders: 8, .. }));
    let record = go(&plan);
    assert_eq!(record.completions.len(), 32 + 8, "rounds at 0, 50, 100, 150 and 200 ms");
    for round in record.completions.chunks(8) {
        assert!(round.iter().all(|c| (c.start, c.to) == (round[0].start, round[0].to)));
        let mut from: Vec<u32> = round.iter().map(|c| c.from).collect();
        from.sort_unstable();
        from.dedup();
        assert_eq!(from.len(), 8, "each from another host");
    }
}
