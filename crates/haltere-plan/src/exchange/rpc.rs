//! Remote procedure calls: requests and their responses on one connection, a fixed number at a time. Model: closed
//! loop. So many requests are sent at the start; each response is followed by the next request after the think time.

use super::{Answer, Client, Connections};
use crate::app::is_over;
use crate::plan::{FlowPlan, RpcPlan};
use crate::ports::FIRST_SERVER;
use crate::rng::Rng;
use haltere_units::{ParamError, Time};

/// The caller: it keeps a fixed number of calls open.
#[derive(Debug)]
pub struct Caller {
    plan: RpcPlan,
    sizes: Rng,
    thinks: Rng,
    stop: Option<Time>,
    connection: usize,
}

impl Caller {
    /// The caller of that flow.
    pub fn new(flow: &FlowPlan, plan: &RpcPlan, seed: u64) -> Result<Caller, ParamError> {
        if plan.outstanding == 0 {
            return Err(ParamError::new("outstanding", "at least 1", 0));
        }
        let (sizes, thinks) = (flow.stream(seed, "sizes"), flow.stream(seed, "think"));
        Ok(Caller { plan: plan.clone(), sizes, thinks, stop: flow.stop, connection: 0 })
    }
}

impl Client for Caller {
    const COMPLETIONS: bool = true;

    fn start(&mut self, on: &mut impl Connections) {
        self.connection = on.open(FIRST_SERVER);
        for _ in 0..self.plan.outstanding {
            self.wake(on);
        }
    }
    /// Makes the next call.
    fn wake(&mut self, on: &mut impl Connections) {
        if is_over(self.stop, on.now()) {
            return on.close();
        }
        let (request, response) = (self.plan.request.draw(&mut self.sizes), self.plan.response.draw(&mut self.sizes));
        on.ask(self.connection, request, response);
    }
    fn answered(&mut self, _answer: Answer, on: &mut impl Connections) {
        let think = self.thinks.span(self.plan.think);
        if think.is_zero() {
            return self.wake(on);
        }
        on.wake(on.now() + think);
    }
    fn set_stop(&mut self, at: Time) {
        self.stop = Some(at);
    }
}
