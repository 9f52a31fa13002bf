//! The experiment file: reading, checking, filling in, and the points of its sweep.

pub(crate) mod experiment;
pub(crate) mod measure;
pub(crate) mod overrides;
mod path;
mod points;
mod precision;
mod spacing;
mod sweep;
mod text;

use crate::error::FaultKind;
pub use crate::error::{ErrorKind, ScenarioError};
pub use experiment::Experiment;
use haltere_plan::Fault;
pub use measure::{Convergence, Every, MeasureSpec, OwnMetric};
pub use overrides::Overrides;
pub use points::Point;
pub use precision::Precision;

use crate::topology::drawing::Drawing;
use crate::{build, schema, topology, traffic};
use haltere_plan::plan::Plan;
use haltere_plan::varying::Capacity;
use haltere_units::Time;
use haltere_units::outside::Outside;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::ops::Deref;
use text::SourceText;

/// An experiment that was read and checked: every point of its sweep can be run.
#[derive(Debug, Clone)]
pub struct Scenario {
    experiment: Experiment,
    /// The file in one form, for setting single keys.
    written: Value,
    source: SourceText,
}

impl Deref for Scenario {
    type Target = Experiment;
    fn deref(&self) -> &Experiment {
        &self.experiment
    }
}

impl PartialEq for Scenario {
    /// The same experiment, however it was written.
    fn eq(&self, other: &Scenario) -> bool {
        self.experiment == other.experiment
    }
}

impl Scenario {
    /// Reads an experiment file (TOML) with mechanisms of the tree only; `file` is its name in error messages.
    pub fn parse(text: &str, file: &str) -> Result<Scenario, ScenarioError> {
        Scenario::parse_with(text, file, &Outside::NONE)
    }

    /// The same with mechanisms from outside the tree, in these languages.
    pub fn parse_with(text: &str, file: &str, languages: &Outside) -> Result<Scenario, ScenarioError> {
        let (value, source) = text::read_toml(text, file)?;
        Scenario::read(value, source, languages)
    }

    /// Reads an experiment written as JSON, with mechanisms of the tree only.
    pub fn from_json(text: &str, file: &str) -> Result<Scenario, ScenarioError> {
        Scenario::from_json_with(text, file, &Outside::NONE)
    }

    /// The same with mechanisms from outside the tree, in these languages.
    pub fn from_json_with(text: &str, file: &str, languages: &Outside) -> Result<Scenario, ScenarioError> {
        let (value, source) = text::read_json(text, file)?;
        Scenario::read(value, source, languages)
    }

    /// Takes an experiment as a value, with mechanisms of the tree only.
    pub fn from_value(value: Value, file: &str) -> Result<Scenario, ScenarioError> {
        Scenario::from_value_with(value, file, &Outside::NONE)
    }

    /// The same with mechanisms from outside the tree, in these languages.
    pub fn from_value_with(value: Value, file: &str, languages: &Outside) -> Result<Scenario, ScenarioError> {
        Scenario::read(value, SourceText::new(file), languages)
    }

    /// Everything that can be wrong is found here, before anything is run.
    fn read(value: Value, source: SourceText, languages: &Outside) -> Result<Scenario, ScenarioError> {
        let scenario = Scenario::typed(value, source, languages)?;
        scenario.place(build::check(&scenario.experiment))?;
        if let Some(precision) = &scenario.precision {
            scenario.place(precision.check(scenario.seeds))?;
        }
        scenario.points()?;
        Ok(scenario)
    }

    /// Checks `value` against the schema and reads the types.
    fn typed(mut value: Value, source: SourceText, languages: &Outside) -> Result<Scenario, ScenarioError> {
        traffic::read_files(&mut value, source.folder()).map_err(|e| source.place(e))?;
        topology::trace::read_files(&mut value, source.folder()).map_err(|e| source.place(e))?;
        let names_folder = schema::outside::names_folder(&value);
        schema::check::check(&mut value, schema::schema(), source.folder(), languages).map_err(|e| source.place(e))?;
        let expanded = topology::access::expanded(&value);
        let expanded = expanded.map(|mut value| {
            schema::check::check(&mut value, schema::schema(), source.folder(), languages)?;
            Ok(value)
        });
        let expanded = expanded.transpose().map_err(|e| source.place(e))?;
        let read = Experiment::deserialize(expanded.as_ref().unwrap_or(&value));
        let experiment = read.map_err(|e| source.place(ScenarioError::schema_bug("", "the experiment", &e)))?;
        let experiment = Experiment { outside: languages.clone(), ..experiment };
        // The digest is not kept: a scenario in memory follows the code.
        schema::outside::as_written(&mut value, if names_folder { &["folder"] } else { &[] });
        Ok(Scenario { experiment, written: value, source })
    }

    fn place<T>(&self, result: Result<T, ScenarioError>) -> Result<T, ScenarioError> {
        result.map_err(|e| self.source.place(e))
    }

    /// The run of this scenario with that seed, explicit and checked. The sweep is left aside: see
    /// [`points`](Self::points).
    pub fn plan(&self, seed: u64) -> Result<Plan, ScenarioError> {
        self.place(build::plan(&self.experiment, seed))
    }

    /// The network drawn: nodes and links with those that are alike as one. See [`Drawing`].
    pub fn drawing(&self) -> Result<Drawing, ScenarioError> {
        self.place(build::drawing(&self.experiment))
    }

    /// What the link `name`, such as `left>right`, can carry between each of these instants and the next, in bits.
    /// `None` if there is no such link, or if its packets take no time. The seed draws what is drawn.
    pub fn capacity(&self, name: &str, instants: &[Time], seed: u64) -> Result<Option<Vec<f64>>, ScenarioError> {
        let plan = self.plan(seed)?;
        let Some(link) = plan.links.iter().find(|link| link.name == name) else { return Ok(None) };
        let constant = Capacity::Constant(link.rate);
        let capacity = link.varying.as_deref().map_or(&constant, |varying| &varying.capacity);
        Ok(instants.windows(2).map(|span| capacity.bits(span[0], span[1].max(span[0]))).collect())
    }

    /// A world's complaint about what this scenario asks of it, with the file and the line.
    pub fn refuse(&self, fault: Fault) -> ScenarioError {
        self.source.place(fault.out_of_range())
    }

    /// The whole scenario with all defaults filled in, as JSON. Reading it gives an equal scenario.
    pub fn filled(&self) -> Value {
        let mut value = serde_json::to_value(&self.experiment).expect("an experiment is plain data");
        schema::strip_nulls(&mut value);
        schema::outside::as_written(&mut value, &schema::outside::SOURCE_KEYS);
        value
    }

    /// The name under which a run is stored: SHA-256 over what decides its result, in hexadecimal.
    ///
    /// That is the filled scenario but for its title, its number of seeds or their precision, what is read off
    /// afterwards, and its sweep (a point stores its own values), the seed, and Haltere's version. So with more seeds or
    /// another title, runs that exist are not repeated.
    pub fn hash(&self, seed: u64, version: &str) -> String {
        let mut value = self.filled();
        if let Value::Object(keys) = &mut value {
            for key in ["title", "seeds", "precision", "sweep"] {
                keys.remove(key);
            }
            if let Some(Value::Object(measure)) = keys.get_mut("measure") {
                measure::AFTERWARDS.iter().for_each(|key| drop(measure.remove(*key)));
            }
        }
        // Where the code of a mechanism lies changes nothing; its digest does.
        schema::outside::forget_folders(&mut value);
        value.sort_all_objects();
        format!("{:x}", Sha256::digest(format!("{version}\n{seed}\n{value}")))
    }
}
