//! Between whom the flows of an entry run, and when: the keys that all kinds share.

use crate::keys::kind;
use haltere_units::Dur;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Between whom flows run, how many, and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Ends {
    /// Name of this entry in the results. If it is not given, it is the kind and the entry's place in the file, such as
    /// `bulk1`.
    pub name: Option<String>,
    /// The pairs of hosts between which flows run: `all`, or their numbers from 1. A dumbbell has pairs. Not together
    /// with `from` and `to`.
    pub pairs: Option<Pairs>,
    /// Name of the node that sends.
    pub from: Option<String>,
    /// Name of the node that receives.
    pub to: Option<String>,
    /// Flows for each pair, or from `from` to `to`.
    #[schemars(range(min = 1, max = 100_000))]
    pub count: u32,
    /// Direction of the data: from `c` to `s` (`from` to `to`), back, or one flow in each direction.
    pub direction: Direction,
    /// When the flows start. A list is assigned round-robin to the pairs and their `count`; both directions of one pair
    /// start together.
    pub start: Starts,
    /// Staggered starts: by how much later than the pair before each pair starts, `count` included. The first starts at
    /// `start`.
    pub stagger: Dur,
    /// Each flow starts later by a time drawn uniformly from zero to this, with the random seed and the flow's name.
    pub jitter: Dur,
    /// When the flows stop. If it is not given, they stop at the end.
    pub stop: Option<Dur>,
    /// The DSCP of all packets, from 0 to 63: 46 is EF (expedited forwarding), 8 is CS1, 34 is AF41. If it is not
    /// given, it is 0. `ftp` marks its packets itself.
    #[schemars(range(max = 63))]
    pub dscp: Option<u8>,
}

impl Default for Ends {
    fn default() -> Ends {
        Ends {
            name: None,
            pairs: None,
            from: None,
            to: None,
            count: 1,
            direction: Direction::Forward,
            start: Starts::One(Dur::ZERO),
            stagger: Dur::ZERO,
            jitter: Dur::from_ms(100),
            stop: None,
            dscp: None,
        }
    }
}

/// One start, or several that are assigned round-robin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Starts {
    /// One for all.
    One(Dur),
    /// In turn.
    RoundRobin(#[schemars(length(min = 1, max = 1_000_000))] Vec<Dur>),
}

impl Ends {
    /// When the pair at `turn` starts, from 0, before jitter.
    pub(crate) fn start_of(&self, turn: u64) -> Dur {
        let starts = match &self.start {
            Starts::One(start) => std::slice::from_ref(start),
            Starts::RoundRobin(starts) => starts,
        };
        let start = starts.get(turn as usize % starts.len().max(1)).copied().unwrap_or(Dur::ZERO);
        start.saturating_add(Dur::from_ns(self.stagger.as_ns().saturating_mul(turn)))
    }
}

/// Direction of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From `c` to `s`, or from `from` to `to`.
    Forward,
    /// From `s` to `c`, or from `to` to `from`.
    Backward,
    /// One flow in each direction.
    Both,
}

impl Direction {
    /// The directions, each from its sender to its receiver, of a pair as written.
    pub(crate) fn of(self, from: usize, to: usize) -> impl Iterator<Item = (usize, usize)> {
        let (there, back) = (self != Direction::Backward, self != Direction::Forward);
        [there.then_some((from, to)), back.then_some((to, from))].into_iter().flatten()
    }
}

kind! {
    /// The word `all`.
    AllPairs, All, "all"
}

/// Pairs of hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Pairs {
    /// Every pair.
    All(AllPairs),
    /// These, counted from 1.
    These(#[schemars(length(min = 1), inner(range(min = 1)))] Vec<u32>),
}
