//! Each control over one bottleneck: what its paper promises, in figures.

mod path;

use haltere_congestion::CongestionParams;
use haltere_units::{Dur, Rate, Time};
use path::{Flow, Path};

fn path(mbps: u64, limit: usize) -> Path {
    Path { rate: Rate::from_mbps(mbps), rtt: Dur::from_ms(40), limit, mark: None }
}
fn flow(kind: &str, path: Path) -> Flow {
    Flow::new(path, &CongestionParams::default_of(kind).unwrap())
}
fn secs(s: f64) -> Time {
    Time::ZERO + Dur::from_secs_f64(s)
}

/// Payload bit/s of a full link: 1448 of 1514 bytes.
fn payload(mbps: f64) -> f64 {
    mbps * 1e6 * 1448.0 / 1514.0
}

#[test]
fn bbr_finds_bandwidth_and_round_trip_and_drains_every_ten_seconds() {
    let mut f = flow("bbr", path(10, 1000));
    let mut states = Vec::new();
    let mut probe_rtt_starts = Vec::new();
    for ms in 1..35_000 {
        f.run_until(Time::ZERO + Dur::from_ms(ms));
        let state = f.probe("state") as u8;
        if states.last() != Some(&state) {
            states.push(state);
            if state == 3 {
                probe_rtt_starts.push(ms);
            }
        }
        if ms > 1000 && state == 2 {
            let bw = f.probe("bw") / payload(10.0);
            assert!((0.97..1.03).contains(&bw), "bandwidth {bw:.4} of the path's at {ms} ms");
            // The second of two segments that one acknowledgement answers may have waited for the first: 1.21 ms.
            assert!((0.040..0.04122).contains(&f.probe("min_rtt")), "{}", f.probe("min_rtt"));
        }
    }
    assert_eq!(states[..3], [0, 1, 2], "Startup, Drain, ProbeBW");
    assert_eq!(states[3..], [3, 2, 3, 2, 3, 2], "and ProbeRTT now and then");
    for (pair, start) in probe_rtt_starts.windows(2).zip(&probe_rtt_starts) {
        let gap = pair[1] - start;
        assert!((10_000..10_400).contains(&gap), "ProbeRTT {gap} ms after the last");
    }
}

#[test]
fn bbr3_fills_the_path_with_less_loss_than_bbr() {
    let mut old = flow("bbr", path(20, 20));
    let mut new = flow("bbr3", path(20, 20));
    let mut states = [false; 7];
    for ms in 1..30_000 {
        old.run_until(Time::ZERO + Dur::from_ms(ms));
        new.run_until(Time::ZERO + Dur::from_ms(ms));
        states[new.probe("state") as usize] = true;
    }
    assert_eq!(states, [true; 7], "Startup, Drain, DOWN, CRUISE, REFILL, UP, ProbeRTT");
    let goodput = |f: &Flow| f.bytes_received as f64 * 8.0 / 30.0 / payload(20.0);
    assert!(goodput(&new) > 0.9, "share of the path {:.3}", goodput(&new));
    assert!(new.drops < old.drops, "{} against {}", new.drops, old.drops);
}

#[test]
fn bbr3_finds_bandwidth_and_drains_every_five_seconds() {
    let mut f = flow("bbr3", path(10, 1000));
    let mut starts = Vec::new();
    let mut last = 0;
    for ms in 1..25_000 {
        f.run_until(Time::ZERO + Dur::from_ms(ms));
        let state = f.probe("state") as u8;
        if state == 6 && last != 6 {
            starts.push(ms);
        }
        last = state;
        if ms > 2000 && (2..6).contains(&state) {
            let bw = f.probe("bw") / payload(10.0);
            assert!((0.97..1.03).contains(&bw), "bandwidth {bw:.4} of the path's at {ms} ms");
        }
    }
    assert!(starts.len() >= 3, "{starts:?}");
    for pair in starts.windows(2) {
        assert!((5_000..8_500).contains(&(pair[1] - pair[0])), "{starts:?}");
    }
}

#[test]
#[ignore = "prints series for a look at them"]
fn print_series() {
    let kind = std::env::var("CONTROL").unwrap_or("reno".into());
    let json = std::env::var("PARAMS").unwrap_or("{}".into());
    let mut value: serde_json::Value = serde_json::from_str(&json).unwrap();
    value["kind"] = kind.as_str().into();
    let mut f = Flow::new(path(20, 67), &serde_json::from_value(value).unwrap());
    for i in 1..1500 {
        f.run_until(secs(i as f64 * 0.02));
        println!("{:.2} {} {} {} {}", i as f64 * 0.02, f.cwnd(), f.waiting(), f.drops, f.bytes_received);
    }
    println!("first drop {:?} queue {:.2}", f.first_drop, f.queue_seconds / 30.0);
}
