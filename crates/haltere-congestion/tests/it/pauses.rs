//! What an idle time and a mistaken reduction leave of a window: RFC 2861, RFC 5681 section 4.1, RFC 4015. Worked by
//! hand, in segments.

use haltere_congestion::{
    AckEvent, CongestionControl, CongestionParams, Control, LossEvent, LossKind, RestartEvent, SenderContext,
};
use haltere_units::{Bytes, Dur, Time};

const MSS: u64 = 1000;

fn reno() -> Control {
    let sender =
        SenderContext { mss: Bytes::new(MSS), initial_window: Bytes::new(10 * MSS), seed: 7, ..Default::default() };
    Control::new(&CongestionParams::default_of("reno").expect("a name"), &sender).expect("its defaults")
}
fn acked(control: &mut Control, segments: u64) {
    let mut ev = AckEvent::at(Time::ZERO);
    (ev.acked, ev.delivered, ev.cwnd_limited) = (Bytes::new(segments * MSS), Bytes::new(segments * MSS), true);
    control.on_ack(&ev);
}
fn idle(control: &mut Control, idle_ms: u64) {
    let mut ev = RestartEvent::at(Time::ZERO);
    (ev.idle, ev.rto) = (Dur::from_ms(idle_ms), Dur::from_ms(200));
    control.on_restart(&ev);
}
fn segments(control: &Control) -> (u64, u64) {
    (control.cwnd().as_u64() / MSS, control.ssthresh().as_u64() / MSS)
}

/// A window of so many segments in congestion avoidance, with a threshold of 5.
fn grown_to(window: u64) -> Control {
    let mut control = reno();
    control.on_loss(&LossEvent::at(Time::ZERO, LossKind::Loss));
    assert_eq!(segments(&control), (5, 5));
    for now in 5..window {
        acked(&mut control, now);
    }
    assert_eq!(segments(&control), (window, 5));
    control
}

#[test]
fn a_pause_leaves_three_quarters_of_the_window_as_the_threshold() {
    // Half and a quarter, each rounded down, as Linux does.
    for (window, threshold) in [(6, 5), (7, 5), (8, 6), (21, 15), (22, 16), (23, 16), (47, 34), (60, 45)] {
        let mut control = grown_to(window);
        idle(&mut control, 201);
        assert_eq!(segments(&control).1, threshold, "{window} segments");
    }
}

#[test]
fn a_threshold_above_three_quarters_of_the_window_stays() {
    let mut control = grown_to(60);
    control.on_loss(&LossEvent::at(Time::ZERO, LossKind::Loss));
    assert_eq!(segments(&control), (30, 30));
    idle(&mut control, 5000);
    assert_eq!(segments(&control), (10, 30));
}

#[test]
fn the_window_is_halved_for_each_timeout_that_passed_down_to_the_initial_one() {
    for (idle_ms, window) in [(200, 60), (201, 30), (400, 30), (401, 15), (600, 15), (601, 10), (1_000_000, 10)] {
        let mut control = grown_to(60);
        idle(&mut control, idle_ms);
        assert_eq!(segments(&control).0, window, "{idle_ms} ms");
    }
    // A window below the initial one is not raised.
    let mut control = grown_to(6);
    idle(&mut control, 1_000_000);
    assert_eq!(segments(&control).0, 6);
}

#[test]
fn a_reduction_that_is_taken_back_leaves_the_window_and_three_quarters_of_it() {
    let mut control = grown_to(47);
    control.on_loss(&LossEvent::at(Time::ZERO, LossKind::Loss));
    assert_eq!(segments(&control), (23, 23));
    control.on_spurious(Time::ZERO);
    assert_eq!(segments(&control), (47, 34));
    control.on_spurious(Time::ZERO);
    assert_eq!(segments(&control), (47, 34), "once");
    // An echo of congestion was no mistake.
    control.on_loss(&LossEvent::at(Time::ZERO, LossKind::Ecn));
    control.on_spurious(Time::ZERO);
    assert_eq!(segments(&control), (23, 23));
}
