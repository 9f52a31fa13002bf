//! Remote procedure calls: requests and their responses on one connection.

use super::exchange::Exchange;
use super::{Opened, Opening};
use haltere_plan::exchange::Caller;
use haltere_plan::plan::RpcPlan;

/// Opens a flow of the kind.
pub(super) fn open<'p>(plan: &'p RpcPlan, at: Opening<'p>) -> Opened<'p> {
    let client = Caller::new(at.flow, plan, at.seed).map_err(|e| at.refused(e))?;
    Ok(Box::new(Exchange::open(&plan.tcp, client, at)?))
}
