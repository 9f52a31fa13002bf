//! Tables of a record written by hand.
#![cfg(feature = "tables")]

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, UInt64Type};
use haltere_lab::{Scenario, table};
use haltere_plan::record::{FlowRecord, FlowSample, LinkCounters, LinkRecord, PingSample, QueueSample};
use haltere_plan::{Plan, Record};
use haltere_transport::Info;
use haltere_units::{Bytes, Dur, Time};

/// 10 s, 2 s warm-up; `data` (bulk, from 0 s) and `ping` over one link each way.
fn plan() -> Plan {
    let text = r#"
        duration = "10s"
        warmup = "2s"
        [topology.chain]
        links = [{ rate = "8Mbit", delay = "5ms", queue = "codel" }]
        [[traffic]]
        kind = "bulk"
        name = "data"
        from = "n1"
        to = "n2"
        jitter = "0s"
        [[traffic]]
        kind = "ping"
        name = "ping"
        from = "n1"
        to = "n2"
        jitter = "0s"
    "#;
    Scenario::parse(text, "x.toml").unwrap().plan(1).unwrap()
}

fn record() -> Record {
    let counters = |n: u64| LinkCounters {
        arrived: 10 * n,
        sent: 8 * n,
        sent_bytes: 4_000_000 * n,
        dropped_overlimit: n,
        dropped_congestion: n,
        marked: 3 * n,
        packet_ns: u128::from(n) * 16_000_000_000,
        peak_packets: 9,
        ..LinkCounters::default()
    };
    let info = |n: u64| {
        let mut info = Info::default();
        (info.retransmissions, info.cwnd, info.ssthresh) = (n, Bytes::new(14_480), Bytes::MAX);
        info
    };
    let data = FlowRecord {
        received: 9_000_000,
        received_after_warmup: 8_000_000,
        sender: Some(info(5)),
        sender_at_warmup: Some((&info(2)).into()),
        ..FlowRecord::default()
    };
    let link = LinkRecord { total: counters(2), after_warmup: counters(1), ..LinkRecord::default() };
    let at = Time::from_ns;
    let flow = |at, control| FlowSample { at, flow: 0, received: 7, sender: info(0), control };
    let queue = |link, vars| QueueSample {
        at: at(1),
        link,
        packets: 3,
        bytes: 4500,
        ring_packets: 1,
        dropped: 0,
        marked: 0,
        sent_bytes: 0,
        vars,
    };
    Record {
        flows: vec![data, FlowRecord { packets_sent: 10, packets_received: 9, ..FlowRecord::default() }],
        links: vec![link.clone(), link],
        flow_series: vec![flow(at(1), vec![("alpha", 0.5)]), flow(at(2), vec![("cwnd_bytes", 1.0)])],
        queue_series: vec![queue(0, vec![("count", 4.0)]), queue(1, vec![])],
        pings: vec![PingSample { at: at(3), flow: 1, rtt: Dur::from_ms(10) }],
        ..Record::default()
    }
}

fn get<'a>(tables: &'a [(&'static str, RecordBatch)], name: &str) -> &'a RecordBatch {
    &tables.iter().find(|(n, _)| *n == name).expect("the table").1
}
fn numbers(batch: &RecordBatch, name: &str) -> Vec<Option<f64>> {
    batch.column_by_name(name).expect(name).as_primitive::<Float64Type>().iter().collect()
}
fn counts(batch: &RecordBatch, name: &str) -> Vec<Option<u64>> {
    batch.column_by_name(name).expect(name).as_primitive::<UInt64Type>().iter().collect()
}
fn texts(batch: &RecordBatch, name: &str) -> Vec<Option<String>> {
    batch.column_by_name(name).expect(name).as_string::<i32>().iter().map(|t| t.map(str::to_owned)).collect()
}

#[test]
fn goodput_is_what_came_after_the_warm_up_over_the_time_after_it() {
    let tables = table::tables(&plan(), &record());
    let flows = get(&tables, "flows");
    // 8 MB in 8 s; a ping carries no data.
    assert_eq!(numbers(flows, "goodput_bps"), [Some(8e6), None]);
    assert_eq!(counts(flows, "retransmissions"), [Some(5), None]);
    assert_eq!(counts(flows, "retransmissions_after_warmup"), [Some(3), None]);
    assert_eq!(texts(flows, "congestion")[1], None);
    assert_eq!(texts(flows, "group"), [Some("data".into()), Some("ping".into())]);
    assert_eq!(texts(flows, "kind"), [Some("bulk".into()), Some("ping".into())]);
}

#[test]
fn links_tell_utilisation_mean_queue_and_drops_after_the_warm_up() {
    let tables = table::tables(&plan(), &record());
    let links = get(&tables, "links");
    assert_eq!(texts(links, "link"), [Some("n1>n2".into()), Some("n2>n1".into())]);
    // 4 MB of 8 s at 8 Mbit/s; 16 packet-seconds in 8 s; 2 of 10 dropped, 3 of 10 marked.
    assert_eq!(numbers(links, "utilisation")[0], Some(0.5));
    assert_eq!(numbers(links, "mean_queue_packets")[0], Some(2.0));
    assert_eq!(numbers(links, "drop_rate")[0], Some(0.2));
    assert_eq!(numbers(links, "mark_rate")[0], Some(0.3));
    assert_eq!((counts(links, "arrived")[0], counts(links, "arrived_after_warmup")[0]), (Some(20), Some(10)));
}

#[test]
fn depths_at_dequeue_are_a_table_if_the_plan_asks_for_them() {
    assert!(table::tables(&plan(), &record()).iter().all(|(name, _)| *name != "depths"));
    let (mut plan, mut record) = (plan(), record());
    plan.links[0].count_depths = true;
    [2, 0, 2].into_iter().for_each(|depth| record.links[0].depths.count(depth));
    let tables = table::tables(&plan, &record);
    let depths = get(&tables, "depths");
    assert_eq!(counts(depths, "depth"), [Some(0), Some(2)]);
    assert_eq!(counts(depths, "packets"), [Some(1), Some(2)]);
}

#[test]
fn inner_variables_are_nullable_columns_and_never_hide_another() {
    let tables = table::tables(&plan(), &record());
    let flows = get(&tables, "flow_series");
    assert_eq!(numbers(flows, "alpha"), [Some(0.5), None]);
    assert_eq!(numbers(flows, "control_cwnd_bytes"), [None, Some(1.0)]);
    assert_eq!(counts(flows, "cwnd_bytes"), [Some(14_480), Some(14_480)]);
    assert_eq!(counts(flows, "ssthresh_bytes"), [None, None], "no reduction yet");
    assert_eq!(numbers(get(&tables, "queue_series"), "count"), [Some(4.0), None]);
}

#[test]
fn names_are_dictionary_encoded_and_columns_tell_their_unit() {
    let tables = table::tables(&plan(), &record());
    let pings = get(&tables, "pings");
    let flow = pings.column_by_name("flow").unwrap().as_dictionary::<Int32Type>();
    assert_eq!((flow.len(), flow.keys().value(0), flow.values().as_string::<i32>().value(1)), (1, 1, "ping"));
    let schema = pings.schema();
    assert_eq!(schema.field_with_name("rtt_ns").unwrap().metadata().get("unit").map(String::as_str), Some("ns"));
}

#[test]
fn equal_records_have_equal_digests_and_others_do_not() {
    let digest = |record: &Record| table::digest(&table::tables(&plan(), record));
    let mut other = record();
    other.pings[0].rtt = Dur::from_ns(10_000_001);
    assert_eq!(digest(&record()), digest(&record()));
    assert_ne!(digest(&record()), digest(&other));
    assert_eq!(digest(&Record { flows: record().flows, links: record().links, ..Record::default() }).len(), 64);
}
