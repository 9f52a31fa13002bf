//! The laboratory and the simulator for a browser's worker: conversions and errors, no algorithm and no I/O.
//!
//! A worker writes a request as JSON, [`Laboratory::ask`] answers with JSON. `Request` lists what may be asked. The
//! functions of the [border] are all that a WebAssembly module exports.

pub mod border;
mod live;
mod request;
mod tables;

use haltere_lab::{Point, Scenario, ScenarioError, Traffic, schema};
use haltere_sim::{Live, RunControl, RunError};
use live::Shown;
use request::Request;
use serde_json::{Map, Value, json};

/// The name that error messages give the text of a page.
const FILE: &str = "experiment.toml";

/// What a worker holds: the experiment that was read last, and a run that goes on.
#[derive(Debug, Default)]
pub struct Laboratory {
    read: Option<(String, Vec<Point>)>,
    live: Option<Live>,
}

/// Why a request was refused: the words, the key that is to blame, and its line, if they are known.
#[derive(Debug, PartialEq)]
pub struct Refused {
    text: String,
    at: String,
    line: Option<usize>,
}

impl Refused {
    fn plain(text: impl Into<String>) -> Refused {
        Refused { text: text.into(), at: String::new(), line: None }
    }
}

impl From<ScenarioError> for Refused {
    fn from(error: ScenarioError) -> Refused {
        let fault = error.fault();
        let line = fault.file.rsplit_once(':').and_then(|(_, line)| line.parse().ok());
        Refused { at: fault.key(), line, text: error.to_string() }
    }
}

impl From<RunError> for Refused {
    fn from(error: RunError) -> Refused {
        Refused::plain(error.to_string())
    }
}

/// The answer to a request, or why there is none.
type Answer = Result<Value, Refused>;

impl Laboratory {
    /// Answers a request: `{"ok": ...}`, or `{"refused": {"text", "at", "line"}}`.
    pub fn ask(&mut self, request: &[u8]) -> Vec<u8> {
        let read = serde_json::from_slice(request);
        let answer = read.map_err(|e| Refused::plain(format!("request must be one of this module, got another: {e}")));
        let told = match answer.and_then(|request| self.answer(request)) {
            Ok(value) => json!({ "ok": value }),
            Err(Refused { text, at, line }) => json!({ "refused": { "text": text, "at": at, "line": line } }),
        };
        told.to_string().into_bytes()
    }

    fn answer(&mut self, request: Request) -> Answer {
        match request {
            Request::About {} => Ok(json!({ "version": env!("CARGO_PKG_VERSION"), "kinds": kinds() })),
            Request::Schema {} => Ok(schema::schema().clone()),
            Request::Check { text } => check(&text),
            Request::Toml { experiment } => toml::to_string(&experiment)
                .map(Value::String)
                .map_err(|e| Refused::plain(format!("experiment must be one that TOML can hold, got another: {e}"))),
            Request::Run { text, point, seed, tables } => self.run(&text, point, seed, &tables),
            Request::Start { text, point, seed, fixed } => {
                let plan = self.point(&text, point)?.scenario.plan(seed)?;
                let live = if fixed { Live::watched(plan)? } else { Live::new(plan)? };
                let told = live::started(live.plan());
                self.live = Some(live);
                Ok(told)
            }
            Request::Advance { seconds, links, flows } => {
                let live = self.running()?;
                live::advance(live, seconds)?;
                Ok(live::samples(live, &Shown { links, flows }))
            }
            Request::Change { text } => {
                let seed = self.running()?.plan().seed;
                let plan = self.point(&text, 0)?.scenario.plan(seed)?;
                let live = self.running()?;
                live.change(plan)?;
                Ok(live::started(live.plan()))
            }
            Request::Finish { tables } => {
                let live = self.live.take().ok_or_else(idle)?;
                let (plan, record) = live.finish();
                Ok(tables::told(&plan, &record, &tables))
            }
        }
    }

    fn running(&mut self) -> Result<&mut Live, Refused> {
        self.live.as_mut().ok_or_else(idle)
    }

    /// A point of the sweep of an experiment. The experiment of the last request is not read again.
    fn point(&mut self, text: &str, point: usize) -> Result<&Point, Refused> {
        if self.read.as_ref().is_none_or(|(known, _)| known != text) {
            self.read = Some((text.to_owned(), read(text)?.points()?));
        }
        let points = self.read.as_ref().map_or(&[][..], |(_, points)| points);
        let rule = format!("point must be below {}, got {point}", points.len());
        points.get(point).ok_or_else(|| Refused::plain(rule))
    }

    fn run(&mut self, text: &str, point: usize, seed: u64, names: &[String]) -> Answer {
        let plan = self.point(text, point)?.scenario.plan(seed)?;
        let record = haltere_sim::run(&plan, &RunControl::default())?;
        Ok(tables::told(&plan, &record, names))
    }
}

fn idle() -> Refused {
    Refused::plain("there must be a run that goes on, got none")
}

/// Reads an experiment: TOML, or JSON if it begins with a brace, as no TOML does.
fn read(text: &str) -> Result<Scenario, ScenarioError> {
    if text.trim_start().starts_with('{') { Scenario::from_json(text, "") } else { Scenario::parse(text, FILE) }
}

/// What each traffic kind is, by name.
fn kinds() -> Map<String, Value> {
    let told = |name: &&str| Some(((*name).to_owned(), serde_json::to_value(Traffic::about(name)?).ok()?));
    Traffic::NAMES.iter().filter_map(told).collect()
}

/// What a page must know of an experiment before it runs.
fn check(text: &str) -> Answer {
    let scenario = read(text)?;
    let points: Vec<Value> =
        scenario.points()?.into_iter().map(|point| Value::Object(point.settings.into_iter().collect())).collect();
    Ok(json!({
        "title": scenario.title, "seeds": scenario.seeds, "duration_s": scenario.duration.as_secs_f64(),
        "points": points,
    }))
}
