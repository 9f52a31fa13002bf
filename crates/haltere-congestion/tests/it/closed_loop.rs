//! Each control over one bottleneck: what its paper promises, in figures.

use crate::path;

use crate::path::{Flow, Path};
use haltere_congestion::CongestionParams;
use haltere_units::{Dur, Rate, Time};

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

/// Mean of the packets waiting, goodput in Mbit/s (both from 5 s to 30 s) and drops in all.
fn measure(params: &str) -> (f64, f64, u64) {
    let mut f = Flow::new(path(20, 67), &serde_json::from_str(params).unwrap());
    f.run_until(secs(5.0));
    let (queue, bytes) = (f.queue_seconds, f.bytes_received);
    f.run_until(secs(30.0));
    ((f.queue_seconds - queue) / 25.0, (f.bytes_received - bytes) as f64 * 8.0 / 25e6, f.drops)
}

/// One flow, 20 Mbit/s, 40 ms, 67 packets, against the same measured on Linux 6.1 (30 s, statistics from 5 s on).
///
/// The queue may differ by 2 %, the goodput by 0.3 %, the drops by 5 % (how many of the first slow start's segments are
/// lost depends on the phase of the delayed acknowledgements, which this small path does not have from Linux).
#[test]
fn one_flow_alone_is_as_on_linux() {
    let linux = [
        (r#"{"kind":"reno"}"#, 36.99, 19.128, 145),
        (r#"{"kind":"cubic","hystart":"linux_6_13","reno_friendly":"linux"}"#, 53.39, 19.128, 15),
        (r#"{"kind":"bbr"}"#, 6.92, 18.778, 146),
    ];
    for (params, queue, goodput, drops) in linux {
        let got = measure(params);
        println!("{params}: {got:.3?}, Linux ({queue}, {goodput}, {drops})");
        assert!((got.0 / queue - 1.0).abs() < 0.02, "{params}: {:.2} packets waiting, Linux {queue}", got.0);
        assert!((got.1 / goodput - 1.0).abs() < 0.003, "{params}: {:.3} Mbit/s, Linux {goodput}", got.1);
        assert!((got.2 as f64 / drops as f64 - 1.0).abs() < 0.05, "{params}: {} drops, Linux {drops}", got.2);
    }
}

/// Linux: 71 segments, 4.45 packets waiting, from 5 s to 30 s. (Its slow start ends with losses; see the doubts in
/// `vegas`.)
#[test]
fn vegas_rests_where_it_does_on_linux() {
    let mut f = flow("vegas", path(20, 67));
    f.run_until(secs(5.0));
    let queue = f.queue_seconds;
    for ms in 5_000..30_000 {
        f.run_until(Time::ZERO + Dur::from_ms(ms));
        assert_eq!(f.cwnd(), 71, "at {ms} ms");
    }
    let mean = (f.queue_seconds - queue) / 25.0;
    assert!((mean / 4.45 - 1.0).abs() < 0.02, "{mean:.2} packets waiting");
}

/// RFC 8257 §3.3 and Alizadeh et al. 2010: over K = 30 packets the queue stays near K, nothing is lost, the path is
/// full.
#[test]
fn dctcp_holds_the_queue_at_the_threshold() {
    let marking = Path { rate: Rate::from_mbps(100), rtt: Dur::from_ms(4), limit: 1000, mark: Some(30) };
    let mut f = flow("dctcp", marking);
    f.run_until(secs(5.0));
    let (queue, bytes, marks) = (f.queue_seconds, f.bytes_received, f.marks);
    let mut alpha = 0.0;
    for ms in 5_000..15_000 {
        f.run_until(Time::ZERO + Dur::from_ms(ms));
        alpha += f.probe("alpha") / 10_000.0;
    }
    let mean = (f.queue_seconds - queue) / 10.0;
    let goodput = (f.bytes_received - bytes) as f64 * 8.0 / 10.0 / payload(100.0);
    let share = (f.marks - marks) as f64 / ((f.bytes_received - bytes) / path::MSS) as f64;
    println!("alpha {alpha:.3}, marked {share:.3}, {mean:.1} packets waiting");
    assert_eq!(f.drops, 0);
    assert!(goodput > 0.995, "share of the path {goodput:.4}");
    assert!((20.0..32.0).contains(&mean), "{mean:.1} packets waiting, K is 30");
    // alpha is the share of marked segments; its integers (1/1024, rounded down twice a window) cost up to 2/1024 for
    // every sixteenth, 0.03.
    assert!(share > 0.05 && (alpha - share).abs() < 0.03, "alpha {alpha:.3}, marked share {share:.3}");
}

#[test]
fn every_control_by_losses_fills_a_path_with_a_buffer_of_one_bdp() {
    for kind in ["highspeed", "scalable", "hybla", "htcp", "westwood", "bic", "illinois", "veno", "yeah"] {
        let mut f = flow(kind, path(20, 67));
        f.run_until(secs(10.0));
        let bytes = f.bytes_received;
        f.run_until(secs(40.0));
        let share = (f.bytes_received - bytes) as f64 * 8.0 / 30.0 / payload(20.0);
        println!("{kind}: {share:.3} of the path, {} drops", f.drops);
        assert!(share > 0.95 && f.drops < 2000, "{kind}: {share:.3}, {} drops", f.drops);
    }
}

#[test]
fn ledbat_and_copa_fill_the_path_with_the_delay_they_aim_at() {
    // 20 Mbit/s send a packet in 0.6 ms: LEDBAT++ aims at 60 ms, 99 packets; Copa at about 1 / delta = 2 packets.
    for (kind, least, most) in [("ledbat", 85.0, 102.0), ("copa", 0.5, 12.0)] {
        let mut f = flow(kind, path(20, 1000));
        f.run_until(secs(10.0));
        let (bytes, queue) = (f.bytes_received, f.queue_seconds);
        f.run_until(secs(40.0));
        let share = (f.bytes_received - bytes) as f64 * 8.0 / 30.0 / payload(20.0);
        let mean = (f.queue_seconds - queue) / 30.0;
        println!("{kind}: {share:.3} of the path, {mean:.1} packets wait, {} drops", f.drops);
        assert!(share > 0.9, "{kind}: {share:.3} of the path");
        assert!((least..=most).contains(&mean), "{kind}: {mean:.1} packets wait");
    }
}

#[test]
fn vivace_fills_the_path_with_a_short_queue_and_bears_loss() {
    // With delay in the utility the queue stays short; without, the buffer of one bandwidth-delay product fills.
    for (json, most) in [(r#"{"kind": "vivace"}"#, 12.0), (r#"{"kind": "vivace", "utility": "loss"}"#, 68.0)] {
        let mut f = Flow::new(path(20, 67), &serde_json::from_str(json).unwrap());
        f.run_until(secs(10.0));
        let (bytes, queue) = (f.bytes_received, f.queue_seconds);
        f.run_until(secs(40.0));
        let share = (f.bytes_received - bytes) as f64 * 8.0 / 30.0 / payload(20.0);
        let mean = (f.queue_seconds - queue) / 30.0;
        println!("{json}: {share:.3} of the path, {mean:.1} packets wait, {} drops", f.drops);
        assert!(share > 0.9 && mean < most, "{json}: {share:.3} of the path, {mean:.1} packets wait");
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
