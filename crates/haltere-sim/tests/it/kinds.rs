//! Every traffic kind and every topology runs in the simulator, and the same seed gives the same record.

use haltere_lab::schema::example;
use haltere_lab::{Scenario, Topology, Traffic};
use haltere_plan::Record;
use haltere_sim::{RunControl, run};

const DUMBBELL: &str = r#"
duration = "2s"
[topology.dumbbell]
pairs = 4
access = { rate = "1Gbit", delay = "1ms" }
bottleneck = { rate = "20Mbit", delay = "3ms" }
"#;

/// The record of an experiment, which must be the same twice, with something delivered.
fn record(text: &str) -> Record {
    let plan = Scenario::parse(text, "x.toml").and_then(|one| one.plan(1)).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let once = || run(&plan, &RunControl::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let record = once();
    assert_eq!(record, once(), "{text}");
    let delivered: u64 = record.flows.iter().map(|flow| flow.received + flow.packets_received).sum();
    assert!(delivered > 0, "nothing was delivered:\n{text}");
    record
}

#[test]
fn every_traffic_kind_runs_its_example() {
    // A program has no sockets here.
    for name in Traffic::NAMES.iter().filter(|name| **name != "program") {
        let about = Traffic::about(name).expect("a kind of the registry");
        let example = example("traffic", name).expect("an example");
        // The dumbbell, or a topology of the example's own.
        let base = if example.contains("[topology") { "duration = \"2s\"\n" } else { DUMBBELL };
        let record = record(&format!("{base}{example}\n"));
        let own = match about.table {
            Some("pings") => record.pings.len(),
            Some("tasks") => record.tasks.len(),
            Some("pages") => record.pages.len(),
            Some("segments") => record.segments.len(),
            Some("voices") => record.voices.len(),
            Some("completions") => record.completions.len(),
            Some("paths") => record.path_series.len(),
            _ => 1,
        };
        assert!(own > 0, "{name} has no row in its own table");
    }
}

#[test]
fn a_program_is_refused_before_the_run() {
    let text = format!("{DUMBBELL}[[traffic]]\nkind = \"program\"\nclient = [\"true\"]\n");
    let plan = Scenario::parse(&text, "x.toml").and_then(|one| one.plan(1)).expect("an experiment");
    let error = run(&plan, &RunControl::default()).expect_err("no sockets").to_string();
    assert!(error.contains("kind must be one of") && error.contains("got `program`"), "{error}");
}

#[test]
fn every_topology_runs_its_example() {
    for name in Topology::NAMES {
        let example = example("topologies", name).expect("a topology of the registry");
        let traffic = if example.contains("[[traffic]]") { "" } else { "[[traffic]]\nkind = \"bulk\"\n" };
        record(&format!("duration = \"500ms\"\n{example}\n{traffic}"));
    }
}
