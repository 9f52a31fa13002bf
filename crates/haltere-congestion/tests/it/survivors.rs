//! What changes of the code did to no test once: a rule, and a connection that shows it.

#![allow(missing_docs, reason = "tests")]

use haltere_congestion::{
    AckEvent, CongestionControl, CongestionParams, Control, LossEvent, LossKind, RestartEvent, RtoEvent, SenderContext,
};
use haltere_units::{Bytes, Dur, Probe, Time};

const MSS: u64 = 1000;

fn control(kind: &str) -> Control {
    let params = CongestionParams::default_of(kind).expect("a name of the registry");
    let sender =
        SenderContext { mss: Bytes::new(MSS), initial_window: Bytes::new(100 * MSS), seed: 7, ..Default::default() };
    Control::new(&params, &sender).expect("its defaults")
}

fn at(ms: u64) -> Time {
    Time::ZERO + Dur::from_ms(ms)
}

/// One segment is acknowledged after so long.
fn ack(now: Time, rtt: Option<Dur>, cwnd_limited: bool) -> AckEvent {
    let mut ev = AckEvent::at(now);
    (ev.acked, ev.delivered, ev.cwnd_limited) = (Bytes::new(MSS), Bytes::new(MSS), cwnd_limited);
    (ev.rtt, ev.srtt, ev.min_rtt) = (rtt, Dur::from_ms(40), Dur::from_ms(10));
    ev
}

fn lose(control: &mut Control, now: Time) -> u64 {
    control.on_loss(&LossEvent::at(now, LossKind::Loss));
    control.cwnd().as_u64() / MSS
}

/// The window of Illinois after a second loss, after rounds with these round-trip times.
fn illinois_after(rounds_ms: &[u64]) -> (u64, u64) {
    let mut illinois = control("illinois");
    assert_eq!(lose(&mut illinois, at(0)), 50, "before its first round beta is the largest");
    for (round, &rtt) in (1..).zip(rounds_ms) {
        let mut ev = ack(at(100 * round), Some(Dur::from_ms(rtt)), true);
        (ev.snd_una, ev.snd_nxt) = (50 * MSS * round, 50 * MSS * (round + 1));
        illinois.on_ack(&ev);
        // The next round ends with the first byte after what was sent.
        (ev.rtt, ev.snd_una, ev.cwnd_limited) = (None, ev.snd_nxt, false);
        illinois.on_ack(&ev);
    }
    let before = illinois.cwnd().as_u64() / MSS;
    (before, lose(&mut illinois, at(10_000)))
}

#[test]
fn illinois_gives_up_an_eighth_while_the_delay_is_low_and_half_while_it_is_high() {
    let (before, after) = illinois_after(&[40, 40, 40]);
    assert!(before >= 50 && (7 * before / 8..=7 * before / 8 + 1).contains(&after), "{before} {after}");
    let (before, after) = illinois_after(&[40, 140, 140]);
    assert!(before >= 50 && (before / 2..=before / 2 + 1).contains(&after), "{before} {after}");
}

/// The window of CUBIC a second after a loss, with these round-trip times before it.
fn cubic_after(rtts_ms: [u64; 2]) -> u64 {
    let mut cubic = control("cubic");
    for rtt in rtts_ms {
        cubic.on_ack(&ack(at(0), Some(Dur::from_ms(rtt)), false));
    }
    lose(&mut cubic, at(1));
    for ms in 1..1000 {
        cubic.on_ack(&ack(at(1 + ms), None, true));
    }
    cubic.cwnd().as_u64()
}

#[test]
fn cubic_aims_at_its_curve_one_least_round_trip_ahead() {
    let short = cubic_after([10, 10]);
    assert_eq!((cubic_after([10, 400]), cubic_after([400, 10])), (short, short));
    assert!(cubic_after([400, 400]) > short, "the curve is steeper further ahead");
}

#[test]
fn a_timeout_leaves_one_segment_more_than_what_still_counts_as_in_flight() {
    for kind in ["reno", "cubic", "bbr", "bbr3", "copa", "ledbat", "vegas", "dctcp"] {
        for segments in [0, 1, 7] {
            let mut control = control(kind);
            let mut ev = RtoEvent::at(at(1000));
            (ev.in_flight, ev.still_in_flight, ev.first) = (Bytes::new(90 * MSS), Bytes::new(segments * MSS), true);
            control.on_rto(&ev);
            assert_eq!(control.cwnd(), Bytes::new((segments + 1) * MSS), "{kind}");
        }
    }
}

/// The window after growth to 400 segments and an idle time of so many tenths of a retransmission timeout.
fn restarted(kind: &str, tenths: u64) -> u64 {
    let mut control = control(kind);
    for _ in 0..10_000 {
        if control.cwnd().as_u64() < 400 * MSS {
            control.on_ack(&ack(at(1), None, true));
        }
    }
    assert_eq!(control.cwnd().as_u64(), 400 * MSS, "slow start");
    let mut ev = RestartEvent::at(at(10_000));
    (ev.idle, ev.rto) = (Dur::from_ms(20 * tenths), Dur::from_ms(200));
    control.on_restart(&ev);
    control.cwnd().as_u64() / MSS
}

#[test]
fn an_idle_time_halves_the_window_for_each_timeout_down_to_the_initial_one() {
    // RFC 2861, section 3.1, and RFC 5681, section 4.1. The initial window has 100 segments.
    for kind in ["reno", "cubic", "ledbat"] {
        assert_eq!([10, 15, 25, 99].map(|tenths| restarted(kind, tenths)), [400, 200, 100, 100], "{kind}");
    }
}

/// What a control says of itself.
fn inner(control: &Control, name: &str) -> Option<f64> {
    let mut row = Probe::new();
    control.probe(&mut row);
    row.get(name)
}

#[test]
fn controls_show_their_inner_variables() {
    let mut cubic = control("cubic");
    assert_eq!(["w_max", "k", "w_est"].map(|name| inner(&cubic, name)), [Some(0.0); 3]);
    lose(&mut cubic, at(0));
    assert_eq!(inner(&cubic, "w_max"), Some(100_000.0));
    cubic.on_ack(&ack(at(40), None, true));
    // K = cbrt((100 - 70) / 0.4).
    assert!(inner(&cubic, "k").is_some_and(|k| (k - 75f64.cbrt()).abs() < 0.01));
    assert!(inner(&control("nv"), "max_window").is_some());
}

#[test]
fn without_siblings_a_coupled_control_grows_by_a_segment_a_round_trip() {
    for kind in ["lia", "olia", "balia", "reno"] {
        let mut control = control(kind);
        let begin = lose(&mut control, at(0));
        for _ in 0..begin + (begin + 1) + 2 {
            control.on_ack(&ack(at(40), None, true));
        }
        assert_eq!(control.cwnd().as_u64() / MSS, begin + 2, "{kind}");
    }
}

#[test]
fn a_loss_that_was_none_is_taken_back() {
    for kind in ["lia", "olia", "balia", "reno", "veno", "westwood"] {
        let mut control = control(kind);
        assert!(lose(&mut control, at(0)) < 100, "{kind}");
        control.on_spurious(at(1));
        assert_eq!(control.cwnd(), Bytes::new(100 * MSS), "{kind}");
    }
}

#[test]
fn without_siblings_a_coupled_control_halves() {
    for kind in ["lia", "olia", "balia"] {
        assert_eq!(lose(&mut control(kind), at(0)), 50, "{kind}");
    }
}

#[test]
fn controls_that_model_the_path_own_their_recovery() {
    let owns = |kind| control(kind).owns_recovery();
    assert_eq!(["bbr", "bbr3", "vivace", "reno", "cubic"].map(owns), [true, true, true, false, false]);
}
