//! Access links by name: `path = "dsl-16/1"` stands for the keys of a link that `access.toml` lists.
//!
//! An experiment with such a name is expanded before it is read: what is run, stored and hashed has ordinary keys.

use super::link::MEDIA;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::LazyLock;

/// The links: by name what it is, where its numbers are from, and the keys that it stands for.
static PATHS: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    let table: toml::Table = include_str!("access.toml").parse().expect("a table of links");
    let Ok(Value::Object(paths)) = serde_json::to_value(table) else { panic!("a table of links") };
    paths
});

/// Keys that say what a line can carry: one of them beside a name replaces that of the name.
const CAPACITY: [&str; 3] = ["rate", "trace", "schedule"];

/// The name of an access link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AccessPath(String);

impl JsonSchema for AccessPath {
    fn schema_name() -> Cow<'static, str> {
        "AccessPath".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&String> = PATHS.keys().collect();
        json_schema!({
            "description": "The name of an access link.",
            "type": "string",
            "enum": names,
            "x-paths": Value::Object(PATHS.clone()),
        })
    }
}

/// The experiment with the keys of access links in the place of their names; `None` if it names none. It was checked.
pub(crate) fn expanded(experiment: &Value) -> Option<Value> {
    experiment.get("topology").filter(|topology| names_one(topology))?;
    let mut experiment = experiment.clone();
    expand(&mut experiment["topology"]);
    Some(experiment)
}

/// The keys that the name in this table of a link stands for, if there is one.
fn named(keys: &Map<String, Value>) -> Option<&'static Map<String, Value>> {
    keys.get("path").and_then(Value::as_str).and_then(|name| PATHS.get(name)?.get("link")?.as_object())
}

fn names_one(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(names_one),
        Value::Object(keys) => named(keys).is_some() || keys.values().any(names_one),
        _ => false,
    }
}

/// Expands the tables below `value`.
fn expand(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(expand),
        Value::Object(keys) => {
            keys.values_mut().for_each(expand);
            if let Some(link) = named(keys) {
                keys.shift_remove("path");
                *keys = beside(link.clone(), std::mem::take(keys));
            }
        }
        _ => {}
    }
}

/// True for a discipline that is the line itself, as it is written.
fn is_medium(queue: &Value) -> bool {
    queue.get("kind").unwrap_or(queue).as_str().is_some_and(|kind| MEDIA.contains(&kind))
}

/// The keys of a link with others in their place, those of `reverse` one by one. A rate of its own replaces a medium, and
/// a discipline of its own is that in front of the medium.
fn beside(mut link: Map<String, Value>, mut own: Map<String, Value>) -> Map<String, Value> {
    let medium = link.get("queue").is_some_and(is_medium);
    if CAPACITY.iter().any(|key| own.contains_key(*key)) {
        CAPACITY.iter().for_each(|key| drop(link.shift_remove(*key)));
        if medium && let Some(inner) = link["queue"].get("queue").cloned() {
            link["queue"] = inner;
        }
    } else if medium && let Some(queue) = own.get_mut("queue").filter(|queue| !is_medium(queue)) {
        let inner = std::mem::replace(queue, link["queue"].clone());
        queue["queue"] = inner;
    }
    for (key, value) in own {
        let merged = match (key.as_str(), link.shift_remove(&key), value) {
            ("reverse", Some(Value::Object(link)), Value::Object(own)) => Value::Object(beside(link, own)),
            (_, _, value) => value,
        };
        link.insert(key, merged);
    }
    link
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use serde_json::json;

    fn bottleneck(link: &str) -> Result<Value, String> {
        let text = format!(
            "duration = \"5s\"\n[topology.dumbbell]\npairs = 1\naccess = {{}}\nbottleneck = {link}\n[[traffic]]\nkind = \"bulk\"\n"
        );
        let scenario = Scenario::parse(&text, "x.toml").map_err(|e| e.to_string())?;
        Ok(scenario.filled()["topology"]["dumbbell"]["bottleneck"].clone())
    }

    #[test]
    fn each_name_is_a_link_that_can_be_run_and_says_where_its_numbers_are_from() {
        for (name, path) in PATHS.iter() {
            for key in ["about", "source"] {
                assert!(path[key].as_str().is_some_and(|text| text.len() > 20), "{name}: {key}");
            }
            let filled = bottleneck(&format!("{{ path = \"{name}\" }}")).expect(name);
            assert!(filled.get("path").is_none() && !filled["reverse"].is_null(), "{name}: {filled}");
        }
    }
    #[test]
    fn keys_beside_a_name_replace_its_own() {
        let dsl = bottleneck("{ path = \"dsl-16/1\" }").expect("a link");
        let own = bottleneck("{ path = \"dsl-16/1\", queue = \"fq_codel\", reverse = { rate = \"2Mbit\" } }");
        let own = own.expect("a link");
        assert_eq!((&own["rate"], &own["queue"]["kind"]), (&dsl["rate"], &json!("fq_codel")));
        assert_eq!((&own["reverse"]["rate"], &own["reverse"]["queue"]), (&json!("2Mbit"), &dsl["reverse"]["queue"]));
        let constant = bottleneck("{ path = \"lte-driving\", rate = \"5Mbit\" }").expect("a link");
        assert!(constant.get("trace").is_none() && constant["reverse"].get("trace").is_some());
    }
    #[test]
    fn a_medium_keeps_its_rate_beside_another_discipline_and_goes_beside_another_rate() {
        let cable = bottleneck("{ path = \"cable-250/25\", reverse = { queue = \"fq_codel\" } }").expect("a link");
        let queue = &cable["reverse"]["queue"];
        assert_eq!((&queue["kind"], &queue["rate"]), (&json!("docsis"), &json!("25Mbit")));
        assert_eq!(queue["queue"]["kind"], "fq_codel");
        let plain = bottleneck("{ path = \"cable-250/25\", reverse = { rate = \"5Mbit\" } }").expect("a link");
        assert_eq!((&plain["reverse"]["rate"], &plain["reverse"]["queue"]["kind"]), (&json!("5Mbit"), &json!("pie")));
        let cell = bottleneck("{ path = \"5g-still\", queue = { kind = \"wifi\" } }").expect("a link");
        assert_eq!(cell["queue"]["kind"], "wifi");
    }
    #[test]
    fn an_unknown_name_is_an_error_that_lists_the_others() {
        let error = bottleneck("{ path = \"dsl-16\" }").expect_err("unknown");
        assert!(
            error.contains("bottleneck: path must be one of `dsl-16/1`") && error.contains("did you mean"),
            "{error}"
        );
        let error = bottleneck("{ rate = \"1Mbit\", reverse = { path = \"geo\" } }").expect_err("both directions");
        assert!(error.contains("path"), "{error}");
    }
    #[test]
    fn a_sweep_over_names_gives_each_point_the_keys_of_its_own() {
        let text = "duration = \"5s\"\n[topology.dumbbell]\npairs = 1\naccess = {}\nbottleneck = { path = \"geo\", ring = \"50p\" }\n[[traffic]]\nkind = \"bulk\"\n\
                    [sweep]\n\"topology.dumbbell.bottleneck.path\" = [\"dsl-16/1\", \"lte-driving\"]\n";
        let scenario = Scenario::parse(text, "x.toml").expect("an experiment");
        let points = scenario.points().expect("points");
        let rates: Vec<Value> =
            points.iter().map(|p| p.scenario.filled()["topology"]["dumbbell"]["bottleneck"]["rate"].clone()).collect();
        assert_eq!(rates, [json!("16Mbit"), Value::Null]);
    }
}
