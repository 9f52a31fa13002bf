//! Worked examples, and the analytic models of throughput and of contention.

use super::*;
use crate::testing::{Recorder, TestPkt, link};
use alloc::vec;

/// Stations with the hosts 2, 3 and so on. A packet from host 1 to host 2 goes to the first.
fn params(rates: &[f64]) -> Params {
    let station = |(i, mbps): (usize, &f64)| Station {
        host: Some(2 + i as u16),
        rate: Rate::from_bps(libm::round(mbps * 1e6) as u64),
        ..Station::default()
    };
    Params { stations: rates.iter().enumerate().map(station).collect(), ..Params::default() }
}
fn wifi(params: &Params) -> Wifi<TestPkt> {
    Wifi::new(params, &link()).unwrap()
}
/// A packet of 1500 bytes with an Ethernet header.
fn to(host: u8, id: u64) -> TestPkt {
    TestPkt { dst: host, ..TestPkt::new(id, 1514) }
}
fn us(us: u64) -> Time {
    Time::from_ns(1000 * us)
}
/// Runs until `end`; a lane with less than 150 packets is filled up. Returns what left.
fn saturate(q: &mut Wifi<TestPkt>, lanes: &[(u8, u8)], end: Time, fate: &mut Recorder) -> Vec<(Time, TestPkt)> {
    let (mut now, mut out, mut waiting, mut id) = (Time::ZERO, Vec::new(), vec![0u32; lanes.len()], 0);
    while now < end {
        for (lane, (src, dst)) in lanes.iter().enumerate() {
            while waiting[lane] < 150 {
                q.enqueue(now, TestPkt { src: *src, dst: *dst, flow: lane as u16, ..TestPkt::new(id, 1514) }, fate);
                (waiting[lane], id) = (waiting[lane] + 1, id + 1);
            }
        }
        while let Some(pkt) = q.dequeue(now, fate) {
            waiting[usize::from(pkt.flow)] -= 1;
            out.push((now, pkt));
        }
        for (pkt, _) in fate.dropped.drain(..) {
            waiting[usize::from(pkt.flow)] -= 1;
        }
        now = q.ready_at().expect("it withholds");
    }
    out
}
/// Goodput of IP packets to each host from 2 on, in Mbit/s.
fn rates(out: &[(Time, TestPkt)], hosts: usize, seconds: f64) -> Vec<f64> {
    let bytes = |host| out.iter().filter(|(_, pkt)| usize::from(pkt.dst) == host + 2).count() as f64 * 1500.0;
    (0..hosts).map(|host| bytes(host) * 8.0 / seconds / 1e6).collect()
}
fn fixed(rates: &[f64], scheduler: Scheduler) -> Params {
    let tail = Some(Box::new(QueueParams::DropTail(drop_tail::Params::default())));
    Params { scheduler, queue: tail.clone(), uplink: tail, ..params(rates) }
}
fn near(got: f64, want: f64, part: f64) {
    assert!((got / want - 1.0).abs() < part, "{got} against {want}");
}

#[test]
fn a_packet_alone_takes_preamble_data_and_acknowledgement() {
    // 1542 bytes at 12.336 Mbit/s take 1 ms; preamble 36, SIFS 16, block acknowledgement 32: 84 us more.
    let (mut q, mut fate) = (wifi(&params(&[12.336])), Recorder::new(1));
    q.enqueue(us(5000), to(2, 0), &mut fate);
    assert_eq!(q.ready_at(), Some(us(6084)), "a channel that was free for longer than AIFS");
    assert!(q.dequeue(us(6083), &mut fate).is_none());
    assert_eq!(q.dequeue(us(6084), &mut fate).map(|pkt| pkt.id), Some(0));
    assert_eq!((q.ready_at(), q.backlog()), (Some(Time::NEVER), Backlog::default()));
}
#[test]
fn packets_that_wait_share_one_transmission_after_a_backoff() {
    // The first goes alone. The hardware takes the second at once, and the others together when it is free again.
    let (mut q, mut fate) = (wifi(&params(&[12.336 * 8.0])), Recorder::new(1));
    (0..5).for_each(|id| q.enqueue(us(5000), to(2, id), &mut fate));
    let (mut now, mut left) = (Time::ZERO, Vec::new());
    while q.backlog().packets > 0 {
        now = q.ready_at().unwrap().max(now);
        while let Some(pkt) = q.dequeue(now, &mut fate) {
            left.push((now, pkt.id));
        }
    }
    // 125 us each, and 84. In between AIFS and whole slots.
    let times: Vec<u64> = left.iter().map(|(at, _)| at.as_ns() / 1000).collect();
    assert_eq!((times[0], left.len()), (5209, 5));
    for (before, after, packets) in [(0, 1, 1), (1, 2, 3)] {
        let slots = times[after] - times[before] - 43 - 84 - 125 * packets;
        assert!(slots.is_multiple_of(9) && slots <= 15 * 9, "{times:?}");
    }
    assert_eq!((times[2], times[3]), (times[4], times[4]));
}
#[test]
fn an_aggregate_is_no_longer_than_its_time_and_its_bytes() {
    // 4 ms at 7.2 Mbit/s are 3600 bytes: two packets of 1542. 65535 bytes: 42.
    for (rate, most) in [(7.2, 2), (144.4, 42)] {
        let (mut q, mut fate) = (wifi(&fixed(&[rate], Scheduler::RoundRobin)), Recorder::new(1));
        let out = saturate(&mut q, &[(1, 2)], us(2_000_000), &mut fate);
        let sizes: Vec<usize> = out.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).collect();
        assert_eq!(sizes.iter().max(), Some(&most), "{rate}");
    }
}
/// ATC 2017, section 2.2.1 and table 1, three stations that download by UDP: two of 144.4 Mbit/s, one of 7.2. With
/// aggregates of 28.4 and 2.9 kB the analytic model gives each a third of the airtime, and 42.2, 42.3 and 2.2
/// Mbit/s. (Measured: 38.8, 35.6 and 2.0.)
#[test]
fn airtime_fairness_gives_the_rates_of_the_analytic_model() {
    let params = Params { aggregate_packets: 19, ..fixed(&[144.4, 144.4, 7.2], Scheduler::Airtime) };
    let (mut q, mut fate) = (wifi(&params), Recorder::new(1));
    let out = saturate(&mut q, &[(1, 2), (1, 3), (1, 4)], us(30_000_000), &mut fate);
    for (got, want) in rates(&out, 3, 30.0).into_iter().zip([42.2, 42.3, 2.2]) {
        near(got, want, 0.03);
    }
    let all: Dur = q.airtimes.iter().fold(Dur::ZERO, |sum, time| sum + *time);
    for lane in 0..3 {
        near(q.airtimes[lane].as_secs_f64() / all.as_secs_f64(), 1.0 / 3.0, 0.03);
    }
}
/// The same model for any aggregates: R0 = n l / (T_data + T_oh), and a share of the airtime that is that of the
/// aggregates' times if all are served in turn. T_oh: AIFS, 7.5 slots, preamble, SIFS and acknowledgement.
#[test]
fn the_slowest_station_takes_most_of_the_airtime_without_a_scheduler() {
    let (mut q, mut fate) = (wifi(&fixed(&[144.4, 144.4, 7.2], Scheduler::Driver)), Recorder::new(1));
    let out = saturate(&mut q, &[(1, 2), (1, 3), (1, 4)], us(30_000_000), &mut fate);
    let got = rates(&out, 3, 30.0);
    let sizes = |host: u8| {
        let mine: Vec<Time> = out.iter().filter(|(_, pkt)| pkt.dst == host).map(|(at, _)| *at).collect();
        mine.len() as f64 / mine.chunk_by(|a, b| a == b).count() as f64
    };
    let time = |n: f64, mbps: f64| n * 1542.0 * 8.0 / mbps + 43.0 + 7.5 * 9.0 + 36.0 + 16.0 + 32.0;
    let stations = [(sizes(2), 144.4), (sizes(3), 144.4), (sizes(4), 7.2)];
    let times = stations.map(|(n, mbps)| time(n, mbps));
    let round: f64 = times.iter().sum();
    for (i, (n, _)) in stations.iter().enumerate() {
        near(got[i], n * 1500.0 * 8.0 / round, 0.03);
    }
    assert!(times[2] / round > 0.5, "most of the airtime: {:?}", times.map(|time| time / round));
}
#[test]
fn packets_that_failed_are_sent_again_and_come_in_order() {
    let mut params = fixed(&[144.4], Scheduler::RoundRobin);
    params.stations[0].error = Prob::of(0.2);
    let (mut q, mut fate) = (wifi(&params), Recorder::new(1));
    let out = saturate(&mut q, &[(1, 2)], us(3_000_000), &mut fate);
    assert!(out.iter().map(|(_, pkt)| pkt.id).is_sorted());
    // 0.2^7 of the packets are dropped: 13 of a million.
    assert!(out.len() > 10_000 && fate.dropped.len() < 5, "{} {}", out.len(), fate.dropped.len());
    params.stations[0].error = Prob::of(0.9);
    let (mut q, mut fate) = (wifi(&params), Recorder::new(1));
    (0..1000).for_each(|id| q.enqueue(us(0), to(2, id), &mut fate));
    let mut now = us(0);
    while q.backlog().packets > 0 {
        now = q.ready_at().unwrap().max(now);
        let _ = q.dequeue(now, &mut fate);
    }
    // 0.9^7 = 0.478: standard error 16 of 1000.
    assert!((fate.dropped.len() as f64 - 478.0).abs() < 60.0, "{}", fate.dropped.len());
}
/// Two saturated senders with CW 15: Bianchi's fixed point (JSAC 2000) for n = 2, W = 16 and m = 6 is p = tau =
/// 0.1047, so of all transmissions on the channel tau^2 / (1 - (1 - tau)^2) = 5.5 % are collisions.
#[test]
fn uplinks_contend_and_collide_as_often_as_bianchi_says() {
    let (mut q, mut fate) = (wifi(&fixed(&[144.4], Scheduler::RoundRobin)), Recorder::new(1));
    let out = saturate(&mut q, &[(1, 2), (2, 1)], us(20_000_000), &mut fate);
    let up = out.iter().filter(|(_, pkt)| pkt.dst == 1).count() as f64 / out.len() as f64;
    near(up, 0.5, 0.03);
    let sent = q.aggregates as f64 - q.collisions as f64;
    assert!((q.collisions as f64 / sent - 0.055).abs() < 0.012, "{} of {sent}", q.collisions);
}
#[test]
fn a_rate_that_changes_is_that_of_the_aggregate_s_start() {
    let mut params = params(&[12.336]);
    params.stations[0].steps = vec![RateStep { at: Dur::from_ms(10), rate: Rate::from_bps(1_233_600) }];
    let (mut q, mut fate) = (wifi(&params), Recorder::new(1));
    q.enqueue(us(5000), to(2, 0), &mut fate);
    assert!(q.dequeue(us(6084), &mut fate).is_some());
    q.enqueue(us(20_000), to(2, 1), &mut fate);
    assert_eq!(q.ready_at(), Some(us(30_084)));
}
/// 4 ms at 7.2 Mbit/s hold two packets. Those of a burst of six leave alone, alone, and in twos. The third and the
/// fourth waited for the channel. The fifth left its queue then and did not fit. An aggregate left the sixth behind.
#[test]
fn ect1_packets_are_marked_if_an_aggregate_left_them_behind() {
    for queue in [
        r#"{ "kind": "fq_codel", "target": "20ms", "ce_threshold": "1ms", "ce_threshold_selector": "0x1/0x3" }"#,
        r#"{ "kind": "codel", "target": "20ms", "ce_threshold": "1ms", "ce_threshold_selector": "0x1/0x3" }"#,
        r#"{ "kind": "dualpi2", "step": "1ms" }"#,
    ] {
        let params = Params { queue: Some(Box::new(serde_json::from_str(queue).unwrap())), ..params(&[7.2]) };
        let (mut q, mut fate) = (wifi(&params), Recorder::new(1));
        (0..6).for_each(|id| q.enqueue(us(5000), to(2, id).ecn(crate::Ecn::Ect1), &mut fate));
        let (mut now, mut left) = (us(5000), Vec::new());
        while q.backlog().packets > 0 {
            now = q.ready_at().unwrap().max(now);
            while let Some(pkt) = q.dequeue(now, &mut fate) {
                left.push((now, pkt.id));
            }
        }
        let sizes: Vec<usize> = left.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).collect();
        assert_eq!((sizes, fate.marked_ids()), (vec![1, 1, 2, 2], vec![5]), "{queue}");
    }
}
/// The first of three packets may leave alone; with `late` the second and the third are in one aggregate all the same,
/// and a fourth that comes during the transmission joins them.
#[test]
fn late_aggregates_take_packets_until_their_transmission_starts() {
    let aggregates = |late| {
        let (mut q, mut fate) = (wifi(&Params { late, ..params(&[12.336 * 8.0]) }), Recorder::new(1));
        (0..3).for_each(|id| q.enqueue(us(5000), to(2, id), &mut fate));
        q.enqueue(us(5100), to(2, 3), &mut fate);
        let mut now = us(5100);
        while q.backlog().packets > 0 {
            now = q.ready_at().unwrap().max(now);
            while q.dequeue(now, &mut fate).is_some() {}
        }
        (q.aggregates, q.aggregated)
    };
    assert_eq!((aggregates(false), aggregates(true)), ((3, 4), (2, 4)));
}
/// Of five packets at 5 ms the first leaves alone, and the second and the third together (4 ms at 7.2 Mbit/s). The fourth did not fit. The
/// fifth leaves its queue once the first is through, 1797 us later: no aggregate left it behind. A sixth at 6.5 ms finds a full aggregate,
/// which is no new turn.
#[test]
fn a_late_packet_does_not_move_the_turn_of_its_station() {
    let queue = r#"{ "kind": "codel", "target": "20ms", "ce_threshold": "1ms" }"#;
    let queue = Some(Box::new(serde_json::from_str(queue).unwrap()));
    let (mut q, mut fate) = (wifi(&Params { late: true, queue, ..params(&[7.2]) }), Recorder::new(1));
    (0..5).for_each(|id| q.enqueue(us(5000), to(2, id).ecn(crate::Ecn::Ect1), &mut fate));
    q.enqueue(us(6500), to(2, 5).ecn(crate::Ecn::Ect1), &mut fate);
    assert_eq!(q.dequeue(us(6798), &mut fate).map(|pkt| pkt.id), Some(0));
    assert!(fate.marked_ids().is_empty(), "{:?}", fate.marked_ids());
}
#[test]
fn two_stations_with_one_host_are_refused() {
    let mut params = params(&[10.0, 20.0]);
    params.stations[1].host = Some(2);
    let error = Wifi::<TestPkt>::new(&params, &link()).expect_err("refused");
    assert!(alloc::string::ToString::to_string(&error).contains("host must be one of its own, got 2"));
}
