//! Sweeps: a grid of points, each a scenario of its own.

use super::sweep::{Grid, Settings};
use super::{Scenario, build, renamed};
use crate::error::{Fault, FaultKind, ScenarioError};
use crate::limits::POINTS;
use crate::schema;
use serde_json::{Map, Value};

/// One point of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The keys that this point sets, in the order of the axes.
    pub settings: Vec<(String, Value)>,
    /// The scenario with them set, without a sweep.
    pub scenario: Scenario,
}

impl Scenario {
    /// All points of the sweep, the last axis fastest; without a sweep the scenario itself.
    pub fn points(&self) -> Result<Vec<Point>, ScenarioError> {
        let grid = Grid::read(&self.sweep).map_err(|e| self.source.place(e))?;
        let refused =
            |rule: String, got: &str| Err(self.source.place(Fault::new("", "sweep", rule, got).out_of_range()));
        let Some(total) = grid.size(POINTS) else {
            return refused(format!("a grid of at most {POINTS} points"), "more");
        };
        let kept: Vec<Settings> = (0..total).filter_map(|i| grid.settings(i)).collect();
        if kept.is_empty() {
            return refused("a grid of which `skip` leaves at least one point".into(), "none");
        }
        kept.into_iter().map(|settings| self.point(settings)).collect()
    }

    fn point(&self, settings: Settings) -> Result<Point, ScenarioError> {
        let mut value = self.written.clone();
        if let Value::Object(keys) = &mut value {
            keys.remove("sweep");
        }
        for (path, setting) in &settings {
            let setting = swept(get(&value, path), setting.clone());
            set(&mut value, path, setting).map_err(|e| self.source.place(e))?;
        }
        let in_point = |mut error: ScenarioError| {
            if !settings.is_empty() {
                let fault = error.fault_mut();
                let told: Vec<String> = settings.iter().map(|(k, v)| format!("{k} = {v}")).collect();
                let point = format!("sweep point {}", told.join(", "));
                fault.path = if fault.path.is_empty() { point } else { format!("{point}: {}", fault.path) };
            }
            error
        };
        let scenario = Scenario::typed(value, self.source.clone()).map_err(in_point)?;
        build::plan(&scenario.experiment, 0).map_err(|e| in_point(self.source.place(e)))?;
        Ok(Point { settings, scenario })
    }

    /// The scenario with the key at the dotted `path` set, such as `topology.dumbbell.bottleneck.rate` or
    /// `traffic[0].congestion`; checked as if it had been written so.
    pub fn with(&self, path: &str, setting: Value) -> Result<Scenario, ScenarioError> {
        self.with_all(vec![(path.to_owned(), setting)])
    }

    /// The scenario with all these keys set, checked once when all are: values that fit only together may come in any order.
    ///
    /// A key that the sweep sets, or one below it, is refused: the sweep would replace the value at every point.
    pub fn with_all(&self, changes: Vec<(String, Value)>) -> Result<Scenario, ScenarioError> {
        let mut value = self.written.clone();
        let mut named = Vec::new();
        for (path, setting) in changes {
            let current = renamed::current(&path).unwrap_or(path);
            set(&mut value, &current, setting).map_err(|e| self.source.place(e))?;
            named.push(current);
        }
        let scenario = Scenario::read(value, self.source.clone())?;
        let grid = Grid::read(&scenario.sweep).map_err(|e| self.source.place(e))?;
        for path in named {
            if let Some(axis) = grid.keys().find(|axis| is_at_or_below(&path, axis)) {
                let fault = Fault::new(
                    "",
                    "key",
                    "one that `[sweep]` does not set",
                    format!("`{path}`, but the sweep sets `{axis}`"),
                );
                return Err(self
                    .source
                    .place(fault.hint("to run without the sweep, set `sweep={}` too").out_of_range()));
            }
        }
        Ok(scenario)
    }
}

/// Whether `path` is the key `axis` or one below it, however their list indices are written.
fn is_at_or_below(path: &str, axis: &str) -> bool {
    match (steps(path), steps(axis)) {
        (Some(path), Some(axis)) => path.starts_with(&axis),
        _ => false,
    }
}

/// The value of a sweep's axis in place of `current`. A name alone chooses another kind, and keeps the keys that both kinds have.
fn swept(current: Option<&Value>, setting: Value) -> Value {
    let (Some(Value::Object(table)), Value::String(name)) = (current, &setting) else { return setting };
    let Some(kind) = table.get("kind").and_then(Value::as_str) else { return setting };
    let Some(both) = schema::shared_keys(kind, name) else { return setting };
    let mut out: Map<String, Value> =
        table.iter().filter(|(key, _)| both.contains(&key.as_str())).map(|(k, v)| (k.clone(), v.clone())).collect();
    out.insert("kind".into(), setting);
    Value::Object(out)
}

/// Sets the key at `path`, and makes the tables of the path that are missing.
fn set(root: &mut Value, path: &str, setting: Value) -> Result<(), ScenarioError> {
    let fault = |rule: &str, got: String| Fault::new("sweep", format!("`{path}`"), rule, got);
    let shape = "the dotted path of a key such as `traffic[0].count`";
    let steps = steps(path).ok_or_else(|| fault(shape, format!("`{path}`")).out_of_range())?;
    let mut here = root;
    for step in steps {
        // A name alone stands for a table of that kind, here as in the file.
        if let (Step::Key(_), Value::String(name)) = (&step, &*here) {
            *here = serde_json::json!({ "kind": name });
        }
        here = match (step, here) {
            (Step::Key(key), Value::Object(table)) => table.entry(key).or_insert_with(|| Value::Object(Map::new())),
            (Step::Index(i), Value::Array(items)) => {
                let length = items.len();
                let error = fault("the path of an entry that is there", format!("[{i}] in a list of {length}"));
                items.get_mut(i).ok_or_else(|| error.out_of_range())?
            }
            (Step::Key(key), _) => {
                return Err(fault("the path of a key in a table", format!("`{key}` below a value")).out_of_range());
            }
            (Step::Index(i), _) => {
                return Err(fault("the path of an entry in a list", format!("[{i}] of no list")).out_of_range());
            }
        };
    }
    *here = setting;
    Ok(())
}

/// The value at `path`, if there is one.
fn get<'a>(root: &'a Value, path: &str) -> Option<&'a Value> {
    steps(path)?.into_iter().try_fold(root, |here, step| match step {
        Step::Key(key) => here.get(key),
        Step::Index(i) => here.get(i),
    })
}

#[derive(PartialEq)]
enum Step {
    Key(String),
    Index(usize),
}

/// `traffic[0].count` or `traffic.0.count`, taken apart. `None` if it is no such path.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    for part in path.split('.') {
        let (key, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
        match (key.is_empty(), key.parse()) {
            (true, _) => return None,
            (_, Ok(index)) => steps.push(Step::Index(index)),
            (_, Err(_)) => steps.push(Step::Key(key.into())),
        }
        while !rest.is_empty() {
            let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
            steps.push(Step::Index(index.parse().ok()?));
            rest = after;
        }
    }
    Some(steps)
}
