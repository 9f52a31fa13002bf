//! An experiment with a control in a language of the test's own.

use crate::{ErrorKind, Scenario};
use haltere_congestion::outside::{Maker, OutsideControl, Params};
use haltere_congestion::{CongestionParams, Control, SenderContext};
use haltere_units::ParamError;
use haltere_units::outside::{About, Format, Location, Outside, Parameter};
use serde_json::{Value, json};
use std::sync::Mutex;

/// What the code is now.
static DIGEST: Mutex<String> = Mutex::new(String::new());
/// The digest is the process's: one test at a time.
static TURN: Mutex<()> = Mutex::new(());

struct Test;
impl Maker for Test {
    fn about(&self, at: Location<'_>) -> Result<About, ParamError> {
        if at.source != "Aimd" {
            let rule = "a control that there is";
            return Err(ParamError::new("kind", rule, format!("`{}`", at.source)).hint("did you mean `Aimd`?"));
        }
        let beta = Parameter::new("beta", Format::Number, 0.5, "The part that stays.").range(0.0, 1.0);
        let delay = Parameter::new("delay", Format::Duration, "5ms", "A delay.");
        let digest = DIGEST.lock().unwrap().clone();
        Ok(About { name: "Aimd".into(), summary: "A test.".into(), digest, parameters: vec![beta, delay] })
    }
    fn make(&self, params: &Params, _: &SenderContext) -> Result<Box<dyn OutsideControl>, ParamError> {
        assert!(params.parameters.contains_key("beta") && params.parameters.contains_key("delay"));
        Ok(Box::new(Reno(crate_reno())))
    }
}

#[derive(Debug, Clone)]
struct Reno(Control);
fn crate_reno() -> Control {
    let sender = SenderContext {
        mss: haltere_units::Bytes::new(1448),
        initial_window: haltere_units::Bytes::new(14480),
        seed: 1,
        ..Default::default()
    };
    Control::new(&CongestionParams::default_of("reno").unwrap(), &sender).unwrap()
}
impl haltere_congestion::CongestionControl for Reno {
    fn on_ack(&mut self, ev: &haltere_congestion::AckEvent) {
        self.0.on_ack(ev);
    }
    fn on_loss(&mut self, ev: &haltere_congestion::LossEvent) {
        self.0.on_loss(ev);
    }
    fn on_rto(&mut self, ev: &haltere_congestion::RtoEvent) {
        self.0.on_rto(ev);
    }
    fn cwnd(&self) -> haltere_units::Bytes {
        self.0.cwnd()
    }
    fn ssthresh(&self) -> haltere_units::Bytes {
        self.0.ssthresh()
    }
}
impl OutsideControl for Reno {
    fn clone_box(&self) -> Box<dyn OutsideControl> {
        Box::new(self.clone())
    }
}

fn languages() -> Outside {
    let mut makers = haltere_units::outside::Makers::default();
    makers.add::<dyn Maker>("test", Box::new(Test));
    Outside::of(&std::sync::Arc::new(makers))
}
fn from_value(value: Value) -> Result<Scenario, crate::ScenarioError> {
    Scenario::from_value_with(value, "", &languages())
}
fn read(congestion: Value) -> Result<Scenario, crate::ScenarioError> {
    let value = json!({
        "duration": "1s", "topology": { "dumbbell": { "pairs": 1, "access": { "rate": "1Gbit", "delay": "1ms" }, "bottleneck": { "rate": "10Mbit", "delay": "10ms" } } },
        "traffic": [{ "kind": "bulk", "congestion": congestion }],
    });
    from_value(value)
}
fn refused(congestion: Value) -> (ErrorKind, String) {
    let error = read(congestion).unwrap_err();
    (error.kind(), error.to_string())
}
fn digest(text: &str) {
    *DIGEST.lock().unwrap() = text.into();
}

#[test]
fn it_is_read_filled_and_read_again() {
    let _turn = TURN.lock();
    digest("one");
    let scenario = read(json!("test:Aimd")).unwrap();
    let filled = scenario.filled();
    let control = &filled["traffic"][0]["congestion"];
    assert_eq!(
        (&control["kind"], &control["beta"], &control["delay"]),
        (&json!("test:Aimd"), &json!(0.5), &json!("5ms"))
    );
    assert_eq!(control["source"]["digest"], "one");
    assert_eq!(from_value(filled.clone()).unwrap(), scenario);
    let mut moved = filled;
    moved["traffic"][0]["congestion"]["source"]["folder"] = json!("/elsewhere");
    let moved = from_value(moved).unwrap().with("seeds", json!(3)).unwrap();
    assert_eq!(
        moved.filled()["traffic"][0]["congestion"]["source"]["folder"],
        "/elsewhere",
        "a change keeps the folder"
    );
    let plan = scenario.plan(1).unwrap();
    assert_eq!(plan.flows[0].app.tcp().unwrap().congestion.label(), "Aimd");
}

#[test]
fn its_parameters_are_keys_like_any_other() {
    let _turn = TURN.lock();
    digest("one");
    let scenario = read(json!("test:Aimd")).unwrap().with("traffic.0.congestion.beta", json!(0.25)).unwrap();
    assert_eq!(scenario.filled()["traffic"][0]["congestion"]["beta"], 0.25);
    let swept = scenario.with("sweep", json!({ "traffic.0.congestion.beta": [0.1, 0.2] })).unwrap();
    assert_eq!(swept.points().unwrap().len(), 2);
    let named = scenario.with("sweep", json!({ "traffic.0.congestion": ["cubic", "test:Aimd"] })).unwrap();
    assert_eq!(named.points().unwrap()[1].scenario.filled()["traffic"][0]["congestion"]["beta"], 0.5);
}

#[test]
fn another_code_is_another_run_and_another_place_is_not() {
    let _turn = TURN.lock();
    digest("one");
    let scenario = read(json!("test:Aimd")).unwrap();
    let mut moved = scenario.filled();
    moved["traffic"][0]["congestion"]["source"]["folder"] = json!("/elsewhere");
    let moved = from_value(moved).unwrap();
    assert_eq!(scenario.hash(1, "v"), moved.hash(1, "v"));
    digest("two");
    assert_ne!(scenario.hash(1, "v"), read(json!("test:Aimd")).unwrap().hash(1, "v"));
    let changed = from_value(scenario.filled()).unwrap_err().to_string();
    assert!(changed.contains("must be `test:Aimd` as it was read, with the digest one, got two"), "{changed}");
    assert!(scenario.with("seeds", json!(3)).is_ok(), "a scenario in memory follows the code");
}

#[test]
fn mistakes_are_told_as_those_of_any_mechanism() {
    let _turn = TURN.lock();
    digest("one");
    let told = |congestion| refused(congestion);
    assert_eq!(
        told(json!("test:Aim")),
        (
            ErrorKind::UnknownName,
            "traffic[0]: congestion must be a control that there is, got `Aim`; did you mean `Aimd`?".into()
        )
    );
    assert_eq!(
        told(json!({ "kind": "test:Aimd", "bta": 1 })),
        (
            ErrorKind::UnknownKey,
            "traffic[0].congestion: key must be one of `beta`, `delay`, got `bta`; did you mean `beta`?".into()
        )
    );
    assert_eq!(
        told(json!({ "kind": "test:Aimd", "beta": 2 })),
        (ErrorKind::OutOfRange, "traffic[0].congestion: beta must be at most 1, got 2".into())
    );
    assert_eq!(told(json!({ "kind": "test:Aimd", "delay": "5" })).0, ErrorKind::WrongUnit);
    let (kind, text) = told(json!({ "kind": "cobol:Aimd" }));
    assert_eq!(kind, ErrorKind::UnknownName);
    assert!(text.starts_with("traffic[0].congestion: kind must be in a language of this program: `test:`"), "{text}");
}

#[test]
fn it_explains_itself() {
    let _turn = TURN.lock();
    let told = super::super::describe("test:Aimd", &languages()).unwrap();
    assert_eq!((&told["kind"], &told["parameters"][0]["name"]), (&json!("congestion"), &json!("beta")));
    assert_eq!(told["parameters"][1]["default"], "5ms");
    assert!(super::super::describe("test:B", &languages()).is_err());
}
