//! From an experiment and a seed to a plan, with the checks that look at more than one key.

pub(crate) mod verify;

use crate::error::ScenarioError;
use crate::scenario::experiment::Experiment;
use crate::topology::{Drawing, Network};
use crate::traffic;
use haltere_plan::plan::Plan;
use haltere_units::{Dur, Time};

/// The run of `experiment` with that seed.
pub(crate) fn plan(experiment: &Experiment, seed: u64) -> Result<Plan, ScenarioError> {
    verify::times(experiment)?;
    let mut network = Network::of(experiment, seed)?;
    let flows = traffic::flows(experiment, &network, seed)?;
    let paths = network.route(&flows)?;
    network.set_round_trips(&paths);
    network.links.iter_mut().for_each(|link| link.count_depths = link.watched && experiment.measure.depths);
    let mut measure = experiment.measure.plan(&network.links)?;
    if !experiment.cooldown.is_zero() {
        measure.until = Some(at(experiment.duration - experiment.cooldown));
    }
    let framing = u32::try_from(experiment.framing.as_u64()).unwrap_or(u32::MAX);
    let plan = Plan {
        seed,
        end: at(experiment.duration),
        warmup: at(experiment.measure.window.map_or(experiment.warmup, |[from, _]| from)),
        framing,
        nodes: network.nodes,
        links: network.links,
        flows: flows.into_iter().map(|f| f.plan).collect(),
        ecmp: network.ecmp,
        reroutes: network.reroutes,
        measure,
    };
    verify::queues(&plan, &network.places)?;
    Ok(plan)
}

/// The drawing of `experiment`; the random seed changes nothing that is drawn.
pub(crate) fn drawing(experiment: &Experiment) -> Result<Drawing, ScenarioError> {
    let network = Network::of(experiment, 0)?;
    let flows = traffic::flows(experiment, &network, 0)?;
    Ok(Drawing::of(&network, flows.iter().map(|flow| &flow.plan)))
}

/// The point in time that lies `span` after the start.
pub(crate) fn at(span: Dur) -> Time {
    Time::from_ns(span.as_ns())
}
