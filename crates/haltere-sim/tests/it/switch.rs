//! A switch whose processor all packets share or that has threads as BMv2 has, and packets that its queue returns to
//! senders: the conservation check holds, and no packet is delivered twice.

use haltere_lab::Scenario;
use haltere_plan::{Plan, Record};
use haltere_sim::{RunControl, run};

fn plan(text: &str) -> Plan {
    Scenario::parse(text, "switch.toml").unwrap_or_else(|e| panic!("{e}")).plan(1).unwrap_or_else(|e| panic!("{e}"))
}
fn go(plan: &Plan) -> Record {
    run(plan, &RunControl::default()).expect("the run ends well")
}
/// The experiment of `hosts` hosts with this processor and this traffic.
fn switch(hosts: u32, processor: &str, traffic: &str) -> Plan {
    plan(&format!(
        "duration = \"20s\"\n[topology.switch]\nhosts = {hosts}\n\
         link = {{ rate = \"1Gbit\", delay = \"3ms\", queue = {{ kind = \"drop_tail\", limit = \"1000p\" }} }}\n\
         processor = {{ {processor} }}\n{traffic}"
    ))
}
fn cbr(from: &str, to: &str, packet: &str, stop: &str) -> String {
    format!(
        "[[traffic]]\nkind = \"cbr\"\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"8Mbit\"\npacket = \"{packet}\"\nstop = \"{stop}\"\njitter = \"0s\"\n"
    )
}
fn dctcp(from: &str, to: &str, bytes: &str) -> String {
    format!(
        "[[traffic]]\nkind = \"bulk\"\nfrom = \"{from}\"\nto = \"{to}\"\ncongestion = \"dctcp\"\nbytes = \"{bytes}\"\njitter = \"0s\"\n"
    )
}
/// Total counters of the link of that name.
fn link(plan: &Plan, record: &Record, name: &str) -> haltere_plan::record::LinkCounters {
    let index = plan.links.iter().position(|l| l.name == name).unwrap_or_else(|| panic!("no link {name}"));
    record.links[index].total
}

#[test]
fn a_processor_of_packets_takes_as_long_for_short_ones() {
    for packet in ["1000B", "100B"] {
        let plan = switch(2, "packet_rate = 500", &cbr("h1", "h2", packet, "20s"));
        let record = go(&plan);
        let sent = link(&plan, &record, "switch>switch.out").sent;
        // 20 s less the first 3 ms.
        assert!((9_997..=10_000).contains(&sent), "{packet}: {sent}");
    }
}

#[test]
fn a_processor_of_bits_takes_a_tenth_of_the_time_for_a_tenth_of_the_bytes() {
    let sent = |packet| {
        let plan = switch(2, "rate = \"4Mbit\"", &cbr("h1", "h2", packet, "20s"));
        link(&plan, &go(&plan), "switch>switch.out").sent as f64
    };
    let (long, short) = (sent("958B"), sent("58B")); // 1000 and 100 bytes with their headers
    assert!((short / long - 10.0).abs() < 0.01, "{short} short, {long} long");
}

#[test]
fn flows_to_different_hosts_share_the_processor() {
    let traffic = cbr("h1", "h2", "1000B", "20s") + &cbr("h3", "h4", "1000B", "20s");
    let plan = switch(4, "packet_rate = 1000, queue = { kind = \"drop_tail\", limit = \"64p\" }", &traffic);
    let record = go(&plan);
    let received: u64 = record.flows.iter().map(|f| f.packets_received).sum();
    assert!((19_900..=20_000).contains(&received), "{received} of both flows, which send 40000");
    let processor = link(&plan, &record, "switch>switch.out");
    assert_eq!(processor.arrived - processor.sent - processor.dropped_overlimit, 64, "a full queue at the end");
}

#[test]
fn a_processor_is_bits_or_packets() {
    let told = |processor: &str| {
        let text = format!(
            "duration = \"1s\"\n[topology.switch]\nhosts = 2\nlink = {{}}\nprocessor = {{ {processor} }}\n{}",
            cbr("h1", "h2", "100B", "1s")
        );
        Scenario::parse(&text, "").and_then(|s| s.plan(1)).expect_err("must be refused").to_string()
    };
    for (processor, rule) in [
        ("", "topology.switch.processor: rate must be given, or `packet_rate`, got nothing"),
        ("rate = \"1Mbit\", packet_rate = 5", "packet_rate must be left out beside `rate`, got 5"),
        ("packet_rate = 0", "packet_rate must be above 0 packets a second"),
        ("rate = \"0bit\"", "rate must be above zero, got 0bit"),
        ("packet_rate = 5, queue = { kind = \"threshold\", upper = \"0p\" }", "topology.switch.processor.queue: upper"),
        ("packet_rate = 5 }\negress = { packet_rate = 0", "topology.switch.egress: packet_rate must be above 0"),
        (
            "packet_rate = 5 }\negress = { queue = { kind = \"threshold\", upper = \"0p\" }",
            "topology.switch.egress.queue: upper",
        ),
        ("packet_rate = 5 }\negress = { threads = 0", "threads must be at least 1"),
    ] {
        assert!(told(processor).contains(rule), "{processor}: {}", told(processor));
    }
}

const RETURNS: [(&str, &str); 4] = [
    ("return", "kind = \"threshold\", upper = \"20p\", return_to_sender = true"),
    ("return and mark", "kind = \"threshold\", upper = \"20p\", return_to_sender = true, mark = true"),
    ("hysteresis", "kind = \"threshold\", upper = \"20p\", lower = \"10p\", return_to_sender = true"),
    ("little room", "kind = \"threshold\", upper = \"10p\", limit = \"15p\", return_to_sender = true"),
];

/// Three bulk flows that complete, and UDP beside them that stops: at the end nothing is in flight.
fn mixed(queue: &str) -> Plan {
    let traffic = dctcp("h1", "h2", "900kB")
        + &dctcp("h3", "h4", "700kB")
        + &dctcp("h5", "h6", "500kB")
        + &cbr("h1", "h2", "1000B", "2s");
    switch(6, &format!("packet_rate = 800, queue = {{ {queue} }}"), &traffic)
}

#[test]
fn with_returned_packets_every_copy_is_accounted_for() {
    for (name, queue) in RETURNS {
        let plan = mixed(queue);
        let record = go(&plan);
        let processor = link(&plan, &record, "switch>switch.out");
        assert!(processor.emitted > 50, "{name}: {} returned", processor.emitted);
        let up: u64 = (1..=6).map(|i| link(&plan, &record, &format!("h{i}>switch")).sent).sum();
        let down: u64 = (1..=6).map(|i| link(&plan, &record, &format!("switch.out>h{i}")).sent).sum();
        let dropped = processor.dropped_overlimit + processor.dropped_congestion;
        assert_eq!(processor.arrived, up + processor.emitted, "{name}: what comes in is from hosts or a copy");
        assert_eq!(processor.arrived, processor.sent + dropped, "{name}: nothing waits at the end");
        assert_eq!(processor.sent, down, "{name}: what leaves reaches a host");
    }
}

#[test]
fn with_returned_packets_an_application_gets_every_byte_once() {
    for (name, queue) in RETURNS {
        let record = go(&mixed(queue));
        let received: Vec<u64> = record.flows.iter().map(|f| f.received).collect();
        assert_eq!(received[..3], [900_000, 700_000, 500_000], "{name}");
        let udp = &record.flows[3];
        assert!(udp.packets_received <= udp.packets_sent, "{name}: a returned datagram is no datagram");
        assert_eq!(udp.received, udp.packets_received * 1000, "{name}");
    }
}

#[test]
fn each_copy_reaches_the_sender_that_its_original_left() {
    // Only data can meet congestion here: the return path has no processor.
    let text = "duration = \"20s\"\n[topology.chain]\nlinks = [{ rate = \"1Gbit\", delay = \"1ms\" }, { rate = \"5Mbit\", delay = \"1ms\", \
                queue = { kind = \"threshold\", upper = \"10p\", return_to_sender = true }, reverse = { rate = \"1Gbit\", queue = \"drop_tail\" } }]\n"
        .to_owned()
        + &dctcp("n1", "n3", "2MB");
    let plan = plan(&text);
    let record = go(&plan);
    let (bottleneck, info) = (link(&plan, &record, "n2>n3"), record.flows[0].sender.expect("TCP"));
    assert_eq!(record.flows[0].received, 2_000_000);
    assert!(bottleneck.emitted > 20);
    assert_eq!(bottleneck.emitted, info.returned + info.returned_late, "each copy is counted or counted as late");
    let back = link(&plan, &record, "n2>n1").sent - link(&plan, &record, "n3>n2").sent;
    assert_eq!(back, bottleneck.emitted, "and nothing else was returned");
    assert_eq!(bottleneck.marked, 0, "the originals go on unmarked");
    assert!(info.ecn_reductions > 0 && info.ecn_reductions <= info.returned, "the sender slows down for them alone");
    assert!(info.ecn_reductions <= info.rounds, "at most once a window: {} in {}", info.ecn_reductions, info.rounds);
}

#[test]
fn datagrams_acknowledgements_and_syns_meet_congestion_but_are_not_returned() {
    let threshold = "packet_rate = 700, queue = { kind = \"threshold\", upper = \"1p\", return_to_sender = true }";
    let datagrams = cbr("h1", "h2", "1000B", "2s") + "ecn = true\n";
    let plan = switch(2, threshold, &datagrams);
    assert_eq!(link(&plan, &go(&plan), "switch>switch.out").emitted, 0, "UDP has no sender that slows down");
    // Behind the datagrams every segment finds the queue at its threshold.
    let plan = switch(4, threshold, &(datagrams + &dctcp("h3", "h4", "100kB")));
    let record = go(&plan);
    let (returned, sender) = (link(&plan, &record, "switch>switch.out").emitted, record.flows[1].sender.expect("TCP"));
    assert!(0 < returned && returned <= sender.segments_sent, "{returned} of {} segments", sender.segments_sent);
}

/// As in BMv2: an input buffer, 64 packets a port, marked by the port's own queue; each thread handles that many
/// packets a second.
fn threads(ingress: u32, egress: u32, queue: &str) -> String {
    format!(
        "packet_rate = {ingress}, queue = {{ kind = \"input_buffer\", socket = \"1300p\" }} }}\negress = {{ packet_rate = {egress}, \
         queue = {{ kind = \"threshold\", limit = \"64p\", per_destination = true, {queue} }}"
    )
}

#[test]
fn a_packet_passes_the_ingress_thread_and_the_egress_thread_of_its_port() {
    let traffic = cbr("h1", "h2", "1000B", "1s") + &cbr("h3", "h4", "1000B", "1s") + &cbr("h5", "h6", "1000B", "1s");
    let plan = switch(6, &threads(800, 800, "upper = \"3p\""), &traffic);
    let record = go(&plan);
    let egress = [0, 1, 2, 3].map(|k| link(&plan, &record, &format!("switch.out>switch.egress{k}")));
    // h4 has thread 0; h2 and h6 share thread 2. The sockets hold what the buffer cannot.
    assert_eq!(egress.map(|thread| thread.sent), [1000, 0, 2000, 0]);
    assert!(link(&plan, &record, "switch>switch.out").peak_packets > 1024);
    let peaks = egress.map(|thread| thread.peak_packets);
    assert!(peaks.iter().all(|peak| *peak <= 1), "equally fast threads leave the queue before the first: {peaks:?}");
}

#[test]
fn behind_a_quick_ingress_thread_the_queue_of_each_port_fills_apart() {
    let traffic = cbr("h1", "h2", "1000B", "20s") + &cbr("h3", "h6", "100B", "1s");
    let plan = switch(6, &threads(100_000, 500, "upper = \"40p\""), &traffic);
    let record = go(&plan);
    let thread = link(&plan, &record, "switch.out>switch.egress2");
    assert_eq!(thread.peak_packets, 128, "64 of each port");
    assert!(thread.dropped_overlimit > 9000 && link(&plan, &record, "switch>switch.out").dropped_overlimit == 0);
}

#[test]
fn with_threads_every_copy_is_recirculated_through_the_ingress_thread() {
    let traffic = dctcp("h1", "h2", "900kB") + &dctcp("h3", "h2", "700kB");
    let plan = switch(6, &threads(800, 300, "upper = \"1p\", return_to_sender = true"), &traffic);
    let record = go(&plan);
    let up: u64 = (1..=6).map(|i| link(&plan, &record, &format!("h{i}>switch")).sent).sum();
    let returned: u64 = (0..4).map(|k| link(&plan, &record, &format!("switch.out>switch.egress{k}")).emitted).sum();
    let ingress = link(&plan, &record, "switch>switch.out");
    assert!(returned > 50, "{returned} returned");
    assert_eq!(ingress.arrived, up + returned, "what comes in is from hosts or a copy");
    let received: Vec<u64> = record.flows.iter().map(|f| f.received).collect();
    assert_eq!(received, [900_000, 700_000]);
}
