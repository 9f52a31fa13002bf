//! Remote procedure calls: requests and their responses on one connection.

use super::exchange::Exchange;
use super::{Kind, Opening};
use crate::error::WireError;
use haltere_plan::exchange::Caller;
use haltere_plan::plan::RpcPlan;

/// The kind.
pub(super) struct Rpc;

impl Kind for Rpc {
    type Plan = Box<RpcPlan>;
    type Endpoint<'p> = Exchange<'p, Caller>;
    fn open<'p>(plan: &'p Box<RpcPlan>, at: Opening<'p>) -> Result<Exchange<'p, Caller>, WireError> {
        let client = Caller::new(at.flow, plan, at.seed).map_err(|e| at.refused(e))?;
        Exchange::open(&plan.tcp, client, at)
    }
}
