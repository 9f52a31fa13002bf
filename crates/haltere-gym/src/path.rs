//! The path of a flow: what its slowest link carries, and how long it takes through empty queues.

use haltere_plan::plan::LinkPlan;
use haltere_plan::{Plan, Routes};
use haltere_units::{Bytes, Dur, Time};

/// A full segment and an acknowledgement on an Ethernet link.
const LENGTHS: [Bytes; 2] = [Bytes::new(1514), Bytes::new(66)];

/// The links of a path there, and its round-trip time.
#[derive(Debug)]
pub(crate) struct ObservedPath {
    links: Vec<LinkPlan>,
    pub(crate) rtt: Dur,
}

impl ObservedPath {
    pub(crate) fn of_flow(plan: &Plan, flow: usize, routes: &mut Routes) -> ObservedPath {
        let (from, to) = (plan.flows[flow].from, plan.flows[flow].to);
        let mut rtt = Dur::ZERO;
        let mut links = Vec::new();
        for (ends, length) in [(from, to), (to, from)].into_iter().zip(LENGTHS) {
            for index in routes.path(ends.0, ends.1).unwrap_or_default() {
                let link = &plan.links[index];
                rtt = rtt.saturating_add(link.delay);
                rtt = rtt.saturating_add(link.rate.map_or(Dur::ZERO, |rate| rate.time_for(length)));
                if length == LENGTHS[0] {
                    links.push(link.clone());
                }
            }
        }
        ObservedPath { links, rtt }
    }
    pub(crate) fn of_link(plan: &Plan, link: usize) -> ObservedPath {
        let link = &plan.links[link];
        ObservedPath { links: vec![link.clone()], rtt: link.rtt.unwrap_or(Dur::ZERO) }
    }
    /// What the slowest link carries between these instants, in bits; 0 if packets take no time.
    pub(crate) fn capacity(&self, from: Time, to: Time) -> f64 {
        let bits = self.links.iter().filter_map(|link| link.capacity(from, to)).fold(f64::INFINITY, f64::min);
        if bits.is_finite() { bits } else { 0.0 }
    }
}
