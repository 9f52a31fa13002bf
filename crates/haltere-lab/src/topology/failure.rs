//! Links that fail, and routes that change: from what is written to what the plan says.

use super::context::Context;
use super::network::NetworkDraft;
use crate::error::{Fault, FaultKind, ScenarioError};
use haltere_plan::plan::{Failure, Reroute};
use haltere_units::{Dur, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Links that fail during the run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Failures {
    /// Links that fail: `[{ from = "a", to = "b", at = "10s", until = "20s" }]`. What is on such a link then is lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100_000))]
    pub fail: Vec<LinkFailure>,
    /// How long after a failure, and after its end, the routes change: the time to detect it and to converge. Packets
    /// that are sent from then on take the paths of the links that are left. Without it routes are static, and a failed
    /// link loses what is sent over it.
    pub reroute: Option<Dur>,
}

/// A failure of the links between two nodes, in both directions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkFailure {
    /// Name of the node at one end.
    pub from: String,
    /// Name of the node at the other end.
    pub to: String,
    /// When it begins. Packets that are on the line or in flight then are lost.
    pub at: Dur,
    /// When it ends. Until then the link loses every packet that it sends.
    pub until: Dur,
}

impl Failures {
    /// Writes the failures into the links of the network, and the changes of the routes into the network. Its links are
    /// complete.
    pub(crate) fn apply(&self, network: &mut NetworkDraft, context: &Context<'_>) -> Result<(), ScenarioError> {
        if let (Some(reroute), true) = (self.reroute, self.fail.is_empty()) {
            let fault = Fault::new(context.place, "reroute", "left out without `fail`", reroute);
            return Err(fault.hint("routes change after a failure").out_of_range());
        }
        let mut failed = Vec::new();
        for (i, failure) in self.fail.iter().enumerate() {
            let path = context.below(&format!("fail[{i}]"));
            let links = failure.links(network, &path)?;
            let span = Failure { at: later(Time::ZERO, failure.at), until: later(Time::ZERO, failure.until) };
            for &link in &links {
                let impairments = network.links[link].impairments.get_or_insert_default();
                impairments.failures.push(span);
                impairments.failures.sort_by_key(|failure| failure.at);
            }
            failed.push((span, links));
        }
        network.reroutes = self.reroute.map(|delay| reroutes(&failed, delay)).unwrap_or_default();
        Ok(())
    }
}

impl LinkFailure {
    /// The links between its two nodes. It is in the table `path`.
    fn links(&self, network: &NetworkDraft, path: &str) -> Result<Vec<usize>, ScenarioError> {
        let ends = (network.node(&self.from, path, "from")?, network.node(&self.to, path, "to")?);
        let joins = |link: &haltere_plan::plan::LinkPlan| (link.from, link.to) == ends || (link.to, link.from) == ends;
        let links: Vec<usize> = (0..network.links.len()).filter(|i| joins(&network.links[*i])).collect();
        if links.is_empty() {
            let rule = format!("a node that a link joins to `{}`", self.from);
            return Err(Fault::new(path, "to", rule, format!("`{}`", self.to)).out_of_range());
        }
        if self.until <= self.at {
            let rule = format!("after `at`, which is {}", self.at);
            return Err(Fault::new(path, "until", rule, self.until).out_of_range());
        }
        Ok(links)
    }
}

/// The time `span` after `time`; never, if that is past the end of time.
fn later(time: Time, span: Dur) -> Time {
    time.checked_add(span).unwrap_or(Time::NEVER)
}

/// The routes change so long after each failure and after its end.
fn reroutes(failed: &[(Failure, Vec<usize>)], delay: Dur) -> Vec<Reroute> {
    let mut times: Vec<Time> = failed.iter().flat_map(|(span, _)| [span.at, span.until]).collect();
    times.sort_unstable();
    times.dedup();
    let down = |now: Time| {
        let failed = failed.iter().filter(|(span, _)| span.at <= now && now < span.until);
        let mut links: Vec<usize> = failed.flat_map(|(_, links)| links).copied().collect();
        links.sort_unstable();
        links.dedup();
        links
    };
    times.into_iter().map(|time| Reroute { at: later(time, delay), without: down(time) }).collect()
}
