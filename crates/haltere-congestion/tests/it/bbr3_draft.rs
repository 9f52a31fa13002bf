//! The test cases of draft-ietf-ccwg-bbr's appendix A that need a path: A.14, A.15 and A.16. The rest are in
//! `bbr3/tests.rs`.

use crate::path::{Flow, MSS, Path};
#[allow(dead_code)] // each test binary has this module, and not all use all of it
use haltere_congestion::CongestionParams;
use haltere_units::{Dur, Rate, Time};

/// Of a full link 1448 of 1514 bytes are payload.
const PAYLOAD: f64 = 1448.0 / 1514.0;

fn flow(mbps: u64, limit: usize) -> Flow {
    let path = Path { rate: Rate::from_mbps(mbps), rtt: Dur::from_ms(40), limit, mark: None };
    Flow::new(path, &CongestionParams::default_of("bbr3").unwrap())
}
fn at(seconds: f64) -> Time {
    Time::ZERO + Dur::from_secs_f64(seconds)
}
/// Seconds after `from` at which the share of the estimate in that rate is in the range, at most `most`.
fn seconds_until(f: &mut Flow, from: f64, most: f64, share: impl Fn(&Flow) -> bool) -> f64 {
    (0..(most * 100.0) as u32)
        .map(|i| f64::from(i) / 100.0)
        .find(|wait| {
            f.run_until(at(from + wait));
            share(f)
        })
        .unwrap_or_else(|| panic!("not within {most} s: {:.2} Mbit/s", f.probe("max_bw") / 1e6))
}

#[test]
fn a14_ten_times_the_rate_is_found_in_one_probe() {
    let mut f = flow(10, 1000);
    f.run_until(at(10.0));
    f.set_rate(Rate::from_mbps(100));
    // Up to 3 s until the next probe, one round of REFILL and log(10) / log(1.25) = 10.3 rounds of UP; ProbeRTT may
    // come between.
    let took = seconds_until(&mut f, 10.0, 5.0, |f| f.probe("bw") > 0.95 * 100e6 * PAYLOAD);
    println!("{took:.2} s");
}

#[test]
fn a15_a_tenth_of_the_rate_is_believed_after_two_cycles() {
    let mut f = flow(100, 345);
    f.run_until(at(10.0));
    f.set_rate(Rate::from_mbps(10));
    let short = seconds_until(&mut f, 10.0, 5.0, |f| f.probe("bw") < 0.7 * 100e6 * PAYLOAD);
    let long = seconds_until(&mut f, 10.0 + short, 25.0, |f| f.probe("max_bw") < 1.03 * 10e6 * PAYLOAD);
    println!("lower bound after {short:.2} s, bandwidth {long:.2} s later");
}

#[test]
fn a16_a_policer_costs_less_than_the_loss_threshold() {
    // A queue of four packets takes a burst and drops the rest, as a bucket of as many tokens does.
    let mut f = flow(20, 4);
    f.run_until(at(10.0));
    let (drops, bytes) = (f.drops, f.bytes_received);
    f.run_until(at(40.0));
    let sent = (f.bytes_received - bytes) / MSS;
    let loss = (f.drops - drops) as f64 / sent as f64;
    let goodput = (f.bytes_received - bytes) as f64 * 8.0 / 30.0 / (20e6 * PAYLOAD);
    println!("loss {loss:.4}, share of the path {goodput:.3}");
    assert!(loss < 0.02, "{loss}");
    assert!(goodput > 0.6, "{goodput}");
}
