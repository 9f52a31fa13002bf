//! Somebody who fetches web pages, one after the other. The rule is [`User`]'s.

use super::Place;
use super::exchange::Exchange;
use haltere_plan::exchange::User;
use haltere_plan::plan::{FlowPlan, WebPlan};
use haltere_units::ParamError;

/// A flow of web pages.
pub(crate) type Web = Exchange<User>;

impl Web {
    pub fn new(flow: &FlowPlan, plan: &WebPlan, place: Place) -> Result<Web, ParamError> {
        Exchange::of(flow, &plan.tcp, User::new(flow, plan, place.origin.seed)?, place)
    }
}
