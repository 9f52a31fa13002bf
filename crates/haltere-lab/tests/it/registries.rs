//! Every entry of the registries of traffic kinds and topologies keeps what it says of itself, and networks are drawn
//! as they are.

use haltere_lab::schema::example;
use haltere_lab::{Drawing, Scenario, Topology, Traffic};
use haltere_units::Dur;
use serde_json::json;
use std::collections::BTreeSet;

const DUMBBELL: &str = r#"
duration = "10s"
[topology.dumbbell]
pairs = 4
access = { rate = "1Gbit", delay = "1ms" }
bottleneck = { rate = "100Mbit", delay = "3ms" }
"#;

fn read(text: &str) -> Scenario {
    Scenario::parse(text, "x.toml").unwrap_or_else(|e| panic!("{e}\n{text}"))
}
fn drawing(text: &str) -> Drawing {
    read(text).drawing().unwrap_or_else(|e| panic!("{e}"))
}
fn labels(drawing: &Drawing) -> Vec<(&str, usize, bool, Option<u32>)> {
    drawing.nodes.iter().map(|n| (n.label.as_str(), n.count, n.host, n.layer)).collect()
}
fn ends(drawing: &Drawing) -> Vec<(&str, &str, usize)> {
    drawing.links.iter().map(|l| (l.from.as_str(), l.to.as_str(), l.count)).collect()
}

/// The example of a topology, with one flow if it has none.
fn with_topology(name: &str) -> String {
    let example = example("topologies", name).expect("a topology of the registry");
    let traffic = if example.contains("[[traffic]]") { "" } else { "[[traffic]]\nkind = \"bulk\"\n" };
    format!("duration = \"1s\"\n{example}\n{traffic}")
}

/// The keys of a traffic kind, from the schema.
fn keys_of(kind: &str) -> BTreeSet<String> {
    let traffic = &haltere_lab::schema::schema()["$defs"]["Traffic"];
    let tables =
        traffic["anyOf"].as_array().expect("a union").iter().filter_map(|one| one["oneOf"].as_array()).flatten();
    let table = tables.into_iter().find(|table| table["properties"]["kind"]["const"] == kind).expect("a table");
    table["properties"].as_object().expect("keys").keys().cloned().collect()
}

#[test]
fn every_traffic_kind_plans_its_example_and_is_what_it_says() {
    for name in Traffic::NAMES {
        let about = Traffic::about(name).expect("a kind of the registry");
        let example = example("traffic", name).expect("an example");
        // The dumbbell, or a topology of the example's own.
        let scenario = read(&if example.contains("[topology") {
            format!("duration = \"1s\"\n{example}\n")
        } else {
            format!("{DUMBBELL}{example}\n")
        });
        assert_eq!(scenario.filled()["traffic"][0]["kind"], json!(name), "the file's name is the kind's");
        let plan = scenario.plan(1).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(!plan.flows.is_empty(), "{name} has no flows");
        for flow in &plan.flows {
            assert_eq!(flow.app.tcp().is_some(), about.tcp, "{name}: {flow:?}");
            assert_eq!(flow.app.arrivals().is_some(), about.arrivals, "{name}: {flow:?}");
            assert_eq!(flow.app.has_completions(), about.completions, "{name}: {flow:?}");
            assert_eq!(flow.app.has_goodput(), about.goodput, "{name}: {flow:?}");
        }
        let keys = keys_of(name);
        for key in about.endless_without.unwrap_or_default() {
            assert!(keys.contains(*key), "{name}: `{key}` is none of its keys");
        }
    }
}

#[test]
fn every_discipline_refuses_an_unknown_parameter() {
    for name in haltere_queue::QueueParams::NAMES {
        let queue = format!("bottleneck.queue = {{ kind = \"{name}\", limits = \"1p\" }}");
        let text = DUMBBELL.replace("bottleneck = { rate = \"100Mbit\", delay = \"3ms\" }", "");
        let text = format!(
            "{text}bottleneck.rate = \"100Mbit\"\nbottleneck.delay = \"3ms\"\n{queue}\n[[traffic]]\nkind = \"bulk\"\n"
        );
        let error = Scenario::parse(&text, "x.toml").expect_err(name).to_string();
        assert!(error.contains("`limits`"), "{name}: {error}");
    }
}

#[test]
fn every_topology_builds_its_example_and_draws_every_node() {
    for name in Topology::NAMES {
        let scenario = read(&with_topology(name));
        assert!(scenario.filled()["topology"].get(name).is_some(), "the file's name is the topology's: {name}");
        let plan = scenario.plan(1).unwrap_or_else(|e| panic!("{name}: {e}"));
        let drawing = scenario.drawing().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(drawing.nodes.iter().map(|n| n.count).sum::<usize>(), plan.nodes.len(), "{name}");
        let names: BTreeSet<&str> = drawing.nodes.iter().map(|n| n.name.as_str()).collect();
        assert_eq!(names.len(), drawing.nodes.len(), "{name}: two nodes of one name");
        assert!(drawing.links.iter().all(|l| names.contains(l.from.as_str()) && names.contains(l.to.as_str())));
        assert!(drawing.nodes.iter().any(|n| n.host), "{name} has no host");
        assert_eq!(
            drawing.links.iter().any(|l| l.there.watched || l.back.as_ref().is_some_and(|back| back.watched)),
            plan.links.iter().any(|l| l.watched),
            "{name}"
        );
    }
}

#[test]
fn a_dumbbell_is_drawn_with_its_hosts_as_one_on_each_side() {
    let text = format!("{DUMBBELL}[[traffic]]\nkind = \"bulk\"\n").replace("pairs = 4", "pairs = 4\nrtt_spread = 0.2");
    let drawing = drawing(&text);
    let expected = [
        ("left", 1, false, Some(1)),
        ("right", 1, false, Some(2)),
        ("c1 … c4", 4, true, Some(0)),
        ("s1 … s4", 4, true, Some(3)),
    ];
    assert_eq!(labels(&drawing), expected);
    assert_eq!(ends(&drawing), [("left", "right", 1), ("c1", "left", 4), ("s1", "right", 4)]);
    // 20 % of 10 ms over four access links: 0.5 ms about 1 ms.
    assert_eq!(drawing.links[1].there.delay, [Dur::from_us(500), Dur::from_us(1500)]);
    assert!(drawing.links[0].there.watched && !drawing.links[1].there.watched);
    assert_eq!(drawing.nodes[2].group, Some("c"));
}

#[test]
fn the_hosts_of_a_switch_stand_where_their_data_goes() {
    let text = |from: &str, to: &str| {
        let topology =
            "topology.switch = { hosts = 4, link = { delay = \"1ms\" }, processor = { packet_rate = 1000.0 } }";
        format!("duration = \"9s\"\n{topology}\n[[traffic]]\nkind = \"bulk\"\nfrom = \"{from}\"\nto = \"{to}\"\n")
    };
    let drawing = drawing(&text("h3", "h1"));
    let hosts: Vec<_> = labels(&drawing).into_iter().filter(|node| node.2).collect();
    assert_eq!(hosts, [("h1 … h4", 3, true, Some(3)), ("h3", 1, true, Some(0))]);
    // One way each: into the switch on the left, out of it on the right.
    assert_eq!(ends(&drawing), [("switch", "switch.out", 1), ("switch.out", "h1", 3), ("h3", "switch", 1)]);
    assert!((drawing.links[0].there.packet_rate.expect("packets per second") - 1000.0).abs() < 1e-6);
    assert!(drawing.links.iter().all(|link| link.back.is_none()));
}

#[test]
fn alike_hosts_of_a_graph_are_drawn_as_one_and_others_for_themselves() {
    let host =
        |name: &str, delay: &str| format!("{{ from = \"{name}\", to = \"m\", rate = \"1Gbit\", delay = \"{delay}\" }}");
    let links = [host("a", "1ms"), host("b", "1ms"), host("c", "1ms"), host("d", "2ms"), host("z", "1ms")].join(", ");
    let text = format!(
        "duration = \"9s\"\n[topology.graph]\nnodes = [\"a\", \"b\", \"c\", \"d\", \"m\", \"z\"]\nlinks = [{links}]\n{}",
        ["a", "b", "c", "d"].map(|n| format!("[[traffic]]\nkind = \"bulk\"\nfrom = \"{n}\"\nto = \"z\"\n")).concat()
    );
    let drawing = drawing(&text);
    let expected = [("a … c", 3, true, None), ("d", 1, true, None), ("m", 1, false, None), ("z", 1, true, None)];
    assert_eq!(labels(&drawing), expected);
    assert_eq!(ends(&drawing), [("a", "m", 3), ("d", "m", 1), ("z", "m", 1)]);
}

#[test]
fn a_fat_tree_is_drawn_as_its_tiers() {
    let tiers: Vec<_> =
        drawing(&with_topology("fat_tree")).nodes.into_iter().map(|n| (n.group, n.count, n.layer)).collect();
    let expected = [("core", 4, 3), ("agg", 8, 2), ("edge", 8, 1), ("h", 16, 0)];
    assert_eq!(tiers, expected.map(|(group, count, layer)| (Some(group), count, Some(layer))));
}
