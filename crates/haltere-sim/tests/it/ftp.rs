//! FTP tasks: their dialogue, their marks, closed loops, and what routers make of them.
#![allow(missing_docs, reason = "tests")]

use crate::common::{drop_tail, flow, plan, wire};
use haltere_congestion::CongestionParams;
use haltere_plan::plan::{AppPlan, FtpPlan, LinkPlan, TcpPlan, Work};
use haltere_plan::record::TaskRecord;
use haltere_plan::{Plan, Record};
use haltere_queue::QueueParams;
use haltere_queue::classed;
use haltere_queue::classify::ClassifierParams;
use haltere_sim::{RunControl, run};
use haltere_transport::TcpParams;
use haltere_units::{Bytes, Dur, Prob, Time};
use std::sync::Arc;

fn tcp() -> TcpPlan {
    let host = TcpParams { syn_retries: 10, ..TcpParams::default() };
    let congestion = CongestionParams::default_of("reno").unwrap();
    TcpPlan::alike(congestion, host)
}
fn ftp(work: Work) -> AppPlan {
    AppPlan::Ftp(FtpPlan { tcp: tcp(), work, short: Bytes::new(16_000) })
}
/// Client 0 and server 2 on either side of router 1, the line behind it slow.
fn network(works: Vec<Work>, length: Dur) -> Plan {
    let links = [wire(0, 1, 100), wire(1, 2, 1)].concat();
    plan(3, links, works.into_iter().map(|work| flow(0, 2, ftp(work))).collect(), length)
}
fn one(bytes: u64) -> Work {
    Work::One(Bytes::new(bytes))
}
fn go(plan: &Plan) -> Record {
    run(plan, &RunControl::default()).unwrap()
}
fn bottleneck(plan: &mut Plan) -> &mut LinkPlan {
    plan.links.iter_mut().find(|l| l.name == "n1>n2").unwrap()
}
fn seconds(at: Time) -> f64 {
    at.since(Time::ZERO).as_secs_f64()
}

#[test]
fn one_task_takes_the_round_trips_of_its_dialogue_and_the_time_of_its_file() {
    let plan = network(vec![one(1_000_000)], Dur::from_secs(60));
    let record = go(&plan);
    let [task] = record.tasks.as_slice() else { panic!("{:?}", record.tasks) };
    // Round trip 4 ms and the small packets' time on 1 Mbit/s (74 to 128 bytes: about 0.6 to 1 ms in one direction).
    // Before the data connection: the handshake with the 220 behind it, then USER, PASS, TYPE and PASV: 5.5 round
    // trips.
    let data = seconds(task.data.unwrap());
    assert!((0.022..0.040).contains(&data), "data connection at {data} s");
    // 1 MB in 691 packets of 1448 bytes and 66 of headers: 8.37 s on the line.
    let end = seconds(task.end.unwrap());
    assert!((8.40..8.50).contains(&end), "task done at {end} s");
    assert_eq!((record.flows[0].received, task.failures), (1_000_000, 0));
}

#[test]
fn every_task_of_a_list_is_done_whatever_is_lost() {
    let mut plan = network((1..=40).map(|i| one(i * 2_000)).collect(), Dur::from_secs(300));
    bottleneck(&mut plan).queue = drop_tail(10).into();
    bottleneck(&mut plan).loss = Prob::new(0.02).unwrap();
    let record = go(&plan);
    assert_eq!(record.tasks.len(), 40);
    assert!(record.tasks.iter().all(|task| task.end.is_some()), "{:?}", record.tasks);
    for task in &record.tasks {
        assert_eq!(record.flows[task.flow as usize].received, task.bytes.as_u64());
    }
}

#[test]
fn a_task_whose_connection_gives_up_begins_again() {
    let mut plan = network(vec![one(1000)], Dur::from_secs(1));
    let AppPlan::Ftp(ftp) = &mut plan.flows[0].app else { panic!() };
    let sender = TcpParams { syn_retries: 0, initial_rto: Dur::from_ms(200), ..TcpParams::default() };
    ftp.tcp.sender = sender.into();
    bottleneck(&mut plan).loss = Prob::new(1.0).unwrap();
    let [task] = go(&plan).tasks[..] else { panic!() };
    assert_eq!(
        task,
        TaskRecord {
            flow: 0,
            bytes: Bytes::new(1000),
            start: Time::ZERO,
            data: None,
            end: None,
            failures: task.failures
        }
    );
    assert!((3..=5).contains(&task.failures), "{task:?}");
}

#[test]
fn a_closed_loop_keeps_its_tasks_going_with_files_of_the_base() {
    let base: std::sync::Arc<[Bytes]> = [1_000, 5_000, 20_000].map(Bytes::new).into();
    let record = go(&network(vec![Work::Loop(base.clone()); 5], Dur::from_secs(100)));
    let unfinished = record.tasks.iter().filter(|task| task.end.is_none()).count();
    // Between the reply to the file and the end of the dialogue a task is done and the next not yet begun.
    assert!(unfinished <= 5 && unfinished + 5 >= 5, "{unfinished} unfinished");
    let done: Vec<_> = record.tasks.iter().filter(|task| task.end.is_some()).collect();
    // 8.7 kB a task and about 1.5 kB of dialogue and headers at 1 Mbit/s: about 12 a second.
    assert!((800..1400).contains(&done.len()), "{} done", done.len());
    for bytes in base.iter() {
        let n = done.iter().filter(|task| task.bytes == *bytes).count();
        // A third of all, five standard deviations sqrt(n 2/9) wide.
        let (third, wide) = (done.len() as f64 / 3.0, 5.0 * (done.len() as f64 * 2.0 / 9.0).sqrt());
        assert!((n as f64 - third).abs() < wide, "{n} of {} with {bytes}", done.len());
    }
    for flow in 0..5 {
        let mut own = record.tasks.iter().filter(|task| task.flow == flow).collect::<Vec<_>>();
        own.sort_by_key(|task| task.start);
        assert!(own.windows(2).all(|two| two[0].end.is_some_and(|end| end <= two[1].start)), "tasks of {flow} overlap");
    }
}

/// The last sample of the bottleneck's classifier: hits and misses by the sender's mark, and packets without an offset.
fn verdicts(classifier: &str, isn_zero_bits: u32) -> [f64; 5] {
    let mut plan = network(vec![one(4_000), one(400_000)], Dur::from_secs(20));
    let classifier = ClassifierParams::default_of(classifier).unwrap();
    bottleneck(&mut plan).queue =
        QueueParams::Classed(classed::Params { classifier, ..classed::Params::default() }).into();
    plan.measure.queues = Some(Dur::from_secs(20));
    for flow in &mut plan.flows {
        let AppPlan::Ftp(ftp) = &mut flow.app else { panic!() };
        Arc::make_mut(&mut ftp.tcp.sender).isn_zero_bits = isn_zero_bits;
    }
    let record = go(&plan);
    assert!(record.tasks.iter().all(|task| task.end.is_some()));
    let sample = record.queue_series.iter().rfind(|s| plan.links[s.link as usize].name == "n1>n2").unwrap();
    let names = ["short_hits", "short_misses", "long_hits", "long_misses", "unseen"];
    names.map(|name| sample.vars.iter().find(|(n, _)| *n == name).map_or(f64::NAN, |(_, v)| *v))
}

#[test]
fn the_ideal_classifier_sees_the_mark_on_every_packet() {
    let [short, missed, long, mistaken, unseen] = verdicts("ideal", 0);
    assert!(short > 10.0 && long > 280.0, "{short} short, {long} long");
    assert_eq!([missed, mistaken, unseen], [0.0; 3]);
}

#[test]
fn run2c_sees_offsets_only_of_senders_that_start_at_zero_bits() {
    let [short, missed, long, mistaken, unseen] = verdicts("run2c", 22);
    assert_eq!((missed, unseen), (0.0, 0.0));
    // 12 data packets below 16 kB, the handshakes and the control connection of the long task are called short.
    assert!(short > 10.0 && long > 250.0 && (12.0..40.0).contains(&mistaken), "{short} {long} {mistaken}");
    let [short, missed, long, mistaken, unseen] = verdicts("run2c", 0);
    assert_eq!((missed, long), (0.0, 0.0));
    assert_eq!(unseen, short + mistaken);
}

#[test]
fn rafle_calls_the_lone_long_flow_long_nearly_always_and_ever_more_than_the_short_one() {
    let [short, missed, long, mistaken, _] = verdicts("rafle", 0);
    assert!(long / (long + mistaken) > 0.7, "{long} of {}", long + mistaken);
    assert!(missed / (short + missed) < 0.3, "{missed} of {}", short + missed);
}
