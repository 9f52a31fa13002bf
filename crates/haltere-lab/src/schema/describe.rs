//! Names and descriptions of what can be written in an experiment file.

use super::generate::schema;
use super::kinds::{ALL, Kind};
use crate::error::{Fault, FaultKind, ScenarioError};
use crate::names::{did_you_mean, rule};
use haltere_units::ParamError;
use haltere_units::outside::{About, Location, Outside, Parameter, split};
use serde_json::{Value, json};

/// The kinds of names that [`names`] lists.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|kind| kind.name)
}

/// The names that exist of a kind, such as `queues`.
pub fn names(kind: &str) -> Option<&'static [&'static str]> {
    ALL.iter().find(|k| k.name == kind).map(|k| k.names)
}

/// The example of a name of that kind, such as `queues` and `codel`: keys of an experiment, as TOML.
pub fn example(kind: &str, name: &str) -> Option<&'static str> {
    let kind = ALL.iter().find(|one| one.name == kind)?;
    let root = schema();
    option(&root["$defs"][kind.union], name)?["x-example"].as_str()
}

/// The keys that the tables of two names of one kind both have, such as `limit` of two queue disciplines; `None` if no
/// kind has both names.
pub(crate) fn shared_keys(one: &str, other: &str) -> Option<Vec<&'static str>> {
    let kind = ALL.iter().find(|kind| kind.names.contains(&one) && kind.names.contains(&other))?;
    let root = schema();
    let keys = |name| find(root, &root["$defs"][kind.union], name)?["properties"].as_object();
    let (ones, others) = (keys(one)?, keys(other)?);
    Some(ones.keys().filter(|key| others.contains_key(*key)).map(String::as_str).collect())
}

/// Whether a table of that name, such as a queue discipline or a kind of traffic, has that key. True of a name that is
/// none.
pub(crate) fn has_key(name: &str, key: &str) -> bool {
    let root = schema();
    let mut tables = ALL.iter().filter_map(|kind| find(root, &root["$defs"][kind.union], name)).peekable();
    tables.peek().is_none() || tables.any(|table| table["properties"].get(key).is_some())
}

/// The part of the schema under a name, such as that of a queue discipline. Of several kinds that have the name, the
/// first counts.
///
/// One from outside the tree, such as `python:my_module:MyControl`, is asked for in these languages.
///
/// `{ "name", "kind", "summary", "parameters": [{ "name", "meaning", "format", "default", "required" }] }`
pub fn describe(name: &str, languages: &Outside) -> Result<Value, ScenarioError> {
    if let Some((language, source)) = split(name) {
        return told_outside(name, language, source, languages);
    }
    if let Some(kind) = ALL.iter().find(|kind| kind.names.contains(&name)) {
        return Ok(told(kind, name));
    }
    let all: Vec<&str> = ALL.iter().flat_map(|kind| kind.names).copied().collect();
    let fault = Fault::new("", "name", rule(&all, "names", Some("haltere list")), format!("`{name}`"));
    Err(fault.hint(did_you_mean(name, &all)).unknown_name())
}

/// The table that `name` stands for, with its own description before the union's.
fn told(kind: &Kind, name: &str) -> Value {
    let root = schema();
    let table = find(root, &root["$defs"][kind.union], name).unwrap_or(&Value::Null);
    let required: Vec<&str> = table["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let parameters: Vec<Value> = table["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, schema)| key.as_str() != "kind" && schema["x-left-out"] != true)
        .map(|(key, schema)| parameter(root, key, schema, required.contains(&key.as_str())))
        .collect();
    let summary = table["description"].as_str().unwrap_or_default();
    json!({ "name": name, "kind": kind.name, "summary": summary, "parameters": parameters, "schema": table })
}

/// The same of a mechanism from outside the tree: of the first kind as which its language has it.
fn told_outside(name: &str, language: &str, source: &str, languages: &Outside) -> Result<Value, ScenarioError> {
    let mut refused = None;
    for (kind, about) in ALL.iter().filter_map(|kind| Some((kind, kind.outside?))) {
        match about(languages, language, Location { source, folder: "" }) {
            Ok(about) => return Ok(told_about(kind, name, &about)),
            // An error with a hint says more than that of the first kind.
            Err(error)
                if refused
                    .as_ref()
                    .is_none_or(|first: &ParamError| first.hint.is_empty() && !error.hint.is_empty()) =>
            {
                refused = Some(error)
            }
            Err(_) => {}
        }
    }
    let refused = refused.unwrap_or_else(|| ParamError::new("name", "one that `haltere list` prints", name));
    Err(Fault::new("", "name", refused.rule, refused.got).hint(refused.hint).unknown_name())
}

fn told_about(kind: &Kind, name: &str, about: &About) -> Value {
    let schema = about.schema();
    let is_required = |p: &Parameter| p.default.is_none();
    let parameters: Vec<Value> = about
        .parameters
        .iter()
        .map(|p| parameter(&schema, &p.name, &schema["properties"][&p.name], is_required(p)))
        .collect();
    json!({ "name": name, "kind": kind.name, "summary": about.summary, "parameters": parameters, "schema": schema })
}

/// The alternative of a union that has that `kind`, or that only key.
fn option<'a>(union: &'a Value, name: &str) -> Option<&'a Value> {
    let options = ["anyOf", "oneOf"].into_iter().filter_map(|key| union[key].as_array()).flatten();
    options.into_iter().find_map(|one| {
        let properties = &one["properties"];
        let is_meant = properties["kind"]["const"] == name || properties.get(name).is_some();
        if is_meant { Some(one) } else { option(one, name) }
    })
}

/// The table of that alternative.
pub(super) fn find<'a>(root: &'a Value, union: &'a Value, name: &str) -> Option<&'a Value> {
    let one = option(union, name)?;
    let is_table = one["properties"]["kind"]["const"] == name;
    Some(if is_table { one } else { target(root, &one["properties"][name]) })
}

/// What a `$ref` refers to.
fn target<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let pointer = schema["$ref"].as_str().and_then(|r| r.strip_prefix('#'));
    pointer.and_then(|p| root.pointer(p)).unwrap_or(schema)
}

fn parameter(root: &Value, name: &str, schema: &Value, required: bool) -> Value {
    let definition = target(root, schema);
    let or = |key: &str| schema.get(key).or_else(|| definition.get(key)).cloned();
    let format = or("format").or_else(|| or("type")).unwrap_or_else(|| json!("any"));
    let mut told = json!({ "name": name, "meaning": or("description"), "format": format, "required": required });
    for key in ["default", "minimum", "maximum"] {
        if let Some(value) = or(key) {
            told[key] = value;
        }
    }
    let values = constants(schema).or_else(|| constants(definition));
    if let Some(values) = values {
        told["values"] = json!(values);
    }
    told
}

/// The texts that may be written, where they are listed.
fn constants(schema: &Value) -> Option<Vec<&str>> {
    if let Some(all) = schema["enum"].as_array() {
        return Some(all.iter().filter_map(Value::as_str).collect());
    }
    let options = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array())?;
    let mut out = Vec::new();
    for option in options {
        out.extend(option["const"].as_str());
        out.extend(option["enum"].as_array().into_iter().flatten().filter_map(Value::as_str));
    }
    (!out.is_empty()).then_some(out)
}
