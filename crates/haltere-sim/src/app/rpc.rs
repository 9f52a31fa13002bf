//! Remote procedure calls: requests and their responses on one connection, a fixed number at a time.
//! Model: closed loop. So many requests are sent at the start; each response is followed by the next request after the think time.

use super::exchange::{Answer, Client, Exchange, Lines};
use super::{Place, is_over};
use crate::net::fabric::Fabric;
use haltere_plan::plan::{FlowPlan, RpcPlan};
use haltere_plan::ports::FIRST_SERVER;
use haltere_plan::rng::Rng;
use haltere_units::{ParamError, Time};

/// A flow of calls.
pub(crate) type Rpc = Exchange<Caller>;

/// Who calls.
#[derive(Debug)]
pub(crate) struct Caller {
    plan: RpcPlan,
    sizes: Rng,
    thinks: Rng,
    stop: Option<Time>,
    line: usize,
}

impl Rpc {
    pub fn new(flow: &FlowPlan, plan: &RpcPlan, place: Place) -> Result<Rpc, ParamError> {
        if plan.outstanding == 0 {
            return Err(ParamError::new("outstanding", "at least 1", 0));
        }
        let stream = |what: &str| Rng::new(place.seed, &format!("{}/{what}", flow.name));
        let (sizes, thinks) = (stream("sizes"), stream("think"));
        let caller = Caller { plan: plan.clone(), sizes, thinks, stop: flow.stop, line: 0 };
        Exchange::of(flow, &plan.tcp, caller, place)
    }
}

impl Client for Caller {
    const COMPLETIONS: bool = true;

    fn start(&mut self, lines: &mut Lines, fabric: &mut Fabric) {
        self.line = lines.open(FIRST_SERVER, fabric);
        for _ in 0..self.plan.outstanding {
            self.wake(lines, fabric);
        }
    }
    /// Makes the next call.
    fn wake(&mut self, lines: &mut Lines, fabric: &mut Fabric) {
        if is_over(self.stop, fabric.now) {
            return lines.close();
        }
        let (request, response) = (self.plan.request.draw(&mut self.sizes), self.plan.response.draw(&mut self.sizes));
        lines.ask(self.line, request, response, fabric.now);
    }
    fn set_stop(&mut self, at: Time) {
        self.stop = Some(at);
    }
    fn answered(&mut self, _answer: Answer, lines: &mut Lines, fabric: &mut Fabric) {
        let think = self.thinks.span(self.plan.think);
        if think.is_zero() {
            return self.wake(lines, fabric);
        }
        lines.wake(fabric.now + think, fabric);
    }
}
