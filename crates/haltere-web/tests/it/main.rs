//! The crate's requests as a worker makes them, natively. The module itself is tested by `tests/python/test_web.py`.

use haltere_lab::Scenario;
use haltere_lab::table::{digest, tables};
use haltere_sim::RunControl;
use haltere_web::Laboratory;
use serde_json::{Value, json};

/// Two controls in a short queue: packets of both arrive at the same instants.
const TEXT: &str = r#"
title = "Two controls"
duration = "4s"
warmup = "1s"
seeds = 3

[topology.dumbbell]
pairs = 2
access = { rate = "1Gbit", delay = "1ms" }
bottleneck = { rate = "20Mbit", delay = "18ms", queue = { kind = "drop_tail", limit = "0.25bdp" } }

[[traffic]]
kind = "bulk"
pairs = "all"
congestion = ["bbr", "cubic"]

[sweep]
"topology.dumbbell.bottleneck.queue.limit" = ["0.25bdp", "4bdp"]
"#;

fn ask(laboratory: &mut Laboratory, request: &Value) -> Value {
    serde_json::from_slice(&laboratory.ask(request.to_string().as_bytes())).expect("an answer is JSON")
}

fn answer(laboratory: &mut Laboratory, request: &Value) -> Value {
    let mut told = ask(laboratory, request);
    assert!(told["ok"].is_object() || told["ok"].is_string(), "{told}");
    told["ok"].take()
}

#[test]
fn a_run_has_the_digest_of_the_laboratory() {
    let mut laboratory = Laboratory::default();
    let points = Scenario::parse(TEXT, "").and_then(|s| s.points()).expect("a good experiment");
    for (place, point) in points.iter().enumerate() {
        let plan = point.scenario.plan(2).expect("a plan");
        let own = digest(&tables(&plan, &haltere_sim::run(&plan, &RunControl::default()).expect("a run")));
        let run = json!({ "do": "run", "text": TEXT, "point": place, "seed": 2, "tables": ["flows"] });
        let told = answer(&mut laboratory, &run);
        assert_eq!(told["digest"], own);
        assert_eq!(told["tables"]["flows"]["columns"]["congestion"], json!(["bbr", "cubic"]));
        assert_eq!(told["window"], json!({ "from": 1_000_000_000_u64, "until": 4_000_000_000_u64, "early": false }));
    }
}

#[test]
fn a_run_that_is_watched_is_the_same_run() {
    let mut laboratory = Laboratory::default();
    let run = json!({ "do": "run", "text": TEXT, "point": 0, "seed": 1, "tables": [] });
    let whole = answer(&mut laboratory, &run)["digest"].clone();
    let start = json!({ "do": "start", "text": TEXT, "point": 0, "seed": 1, "fixed": true });
    let started = answer(&mut laboratory, &start);
    assert_eq!((&started["end"], &started["flows"][1]["control"]), (&json!(4.0), &json!("cubic")));
    let advance = json!({ "do": "advance", "seconds": 0.33, "links": [0, 1], "flows": [0] });
    let mut samples = 0;
    while let told @ Value::Object(_) = answer(&mut laboratory, &advance) {
        samples += told["queues"].as_array().expect("two queues")[0]["t"].as_array().expect("times").len();
        assert!(told["state"]["flows"]["0"].as_array().is_some_and(|values| !values.is_empty()));
        if told["now"] == json!(4.0) {
            break;
        }
    }
    assert!(samples > 100, "{samples} samples of the first queue");
    let changed = ask(&mut laboratory, &json!({ "do": "change", "text": TEXT.replace("18ms", "9ms") }));
    let words = changed["refused"]["text"].as_str().expect("a refusal");
    assert!(words.contains("that of the start"), "{words}");
    assert_eq!(answer(&mut laboratory, &json!({ "do": "finish", "tables": [] }))["digest"], whole);
}

#[test]
fn a_mistake_has_its_words_and_its_line() {
    let mut laboratory = Laboratory::default();
    for (from, to, line, words) in [
        ("20Mbit", "20 Mbps", json!(10), "rate must be a rate"),
        ("\"cubic\"]", "\"cubik\"]", json!(15), "did you mean `cubic`"),
        ("seeds = 3", "seed = 3", Value::Null, "did you mean `seeds`"),
        ("[sweep]", "[sweep", json!(17), "TOML"),
    ] {
        let told = ask(&mut laboratory, &json!({ "do": "check", "text": TEXT.replace(from, to) }));
        let refused = &told["refused"];
        assert!(refused["text"].as_str().is_some_and(|text| text.contains(words)), "{told}");
        assert_eq!(refused["line"], line, "{told}");
    }
}

#[test]
fn an_experiment_as_a_value_becomes_a_file() {
    let mut laboratory = Laboratory::default();
    let scenario = Scenario::parse(TEXT, "").expect("a good experiment");
    let text = answer(&mut laboratory, &json!({ "do": "toml", "experiment": scenario.filled() }));
    let again = Scenario::parse(text.as_str().expect("a text"), "").expect("the same experiment");
    assert_eq!(again, scenario);
}

#[test]
fn what_is_no_request_is_refused() {
    let mut laboratory = Laboratory::default();
    for request in [json!({ "do": "nothing" }), json!({ "do": "about", "more": 1 }), json!([])] {
        assert!(ask(&mut laboratory, &request)["refused"]["text"].is_string(), "{request}");
    }
    let words = |told: Value| told["refused"]["text"].as_str().map(str::to_owned).unwrap_or_default();
    let none = ask(&mut laboratory, &json!({ "do": "finish", "tables": [] }));
    assert!(words(none).contains("there must be a run"));
    let beyond = json!({ "do": "run", "text": TEXT, "point": 9, "seed": 1, "tables": [] });
    assert!(words(ask(&mut laboratory, &beyond)).contains("point must be below 2"));
}
