//! Remote procedure calls: requests and their responses on one connection. The rule is [`Caller`]'s.

use super::Place;
use super::exchange::Exchange;
use haltere_plan::exchange::Caller;
use haltere_plan::plan::{FlowPlan, RpcPlan};
use haltere_units::ParamError;

/// A flow of calls.
pub(crate) type Rpc = Exchange<Caller>;

impl Rpc {
    pub fn new(flow: &FlowPlan, plan: &RpcPlan, place: Place) -> Result<Rpc, ParamError> {
        Exchange::of(flow, &plan.tcp, Caller::new(flow, plan, place.origin.seed)?, place)
    }
}
