//! Checks that look at more than one key, and those that the mechanisms make themselves.

use crate::error::{Fault, FaultKind, ScenarioError, refuse_if};
use crate::scenario::experiment::Experiment;
use haltere_plan::link::context;
use haltere_plan::plan::Plan;
use haltere_queue::{Ecn, FlowKey, Pkt, Queue};
use haltere_units::Bytes;
use std::collections::HashSet;
use std::rc::Rc;

/// The run's times beside each other.
pub(crate) fn times(experiment: &Experiment) -> Result<(), ScenarioError> {
    let Experiment { duration, warmup, cooldown, .. } = experiment;
    let fault = |name: &str, rule: String, got: String| Fault::new("", name, rule, got);
    refuse_if!(duration.is_zero(), fault("duration", "above zero".into(), duration.to_string()));
    if warmup >= duration {
        let fault = fault("warmup", format!("shorter than the duration of {duration}"), warmup.to_string());
        return Err(fault.hint("the statistics begin after it").out_of_range());
    }
    let both = !cooldown.is_zero() && experiment.measure.window.is_some();
    refuse_if!(both, fault("cooldown", "left out beside `measure.window`".into(), cooldown.to_string()));
    if *cooldown >= *duration - *warmup {
        let rule = format!("shorter than the {} from the warm-up to the end", *duration - *warmup);
        return Err(fault("cooldown", rule, cooldown.to_string()).into());
    }
    let framing = experiment.framing;
    refuse_if!(framing > Bytes::new(1000), fault("framing", "at most 1kB".into(), framing.to_string()));
    refuse_if!(experiment.seeds < 1, fault("seeds", "at least 1".into(), experiment.seeds.to_string()));
    experiment.measure.check(*duration, *warmup)
}

/// Whether each queue takes its parameters on its link: it is made, with packets that carry nothing.
pub(crate) fn queues(plan: &Plan, places: &[Rc<str>]) -> Result<(), ScenarioError> {
    let (mut seen, origin) = (HashSet::new(), plan.origin());
    for (link, place) in plan.links.iter().zip(places) {
        let Some(params) = link.queue.all_ours() else { continue };
        if seen.insert((place, link.rate, link.rtt)) {
            Queue::<Blank>::new(params, &context(link, plan.framing, &origin))
                .map_err(|e| Fault::param(format!("{place}.queue"), e).out_of_range())?;
        }
    }
    Ok(())
}

/// A packet that is never sent: disciplines are built with it only to check their parameters.
#[derive(Debug, Clone)]
struct Blank;

impl Pkt for Blank {
    fn len(&self) -> u32 {
        0
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ce(&mut self) {}
    fn flow(&self) -> FlowKey {
        FlowKey::default()
    }
}
