//! A source from outside the tree.

use super::Source;
use super::stream::Stream;
use haltere_plan::app::outside::{OutsidePlan, OutsideSource, make};
use haltere_plan::plan::FlowPlan;
use haltere_plan::rng::Rng;
use haltere_transport::Connection;
use haltere_units::outside::Origin;
use haltere_units::{ParamError, Time};

/// A source in any language.
#[derive(Debug)]
pub(crate) struct Outside(Box<dyn OutsideSource>);

impl Outside {
    pub fn new(flow: &FlowPlan, plan: &OutsidePlan, origin: &Origin) -> Result<Outside, ParamError> {
        let seed = Rng::new(origin.seed, &format!("{}/source", flow.name)).bits();
        make(&plan.source, &origin.with_seed(seed)).map(Outside)
    }
}

/// The connection: such sources run on TCP alone.
fn tcp(stream: &mut dyn Stream) -> &mut Connection {
    stream.tcp().expect("another stack was refused")
}

impl Source for Outside {
    fn limit(&self) -> Option<u64> {
        self.0.limit()
    }
    fn step(&mut self, now: Time, client: &mut dyn Stream) -> Option<Time> {
        self.0.step(now, tcp(client))
    }
    fn on_client(&mut self, now: Time, client: &mut dyn Stream) -> Option<Time> {
        self.0.on_client(now, tcp(client))
    }
    fn on_server(&mut self, now: Time, server: &mut dyn Stream, bytes: u64) {
        self.0.on_server(now, tcp(server), bytes);
    }
    fn received(&self) -> u64 {
        self.0.received()
    }
}
