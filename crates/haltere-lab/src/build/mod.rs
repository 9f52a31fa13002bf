//! From an experiment and a seed to a plan, with the checks that look at more than one key.

mod verify;

use crate::error::{Fault, ScenarioError, refuse_if};
use crate::limits::FLOWS;
use crate::scenario::experiment::Experiment;
use crate::topology::context::Context;
use crate::topology::drawing::Drawing;
use crate::topology::network::NetworkDraft;
use crate::traffic::Traffic;
use crate::traffic::draft::FlowDraft;
use crate::traffic::entry::Entry;
use haltere_plan::plan::Plan;
use haltere_units::Time;
use haltere_units::outside::Outside;
use std::collections::HashSet;
use std::rc::Rc;

/// Checks an experiment: its first run can be planned, and its mechanisms take their parameters. A plan of an experiment
/// that was checked does not ask them again.
pub(crate) fn check(experiment: &Experiment) -> Result<(), ScenarioError> {
    verify::times(experiment)?;
    let (plan, places) = with_places(experiment, 0, Some(&experiment.outside))?;
    verify::queues(&plan, &places)
}

/// The run of `experiment` with that seed.
pub(crate) fn plan(experiment: &Experiment, seed: u64) -> Result<Plan, ScenarioError> {
    with_places(experiment, seed, None).map(|(plan, _)| plan)
}

/// The same, and where each link is in the experiment. `checks` asks the mechanisms of the flows for their parameters.
fn with_places(
    experiment: &Experiment,
    seed: u64,
    checks: Option<&Outside>,
) -> Result<(Plan, Vec<Rc<str>>), ScenarioError> {
    let mut network = network(experiment, seed)?;
    let flows = flows(experiment, &network, seed, checks)?;
    let paths = network.route(&flows)?;
    network.set_round_trips(&paths);
    network.links.iter_mut().for_each(|link| link.count_depths = link.watched && experiment.measure.depths);
    let mut measure = experiment.measure.plan(&network.links)?;
    if !experiment.cooldown.is_zero() {
        measure.until = Some(Time::ZERO + (experiment.duration - experiment.cooldown));
    }
    let framing = u32::try_from(experiment.framing.as_u64()).unwrap_or(u32::MAX);
    let plan = Plan {
        seed,
        end: Time::ZERO + experiment.duration,
        warmup: Time::ZERO + experiment.measure.window.map_or(experiment.warmup, |[from, _]| from),
        framing,
        nodes: network.nodes,
        links: network.links,
        flows: flows.into_iter().map(|f| f.plan).collect(),
        ecmp: network.ecmp,
        reroutes: network.reroutes,
        measure,
        parts: experiment.parts,
        outside: experiment.outside.again(),
    };
    Ok((plan, network.places))
}

/// The drawing of `experiment`; the random seed changes nothing that is drawn.
pub(crate) fn drawing(experiment: &Experiment) -> Result<Drawing, ScenarioError> {
    let network = network(experiment, 0)?;
    let flows = flows(experiment, &network, 0, None)?;
    Ok(Drawing::of(&network, flows.iter().map(|flow| &flow.plan)))
}

/// The network of that experiment.
fn network(experiment: &Experiment, seed: u64) -> Result<NetworkDraft, ScenarioError> {
    let mut network = NetworkDraft::default();
    let place = format!("topology.{}", experiment.topology.kind());
    let context = Context { place: &place, framing: experiment.framing, seed };
    experiment.topology.as_kind().build(&mut network, &context)?;
    network.draw(experiment.duration, seed)?;
    network.set_means(experiment.duration, experiment.framing);
    Ok(network)
}

/// All flows, in the order of the entries; within one by pair, then count, then direction.
fn flows(
    experiment: &Experiment,
    network: &NetworkDraft,
    seed: u64,
    checks: Option<&Outside>,
) -> Result<Vec<FlowDraft>, ScenarioError> {
    let mut flows: Vec<FlowDraft> = Vec::new();
    let mut labels: HashSet<String> = HashSet::new();
    for (group, traffic) in experiment.traffic.iter().enumerate() {
        let (kind, ends) = (traffic.as_kind(), traffic.ends());
        let about = Traffic::about(traffic.kind()).expect("the name of a kind");
        let label = ends.name.clone().unwrap_or_else(|| format!("{}{}", traffic.label(), group + 1));
        let (duration, hosts_tcp, place) = (experiment.duration, &experiment.tcp, format!("traffic[{group}]"));
        let entry = Entry { duration, hosts_tcp, checks, network, kind, ends, about, group, place, label, seed };
        entry.check_label(&labels)?;
        flows.extend(entry.flows()?);
        labels.insert(entry.label);
        let all = flows.len();
        refuse_if!(all as u64 > FLOWS, Fault::new("", "traffic", format!("at most {FLOWS} flows in all"), all));
    }
    Ok(flows)
}
