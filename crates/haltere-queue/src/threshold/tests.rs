//! Worked examples of the thresholds.

use super::*;
use crate::testing::{Recorder, TestPkt, link};
use alloc::format;
use alloc::vec::Vec;
use haltere_units::{Bytes, Dur, Rate};

fn packets(n: u64) -> Level {
    Level::Size(Size::Packets(n))
}
/// Marks from 10 packets on, until below 8.
fn hysteresis() -> Params {
    Params { upper: packets(10), lower: Some(packets(8)), ..Params::default() }
}
fn queue(params: &Params) -> (Threshold<TestPkt>, Recorder) {
    (Threshold::new(params, &link()).unwrap(), Recorder::new(1))
}
/// Brings the queue to each of those lengths in turn; true where the packet that met it was marked.
fn marks_at(params: &Params, lengths: &[u32]) -> Vec<bool> {
    let (mut q, mut fate) = queue(params);
    let mut out = Vec::new();
    for &length in lengths {
        while q.backlog().packets > length {
            q.dequeue(Time::ZERO, &mut fate);
        }
        while q.backlog().packets < length {
            q.store.push(Time::ZERO, TestPkt::new(0, 1500)).unwrap();
            q.ports[0].backlog.add(1500);
        }
        fate.marked.clear();
        q.enqueue(Time::ZERO, TestPkt::new(1, 1500).ecn(Ecn::Ect0), &mut fate);
        out.push(!fate.marked.is_empty());
    }
    out
}

#[test]
fn one_threshold_marks_at_or_above_and_forgets_at_once() {
    let params = Params { upper: packets(10), ..Params::default() };
    assert_eq!(marks_at(&params, &[9, 10, 9, 11, 9]), [false, true, false, true, false]);
}

#[test]
fn between_two_thresholds_marking_goes_on_only_once_begun() {
    assert_eq!(marks_at(&hysteresis(), &[9, 10, 9, 8, 7, 8, 9]), [false, true, true, true, false, false, false]);
}

/// Silva et al., section 4.1: floor(L_S - 15 % of L_S), and 8 for 10. Its own 36 for 42 in section 5.1 is not the
/// floor.
#[test]
fn a_lower_threshold_of_fifteen_percent_less_is_rounded_down() {
    let below = |upper| Params { upper: packets(upper), lower_fraction: Some(0.15), ..Params::default() };
    let lower = |upper| queue(&below(upper)).0.lower;
    assert_eq!([1, 10, 20, 42, 100].map(lower), [1.0, 8.0, 17.0, 35.0, 85.0]);
    assert_eq!(marks_at(&below(42), &[42, 35, 34, 41]), [true, true, false, false]);
}

#[test]
fn per_destination_each_has_its_own_limit_thresholds_and_state() {
    let params = Params { limit: Size::Packets(3), upper: packets(2), per_destination: true, ..Params::default() };
    let (mut q, mut fate) = queue(&params);
    let to = |id, dst| TestPkt { dst, ..TestPkt::new(id, 1500).ecn(Ecn::Ect0) };
    for (id, dst) in [(0, 2), (1, 2), (2, 2), (3, 2), (4, 6), (5, 6)] {
        q.enqueue(Time::ZERO, to(id, dst), &mut fate);
    }
    assert_eq!((fate.marked_ids(), fate.dropped_ids()), (alloc::vec![2], alloc::vec![3]));
    let left: Vec<u64> = core::iter::from_fn(|| q.dequeue(Time::ZERO, &mut fate)).map(|p| p.id).collect();
    assert_eq!(left, [0, 1, 2, 4, 5], "in order of arrival");
    q.enqueue(Time::ZERO, to(6, 2), &mut fate);
    assert_eq!(fate.marked_ids(), [2], "an empty queue is calm again");
}

/// Packets to these destinations arrive at a queue per destination; which of them are marked.
fn marked(params: Params, destinations: &[u8]) -> Vec<u64> {
    let (mut q, mut fate) = queue(&Params { per_destination: true, ..params });
    for (id, &dst) in destinations.iter().enumerate() {
        let pkt = TestPkt { dst, ..TestPkt::new(id as u64, 1500).ecn(Ecn::Ect0) };
        q.enqueue(Time::ZERO, pkt, &mut fate);
    }
    fate.marked_ids()
}

#[test]
fn one_state_for_all_ends_with_a_packet_to_an_idle_destination() {
    let params = Params { upper: packets(2), lower: Some(packets(1)), ..Params::default() };
    let shared = Params { shared_state: true, ..params.clone() };
    // Two wait for 2, so the third is marked. One waits for 6 when the fifth comes.
    assert_eq!(marked(params, &[2, 2, 2, 6, 6]), [2]);
    assert_eq!(marked(shared.clone(), &[2, 2, 6, 2, 6]), [3, 4], "2 begins, and 6 is between the thresholds");
    assert_eq!(marked(shared, &[2, 2, 2, 6, 6]), [2], "the first packet to 6 ends it");
}

#[test]
fn packets_in_the_output_buffer_meet_no_limit_and_no_threshold() {
    let params = Params { limit: Size::Packets(2), upper: packets(1), output_buffer: 2, ..Params::default() };
    let (mut q, mut fate) = queue(&params);
    for id in 0..5 {
        q.enqueue(Time::ZERO, TestPkt::new(id, 1500).ecn(Ecn::Ect0), &mut fate);
    }
    assert_eq!((fate.marked_ids(), fate.dropped_ids()), (alloc::vec![3], alloc::vec![4]));
    assert_eq!((q.backlog().packets, q.ports[0].backlog.packets), (4, 2));
    // A packet that leaves makes room in the buffer, and so in the queue.
    assert_eq!(q.dequeue(Time::ZERO, &mut fate).map(|pkt| pkt.id), Some(0));
    assert_eq!((q.backlog().packets, q.ports[0].backlog.packets), (3, 1));
    let left: Vec<u64> = core::iter::from_fn(|| q.dequeue(Time::ZERO, &mut fate)).map(|p| p.id).collect();
    assert_eq!(left, [1, 2, 3], "in order of arrival");
    assert_eq!(q.backlog(), Backlog::default());
}

#[test]
fn an_output_buffer_behind_delays_is_refused() {
    let params = Params { upper: Level::Delay(Dur::from_ms(1)), output_buffer: 1, ..Params::default() };
    let said = "output_buffer must be 0 if the thresholds are delays, got 1; write `upper` in packets";
    let link = LinkContext { rate: Some(Rate::from_mbps(10)), ..LinkContext::default() };
    assert_eq!(
        Threshold::<TestPkt>::new(&params, &link).err().map(|error| alloc::format!("{error}")).as_deref(),
        Some(said)
    );
}

#[test]
fn auto_is_42_packets_on_a_gigabit_of_three_milliseconds() {
    // 0.17 * 10^9 / 8 * 0.003 / 1500 = 42.5.
    let rate = Some(Rate::from_mbps(1000));
    let link =
        LinkContext { rate, rtt: Some(Dur::from_ms(3)), packet: Bytes::new(1500), seed: 0, ..Default::default() };
    assert_eq!(Threshold::<TestPkt>::new(&Params::default(), &link).unwrap().upper, 42.0);
}

#[test]
fn a_threshold_in_bytes_counts_bytes() {
    let params = Params { upper: Level::Size(Size::Bytes(3000)), ..Params::default() };
    assert_eq!(marks_at(&params, &[1, 2]), [false, true]);
}

#[test]
fn a_delay_is_held_against_each_packet_as_it_leaves() {
    let (mut q, mut fate) = queue(&Params { upper: Level::Delay(Dur::from_ms(1)), ..Params::default() });
    for id in 0..3 {
        q.enqueue(Time::ZERO, TestPkt::new(id, 1500).ecn(Ecn::Ect1), &mut fate);
    }
    q.dequeue(Time::from_ns(999_999), &mut fate);
    q.dequeue(Time::from_ns(1_000_000), &mut fate);
    assert_eq!(fate.marked_ids(), [1]);
}

/// A packet that meets a congested queue.
fn congested(params: Params, pkt: TestPkt) -> Recorder {
    let (mut q, mut fate) = queue(&Params { upper: packets(1), ..params });
    q.enqueue(Time::ZERO, TestPkt::new(0, 1500), &mut fate);
    q.enqueue(Time::ZERO, pkt, &mut fate);
    fate
}

#[test]
fn a_packet_that_meets_congestion_is_returned_once_and_goes_on_unmarked() {
    let params = Params { return_to_sender: true, ..Params::default() };
    let fate = congested(params, TestPkt::new(1, 1500).ecn(Ecn::Ect0));
    assert_eq!((fate.emitted_ids(), fate.marked_ids()), (alloc::vec![1], Vec::new()));
}

#[test]
fn with_mark_the_returned_packet_s_original_is_marked_too() {
    let params = Params { return_to_sender: true, mark: Some(true), ..Params::default() };
    let fate = congested(params, TestPkt::new(1, 1500).ecn(Ecn::Ect0));
    assert_eq!((fate.emitted_ids(), fate.marked_ids()), (alloc::vec![1], alloc::vec![1]));
}

#[test]
fn packets_pass_an_empty_queue_that_is_calm() {
    let (mut q, mut fate) = queue(&hysteresis());
    assert!(q.passes(1500));
    (0..11).for_each(|id| q.enqueue(Time::ZERO, TestPkt::new(id, 1500), &mut fate));
    while q.dequeue(Time::ZERO, &mut fate).is_some() {}
    assert!(!q.passes(1500), "the last packet met ten, and none has met fewer than eight since");
    q.enqueue(Time::ZERO, TestPkt::new(11, 1500), &mut fate);
    assert!(!q.passes(1500), "a packet waits");
    q.dequeue(Time::ZERO, &mut fate);
    assert!(q.passes(1500));
}

#[test]
fn marked_packets_and_copies_are_not_returned_again() {
    let params = Params { return_to_sender: true, ..Params::default() };
    assert!(congested(params.clone(), TestPkt::new(1, 1500).ecn(Ecn::Ce)).emitted.is_empty());
    let copy = TestPkt::new(1, 1500).ecn(Ecn::Ect0).reflected().unwrap();
    assert!(congested(params, copy).emitted.is_empty());
}

#[test]
fn packets_that_are_not_capable_are_not_returned() {
    let params = Params { return_to_sender: true, ..Params::default() };
    assert!(congested(params, TestPkt::new(1, 1500)).emitted.is_empty());
}

#[test]
fn packets_that_are_no_data_segments_are_marked_but_not_returned() {
    let params = Params { return_to_sender: true, ..Params::default() };
    let datagram = TestPkt { data_segment: false, ..TestPkt::new(1, 1500).ecn(Ecn::Ect0) };
    assert!(congested(params.clone(), datagram.clone()).emitted.is_empty());
    let fate = congested(Params { mark: Some(true), ..params }, datagram);
    assert_eq!((fate.emitted_ids(), fate.marked_ids()), (Vec::new(), alloc::vec![1]), "it is marked all the same");
}

#[test]
fn packets_that_are_not_capable_pass() {
    assert!(congested(Params::default(), TestPkt::new(1, 1500)).dropped.is_empty());
}

#[test]
fn with_drop_packets_that_are_not_capable_are_dropped() {
    let fate = congested(Params { drop: true, ..Params::default() }, TestPkt::new(1, 1500));
    assert_eq!(fate.dropped_ids(), [1]);
}

#[test]
fn levels_are_read_as_they_are_printed() {
    for text in ["auto", "42p", "60kB", "1.5bdp", "1ms", "20ns"] {
        assert_eq!(format!("{}", text.parse::<Level>().unwrap()), text);
    }
    assert!("42".parse::<Level>().is_err());
}
