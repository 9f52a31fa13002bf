//! Whether any world could run a plan.

use crate::fault::Fault;
use crate::plan::Plan;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::ToString;
use haltere_units::Dur;

impl Plan {
    /// Refuses a plan that no world could run. Every world calls it before a run. A plan of the laboratory passes.
    pub fn check(&self) -> Result<(), Box<Fault>> {
        let links = self.links.iter().map(|link| (format!("link {}", link.name), link.from, link.to));
        let flows = self.flows.iter().map(|flow| (format!("flow {}", flow.name), flow.from, flow.to));
        for (place, from, to) in links.chain(flows) {
            self.is_node(&place, "from", from)?;
            self.is_node(&place, "to", to)?;
            if from == to {
                return refuse(&place, "to", "another node than `from`", &self.nodes[to]);
            }
        }
        for link in &self.links {
            let place = format!("link {}", link.name);
            self.is_node(&place, "emits_at", link.emission_node())?;
            if link.ring == Some(0) {
                return refuse(&place, "ring", "at least one packet", "0p");
            }
            if link.rate.is_some_and(|rate| rate.as_bps() == 0) {
                return refuse(&place, "rate", "above zero", "0bit");
            }
        }
        for (name, interval) in [("queues", self.measure.queues), ("flows", self.measure.flows)] {
            if interval.is_some_and(Dur::is_zero) {
                return refuse("measure", name, "above zero", "0ns");
            }
        }
        Ok(())
    }
    fn is_node(&self, place: &str, name: &str, node: usize) -> Result<(), Box<Fault>> {
        let nodes = self.nodes.len();
        if node < nodes {
            return Ok(());
        }
        refuse(place, name, &format!("a node's index below {nodes}"), &node.to_string())
    }
}

fn refuse(place: &str, name: &str, rule: &str, got: &str) -> Result<(), Box<Fault>> {
    Err(Box::new(Fault::new(place, name, rule, got)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::LinkPlan;
    use haltere_queue::QueueParams;
    use haltere_units::{Rate, Time};

    #[test]
    fn a_plan_that_no_world_could_run_is_refused_with_the_place() {
        let queue = QueueParams::default_of("drop_tail").expect("a discipline");
        let sound = LinkPlan::plain(0, 1, Some(Rate::from_mbps(1)), Dur::ZERO, queue);
        let refusal = |change: fn(&mut LinkPlan)| {
            let mut link = sound.clone();
            change(&mut link);
            let plan = Plan::new(Plan::node_names(2), vec![link], Vec::new(), Time::ZERO + Dur::from_secs(1));
            plan.check().err().map(|fault| fault.to_string()).unwrap_or_default()
        };
        assert_eq!(refusal(|_| ()), "");
        assert_eq!(refusal(|link| link.to = 2), "link n0>n1: to must be a node's index below 2, got 2");
        assert_eq!(refusal(|link| link.to = 0), "link n0>n1: to must be another node than `from`, got n0");
        assert_eq!(refusal(|link| link.ring = Some(0)), "link n0>n1: ring must be at least one packet, got 0p");
        assert_eq!(refusal(|link| link.rate = Some(Rate::ZERO)), "link n0>n1: rate must be above zero, got 0bit");
        let emits = refusal(|link| link.emits_at = Some(7));
        assert_eq!(emits, "link n0>n1: emits_at must be a node's index below 2, got 7");
    }
}
