//! Worked examples of CAKE.

use super::*;
use crate::testing::{Recorder, TestPkt, link};
use crate::{Ecn, PureAck};
use alloc::vec::Vec;

fn queue(params: &Params) -> (Cake<TestPkt>, Recorder) {
    (Cake::new(params, &link()).unwrap(), Recorder::new(1))
}
fn us(us: u64) -> Time {
    Time::from_ns(1000 * us)
}
/// Each source sends as fast as the link takes packets; the share of those that `of` selects.
fn share(q: &mut Cake<TestPkt>, fate: &mut Recorder, sources: &[TestPkt], of: impl Fn(&TestPkt) -> bool) -> f64 {
    let (mut id, mut sent) = (0, Vec::new());
    for step in 0..4000 {
        let now = us(1200 * step);
        for source in sources {
            q.enqueue(now, TestPkt { id, ..source.clone() }, fate);
            id += 1;
        }
        sent.extend(q.dequeue(now, fate));
    }
    let late = &sent[1000..];
    late.iter().filter(|pkt| of(pkt)).count() as f64 / late.len() as f64
}
fn from(src: u8, flow: u16) -> TestPkt {
    TestPkt { src, ..TestPkt::new(0, 1500).flow(flow) }
}

#[test]
fn the_shaper_has_no_burst_and_counts_the_overhead() {
    // 1500 + 44 bytes in 33 cells of 53 bytes: 1749 bytes at 8 Mbit/s take 1.749 ms.
    let params =
        Params { bandwidth: Some(Rate::from_mbps(8)), overhead: 44, framing: Framing::Atm, ..Params::default() };
    let (mut q, mut fate) = queue(&params);
    (0..4).for_each(|id| q.enqueue(us(500), TestPkt::new(id, 1500), &mut fate));
    let mut at = Vec::new();
    while let Some(ready) = q.ready_at().filter(|at| *at != Time::NEVER) {
        assert!(q.dequeue(ready, &mut fate).is_some());
        at.push(ready.as_ns() / 1000);
    }
    assert_eq!(at, [500, 2249, 3998, 5747]);
    assert_eq!((q.ready_at(), q.dequeue(us(9000), &mut fate)), (Some(Time::NEVER), None));
}
#[test]
fn at_the_ingress_dropped_packets_take_the_shaper_too() {
    // Room for two of five packets of 1.5 ms. The three drops take the shaper until 5 ms, but a packet may follow another
    // after 2.25 ms.
    let times = |ingress| {
        let limit = Some(Size::Packets(2));
        let (mut q, mut fate) =
            queue(&Params { bandwidth: Some(Rate::from_mbps(8)), ingress, limit, ..Params::default() });
        (0..5).for_each(|id| q.enqueue(us(500), TestPkt::new(id, 1500), &mut fate));
        core::iter::from_fn(|| {
            let at = q.ready_at().filter(|at| *at != Time::NEVER)?;
            q.dequeue(at, &mut fate).map(|_| at.as_ns() / 1000)
        })
        .collect::<Vec<_>>()
    };
    assert_eq!((times(false), times(true)), (alloc::vec![500, 2000], alloc::vec![500, 2750]));
}
#[test]
fn at_the_ingress_each_bulk_flow_keeps_two_packets() {
    // Eighteen flows of two packets each fill a shaper. Each packet waits 54 ms, as 36 take at 8 Mbit/s: that is not late.
    let drops = |ingress| {
        let (mut q, mut fate) = queue(&Params {
            bandwidth: Some(Rate::from_mbps(8)),
            ingress,
            isolation: Isolation::Flows,
            ..Params::default()
        });
        (0..36).for_each(|id| q.enqueue(us(0), TestPkt::new(id, 1500).flow(id as u16 % 18), &mut fate));
        for id in 36..1000 {
            let now = q.ready_at().unwrap();
            q.dequeue(now, &mut fate);
            q.enqueue(now, TestPkt::new(id, 1500).flow(id as u16 % 18), &mut fate);
        }
        fate.dropped.len()
    };
    assert!(drops(false) > 10 && drops(true) == 0, "{} and {}", drops(false), drops(true));
}
#[test]
fn without_a_bandwidth_no_packet_is_withheld() {
    let (mut q, mut fate) = queue(&Params::default());
    q.enqueue(us(0), TestPkt::new(0, 1500), &mut fate);
    assert!(q.ready_at().is_none() && q.dequeue(us(0), &mut fate).is_some());
}
#[test]
fn hosts_share_equally_whatever_their_number_of_flows() {
    let sources: Vec<TestPkt> = (0..4).map(|flow| from(1, flow)).chain([from(2, 9)]).collect();
    let of = |isolation| {
        let (mut q, mut fate) = queue(&Params { isolation, ..Params::default() });
        share(&mut q, &mut fate, &sources, |pkt| pkt.src == 2)
    };
    assert!((of(Isolation::DualSrchost) - 0.5).abs() < 0.02, "{}", of(Isolation::DualSrchost));
    assert!((of(Isolation::Hosts) - 0.5).abs() < 0.02, "{}", of(Isolation::Hosts));
    assert!((of(Isolation::Flows) - 0.2).abs() < 0.02, "{}", of(Isolation::Flows));
    // All have one destination, which has five flows: the load of each flow is that of its destination.
    assert!((of(Isolation::TripleIsolate) - 0.2).abs() < 0.02, "{}", of(Isolation::TripleIsolate));
}
#[test]
fn voice_goes_first_within_its_quarter_and_shares_beyond() {
    let params = Params { bandwidth: Some(Rate::from_mbps(10)), ..Params::default() };
    let (mut q, mut fate) = queue(&params);
    let sources = [TestPkt { dscp: 46, ..from(1, 1) }, from(1, 2)];
    // Voice is sure of a quarter; best effort's part is the whole, so it is due first for the rest.
    let voice = share(&mut q, &mut fate, &sources, |pkt| pkt.dscp == 46);
    assert!((0.2..=0.3).contains(&voice), "{voice}");
    let (mut q, mut fate) = queue(&params);
    let alone = share(&mut q, &mut fate, &[TestPkt { dscp: 8, ..from(1, 1) }], |_| true);
    assert_eq!(alone, 1.0, "bulk alone has the whole link");
}
#[test]
fn without_a_shaper_tins_take_turns_by_their_parts() {
    let (mut q, mut fate) = queue(&Params::default());
    let voice = share(&mut q, &mut fate, &[TestPkt { dscp: 46, ..from(1, 1) }, from(1, 2)], |pkt| pkt.dscp == 46);
    assert!((voice - 0.2).abs() < 0.02, "1/4 beside 1: {voice}");
}
#[test]
fn a_new_flow_is_sent_first() {
    let (mut q, mut fate) = queue(&Params::default());
    (0..10).for_each(|id| q.enqueue(us(0), TestPkt::new(id, 1500).flow(1), &mut fate));
    (0..3).for_each(|_| assert_eq!(q.dequeue(us(1), &mut fate).unwrap().flow, 1));
    q.enqueue(us(2), TestPkt::new(100, 100).flow(2), &mut fate);
    assert_eq!(q.dequeue(us(3), &mut fate).unwrap().id, 100);
}
#[test]
fn overflow_takes_the_oldest_of_the_longest_and_wakes_blue() {
    let (mut q, mut fate) = queue(&Params { limit: Some(Size::Packets(4)), ..Params::default() });
    for (id, flow) in [(0, 1), (1, 2), (2, 2), (3, 2), (4, 1)] {
        q.enqueue(us(10_000), TestPkt::new(id, 1500).flow(flow), &mut fate);
    }
    assert_eq!(fate.dropped_ids(), [1]);
    assert_eq!(q.backlog(), Backlog { packets: 4, bytes: 6000 });
}
#[test]
fn a_queue_that_stands_is_marked_or_dropped() {
    for (aged, ecn, dropped) in
        [(true, Ecn::Ect0, 0), (true, Ecn::NotEct, 4), (false, Ecn::Ect0, 0), (false, Ecn::NotEct, 5)]
    {
        let (mut q, mut fate) = queue(&Params { aged, ..Params::default() });
        (0..200).for_each(|id| q.enqueue(us(0), TestPkt::new(id, 1500).ecn(ecn), &mut fate));
        // Each second millisecond from 6 ms on: signals 100 ms after the first, at once in a fresh queue, then after
        // 70.7, 57.7 ms.
        (6..250).for_each(|ms| {
            if ms % 2 == 0 {
                q.dequeue(us(1000 * ms), &mut fate);
            }
        });
        let signals = fate.dropped.len() + fate.marked.len();
        assert!(signals >= 3 && fate.dropped.len() == dropped.min(signals), "{ecn:?}: {signals}");
    }
}
#[test]
fn the_filter_drops_the_oldest_acknowledgement_that_the_newest_contains() {
    let ack =
        |id, ack, flags| TestPkt { ack: Some(PureAck { ack, flags, ..PureAck::default() }), ..TestPkt::new(id, 66) };
    let dropped = |filter, acks: &[(u32, u8)]| {
        let (mut q, mut fate) = queue(&Params { ack_filter: filter, ..Params::default() });
        for (id, &(number, flags)) in (0..).zip(acks) {
            q.enqueue(us(0), ack(id, number, flags), &mut fate);
        }
        assert_eq!(q.backlog().packets as usize, acks.len() - fate.dropped.len());
        fate.dropped_ids()
    };
    let growing = [(1000, 0), (2000, 0), (3000, 0), (4000, 0)];
    assert_eq!(dropped(AckFilter::Off, &growing), [0_u64; 0]);
    assert_eq!(dropped(AckFilter::On, &growing), [0, 1], "two are left");
    assert_eq!(dropped(AckFilter::Aggressive, &growing), [0, 1, 2], "the newest is left");
    assert_eq!(dropped(AckFilter::Aggressive, &[(1000, 0), (1000, 0), (1000, 0)]), [0_u64; 0], "duplicates count");
    assert_eq!(dropped(AckFilter::Aggressive, &[(1000, 1), (2000, 0)]), [0_u64; 0], "its ECN echo would be lost");
    assert_eq!(dropped(AckFilter::Aggressive, &[(u32::MAX - 5, 0), (5, 0)]), [0], "numbers wrap");
}

/// Two acknowledgements as a receiver with holes sends them: the aggressive filter drops the older one if the newer one
/// covers it.
#[test]
fn an_acknowledgement_goes_if_a_later_one_covers_its_blocks() {
    let ack = |id, ack, blocks: &[(u32, u32)]| {
        let mut said = PureAck { ack, ..PureAck::default() };
        said.sack[..blocks.len()].copy_from_slice(blocks);
        TestPkt { ack: Some(said), ..TestPkt::new(id, 78) }
    };
    let goes = |old: (u32, &[(u32, u32)]), new: (u32, &[(u32, u32)])| {
        let (mut q, mut fate) = queue(&Params { ack_filter: AckFilter::Aggressive, ..Params::default() });
        q.enqueue(us(0), ack(0, old.0, old.1), &mut fate);
        q.enqueue(us(0), ack(1, new.0, new.1), &mut fate);
        fate.dropped_ids() == [0]
    };
    let first = (1000, &[(2000, 3000)][..]);
    assert!(goes(first, (1000, &[(2000, 4000)])), "the block has grown");
    assert!(goes(first, (1000, &[(5000, 6000), (2000, 3000)])), "another block");
    assert!(goes((1000, &[]), first), "the first block");
    assert!(goes(first, (1500, &[(2000, 3000)])), "a higher number and the same block");
    assert!(!goes(first, first), "a duplicate counts");
    assert!(!goes(first, (1000, &[(5000, 9000)])), "the block was pushed out");
    assert!(!goes(first, (4000, &[])), "no block covers it, though the number does");
    assert!(!goes((1000, &[(500, 800), (2000, 3000)]), (1000, &[(500, 800), (2000, 4000)])), "it reports a duplicate");
    let wrapping = (u32::MAX - 99, &[(u32::MAX - 50, 50)][..]);
    assert!(goes(wrapping, (u32::MAX - 99, &[(u32::MAX - 50, 150)])), "numbers wrap");
    assert!(!goes(wrapping, (u32::MAX - 99, &[(u32::MAX - 40, 50)])));
}
