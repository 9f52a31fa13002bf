//! Links whose rate follows a trace or a schedule.

use haltere_lab::Scenario;
use haltere_plan::{Plan, Record};
use haltere_sim::{RunControl, run};
use haltere_units::{Dur, Time};

/// One flow over a bottleneck written so.
fn plan(bottleneck: &str, traffic: &str, more: &str) -> Plan {
    let text = format!(
        r#"
        duration = "40s"
        warmup = "10s"
        framing = "0B"
        topology.dumbbell = {{ pairs = 1, access = {{ delay = "5ms" }}, bottleneck = {{ {bottleneck} }} }}
        traffic = [{{ {traffic}, jitter = "0s" }}]
        {more}
        "#
    );
    Scenario::parse(&text, "").expect("an experiment").plan(1).expect("a plan")
}
fn go(plan: &Plan) -> Record {
    run(plan, &RunControl::default()).expect("the run ends well")
}

#[test]
fn a_bulk_flow_carries_what_the_trace_offers() {
    // Bunches of three and lulls: 4 opportunities in 5 ms, 9.6 Mbit/s at 1500 bytes.
    let plan = plan(
        r#"trace = { gaps = "1 0x2 4" }, queue = { kind = "drop_tail", limit = "100p" }, reverse = { rate = "100Mbit" }"#,
        r#"kind = "bulk", congestion = "cubic""#,
        "",
    );
    assert_eq!(plan.links[0].rate.expect("a mean").as_bps(), 9_600_000);
    let record = go(&plan);
    let sent = record.links[0].after_warmup;
    let offered = plan.links[0].capacity(plan.warmup, plan.end).expect("a rate") / 8.0;
    assert_eq!(offered, 4.0 / 0.005 * 1500.0 * 30.0);
    let used = sent.sent_bytes as f64 / offered;
    assert!((used - 1.0).abs() < 1e-3, "the line carries {used} of what it is offered");
    // 1448 bytes of payload in 1500; what lies behind a hole at the end is not counted: a queue of 100 packets at most.
    let goodput = record.flows[0].received_after_warmup as f64 / (offered * 1448.0 / 1500.0);
    assert!((goodput - 1.0).abs() < 0.01, "goodput {goodput} of what fits");
}

#[test]
fn a_datagram_waits_for_its_opportunity() {
    // A packet of 1500 bytes each 10 ms from time zero; it comes to the bottleneck after 5 ms, at 5, 15, 25 ms, ...;
    // the trace serves at 7, 18, 20 ms, 27, ...: each is delivered 5 ms after its own.
    let plan = plan(
        r#"trace = { gaps = "7 11 2" }, delay = "0s""#,
        r#"kind = "cbr", rate = "1177600bit", packet = "1472B""#,
        "measure.queues = \"1ms\"",
    );
    let record = go(&plan);
    let waiting: Vec<u32> = record.queue_series.iter().filter(|s| s.link == 0).take(30).map(|s| s.packets).collect();
    let expected: Vec<u32> = (1..=30u64)
        .map(|ms| {
            let came = [5, 15, 25].iter().filter(|at| **at <= ms).count();
            let served = [7, 18, 27].iter().filter(|at| **at <= ms).count();
            (came - served) as u32
        })
        .collect();
    assert_eq!(waiting, expected);
}

#[test]
fn a_step_of_the_rate_is_a_step_of_the_goodput() {
    let steps = r#"rate = "10Mbit", schedule = [{ at = "20s", rate = "5Mbit" }, { at = "30s", rate = "20Mbit" }]"#;
    let plan = plan(steps, r#"kind = "bulk", congestion = "cubic""#, "measure.flows = \"1s\"");
    let record = go(&plan);
    let delivered = |s: u64| {
        let at = Time::ZERO + Dur::from_secs(s);
        record.flow_series.iter().find(|f| f.at == at).expect("a sample").received as f64
    };
    // A second for the queue of the old rate and the window to follow.
    for (from, to, mbps) in [(11, 20, 10.0), (21, 30, 5.0), (33, 40, 20.0)] {
        let got = (delivered(to) - delivered(from)) * 8e-6 / (to - from) as f64 / (1448.0 / 1500.0);
        assert!((got / mbps - 1.0).abs() < 0.03, "{from} s to {to} s: {got} of {mbps} Mbit/s");
    }
}

#[test]
fn a_delay_that_changes_shows_in_the_round_trip_and_lets_none_overtake() {
    let steps = r#"rate = "10Mbit", delay = "5ms", schedule = [{ at = "20s", delay = "30ms" }]"#;
    let plan = plan(steps, r#"kind = "ping", interval = "100ms""#, "");
    let record = go(&plan);
    let rtts = |from: u64, to: u64| {
        let (from, to) = (Time::ZERO + Dur::from_secs(from), Time::ZERO + Dur::from_secs(to));
        let within = record.pings.iter().filter(move |p| p.at >= from && p.at < to);
        within.map(|p| p.rtt.as_secs_f64() * 1e3).collect::<Vec<_>>()
    };
    let wire = 84.0 * 8e-4; // ms, twice at 10 Mbit/s
    assert!(rtts(0, 19).iter().all(|ms| (ms - (30.0 + 2.0 * wire)).abs() < 0.001), "{:?}", &rtts(0, 1));
    assert!(rtts(21, 39).iter().all(|ms| (ms - (80.0 + 2.0 * wire)).abs() < 0.001), "{:?}", &rtts(21, 22));
}

/// A short queue at 100 kbit/s leaves BBR less than a segment a round trip. That is no idle time: if it were taken for
/// one, BBR would pace at its estimate instead of probing, and stay at 0.2 Mbit/s.
#[test]
fn bbr_finds_a_rate_that_rises_a_hundredfold() {
    let text = r#"
        duration = "60s"
        [topology.dumbbell]
        pairs = 1
        access = { rate = "15Mbit", delay = "1ms" }
        bottleneck = { delay = "30ms", queue = { kind = "drop_tail", limit = "7600B" }, schedule = [
          { at = "0s", rate = "100kbit" }, { at = "15s", rate = "10Mbit" },
        ] }
        [[traffic]]
        kind = "bulk"
        bytes = "10MiB"
        jitter = "1ms"
        congestion = CONTROL
    "#;
    let controls = ["kind = \"bbr3\"", "kind = \"bbr3\", variant = \"draft\"", "kind = \"bbr\""];
    for (control, seed) in controls.into_iter().flat_map(|control| (1..=6).map(move |seed| (control, seed))) {
        let text = text.replace("CONTROL", &format!("{{ {control} }}"));
        let plan = Scenario::parse(&text, "").expect("an experiment").plan(seed).expect("a plan");
        assert!(go(&plan).flows[0].completed.is_some(), "{control}, seed {seed}");
    }
}
