//! The languages `gym` and `policy` of mechanisms from outside the tree.
//!
//! | kind | mechanism |
//! |---|---|
//! | `policy:FILE.json` | a congestion control that a policy decides |
//! | `gym:agent` | a sender for whose decisions a run waits; only the gym makes it |
//! | `gym:queue` | a queue for whose decisions a run waits; only the gym makes it |

use crate::action::Action;
use crate::agent::{Agent, Driver};
use crate::interval::Interval;
use crate::policy::Policy;
use crate::queue::DecidedQueue;
use haltere_congestion::outside::{Maker as ControlMaker, OutsideControl};
use haltere_congestion::{CongestionParams, Control, SenderContext};
use haltere_lab::Code;
use haltere_queue::outside::{Maker as QueueMaker, OutsideQueue};
use haltere_queue::{Bound, LinkContext};
use haltere_units::outside::{About, Location, Makers, Params};
use haltere_units::{ParamError, Size};
use serde_json::{Map, Value, json};
use std::any::Any;
use std::path::Path;
use std::sync::Arc;

const GYM: &str = "gym";
const POLICY: &str = "policy";

impl OutsideControl for Agent {
    fn clone_box(&self) -> Box<dyn OutsideControl> {
        Box::new(self.clone())
    }
    fn as_any_mut(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }
}

/// Adds the languages to those of a program.
pub fn add(makers: &mut Makers) {
    makers.add::<dyn ControlMaker>(GYM, Box::new(Waiting));
    makers.add::<dyn ControlMaker>(POLICY, Box::new(Policies));
    makers.add::<dyn QueueMaker>(GYM, Box::new(Waiting));
}

fn gym_params(source: &str, parameters: Value) -> Params {
    let Value::Object(parameters) = parameters else { unreachable!("the callers give tables") };
    Params { language: GYM.into(), source: source.into(), name: source.into(), parameters, ..Params::default() }
}

/// The parameters of a sender for whose decisions the run waits.
pub(crate) fn agent_params(action: Action, interval: &str) -> Params {
    gym_params("agent", json!({ "action": action.spec().name, "interval": interval }))
}

/// The parameters of a sender with that control, at whose intervals the run waits.
pub(crate) fn watched_params(control: &CongestionParams, interval: &str) -> Params {
    let control = serde_json::to_value(control).expect("parameters are JSON");
    gym_params("agent", json!({ "control": control, "interval": interval }))
}

/// The parameters of a queue for whose decisions the run waits.
pub(crate) fn queue_params(limit: Size, ecn: bool) -> Params {
    gym_params("queue", json!({ "limit": limit.to_string(), "ecn": ecn }))
}

fn text<'a>(parameters: &'a Map<String, Value>, name: &'static str) -> Result<&'a str, ParamError> {
    parameters.get(name).and_then(Value::as_str).ok_or_else(|| ParamError::new(name, "given by the gym", "none"))
}

/// Mechanisms for whose decisions a run waits.
struct Waiting;

fn only_the_gym(at: Location<'_>) -> Result<About, ParamError> {
    Err(ParamError::new("kind", "a mechanism that decides by itself", format!("`{GYM}:{}`", at.source))
        .hint("`haltere.gym.make` gives runs that wait for decisions"))
}

impl ControlMaker for Waiting {
    fn about(&self, at: Location<'_>) -> Result<About, ParamError> {
        only_the_gym(at)
    }
    fn make(&self, params: &Params, sender: &SenderContext) -> Result<Box<dyn OutsideControl>, ParamError> {
        let given = &params.parameters;
        let driver = match given.get("control") {
            Some(control) => {
                let control: CongestionParams = serde_json::from_value(control.clone())
                    .map_err(|error| ParamError::new("control", "a congestion control", format!("`{error}`")))?;
                Driver::Control(Box::new(Control::new(&control, sender)?))
            }
            None => {
                let name = text(given, "action")?;
                let unknown = || ParamError::new("action", "an action of a sender", format!("`{name}`"));
                Driver::Outside(Action::of(name).ok_or_else(unknown)?)
            }
        };
        Ok(Box::new(Agent::new(driver, Interval::parse(text(given, "interval")?)?, sender)))
    }
}

impl QueueMaker for Waiting {
    fn about(&self, at: Location<'_>) -> Result<About, ParamError> {
        only_the_gym(at)
    }
    fn make(&self, params: &Params, link: &LinkContext) -> Result<Box<dyn OutsideQueue>, ParamError> {
        let limit = text(&params.parameters, "limit")?;
        let wrong = || ParamError::new("limit", "a size such as `100p`, `90kB` or `2bdp`", format!("`{limit}`"));
        let size: Size = limit.parse().map_err(|_| wrong())?;
        let ecn = params.parameters.get("ecn").and_then(Value::as_bool).unwrap_or(false);
        Ok(Box::new(DecidedQueue::new(Bound::new(link.resolve(size))?, ecn)))
    }
}

/// Policies from files.
struct Policies;

static POLICIES: Code<Arc<Policy>> = Code::new();

/// Reads the policy, and gives the digest of its file.
fn read(at: Location<'_>) -> Result<(Arc<Policy>, String), ParamError> {
    let path = Path::new(at.folder).join(at.source);
    let text = std::fs::read_to_string(&path).map_err(|error| {
        ParamError::new("kind", "a policy in a readable file", format!("`{}`: {error}", path.display()))
    })?;
    let wrong = |error: ParamError| {
        ParamError::new("kind", format!("a policy file (`{}`: {})", error.name, error.rule), error.got)
    };
    POLICIES.of(text.as_bytes(), |_| Policy::parse(&text).map(Arc::new).map_err(wrong))
}

impl ControlMaker for Policies {
    fn about(&self, at: Location<'_>) -> Result<About, ParamError> {
        let (policy, digest) = read(at)?;
        let file = Path::new(at.source).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = if policy.name.is_empty() { file.unwrap_or_default() } else { policy.name.clone() };
        let summary = if policy.about.is_empty() { "A policy from a file.".into() } else { policy.about.clone() };
        Ok(About { name, summary, digest, parameters: Vec::new() })
    }
    fn make(&self, params: &Params, sender: &SenderContext) -> Result<Box<dyn OutsideControl>, ParamError> {
        let policy = POLICIES.get(params, || read(params.location()))?;
        let interval = policy.interval;
        Ok(Box::new(Agent::new(Driver::Policy(policy), interval, sender)))
    }
}
