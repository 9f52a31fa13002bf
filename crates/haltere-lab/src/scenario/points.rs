//! Sweeps: a grid of points, each a scenario of its own.

use super::path::{self, Step};
use super::sweep::{Grid, Settings};
use super::{Scenario, build};
use crate::error::{Fault, FaultKind, ScenarioError};
use crate::limits::POINTS;
use crate::names::listed;
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
        if self.sweep.is_empty() {
            return Ok(vec![Point { settings: Vec::new(), scenario: self.clone() }]);
        }
        let grid = self.place(Grid::read(&self.sweep))?;
        let refused =
            |rule: String, got: &str| Err(self.source.place(Fault::new("", "sweep", rule, got).out_of_range()));
        let Some(total) = grid.size(POINTS) else {
            return refused(format!("a grid of at most {POINTS} points"), "more");
        };
        self.check_axes(&grid)?;
        let kept: Vec<Settings> = (0..total).filter_map(|i| grid.settings(i)).collect();
        if kept.is_empty() {
            return refused("a grid of which `skip` leaves at least one point".into(), "none");
        }
        kept.into_iter().map(|settings| self.point(settings)).collect()
    }

    /// Refuses two axes of one key, however they are written.
    fn check_axes(&self, grid: &Grid) -> Result<(), ScenarioError> {
        let mut seen: Vec<(&str, Vec<Step>)> = Vec::new();
        for axis in grid.keys() {
            for steps in self.keys(&self.written, axis, "sweep")? {
                if let Some((other, _)) = seen.iter().find(|(_, known)| *known == steps) {
                    let fault =
                        Fault::new("sweep", format!("`{axis}`"), "in one axis only", format!("the key of `{other}`"));
                    return Err(self.source.place(fault.out_of_range()));
                }
                seen.push((axis, steps));
            }
        }
        Ok(())
    }

    fn point(&self, settings: Settings) -> Result<Point, ScenarioError> {
        let mut value = self.written.clone();
        if let Value::Object(keys) = &mut value {
            keys.remove("sweep");
        }
        for (key, setting) in &settings {
            for steps in self.keys(&value, key, "sweep")? {
                let setting = swept(path::at(&value, &steps), setting.clone());
                self.place(path::set(&mut value, &steps, setting, key))?;
            }
        }
        let in_point = |mut error: ScenarioError| {
            if settings.is_empty() {
                return error;
            }
            let fault = error.fault_mut();
            let told: Vec<String> = settings.iter().map(|(k, v)| format!("{k} = {v}")).collect();
            let point = format!("sweep point {}", told.join(", "));
            fault.path = if fault.path.is_empty() { point } else { format!("{point}: {}", fault.path) };
            error
        };
        let scenario = Scenario::typed(value, self.source.clone(), &self.outside).map_err(in_point)?;
        build::check(&scenario.experiment).map_err(|e| in_point(self.source.place(e)))?;
        Ok(Point { settings, scenario })
    }

    /// The scenario with the key at the dotted `path` set, such as `topology.dumbbell.bottleneck.rate` or
    /// `traffic[0].congestion`; checked as if it had been written so.
    pub fn with(&self, path: &str, setting: Value) -> Result<Scenario, ScenarioError> {
        self.with_all(vec![(path.to_owned(), setting)])
    }

    /// The scenario with all these keys set, checked once when all are: values that fit only together may come in any
    /// order.
    ///
    /// A key that the sweep sets, or one below it, is refused: the sweep would replace the value at every point.
    pub fn with_all(&self, changes: Vec<(String, Value)>) -> Result<Scenario, ScenarioError> {
        let mut value = self.written.clone();
        let mut named = Vec::new();
        for (key, setting) in changes {
            for steps in self.keys(&value, &key, "")? {
                self.place(path::set(&mut value, &steps, setting.clone(), &key))?;
                named.push((key.clone(), steps));
            }
        }
        let scenario = Scenario::read(value, self.source.clone(), &self.outside)?;
        let grid = self.place(Grid::read(&scenario.sweep))?;
        for axis in grid.keys() {
            let swept = scenario.keys(&scenario.written, axis, "sweep")?;
            if let Some((key, _)) = named.iter().find(|(_, steps)| swept.iter().any(|axis| steps.starts_with(axis))) {
                let got = format!("`{key}`, but the sweep sets `{axis}`");
                let fault = Fault::new("", "key", "one that `[sweep]` does not set", got);
                let hint = "to run without the sweep, set `sweep={}` too";
                return Err(self.source.place(fault.hint(hint).out_of_range()));
            }
        }
        Ok(scenario)
    }

    /// The keys of `value` that the path `key` means. It is in the table `table`, if in any.
    fn keys(&self, value: &Value, key: &str, table: &str) -> Result<Vec<Vec<Step>>, ScenarioError> {
        let in_table = |mut error: ScenarioError| {
            error.fault_mut().path = table.into();
            self.source.place(error)
        };
        let first = |steps: &Vec<Step>| matches!(steps.first(), Some(Step::Key(name)) if !schema::is_top(name));
        let found = path::resolve(value, key).map_err(in_table)?;
        let meant = if found.iter().any(first) { path::endings(&self.filled(), key) } else { Vec::new() };
        if meant.is_empty() {
            return Ok(found);
        }
        let fault =
            Fault::new("", format!("`{key}`"), "the whole path of a key", format!("the end of {}", listed(&meant)));
        Err(in_table(fault.hint(format!("did you mean `{}`?", meant[0])).unknown_key()))
    }
}

/// The value of a sweep's axis in place of `current`. A name alone chooses another kind, and keeps the keys that both
/// kinds have.
fn swept(current: Option<&Value>, setting: Value) -> Value {
    let (Some(Value::Object(table)), Value::String(name)) = (current, &setting) else { return setting };
    let Some(kind) = table.get("kind").and_then(Value::as_str) else { return setting };
    let Some(both) = schema::shared_keys(kind, name) else { return setting };
    let mut out: Map<String, Value> =
        table.iter().filter(|(key, _)| both.contains(&key.as_str())).map(|(k, v)| (k.clone(), v.clone())).collect();
    out.insert("kind".into(), setting);
    Value::Object(out)
}
