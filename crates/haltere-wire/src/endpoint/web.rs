//! A user who loads web pages one after the other.

use super::exchange::Exchange;
use super::{Opened, Opening};
use haltere_plan::exchange::User;
use haltere_plan::plan::WebPlan;

/// Opens a flow of the kind.
pub(super) fn open<'p>(plan: &'p WebPlan, at: Opening<'p>) -> Opened<'p> {
    let client = User::new(at.flow, plan, at.seed).map_err(|e| at.refused(e))?;
    Ok(Box::new(Exchange::open(&plan.tcp, client, at)?))
}
