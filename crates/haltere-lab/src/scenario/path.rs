//! Dotted paths of keys: `topology.dumbbell.pairs`, `traffic.0.count`, `traffic.video.start`, `traffic.*.congestion`.

use crate::error::{Fault, FaultKind, ScenarioError};
use crate::names::{did_you_mean, listed};
use crate::schema;
use serde_json::{Map, Value};

/// One step of a path.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// A key of a table, or the name of an entry in a list.
    Key(String),
    /// An entry of a list by its number.
    Index(usize),
    /// Every entry of a list whose kind has the next key.
    All,
}

/// `traffic[0].count`, `traffic.0.count` or `traffic.*.count`, taken apart. `None` if it is no path.
pub(super) fn steps(path: &str) -> Option<Vec<Step>> {
    let step = |text: &str| match (text, text.parse()) {
        ("*", _) => Step::All,
        (_, Ok(index)) => Step::Index(index),
        (_, Err(_)) => Step::Key(text.into()),
    };
    let mut steps = Vec::new();
    for part in path.split('.') {
        let (key, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
        if key.is_empty() {
            return None;
        }
        steps.push(step(key));
        while !rest.is_empty() {
            let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
            match step(index) {
                Step::Key(_) => return None,
                index => steps.push(index),
            }
            rest = after;
        }
    }
    Some(steps)
}

/// The keys of `root` that `path` means, without names of entries and `*`.
pub(super) fn resolve(root: &Value, path: &str) -> Result<Vec<Vec<Step>>, ScenarioError> {
    let shape = "the dotted path of a key such as `traffic.0.count`";
    let steps = steps(path).ok_or_else(|| fault(path, shape, format!("`{path}`")).out_of_range())?;
    let mut found = vec![Vec::new()];
    for (i, step) in steps.iter().enumerate() {
        let mut next = Vec::new();
        for so_far in found {
            match at(root, &so_far) {
                Some(Value::Array(items)) => {
                    for index in entries(items, &steps[i..], &so_far, path)? {
                        next.push([so_far.as_slice(), &[Step::Index(index)]].concat());
                    }
                }
                _ if *step == Step::All => {
                    return Err(fault(path, "the path of an entry in a list", "`*` of no list").out_of_range());
                }
                _ => next.push([so_far.as_slice(), std::slice::from_ref(step)].concat()),
            }
        }
        found = next;
    }
    Ok(found)
}

/// The numbers of the entries that the first of `steps` means.
fn entries(items: &[Value], steps: &[Step], list: &[Step], path: &str) -> Result<Vec<usize>, ScenarioError> {
    match &steps[0] {
        Step::All => Ok(all_with(items, steps.get(1))),
        Step::Index(i) if *i < items.len() => Ok(vec![*i]),
        Step::Index(i) => {
            let got = format!("[{i}] in a list of {}", items.len());
            Err(fault(path, "the path of an entry that is there", got).out_of_range())
        }
        Step::Key(name) => {
            let labels: Vec<String> = items.iter().enumerate().map(|(i, item)| label(item, i)).collect();
            if let Some(i) = labels.iter().position(|label| label == name) {
                return Ok(vec![i]);
            }
            let list = written(list);
            let rule = format!("a path with the number, the name or `*` of an entry behind `{list}`");
            let known: Vec<&String> = labels.iter().filter(|label| !label.is_empty()).collect();
            let near = did_you_mean(name, &known);
            let hint = match (near.is_empty(), path.strip_prefix(&format!("{list}."))) {
                (true, Some(rest)) => format!("did you mean `{list}.0.{rest}`, or `{list}.*.{rest}` for all?"),
                (true, None) if known.is_empty() => String::new(),
                (true, None) => format!("the entries are {}", listed(&known)),
                (false, _) => near,
            };
            Err(fault(path, rule, format!("`{name}`")).hint(hint).unknown_name())
        }
    }
}

/// The numbers of the entries whose kind has the next key: a ping has no `congestion`. All of them if none has it.
fn all_with(items: &[Value], next: Option<&Step>) -> Vec<usize> {
    let has = |item: &Value| match (next, item.get("kind").and_then(Value::as_str)) {
        (Some(Step::Key(key)), Some(kind)) => schema::has_key(kind, key),
        _ => true,
    };
    let found: Vec<usize> = (0..items.len()).filter(|i| has(&items[*i])).collect();
    if found.is_empty() { (0..items.len()).collect() } else { found }
}

/// The name of an entry: the one given, or its kind and its place among the entries, from 1.
fn label(item: &Value, index: usize) -> String {
    let text = |key| item.get(key).and_then(Value::as_str);
    let by_kind = || text("kind").map(|kind| format!("{kind}{}", index + 1));
    text("name").map(str::to_owned).or_else(by_kind).unwrap_or_default()
}

/// Sets the key at resolved `steps`, and makes the tables on the way that are missing. `path` is how the key was
/// written.
pub(super) fn set(root: &mut Value, steps: &[Step], setting: Value, path: &str) -> Result<(), ScenarioError> {
    let mut here = root;
    for step in steps {
        // A name alone stands for a table of that kind, here as in the file.
        if let (Step::Key(_), Value::String(name)) = (step, &*here) {
            *here = serde_json::json!({ "kind": name });
        }
        here = match (step, here) {
            (Step::Key(key), Value::Object(table)) => {
                table.entry(key.as_str()).or_insert_with(|| Value::Object(Map::new()))
            }
            (Step::Index(i), Value::Array(items)) if *i < items.len() => &mut items[*i],
            (Step::Key(key), _) => {
                return Err(
                    fault(path, "the path of a key in a table", format!("`{key}` below a value")).out_of_range()
                );
            }
            (Step::Index(i), _) => {
                return Err(fault(path, "the path of an entry in a list", format!("[{i}] of no list")).out_of_range());
            }
            (Step::All, _) => unreachable!("resolved paths have no `*`"),
        };
    }
    *here = setting;
    Ok(())
}

/// The value at resolved `steps`, if there is one.
pub(super) fn at<'a>(root: &'a Value, steps: &[Step]) -> Option<&'a Value> {
    steps.iter().try_fold(root, |here, step| match step {
        Step::Key(key) => here.get(key),
        Step::Index(i) => here.get(i),
        Step::All => None,
    })
}

/// Paths of `root` that end with `path`: what somebody may mean who left out the beginning.
pub(super) fn endings(root: &Value, path: &str) -> Vec<String> {
    const SHOWN: usize = 3;
    let Some(wanted) = steps(path) else { return Vec::new() };
    let mut found = Vec::new();
    walk(root, &mut Vec::new(), &mut |steps| {
        if steps.len() > wanted.len() && steps.ends_with(&wanted) {
            found.push(written(steps));
        }
    });
    // The nearest to the top first.
    found.sort_by_key(|path| path.matches('.').count());
    found.truncate(SHOWN);
    found
}

fn walk(value: &Value, steps: &mut Vec<Step>, see: &mut impl FnMut(&[Step])) {
    let mut below = |step: Step, value: &Value| {
        steps.push(step);
        see(steps);
        walk(value, steps, see);
        steps.pop();
    };
    match value {
        Value::Object(table) => table.iter().for_each(|(key, value)| below(Step::Key(key.clone()), value)),
        Value::Array(items) => items.iter().enumerate().for_each(|(i, value)| below(Step::Index(i), value)),
        _ => {}
    }
}

fn written(steps: &[Step]) -> String {
    let step = |step: &Step| match step {
        Step::Key(key) => key.clone(),
        Step::Index(i) => i.to_string(),
        Step::All => "*".into(),
    };
    steps.iter().map(step).collect::<Vec<_>>().join(".")
}

fn fault(path: &str, rule: impl Into<String>, got: impl std::fmt::Display) -> Fault {
    Fault::new("", format!("`{path}`"), rule, got)
}
