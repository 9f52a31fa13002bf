//! TCP whose application writes at a rate while it is on.

use super::stream::{RateSource, Stream, Transfer};
use super::{Opened, Opening};
use haltere_plan::plan::OnOffPlan;

/// Opens a flow of the kind.
pub(super) fn open<'p>(plan: &'p OnOffPlan, at: Opening<'p>) -> Opened<'p> {
    let (times, chance) = ((plan.on, plan.off), at.source_rng());
    let source = RateSource::new(plan.rate, plan.chunk, times, plan.begins_off, chance);
    Ok(Box::new(Transfer::open(&at, Stream { tcp: &plan.tcp, bytes: None, source: Some(source), multipath: false })?))
}
