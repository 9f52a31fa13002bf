//! A user who loads web pages one after the other.

use super::exchange::Exchange;
use super::{Kind, Opening};
use crate::error::WireError;
use haltere_plan::exchange::User;
use haltere_plan::plan::WebPlan;

/// The kind.
pub(super) struct Web;

impl Kind for Web {
    type Plan = Box<WebPlan>;
    type Endpoint<'p> = Exchange<'p, User>;
    fn open<'p>(plan: &'p Box<WebPlan>, at: Opening<'p>) -> Result<Exchange<'p, User>, WireError> {
        let client = User::new(at.flow, plan, at.seed).map_err(|e| at.refused(e))?;
        Exchange::open(&plan.tcp, client, at)
    }
}
