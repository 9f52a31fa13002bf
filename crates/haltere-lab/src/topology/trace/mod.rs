//! Traces of links, as written in an experiment file, and the files that they name.
//!
//! | file | kind | a line says |
//! |---|---|---|
//! | [`opportunities`] | `mahimahi` | when a packet can be delivered |
//! | [`rows`] | `csv`, `theaterq` | rate, delay, loss and limit from a time on |
//! | [`cellreplay`] | `cellreplay` | a train of packets under light load; its heavy trace is Mahimahi's |
//! | [`leoem`] | `leoem` | the satellites of a path and the delays between them, each second |
//! | [`leo`], [`cellular`] | `leo`, `cellular` | nothing: the values are drawn |
//!
//! An experiment holds its traces: when it is read, the name of a file is replaced by its contents. So a run depends on
//! nothing but the experiment and the random seed, on any machine.

mod cellreplay;
pub(crate) mod cellular;
pub(crate) mod leo;
mod leoem;
mod opportunities;
pub(crate) mod rows;

use crate::error::{Fault, FaultKind, ScenarioError};
use crate::files::{Key, read_text};
use cellreplay::CellreplayTraces;
use cellular::Cellular;
use leo::Leo;
use leoem::LeoemLog;
use opportunities::Opportunities;
use rows::{CsvTrace, TheaterqTrace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::Path;

/// A trace: the name of its file, or a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum TraceSpec {
    /// The file. Its path is relative to the folder of the experiment file. A name that ends in `.csv` is of the kind
    /// `csv`, any other of the kind `mahimahi`.
    File(String),
    /// Rate, delay and loss over time in a CSV file.
    Csv(CsvTrace),
    /// A trace file of TheaterQ.
    Theaterq(TheaterqTrace),
    /// A drawn path over satellites.
    Leo(Leo),
    /// A drawn cellular link.
    Cellular(Cellular),
    /// A path over satellites that was computed before.
    Leoem(LeoemLog),
    /// A cellular link under light and heavy load.
    Cellreplay(CellreplayTraces),
    /// Delivery opportunities in a file of Mahimahi.
    Mahimahi(Opportunities),
}

/// What is wrong with a trace: the rule, and what was found.
type Wrong = (&'static str, String);

/// A line of a file as an error shows it.
fn shown(line: &str) -> String {
    line.chars().filter(|c| !c.is_control()).take(40).collect()
}

/// The lines of a file with their numbers, without blank lines and those that begin with `#`.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().map(str::trim).enumerate().map(|(i, line)| (i + 1, line));
    numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Puts the contents of each `trace` file below `topology` in the place of the file's name, and those of each file of
/// a station's `steps`.
pub(crate) fn read_files(experiment: &mut Value, folder: &Path) -> Result<(), ScenarioError> {
    match experiment.get_mut("topology") {
        Some(topology) => walk(topology, "topology", folder),
        None => Ok(()),
    }
}

fn walk(value: &mut Value, path: &str, folder: &Path) -> Result<(), ScenarioError> {
    match value {
        Value::Object(keys) => {
            for key in ["trace", "heavy"] {
                if let Some(trace) = keys.get_mut(key) {
                    read_file(trace, path, folder)?;
                }
            }
            if let Some(steps) = keys.get_mut("steps") {
                read_steps(steps, path, folder)?;
            }
            keys.iter_mut().try_for_each(|(key, inner)| walk(inner, &format!("{path}.{key}"), folder))
        }
        Value::Array(items) => {
            items.iter_mut().enumerate().try_for_each(|(i, inner)| walk(inner, &format!("{path}[{i}]"), folder))
        }
        _ => Ok(()),
    }
}

/// How a file becomes the value of a key.
struct TraceFile {
    key: &'static str,
    /// What the file must be.
    rule: &'static str,
    read: fn(&str) -> Result<String, Wrong>,
}

/// The file of traces of that kind. `None`: it has no file, or there is no such kind.
fn trace_file(kind: &str) -> Option<TraceFile> {
    Some(match kind {
        "mahimahi" => {
            TraceFile { key: "gaps", rule: "a file of delivery times in ms, one a line", read: opportunities::gaps }
        }
        "csv" => TraceFile { key: "rows", rule: "a CSV file of times, rates, delays and losses", read: rows::of_csv },
        "cellreplay" => {
            TraceFile { key: "trains", rule: "a file of CellReplay's delays and light load", read: cellreplay::trains }
        }
        "leoem" => TraceFile { key: "rows", rule: "a log of LeoEM's paths", read: leoem::rows },
        "theaterq" => TraceFile { key: "rows", rule: "a trace file of TheaterQ", read: rows::of_theaterq },
        _ => return None,
    })
}

fn read_file(trace: &mut Value, path: &str, folder: &Path) -> Result<(), ScenarioError> {
    if let Value::String(name) = trace {
        let mut table = Map::new();
        if name.to_ascii_lowercase().ends_with(".csv") {
            table.insert("kind".into(), "csv".into());
        }
        table.insert("file".into(), Value::String(std::mem::take(name)));
        *trace = Value::Object(table);
    }
    let Value::Object(table) = trace else { return Ok(()) };
    let kind = table.entry("kind").or_insert("mahimahi".into()).as_str().unwrap_or_default();
    let Some(TraceFile { key, rule, read }) = trace_file(kind) else { return Ok(()) };
    let file = match (table.get("file"), table.get(key)) {
        (Some(Value::String(file)), None) => file.clone(),
        (None, None) => {
            let fault = Fault::new(path, "trace", "the name of a file", "a table without `file`");
            return Err(fault.hint("write `trace = \"FILE\"`").missing());
        }
        _ => return Ok(()),
    };
    let contents = contents(&Key { path, name: "trace", rule }, folder, &file, read)?;
    table.insert(key.into(), Value::String(contents));
    Ok(())
}

/// The rates of a station of a shared medium.
fn read_steps(steps: &mut Value, path: &str, folder: &Path) -> Result<(), ScenarioError> {
    let Value::String(file) = steps else { return Ok(()) };
    *steps = contents(
        &Key { path, name: "steps", rule: "a CSV file of times and rates" },
        folder,
        file,
        rows::rates_of_csv,
    )?;
    Ok(())
}

/// What `read` finds in the file of that name.
fn contents<T>(
    key: &Key<'_>,
    folder: &Path,
    file: &str,
    read: fn(&str) -> Result<T, Wrong>,
) -> Result<T, ScenarioError> {
    let wrong = |(rule, got)| Fault::new(key.path, key.name, rule, format!("{got} in `{file}`")).out_of_range();
    read(&read_text(key, folder, file)?).map_err(wrong)
}

/// Any bytes as a trace file, and as the gaps that stand for one, for the fuzz target and its bounded test.
pub fn exercise_trace(bytes: &[u8]) {
    if let Ok(text) = core::str::from_utf8(bytes) {
        opportunities::exercise(text);
        rows::exercise(text);
        cellreplay::exercise(text);
        leoem::exercise(text);
    }
}
