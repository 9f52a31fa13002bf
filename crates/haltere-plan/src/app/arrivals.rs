//! TCP flows of limited size between several hosts, which start and end during the run.

use super::prelude::*;
use alloc::vec;

/// TCP flows that start during the run. The ends of the plan's own flow count for nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArrivalsPlan {
    /// Both endpoints of each flow.
    pub tcp: TcpPlan,
    /// The nodes between which they run.
    pub between: Between,
    /// The arrival process: when flows start.
    pub pattern: Pattern,
    /// How large they are.
    pub sizes: SizeDistribution,
    /// The most flows that arrive; `None`: until the entry stops.
    pub max_flows: Option<u64>,
}

/// The nodes between which flows run, as indices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Between {
    /// Two different ones of these hosts, drawn for each flow. There are two at least.
    Hosts(Arc<[usize]>),
    /// One of these pairs of a sender and a receiver, drawn for each flow. There is one at least.
    Pairs(Arc<[(usize, usize)]>),
}

/// A flow that begins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FlowArrival {
    /// When its first byte is written.
    pub at: Time,
    /// Index of the node that sends.
    pub from: usize,
    /// Index of the node that receives.
    pub to: usize,
    /// Bytes of payload that it sends in all.
    pub bytes: Bytes,
}

/// The rule by which flows arrive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Pattern {
    /// After exponentially distributed times with this mean.
    Poisson {
        /// The mean time from one to the next.
        gap: Dur,
    },
    /// In rounds: several hosts send at a time. Of hosts that are drawn, all send to one.
    Incast {
        /// Index of the node to which drawn hosts send; `None`: drawn for each round.
        to: Option<usize>,
        /// Flows of a round. If they are more than the other hosts, or than the pairs, some send several times.
        senders: u32,
        /// From one round to the next.
        interval: Dur,
        /// Each flow starts later by a time drawn uniformly from zero to this.
        jitter: Dur,
    },
    /// These flows, in order of time. Their times count from the entry's start; they have their own nodes and sizes.
    Replay(Arc<[FlowArrival]>),
}

impl Pattern {
    /// The name of the traffic kind that has this pattern.
    pub fn kind(&self) -> &'static str {
        match self {
            Pattern::Poisson { .. } => "poisson",
            Pattern::Incast { .. } => "incast",
            Pattern::Replay(_) => "replay",
        }
    }
}

impl ArrivalsPlan {
    /// The nodes that may send and the nodes that may receive, each once.
    pub fn sides(&self) -> (Vec<usize>, Vec<usize>) {
        let (mut from, mut to): (Vec<usize>, Vec<usize>) = match (&self.pattern, &self.between) {
            (Pattern::Replay(flows), _) => flows.iter().map(|flow| (flow.from, flow.to)).unzip(),
            (Pattern::Incast { to: Some(to), .. }, Between::Hosts(hosts)) => (hosts.to_vec(), vec![*to]),
            (_, Between::Hosts(hosts)) => (hosts.to_vec(), hosts.to_vec()),
            (_, Between::Pairs(pairs)) => pairs.iter().copied().unzip(),
        };
        for nodes in [&mut from, &mut to] {
            nodes.sort_unstable();
            nodes.dedup();
        }
        (from, to)
    }
}

impl App for ArrivalsPlan {
    fn protocol(&self) -> Protocol {
        self.tcp.protocol()
    }
    fn tcp(&self) -> Option<&TcpPlan> {
        Some(&self.tcp)
    }
    fn arrivals(&self) -> Option<&ArrivalsPlan> {
        Some(self)
    }
    /// The pairs. If hosts are drawn, one pair a host represents all: each host with the one halfway round the list.
    fn ends(&self, _from: usize, _to: usize) -> Vec<(usize, usize)> {
        match &self.between {
            Between::Hosts(hosts) => {
                let n = hosts.len();
                (0..n).map(|i| (hosts[i], hosts[(i + n / 2) % n])).collect()
            }
            Between::Pairs(pairs) => pairs.to_vec(),
        }
    }
    fn kind_of_entry(&self) -> Option<&'static str> {
        Some(self.pattern.kind())
    }
}
