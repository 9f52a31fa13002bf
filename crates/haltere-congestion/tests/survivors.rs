//! What changes of the code did to no test once: a rule, and a connection that shows it.

#![allow(missing_docs, reason = "tests")]

use haltere_congestion::{AckEvent, CongestionControl, CongestionParams, Control, LossEvent, LossKind, SenderContext};
use haltere_units::{Bytes, Dur, Time};

const MSS: u64 = 1000;

fn control(kind: &str) -> Control {
    let params = CongestionParams::default_of(kind).expect("a name of the registry");
    let sender = SenderContext { mss: Bytes::new(MSS), initial_window: Bytes::new(100 * MSS), seed: 7 };
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

/// The window of CUBIC three seconds after a loss, with these round-trip times before it.
fn cubic_after(rtts_ms: [u64; 2]) -> u64 {
    let mut cubic = control("cubic");
    for rtt in rtts_ms {
        cubic.on_ack(&ack(at(0), Some(Dur::from_ms(rtt)), false));
    }
    lose(&mut cubic, at(1));
    for ms in 1..3000 {
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
