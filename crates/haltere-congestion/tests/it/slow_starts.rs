//! Slow starts over a control: what holds whatever happens, and what each promises on a path.

use crate::conformance::{MSS, play, sender, step};
use crate::path::{Flow, Path};
use haltere_congestion::{CongestionControl, CongestionParams, Control};
use haltere_units::{Dur, Rate, Time};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Every start, and what two of them are together.
fn starts() -> [(&'static str, Value); 6] {
    [
        ("search", json!({ "slow_start": "search" })),
        ("search_undrained", json!({ "slow_start": "search_undrained" })),
        ("rapid", json!({ "slow_start": "rapid" })),
        ("resume", json!({ "saved_window": "300kB", "saved_rtt": "40ms" })),
        ("limited", json!({ "rate_limited_increase": true })),
        (
            "all",
            json!({ "slow_start": "rapid", "saved_window": "300kB", "saved_rtt": "40ms", "rate_limited_increase": true }),
        ),
    ]
}

fn params(kind: &str, start: &Value) -> CongestionParams {
    let mut table = start.clone();
    table["kind"] = kind.into();
    serde_json::from_value(table).unwrap_or_else(|error| panic!("{kind} with {start}: {error}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn windows_stay_sane_and_runs_repeat(steps in proptest::collection::vec((0u64..300_000, step()), 1..300)) {
        for kind in ["reno", "cubic", "dctcp", "lia", "hybla"] {
            for (name, start) in starts() {
                let mut control = Control::new(&params(kind, &start), &sender()).unwrap();
                control.on_established(Time::ZERO, Dur::from_ms(40));
                let mut twin = control.clone();
                let rows = play(&mut control, &steps);
                for (i, (cwnd, ssthresh, rate, _)) in rows.iter().enumerate() {
                    prop_assert!(cwnd.as_u64() >= MSS, "{kind}, {name}: window {cwnd} after {:?}", steps[i]);
                    prop_assert!(cwnd.as_u64() <= MSS * u64::from(u32::MAX), "{kind}, {name}: window {cwnd}");
                    prop_assert!(ssthresh.as_u64() >= 2 * MSS, "{kind}, {name}: threshold {ssthresh}");
                    prop_assert!(*rate != Some(Rate::ZERO), "{kind}, {name}: rate zero after {:?}", steps[i]);
                }
                prop_assert_eq!(rows, play(&mut twin, &steps), "{} with {} is not deterministic", kind, name);
            }
        }
    }
}

#[test]
fn every_control_with_a_window_takes_every_start_and_the_others_refuse_them() {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for &kind in CongestionParams::NAMES {
        if CongestionParams::default_of(kind).unwrap().start().is_none() {
            assert!(
                serde_json::from_value::<CongestionParams>(json!({ "kind": kind, "slow_start": "rapid" })).is_err()
            );
            without.push(kind);
            continue;
        }
        for (name, start) in starts() {
            let control = Control::new(&params(kind, &start), &sender());
            assert!(control.is_ok_and(|mut control| control.window().is_some()), "{kind} with {name}");
        }
        with.push(kind);
    }
    assert_eq!(without, ["bbr", "bbr3", "copa", "vivace", "prague"]);
    assert_eq!(with.len(), 20);
}

#[test]
fn a_saved_window_needs_a_saved_round_trip_time() {
    let refused = |start: Value| Control::new(&params("cubic", &start), &sender()).unwrap_err().to_string();
    assert_eq!(
        refused(json!({ "saved_window": "1MB" })),
        "saved_rtt must be above 0 if `saved_window` is given, got 0ns; the least round-trip time of that connection"
    );
    assert_eq!(refused(json!({ "saved_rtt": "40ms" })), "saved_window must be above 0 if `saved_rtt` is given, got 0B");
}

/// 100 Mbit/s, 100 ms: 826 packets are on the path, and as many may wait.
fn path() -> Path {
    Path { rate: Rate::from_mbps(100), rtt: Dur::from_ms(100), limit: 826, mark: None }
}
fn flow(path: Path, start: Value) -> Flow {
    let mut start = start;
    start["hystart"] = "off".into();
    Flow::new(path, &params("cubic", &start))
}
/// Bytes received and packets dropped after so many milliseconds.
fn after(start: Value, ms: u64) -> (u64, u64) {
    let mut flow = flow(path(), start);
    flow.run_until(Time::ZERO + Dur::from_ms(ms));
    (flow.bytes_received, flow.drops)
}
/// The phases of a start, and how many packets wait when it is over, or after four seconds.
fn phases(flow: &mut Flow) -> (Vec<u8>, usize) {
    let mut phases = Vec::new();
    for ms in 1..4000 {
        flow.run_until(Time::ZERO + Dur::from_ms(ms));
        let phase = flow.probe("start_phase") as u8;
        if phases.last() != Some(&phase) {
            phases.push(phase);
        }
        if phase == 0 {
            break;
        }
    }
    (phases, flow.waiting())
}

/// Doubling, the queue holds about four bandwidth-delay products when 26 % of what was sent do not arrive in time: at 2 C
/// sent and C delivered, 3.7 round trips after the path is full. Here it holds eight.
#[test]
fn search_leaves_before_a_deep_queue_overflows_and_drains_it() {
    let deep = Path { limit: 8 * 826, ..path() };
    let mut plain = flow(deep, json!({}));
    plain.run_until(Time::ZERO + Dur::from_secs(3));
    assert!(plain.drops > 1000, "without a rule: {}", plain.drops);
    let mut drained = flow(deep, json!({ "slow_start": "search" }));
    let (seen, waiting) = phases(&mut drained);
    assert_eq!((seen, drained.drops), (vec![1, 2, 0], 0), "search, drain, normal");
    // Three bins of 35 ms carry 867 packets.
    let window = drained.control.cwnd().as_u64() / MSS;
    assert!((840..890).contains(&window) && waiting < 80, "{window}, and {waiting} wait");
    let mut kept = flow(deep, json!({ "slow_start": "search_undrained" }));
    assert_eq!(phases(&mut kept).0, [1, 0]);
    let window = kept.control.cwnd().as_u64() / MSS;
    assert!((3 * 826..6 * 826).contains(&window) && kept.drops == 0, "{window}");
}

/// 10, 20, 40 ... against 20, 60, 180, 540: after five round trips five times as much has arrived.
#[test]
fn rapid_start_is_ahead_and_its_recovery_leaves_what_the_path_holds() {
    let (plain, _) = after(json!({}), 550);
    let (rapid, _) = after(json!({ "slow_start": "rapid" }), 550);
    assert!(rapid > 3 * plain, "{rapid} against {plain}");
    let mut flow = flow(path(), json!({ "slow_start": "rapid" }));
    assert_eq!(phases(&mut flow).0, [3, 4, 0], "rapid, converging, normal");
    // 826 and 826 packets, times 0.7.
    let window = flow.control.cwnd().as_u64() / MSS;
    assert!((1050..1250).contains(&window), "{window}");
    assert_eq!(flow.probe("w_max") as u64 / MSS / 100, 16, "W_max is what the path holds");
}

#[test]
fn careful_resume_jumps_after_a_round_trip_and_retreats_from_a_path_that_has_shrunk() {
    let saved = json!({ "saved_window": "1.2MB", "saved_rtt": "100ms" });
    let (plain, _) = after(json!({}), 350);
    let (resumed, dropped) = after(saved.clone(), 350);
    assert!(resumed > 4 * plain && dropped == 0, "{resumed} against {plain}, {dropped} dropped");
    // Of a window of 1.2 MB that 10 Mbit/s and 50 packets of queue do not hold.
    let small = Path { rate: Rate::from_mbps(10), limit: 50, ..path() };
    let mut flow = Flow::new(small, &params("cubic", &saved));
    let (seen, _) = phases(&mut flow);
    assert!(seen.starts_with(&[5, 6]) && seen.ends_with(&[8, 0]), "{seen:?}");
    // PipeSize holds at most what arrived until the last unvalidated segment did: 83 on the path and 50 that wait.
    let threshold = flow.control.ssthresh().as_u64() / MSS;
    assert!((20..180).contains(&threshold), "{threshold}");
}
