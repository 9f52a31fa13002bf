//! The test cases of the draft's appendix A (working copy of 2026), one acknowledgement a round, and claims of ours.
//! Those that need a path, not events (A.14 and A.15 in part), are in `tests/it/bbr3_draft.rs`.

mod authors;

use super::*;
use crate::RateSample;

const MSS: u64 = 1448;
/// 10 Mbit/s times 40 ms in segments, rounded up.
const BDP: u64 = 35;
/// A bandwidth that no sample has.
const FAST: Rate = Rate::from_mbps(2000);

/// A path on which one acknowledgement is a round.
struct Path {
    bbr: Bbr3,
    now: Time,
    rtt: Dur,
    mbps: u64,
    /// Segments that an acknowledgement delivers, and the flight before and after it.
    acked: u64,
    /// Of these, segments with a mark.
    marked: u64,
    prior_in_flight: u64,
    in_flight: u64,
    app_limited: bool,
    cwnd_limited: bool,
    in_recovery: bool,
    /// Segments that each acknowledgement marks lost.
    newly_lost: u64,
    delivered: u64,
    /// Segments lost in all, and next to be lost.
    lost: u64,
    seq: u64,
}

impl Path {
    /// In Startup at 10 Mbit/s.
    fn new() -> Path {
        let sender =
            SenderContext { mss: Bytes::new(MSS), initial_window: Bytes::new(10 * MSS), seed: 1, ..Default::default() };
        let mut bbr = Bbr3::new(&Params::default(), &sender).unwrap();
        bbr.on_established(Time::ZERO, Dur::from_ms(40));
        Path {
            bbr,
            now: Time::ZERO,
            rtt: Dur::from_ms(40),
            mbps: 10,
            acked: BDP,
            marked: 0,
            prior_in_flight: 2 * BDP,
            in_flight: BDP,
            app_limited: false,
            cwnd_limited: false,
            in_recovery: false,
            newly_lost: 0,
            delivered: 0,
            lost: 0,
            seq: 0,
        }
    }
    /// The same path, and the rules of that variant from now on.
    fn under(mut self, variant: Variant) -> Path {
        (self.bbr.params.variant, self.bbr.rules) = (variant, variant.rules());
        self
    }
    /// In that phase, with a bandwidth of 10 Mbit/s and no bounds.
    fn at(state: State) -> Path {
        let mut p = Path::new();
        p.in_flight = 3 * BDP;
        p.rounds(4);
        assert_eq!(p.bbr.state, State::Drain);
        p.in_flight = BDP;
        for _ in 0..400 {
            if p.bbr.state == state {
                return p;
            }
            p.rounds(1);
        }
        panic!("never in {state:?}");
    }
    /// One round: `lost` of its flight were lost before.
    fn round_of(&mut self, lost: u64) {
        let bytes = Bytes::new(self.acked * MSS);
        let took = Rate::from_mbps(self.mbps).time_for(bytes);
        self.now += took.max(self.rtt);
        let mut sample = RateSample::new(bytes, took);
        sample.prior_delivered = self.delivered;
        self.delivered += bytes.as_u64();
        sample.total_delivered = self.delivered;
        sample.tx_in_flight = Bytes::new(self.prior_in_flight * MSS);
        sample.lost = Bytes::new(lost * MSS);
        sample.app_limited = self.app_limited;
        self.bbr.on_ack(&AckEvent {
            acked: bytes,
            delivered: bytes,
            ce: Bytes::new(self.marked * MSS),
            lost: Bytes::new(self.newly_lost * MSS),
            rtt: Some(self.rtt),
            srtt: self.rtt,
            prior_in_flight: Bytes::new(self.prior_in_flight * MSS),
            in_flight: Bytes::new(self.in_flight * MSS),
            in_recovery: self.in_recovery,
            cwnd_limited: self.cwnd_limited,
            rate: Some(sample),
            ..AckEvent::at(self.now)
        });
    }
    /// Cycles of the bandwidth filter since it took `FAST`; 2 is that or more.
    fn cycles_since_fast(&self) -> u32 {
        let mut filter = self.bbr.max_bw;
        let now = filter.get() == FAST;
        filter.advance();
        2 - u32::from(now) - u32::from(filter.get() == FAST)
    }
    fn rounds(&mut self, n: u32) {
        (0..n).for_each(|_| self.round_of(0));
    }
    /// Loses so many segments of a flight of `tx`, each `gap` segments after the one before.
    fn lose(&mut self, n: u64, gap: u64, tx: u64) {
        for i in 1..=n {
            self.lost += 1;
            self.seq += gap * MSS;
            let mut lost = LostSegment::new(self.seq, Bytes::new(MSS));
            (lost.tx_in_flight, lost.lost) = (Bytes::new(tx * MSS), Bytes::new(i * MSS));
            lost.total_delivered = self.delivered;
            lost.app_limited = self.app_limited;
            self.bbr.on_segment_lost(&lost);
        }
        self.bbr.on_loss(&LossEvent::at(self.now, LossKind::Loss));
        self.in_recovery = true;
    }
    fn recover(&mut self) {
        self.in_recovery = false;
        self.bbr.on_recovered(self.now);
    }
    /// The bound, and a window that it limits.
    fn bound(&mut self, segments: u64) {
        self.bbr.bounds.inflight_long = Some(segments);
        self.bbr.core.cwnd = self.bbr.core.cwnd.min(segments);
        (self.prior_in_flight, self.cwnd_limited) = (segments, true);
    }
    fn until(&mut self, state: State, most: u32) -> u32 {
        (1..=most)
            .find(|_| {
                self.rounds(1);
                self.bbr.state == state
            })
            .unwrap_or_else(|| panic!("not {state:?} within {most} rounds, but {:?}", self.bbr.state))
    }
}

#[test]
fn a1_startup_ends_after_three_rounds_without_growth() {
    let mut p = Path::new();
    p.in_flight = 3 * BDP;
    for mbps in [2, 4, 8, 10] {
        p.mbps = mbps;
        p.rounds(1);
    }
    p.rounds(2);
    assert_eq!((p.bbr.state, p.bbr.full_pipe.now), (State::Startup, false), "10 is a quarter above 8");
    p.rounds(1);
    assert!(p.bbr.full_pipe.now && p.bbr.core.filled);
    assert_eq!(p.bbr.state, State::Drain);
    assert_eq!(p.bbr.bw(), Rate::from_mbps(10));
}

/// Startup at an application's rate.
fn startup() -> Path {
    let mut p = Path::new();
    (p.app_limited, p.in_flight) = (true, 3 * BDP);
    p.rounds(5);
    assert_eq!(p.bbr.state, State::Startup);
    p
}

/// The same, with so many ranges of the flight lost.
fn startup_loses(n: u64, gap: u64) -> Path {
    let mut p = startup();
    p.lose(n, gap, 2 * BDP);
    p.round_of(n);
    p
}

#[test]
fn a2_startup_ends_by_loss_even_if_the_application_limits() {
    let p = startup_loses(6, 2);
    assert_eq!((p.bbr.state, p.bbr.core.filled), (State::Drain, true));
    assert_eq!(p.bbr.bounds.inflight_long, Some(BDP), "the larger of the product and of what a round delivered");
}

#[test]
fn five_ranges_or_a_burst_of_loss_do_not_end_startup() {
    assert_eq!(startup_loses(5, 2).bbr.state, State::Startup);
    assert_eq!(startup_loses(20, 1).bbr.state, State::Startup);
}

#[test]
fn a3_drain_ends_as_the_flight_is_the_product() {
    let mut p = Path::at(State::Drain);
    assert_eq!(p.bbr.gains().0, Gain::percent(50));
    p.in_flight = BDP + 1;
    p.rounds(1);
    assert_eq!(p.bbr.state, State::Drain);
    p.in_flight = BDP;
    p.rounds(1);
    assert!(p.bbr.in_probe_bw());
}

#[test]
fn a4_drain_ends_after_three_rounds() {
    let mut p = Path::at(State::Drain);
    p.in_flight = 10 * BDP;
    p.rounds(3);
    assert_eq!(p.bbr.state, State::Drain);
    p.rounds(1);
    assert_eq!(p.bbr.state, State::Down);
}

#[test]
fn a5_up_ends_after_three_rounds_without_growth() {
    let mut p = Path::at(State::Up);
    assert_eq!(p.until(State::Down, 5), 3);
}

#[test]
fn a6_loss_of_an_application_s_flight_ends_up_and_sets_no_bound() {
    let mut p = Path::at(State::Up);
    p.app_limited = true;
    p.lose(1, 2, 2 * BDP);
    assert_eq!(p.bbr.state, State::Up, "1 of 70 is 1.4 %");
    p.lose(2, 2, 2 * BDP);
    assert_eq!((p.bbr.state, p.bbr.bounds.inflight_long), (State::Down, None));
}

#[test]
fn a7_down_ends_at_the_product_and_the_headroom() {
    let mut p = Path::at(State::Up);
    p.in_flight = 2 * BDP;
    p.until(State::Down, 5);
    assert_eq!(p.bbr.gains().0, Gain::percent(90));
    p.bbr.bounds.inflight_long = Some(35);
    p.in_flight = 31;
    p.prior_in_flight = 31;
    p.rounds(1);
    assert_eq!(p.bbr.state, State::Down, "the headroom of 35 is 5");
    p.in_flight = 30;
    p.rounds(1);
    assert_eq!(p.bbr.state, State::Cruise);
}

#[test]
fn a8_down_goes_to_refill_when_the_wait_is_over() {
    let mut p = Path::at(State::Up);
    p.in_flight = 2 * BDP;
    p.until(State::Down, 5);
    let start = p.now;
    p.bbr.core.cwnd = 200;
    (p.mbps, p.acked) = (10, BDP);
    while p.bbr.state == State::Down {
        p.bbr.cycle.rounds = 0; // only the wait in seconds
        p.rounds(1);
    }
    assert_eq!(p.bbr.state, State::Refill);
    let waited = p.now.since(start);
    assert!(waited >= Dur::from_secs(2) && waited <= Dur::from_ms(3100), "{waited}");
}

#[test]
fn a9_probe_rtt_comes_after_five_seconds_and_ends_in_cruise() {
    let mut p = Path::at(State::Cruise);
    p.rtt = Dur::from_ms(41);
    p.until(State::ProbeRtt, 130);
    assert!(p.now >= Time::ZERO + Dur::from_secs(5));
    assert_eq!(p.bbr.gains(), (Gain::UNIT, Gain::percent(50)));
    assert!(p.bbr.core.cwnd <= BDP.div_ceil(2) + 1, "{}", p.bbr.core.cwnd);
    p.in_flight = 10;
    let start = p.now;
    p.until(State::Cruise, 20);
    assert!(p.now.since(start) > Dur::from_ms(200));
}

#[test]
fn a_probe_that_probe_rtt_ends_is_a_cycle_of_the_bandwidth_filter() {
    // Draft section 5.5.6: one round trip after UP ended. Once, although ProbeRTT ends by DOWN.
    let mut p = Path::at(State::Up);
    p.bbr.max_bw.update(FAST);
    p.rtt = Dur::from_ms(41);
    p.now += Dur::from_secs(6);
    p.until(State::ProbeRtt, 1);
    assert_eq!(p.cycles_since_fast(), 0);
    p.in_flight = 10;
    p.until(State::Cruise, 20);
    p.rounds(2);
    assert_eq!(p.cycles_since_fast(), 1);
}

/// Pull request 5 of the draft's repository: the cycle ends with the probe, one round before its last samples.
#[test]
fn without_the_phase_of_acknowledgements_a_cycle_ends_with_the_probe() {
    for (ack_phase, cycles) in [(true, [0, 1]), (false, [1, 1])] {
        let mut p = Path::at(State::Up);
        p.bbr.params.ack_phase = ack_phase;
        p.bbr.max_bw.update(FAST);
        p.until(State::Down, 20);
        let at_the_end = p.cycles_since_fast();
        p.rounds(2);
        assert_eq!([at_the_end, p.cycles_since_fast()], cycles, "ack_phase {ack_phase}");
    }
}

#[test]
fn probe_rtt_between_probes_is_no_cycle() {
    let mut p = Path::at(State::Cruise);
    p.bbr.max_bw.update(FAST);
    p.rtt = Dur::from_ms(41);
    p.now += Dur::from_secs(6);
    p.until(State::ProbeRtt, 130);
    p.in_flight = 10;
    p.until(State::Cruise, 20);
    assert_eq!(p.cycles_since_fast(), 0);
}

#[test]
fn a10_a_pause_spares_probe_rtt() {
    let mut p = Path::at(State::Cruise);
    p.rtt = Dur::from_ms(41);
    p.now += Dur::from_secs(6);
    p.bbr.on_restart(&RestartEvent { idle: Dur::from_secs(6), app_limited: true, ..RestartEvent::at(p.now) });
    assert!(p.bbr.core.idle_restart);
    p.rounds(1);
    assert_ne!(p.bbr.state, State::ProbeRtt);
}

/// What is held of an acknowledgement of twice the rate, after so many rounds.
fn aggregation_after(state: State, rounds: u32) -> u64 {
    let mut p = if state == State::Startup { Path::new() } else { Path::at(state) };
    p.in_flight = 3 * BDP;
    p.rounds(1);
    p.bbr.extra_acked.reset(p.bbr.core.round, 0);
    p.acked = 3 * BDP;
    let rtt = p.rtt;
    p.rtt = Dur::from_ms(1); // what was gathered comes at once
    p.mbps = 1000;
    p.app_limited = true;
    let full = p.bbr.max_bw;
    p.bbr.max_bw.update(FAST);
    p.rounds(1);
    p.bbr.max_bw = full;
    (p.acked, p.rtt, p.mbps) = (BDP, rtt, 5);
    p.rounds(rounds);
    p.bbr.extra_acked.get()
}

#[test]
fn a11_in_startup_the_aggregation_is_that_of_one_round() {
    assert!(aggregation_after(State::Startup, 0) > BDP);
    assert!(aggregation_after(State::Startup, 3) <= BDP);
}

#[test]
fn a12_in_cruise_the_aggregation_lasts_ten_rounds_and_is_room_in_the_window() {
    assert!(aggregation_after(State::Cruise, 9) > BDP);
    let mut p = Path::at(State::Cruise);
    p.bbr.extra_acked.reset(p.bbr.core.round, 60);
    p.rounds(3);
    assert_eq!(p.bbr.core.cwnd, 2 * BDP + 60, "twice 34.53 segments, rounded up, and what comes at once");
}

#[test]
fn a13_a_product_below_a_segment_leaves_four_segments() {
    let mut p = Path::new();
    p.mbps = 1;
    (p.acked, p.prior_in_flight, p.in_flight) = (1, 4, 3);
    p.rtt = Dur::from_us(500);
    p.bbr.on_established(Time::ZERO, p.rtt);
    p.rounds(40);
    assert!(p.bbr.core.filled);
    assert!(p.bbr.core.cwnd >= 4, "{}", p.bbr.core.cwnd);
    let pace = p.bbr.pacing_rate().unwrap().as_bps_f64();
    assert!((0.8e6..1.3e6).contains(&pace), "{pace}");
}

#[test]
fn a14_the_growth_of_the_bound_doubles_each_round() {
    let mut p = Path::at(State::Refill);
    p.bound(BDP);
    p.rounds(1);
    assert_eq!(p.bbr.state, State::Up);
    let mut bounds = alloc::vec![p.bbr.bounds.inflight_long.unwrap()];
    let mut flight = p.bbr.core.cwnd;
    for _ in 0..5 {
        // A round delivers the window before the last increase. The rate grows, so the probe goes on.
        (p.acked, flight) = (flight, p.bbr.core.cwnd);
        p.mbps *= 2;
        p.prior_in_flight = p.bbr.core.cwnd;
        p.rounds(1);
        bounds.push(p.bbr.bounds.inflight_long.unwrap());
    }
    let growth: alloc::vec::Vec<u64> = bounds.windows(2).map(|b| b[1] - b[0]).collect();
    assert!(growth.windows(2).all(|g| g[1] == 2 * g[0] || g[1] == 2 * g[0] + 1), "{growth:?}");
    assert_eq!(p.bbr.state, State::Up);
}

#[test]
fn a16_loss_between_probes_lowers_the_short_term_bounds_to_what_was_delivered() {
    let mut p = Path::at(State::Cruise);
    p.rounds(1);
    p.lose(5, 2, 2 * BDP);
    (p.mbps, p.acked) = (8, 28);
    p.round_of(5);
    assert_eq!(p.bbr.bounds.bw_short, Some(Rate::from_mbps(10)), "the round before the loss still counts");
    p.lose(5, 2, 2 * BDP);
    p.round_of(5);
    assert_eq!(p.bbr.bounds.bw_short, Some(Rate::from_mbps(8)), "not below 0.7 of 10");
    assert_eq!(p.bbr.bw(), Rate::from_mbps(8));
}

#[test]
fn a17_a_spurious_loss_goes_back_to_the_probe_with_its_bounds() {
    let mut p = Path::at(State::Up);
    p.bbr.bounds.inflight_long = Some(200);
    p.lose(5, 2, 2 * BDP);
    assert_eq!((p.bbr.state, p.bbr.bounds.inflight_long), (State::Down, Some(69)));
    p.bbr.on_spurious(p.now);
    assert_eq!((p.bbr.state, p.bbr.bounds.inflight_long), (State::Refill, Some(200)));
    p.in_recovery = false;
    p.until(State::Up, 2);
}

#[test]
fn a_spurious_loss_goes_back_to_startup() {
    let mut p = startup_loses(6, 2);
    p.bbr.on_spurious(p.now);
    assert_eq!((p.bbr.state, p.bbr.core.filled, p.bbr.bounds.inflight_long), (State::Startup, false, None));
}

#[test]
fn a18_probe_rtt_before_the_pipe_is_full_ends_in_startup() {
    let mut p = Path::new();
    p.app_limited = true;
    p.rounds(1);
    p.rtt = Dur::from_ms(41);
    p.until(State::ProbeRtt, 130);
    p.in_flight = 5;
    p.until(State::Startup, 20);
}

#[test]
fn a19_loss_in_up_lowers_the_bound_to_the_flight_at_the_loss() {
    let mut p = Path::at(State::Up);
    p.bbr.bounds.inflight_long = Some(200);
    p.lose(2, 2, 2 * BDP);
    // 68 segments before the second may lose 1.38, one is lost: 0.39 of the second.
    assert_eq!((p.bbr.state, p.bbr.bounds.inflight_long), (State::Down, Some(69)));
    assert!(p.bbr.cycle.prev_probe_too_high);
}

#[test]
fn a_loss_far_below_the_product_lowers_the_bound_by_three_tenths_at_most() {
    let mut p = Path::at(State::Up);
    p.lose(1, 2, 10);
    assert_eq!(p.bbr.bounds.inflight_long, Some(BDP * 7 / 10));
}

#[test]
fn a20_an_application_that_pauses_in_refill_does_not_lower_the_bandwidth() {
    let mut p = Path::at(State::Refill);
    (p.app_limited, p.mbps) = (true, 1);
    p.rounds(1);
    assert_eq!((p.bbr.state, p.bbr.bw()), (State::Up, Rate::from_mbps(10)));
}

/// In UP after a probe that lost too much at a flight of 70.
fn up_after_a_probe_that_lost() -> Path {
    let mut p = Path::at(State::Up);
    p.lose(2, 2, 2 * BDP);
    p.round_of(2);
    p.recover();
    (p.prior_in_flight, p.in_flight) = (BDP, 20);
    p.until(State::Up, 200);
    p
}

#[test]
fn after_a_probe_that_lost_the_next_stops_at_the_bound() {
    let mut p = up_after_a_probe_that_lost();
    p.prior_in_flight = 68;
    p.rounds(1);
    assert_eq!(p.bbr.state, State::Up, "below the bound of 69");
    p.prior_in_flight = 69;
    p.rounds(1);
    assert_eq!(p.bbr.state, State::Down);
    assert!(p.bbr.cycle.prev_probe_precautionary && !p.bbr.cycle.prev_probe_too_high);
}

#[test]
fn a_cautious_probe_without_loss_is_followed_by_a_full_one_at_once() {
    let mut p = up_after_a_probe_that_lost();
    p.prior_in_flight = 69;
    p.rounds(1);
    p.rounds(1);
    assert_eq!(p.bbr.state, State::Refill, "one round of feedback later");
    p.rounds(1);
    assert_eq!(p.bbr.state, State::Up);
    p.cwnd_limited = true;
    p.rounds(1);
    assert_eq!(p.bbr.state, State::Up, "at the bound, without caution");
}

#[test]
fn a_cautious_probe_that_loses_waits_as_usual() {
    let mut p = up_after_a_probe_that_lost();
    p.prior_in_flight = 69;
    p.rounds(1);
    p.lose(3, 2, 69);
    p.rounds(1);
    assert!(matches!(p.bbr.state, State::Down | State::Cruise), "{:?}", p.bbr.state);
    assert!(p.bbr.cycle.prev_probe_too_high);
}

#[test]
fn the_first_loss_restarts_the_loss_round() {
    let mut p = Path::at(State::Cruise);
    p.rounds(1);
    p.lose(1, 2, 2 * BDP);
    assert_eq!(p.bbr.bounds.loss_round_delivered(), p.delivered);
    let first = p.delivered;
    p.delivered += MSS;
    p.lose(1, 2, 2 * BDP);
    assert_eq!(p.bbr.bounds.loss_round_delivered(), first, "the second does not");
}

#[test]
fn recovery_neither_conserves_packets_nor_takes_lost_segments_from_the_window() {
    let mut p = Path::at(State::Refill);
    p.bbr.cycle.probing = false;
    let before = p.bbr.core.cwnd;
    p.lose(10, 2, 200);
    p.in_flight = 5;
    p.round_of(10);
    assert!(p.bbr.core.cwnd >= before, "{} after {before}", p.bbr.core.cwnd);
}

#[test]
fn the_end_of_recovery_restores_the_window_within_the_bounds() {
    let mut p = Path::at(State::Cruise);
    let before = p.bbr.core.cwnd;
    p.bbr.on_rto(&RtoEvent::at(p.now));
    assert_eq!(p.bbr.core.cwnd, 1);
    p.recover();
    assert_eq!(p.bbr.core.cwnd, before);
    p.bbr.on_rto(&RtoEvent::at(p.now));
    p.bbr.bounds.inflight_short = Some(20);
    p.recover();
    assert_eq!(p.bbr.core.cwnd, 20);
}

/// By hand: alpha is 1 before the first round with marks, which leaves 1 - ecn_factor of the window.
#[test]
fn marks_shorten_the_flight_by_the_factor_if_it_answers_them() {
    for (ecn, factor, left) in [(true, 0.5, Some(0.5)), (true, 0.25, Some(0.75)), (false, 0.5, None)] {
        let mut p = Path::at(State::Cruise);
        p.bbr.params = Params { ecn, ecn_factor: factor, ..Params::default() };
        let before = p.bbr.core.cwnd as f64;
        p.marked = 1;
        p.rounds(1);
        assert_eq!(p.bbr.bounds.inflight_short, left.map(|part| (part * before) as u64));
    }
}
