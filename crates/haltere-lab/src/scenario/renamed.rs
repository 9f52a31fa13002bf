//! Keys and values that have another name now. The old name still works, with a warning, for one version.
//!
//! Before an experiment is checked against the schema its old keys become the new ones, so that nothing else knows of them. Each leaves a
//! line in [`Scenario::warnings`](super::Scenario::warnings), which the command line prints.

use super::text::Source;
use crate::error::{Fault, FaultKind, ScenarioError};
use serde_json::{Map, Value};

/// A key of a table that has another name now.
struct Renamed {
    /// Path of the table as in `traffic[].sizes`: `[]` stands for every entry of a list. Empty: the top.
    table: &'static str,
    old: &'static str,
    new: &'static str,
}

/// All of them. Remove a line one version after it was added.
const RENAMED: &[Renamed] = &[Renamed { table: "precision", old: "most_seeds", new: "max_seeds" }];

/// A value that has another name now, of a key of any table.
struct RenamedValue {
    key: &'static str,
    old: &'static str,
    new: &'static str,
}

const RENAMED_VALUES: &[RenamedValue] = &[RenamedValue { key: "hystart", old: "classic", new: "linux_6_13" }];

/// Gives the old keys of an experiment their new names; what was renamed is returned, one line each.
pub(super) fn rename(value: &mut Value, source: &mut Source) -> Result<Vec<String>, ScenarioError> {
    let mut warnings = Vec::new();
    visit(value, "", source, &mut warnings)?;
    rename_axes(value, source, &mut warnings);
    Ok(warnings)
}

fn visit(value: &mut Value, path: &str, source: &mut Source, out: &mut Vec<String>) -> Result<(), ScenarioError> {
    match value {
        Value::Object(table) => {
            for Renamed { old, new, .. } in RENAMED.iter().filter(|r| r.table == pattern(path)) {
                if !table.contains_key(*old) {
                    continue;
                }
                if table.contains_key(*new) {
                    let fault = Fault::new(path, *old, format!("left out beside `{new}`"), "both");
                    return Err(source.place(fault.hint(format!("`{old}` is the old name of `{new}`")).out_of_range()));
                }
                out.push(warning(source, path, old, new));
                source.rename(&below(path, old), &below(path, new));
                replace_key(table, old, new);
            }
            rename_values(table, path, source, out);
            table.iter_mut().try_for_each(|(key, inner)| visit(inner, &below(path, key), source, out))
        }
        Value::Array(items) => {
            items.iter_mut().enumerate().try_for_each(|(i, inner)| visit(inner, &format!("{path}[{i}]"), source, out))
        }
        _ => Ok(()),
    }
}

fn rename_values(table: &mut Map<String, Value>, path: &str, source: &Source, out: &mut Vec<String>) {
    for RenamedValue { key, old, new } in RENAMED_VALUES {
        if let Some(value) = table.get_mut(*key).filter(|value| value.as_str() == Some(old)) {
            *value = Value::from(*new);
            let place = place_of(source, path, key);
            out.push(format!("{place}: `{key}` `{old}` is now `{new}`"));
        }
    }
}

/// The axes of a sweep are paths of keys.
fn rename_axes(value: &mut Value, source: &Source, out: &mut Vec<String>) {
    let Some(Value::Object(sweep)) = value.get_mut("sweep") else { return };
    let old: Vec<String> = sweep.keys().filter(|path| current(path).is_some()).cloned().collect();
    for path in old {
        let new = current(&path).unwrap_or_default();
        out.push(warning(source, "sweep", &path, &new));
        replace_key(sweep, &path, &new);
    }
}

/// The path of a key as it is now, if the key has another name now.
pub(super) fn current(path: &str) -> Option<String> {
    let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
    let renamed = RENAMED.iter().find(|r| r.old == key && r.table == pattern(table))?;
    Some(below(table, renamed.new))
}

fn warning(source: &Source, path: &str, old: &str, new: &str) -> String {
    format!("{}: `{old}` is now `{new}`", place_of(source, path, old))
}

/// Where a key is.
fn place_of(source: &Source, path: &str, key: &str) -> String {
    let place: Vec<String> =
        [source.at(&below(path, key)), path.into()].into_iter().filter(|s| !s.is_empty()).collect();
    if place.is_empty() { "the experiment".into() } else { place.join(": ") }
}

fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.into() } else { format!("{path}.{key}") }
}

/// A path with `[]` for each number of an entry: `traffic[3].sizes` and `traffic.3.sizes` become `traffic[].sizes`.
fn pattern(path: &str) -> String {
    let mut out = String::new();
    for part in path.split('.') {
        let name = part.split('[').next().unwrap_or_default();
        match name.is_empty() || name.bytes().all(|b| b.is_ascii_digit()) {
            true => out.push_str(if path.is_empty() { "" } else { "[]" }),
            false => {
                out.push_str(if out.is_empty() { "" } else { "." });
                out.push_str(name);
            }
        }
        out.extend(part.matches('[').map(|_| "[]"));
    }
    out
}

/// Another name for a key, at the same place among the others.
fn replace_key(table: &mut Map<String, Value>, old: &str, new: &str) {
    let name = |key: String| if key == old { new.to_owned() } else { key };
    *table = std::mem::take(table).into_iter().map(|(key, value)| (name(key), value)).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_compared_whatever_the_entry() {
        let told = [("", ""), ("precision", "precision"), ("traffic[3].sizes", "traffic[].sizes")];
        assert!(told.iter().all(|(path, expected)| pattern(path) == *expected));
        assert_eq!(pattern("traffic.3.sizes"), "traffic[].sizes");
        assert_eq!(pattern("a.b[0][1].c"), "a.b[][].c");
    }
    #[test]
    fn a_path_of_a_renamed_key_is_known_by_its_old_name() {
        assert_eq!(current("precision.most_seeds").as_deref(), Some("precision.max_seeds"));
        assert_eq!(current("precision.max_seeds"), None);
        assert_eq!(current("most_seeds"), None);
    }
}
