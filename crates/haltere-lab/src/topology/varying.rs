//! Links whose rate or delay changes: from what is written to what the plan says.

use super::link::{Handover, LinkSpec, Step};
use super::trace::TraceSpec;
use super::trace::rows::Rows;
use super::trace::rows::{Changes, CsvTrace, TheaterqTrace};
use crate::error::{Fault, FaultKind, ScenarioError};
use crate::scenario::overrides::Overrides;
use haltere_plan::LinkQueue;
use haltere_plan::varying::{Capacity, Steps, Varying};
use haltere_units::{Bytes, Dur, Prob, Rate};

/// An override of the other direction that gives a capacity puts aside what the direction would inherit.
pub(super) fn one_capacity(reverse: &mut LinkSpec, given: &Overrides<LinkSpec>) {
    let medium = given.has("queue") && reverse.is_medium();
    if !given.has("rate") && !given.has("trace") && !medium {
        return;
    }
    if reverse.is_medium() && !medium {
        reverse.queue = LinkQueue::default();
    }
    if !given.has("rate") {
        reverse.rate = None;
    }
    if !given.has("trace") {
        reverse.trace = None;
    }
    if !given.has("schedule") {
        (reverse.schedule, reverse.schedule_repeat) = (Vec::new(), None);
    }
}

/// What changes on that link, which is in the table `path`; `None`: nothing, or it is drawn later. A delay that the
/// trace says is the link's.
pub(super) fn of(link: &mut LinkSpec, path: &str) -> Result<Option<Box<Varying>>, ScenarioError> {
    check_schedule(link, path)?;
    if link.is_medium() {
        only_the_medium(link, path)?;
    }
    match link.trace.clone() {
        Some(TraceSpec::Csv(CsvTrace { rows, .. }) | TraceSpec::Theaterq(TheaterqTrace { rows, .. })) => {
            return of_rows(link, &rows, path).map(Some);
        }
        Some(TraceSpec::Leo(leo)) => {
            only_the_trace(link, path, ["rate", "delay", ""])?;
            leo.check(&format!("{path}.trace"))?;
            link.delay = leo.mean_delay();
            return Ok(None);
        }
        Some(TraceSpec::Cellular(cellular)) => {
            only_the_trace(link, path, ["rate", "", ""])?;
            only_instants(link, path)?;
            cellular.check(&format!("{path}.trace"))?;
            return Ok(None);
        }
        Some(TraceSpec::Leoem(log)) => {
            let varying = log.varying(&format!("{path}.trace"))?;
            only_the_trace(link, path, ["rate", "delay", ""])?;
            link.delay = varying.delay.as_ref().map_or(Dur::ZERO, |delay| delay.first);
            return Ok(Some(Box::new(varying)));
        }
        Some(TraceSpec::Cellreplay(both)) => {
            let base = both.base_delay(&format!("{path}.trace"))?;
            only_the_trace(link, path, ["rate", "delay", ""])?;
            link.delay = base;
        }
        _ => {}
    }
    let rates = values(link, link.rate, |step| step.rate);
    let delay = values(link, Some(link.delay), |step| step.delay);
    let jitter = values(link, Some(link.jitter.into()), |step| step.jitter.map(Into::into));
    let loss = values(link, Some(link.loss.probability()), |step| step.loss);
    let capacity = match (&link.trace, rates) {
        (None, None) => Capacity::Constant(link.rate),
        (Some(_), Some(_)) => {
            let fault = Fault::new(path, "schedule", "steps of delay alone beside `trace`", "a `rate`");
            return Err(fault.hint("the trace says the rate").out_of_range());
        }
        (Some(trace), None) => trace_of(link, trace, path)?,
        (None, Some(rates)) => Capacity::Schedule(rates),
    };
    if matches!(capacity, Capacity::Constant(_)) && delay.is_none() && jitter.is_none() && loss.is_none() {
        return Ok(None);
    }
    Ok(Some(Box::new(Varying { capacity, delay, jitter, loss, limit: None })))
}

/// Refuses a rate beside a discipline that is the line.
fn only_the_medium(link: &LinkSpec, path: &str) -> Result<(), ScenarioError> {
    let given = [
        ("rate", link.rate.map(|rate| rate.to_string())),
        ("trace", link.trace.as_ref().map(|_| "a trace".into())),
        ("schedule", link.schedule.iter().find_map(|step| step.rate).map(|rate| format!("a rate of {rate}"))),
    ];
    let Some((name, got)) = given.into_iter().find_map(|(name, got)| Some((name, got?))) else { return Ok(()) };
    let kind = link.queue.kind();
    let rule = format!("{} beside the queue `{kind}`", if name == "schedule" { "without a rate" } else { "left out" });
    Err(Fault::new(path, name, rule, got).hint(format!("`{kind}` is the line, and has the rate")).out_of_range())
}

/// Refuses what a line that delivers at instants does not do.
fn only_instants(link: &LinkSpec, path: &str) -> Result<(), ScenarioError> {
    if link.handover == Handover::Start {
        let fault = Fault::new(path, "handover", "`end` beside `trace`", "`start`");
        return Err(fault.hint("a packet is delivered at one instant of the trace").out_of_range());
    }
    if link.burst > Bytes::ZERO {
        let fault = Fault::new(path, "burst", "left out beside `trace`", link.burst);
        return Err(fault.hint("what an instant of a trace does not use is lost").out_of_range());
    }
    Ok(())
}

fn trace_of(link: &LinkSpec, trace: &TraceSpec, path: &str) -> Result<Capacity, ScenarioError> {
    if let Some(rate) = link.rate {
        let fault = Fault::new(path, "rate", "left out beside `trace`", rate);
        return Err(fault.hint("the trace says the rate").out_of_range());
    }
    only_instants(link, path)?;
    match trace {
        TraceSpec::Mahimahi(trace) => trace.instants(&format!("{path}.trace")).map(Capacity::Trace),
        TraceSpec::Cellreplay(both) => both.traces(&format!("{path}.trace")).map(Capacity::TwoTraces),
        _ => {
            let fault = Fault::new(path, "trace", "read where the experiment is", "the name of a file");
            Err(fault.hint("this is a bug of Haltere").bug())
        }
    }
}

/// What changes on a link with a trace of rows.
fn of_rows(link: &mut LinkSpec, rows: &Rows, path: &str) -> Result<Box<Varying>, ScenarioError> {
    let Changes { rate, delay, loss, limit } = rows.columns(&format!("{path}.trace"))?;
    let given = |is_given: bool, name: &'static str| if is_given { name } else { "" };
    only_the_trace(
        link,
        path,
        [given(rate.is_some(), "rate"), given(delay.is_some(), "delay"), given(loss.is_some(), "loss")],
    )?;
    if let Some(delay) = &delay {
        link.delay = delay.first;
    }
    let capacity = rate.map_or(Capacity::Constant(link.rate), Capacity::Schedule);
    Ok(Box::new(Varying { capacity, delay, jitter: None, loss, limit }))
}

/// Refuses keys that say what the trace says, and steps beside it.
fn only_the_trace(link: &LinkSpec, path: &str, says: [&str; 3]) -> Result<(), ScenarioError> {
    let given = [
        ("rate", link.rate.map(|rate| rate.to_string())),
        ("delay", (!link.delay.is_zero()).then(|| link.delay.to_string())),
        ("loss", (link.loss != Prob::ZERO.into()).then(|| "a loss".into())),
        ("schedule", (!link.schedule.is_empty()).then(|| "steps".into())),
    ];
    for (name, got) in given {
        if let Some(got) = got.filter(|_| name == "schedule" || says.contains(&name)) {
            let fault = Fault::new(path, name, "left out beside `trace`", got);
            return Err(fault.hint("the trace says it").out_of_range());
        }
    }
    Ok(())
}

/// One value of the schedule, with that of the link at first; `None` if no step gives it.
fn values<T: Copy>(link: &LinkSpec, first: Option<T>, value: impl Fn(&Step) -> Option<T>) -> Option<Steps<T>> {
    let steps: Vec<(Dur, T)> = link.schedule.iter().filter_map(|step| Some((step.at, value(step)?))).collect();
    // Without a value of the link's own the first step gives it: it is at the start, or the check has refused it.
    let first = first.or(steps.first().map(|step| step.1))?;
    (!steps.is_empty()).then(|| Steps { first, steps: steps.into(), repeat: link.schedule_repeat })
}

fn check_schedule(link: &LinkSpec, path: &str) -> Result<(), ScenarioError> {
    let fault = |i: usize, name: &str, rule: String, got: String| {
        let place = format!("{path}.schedule[{i}]");
        Fault::new(place, name, rule, got)
    };
    let mut last = None;
    for (i, step) in link.schedule.iter().enumerate() {
        if step.rate.is_none() && step.delay.is_none() && step.jitter.is_none() && step.loss.is_none() {
            let hint = "a step says what changes";
            return Err(fault(i, "rate", "given, or `delay`, `jitter` or `loss`".into(), "nothing".into())
                .hint(hint)
                .missing());
        }
        if let Some(last) = last.filter(|last| step.at <= *last) {
            let rule = format!("after the step before it at {last}");
            return Err(fault(i, "at", rule, step.at.to_string()).out_of_range());
        }
        last = Some(step.at);
    }
    let rates = || link.schedule.iter().enumerate().filter_map(|(i, step)| Some((i, step.at, step.rate?)));
    if let (None, None, Some((i, at, _))) = (link.rate, &link.trace, rates().next())
        && at > Dur::ZERO
    {
        let rule = "0s for the first rate of a link without `rate`".into();
        return Err(fault(i, "at", rule, at.to_string()).hint("or give the link a `rate` until then").out_of_range());
    }
    let until = rates().next().map_or(Dur::MAX, |(_, at, _)| at);
    if (link.rate.is_none() || until.is_zero()) && until < Dur::MAX && rates().all(|(_, _, rate)| rate == Rate::ZERO) {
        let rule = "above zero in one of the steps".into();
        return Err(fault(0, "rate", rule, Rate::ZERO.to_string()).out_of_range());
    }
    match (link.schedule_repeat, last) {
        (Some(repeat), None) => {
            let fault = Fault::new(path, "schedule_repeat", "left out without `schedule`", repeat);
            Err(fault.out_of_range())
        }
        (Some(repeat), Some(last)) if repeat <= last => {
            let rule = format!("longer than the last step's start at {last}");
            Err(Fault::new(path, "schedule_repeat", rule, repeat).out_of_range())
        }
        _ => Ok(()),
    }
}
