//! Experiment files: what they mean, and that nothing in them is ignored.

mod sweep;

use haltere_lab::{ErrorKind, Scenario};
use haltere_plan::Plan;
use haltere_plan::plan::{AppPlan, BulkPlan, DurationDistribution, OnOffPlan};
use haltere_units::{Bytes, Dur, Rate, Size, Time};
use serde_json::{Value, json};
use std::sync::Arc;

const DUMBBELL: &str = r#"
    title = "Shares"
    duration = "60s"
    warmup = "10s"
    [topology.dumbbell]
    pairs = 4
    access = { rate = "1Gbit", delay = "1ms" }
    bottleneck = { rate = "100Mbit", delay = "3ms", queue = { kind = "drop_tail", limit = "1bdp" } }
    [[traffic]]
    kind = "bulk"
    congestion = ["reno", "vegas"]
"#;

const CHAIN: &str = r#"
    duration = "10s"
    [topology.chain]
    links = [
        { rate = "100Mbit", delay = "100us" },
        { rate = "10Mbit", delay = "5ms", queue = "pfifo_fast", ring = "100p", reverse = { rate = "1Mbit", queue = "drop_tail" } },
    ]
    [[traffic]]
    kind = "on_off"
    from = "n1"
    to = "n3"
    direction = "both"
    count = 2
    rate = "20Mbit"
    on = { exponential = "2s" }
    off = "0s"
    tcp = { mss = "1000B" }
    receiver = { ack_every = 1 }
    [[traffic]]
    kind = "ping"
    from = "n1"
    to = "n3"
"#;

fn read(text: &str) -> Scenario {
    Scenario::parse(text, "x.toml").unwrap_or_else(|e| panic!("{e}"))
}
fn good() -> Scenario {
    read(include_str!("../../good.toml"))
}
fn plan(text: &str) -> Plan {
    read(text).plan(1).unwrap_or_else(|e| panic!("{e}"))
}
fn refused(text: &str) -> String {
    Scenario::parse(text, "").expect_err("must be refused").to_string()
}

#[test]
fn a_dumbbell_has_its_bottleneck_first_and_watches_only_that() {
    let plan = plan(DUMBBELL);
    assert_eq!(plan.nodes[..6], ["left", "right", "c1", "s1", "c2", "s2"]);
    assert_eq!((plan.nodes.len(), plan.links.len(), plan.framing), (10, 2 + 4 * 4, 14));
    let watched: Vec<&str> = plan.links.iter().filter(|l| l.watched).map(|l| l.name.as_str()).collect();
    assert_eq!(watched, ["left>right", "right>left"]);
    assert_eq!((plan.warmup, plan.end), (Time::from_ns(10_000_000_000), Time::from_ns(60_000_000_000)));
    // 2 x (1 + 3 + 1) ms, over every link that a flow or its acknowledgements take.
    assert!(plan.links.iter().all(|l| l.rtt == Some(Dur::from_ms(10))));
}

#[test]
fn congestion_controls_are_dealt_out_in_turn() {
    let plan = plan(DUMBBELL);
    let dealt: Vec<(&str, &str)> = plan
        .flows
        .iter()
        .map(|f| match &f.app {
            AppPlan::Bulk(BulkPlan { tcp, bytes: None }) => (f.name.as_str(), tcp.congestion.kind()),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected =
        [("bulk1:c1>s1", "reno"), ("bulk1:c2>s2", "vegas"), ("bulk1:c3>s3", "reno"), ("bulk1:c4>s4", "vegas")];
    assert_eq!(dealt, expected);
}

#[test]
fn the_flows_of_an_entry_share_their_parameters() {
    let plan = plan(DUMBBELL);
    let tcp = |flow: usize| match &plan.flows[flow].app {
        AppPlan::Bulk(BulkPlan { tcp, .. }) => tcp,
        other => panic!("{other:?}"),
    };
    let (first, second, third) = (tcp(0), tcp(1), tcp(2));
    assert!(Arc::ptr_eq(&first.sender, &second.sender) && Arc::ptr_eq(&first.receiver, &second.receiver));
    assert!(Arc::ptr_eq(&first.congestion, &third.congestion), "each control stands once");
}

#[test]
fn starts_are_jittered_by_seed_and_name_alone() {
    let scenario = read(DUMBBELL);
    let starts = |s: &Scenario, seed| s.plan(seed).unwrap().flows.iter().map(|f| f.start).collect::<Vec<_>>();
    assert_eq!(starts(&scenario, 1), starts(&scenario, 1));
    assert_ne!(starts(&scenario, 1), starts(&scenario, 2));
    assert!(starts(&scenario, 1).iter().all(|t| *t <= Time::from_ns(100_000_000)));
    let other = scenario.with("traffic[0].congestion", json!("reno")).unwrap();
    assert_eq!(starts(&scenario, 1), starts(&other, 1), "variants meet the same chance");
}

#[test]
fn rtts_spread_evenly_and_keep_their_middle() {
    let text = DUMBBELL.replace("pairs = 4", "pairs = 5\nrtt_spread = \"30%\"");
    let plan = plan(&text);
    let mut rtts: Vec<u64> = (0..5)
        .map(|i| 2 * (3_000_000 + plan.links[2 + 4 * i].delay.as_ns() + plan.links[4 + 4 * i].delay.as_ns()))
        .collect();
    let drawn = rtts.clone();
    rtts.sort_unstable();
    assert_eq!(rtts, [7_000_000, 8_500_000, 10_000_000, 11_500_000, 13_000_000]);
    assert_ne!(drawn, rtts, "which pair gets which is drawn");
    assert_eq!(plan.links[0].rtt, Some(Dur::from_ms(10)));
    let told = refused(&DUMBBELL.replace("pairs = 4", "pairs = 5\nrtt_spread = 0.5"));
    assert!(told.contains("rtt_spread must be at most 40.0% with these delays, got 50%"), "{told}");
}

#[test]
fn each_pair_has_the_access_delay_that_is_written_for_it() {
    let of = |delays: &str| DUMBBELL.replace("pairs = 4", &format!("pairs = 2\naccess_delays = {delays}"));
    let plan = plan(&of(r#"["1ms", "20ms"]"#));
    let delays: Vec<u64> = plan.links[2..].iter().map(|link| link.delay.as_ns() / 1_000_000).collect();
    assert_eq!(delays, [1, 1, 1, 1, 20, 20, 20, 20]);
    let told = refused(&of(r#"["1ms", "2ms", "3ms"]"#));
    assert!(told.contains("access_delays must be a list of at most 2, one for each pair, got a list of 3"), "{told}");
    let told = refused(&of("[\"1ms\", \"2ms\"]\nrtt_spread = 0.1"));
    assert!(told.contains("access_delays must be left out beside `rtt_spread`, got a list of 2"), "{told}");
}

#[test]
fn a_chain_joins_its_nodes_and_overrides_the_way_back() {
    let plan = plan(CHAIN);
    assert_eq!(plan.nodes, ["n1", "n2", "n3"]);
    let told: Vec<_> =
        plan.links.iter().map(|l| (l.name.as_str(), l.rate.unwrap(), l.queue.kind(), l.ring, l.watched)).collect();
    let mbit = Rate::from_mbps;
    let expected = [
        ("n1>n2", mbit(100), "drop_tail", None, false),
        ("n2>n1", mbit(100), "drop_tail", None, false),
        ("n2>n3", mbit(10), "pfifo_fast", Some(100), true),
        ("n3>n2", mbit(1), "drop_tail", Some(100), true),
    ];
    assert_eq!(told, expected);
    assert_eq!(plan.links[2].rtt, Some(Dur::from_us(10_200)));
}

#[test]
fn tcp_settings_go_from_table_to_entry_to_receiver() {
    let plan = plan(CHAIN);
    let names: Vec<&str> = plan.flows.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["on_off1:n1>n3", "on_off1:n3>n1", "on_off1:n1>n3#2", "on_off1:n3>n1#2", "ping2"]);
    let AppPlan::OnOff(OnOffPlan { tcp, rate, chunk, on, off, begins_off }) = &plan.flows[0].app else {
        panic!("{:?}", plan.flows[0])
    };
    assert_eq!((*rate, *chunk, *begins_off), (Rate::from_mbps(20), Bytes::new(1000), false));
    assert_eq!(
        (*on, *off),
        (DurationDistribution::Exponential(Dur::from_secs(2)), DurationDistribution::Constant(Dur::ZERO))
    );
    assert_eq!((tcp.sender.mss, tcp.sender.ack_every), (Bytes::new(1000), 2));
    assert_eq!((tcp.receiver.mss, tcp.receiver.ack_every), (Bytes::new(1000), 1));
}

#[test]
fn an_on_off_source_takes_a_normal_law_and_a_first_state() {
    let text = CHAIN
        .replace("{ exponential = \"2s\" }", "{ normal = { mean = \"5s\", sd = \"1414ms\" } }")
        .replace("off = \"0s\"", "off = { normal = { mean = \"8s\", sd = \"1732ms\" } }\n    begin = \"off\"");
    let plan = plan(&text);
    let AppPlan::OnOff(OnOffPlan { on, off, begins_off, .. }) = &plan.flows[0].app else { unreachable!() };
    let normal = |mean, sd| DurationDistribution::Normal(Dur::from_ms(mean), Dur::from_ms(sd));
    assert_eq!((*on, *off, *begins_off), (normal(5000, 1414), normal(8000, 1732), true));
    let told = refused(&text.replace("mean = \"5s\"", "mean = \"0s\""));
    assert!(told.contains("on: normal must be a law with a mean above zero, got 0s"), "{told}");
    let told = refused(&text.replace(", sd = \"1414ms\"", ", variance = \"2s\""));
    assert!(told.contains("variance") && told.contains("sd"), "{told}");
    let told = refused(&text.replace("begin = \"off\"", "begin = \"silent\""));
    assert!(told.contains("begin must be one of `on`, `off`, got `silent`"), "{told}");
}

#[test]
fn a_name_alone_stands_for_its_defaults() {
    let short = read(&CHAIN.replace("queue = \"pfifo_fast\"", "queue = \"codel\""));
    let long = read(&CHAIN.replace("queue = \"pfifo_fast\"", "queue = { kind = \"codel\" }"));
    assert_eq!(short, long);
    let bare = read(&CHAIN.replace("queue = \"pfifo_fast\"", "queue = { limit = \"7p\" }"));
    assert_eq!(bare.filled()["topology"]["chain"]["links"][1]["queue"], json!({ "kind": "drop_tail", "limit": "7p" }));
}

#[test]
fn what_is_filled_in_reads_as_the_same() {
    for text in [DUMBBELL, CHAIN] {
        let scenario = read(text);
        let again = Scenario::from_value(scenario.filled(), "again").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(scenario, again);
        assert_eq!(scenario.filled(), again.filled());
        assert_eq!(scenario.plan(3), again.plan(3));
    }
}

#[test]
fn toml_and_json_say_the_same() {
    let toml = read(CHAIN);
    let json = Scenario::from_json(&toml.filled().to_string(), "x.json").unwrap();
    assert_eq!(toml, json);
    assert_eq!(Scenario::from_json("{", "x.json").map_err(|e| e.kind()), Err(ErrorKind::Syntax));
}

#[test]
fn defaults_are_those_of_the_brief_kind() {
    let text =
        "duration = \"1s\"\n[topology.chain]\nlinks = [{}]\n[[traffic]]\nkind = \"bulk\"\nfrom = \"n1\"\nto = \"n2\"";
    let filled = read(text).filled();
    let told = |pointer: &str| filled.pointer(pointer).cloned().unwrap_or(Value::Null);
    assert_eq!(told("/seeds"), json!(10));
    assert_eq!(told("/warmup"), json!("0ns"));
    assert_eq!(told("/framing"), json!("14B"));
    assert_eq!((told("/measure/queues"), told("/measure/flows")), (json!("10ms"), json!("100ms")));
    for key in ["depths", "delays", "state", "qlog"] {
        assert_eq!(told(&format!("/measure/{key}")), json!(false), "{key}");
    }
    assert_eq!((told("/measure/pcap"), told("/measure/window")), (json!([]), Value::Null));
    assert_eq!(told("/traffic/0/congestion/kind"), json!("cubic"));
    assert_eq!(told("/topology/chain/links/0/rate"), Value::Null, "packets take no time");
    assert_eq!(told("/tcp/min_rto"), json!("200ms"));
}

#[test]
fn a_precision_is_read_in_both_forms_and_held_to_its_rules() {
    let short = read(&format!("precision = \"2%\"\n{DUMBBELL}"));
    let long = read(&format!("precision = {{ within = 0.02, of = [], max_seeds = 200 }}\n{DUMBBELL}"));
    assert_eq!(short.precision, long.precision);
    assert_eq!(short.filled()["precision"], json!({ "within": 0.02, "of": [], "max_seeds": 200 }));
    let told = refused(&format!("precision = \"0%\"\n{DUMBBELL}"));
    assert!(told.contains("precision: within must be above 0 and below 100 %, got 0 %"), "{told}");
    let told = refused(&format!("precision = {{ within = \"2%\", max_seeds = 5 }}\n{DUMBBELL}"));
    assert!(told.contains("max_seeds must be at least `seeds`, 10, with which it begins, got 5"), "{told}");
}

#[test]
fn the_hash_covers_what_decides_the_result_and_nothing_else() {
    let scenario = read(DUMBBELL);
    let hash = scenario.hash(1, "1.0");
    assert_eq!(hash.len(), 64);
    let with = |path, value| read(DUMBBELL).with(path, value).unwrap().hash(1, "1.0");
    assert_eq!(hash, with("title", json!("other")));
    assert_eq!(hash, with("seeds", json!(3)));
    assert_eq!(hash, with("precision", json!("2%")));
    assert_eq!(hash, with("sweep", json!({ "seeds": [1, 2] })));
    assert_ne!(hash, with("duration", json!("61s")));
    assert_ne!(hash, with("topology.dumbbell.bottleneck.queue.limit", json!("2bdp")));
    assert_ne!(hash, scenario.hash(2, "1.0"));
    assert_ne!(hash, scenario.hash(1, "1.1"));
}

#[test]
fn a_bdp_without_flows_or_rate_is_refused_before_the_run() {
    let told = refused(&DUMBBELL.replace("rate = \"100Mbit\", ", ""));
    assert!(told.contains("topology.dumbbell.bottleneck.queue: limit must be"), "{told}");
}

#[test]
fn pairs_and_node_names_do_not_mix() {
    let told = refused(&CHAIN.replace("kind = \"ping\"", "kind = \"ping\"\npairs = [1]"));
    assert!(told.contains("traffic[1]: pairs must be left out beside `from` and `to`"), "{told}");
    let told = refused(&DUMBBELL.replace("kind = \"bulk\"", "kind = \"bulk\"\npairs = [1, 5]"));
    assert!(told.contains("pairs[1] must be from 1 to 4, got 5"), "{told}");
}

#[test]
fn a_graph_takes_the_path_of_fewest_links_and_least_delay() {
    let text = r#"
        duration = "1s"
        [topology.graph]
        nodes = ["a", "b", "c", "d"]
        links = [
            { from = "a", to = "b", delay = "5ms" }, { from = "b", to = "d", delay = "5ms" },
            { from = "a", to = "c", delay = "1ms" }, { from = "c", to = "d", delay = "1ms", rate = "1Mbit" },
        ]
        [[traffic]]
        kind = "cbr"
        rate = "1Mbit"
        from = "a"
        to = "d"
    "#;
    let plan = plan(text);
    assert_eq!(plan.links[6].name, "c>d");
    assert_eq!((plan.links[6].rtt, plan.links[6].watched), (Some(Dur::from_ms(4)), true));
    assert!(
        matches!(plan.links[6].queue.ours(), Ok(haltere_queue::QueueParams::DropTail(p)) if p.limit == Size::Packets(1000))
    );
}

#[test]
fn every_name_can_be_described_and_every_parameter_has_a_meaning() {
    for kind in haltere_lab::schema::kinds() {
        for name in haltere_lab::schema::names(kind).unwrap() {
            let told = haltere_lab::schema::describe(name, &Default::default()).unwrap_or_else(|e| panic!("{e}"));
            assert!(!told["summary"].as_str().unwrap_or("").is_empty(), "{name} has no summary");
            for parameter in told["parameters"].as_array().expect("a list") {
                assert!(parameter["meaning"].is_string(), "{name}: {parameter}");
            }
        }
    }
    let told = haltere_lab::schema::describe("cubik", &Default::default()).unwrap_err().to_string();
    assert!(told.ends_with("got `cubik`; did you mean `cubic`?"), "{told}");
}

#[test]
fn every_discipline_and_control_stands_by_its_name_alone() {
    for queue in haltere_lab::schema::names("queues").unwrap() {
        match read(DUMBBELL).with("topology.dumbbell.bottleneck.queue", json!(queue)) {
            Err(e) if haltere_lab::MEDIA.contains(queue) => {
                assert!(e.to_string().contains("rate must be left out"), "{queue}: {e}");
            }
            other => drop(other.unwrap_or_else(|e| panic!("{queue}: {e}"))),
        }
    }
    for control in haltere_lab::schema::names("congestion").unwrap() {
        read(DUMBBELL).with("traffic[0].congestion", json!(control)).unwrap_or_else(|e| panic!("{control}: {e}"));
    }
}

#[test]
fn the_multipath_topology_is_figure_5_and_table_1() {
    let text = |topology: &str| {
        format!(
            "duration = \"9s\"\n{topology}\n[[traffic]]\nkind = \"multipath\"\npaths = [{{ from = \"s1\", to = \"d1\" }}]\n"
        )
    };
    let plan = plan(&text("[topology.multipath]"));
    let there = plan.links.iter().step_by(2);
    let told: Vec<String> =
        there.map(|l| format!("{} {} {} {}", l.name, l.rate.expect("a rate"), l.delay, l.loss)).collect();
    let expected = [
        "s1>r1 100Mbit 1ms 0",
        "s2>r2 100Mbit 1ms 0",
        "r1>r5 150Mbit 5ms 0.00001",
        "r2>r6 100Mbit 15ms 0.000001",
        "r1>r3 100Mbit 1ms 0",
        "r2>r3 100Mbit 1ms 0",
        "r3>r4 20Mbit 40ms 0.00001",
        "r5>d1 100Mbit 1ms 0",
        "r6>d2 100Mbit 1ms 0",
        "r4>d1 100Mbit 2ms 0",
        "r4>d2 100Mbit 2ms 0",
        "x1>r3 100Mbit 1ms 0",
        "x2>r3 100Mbit 1ms 0",
        "r4>y1 100Mbit 1ms 0",
        "r4>y2 100Mbit 1ms 0",
    ];
    assert_eq!(told, expected);
    let watched: Vec<&str> = plan.links.iter().filter(|l| l.watched).map(|l| l.name.as_str()).collect();
    assert_eq!(watched, ["r3>r4", "r4>r3"]);
    let changed = self::plan(&text(
        "[topology.multipath]\nbottleneck = { queue = \"codel\" }\nwifi = { trace = { gaps = \"1\" } }",
    ));
    let by_name = |name: &str| changed.links.iter().find(|l| l.name == name).expect("a link");
    assert_eq!((by_name("r3>r4").queue.kind(), by_name("r3>r4").rate), ("codel", Some(Rate::from_mbps(20))));
    assert_eq!(
        (by_name("r1>r5").delay, by_name("r1>r5").rate.expect("a mean").as_bps()),
        (Dur::from_ms(5), 1514 * 8000)
    );
}

#[test]
fn a_trace_comes_from_its_file_and_travels_with_the_experiment() {
    let folder = std::env::temp_dir().join(format!("haltere-trace-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("three.trace"), "2\n2\n5\n").expect("a file");
    let text = r#"
        duration = "10s"
        framing = "4B"
        topology.chain.links = [{ trace = "three.trace", delay = "1ms", reverse = { rate = "10Mbit" } }]
        traffic = [{ kind = "ping", from = "n1", to = "n2" }]
    "#;
    let path = folder.join("experiment.toml");
    let read = Scenario::parse(text, path.to_str().expect("text")).expect("an experiment");
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    // Everything that decides the result is in the experiment: no file is needed any more.
    let again = Scenario::from_json(&read.filled().to_string(), "").expect("the same");
    assert_eq!(again.hash(1, "v"), read.hash(1, "v"));
    let plan = again.plan(1).expect("a plan");
    assert_eq!(plan, read.plan(1).expect("a plan"));
    // Three times 1504 bytes in 5 ms, as Mahimahi has it; the way back is not varied.
    assert_eq!(plan.links[0].rate.expect("a mean").as_bps(), 3 * 1504 * 8 * 200);
    assert_eq!((plan.links[1].rate, plan.links[1].varying.is_none()), (Some(Rate::from_mbps(10)), true));
    assert!(plan.links[0].watched, "a link that varies is");
}

/// A chain of that many links as TOML.
fn long_chain(links: usize) -> String {
    let link = "  { rate = \"100Mbit\", delay = \"1ms\", queue = \"codel\" },\n".repeat(links);
    let traffic = format!("[[traffic]]\nkind = \"bulk\"\nfrom = \"n1\"\nto = \"n{}\"\n", links + 1);
    format!("duration = \"1s\"\n[topology.chain]\nlinks = [\n{link}]\n{traffic}")
}

#[test]
fn the_time_to_read_a_chain_grows_as_its_length() {
    // A quadratic reader needs four times as long for twice as many links, and this test takes minutes.
    let scenario = Scenario::parse(&long_chain(50_000), "long.toml").expect("a long chain");
    assert_eq!(scenario.plan(1).expect("a plan").links.len(), 100_000);
    let wrong = long_chain(20_000) + "colour = 3\n";
    let error = Scenario::parse(&wrong, "long.toml").expect_err("no such key").to_string();
    assert!(error.starts_with("long.toml:20005: "), "{error}");
}

#[test]
fn an_error_has_at_most_a_thousand_characters() {
    let long = "π".repeat(5000);
    let text = format!("duration = \"{long}\"\n[topology.dumbbell]\npairs = 1\n");
    let error = Scenario::parse(&text, "x.toml").expect_err("no duration").to_string();
    assert!(error.chars().count() <= 1000 && error.starts_with("x.toml:1: ") && error.contains(" ... "), "{error}");
}

#[cfg(unix)]
#[test]
fn files_that_an_experiment_names_are_regular_and_of_limited_size() {
    let folder = std::env::temp_dir().join(format!("haltere-special-files-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let large = std::fs::File::create(folder.join("large")).expect("a file");
    large.set_len(haltere_lab::limits::FILE_BYTES + 1).expect("a file with a hole");
    assert!(std::process::Command::new("mkfifo").arg(folder.join("pipe")).status().expect("mkfifo").success());
    let at = folder.join("x.toml");
    for (file, why) in [
        ("/dev/zero", "which is no regular file"),
        ("pipe", "which is no regular file"),
        (".", "which is a directory"),
        ("large", "which has more than 256 MiB"),
        ("gone", "which does not exist"),
    ] {
        for key in ["trace", "sizes"] {
            let error = Scenario::parse(&naming(key, file), &at.to_string_lossy()).expect_err("refused").to_string();
            assert!(error.contains(&format!(": {key} must be a file of ")), "{error}");
            assert!(error.contains(&format!(", got `{file}`, {why}; its name counts from the folder")), "{error}");
        }
    }
    std::fs::remove_dir_all(folder).expect("removed");
}

/// An experiment that names a file under that key.
fn naming(key: &str, file: &str) -> String {
    let (trace, rate) =
        if key == "trace" { (format!("trace = \"{file}\""), "") } else { (String::new(), "rate = \"10Mbit\"") };
    let sizes = if key == "sizes" { format!("sizes = {{ file = \"{file}\" }}") } else { "sizes = \"cache\"".into() };
    format!(
        "duration = \"1s\"\n[topology.dumbbell]\npairs = 1\naccess = {{ rate = \"1Gbit\", delay = \"1ms\" }}\n\
         bottleneck = {{ delay = \"1ms\", {trace}{rate} }}\n[[traffic]]\nkind = \"poisson\"\n{sizes}\nper_second = 5\n"
    )
}

#[test]
fn a_link_loses_by_number_doubles_and_reorders() {
    let link = r#"{ rate = "10Mbit", lose = [2, 7], reorder = 0.1, reorder_by = "2ms", duplicate = 0.2, reverse = { lose = [] } }"#;
    let plan = |link: &str| {
        let text = format!(
            "duration = \"10s\"\ntopology.chain.links = [{link}]\ntraffic = [{{ kind = \"ping\", from = \"n1\", to = \"n2\" }}]"
        );
        Scenario::parse(&text, "x.toml").expect("an experiment").plan(1).expect("a plan")
    };
    let links = plan(link).links;
    let there = links[0].impairments.as_deref().expect("some");
    assert_eq!((&there.lose[..], there.reorder_by), (&[2, 7][..], Dur::from_ms(2)));
    assert_eq!((there.reorder.as_f64(), there.duplicate.as_f64()), (0.1, 0.2));
    assert!(links[1].impairments.as_deref().expect("some").lose.is_empty(), "the override is about the way back alone");
    assert!(plan(r#"{ rate = "10Mbit" }"#).links.iter().all(|link| link.impairments.is_none()));
}

#[test]
fn a_burst_may_stand_beside_a_schedule() {
    let text = r#"
        duration = "10s"
        topology.chain.links = [{ rate = "10Mbit", burst = "3kB", schedule = [{ at = "2s", rate = "5Mbit" }] }]
        traffic = [{ kind = "ping", from = "n1", to = "n2" }]
    "#;
    let plan = Scenario::parse(text, "x.toml").expect("an experiment").plan(1).expect("a plan");
    assert_eq!(plan.links[0].burst.as_u64(), 3000);
    assert!(plan.links[0].varying.is_some());
}

#[test]
fn a_window_lies_within_the_run_and_begins_with_the_warmup() {
    let text = |more: &str| {
        format!(
            "duration = \"10s\"\n{more}\n[topology.chain]\nlinks = [{{}}]\n[[traffic]]\nkind = \"bulk\"\nfrom = \"n1\"\nto = \"n2\""
        )
    };
    let plan = read(&text("measure.window = [\"2s\", \"8s\"]")).plan(1).expect("a plan");
    assert_eq!((plan.warmup, plan.measured_until()), (Time::from_ns(2_000_000_000), Time::from_ns(8_000_000_000)));
    for more in [
        "measure.window = [\"8s\", \"2s\"]",
        "measure.window = [\"2s\", \"11s\"]",
        "warmup = \"1s\"\nmeasure.window = [\"2s\", \"8s\"]",
        "measure.size_bins = [\"2kB\", \"1kB\"]",
        "measure.metrics = { Deep = \"SELECT 1\" }",
        "measure.convergence = { within = \"100%\" }",
        "measure.snaplen = \"10B\"",
    ] {
        assert!(
            matches!(Scenario::parse(&text(more), "x.toml"), Err(e) if e.kind() == ErrorKind::OutOfRange),
            "{more}"
        );
    }
    let wrong = Scenario::parse(&text("measure.packets = [\"n1>n3\"]"), "x.toml");
    assert!(matches!(wrong, Err(e) if e.kind() == ErrorKind::UnknownName));
}

#[test]
fn values_that_no_type_can_hold_are_refused_with_their_key_and_are_no_bugs() {
    let refused = |setting: &str, value: Value| {
        let error = good().with(setting, value).unwrap_err();
        assert_ne!(error.kind(), ErrorKind::Bug, "{error}");
        error.to_string()
    };
    let told = refused("topology.dumbbell.bottleneck.delay", json!("18446744073709551615ns"));
    assert!(told.ends_with("delay must be at most 31536000s, a year, got 18446744073.709551615s"), "{told}");
    let told = refused("traffic.0.pairs", json!([4_294_967_296_u64]));
    assert!(told.contains("pairs[0] must be at most 4294967295, got 4294967296"), "{told}");
    let queue = json!({ "kind": "codel", "ce_threshold": "1ms", "ce_threshold_selector": "0x4/0x3" });
    let told = refused("topology.dumbbell.bottleneck.queue", queue);
    assert!(told.contains("ce_threshold_selector must be VALUE/MASK"), "{told}");
    // Each of the two is a year; a round trip has four of them.
    let told = refused("topology.dumbbell.access.delay", json!("31536000s"));
    assert!(told.contains("to must be a node with a round trip of at most 31536000s"), "{told}");
}

#[test]
fn a_scenario_without_a_sweep_is_its_own_point() {
    let alone = read(DUMBBELL);
    let points = alone.points().unwrap();
    assert_eq!((points.len(), points[0].settings.len()), (1, 0));
    assert_eq!(points[0].scenario, alone);
}
