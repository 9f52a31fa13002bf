//! Checks that look at more than one key, and those that the mechanisms make themselves.

use crate::error::{Fault, FaultKind, ScenarioError};
use crate::scenario::experiment::Experiment;
use haltere_congestion::{CongestionParams, Control, SenderContext};
use haltere_plan::link::context;
use haltere_plan::plan::Plan;
use haltere_queue::{Ecn, FlowKey, Pkt, Queue};
use haltere_transport::TcpParams;
use haltere_units::outside::Outside;
use haltere_units::{Bytes, ParamError};
use std::collections::HashSet;

/// The run's times beside each other.
pub(crate) fn times(experiment: &Experiment) -> Result<(), ScenarioError> {
    let Experiment { duration, warmup, cooldown, .. } = experiment;
    let fault = |name: &str, rule: String, got: String| Fault::new("", name, rule, got);
    if duration.is_zero() {
        return Err(fault("duration", "above zero".into(), duration.to_string()).out_of_range());
    }
    if warmup >= duration {
        let fault = fault("warmup", format!("shorter than the duration of {duration}"), warmup.to_string());
        return Err(fault.hint("the statistics begin after it").out_of_range());
    }
    if !cooldown.is_zero() && experiment.measure.window.is_some() {
        let rule = "left out beside `measure.window`".into();
        return Err(fault("cooldown", rule, cooldown.to_string()).out_of_range());
    }
    if *cooldown >= *duration - *warmup {
        let rule = format!("shorter than the {} from the warm-up to the end", *duration - *warmup);
        return Err(fault("cooldown", rule, cooldown.to_string()).out_of_range());
    }
    if experiment.framing > Bytes::new(1000) {
        return Err(fault("framing", "at most 1kB".into(), experiment.framing.to_string()).out_of_range());
    }
    if experiment.seeds < 1 {
        return Err(fault("seeds", "at least 1".into(), experiment.seeds.to_string()).out_of_range());
    }
    experiment.measure.check(*duration, *warmup)
}

/// Whether the control takes its parameters at such a sender.
pub(crate) fn control(control: &CongestionParams, tcp: &TcpParams, outside: &Outside) -> Result<(), ParamError> {
    let initial_window = tcp.mss * u64::from(tcp.initial_window);
    Control::new(control, &SenderContext { mss: tcp.mss, initial_window, seed: 0, outside: outside.clone() }).map(drop)
}

/// Whether each queue takes its parameters on its link.
pub(crate) fn queues(plan: &Plan, places: &[String]) -> Result<(), ScenarioError> {
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
