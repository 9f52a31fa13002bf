//! Workloads against what a person works out by hand. On the dumbbell a round trip takes 10 ms, the bottleneck has 20
//! Mbit/s.

use haltere_lab::Scenario;
use haltere_plan::Plan;
use haltere_plan::record::{Completion, Record};
use haltere_sim::{RunControl, run};
use haltere_units::{Dur, Time};

const DUMBBELL: &str = r#"
measure = { queues = "off", flows = "off" }
[topology.dumbbell]
pairs = 4
access = { rate = "1Gbit", delay = "1ms" }
bottleneck = { rate = "20Mbit", delay = "3ms" }
"#;

fn plan(duration: &str, traffic: &str) -> Plan {
    let text = format!("duration = \"{duration}\"\n{DUMBBELL}\n[[traffic]]\n{traffic}\n");
    Scenario::parse(&text, "test.toml").and_then(|one| one.plan(1)).unwrap_or_else(|e| panic!("{e}\n{text}"))
}
fn go(duration: &str, traffic: &str) -> Record {
    run(&plan(duration, traffic), &RunControl::default()).expect("the run ends well")
}
/// Milliseconds of what ended.
fn ms(start: Time, end: Time) -> f64 {
    end.since(start).as_secs_f64() * 1e3
}
fn fct(c: &Completion) -> f64 {
    ms(c.start, c.end)
}
fn sent(record: &Record, plan: &Plan, link: &str) -> u64 {
    plan.links.iter().zip(&record.links).find(|(l, _)| l.name == link).expect("a link").1.total.sent_bytes
}

#[test]
fn a_load_is_the_part_of_the_bottleneck_that_payload_fills() {
    let traffic = "kind = \"poisson\"\nsizes = \"10kB\"\npairs = \"all\"\nload = 0.5";
    let record = go("40s", traffic);
    let bytes: u64 = record.completions.iter().map(|c| c.bytes).sum();
    // Half of 20 Mbit/s in 40 s are 5000 flows of 10 kB: a standard deviation of 1.4 %; four of them.
    assert!((bytes as f64 / 50e6 - 1.0).abs() < 0.057, "{bytes} B");
    assert!(record.completions.iter().all(|c| c.bytes == 10_000));
    let plan = plan("40s", traffic);
    // Seven packets of a flow carry 66 B of headers each, and so do the SYN, the FIN and acknowledgements of data.
    let carried = sent(&record, &plan, "left>right") as f64 / bytes as f64;
    assert!((1.0462..1.10).contains(&carried), "{carried} B on the link for each byte of payload");
}

#[test]
fn a_load_in_both_directions_holds_in_each() {
    let traffic = "kind = \"poisson\"\nsizes = \"10kB\"\npairs = [1, 3]\nload = 0.5\ndirection = \"both\"";
    let (record, plan) = (go("40s", traffic), plan("40s", traffic));
    let of = |host: &str| plan.nodes.iter().position(|n| n == host).expect("a host") as u32;
    for (from, to) in [("c1", "s1"), ("c3", "s3"), ("s1", "c1"), ("s3", "c3")] {
        let flows = record.completions.iter().filter(|c| (c.from, c.to) == (of(from), of(to))).count();
        // A quarter of 10,000 flows: a standard deviation of 2 %; four of them.
        assert!((2300..2700).contains(&flows), "{flows} flows from {from} to {to}");
    }
    assert_eq!(plan.flows.len(), 1);
}

#[test]
fn pairs_of_an_incast_start_together_and_share_the_bottleneck() {
    let traffic = "kind = \"incast\"\nsenders = 4\nsizes = \"50kB\"\npairs = \"all\"\nto = \"s1\"\ninterval = \"1s\"";
    let (record, plan) = (go("2500ms", traffic), plan("2500ms", traffic));
    let receiver = plan.nodes.iter().position(|n| n == "s1").expect("a host") as u32;
    assert_eq!(record.completions.len(), 12);
    for round in record.completions.chunks(4) {
        let mut from: Vec<&str> = round.iter().map(|c| plan.nodes[c.from as usize].as_str()).collect();
        from.sort_unstable();
        assert_eq!(from, ["c1", "c2", "c3", "c4"]);
        assert!(round.iter().all(|c| c.start == round[0].start && c.to == receiver));
        // 200 kB and the headers of 140 packets take 83.7 ms at 20 Mbit/s; handshake and propagation add 15 ms.
        let last = round.iter().map(fct).fold(0.0, f64::max);
        assert!((98.0..125.0).contains(&last), "the last flow took {last} ms");
    }
}

#[test]
fn a_call_takes_a_round_trip_and_the_time_of_its_packets() {
    let record = go("2s", "kind = \"rpc\"\npairs = [1]\njitter = \"0s\"");
    // 166 B and 1066 B on the wire: 66.4 us + 426.4 us at the bottleneck, 2 (1.328 us + 8.528 us) at 1 Gbit/s: 10.5125
    // ms.
    let calls = &record.completions;
    assert!(calls[1..].iter().all(|c| c.end == Time::NEVER || (fct(c) - 10.5125).abs() < 0.001), "{:?}", &calls[1..3]);
    // The first comes after the handshake: 10 ms and its headers.
    assert!((fct(&calls[0]) - 20.56).abs() < 0.05, "{:?}", calls[0]);
    assert_eq!(
        calls.len(),
        190,
        "one after the other for 2 s: 1 + (2000 - 20.56) / 10.5125, and one that is not answered"
    );
    assert!(calls.iter().all(|c| c.end == Time::NEVER || c.end.since(c.start) > c.ideal));
    assert_eq!(record.flows[0].received, 189 * 1000);
}

#[test]
fn outstanding_calls_share_a_connection_and_think_times_pause_it() {
    let calls =
        |more: &str| go("4s", &format!("kind = \"rpc\"\npairs = [1]\njitter = \"0s\"\n{more}")).completions.len();
    // Four calls in each round trip of 10 ms, 0.5 ms of a call and at most three more calls' time at the bottleneck.
    let four = calls("outstanding = 4");
    assert!((4 * 334..=4 * 380).contains(&four), "{four} calls");
    // A call every 10.5125 ms + 89.4875 ms, the first 10 ms later.
    assert_eq!(calls("think = \"89487500ns\""), 40);
}

#[test]
fn a_page_of_one_object_takes_two_round_trips() {
    let record =
        go("5s", "kind = \"web\"\npairs = [2]\nobjects = 1\nsizes = \"10kB\"\nthink = \"0s\"\njitter = \"0s\"");
    // The handshake and the request: 20 ms. 10 kB in seven packets: 10,462 B, 4.18 ms. The request of 466 B: 0.19 ms.
    for page in record.pages.iter().filter(|page| page.end != Time::NEVER) {
        let took = ms(page.start, page.end);
        assert!((24.3..24.7).contains(&took), "{took} ms");
        assert_eq!((page.objects, page.bytes), (1, 10_000));
    }
    assert!((200..207).contains(&record.pages.len()), "{} pages in 5 s", record.pages.len());
    assert_eq!(record.pages.len(), record.completions.len());
}

#[test]
fn connections_fetch_the_objects_of_a_page_side_by_side() {
    let load = |connections: u32| {
        let traffic = format!(
            "kind = \"web\"\npairs = [1]\nobjects = 7\nsizes = \"1kB\"\nconnections = {connections}\nthink = \"1s\"\njitter = \"0s\""
        );
        let record = go("1s", &traffic);
        let page = record.pages[0];
        assert_eq!((page.objects, page.bytes, record.pages.len()), (7, 7000, 1));
        ms(page.start, page.end)
    };
    // Two round trips for the first object. On six connections two more, with one handshake; on one connection six
    // more.
    let (six, one) = (load(6), load(1));
    assert!((40.0..44.0).contains(&six), "{six} ms");
    assert!((80.0..85.0).contains(&one), "{one} ms");
}

#[test]
fn a_closed_loop_goes_on_after_losses() {
    let lossy = DUMBBELL.replace("delay = \"3ms\"", "delay = \"3ms\", loss = \"3%\"");
    let text = format!(
        "duration = \"20s\"\n{lossy}\n[[traffic]]\nkind = \"web\"\npairs = [1]\nobjects = [3, 20]\nsizes = {{ kind = \"pareto\", mean = \"10kB\", shape = 1.5 }}\nthink = \"0s\"\n"
    );
    let plan = Scenario::parse(&text, "test.toml").and_then(|one| one.plan(1)).unwrap_or_else(|e| panic!("{e}"));
    let record = run(&plan, &RunControl::default()).expect("the run ends well");
    assert!(record.pages.len() > 20, "{} pages", record.pages.len());
    assert!(record.completions.iter().map(|c| c.retransmissions).sum::<u32>() > 0);
    for pages in record.pages.windows(2) {
        assert!(pages[0].end <= pages[1].start, "one after the other");
    }
    let ended = record.completions.iter().filter(|c| c.end != Time::NEVER);
    assert_eq!(ended.map(|c| c.bytes).sum::<u64>(), record.pages.iter().map(|p| p.bytes).sum::<u64>());
}

#[test]
fn replayed_flows_start_when_and_where_the_file_says() {
    let folder = std::env::temp_dir().join(format!("haltere-replay-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("flows.csv"), "start,from,to,size\n0.25,s2,c2,1kB # back\n0,c1,s1,5000\n")
        .expect("a file");
    let text = format!(
        "duration = \"1s\"\n{DUMBBELL}\n[[traffic]]\nkind = \"replay\"\nfile = \"flows.csv\"\nstart = \"100ms\"\n"
    );
    let file = folder.join("x.toml");
    let plan = Scenario::parse(&text, file.to_str().expect("text"))
        .and_then(|one| one.plan(1))
        .unwrap_or_else(|e| panic!("{e}"));
    std::fs::remove_dir_all(&folder).expect("it is there");
    let record = run(&plan, &RunControl::default()).expect("the run ends well");
    let name = |node: u32| plan.nodes[node as usize].as_str();
    let got: Vec<_> =
        record.completions.iter().map(|c| (c.start.as_ns() / 1_000_000, name(c.from), name(c.to), c.bytes)).collect();
    assert_eq!(got, [(100, "c1", "s1", 5000), (350, "s2", "c2", 1000)]);
    assert!(record.completions.iter().all(|c| c.end.since(c.start) >= c.ideal));
}

#[test]
fn a_player_on_a_fast_line_climbs_the_ladder_and_never_stalls() {
    let video = "kind = \"video\"\npairs = [1]\njitter = \"0s\"\nsegment = \"1s\"\nbuffer = \"8s\"\nladder = [\"500kbit\", \"1Mbit\", \"2Mbit\"]";
    let record = go("60s", video);
    assert!(record.segments.iter().all(|segment| segment.stalled.is_zero()));
    let rates: Vec<u64> = record.segments.iter().map(|segment| segment.bitrate.as_bps() / 1000).collect();
    // The reservoir holds 3 s: the first four segments are asked for with 0, 1, 2 and 3 s in the buffer. The map
    // reaches 2 Mbit/s with 7.2 s, but a segment is asked for with at most 7 s: f(7 s) = 500 + 1500 * 4 / 4.2 = 1929
    // kbit/s, so it stays at 1 Mbit/s.
    assert_eq!(rates[..4], [500; 4]);
    assert!(rates[10..].iter().all(|rate| *rate == 1000), "{rates:?}");
    // The buffer is full: from then on a segment each second.
    assert!((64..=68).contains(&rates.len()), "{} segments in 60 s", rates.len());
}

#[test]
fn a_player_on_a_slow_line_stalls_as_long_as_segments_are_late() {
    // 40 Mbit/s of video on a line of 20 Mbit/s: each second of it takes two seconds and 4.56 % more for headers.
    let video =
        "kind = \"video\"\npairs = [1]\njitter = \"0s\"\nsegment = \"1s\"\nbuffer = \"4s\"\nladder = [\"40Mbit\"]";
    let record = go("60s", video);
    let stalled: f64 =
        record.segments[5..].iter().filter(|s| s.end != Time::NEVER).map(|s| s.stalled.as_secs_f64()).sum();
    let each = stalled / (record.segments.len() - 6) as f64;
    assert!((1.05..1.2).contains(&each), "{each} s of stall for each segment");
}

#[test]
fn a_call_on_an_idle_line_has_the_score_of_its_delay_alone() {
    let record = go("10s", "kind = \"voip\"\npairs = [1]\njitter = \"0s\"");
    let voice = record.voices[0];
    // 214 B take 85.6 us at 20 Mbit/s and 1.712 us twice at 1 Gbit/s: 5.089 ms; 60 ms of buffer and 20 ms of codec
    // more.
    assert!((voice.delay.as_secs_f64() * 1e3 - 5.089).abs() < 0.001, "{voice:?}");
    assert!((voice.mouth_to_ear.as_secs_f64() * 1e3 - 85.089).abs() < 0.001);
    assert!((voice.rating - (93.2 - 0.024 * 85.089)).abs() < 1e-3, "{voice:?}");
    assert_eq!((voice.lost, voice.late, voice.jitter), (0, 0, Dur::ZERO));
    assert!((490..=500).contains(&voice.sent), "{voice:?}");
}

#[test]
fn what_the_line_loses_lowers_the_score_of_a_call() {
    let lossy = DUMBBELL.replace("delay = \"3ms\"", "delay = \"3ms\", loss = \"5%\"");
    let text = format!("duration = \"60s\"\nwarmup = \"10s\"\n{lossy}\n[[traffic]]\nkind = \"voip\"\npairs = [1]\n");
    let plan = Scenario::parse(&text, "test.toml").and_then(|one| one.plan(1)).unwrap_or_else(|e| panic!("{e}"));
    let voice = run(&plan, &RunControl::default()).expect("the run ends well").voices[0];
    let part = voice.lost as f64 / voice.sent as f64;
    // 2500 packets after the warm-up: a standard deviation of 0.44 %; four of them.
    assert!((0.032..0.068).contains(&part) && (2480..=2500).contains(&voice.sent), "{voice:?}");
    let (ms, percent) = (voice.mouth_to_ear.as_secs_f64() * 1e3, 100.0 * part);
    let rating = 93.2 - 0.024 * ms - 95.0 * percent / (percent + 25.1);
    assert!((voice.rating - rating).abs() < 1e-6 && voice.mos < 4.0, "{voice:?} for {rating}");
}

#[test]
fn pairs_start_in_turn_and_packets_carry_their_dscp() {
    let starts = |traffic: &str| {
        let plan = plan("10s", &format!("kind = \"bulk\"\njitter = \"0s\"\n{traffic}"));
        assert!(plan.flows.iter().all(|flow| flow.dscp == 46));
        plan.flows.iter().map(|flow| flow.start.as_ns() / 1_000_000).collect::<Vec<_>>()
    };
    assert_eq!(starts("stagger = \"1s\"\nstart = \"500ms\"\ndscp = 46"), [500, 1500, 2500, 3500]);
    assert_eq!(starts("start = [\"1s\", \"3s\"]\ndscp = 46"), [1000, 3000, 1000, 3000]);
    assert_eq!(starts("stagger = \"1s\"\ndirection = \"both\"\npairs = [1, 2]\ndscp = 46"), [0, 0, 1000, 1000]);
}

#[test]
fn a_priority_queue_serves_the_dscp_of_an_entry_first() {
    let queue = "queue = { kind = \"pfifo_fast\" }";
    let dumbbell = DUMBBELL.replace("delay = \"3ms\"", &format!("delay = \"3ms\", {queue}"));
    let voice = |dscp: u8| {
        let text = format!(
            "duration = \"5s\"\n{dumbbell}\n[[traffic]]\nkind = \"bulk\"\n[[traffic]]\nkind = \"voip\"\npairs = [1]\nstart = \"2s\"\ndscp = {dscp}\n"
        );
        let plan = Scenario::parse(&text, "test.toml").and_then(|one| one.plan(1)).unwrap_or_else(|e| panic!("{e}"));
        run(&plan, &RunControl::default()).expect("the run ends well").voices[0].delay
    };
    // Linux reads the bits of the old TOS byte: 44, voice admit, is interactive and in the first band.
    let (plain, first) = (voice(0), voice(44));
    assert!(first < Dur::from_ms(7) && plain > Dur::from_ms(30), "{first} and {plain}");
}

#[test]
fn each_pair_of_a_dumbbell_has_its_own_access_delay() {
    let dumbbell = DUMBBELL.replace("pairs = 4", "pairs = 4\naccess_delays = [\"1ms\", \"11ms\"]");
    let text =
        format!("duration = \"1s\"\n{dumbbell}\n[[traffic]]\nkind = \"ping\"\ninterval = \"300ms\"\njitter = \"0s\"\n");
    let plan = Scenario::parse(&text, "test.toml").and_then(|one| one.plan(1)).unwrap_or_else(|e| panic!("{e}"));
    let record = run(&plan, &RunControl::default()).expect("the run ends well");
    for (flow, rtt) in [(0, 10), (1, 50), (2, 10), (3, 50)] {
        let ping = record.pings.iter().find(|ping| ping.flow == flow).expect("a reply");
        assert_eq!(ping.rtt.as_ns() / 1_000_000, rtt, "pair {flow}");
    }
}

#[test]
fn no_page_and_no_call_begins_after_the_stop() {
    for kind in ["kind = \"web\"\nobjects = 3\nthink = \"10ms\"\nsizes = \"1kB\"", "kind = \"rpc\"\noutstanding = 3"] {
        let record = go("3s", &format!("{kind}\npairs = \"all\"\nstop = \"1s\""));
        let stop = Time::ZERO + Dur::from_secs(1);
        let late = record.pages.iter().filter(|page| page.start >= stop).count();
        assert_eq!(late, 0);
        let after = Dur::from_ms(200);
        assert!(record.completions.iter().all(|c| c.start < stop + after && c.end != Time::NEVER), "all is answered");
        assert!(!record.completions.is_empty());
    }
}

#[test]
fn what_is_measured_ends_with_the_cool_down() {
    let text = |more: &str| {
        format!(
            "duration = \"5s\"\nwarmup = \"1s\"\n{more}\n{DUMBBELL}\n[[traffic]]\nkind = \"cbr\"\nrate = \"8Mbit\"\npairs = [1]\njitter = \"0s\"\n[[traffic]]\nkind = \"bulk\"\npairs = [2]\ndirection = \"backward\"\n"
        )
    };
    let made = |text: &str| {
        let plan = Scenario::parse(text, "test.toml").and_then(|one| one.plan(1)).unwrap_or_else(|e| panic!("{e}"));
        let record = run(&plan, &RunControl::default()).expect("the run ends well");
        (plan, record)
    };
    let ((plan, whole), (_, cooled)) = (made(&text("")), made(&text("cooldown = \"2s\"")));
    // 8 Mbit/s in packets of 1000 B are one each millisecond: 4000 of them in 4 s, 2000 in 2 s.
    let measured = |record: &Record, flow: usize| record.flows[flow].received_after_warmup / 1000;
    // A packet may wait for an acknowledgement of the other flow at either edge.
    let (all, some) = (measured(&whole, 0), measured(&cooled, 0));
    assert!(all.abs_diff(4000) <= 1 && some.abs_diff(2000) <= 1, "{all} and {some} packets");
    assert_eq!(whole.flows[0].received, cooled.flows[0].received, "the run itself is the same");
    let at = plan.links.iter().position(|link| link.name == "left>right").expect("a link");
    let (all, some) = (&whole.links[at], &cooled.links[at]);
    assert_eq!(all.total, some.total);
    assert!((some.after_warmup.sent_bytes as f64 / all.after_warmup.sent_bytes as f64 - 0.5).abs() < 0.01);
    assert!(measured(&cooled, 1) < measured(&whole, 1) && measured(&cooled, 1) > 0);
    let sender = cooled.flows[1].sender_at_until.as_ref().expect("a sender");
    assert!(sender.segments_sent < cooled.flows[1].sender.as_ref().expect("a sender").segments_sent);
    let wrong = Scenario::parse(&text("cooldown = \"4s\""), "x.toml").expect_err("too long").to_string();
    assert_eq!(wrong, "x.toml:3: cooldown must be shorter than the 4s from the warm-up to the end, got 4s");
}

#[test]
fn what_an_entry_cannot_have_is_said() {
    let error = |traffic: &str| {
        let text = format!("duration = \"5s\"\n{DUMBBELL}\n[[traffic]]\n{traffic}\n");
        let told = Scenario::parse(&text, "x").expect_err("refused").to_string();
        told.split_once("traffic[0]").map_or(told.clone(), |(_, rest)| rest.trim_start_matches(": ").into())
    };
    let poisson = |more: &str| error(&format!("kind = \"poisson\"\nper_second = 5\n{more}"));
    assert_eq!(poisson("sizes = \"10kB\"\npairs = [5]"), "pairs[0] must be from 1 to 4, got 5");
    assert_eq!(
        poisson("sizes = \"10kB\"\nfrom = \"c1\""),
        "to must be the name of a node, got nothing; write both `from` and `to`"
    );
    assert_eq!(poisson("sizes = \"0B\""), "sizes must be from 1B to 1000000000000000B, got 0B");
    let names = poisson("sizes = \"web_serch\"");
    assert!(names.ends_with("got `web_serch`; did you mean `web_search`?"), "{names}");
    let unit = poisson("sizes = \"10kb\"");
    assert!(unit.starts_with("sizes must be") && unit.contains("got `10kb`"), "{unit}");
    assert_eq!(
        poisson("sizes = { kind = \"pareto\", mean = \"10kB\", shape = 1 }"),
        ".sizes: shape must be above 1, so that the mean exists, got 1"
    );
    assert_eq!(
        poisson("sizes = { kind = \"lognormal\", mean = \"10kB\", sigma = 0 }"),
        ".sizes: sigma must be above 0 and at most 10, got 0"
    );
    assert_eq!(poisson("sizes = \"10kB\"\ncount = 2"), "count must be left out of this entry, got a value");
    assert_eq!(poisson("sizes = \"10kB\"\nstagger = \"1s\""), "stagger must be left out of this entry, got a value");
    assert_eq!(
        error("kind = \"bulk\"\nstagger = \"2s\""),
        "stagger must be such that the last of 4 pairs starts before the end of the run at 5s, got 2s"
    );
    assert_eq!(
        error("kind = \"web\"\nobjects = [5, 2]"),
        "objects must be the smaller number and then the larger, got 5 and 2"
    );
    assert_eq!(
        error("kind = \"video\"\nladder = [\"2Mbit\", \"1Mbit\"]"),
        "ladder[1] must be above 0bit and above the bitrate before it, got 1Mbit"
    );
    assert_eq!(
        error("kind = \"replay\""),
        "file must be given, or `flows`, got nothing; write for example `file = \"flows.csv\"`"
    );
    assert_eq!(
        error("kind = \"incast\"\nsenders = 2\npairs = \"all\""),
        "bytes must be given, or `sizes`, got nothing; write for example `bytes = \"64kB\"`"
    );
}
