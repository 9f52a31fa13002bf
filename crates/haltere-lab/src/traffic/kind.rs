//! The trait of traffic kinds, and the properties of a kind that reports use.

use super::entry::Entry;
use crate::error::ScenarioError;
use haltere_plan::plan::AppPlan;
use serde::Serialize;

/// A traffic kind of the registry.
pub(crate) trait TrafficKind {
    /// The properties of the kind.
    fn about() -> About
    where
        Self: Sized;
    /// The nodes between which its flows run: those of `pairs`, or `from` and `to`, if the kind says nothing else.
    fn pairs(&self, entry: &Entry<'_>) -> Result<Vec<(usize, usize)>, ScenarioError> {
        entry.pairs()
    }
    /// Flows for each pair and each of `count`.
    fn flows_of_a_pair(&self) -> u32 {
        1
    }
    /// The plans of its flows. Several plans are assigned to the flows round-robin. Everything that can be wrong is
    /// found here.
    fn plan(&self, entry: &Entry<'_>) -> Result<Vec<AppPlan>, ScenarioError>;
}

/// Properties of a traffic kind. A report reads them and has no list of kinds of its own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct About {
    /// Its flows are TCP.
    pub tcp: bool,
    /// It delivers payload, so its goodput means something.
    pub goodput: bool,
    /// It sends requests and measures the time until the response.
    pub request_response: bool,
    /// Its flows arrive and end during the run: they are counted by completion, not one by one.
    pub arrivals: bool,
    /// Each of its flows, or each response, is a row of the table `completions`.
    pub completions: bool,
    /// The table that holds its own results beside `flows`.
    pub table: Option<&'static str>,
    /// Keys of [`Ends`](super::ends::Ends) that have no place in its entries.
    pub without: &'static [&'static str],
    /// Its flows always have something to send, unless the entry gives one of these keys. `None`: they never do.
    pub endless_without: Option<&'static [&'static str]>,
    /// What a sentence calls one of its flows, after the control and the kind. Empty: the kind's name is enough.
    pub noun: &'static str,
}

impl About {
    /// A kind without TCP that delivers payload.
    pub const PLAIN: About = About {
        tcp: false,
        goodput: true,
        request_response: false,
        arrivals: false,
        completions: false,
        table: None,
        without: &[],
        endless_without: None,
        noun: "flow",
    };
    /// A kind of TCP flows.
    pub const TCP: About = About { tcp: true, ..About::PLAIN };
    /// A kind whose TCP flows arrive by themselves: an entry does not say how many there are, or when each starts.
    pub const ARRIVALS: About = About {
        arrivals: true,
        completions: true,
        table: Some("completions"),
        without: &["count", "jitter", "stagger"],
        ..About::TCP
    };
}
