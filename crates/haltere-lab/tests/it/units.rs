//! A quantity whose unit was forgotten is wrong input, with a hint, wherever a file may have one; never a bug of the
//! program.

use haltere_congestion::CongestionParams;
use haltere_lab::Scenario;
use haltere_queue::QueueParams;
use serde_json::{Value, json};

const GOOD: &str = include_str!("../good.toml");

/// The number of a text that is a number and a unit, if it is not zero: zero needs no unit.
fn bare(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let (number, unit) = text.split_at(end);
    let is_unit = unit.chars().all(|c| c.is_ascii_alphabetic());
    (is_unit && number.parse::<f64>().is_ok_and(|number| number > 0.0)).then_some(number)
}

/// The places of all quantities below `value`.
fn quantities(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::String(text) if bare(text).is_some() => found.push(at.into()),
        Value::Array(list) => list.iter().enumerate().for_each(|(i, v)| quantities(v, &format!("{at}/{i}"), found)),
        Value::Object(map) => map.iter().for_each(|(key, v)| quantities(v, &format!("{at}/{key}"), found)),
        _ => {}
    }
}

/// Each quantity in turn without its unit. The names at which one was tried.
fn without_units(whole: &Value) -> Vec<String> {
    let mut places = Vec::new();
    quantities(whole, "", &mut places);
    // A title or a name may be anything.
    places.retain(|place| !["title", "name"].contains(&place.rsplit('/').next().unwrap_or("")));
    for place in &places {
        let mut value = whole.clone();
        let text = value.pointer_mut(place).expect("its place");
        *text = bare(text.as_str().expect("a text")).expect("a quantity").into();
        let error = Scenario::from_value(value, "x").expect_err(place);
        let told = error.to_string();
        assert_ne!(error.kind().name(), "bug", "{place}: {told}");
        assert!(told.contains("add a unit") && told.contains(" must be "), "{place}: {told}");
    }
    places
}

#[test]
fn any_key_of_a_large_file_says_which_unit_is_missing() {
    let scenario = Scenario::parse(GOOD, "good.toml").expect("a good file");
    let tried = without_units(&scenario.filled());
    assert!(tried.len() >= 40, "{}: {tried:?}", tried.len());
}

fn with(queue: Value, congestion: Value) -> Value {
    json!({
        "duration": "1s",
        "topology": { "dumbbell": {
            "pairs": 1, "access": { "rate": "1Gbit", "delay": "1ms" },
            "bottleneck": { "rate": "20Mbit", "delay": "18ms", "queue": queue },
        } },
        "traffic": [{ "kind": "bulk", "congestion": congestion }],
    })
}

#[test]
fn any_parameter_of_any_mechanism_says_which_unit_is_missing() {
    let mut tried = 0;
    for name in QueueParams::NAMES {
        let queue = serde_json::to_value(QueueParams::default_of(name).expect("a name")).expect("JSON");
        tried += without_units(&with(queue, json!("cubic"))).len();
    }
    for name in CongestionParams::NAMES {
        let control = serde_json::to_value(CongestionParams::default_of(name).expect("a name")).expect("JSON");
        tried += without_units(&with(json!("codel"), control)).len();
    }
    assert!(tried > 200, "{tried}");
}

/// As the attack found it: a threshold may be packets, bytes, a time or `auto`.
#[test]
fn a_threshold_without_a_unit_lists_the_kinds_that_it_may_be() {
    let file = with(json!({ "kind": "threshold", "limit": "64p", "upper": "20" }), json!("cubic"));
    let error = Scenario::from_value(file, "x").expect_err("no unit");
    assert_eq!(error.kind().name(), "wrong_unit", "{error}");
    assert!(error.to_string().ends_with("got `20`; add a unit: `20p`, `20B` or `1bdp`"), "{error}");
}
