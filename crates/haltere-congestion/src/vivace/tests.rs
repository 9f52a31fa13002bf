use super::*;
use crate::RateSample;
use crate::law::testing::{MSS, sender};
use alloc::string::ToString;

fn outcome(loss: f64, gradient: f64) -> Outcome {
    Outcome { loss, gradient }
}
fn near(value: f64, wanted: f64) -> bool {
    (value - wanted).abs() < 5e-4 * wanted.abs().max(1.0)
}

/// By hand at 100 Mbit/s: 100^0.9 = 63.096. 1 % of loss takes 11.35 * 100 * 0.01 = 11.35; 20 ms a second take 900 * 100
/// * 0.02 = 1800.
#[test]
fn the_utility_is_that_of_the_equation() {
    let params = Params::default();
    assert!(near(params.utility_of(100.0, &outcome(0.0, 0.0)), 63.096));
    assert!(near(params.utility_of(100.0, &outcome(0.01, 0.0)), 51.746));
    assert!(near(params.utility_of(100.0, &outcome(0.0, 0.02)), 63.096 - 1800.0));
    assert!(near(params.utility_of(100.0, &outcome(0.0, -0.02)), 63.096 + 1800.0));
    let loss = Params { utility: Utility::Loss, ..Params::default() };
    assert!(near(loss.utility_of(100.0, &outcome(0.01, 0.02)), 51.746));
}

#[test]
fn a_growth_below_the_threshold_counts_as_none() {
    let params = Params::default();
    assert!(near(params.utility_of(100.0, &outcome(0.0, 0.0099)), 63.096));
    assert!(near(params.utility_of(100.0, &outcome(0.0, 0.01)), 63.096 - 900.0));
}

/// The derivative is t x^(t - 1) - c L: at 100 Mbit/s 0.9 * 0.63096 = 0.56786, so L = 0.56786 / 11.35 = 5.003 %.
#[test]
fn five_percent_of_random_loss_do_not_lower_a_rate_of_100_mbit() {
    let params = Params::default();
    let slope = |loss: f64| {
        let at = |rate| params.utility_of(rate, &outcome(loss, 0.0));
        at(100.1) - at(99.9)
    };
    assert!(slope(0.0500) > 0.0 && slope(0.0501) < 0.0);
}

fn vivace() -> Vivace {
    let mut c = Vivace::new(&Params::default(), &sender(10)).unwrap();
    c.on_established(Time::ZERO, Dur::from_ms(40));
    c
}

/// By hand at 100 Mbit/s: 105^0.9 - 95^0.9 = 65.928 - 60.250 = 5.678 over 10 Mbit/s are 0.5678, so the step is 0.5678
/// Mbit/s.
#[test]
fn the_step_is_the_gradient() {
    let mut c = vivace();
    (c.rate, c.phase) = (100.0, Phase::Probing(None));
    let score = |rate: f64| (c.params.utility_of(rate, &outcome(0.0, 0.0)), outcome(0.0, 0.0), rate);
    let (up, down) = (score(105.0), score(95.0));
    c.compare(None, up, down);
    assert!(near(c.rate, 100.5678), "{}", c.rate);
}

#[test]
fn less_loss_at_more_speed_is_measured_again() {
    let mut c = vivace();
    (c.rate, c.phase) = (100.0, Phase::Probing(None));
    c.compare(None, (66.0, outcome(0.0, 0.0), 105.0), (60.0, outcome(0.1, 0.0), 95.0));
    assert_eq!((c.rate, c.phase), (100.0, Phase::Probing(Some(0.6))));
    // The second time the gradient is 0.2: the mean is 0.4.
    c.compare(Some(0.6), (62.0, outcome(0.0, 0.0), 105.0), (60.0, outcome(0.1, 0.0), 95.0));
    assert!(near(c.rate, 100.4) && c.phase == Phase::Probing(None), "{}", c.rate);
}

/// An acknowledgement of one segment that left a round trip ago, on a path whose rate and round-trip time never change.
fn acks(c: &mut Vivace, from_ms: u64, to_ms: u64) {
    let mut delivered = from_ms * 10_000;
    for ms in from_ms..to_ms {
        let mut ev = AckEvent::at(Time::ZERO + Dur::from_ms(ms));
        let bytes = (c.sending * 125.0) as u64;
        delivered += bytes;
        (ev.delivered, ev.srtt, ev.rtt) = (Bytes::new(bytes), Dur::from_ms(40), Some(Dur::from_ms(40)));
        let mut sample = RateSample::new(ev.delivered, ev.srtt);
        // What was delivered a round trip ago, at about that rate.
        sample.prior_delivered = delivered.saturating_sub(40 * bytes);
        sample.total_delivered = delivered;
        ev.rate = Some(sample);
        c.on_ack(&ev);
    }
}

#[test]
fn the_rate_doubles_while_nothing_is_lost_and_nothing_waits() {
    let mut c = vivace();
    // Ten segments in 40 ms.
    assert!(near(c.rate, 10.0 * MSS as f64 * 8e-6 / 0.04));
    let before = c.rate;
    acks(&mut c, 0, 100);
    assert!(near(c.rate, 2.0 * before), "{} to {}", before, c.rate);
    assert!(matches!(c.phase, Phase::Starting(Some(_))));
}

#[test]
fn the_start_ends_at_the_last_rate_that_paid() {
    let mut c = vivace();
    c.rate = 80.0;
    c.end_start_step(Some(50.0), 40.0);
    assert_eq!((c.rate, c.phase), (40.0, Phase::Probing(None)));
}

#[test]
fn a_timeout_halves_the_rate_once() {
    let mut c = vivace();
    c.rate = 80.0;
    c.on_rto(&RtoEvent { first: true, ..RtoEvent::at(Time::ZERO) });
    assert_eq!(c.rate, 40.0);
    c.on_rto(&RtoEvent::at(Time::ZERO));
    assert_eq!(c.rate, 40.0);
    assert_eq!(c.cwnd(), Bytes::new(MSS));
}

#[test]
fn parameters_out_of_range_are_refused() {
    let wrong = |params: Params| Vivace::new(&params, &sender(10)).unwrap_err();
    let usual = Params::default;
    assert!(wrong(Params { t: 1.0, ..usual() }).to_string().contains("t must be above 0 and below 1"));
    assert!(wrong(Params { epsilon: f64::NAN, ..usual() }).to_string().contains("epsilon"));
    assert!(wrong(Params { gradient_filter: -0.1, ..usual() }).to_string().contains("gradient_filter"));
}
