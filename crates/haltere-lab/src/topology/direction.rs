//! One direction of a link: from what is written to what the plan takes.

use super::link::LinkSpec;
use super::varying;
use crate::error::{Fault, FaultKind, ScenarioError};
use haltere_plan::LinkQueue;
use haltere_plan::varying::Varying;
use haltere_units::{Bytes, Dur, Prob, Rate, Size};
use std::rc::Rc;

/// One direction of a link as written.
#[derive(Clone)]
pub(crate) struct DirectionDraft {
    pub(crate) link: LinkSpec,
    pub(crate) ring: Option<u32>,
    pub(crate) mpu: Bytes,
    pub(crate) varying: Option<Box<Varying>>,
    /// Where its queue is in the experiment.
    pub(crate) place: Rc<str>,
}

/// Both directions of a link, the second with its overrides.
pub(crate) fn both(link: &LinkSpec, place: &str) -> Result<[DirectionDraft; 2], ScenarioError> {
    let mut reverse = link.reverse.apply(link, place)?;
    varying::one_capacity(&mut reverse, &link.reverse);
    // An override is about the other direction only, so `place` names the table that gave the queue.
    let below = |is_below: bool| if is_below { format!("{place}.reverse") } else { place.into() };
    let (path, back) = (below(!link.reverse.is_empty()), below(link.reverse.has("queue")));
    Ok([direction(link.clone(), place, place.into())?, direction(reverse, &path, back.into())?])
}

fn direction(mut link: LinkSpec, path: &str, place: Rc<str>) -> Result<DirectionDraft, ScenarioError> {
    if link.rate == Some(Rate::ZERO) {
        let hint = "leave it out for a link on which packets take no time";
        return Err(Fault::new(path, "rate", "above zero", Rate::ZERO).hint(hint).out_of_range());
    }
    let ring = match link.ring {
        None => None,
        Some(Size::Packets(n)) if n >= 1 && n <= u64::from(u32::MAX) => Some(n as u32),
        Some(other) => {
            let rule = format!("from 1p to {}p, in packets", u32::MAX);
            return Err(Fault::new(path, "ring", rule, other).out_of_range());
        }
    };
    check_impairments(&link, path)?;
    link.loss.check(path)?;
    let varying = varying::of(&mut link, path)?;
    Ok(DirectionDraft { link, ring, mpu: Bytes::ZERO, varying, place })
}

fn check_impairments(link: &LinkSpec, path: &str) -> Result<(), ScenarioError> {
    if let Some(pair) = link.lose.windows(2).find(|pair| pair[0] >= pair[1]) {
        let got = format!("{} before {}", pair[0], pair[1]);
        return Err(Fault::new(path, "lose", "numbers in ascending order", got).out_of_range());
    }
    if link.lose.first() == Some(&0) {
        let fault = Fault::new(path, "lose", "numbers of packets from 1 on", "0");
        return Err(fault.hint("the first packet that the line takes has number 1").out_of_range());
    }
    if (link.reorder > Prob::ZERO) != (link.reorder_by > Dur::ZERO) {
        let rule = "above zero with `reorder`, and left out without";
        let fault = Fault::new(path, "reorder_by", rule, link.reorder_by);
        return Err(fault.hint("write for example `reorder = 0.01, reorder_by = \"1ms\"`").out_of_range());
    }
    Ok(())
}

/// The least rate of all directions.
pub(crate) fn slowest(links: &[[DirectionDraft; 2]]) -> Option<Rate> {
    links.iter().flatten().filter_map(|d| d.link.rate).min()
}

/// Whether a direction is watched if its topology has no bottleneck of its own: the slowest are, and those with a queue
/// or a rate of note.
pub(crate) fn watched(link: &LinkSpec, slowest: Option<Rate>) -> bool {
    let slow = link.rate.is_some() && link.rate == slowest;
    link.watch
        .unwrap_or(slow || link.queue != LinkQueue::default() || link.trace.is_some() || !link.schedule.is_empty())
}
