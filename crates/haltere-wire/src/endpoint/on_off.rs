//! TCP whose application writes at a rate while it is on.

use super::stream::{Source, Stream, Transfer};
use super::{Kind, Opening};
use crate::error::WireError;
use haltere_plan::plan::OnOffPlan;

/// The kind.
pub(super) struct OnOff;

impl Kind for OnOff {
    type Plan = OnOffPlan;
    type Endpoint<'p> = Transfer;
    fn open<'p>(plan: &'p OnOffPlan, at: Opening<'p>) -> Result<Transfer, WireError> {
        let source = Source::new(plan.rate, plan.chunk, (plan.on, plan.off), at.source_rng());
        let source = Some(source.beginning(plan.begins_off));
        Transfer::open(&at, Stream { tcp: &plan.tcp, bytes: None, source, multipath: false })
    }
}
