//! What links may do besides a rate and a delay: losses, traces, hand-overs and failures.

use haltere_lab::Scenario;
use haltere_plan::Plan;
use haltere_units::{Dur, Rate};

/// The plan of a chain of one link, and the error of one that is refused.
fn chain_of(link: &str) -> Result<Plan, String> {
    let text = format!(
        "duration = \"10s\"\ntopology.chain.links = [{link}]\ntraffic = [{{ kind = \"ping\", from = \"n1\", to = \"n2\" }}]"
    );
    Scenario::parse(&text, "x.toml").and_then(|scenario| scenario.plan(1)).map_err(|e| e.to_string())
}

#[test]
fn loss_is_a_probability_or_a_process() {
    let plan = chain_of(
        r#"{ rate = "10Mbit", loss = { kind = "gilbert_elliott", p = "1%", r = 0.25 }, reverse = { loss = "2%" } }"#,
    );
    let links = plan.expect("a plan").links;
    let bursts = links[0].impairments.as_deref().and_then(|all| all.gilbert_elliott).expect("a process");
    assert_eq!([bursts.p, bursts.r, bursts.loss_good, bursts.loss_bad].map(|x| x.as_f64()), [0.01, 0.25, 0.0, 1.0]);
    assert_eq!((links[0].loss.as_f64(), links[1].loss.as_f64(), links[1].impairments.is_none()), (0.0, 0.02, true));
    for (loss, error) in [
        (r#"{ kind = "gilbert_elliott", p = 0, r = 0.5 }"#, "links[0].loss: p must be above zero, got 0"),
        (r#"{ kind = "gilbert_elliott", p = 0.5 }"#, "links[0].loss: r must be"),
        (r#"{ kind = "gilbert", p = 0.5, r = 0.5 }"#, "links[0].loss: kind must be `gilbert_elliott`, got `gilbert`"),
        (r#""a lot""#, "links[0]: loss must be a probability from 0 to 1"),
        (r#"{ p = 0.5, r = 0.5 }"#, "links[0].loss: kind must be"),
    ] {
        let got = chain_of(&format!("{{ rate = \"10Mbit\", loss = {loss} }}")).expect_err(loss);
        assert!(got.contains(error), "{got}");
    }
}

#[test]
fn a_step_may_change_the_loss_alone() {
    let plan =
        chain_of(r#"{ rate = "10Mbit", loss = "1%", schedule = [{ at = "2s", loss = "5%" }] }"#).expect("a plan");
    let loss = plan.links[0].varying.as_deref().and_then(|varying| varying.loss.as_ref()).expect("steps");
    assert_eq!((loss.first.as_f64(), loss.steps[0].1.as_f64()), (0.01, 0.05));
}

#[test]
fn a_trace_of_rows_says_rate_delay_and_loss() {
    let rows = r#"rows = "time,rate,delay,loss\n0,10Mbit,20ms,0\n5s,2Mbit,60ms,1%""#;
    let plan = chain_of(&format!(
        "{{ trace = {{ kind = \"csv\", {rows} }}, reverse = {{ rate = \"1Mbit\", delay = \"5ms\" }} }}"
    ));
    let links = plan.expect("a plan").links;
    let varying = links[0].varying.as_deref().expect("it varies");
    assert_eq!(links[0].delay, Dur::from_ms(20));
    assert_eq!(links[0].rate, Some(Rate::from_mbps(6)), "10 Mbit/s for half of the run and 2 Mbit/s for the other");
    assert_eq!(varying.delay.as_ref().map(|steps| steps.steps[0]), Some((Dur::from_secs(5), Dur::from_ms(60))));
    assert!(varying.loss.is_some() && varying.limit.is_none() && links[1].varying.is_none());
    for (link, error) in [
        (
            format!("{{ rate = \"1Mbit\", trace = {{ kind = \"csv\", {rows} }} }}"),
            "links[0]: rate must be left out beside `trace`",
        ),
        (
            format!("{{ delay = \"1ms\", trace = {{ kind = \"csv\", {rows} }} }}"),
            "links[0]: delay must be left out beside `trace`",
        ),
        (
            format!("{{ loss = \"1%\", trace = {{ kind = \"csv\", {rows} }} }}"),
            "links[0]: loss must be left out beside `trace`",
        ),
        (format!("{{ trace = {{ kind = \"cvs\", {rows} }} }}"), "links[0].trace: kind must be one of"),
        ("{ trace = { kind = \"csv\", rows = \"time\" } }".into(), "links[0].trace: rows must be CSV with the columns"),
        ("{ trace = { kind = \"csv\" } }".into(), "links[0]: trace must be the name of a file"),
    ] {
        let got = chain_of(&link).expect_err(&link);
        assert!(got.contains(error), "{got}");
    }
}

#[test]
fn a_discipline_that_is_the_line_has_the_rate() {
    let plan = chain_of(r#"{ rate = "100Mbit", reverse = { queue = "docsis" } }"#).expect("a plan");
    assert_eq!((plan.links[0].rate, plan.links[1].rate), (Some(Rate::from_mbps(100)), None));
    let plan = chain_of(r#"{ queue = "wifi", reverse = { rate = "5Mbit" } }"#).expect("a plan");
    assert_eq!((plan.links[1].rate, plan.links[1].queue.kind()), (Some(Rate::from_mbps(5)), "drop_tail"));
    for (link, error) in [
        (
            r#"{ rate = "5Mbit", queue = "docsis" }"#,
            "links[0]: rate must be left out beside the queue `docsis`, got 5Mbit",
        ),
        (
            r#"{ trace = { kind = "cellular" }, queue = "cell" }"#,
            "links[0]: trace must be left out beside the queue `cell`",
        ),
        (
            r#"{ queue = "wifi", schedule = [{ at = "0s", rate = "5Mbit" }] }"#,
            "links[0]: schedule must be without a rate beside the queue `wifi`, got a rate of 5Mbit",
        ),
    ] {
        let got = chain_of(link).expect_err(link);
        assert!(got.contains(error), "{got}");
    }
}

#[test]
fn a_link_over_satellites_is_drawn_with_the_seed() {
    let text = r#"
        duration = "60s"
        topology.chain.links = [{ trace = { kind = "leo" }, reverse = { trace = { kind = "leo", rate = ["10Mbit", "20Mbit"] } } }]
        traffic = [{ kind = "ping", from = "n1", to = "n2" }]
    "#;
    let scenario = Scenario::parse(text, "x.toml").expect("an experiment");
    let [one, two] = [1, 2].map(|seed| scenario.plan(seed).expect("a plan").links);
    assert_ne!(one[0].varying, two[0].varying);
    let delay = |link: &haltere_plan::plan::LinkPlan| link.varying.as_deref().and_then(|varying| varying.delay.clone());
    assert_eq!(delay(&one[0]), delay(&one[1]), "both directions go over the same satellite");
    assert_eq!(one[0].delay, Dur::from_ms(25));
    let rate = one[0].rate.expect("a mean").as_bps_f64() / 1e6;
    assert!((100.0..200.0).contains(&rate), "{rate}");
}

#[test]
fn links_fail_and_routes_change_after_them() {
    let text = |more: &str| {
        format!(
            "duration = \"30s\"\n[topology.leaf_spine]\nleaves = 2\nspines = 2\nhosts = 1\naccess = {{ rate = \"1Gbit\" }}\n\
             fabric = {{ rate = \"1Gbit\" }}\n{more}\n[[traffic]]\nkind = \"ping\"\nfrom = \"h1\"\nto = \"h2\"\n"
        )
    };
    let plan = |more: &str| Scenario::parse(&text(more), "x.toml").and_then(|s| s.plan(1)).map_err(|e| e.to_string());
    let fail = r#"fail = [{ from = "leaf1", to = "spine1", at = "10s", until = "20s" }, { from = "spine2", to = "leaf1", at = "15s", until = "20s" }]"#;
    let both = plan(&format!("{fail}\nreroute = \"1s\"")).expect("a plan");
    let index = |name: &str| both.links.iter().position(|link| link.name == name).expect("a link");
    let [there, back] = [index("leaf1>spine1"), index("spine1>leaf1")];
    let [second, second_back] = [index("leaf1>spine2"), index("spine2>leaf1")];
    let changes: Vec<(u64, Vec<usize>)> =
        both.reroutes.iter().map(|change| (change.at.as_ns() / 1_000_000_000, change.without.clone())).collect();
    let mut all = vec![there, back, second, second_back];
    all.sort_unstable();
    assert_eq!(changes, [(11, vec![there, back]), (16, all), (21, vec![])]);
    let failures = |link: usize| both.links[link].impairments.as_deref().map_or(0, |all| all.failures.len());
    assert_eq!([there, back, second, index("leaf2>spine1")].map(failures), [1, 1, 1, 0]);
    assert!(plan(fail).expect("a plan").reroutes.is_empty(), "routes are static without `reroute`");
    for (more, error) in [
        ("reroute = \"1s\"", "reroute must be left out without `fail`, got 1s"),
        (
            r#"fail = [{ from = "leaf1", to = "leaf2", at = "1s", until = "2s" }]"#,
            "fail[0]: to must be a node that a link joins to `leaf1`, got `leaf2`",
        ),
        (
            r#"fail = [{ from = "leaf1", to = "spine1", at = "2s", until = "2s" }]"#,
            "fail[0]: until must be after `at`, which is 2s, got 2s",
        ),
        (
            r#"fail = [{ from = "leaf9", to = "spine1", at = "1s", until = "2s" }]"#,
            "fail[0]: from must be one of `spine1`, `spine2`, `leaf1`, `h1`, `leaf2`, `h2`, got `leaf9`",
        ),
    ] {
        let got = plan(more).expect_err(more);
        assert!(got.contains(error), "{got}");
    }
}
