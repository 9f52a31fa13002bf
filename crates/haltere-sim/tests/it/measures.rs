//! Measures on request: they say what is so, and change nothing else.

use haltere_lab::Scenario;
use haltere_plan::plan::Impairments;
use haltere_plan::record::{DelayOf, DelayRecord, PacketFate};
use haltere_plan::{Plan, Record};
use haltere_sim::{Capture, RunControl, run, run_with_captures};
use haltere_units::{Dur, Time};

const EXPERIMENT: &str = r#"
    duration = "3s"
    warmup = "500ms"
    [topology.dumbbell]
    pairs = 3
    access = { rate = "100Mbit", delay = "1ms" }
    bottleneck = { rate = "10Mbit", delay = "5ms", queue = { QUEUE } }
    [[traffic]]
    kind = "bulk"
    pairs = [1, 2]
    congestion = ["cubic", "bbr"]
    ecn = true
    jitter = "0s"
    [[traffic]]
    kind = "cbr"
    pairs = [3]
    rate = "500kbit"
    [[traffic]]
    kind = "ping"
    pairs = [3]
    [[traffic]]
    kind = "poisson"
    sizes = "cache"
    per_second = 20
"#;

const QUEUES: [&str; 5] = [
    "kind = 'drop_tail', limit = '40p'",
    "kind = 'codel', ecn = true",
    "kind = 'fq_codel'",
    "kind = 'pie', ecn = true",
    "kind = 'red'",
];

fn plan(queue: &str) -> Plan {
    let text = EXPERIMENT.replace("QUEUE", queue);
    Scenario::parse(&text, "test.toml").and_then(|one| one.plan(1)).expect("the experiment is right")
}

/// The index of the bottleneck.
fn bottleneck(plan: &Plan) -> usize {
    plan.links.iter().position(|link| link.name == "left>right").expect("a bottleneck")
}

fn with_everything(mut plan: Plan) -> Plan {
    let link = bottleneck(&plan);
    (plan.measure.delays, plan.measure.state, plan.measure.senders) = (true, true, true);
    plan.measure.logged = vec![link];
    plan
}

fn go(plan: &Plan) -> Record {
    run(plan, &RunControl::default()).expect("it runs")
}

fn of(record: &Record, what: DelayOf) -> &DelayRecord {
    record.delay_records.iter().find(|one| one.of == what).unwrap_or_else(|| panic!("no {what:?}"))
}

#[test]
fn measuring_changes_nothing_else() {
    for queue in QUEUES {
        let (plain, asked) = (plan(queue), with_everything(plan(queue)));
        let capture = Capture { link: bottleneck(&plain), writer: Box::new(std::io::sink()), snaplen: Some(96) };
        let measured = run_with_captures(&asked, &RunControl::default(), vec![capture]).expect("it runs");
        let usual = go(&plain);
        assert!(!measured.delay_records.is_empty() && !measured.state.is_empty() && !measured.sender_events.is_empty());
        let (events, peak_events) = (usual.events, usual.peak_events);
        let rest = Record {
            delay_records: Vec::new(),
            state: Vec::new(),
            packets: Vec::new(),
            sender_events: Vec::new(),
            events,
            peak_events,
            ..measured
        };
        assert!(rest == usual, "{queue}: the records differ");
    }
}

#[test]
fn sojourn_times_add_up_to_the_integral_of_the_queue() {
    for queue in QUEUES {
        let mut plan = with_everything(plan(queue));
        (plan.warmup, plan.end) = (Time::ZERO, Time::ZERO + Dur::from_secs(30)); // the queue is empty when the run ends
        for flow in &mut plan.flows {
            flow.stop = Some(Time::ZERO + Dur::from_ms(1500));
        }
        let record = go(&plan);
        let link = bottleneck(&plan);
        let counters = &record.links[link].total;
        let packets = &record.packets;
        assert_eq!(packets.len() as u64, counters.arrived, "{queue}");
        let count = |fates: &[PacketFate]| packets.iter().filter(|p| fates.contains(&p.fate)).count() as u64;
        assert_eq!(count(&[PacketFate::Overlimit]), counters.dropped_overlimit, "{queue}");
        assert_eq!(count(&[PacketFate::Congestion]), counters.dropped_congestion, "{queue}");
        assert_eq!(count(&[PacketFate::Sent, PacketFate::Marked]), counters.sent, "{queue}");
        assert!(count(&[PacketFate::Marked]) <= counters.marked, "{queue}");
        let waited: u128 = packets.iter().map(|p| u128::from(p.sojourn.as_ns())).sum();
        assert_eq!(waited, counters.packet_ns, "{queue}");
        let sojourns = &of(&record, DelayOf::Sojourn(link as u32)).histogram;
        assert_eq!(sojourns.count(), counters.sent, "{queue}");
        let longest = packets.iter().filter(|p| matches!(p.fate, PacketFate::Sent | PacketFate::Marked));
        assert_eq!(sojourns.max(), longest.map(|p| p.sojourn).max(), "{queue}");
        assert!(packets.iter().all(|p| p.flow.is_some()), "{queue}: a packet without flow");
    }
}

#[test]
fn samples_of_the_round_trip_time_are_those_of_the_sender() {
    let plan = with_everything(plan(QUEUES[0]));
    let plan = Plan { warmup: Time::ZERO, ..plan };
    let record = go(&plan);
    for (i, flow) in record.flows.iter().enumerate() {
        let Some(sender) = flow.sender.as_ref().filter(|_| plan.flows[i].app.arrivals().is_none()) else { continue };
        let rtts = &of(&record, DelayOf::Rtt(i as u32)).histogram;
        assert!(rtts.count() > 100, "{} samples", rtts.count());
        // The minimum of the sender may be of a delayed acknowledgement, which gives no sample for the timeout.
        let least = rtts.min().expect("samples");
        assert!(least >= sender.min_rtt && least <= sender.min_rtt * 2, "{least} {}", sender.min_rtt);
        assert!(rtts.max().expect("samples") >= sender.srtt);
    }
}

#[test]
fn a_window_counts_what_a_shorter_run_counts() {
    for queue in QUEUES {
        let mut shorter = plan(queue);
        let until = Time::ZERO + Dur::from_ms(1730);
        shorter.end = until;
        let mut window = plan(queue);
        window.measure.until = Some(until);
        let (shorter, window) = (go(&shorter), go(&window));
        for (a, b) in shorter.links.iter().zip(&window.links) {
            assert_eq!(a.after_warmup, b.after_warmup, "{queue}");
            assert!(b.total.arrived >= a.total.arrived);
        }
        for (a, b) in shorter.flows.iter().zip(&window.flows) {
            assert_eq!(a.received_after_warmup, b.received_after_warmup, "{queue}");
            assert_eq!(a.sender.as_ref().map(|i| i.delivered), b.sender_at_until.map(|c| c.delivered), "{queue}");
        }
    }
}

#[test]
fn constant_traffic_on_an_idle_path_has_one_delay_and_its_losses() {
    let text = r#"
        duration = "2s"
        [measure]
        delays = true
        [topology.chain]
        links = [{ rate = "10Mbit", delay = "5ms" }]
        [[traffic]]
        kind = "cbr"
        from = "n1"
        to = "n2"
        rate = "1Mbit"
        packet = "1000B"
        jitter = "0s"
    "#;
    let mut plan = Scenario::parse(text, "test.toml").and_then(|one| one.plan(1)).expect("the experiment is right");
    plan.links[0].impairments = Some(Box::new(Impairments { lose: vec![3, 10, 11], ..Impairments::default() }));
    let record = go(&plan);
    let flow = of(&record, DelayOf::OneWay(0));
    let line = Dur::from_ns((1000 + 28 + 14) * 8 * 100);
    let want = Some(Dur::from_ms(5) + line);
    assert_eq!((flow.histogram.min(), flow.histogram.max()), (want, want));
    assert_eq!((flow.jitter, flow.lost), (Some(Dur::ZERO), 3));
    assert_eq!(flow.expected, record.flows[0].packets_received + 3);
}
