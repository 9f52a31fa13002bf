//! Flows on a transport stack from outside the tree: what is the same for all of them.

mod end;
mod exchange;
mod single;

use end::logs;
pub(super) use end::{End, Ends, Maker, Number};
pub(super) use exchange::Exchange;
pub(super) use single::Single;

use super::{App, Place};
use haltere_plan::exchange::{Caller, Client, Player, User};
use haltere_plan::plan::{AppPlan, FlowPlan};
use haltere_plan::{Fault, Plan};
use haltere_units::ParamError;

/// The flow of that plan, if it runs on a stack and is one of requests and responses, or of several paths.
pub(super) fn own(flow: &FlowPlan, place: &Place) -> Option<Result<Box<dyn App>, ParamError>> {
    let seed = place.origin.seed;
    Some(match &flow.app {
        app if app.tcp()?.stack.is_none() => return None,
        AppPlan::Web(plan) => User::new(flow, plan, seed).and_then(|user| boxed(flow, user, place)),
        AppPlan::Rpc(plan) => Caller::new(flow, plan, seed).and_then(|caller| boxed(flow, caller, place)),
        AppPlan::Video(plan) => Player::new(flow, plan).and_then(|player| boxed(flow, player, place)),
        AppPlan::Multipath(plan) => Single::multipath(flow, plan, place).map(|flow| Box::new(flow) as Box<dyn App>),
        _ => return None,
    })
}

fn boxed<C: Client + Send + 'static>(flow: &FlowPlan, client: C, place: &Place) -> Result<Box<dyn App>, ParamError> {
    let tcp = flow.app.tcp().expect("asked above");
    Ok(Box::new(Exchange::of(flow, tcp, client, place.clone())?))
}

/// Kinds whose flows run on any stack.
fn runs_on_any(app: &AppPlan) -> bool {
    use AppPlan::{Arrivals, Bulk, Multipath, OnOff, Rpc, Video, Web};
    matches!(app, Bulk(_) | OnOff(_) | Arrivals(_) | Web(_) | Rpc(_) | Video(_) | Multipath(_))
}

/// Refuses flows on a stack whose kind is for TCP alone.
pub(super) fn check(plan: &Plan) -> Result<(), Box<Fault>> {
    let is_wrong = |flow: &&FlowPlan| flow.app.tcp().is_some_and(|tcp| tcp.stack.is_some()) && !runs_on_any(&flow.app);
    let Some(flow) = plan.flows.iter().find(is_wrong) else { return Ok(()) };
    let rule = format!("`tcp` for the kind `{}`", flow.app.kind());
    Err(Box::new(Fault::new(format!("traffic[{}]", flow.group), "stack", rule, "another")))
}
