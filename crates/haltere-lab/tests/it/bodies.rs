//! The bodies that the fuzz targets and the bounded tests share: what is read ends with a value or an error, never with
//! a panic.

use haltere_lab::{ErrorKind, Scenario, limits};
use haltere_plan::arrivals::FlowArrivals;
use haltere_plan::plan::AppPlan;
use haltere_plan::sizes::SizeDistribution;
use haltere_units::{Dur, Time};

/// Any bytes as an experiment file, or as JSON if they begin with `{`. What is read can be planned, and read again from
/// what it says.
pub fn exercise_experiment(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    let read = if text.starts_with('{') { Scenario::from_json(text, "x") } else { Scenario::parse(text, "x") };
    match read {
        Ok(scenario) => {
            scenario.plan(7).expect("what was read can be planned");
            let again = Scenario::from_value(scenario.filled(), "again").expect("what was filled in can be read");
            assert_eq!(scenario, again);
            let _ = scenario.drawing();
        }
        Err(error) => {
            let told = error.to_string();
            assert!(told.chars().count() <= limits::ERROR_CHARACTERS, "{told}");
            assert!(!told.contains('\n') && told.contains(" must be "), "{told}");
            assert_ne!(error.kind(), ErrorKind::Bug, "{told}");
        }
    }
}

/// Any bytes as a table of flow sizes and as the rate of a Poisson process: flows begin in order, between two hosts,
/// with a size.
pub fn exercise_arrivals(bytes: &[u8]) {
    let Some((head, text)) = bytes.split_first_chunk::<4>() else { return };
    let Ok(points) = SizeDistribution::read(&String::from_utf8_lossy(text)) else { return };
    let rate = f64::from(u32::from_le_bytes(*head)) / 64.0;
    let entry = serde_json::json!({
        "duration": "1s",
        "topology": { "dumbbell": { "pairs": 2, "access": { "delay": "1ms" }, "bottleneck": { "rate": "1Gbit" } } },
        "traffic": [{ "kind": "poisson", "per_second": rate, "sizes": { "points": points } }],
    });
    let Ok(scenario) = Scenario::from_value(entry, "x") else { return };
    let plan = scenario.plan(7).expect("what was read can be planned");
    let AppPlan::Arrivals(arrivals) = &plan.flows[0].app else { panic!("flows that arrive") };
    let end = Time::ZERO + Dur::from_secs(1);
    let mut last = Time::ZERO;
    for flow in FlowArrivals::new(arrivals, "x", Time::ZERO, Some(end), 7).take(1000) {
        assert!(flow.at >= last && flow.at < end && flow.from != flow.to && flow.bytes.as_u64() >= 1, "{flow:?}");
        last = flow.at;
    }
}
