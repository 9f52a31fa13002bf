//! Every example is read as a whole experiment.

use super::super::{kinds, schema};
use crate::Scenario;
use crate::topology::link::MEDIA;
use serde_json::Value;
use std::collections::BTreeMap;

/// What an example leaves out.
const BASE: &str = r#"
duration = "10s"

[topology.dumbbell]
pairs = 4
access = { rate = "1Gbit", delay = "1ms" }
bottleneck = { rate = "10Mbit", delay = "10ms" }

[[traffic]]
kind = "bulk"
"#;

/// Puts the keys of `part` into `whole`; of two topologies that of `part` stays.
fn merge(whole: &mut toml::Table, part: toml::Table) {
    for (key, value) in part {
        match (whole.get_mut(&key), value) {
            (Some(toml::Value::Table(there)), toml::Value::Table(value)) => {
                if key == "topology" && !value.keys().all(|name| there.contains_key(name)) {
                    there.clear();
                }
                merge(there, value);
            }
            (_, value) => {
                whole.insert(key, value);
            }
        }
    }
}

/// All examples, by what they are of.
fn examples() -> BTreeMap<String, String> {
    let mut schema = schema().clone();
    let mut out = BTreeMap::new();
    let text = |table: &Value| table["x-example"].as_str().map(str::to_owned);
    for kind in kinds::ALL {
        kinds::variants(&mut schema["$defs"][kind.union], &mut |name, table| {
            let example = text(table).unwrap_or_else(|| panic!("{} {name} has no example", kind.name));
            out.insert(format!("{} {name}", kind.name), example);
        });
    }
    for (name, definition) in schema["$defs"].as_object().expect("definitions") {
        out.extend(text(definition).map(|example| (name.clone(), example)));
    }
    out
}

#[test]
fn every_example_can_be_run() {
    for (name, example) in examples() {
        let mut whole: toml::Table = BASE.parse().expect("the base is TOML");
        merge(&mut whole, example.parse().unwrap_or_else(|e| panic!("{name}: {e}\n{example}")));
        if let Some(bottleneck) = whole["topology"].get_mut("dumbbell").and_then(|all| all.get_mut("bottleneck"))
            && bottleneck
                .get("queue")
                .and_then(|queue| queue.get("kind")?.as_str())
                .is_some_and(|kind| MEDIA.contains(&kind))
        {
            bottleneck.as_table_mut().expect("a link").remove("rate");
        }
        let text = toml::to_string(&whole).expect("a table");
        Scenario::parse(&text, "example.toml").unwrap_or_else(|e| panic!("{name}: {e}\n{example}"));
    }
}

#[test]
fn every_table_has_an_example() {
    let examples = examples();
    let (mut schema, mut of_unions) = (schema().clone(), Vec::new());
    for kind in kinds::ALL {
        kinds::variants(&mut schema["$defs"][kind.union], &mut |_, table| {
            let refs = table["properties"].as_object().into_iter().flat_map(|p| p.values());
            of_unions.extend(refs.filter_map(|one| one["$ref"].as_str().map(str::to_owned)));
        });
    }
    for (name, definition) in schema["$defs"].as_object().expect("definitions") {
        let is_table = definition["type"] == "object" && !name.ends_with("Overrides");
        if is_table && !of_unions.contains(&format!("#/$defs/{name}")) {
            assert!(
                examples.contains_key(name),
                "{name} has no example: add one to examples.toml or to its doc comment"
            );
        }
    }
}

#[test]
fn no_example_is_of_something_that_is_gone() {
    let there = examples();
    for name in super::EXAMPLES.keys().filter(|name| kinds::ALL.iter().all(|kind| kind.name != *name)) {
        assert!(there.contains_key(&name.replace('/', " ")), "{name} is in examples.toml and not in the schema");
    }
}

#[test]
fn a_block_in_a_description_is_the_example() {
    let mut schema = serde_json::json!({ "description": "A table.\n\n```toml\n[a]\nb = 1\n```\n\nMore." });
    super::take_blocks(&mut schema);
    assert_eq!(schema["x-example"], "[a]\nb = 1");
    assert_eq!(schema["description"], "A table.\n\nMore.");
}

#[test]
fn a_topology_brings_its_example_along_with_its_type() {
    let definitions = serde_json::json!({ "Ring": { "x-example": "[topology.ring]" } });
    let table = serde_json::json!({ "properties": { "ring": { "$ref": "#/$defs/Ring" } } });
    assert_eq!(super::brought(&table, "ring", &definitions).as_deref(), Some("[topology.ring]"));
}
