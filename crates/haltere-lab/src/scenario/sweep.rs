//! The table `sweep`: axes of a grid, axes that change together, axes of some combinations only, and combinations that
//! are left out.

use super::spacing::{self, Range, Spacing};
use crate::error::{Fault, FaultKind, ScenarioError};
use crate::names::{did_you_mean, listed};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What is varied. Every key but `zip` and `skip` is an axis: the dotted path of a key, and the values that it takes.
/// The points are all combinations. The last axis changes fastest. An entry of a list is named by its number or its
/// name, and `*` stands for every entry that has the key: `traffic.0.count`, `traffic.video.start`,
/// `traffic.*.congestion`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Sweep {
    /// Axes that change together: tables of axes of one length. The first values of all are one step, the second values
    /// the next.
    #[schemars(with = "Option<OneOrMany<BTreeMap<String, Values>>>")]
    zip: OneOrMany<Map<String, Value>>,
    /// Combinations that are left out.
    #[schemars(with = "Option<OneOrMany<Skip>>")]
    skip: OneOrMany<Skip>,
    #[serde(flatten)]
    #[schemars(with = "BTreeMap<String, Axis>")]
    axes: Map<String, Value>,
}

/// The values of an axis, in the order in which they are taken.
#[derive(Deserialize, JsonSchema)]
#[schemars(transparent)]
struct Values(#[schemars(length(min = 1))] Vec<Value>);

/// The values of an axis: a list, or a table that says more.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Axis {
    Listed(Values),
    Table(Box<AxisTable>),
}

/// An axis as a table: values one by one or between two ends, and for which combinations they are. Give `values`,
/// `linspace` or `logspace`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AxisTable {
    /// The values.
    values: Option<Values>,
    /// Values in equal steps, such as `{ from = "10ms", to = "100ms", count = 10 }`. They have at most six digits.
    linspace: Option<Range>,
    /// Values in equal ratios, such as `{ from = "1Mbit", to = "1Gbit", count = 7 }`. They have at most three digits.
    logspace: Option<Range>,
    /// A name for each of `values`, in their order, such as `["shallow", "deep"]`: figures and tables show it instead
    /// of the value.
    labels: Option<Vec<String>>,
    /// Which combinations: keys of other axes, or the end of a key's path, each with a value or a list of values. In
    /// the others the key of this axis stays as the file says.
    when: Option<Map<String, Value>>,
}

impl AxisTable {
    fn values(self, place: &str) -> Result<Values, ScenarioError> {
        self.check_labels(place)?;
        match (self.values, self.linspace, self.logspace) {
            (Some(values), None, None) => Ok(values),
            (None, Some(range), None) => spacing::values(&range, Spacing::Linear, place).map(Values),
            (None, None, Some(range)) => spacing::values(&range, Spacing::Logarithmic, place).map(Values),
            (None, None, None) => {
                Err(Fault::new(place, "values", "given, or `linspace` or `logspace`", "nothing").missing())
            }
            _ => Err(Fault::new(place, "axis", "one of `values`, `linspace` and `logspace`", "several").out_of_range()),
        }
    }

    /// One label a value, and no two alike.
    fn check_labels(&self, place: &str) -> Result<(), ScenarioError> {
        let Some(labels) = &self.labels else { return Ok(()) };
        let values = self.values.as_ref().map_or(0, |values| values.0.len());
        if labels.len() != values {
            let rule = format!("one for each of the {values} `values`");
            return Err(Fault::new(place, "labels", rule, labels.len().to_string()).out_of_range());
        }
        let wrong = |i: &usize| labels[*i].trim().is_empty() || labels[..*i].contains(&labels[*i]);
        (0..labels.len()).find(wrong).map_or(Ok(()), |i| {
            let got = format!("`{}`", labels[i]);
            Err(Fault::new(place, "labels", "all different and not empty", got).out_of_range())
        })
    }
}

/// Combinations that are left out.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Skip {
    /// Which combinations: keys of axes, or the end of a key's path, each with a value or a list of values. All must
    /// hold.
    when: Map<String, Value>,
}

/// One table, or a list of them. The list is tried first: serde reads a struct from a list too.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum OneOrMany<T> {
    Many(Vec<T>),
    One(T),
}

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        OneOrMany::Many(Vec::new())
    }
}

impl<T> OneOrMany<T> {
    fn all(self) -> Vec<T> {
        match self {
            OneOrMany::One(one) => vec![one],
            OneOrMany::Many(many) => many,
        }
    }
}

/// What one point sets, in the order of the axes.
pub(super) type Settings = Vec<(String, Value)>;

/// A sweep, resolved: every condition names an axis and values of it.
#[derive(Default)]
pub(super) struct Grid {
    tracks: Vec<Track>,
    skip: Vec<Condition>,
}

/// One dimension of the grid: the keys that it sets, and their values step by step.
struct Track {
    keys: Vec<String>,
    steps: Vec<Vec<Value>>,
    when: Option<Condition>,
}

/// Full paths, each with the values of which one must be set. Holds if all hold.
#[derive(Default)]
struct Condition(Vec<(String, Vec<Value>)>);

impl Grid {
    /// Reads a sweep that was checked against the schema.
    pub(super) fn read(written: &Map<String, Value>) -> Result<Grid, ScenarioError> {
        let sweep: Sweep = typed(&Value::Object(written.clone()))?;
        let mut grid = Grid::default();
        let mut conditions = Vec::new();
        for (key, axis) in sweep.axes {
            let place = format!("sweep.{key}");
            let (values, when) = match typed(&axis)? {
                Axis::Listed(values) => (values, None),
                Axis::Table(mut axis) => {
                    let when = axis.when.take();
                    (axis.values(&place)?, when)
                }
            };
            conditions.push((place, when));
            grid.tracks.push(Track {
                keys: vec![key],
                steps: values.0.into_iter().map(|v| vec![v]).collect(),
                when: None,
            });
        }
        for (i, table) in sweep.zip.all().into_iter().enumerate() {
            conditions.push((String::new(), None));
            grid.tracks.push(zipped(&table, &format!("sweep.zip[{i}]"))?);
        }
        grid.check_keys()?;
        // Conditions last: they may name any axis, but one that has none itself.
        let sure: Vec<bool> = conditions.iter().map(|(_, when)| when.is_none()).collect();
        for (i, (place, when)) in conditions.into_iter().enumerate() {
            grid.tracks[i].when = when.map(|when| grid.condition(&when, &place, &sure)).transpose()?;
        }
        let all = vec![true; sure.len()];
        for (i, skip) in sweep.skip.all().into_iter().enumerate() {
            let condition = grid.condition(&skip.when, &format!("sweep.skip[{i}]"), &all)?;
            grid.skip.push(condition);
        }
        Ok(grid)
    }

    /// A key belongs to one axis.
    fn check_keys(&self) -> Result<(), ScenarioError> {
        let mut seen: Vec<&str> = Vec::new();
        for key in self.tracks.iter().flat_map(|t| &t.keys) {
            if seen.contains(&key.as_str()) {
                return Err(Fault::new("sweep", format!("`{key}`"), "in one axis only", "two").out_of_range());
            }
            seen.push(key);
        }
        Ok(())
    }

    /// Takes a condition apart; `usable` says which axes it may name.
    fn condition(&self, when: &Map<String, Value>, place: &str, usable: &[bool]) -> Result<Condition, ScenarioError> {
        if when.is_empty() {
            let fault = Fault::new(place, "when", "a table with at least one key of the sweep", "an empty table");
            return Err(fault.out_of_range());
        }
        let tracks: Vec<&Track> =
            self.tracks.iter().zip(usable).filter(|(_, usable)| **usable).map(|(t, _)| t).collect();
        let mut condition = Condition::default();
        for (name, wanted) in when {
            let place = format!("{place}.when");
            let (track, column) = find(&tracks, name, &place)?;
            let values: Vec<&Value> = track.steps.iter().map(|step| &step[column]).collect();
            condition.0.push((track.keys[column].clone(), wanted_of(wanted, &values, name, &place)?));
        }
        Ok(condition)
    }

    /// The keys that it sets.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.tracks.iter().flat_map(|track| &track.keys).map(String::as_str)
    }

    /// The number of combinations before any is left out; `None` above `most`.
    pub(super) fn size(&self, most: usize) -> Option<usize> {
        self.tracks.iter().try_fold(1usize, |n, t| n.checked_mul(t.steps.len()).filter(|n| *n <= most))
    }

    /// Combination `i`, counted with the last axis fastest; `None` if it is left out.
    pub(super) fn settings(&self, mut i: usize) -> Option<Settings> {
        let mut chosen = vec![0; self.tracks.len()];
        for (step, track) in chosen.iter_mut().zip(&self.tracks).rev() {
            *step = i % track.steps.len();
            i /= track.steps.len();
        }
        let sets = |(track, step): (&Track, &usize)| {
            track.keys.iter().cloned().zip(track.steps[*step].iter().cloned()).collect::<Settings>()
        };
        let all: Settings = self.tracks.iter().zip(&chosen).flat_map(sets).collect();
        let mut settings = Settings::new();
        for (track, step) in self.tracks.iter().zip(&chosen) {
            match track.when.as_ref().is_none_or(|when| when.holds(&all)) {
                true => settings.extend(sets((track, step))),
                // An axis that does not count here has one step: the first.
                false if *step > 0 => return None,
                false => {}
            }
        }
        (!self.skip.iter().any(|skip| skip.holds(&settings))).then_some(settings)
    }
}

impl Condition {
    fn holds(&self, settings: &Settings) -> bool {
        let set = |path: &String| settings.iter().find(|(key, _)| key == path).map(|(_, value)| value);
        self.0.iter().all(|(path, values)| set(path).is_some_and(|value| values.contains(value)))
    }
}

/// The track of axes that change together.
fn zipped(table: &Map<String, Value>, place: &str) -> Result<Track, ScenarioError> {
    let columns: Vec<&Vec<Value>> = table.values().filter_map(Value::as_array).collect();
    let lengths: Vec<usize> = columns.iter().map(|c| c.len()).collect();
    let Some(&length) = lengths.first() else {
        return Err(Fault::new(place, "zip", "a table with at least one axis", "an empty table").out_of_range());
    };
    if let Some((key, other)) = table.keys().zip(&lengths).find(|(_, n)| **n != length) {
        let first = table.keys().next().map_or("", String::as_str);
        let rule = format!("as long as `{first}`, which has {length} values");
        return Err(Fault::new(place, format!("`{key}`"), rule, format!("{other}")).out_of_range());
    }
    let steps = (0..length).map(|i| columns.iter().map(|c| c[i].clone()).collect()).collect();
    Ok(Track { keys: table.keys().cloned().collect(), steps, when: None })
}

/// The axis that a condition names by its path, or by the end of one.
fn find<'a>(tracks: &[&'a Track], name: &str, place: &str) -> Result<(&'a Track, usize), ScenarioError> {
    let places = || tracks.iter().flat_map(|t| t.keys.iter().enumerate().map(move |(i, key)| (*t, i, key)));
    if let Some((track, i, _)) = places().find(|(_, _, key)| *key == name) {
        return Ok((track, i));
    }
    let ending = format!(".{name}");
    let found: Vec<(&Track, usize, &String)> = places().filter(|(_, _, key)| key.ends_with(&ending)).collect();
    let keys: Vec<&String> = places().map(|(_, _, key)| key).collect();
    match found.as_slice() {
        [(track, i, _)] => Ok((track, *i)),
        [] => {
            let ends: Vec<&str> = keys.iter().map(|key| key.rsplit('.').next().unwrap_or(key)).collect();
            let rule = format!("one of the axes that it may name, or the end of one: {}", listed(&keys));
            let fault = Fault::new(place, "key", rule, format!("`{name}`"));
            Err(fault.hint(did_you_mean(name, &ends)).unknown_key())
        }
        several => {
            let paths: Vec<&String> = several.iter().map(|(_, _, key)| *key).collect();
            let fault = Fault::new(place, "key", "the end of one axis only", format!("`{name}`"));
            Err(fault.hint(format!("it ends {}; write the whole path", listed(&paths))).unknown_key())
        }
    }
}

/// The values of an axis that a condition means: equal ones, or tables of that `kind`.
fn wanted_of(wanted: &Value, values: &[&Value], name: &str, place: &str) -> Result<Vec<Value>, ScenarioError> {
    let meant =
        |want: &Value| -> Vec<Value> { values.iter().filter(|v| means(want, v)).map(|v| (*v).clone()).collect() };
    // A list may be a value itself, as in `congestion = ["cubic", "reno"]`.
    let whole = meant(wanted);
    if !whole.is_empty() {
        return Ok(whole);
    }
    let wishes = match wanted {
        Value::Array(many) if !many.is_empty() => many.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut out = Vec::new();
    for wish in wishes {
        let found = meant(wish);
        if found.is_empty() {
            let told: Vec<String> = values.iter().map(|v| text(v)).collect();
            let got = format!("`{}`", text(wish));
            let fault = Fault::new(place, format!("`{name}`"), format!("a value of its axis: {}", listed(&told)), got);
            return Err(fault.hint(did_you_mean(&text(wish), &told)).unknown_name());
        }
        out.extend(found);
    }
    Ok(out)
}

fn means(wish: &Value, value: &Value) -> bool {
    let same_number = || matches!((wish.as_f64(), value.as_f64()), (Some(a), Some(b)) if a == b);
    wish == value || same_number() || (wish.is_string() && value.get("kind") == Some(wish))
}

/// A value without the quotes of a text.
pub(super) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Reads a value that was checked against the schema.
fn typed<T: for<'de> Deserialize<'de>>(value: &Value) -> Result<T, ScenarioError> {
    T::deserialize(value).map_err(|e| ScenarioError::schema_bug("", "sweep", &e))
}
