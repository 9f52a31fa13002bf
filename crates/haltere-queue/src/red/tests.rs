//! Worked examples of RED and ARED.

use super::*;
use crate::Ecn;
use crate::testing::{Recorder, TestPkt, link};
use alloc::{format, vec::Vec};

fn kb(n: u64) -> Option<Size> {
    Some(Size::Bytes(n * 1000))
}
/// The reference's settings: tc-red(8)'s example for 10 Mbit/s.
fn example() -> Params {
    of(Base { limit: Size::Bytes(1_500_000), min: kb(30), max: kb(90), burst: Some(55), ..Base::default() })
}
/// A step at 90 kB on the lightest average.
fn step() -> Params {
    let (limit, max) = (Size::Bytes(1_000_000), Some(Size::Bytes(90_001)));
    let base = Base { limit, min: kb(90), max, burst: Some(61), ecn: true, ..Base::default() };
    Params { avpkt: Bytes::new(1500), ..of(base) }
}
fn of(base: Base) -> Params {
    Params { base, ..Params::default() }
}
fn red(params: &Params) -> Red<TestPkt> {
    Red::new(params, &link()).unwrap()
}
fn error(params: &Params) -> alloc::string::String {
    format!("{}", Red::<TestPkt>::new(params, &link()).unwrap_err())
}
/// The verdicts that `n` packets get while the average stays at `avg`.
fn early_at(q: &mut Red<TestPkt>, avg: f64, n: usize, fate: &mut Recorder) -> Vec<usize> {
    q.vars.avg = avg;
    (0..n).filter(|_| q.verdict(1000, fate) == Verdict::Early).collect()
}
/// The fate of one packet that meets that average.
fn fate_of(params: &Params, avg: f64, ecn: Ecn) -> Recorder {
    let (mut q, mut fate) = (red(params), Recorder::new(1));
    (q.vars.avg, q.vars.idle_since) = (avg * 2.0, None);
    q.enqueue(Time::ZERO, TestPkt::new(0, 1500).ecn(ecn), &mut fate);
    fate
}

#[test]
fn the_average_moves_by_the_weight_of_the_queue_before_the_arrival() {
    let params = Params { weight: Some(0.25), ..of(Base { burst: None, ..example().base }) };
    let (mut q, mut fate) = (red(&params), Recorder::new(1));
    let averages: Vec<f64> = (0..4)
        .map(|id| {
            q.enqueue(Time::ZERO, TestPkt::new(id, 1000), &mut fate);
            q.vars.avg
        })
        .collect();
    assert_eq!(averages, [0.0, 250.0, 687.5, 1265.625]);
}

#[test]
fn thresholds_in_packets_average_packets() {
    let params = Params {
        weight: Some(0.5),
        ..of(Base { min: Some(Size::Packets(5)), max: Some(Size::Packets(15)), ..Base::default() })
    };
    let (mut q, mut fate) = (red(&params), Recorder::new(1));
    for id in 0..3 {
        q.enqueue(Time::ZERO, TestPkt::new(id, 1000), &mut fate);
    }
    assert_eq!(q.vars.avg, 1.25);
}

#[test]
fn the_gap_to_the_next_mark_is_r_over_p_b() {
    // Halfway p_b = 0.01; R = 0.5 puts the mark 50 packets after the one that drew it.
    let (mut q, mut fate) = (red(&example()), Recorder::new(1));
    fate.forced = alloc::vec![0.25, 0.5];
    assert_eq!(early_at(&mut q, 60_000.0, 80, &mut fate), [50, 75]);
}

#[test]
fn gaps_are_uniform_up_to_one_over_p_b() {
    let (mut q, mut fate) = (red(&example()), Recorder::new(3));
    let marks = early_at(&mut q, 60_000.0, 500_000, &mut fate);
    let gaps: Vec<usize> = marks.windows(2).map(|w| w[1] - w[0]).collect();
    assert_eq!((gaps.iter().min(), gaps.iter().max()), (Some(&1), Some(&100)));
    // Uniform on 1..=100: mean 50.5, standard deviation 28.9; over 9900 gaps the mean's is 0.29.
    let mean = gaps.iter().sum::<usize>() as f64 / gaps.len() as f64;
    assert!((mean - 50.5).abs() < 1.2, "mean {mean}");
}

#[test]
fn wait_keeps_marks_more_than_one_over_p_b_apart() {
    let (mut q, mut fate) = (red(&Params { wait: true, ..example() }), Recorder::new(3));
    let marks = early_at(&mut q, 60_000.0, 500_000, &mut fate);
    let gaps: Vec<usize> = marks.windows(2).map(|w| w[1] - w[0]).collect();
    assert_eq!((gaps.iter().min(), gaps.iter().max()), (Some(&101), Some(&200)));
}

#[test]
fn after_a_forced_mark_the_spreading_starts_anew() {
    // With R = 0 the packet after the one that draws it is marked, and the first one back below max draws.
    let (mut q, mut fate) = (red(&example()), Recorder::new(1));
    q.vars.avg = 90_000.0;
    assert_eq!(q.verdict(1000, &mut fate), Verdict::Forced);
    fate.forced = alloc::vec![0.9, 0.0];
    assert_eq!(early_at(&mut q, 60_000.0, 5, &mut fate), [1]);
}

#[test]
fn gentle_marks_by_chance_up_to_twice_max() {
    // At 1.5 max p_b = 0.02 + 0.98 / 2 = 0.51: R = 0.9 is reached by the second packet after.
    let (mut q, mut fate) = (red(&Params { gentle: true, ..example() }), Recorder::new(1));
    fate.forced = alloc::vec![0.9, 0.9];
    assert_eq!(early_at(&mut q, 135_000.0, 3, &mut fate), [2]);
    q.vars.avg = 180_000.0;
    assert_eq!(q.verdict(1000, &mut fate), Verdict::Forced);
}

#[test]
fn byte_mode_marks_short_packets_less() {
    let (mut q, mut fate) = (red(&Params { bytemode: true, ..example() }), Recorder::new(1));
    fate.forced = alloc::vec![0.5];
    q.vars.avg = 60_000.0;
    // A packet of half the average length has half the probability: the mark comes at count 100, not 50.
    assert_eq!((0..200).find(|_| q.verdict(500, &mut fate) == Verdict::Early), Some(100));
}

#[test]
fn below_the_step_nothing_is_marked() {
    let fate = fate_of(&step(), 89_999.0, Ecn::Ect0);
    assert!(fate.marked.is_empty() && fate.dropped.is_empty());
}

#[test]
fn past_the_step_every_capable_packet_is_marked() {
    assert_eq!(fate_of(&step(), 90_001.0, Ecn::Ect0).marked_ids(), [0]);
}

#[test]
fn past_the_step_packets_that_are_not_capable_are_dropped() {
    assert_eq!(fate_of(&step(), 90_001.0, Ecn::NotEct).dropped_ids(), [0]);
}

#[test]
fn harddrop_drops_capable_packets_past_max() {
    assert_eq!(fate_of(&Params { harddrop: true, ..step() }, 90_001.0, Ecn::Ect0).dropped_ids(), [0]);
}

#[test]
fn nodrop_keeps_packets_that_cannot_be_marked() {
    let fate = fate_of(&Params { nodrop: true, ..step() }, 90_001.0, Ecn::NotEct);
    assert!(fate.marked.is_empty() && fate.dropped.is_empty());
}

#[test]
fn a_mark_is_not_told_for_a_packet_that_finds_no_room() {
    let fate =
        fate_of(&Params { base: Base { limit: Size::Bytes(100), ..step().base }, ..step() }, 90_001.0, Ecn::Ect0);
    assert!(fate.marked.is_empty());
    assert_eq!(fate.dropped[0].1, DropReason::Overlimit);
}

#[test]
fn bursts_set_the_weights_of_the_reference() {
    let ared5 = Params {
        base: Base { min: Some(Size::Bytes(7500)), max: Some(Size::Bytes(22_500)), burst: Some(9), ..step().base },
        ..step()
    };
    let weights = [example(), step(), ared5].map(|p| red(&p).config.weight);
    assert_eq!(weights, [1.0 / 32.0, 0.5, 0.125]);
}

#[test]
fn thresholds_default_to_parts_of_the_limit() {
    let q = red(&of(Base { limit: Size::Bytes(1_200_000), ..Base::default() }));
    assert_eq!((q.config.min, q.config.max, q.config.in_bytes), (100_000.0, 300_000.0, true));
}

#[test]
fn the_paper_s_idle_decay_is_one_weight_for_each_packet_that_could_have_been_sent() {
    let params = Params { idle: IdleDecay::Paper, weight: Some(0.002), ..of(Base { burst: None, ..example().base }) };
    let (mut q, mut fate) = (red(&params), Recorder::new(1));
    q.vars.avg = 20_000.0;
    // 1000 B at 10 Mbit/s take 0.8 ms: 10 packets in 8 ms.
    q.enqueue(Time::ZERO + Dur::from_ms(8), TestPkt::new(0, 1000), &mut fate);
    let expected = 20_000.0 * libm::pow(0.998, 10.0);
    assert!((q.vars.avg - expected).abs() < 1e-6, "{} against {expected}", q.vars.avg);
}

#[test]
fn idle_time_starts_when_the_link_finds_nothing() {
    let (mut q, mut fate) = (red(&example()), Recorder::new(1));
    q.enqueue(Time::ZERO, TestPkt::new(0, 1000), &mut fate);
    q.dequeue(Time::from_ns(1), &mut fate);
    assert_eq!(q.vars.idle_since, None);
    q.dequeue(Time::from_ns(800_001), &mut fate);
    q.dequeue(Time::from_ns(900_000), &mut fate);
    assert_eq!(q.vars.idle_since, Some(Time::from_ns(800_001)));
}

/// max_p after one adaptation from `max_p` at that average.
fn adapted(avg: f64, max_p: f64) -> f64 {
    let mut q = red(&Params { adaptive: true, ..example() });
    (q.vars.avg, q.vars.max_p, q.vars.idle_since) = (avg, max_p, None);
    q.on_timer(Time::ZERO + Dur::from_ms(500));
    assert_eq!(q.next_timer(), Some(Time::ZERO + Dur::from_secs(1)));
    q.vars.max_p
}

#[test]
fn above_the_target_range_max_p_grows_by_a_quarter_or_a_hundredth() {
    assert_eq!((adapted(66_001.0, 0.02), adapted(66_001.0, 0.1)), (0.025, 0.11));
}

#[test]
fn below_the_target_range_max_p_shrinks_by_a_tenth() {
    assert_eq!(adapted(53_999.0, 0.02), 0.02 * 0.9);
}

/// What Linux 6.1 shows second by second (12 CUBIC flows, 50 Mbit/s) once its timer runs: one step up, then nine down.
#[test]
fn max_p_takes_the_steps_of_linux() {
    let mut q = red(&Params { adaptive: true, ..example() });
    (q.vars.avg, q.vars.idle_since) = (66_001.0, None);
    let mut shown = Vec::new();
    for step in 1..=14u64 {
        q.on_timer(Time::ZERO + Dur::from_ms(500 * step));
        q.vars.avg = 53_999.0;
        shown.push(q.vars.max_p);
    }
    // `tc` shows six digits.
    for (step, linux) in [(1, 0.0225), (3, 0.018225), (5, 0.014_762_2), (7, 0.011_957_4), (9, 0.009_685_5)] {
        assert!((shown[step] - linux).abs() < 1e-7, "step {step}: {}, Linux {linux}", shown[step]);
    }
    assert_eq!(shown[9..], [shown[9]; 5], "below 0.01 it stays");
}

#[test]
fn in_the_target_range_and_past_the_bounds_max_p_stays() {
    assert_eq!([adapted(60_000.0, 0.02), adapted(66_001.0, 0.501), adapted(0.0, 0.009)], [0.02, 0.501, 0.009]);
}

#[test]
fn without_adaptive_there_is_no_timer() {
    assert_eq!(red(&example()).next_timer(), None);
}

#[test]
fn automatic_thresholds_follow_the_rate_and_the_target_delay() {
    // 100 Mbit/s in packets of 1000 B: 12500 a second; 5 ms of it 62.5, half 31.25; w = 1 - exp(-1/12500).
    let link = LinkContext { rate: Some(Rate::from_mbps(100)), ..link() };
    let q = Red::<TestPkt>::new(&Params { adaptive: true, ..Params::default() }, &link).unwrap();
    assert_eq!((q.config.min, q.config.max), (31.25, 93.75));
    assert!((q.config.weight - 7.9997e-5).abs() < 1e-9, "{}", q.config.weight);
}

#[test]
fn automatic_thresholds_start_at_five_packets() {
    let q = red(&Params { adaptive: true, ..Params::default() });
    assert_eq!((q.config.min, q.config.max), (5.0, 15.0));
}

#[test]
fn min_above_max_is_refused_with_both_values() {
    let params = of(Base { min: kb(90), max: kb(30), ..Base::default() });
    assert_eq!(error(&params), "min must be below max, got min 90kB and max 30kB");
}

#[test]
fn thresholds_in_two_units_are_refused() {
    let params = of(Base { min: Some(Size::Packets(5)), max: kb(30), ..Base::default() });
    assert_eq!(error(&params), "min must be in the same unit as max, got 5p; write both in packets or both in bytes");
}

#[test]
fn a_burst_below_min_is_refused() {
    let params = of(Base { burst: Some(20), ..example().base });
    assert_eq!(
        error(&params),
        "burst must be at least min, which is 30 packets of `avpkt`, got 20; tc's default is (2 min + max) / (3 avpkt)"
    );
}
