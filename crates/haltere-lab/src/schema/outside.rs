//! Mechanisms from outside the tree in an experiment: what is written, and what it stands for.
//!
//! `{ kind = "python:my_module:MyControl", beta = 0.7 }` is checked against the schema that the language gives, and
//! becomes the parameters that the registry's enum takes. [`as_written`] converts it back: what a user reads, and what a
//! key of `--set` or of a sweep names, is always the written form. There the key `source` holds the digest of the code
//! and the folder from which files count.

use super::check::check_table;
use super::describe::{find, shared_keys};
use super::generate::schema;
use super::kinds::AboutOutside;
use super::value::Place;
use crate::error::{Fault, FaultKind, ScenarioError};
use crate::names::listed;
use haltere_units::ParamError;
use haltere_units::outside::{About, KIND, Location, Outside, Params, split};
use serde_json::{Map, Value, json};
use std::path::{Path, absolute};

/// The key beside `kind` that is no parameter of the mechanism.
const SOURCE: &str = "source";
/// The keys in it.
pub(crate) const SOURCE_KEYS: [&str; 2] = ["digest", "folder"];

/// True if the value is a name with a colon, or a table whose `kind` is.
pub(super) fn is_meant(value: &Value) -> bool {
    kind_of(value).is_some_and(|kind| split(kind).is_some())
}

fn kind_of(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value.get("kind")?.as_str())
}

/// Puts the only language of a registry before a name that is not one of its own and has none.
pub(super) fn add_language(value: &mut Value, language: &str, names: &[&str]) {
    let Some(kind) = kind_of(value).filter(|kind| split(kind).is_none() && !names.contains(kind)) else { return };
    let kind = json!(format!("{language}:{kind}"));
    match value {
        Value::Object(table) => drop(table.insert("kind".into(), kind)),
        _ => *value = kind,
    }
}

/// Checks the mechanism and its parameters. The value becomes what the registry's enum reads.
pub(super) fn resolve(
    value: &mut Value,
    about: AboutOutside,
    folder: &Path,
    languages: &Outside,
    place: &Place,
) -> Result<(), ScenarioError> {
    let about = |language: &str, at: Location<'_>| about(languages, language, at);
    let written = Written::of(value.take(), about, folder, place)?;
    let parameters = parameters(written.given.clone(), &written.about, languages, place)?;
    *value = serde_json::to_value(written.params(parameters)?).unwrap_or_default();
    value["kind"] = json!(KIND);
    Ok(())
}

/// The same of an entry of `[[traffic]]`: the keys that every kind of TCP flows has stay beside the source.
pub(super) fn resolve_entry(
    value: &mut Value,
    about: AboutOutside,
    folder: &Path,
    languages: &Outside,
    place: &Place,
) -> Result<(), ScenarioError> {
    let about = |language: &str, at: Location<'_>| about(languages, language, at);
    let mut written = Written::of(value.take(), about, folder, place)?;
    let shared = shared_keys("bulk", "on_off").unwrap_or_default();
    if let Some(taken) = written.about.parameters.iter().find(|one| shared.contains(&one.name.as_str())) {
        let rule =
            format!("a source whose parameters have other names than the keys of a traffic entry: {}", listed(&shared));
        return Err(written.place.fault(rule, format!("`{}`", taken.name)).out_of_range());
    }
    let mut entry = Value::Object(std::mem::take(&mut written.given));
    check_table(&mut entry, &entry_schema(&written.about, &shared), folder, languages, place)?;
    let Value::Object(mut entry) = entry else { return Ok(()) };
    let own = written.about.parameters.iter().filter_map(|one| entry.remove_entry(&one.name)).collect();
    let own = with_defaults(own, &written.about);
    entry.insert(SOURCE.into(), serde_json::to_value(written.params(own)?).unwrap_or_default());
    entry.insert("kind".into(), json!(KIND));
    *value = Value::Object(entry);
    Ok(())
}

/// The schema of a traffic entry with that source, with the definitions to which the shared keys refer.
fn entry_schema(about: &About, shared: &[&str]) -> Value {
    let root = schema();
    let mut out = about.schema();
    let bulk = find(root, &root["$defs"]["Traffic"], "bulk").unwrap_or(&Value::Null);
    for key in shared {
        out["properties"][*key] = bulk["properties"][*key].clone();
    }
    out["$defs"] = root["$defs"].clone();
    out
}

/// What a user wrote, taken apart.
struct Written {
    language: String,
    source: String,
    folder: String,
    /// The digest of the code when the experiment was filled, if it was.
    digest: Option<String>,
    about: About,
    /// All keys but `kind` and `source`.
    given: Map<String, Value>,
    /// Where its name is.
    place: Place,
}

impl Written {
    fn of(
        value: Value,
        about: impl Fn(&str, Location<'_>) -> Result<About, ParamError>,
        folder: &Path,
        place: &Place,
    ) -> Result<Written, ScenarioError> {
        let kind = kind_of(&value).unwrap_or_default().to_owned();
        let (language, source) = split(&kind).unwrap_or_default();
        let mut given = match value {
            Value::Object(table) => table,
            _ => Map::new(),
        };
        let name_place = if given.remove("kind").is_some() { place.below("kind") } else { place.clone() };
        let origin = given.remove(SOURCE).unwrap_or_default();
        let folder = match origin["folder"].as_str() {
            Some(folder) => folder.to_owned(),
            None => absolute(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
                .map_or_else(|_| String::new(), |folder| folder.to_string_lossy().into_owned()),
        };
        let found = about(language, Location { source, folder: &folder })
            .map_err(|e| name_place.fault(e.rule, e.got).hint(e.hint).unknown_name())?;
        let digest = origin["digest"].as_str().map(str::to_owned);
        let (language, source) = (language.into(), source.into());
        Ok(Written { language, source, folder, digest, about: found, given, place: name_place })
    }
    /// With these parameters, of code that has not changed.
    fn params(self, parameters: Map<String, Value>) -> Result<Params, ScenarioError> {
        let Written { language, source, folder, digest, about, place, .. } = self;
        let digest = digest.unwrap_or_else(|| about.digest.clone());
        let params = Params { language, source, folder, name: about.name, digest, parameters };
        match params.check_digest(&about.digest) {
            Ok(()) => Ok(params),
            Err(e) => Err(place.fault(e.rule, e.got).hint(e.hint).out_of_range()),
        }
    }
}

/// The parameters that are given, checked, and the defaults of the others.
fn parameters(
    given: Map<String, Value>,
    about: &About,
    languages: &Outside,
    place: &Place,
) -> Result<Map<String, Value>, ScenarioError> {
    if about.parameters.is_empty()
        && let Some(key) = given.keys().next()
    {
        let rule = format!("left out, as `{}` has no parameters", about.name);
        return Err(Fault::new(place.key(), "key", rule, format!("`{key}`")).unknown_key());
    }
    let mut table = Value::Object(given);
    check_table(&mut table, &about.schema(), Path::new(""), languages, place)?;
    let Value::Object(table) = table else { return Ok(Map::new()) };
    Ok(with_defaults(table, about))
}

fn with_defaults(mut table: Map<String, Value>, about: &About) -> Map<String, Value> {
    for parameter in &about.parameters {
        if let Some(default) = &parameter.default {
            table.entry(&parameter.name).or_insert_with(|| default.clone());
        }
    }
    table
}

/// Brings all such mechanisms of an experiment back into the form in which they are written, with these keys of
/// `source`.
pub(crate) fn as_written(value: &mut Value, keys: &[&str]) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| as_written(item, keys)),
        Value::Object(table) if table.get("kind").is_some_and(|kind| kind == KIND) => {
            if let Ok(params) = serde_json::from_value::<Tagged>(Value::Object(table.clone())) {
                *table = written(params.params, keys);
            } else if let Some(Ok(params)) = table.remove(SOURCE).map(serde_json::from_value::<Params>) {
                // A traffic entry, whose control may be from outside, too.
                table.values_mut().for_each(|value| as_written(value, keys));
                table.extend(written(params, keys));
            }
        }
        Value::Object(table) => table.values_mut().for_each(|value| as_written(value, keys)),
        _ => {}
    }
}

/// The parameters with the tag of the registry's enum.
#[derive(serde::Deserialize)]
struct Tagged {
    #[serde(flatten)]
    params: Params,
}

fn written(params: Params, keys: &[&str]) -> Map<String, Value> {
    let mut table = Map::new();
    table.insert("kind".into(), json!(params.kind()));
    table.extend(params.parameters);
    let origin = [("digest", params.digest), ("folder", params.folder)];
    let origin: Map<String, Value> =
        origin.into_iter().filter(|(key, _)| keys.contains(key)).map(|(key, text)| (key.into(), json!(text))).collect();
    if !origin.is_empty() {
        table.insert(SOURCE.into(), Value::Object(origin));
    }
    table
}

/// True if the folder of a mechanism's code is written: a scenario that was filled elsewhere keeps it.
pub(crate) fn names_folder(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(names_folder),
        Value::Object(table) => {
            (is_meant(value) && table.get(SOURCE).is_some_and(|origin| origin["folder"].is_string()))
                || table.values().any(names_folder)
        }
        _ => false,
    }
}

/// Removes the folders from the written form.
pub(crate) fn forget_folders(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(forget_folders),
        Value::Object(table) => {
            let is_outside = table.get("kind").and_then(Value::as_str).is_some_and(|kind| split(kind).is_some());
            if let (true, Some(Value::Object(origin))) = (is_outside, table.get_mut(SOURCE)) {
                origin.remove("folder");
            }
            table.values_mut().for_each(forget_folders);
        }
        _ => {}
    }
}

#[cfg(test)]
#[path = "outside_tests.rs"]
mod tests;
