//! Every key of an experiment at the ends of its form: the experiment is refused in one line, or it runs.

use haltere_lab::schema::{example, names};
use haltere_lab::{ErrorKind, MEDIA, Scenario, Topology, Traffic};
use haltere_sim::{RunControl, RunError, run};
use haltere_units::{Bytes, Dur, Rate, Size};
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// An experiment, and where its own keys are.
fn experiments() -> Vec<(Value, String)> {
    let base = |queue: &str, traffic: &str| {
        format!(
            "duration = \"30ms\"\nseeds = 1\n[topology.dumbbell]\npairs = 4\naccess = {{ rate = \"1Gbit\", delay = \"1ms\" }}\n\
             bottleneck = {{ rate = \"20Mbit\", delay = \"1ms\", queue = \"{queue}\" }}\n[[traffic]]\njitter = \"0s\"\n{traffic}"
        )
    };
    let arriving = |text: String| text.replace("jitter = \"0s\"\n", "");
    let mut all = vec![(base("drop_tail", "kind = \"bulk\""), String::new())];
    for queue in names("queues").expect("a registry") {
        // A discipline that is the line has the rate.
        let rate = if MEDIA.contains(queue) { "rate = \"20Mbit\", " } else { "" };
        let text = base(queue, "kind = \"bulk\"").replace(rate, "");
        all.push((text, "/topology/dumbbell/bottleneck/queue".into()));
    }
    for control in names("congestion").expect("a registry") {
        let text = base("drop_tail", &format!("kind = \"bulk\"\ncongestion = \"{control}\""));
        all.push((text, "/traffic/0/congestion".into()));
    }
    // The simulator runs no programs.
    for kind in Traffic::NAMES.iter().filter(|kind| **kind != "program") {
        let about = Traffic::about(kind).expect("a registry");
        let example = example("traffic", kind).expect("a registry");
        let text = match example.split_once("[[traffic]]\n") {
            Some(("", entry)) => base("drop_tail", entry),
            _ => {
                let entry = example.replace("[[traffic]]\n", "[[traffic]]\njitter = \"0s\"\n");
                format!("duration = \"30ms\"\nseeds = 1\n{entry}")
            }
        };
        let text = if about.without.contains(&"jitter") { arriving(text) } else { text };
        all.push((text, "/traffic/0".into()));
    }
    for name in Topology::NAMES {
        let example = example("topologies", name).expect("a registry");
        let traffic = if example.contains("[[traffic]]") { "" } else { "[[traffic]]\nkind = \"bulk\"\n" };
        let text = format!("duration = \"150ms\"\n{example}\n{traffic}");
        all.push((text, format!("/topology/{name}")));
    }
    let read = |text: &str| Scenario::parse(text, "").unwrap_or_else(|e| panic!("{e}\n{text}")).filled();
    all.into_iter().map(|(text, keys)| (read(&text), keys)).collect()
}

/// The places of all values below one, as pointers.
fn leaves(value: &Value, place: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(table) => table.iter().for_each(|(key, one)| leaves(one, &format!("{place}/{key}"), out)),
        Value::Array(items) => items.iter().enumerate().for_each(|(i, one)| leaves(one, &format!("{place}/{i}"), out)),
        _ => out.push(place.into()),
    }
}

/// The ends of the form in which a value is written.
fn ends(value: &Value) -> Vec<Value> {
    let Some(text) = value.as_str() else {
        return match value {
            Value::Number(n) if n.is_u64() => {
                vec![json!(0), json!(1), json!(u32::MAX), json!(1u64 << 32), json!(u64::MAX)]
            }
            Value::Number(_) => vec![json!(0.0), json!(1e-300), json!(1e300)],
            _ => Vec::new(),
        };
    };
    if text.parse::<Dur>().is_ok() {
        return vec![json!("1ns"), json!("31536000s"), json!("18446744073709551615ns")];
    }
    if text.parse::<Rate>().is_ok() {
        return vec![json!("1bit"), json!("18446744073709551615bit")];
    }
    if text.parse::<Bytes>().is_ok() {
        return vec![json!("1B"), json!("18446744073709551615B")];
    }
    if text.parse::<Size>().is_ok() {
        return vec![json!("1p"), json!("18446744073709551615p"), json!("18446744073709551.615bdp")];
    }
    Vec::new()
}

/// Reads and runs it. A run that takes longer than 0.3 s is ended.
fn run_it(value: Value) -> Result<(), String> {
    let scenario = match Scenario::from_value(value, "x") {
        Ok(scenario) => scenario,
        Err(error) if error.kind() == ErrorKind::Bug => return Err(error.to_string()),
        Err(_) => return Ok(()),
    };
    let plan = scenario.plan(3).map_err(|e| e.to_string())?;
    let (over, cancel) = (AtomicBool::new(false), AtomicBool::new(false));
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..300 {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            cancel.store(true, Ordering::Relaxed);
        });
        let result = catch_unwind(AssertUnwindSafe(|| {
            run(&plan, &RunControl { cancel: Some(&cancel), ..RunControl::default() })
        }));
        over.store(true, Ordering::Relaxed);
        result
    });
    match result {
        Ok(Ok(_) | Err(RunError::Cancelled { .. })) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(panic) => Err(panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "a panic".into())),
    }
}

#[test]
fn a_key_at_the_ends_of_its_form_is_refused_or_runs() {
    let (mut fallen, mut tried) = (Vec::new(), 0);
    for (filled, keys) in experiments() {
        let mut places = Vec::new();
        leaves(filled.pointer(&keys).expect("its keys"), &keys, &mut places);
        places.retain(|place| !["/duration", "/seeds"].contains(&place.as_str()));
        for place in places {
            for end in ends(filled.pointer(&place).expect("a value")) {
                let mut changed = filled.clone();
                *changed.pointer_mut(&place).expect("a value") = end.clone();
                tried += 1;
                if let Err(why) = run_it(changed) {
                    fallen.push(format!("{} {place} = {end}: {why}", filled["traffic"][0]["congestion"]["kind"]));
                }
            }
        }
    }
    assert!(tried > 1500, "{tried}");
    assert!(fallen.is_empty(), "{} of {tried}:\n{}", fallen.len(), fallen.join("\n"));
}
