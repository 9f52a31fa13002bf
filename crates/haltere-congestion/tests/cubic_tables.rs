//! RFC 9438 section 5.1, tables 1 and 2: the mean window of CUBIC under deterministic loss.
//!
//! The loss model of the RFC: one loss after every 1/p segments. It is driven here in rounds: a window of segments is
//! acknowledged within one round trip, which is split evenly over the acknowledgements; the reduction is taken at once. The RFC's
//! numbers come from the fluid formula of its equation 6 (and, where larger, Reno's), so windows of a few segments differ by
//! what whole segments cost; the tolerance is 15 % for windows below 50 segments and 10 % above.

use haltere_congestion::{AckEvent, CongestionControl, LossEvent, LossKind, SenderContext, cubic};
use haltere_units::{Bytes, Dur, Time};

const MSS: u64 = 1500;

/// The mean window in segments over the last of so many losses.
fn mean_window(rtt: Dur, segments_per_loss: u64, params: cubic::Params) -> f64 {
    let sender = SenderContext { mss: Bytes::new(MSS), initial_window: Bytes::new(10 * MSS), seed: 0 };
    let mut control = cubic::Cubic::new(&params, &sender).unwrap();
    let mut now_ns = 0u64;
    let (mut area, mut span) = (0.0, 0.0);
    for loss in 0..60 {
        let mut left = segments_per_loss;
        while left > 0 {
            let window = control.cwnd().as_u64() / MSS;
            let step_ns = (rtt.as_ns() / window).max(1);
            // In large windows several segments are acknowledged together, at most a hundredth of a window.
            let together = (window / 100).clamp(1, left);
            now_ns += step_ns * together;
            if loss >= 20 {
                area += window as f64 * (step_ns * together) as f64;
                span += (step_ns * together) as f64;
            }
            let bytes = Bytes::new(together * MSS);
            let mut ack = AckEvent::at(Time::from_ns(now_ns));
            (ack.acked, ack.delivered, ack.cwnd_limited) = (bytes, bytes, true);
            (ack.rtt, ack.srtt, ack.min_rtt) = (Some(rtt), rtt, rtt);
            control.on_ack(&ack);
            left -= together;
        }
        control.on_loss(&LossEvent::at(Time::from_ns(now_ns), LossKind::Loss));
    }
    area / span
}

fn check(rtt: Dur, table: &[(i32, f64)]) {
    for &(exponent, expected) in table {
        let segments_per_loss = 10u64.pow(exponent as u32);
        let got = mean_window(rtt, segments_per_loss, cubic::Params::default());
        let tolerance = if expected < 50.0 { 0.15 } else { 0.10 };
        println!("RTT {rtt} p 1e-{exponent}: {got:.1} segments, the RFC has {expected}");
        assert!(
            (got / expected - 1.0).abs() < tolerance,
            "RTT {rtt} p 1e-{exponent}: {got:.1}, the RFC has {expected}"
        );
    }
}

#[test]
fn table_1_round_trip_of_100_ms() {
    check(Dur::from_ms(100), &[(2, 12.0), (3, 38.0), (4, 187.0), (5, 1054.0), (6, 5926.0)]);
}

#[test]
fn table_2_round_trip_of_10_ms() {
    check(Dur::from_ms(10), &[(2, 12.0), (3, 38.0), (4, 120.0), (5, 379.0), (6, 1200.0)]);
}

/// The same with Linux's Reno-friendly region: the tables are the same within the tolerance.
#[test]
fn the_linux_region_gives_the_same_mean_windows() {
    let linux = cubic::Params { reno_friendly: cubic::RenoFriendly::Linux, ..cubic::Params::default() };
    for exponent in 3..=5 {
        let n = 10u64.pow(exponent);
        let (a, b) = (
            mean_window(Dur::from_ms(10), n, cubic::Params::default()),
            mean_window(Dur::from_ms(10), n, linux.clone()),
        );
        assert!((a / b - 1.0).abs() < 0.1, "p 1e-{exponent}: {a:.1} and {b:.1}");
    }
}
