//! The rules of the authors' code, beside those of the draft.

use super::*;

const BOTH: [Variant; 2] = [Variant::Draft, Variant::Linux];

/// By hand, in 256ths: 710, 88 of 1000/2885, 232 of 91 %; 180 is left of a bound, 38 is headroom, 5 may be lost.
#[test]
fn the_authors_constants_are_in_256ths() {
    let rules = Variant::Linux.rules();
    let all = [rules.startup, rules.drain, rules.down, rules.kept, rules.headroom, rules.loss_thresh];
    assert_eq!(all.map(|gain| gain.of(256)), [710, 88, 232, 180, 38, 5]);
}

#[test]
fn the_authors_see_growth_within_a_round_too() {
    for (variant, rounds) in BOTH.into_iter().zip([2, 0]) {
        let mut p = Path::new().under(variant);
        p.rounds(3);
        assert_eq!(p.bbr.full_pipe.growth_rounds(), 2);
        p.bbr.core.start_round(u64::MAX);
        p.mbps = 13;
        p.rounds(1);
        assert_eq!(p.bbr.full_pipe.growth_rounds(), rounds, "{variant:?}");
    }
}

#[test]
fn the_authors_renew_the_bandwidth_after_whole_probes_only() {
    for (variant, cycles) in BOTH.into_iter().zip([1, 0]) {
        let mut p = Path::at(State::Up).under(variant);
        p.bbr.max_bw.update(FAST);
        p.rtt = Dur::from_ms(41);
        p.now += Dur::from_secs(6);
        p.until(State::ProbeRtt, 1);
        p.in_flight = 10;
        p.until(State::Cruise, 20);
        p.rounds(2);
        assert_eq!(p.cycles_since_fast(), cycles, "{variant:?}");
    }
}

#[test]
fn the_authors_restore_no_window_after_fast_recovery_but_after_a_timeout() {
    for (variant, restores) in BOTH.into_iter().zip([true, false]) {
        let mut p = Path::at(State::Cruise).under(variant);
        let before = p.bbr.core.cwnd;
        p.lose(1, 2, 2 * BDP);
        p.bbr.core.cwnd = 20;
        p.recover();
        assert_eq!(p.bbr.core.cwnd, if restores { before } else { 20 }, "{variant:?}");
    }
    let mut p = Path::at(State::Refill).under(Variant::Linux);
    let before = p.bbr.core.cwnd;
    p.bbr.on_rto(&RtoEvent { first: true, ..RtoEvent::at(p.now) });
    assert_eq!(p.bbr.core.cwnd, 1);
    p.recover();
    assert_eq!(p.bbr.core.cwnd, before);
}

#[test]
fn a_timeout_between_probes_bounds_the_flight_by_the_window_before_it_in_the_authors_code() {
    for (variant, bounded) in BOTH.into_iter().zip([false, true]) {
        let mut p = Path::at(State::Cruise).under(variant);
        let before = p.bbr.core.cwnd;
        p.bbr.on_rto(&RtoEvent { first: true, ..RtoEvent::at(p.now) });
        assert_eq!(p.bbr.bounds.inflight_short, bounded.then_some(before), "{variant:?}");
    }
}

#[test]
fn the_authors_go_back_to_no_probe_after_a_spurious_loss() {
    let mut p = Path::at(State::Up).under(Variant::Linux);
    p.bbr.bounds.inflight_long = Some(200);
    p.lose(5, 2, 2 * BDP);
    p.bbr.on_spurious(p.now);
    // The bounds are saved on entering recovery, when the losses have lowered them: one of 69 may be lost, 1 * 256 /
    // 251.
    assert_eq!((p.bbr.state, p.bbr.bounds.inflight_long), (State::Down, Some(70)));
}

#[test]
fn the_authors_drain_without_a_limit_in_rounds() {
    let mut p = Path::at(State::Drain).under(Variant::Linux);
    p.in_flight = 10 * BDP;
    p.rounds(30);
    assert_eq!(p.bbr.state, State::Drain);
    p.in_flight = BDP;
    p.rounds(1);
    assert!(p.bbr.in_probe_bw());
}

/// `probe_min` is as old as the last ProbeRTT; in the authors' code the longer window begins with it if it found no
/// other value.
#[test]
fn in_the_authors_code_probe_rtt_renews_a_least_round_trip_time_that_it_finds_again() {
    for (variant, renewed) in BOTH.into_iter().zip([false, true]) {
        let mut p = Path::at(State::Cruise).under(variant);
        p.rtt = Dur::from_ms(41);
        p.now += Dur::from_secs(6);
        p.until(State::ProbeRtt, 130);
        (p.in_flight, p.rtt) = (10, Dur::from_ms(40));
        p.until(State::Cruise, 20);
        p.rounds(1);
        assert_eq!(p.bbr.core.min_rtt.value, Some(Dur::from_ms(40)));
        assert_eq!(p.bbr.core.min_rtt.stamp == p.bbr.probe_min.stamp, renewed, "{variant:?}");
    }
}

#[test]
fn the_authors_count_acknowledgements_with_losses_in_startup() {
    let mut p = startup().under(Variant::Linux);
    p.lose(6, 2, 2 * BDP);
    p.round_of(6);
    assert_eq!(p.bbr.state, State::Startup, "six ranges, but no acknowledgement marked them");
    p.bbr.bounds.start_loss_round(u64::MAX);
    p.newly_lost = 1;
    p.rounds(6);
    assert_eq!(p.bbr.state, State::Startup, "the loss round goes on");
    p.bbr.bounds.start_loss_round(0);
    p.newly_lost = 0;
    p.round_of(6);
    assert_eq!(p.bbr.state, State::Drain);
}

/// By hand: 12.5 MB/s / 1024 = 12,207 B are 8 segments; after 1 ms another 65,536 / 2 B, 44,975 B in all, are 31.
#[test]
fn the_authors_burst_is_larger_on_short_paths() {
    let mut p = Path::at(State::Cruise).under(Variant::Linux);
    p.bbr.core.pacing_rate = Rate::from_mbps(100);
    let cwnd = |p: &Path| p.bbr.inflight(Rate::ZERO, Gain::UNIT);
    assert_eq!(cwnd(&p), 3 * 8);
    p.bbr.core.min_rtt.value = Some(Dur::from_ms(1));
    assert_eq!(cwnd(&p), 3 * 31);
    p.bbr.core.pacing_rate = Rate::from_mbps(1);
    p.bbr.core.min_rtt.value = Some(Dur::from_ms(40));
    assert_eq!(cwnd(&p), 3 * 2, "two segments at any rate");
}

/// By hand, with a bandwidth bounded to 2 Mbit/s: 35 segments at 9 Mbit/s are above it.
#[test]
fn the_authors_measure_no_aggregation_by_limited_samples_in_a_full_window() {
    for (limited, fresh, grows) in [(false, false, true), (true, false, false), (true, true, true)] {
        let mut p = Path::at(State::Cruise).under(Variant::Linux);
        p.rounds(1);
        p.bbr.bounds.bw_short = Some(Rate::from_mbps(2));
        (p.mbps, p.app_limited) = (9, limited);
        p.bbr.at_target &= !fresh;
        let before = p.bbr.aggregation.extra_acked();
        p.rounds(1);
        assert_eq!(p.bbr.aggregation.extra_acked() > before, grows, "limited {limited}, fresh {fresh}");
    }
}

/// By hand: of 70 segments the draft allows 1.4 to be lost, the authors one, so the second loss ends the probe. The
/// acknowledgement that marked it also ends a round of loss.
#[test]
fn the_loss_that_ends_a_probe_lowers_the_authors_bounds() {
    for (variant, lowered) in BOTH.into_iter().zip([false, true]) {
        let mut p = Path::at(State::Up).under(variant);
        p.lose(2, 2, 2 * BDP);
        assert_eq!(p.bbr.state, State::Down);
        p.newly_lost = 2;
        p.round_of(2);
        assert_eq!(p.bbr.bounds.inflight_short.is_some(), lowered, "{variant:?}");
        assert_eq!(p.bbr.bounds.bw_short.is_some(), lowered, "{variant:?}");
    }
}

/// Half a product is in flight in both. A target of a whole one keeps the authors' window below its target, so their
/// code goes on measuring aggregation.
#[test]
fn the_authors_aim_at_a_whole_product_in_probe_rtt() {
    for (variant, gain) in BOTH.into_iter().zip([50, 100]) {
        let mut p = Path::at(State::Cruise).under(variant);
        p.rtt = Dur::from_ms(41);
        p.now += Dur::from_secs(6);
        p.until(State::ProbeRtt, 130);
        assert_eq!(p.bbr.gains(), (Gain::UNIT, Gain::percent(gain)), "{variant:?}");
        assert_eq!(p.bbr.core.cwnd, p.bbr.bdp(Gain::percent(50)), "{variant:?}");
    }
}

/// By hand, with a third round without growth that also ends a round of loss in which six acknowledgements marked
/// losses.
#[test]
fn losses_bound_the_authors_flight_if_the_growth_ends_startup_too() {
    for (variant, bounded) in BOTH.into_iter().zip([false, true]) {
        let mut p = Path::new().under(variant);
        p.in_flight = 3 * BDP;
        p.rounds(3);
        assert_eq!((p.bbr.state, p.bbr.full_pipe.growth_rounds()), (State::Startup, 2));
        p.lose(6, 2, 2 * BDP);
        (p.bbr.bounds.lost_ranges, p.newly_lost) = (6, 1);
        p.round_of(6);
        assert_eq!(p.bbr.state, State::Drain);
        assert_eq!(p.bbr.bounds.inflight_long.is_some(), bounded, "{variant:?}");
    }
}
