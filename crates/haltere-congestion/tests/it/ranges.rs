//! Controls take their parameters up to the ends of the ranges and no further, and say which one is out of range.

#![allow(missing_docs, reason = "tests")]

use haltere_congestion::{CongestionParams, Control, SenderContext};
use haltere_units::Bytes;
use serde_json::{Value, json};

/// The control with one parameter of that value.
fn control(kind: &str, name: &str, value: &Value) -> Result<Control, String> {
    let params = json!({ "kind": kind, name: value });
    let params: CongestionParams = serde_json::from_value(params).expect("parameters");
    let sender =
        SenderContext { mss: Bytes::new(1448), initial_window: Bytes::new(14_480), seed: 7, ..Default::default() };
    Control::new(&params, &sender).map_err(|error| error.to_string())
}

#[test]
fn parameters_are_taken_up_to_the_ends_of_their_ranges_and_no_further() {
    for (kind, name, taken, refused) in [
        ("scalable", "per_segment", json!([2, 10_000]), json!([0, 1, 10_001])),
        ("scalable", "decrease", json!([1e-9, 0.5]), json!([0.0, -0.1, 0.51])),
        ("highspeed", "low_window", json!([2, 10_000]), json!([0, 1, 10_001])),
        ("highspeed", "high_decrease", json!([1e-9, 0.5]), json!([0.0, -0.1, 0.51])),
        ("yeah", "per_segment", json!([2, 3]), json!([0, 1])),
        ("vegas", "beta", json!([2, 4]), json!([0, 1])),
        ("ledbat", "target", json!(["1ns", "1s"]), json!(["0s"])),
        ("ledbat", "decrease", json!([0.0, 10.0]), json!([-0.1, 10.1])),
        ("ledbat", "filter", json!([1, 100]), json!([0, 101])),
        ("prague", "pacing_gain", json!([1.0, 2.0]), json!([0.99, 2.01])),
        ("lp", "delta", json!([1e-6, 0.999]), json!([0.0, 1.0])),
        ("lp", "inference", json!([1]), json!([0])),
        ("copa", "delta", json!([1e-6, 1.0]), json!([0.0, -1.0, 1.1])),
        ("bic", "max_increment", json!([1]), json!([0])),
        ("bic", "smooth_part", json!([1]), json!([0])),
        ("bic", "beta", json!([0.1, 0.99]), json!([0.09, 1.0])),
        ("bbr", "probe_rtt_interval", json!(["1ns"]), json!(["0s"])),
        ("bbr3", "ecn_factor", json!([0.0, 1.0]), json!([-0.1, 1.5])),
        ("bbr3", "ecn_thresh", json!([1.0]), json!([0.0])),
        ("bbr3", "ecn_alpha_gain", json!([1.0]), json!([0.0, 2.0])),
        ("cdg", "scale", json!(["1ns"]), json!(["0s"])),
        ("cdg", "beta", json!([0.1, 0.99]), json!([0.09, 1.0])),
        ("cdg", "smoothing", json!([1, 64]), json!([0, 65])),
        ("cubic", "c", json!([1e-9, 1e9]), json!([0.0, -1.0])),
        ("cubic", "beta", json!([0.1, 0.99]), json!([0.09, 1.0])),
        ("htcp", "tick", json!(["1ns"]), json!(["0s"])),
        ("westwood", "tick", json!(["1ns"]), json!(["0s"])),
        ("nv", "min_cwnd", json!([1]), json!([0])),
        ("nv", "reset", json!(["1ns"]), json!(["0s"])),
        ("dctcp", "g", json!([1.0]), json!([0.0])),
        ("prague", "rtt_min", json!(["0s", "1s"]), json!(["1001ms"])),
    ] {
        for value in taken.as_array().expect("a list") {
            assert!(control(kind, name, value).is_ok(), "{kind}: {name} = {value}");
        }
        for value in refused.as_array().expect("a list") {
            let told = control(kind, name, value).expect_err(kind);
            assert!(told.starts_with(&format!("{name} must be ")) && told.contains("got "), "{kind}: {told}");
        }
    }
}

#[test]
fn the_error_has_the_range_the_value_and_the_default() {
    for (kind, name, value, error) in [
        (
            "cubic",
            "beta",
            json!(1.0),
            "beta must be from 0.1 to 0.99, got 1; the default is `0.7`; it is the part of the window that is left",
        ),
        ("bbr3", "ecn_thresh", json!(0.0), "ecn_thresh must be above 0 and at most 1, got 0; the default is `0.5`"),
        ("htcp", "tick", json!("0s"), "tick must be above 0, got 0ns; the default is `4ms`"),
    ] {
        assert_eq!(control(kind, name, &value).expect_err(kind), error);
    }
}
