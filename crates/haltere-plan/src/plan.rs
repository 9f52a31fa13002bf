//! A plan: one run of an experiment with everything explicit.
//!
//! A plan names nodes and links by index, resolves queue limits, and includes the jitter of start times. A world needs
//! nothing else and does not read scenarios.

use crate::fault::Fault;
use crate::headers::ETHERNET_FRAMING;
use crate::jitter::Jitter;
use crate::link_queue::LinkQueue;
use crate::record::QueueSample;
use crate::varying::{Burst, Capacity, Varying};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use haltere_units::outside::{Origin, Outside};
use haltere_units::{Bytes, Dur, Prob, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::app::arrivals::{ArrivalsPlan, Between, Pattern};
pub use crate::app::bulk::BulkPlan;
pub use crate::app::cbr::CbrPlan;
pub use crate::app::ftp::{FtpPlan, Work};
pub use crate::app::multipath::{MultipathPlan, PathPlan};
pub use crate::app::on_off::OnOffPlan;
pub use crate::app::ping::PingPlan;
pub use crate::app::rpc::RpcPlan;
pub use crate::app::video::VideoPlan;
pub use crate::app::voip::VoipPlan;
pub use crate::app::web::WebPlan;
pub use crate::app::{AppPlan, TcpPlan};
pub use crate::rng::DurationDistribution;
use crate::rng::Rng;

/// One run in which every value is resolved and every random value of the experiment is drawn.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Plan {
    /// The random seed, from which every component's random stream follows.
    pub seed: u64,
    /// The run ends here.
    pub end: Time,
    /// Counters that say "after warm-up" begin here. They end with the run, or with [`Measure::until`].
    pub warmup: Time,
    /// Bytes that every packet carries on a link below IP (14 for Ethernet).
    pub framing: u32,
    /// The nodes by name; a node's index is its place here.
    pub nodes: Vec<String>,
    /// The links, one for each direction.
    pub links: Vec<LinkPlan>,
    /// The flows that are there from the start; one that stands for an arrival process counts as one.
    pub flows: Vec<FlowPlan>,
    /// If several paths have the fewest links, each flow takes one of them, by a hash of its ends and ports with the
    /// seed (see [`Routes::spread`](crate::Routes::spread)). Else all flows take the same.
    pub ecmp: bool,
    /// Changes of the routes during the run, in order of time. Until the first one packets take the routes over all
    /// links.
    pub reroutes: Vec<Reroute>,
    /// What is sampled, and how often.
    pub measure: Measure,
    /// Into how many parts the simulator cuts the network.
    #[serde(default, skip_serializing_if = "Parts::is_one")]
    pub parts: Parts,
    /// What mechanisms from outside the tree are made with, and where the run finds their first fault. A plan that was
    /// read has none.
    #[serde(skip)]
    pub outside: Outside,
}

/// Into how many parts the simulator cuts the network of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Parts {
    /// As many as pay on several cores.
    Auto(Auto),
    /// So many, or fewer if the network cannot be cut into so many. 1: it is not cut.
    Most(#[schemars(range(min = 1, max = 256))] u32),
}

/// `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Auto {
    /// The only value.
    Auto,
}

impl Default for Parts {
    fn default() -> Parts {
        Parts::Most(1)
    }
}

impl Parts {
    /// The network is not cut.
    pub fn is_one(&self) -> bool {
        *self == Parts::default()
    }
}

/// A change of the routes. If the links that are left do not join two nodes, packets between them keep the path that
/// they had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reroute {
    /// Packets that are sent from then on take these routes.
    pub at: Time,
    /// Indices of the links that the routes leave out.
    pub without: Vec<usize>,
}

impl Plan {
    /// Refuses queues that are not Haltere's, for a world that has no other.
    pub fn check_queues(&self) -> Result<(), Box<Fault>> {
        for link in &self.links {
            link.queue.ours().map_err(|e| Box::new(Fault::param(format!("link {}", link.name), e)))?;
        }
        Ok(())
    }
    /// The run of these nodes, links and flows until `end`, with seed 1, Ethernet framing, no warm-up, one path for all
    /// flows and no samples. Set another value with struct update: `Plan { seed, ..Plan::new(nodes, links, flows, end)
    /// }`.
    pub fn new(nodes: Vec<String>, links: Vec<LinkPlan>, flows: Vec<FlowPlan>, end: Time) -> Plan {
        Plan { seed: 1, end, framing: ETHERNET_FRAMING, nodes, links, flows, ..Plan::default() }
    }
    /// What the run gives each part that it makes.
    pub fn origin(&self) -> Origin {
        Origin { seed: self.seed, outside: self.outside.clone() }
    }
    /// When counters that say "after warm-up" end.
    pub fn measured_until(&self) -> Time {
        self.measure.until.map_or(self.end, |until| until.min(self.end))
    }
    /// The mean over the interval before a sample of what its link could carry, in bit/s. `None`: packets take no time.
    pub fn capacity_before(&self, sample: &QueueSample) -> Option<f64> {
        let interval = self.measure.queues?;
        let bits = self.links[sample.link as usize].capacity(sample.at.saturating_sub(interval), sample.at)?;
        Some(bits / interval.as_secs_f64())
    }
    /// The names `n0`, `n1`, ... of so many nodes, as [`LinkPlan::plain`] uses them.
    pub fn node_names(count: usize) -> Vec<String> {
        (0..count).map(|i| format!("n{i}")).collect()
    }
}

/// One direction of a link.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LinkPlan {
    /// Name for results and seeds, e.g. `n2>n3`.
    pub name: String,
    /// Index of the node that sends.
    pub from: usize,
    /// Index of the node that receives.
    pub to: usize,
    /// The rate; if the line varies, its mean. `None`: packets take no time.
    pub rate: Option<Rate>,
    /// Propagation time; with `varying` until the first step.
    pub delay: Dur,
    /// What changes during the run. `None`: nothing.
    pub varying: Option<Box<Varying>>,
    /// What is added to each packet's delay; with `varying` until the first step. Packets keep their order.
    pub jitter: Jitter,
    /// Probability that the line loses a packet.
    pub loss: Prob,
    /// The discipline of the queue in front of the line.
    pub queue: LinkQueue,
    /// The device's own ring under the discipline, in packets, as ns-3 and NICs have. `None`: no ring.
    pub ring: Option<u32>,
    /// A packet leaves the line when its transmission starts instead of when it ends, as with Linux's shapers `htb` and
    /// `tbf`. The line is busy for the whole transmission in either case.
    pub handover_at_start: bool,
    /// What an idle line saves up, like the depth of a token bucket: so many bytes of the next busy period take no
    /// time.
    pub burst: Bytes,
    /// Least length that a packet takes on the line. A processor with the same work for every packet has that of a full
    /// packet.
    pub mpu: Bytes,
    /// What else the line does to packets. `None`: nothing.
    pub impairments: Option<Box<Impairments>>,
    /// The queue of this link is sampled and reported.
    pub watched: bool,
    /// Count how many packets each packet leaves behind in the queue:
    /// [`LinkRecord::depths`](crate::record::LinkRecord::depths).
    pub count_depths: bool,
    /// Index of the node at which packets start that the queue emits. `None`: the node that sends.
    pub emits_at: Option<usize>,
    /// Median round-trip time, without queues, of the flows over this link, for `bdp`.
    pub rtt: Option<Dur>,
}

/// What a line does to some packets besides random loss.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Impairments {
    /// Probability that a packet is held back by `reorder_by`, so that later packets overtake it.
    pub reorder: Prob,
    /// How long such a packet is held back.
    pub reorder_by: Dur,
    /// Packets overtake each other if the jitter differs or the delay falls.
    #[serde(default)]
    pub overtake: bool,
    /// Probability that the line delivers a packet twice. The copy takes no time on the line.
    pub duplicate: Prob,
    /// Packets that the line loses, in ascending order. The first packet that it takes has number 1.
    pub lose: Vec<u64>,
    /// Loss in bursts. `None`: no such loss.
    pub gilbert_elliott: Option<GilbertElliott>,
    /// When the link is down, in order of time: it loses what is on the line or in flight then.
    pub failures: Vec<Failure>,
}

/// Loss by a chain of two states, good and bad: see [`link`](crate::link::Losses).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GilbertElliott {
    /// Probability that the state changes from good to bad, for each packet.
    pub p: Prob,
    /// Probability that it changes from bad to good.
    pub r: Prob,
    /// Probability of loss in the good state (1 - k).
    pub loss_good: Prob,
    /// Probability of loss in the bad state (1 - h).
    pub loss_bad: Prob,
}

impl GilbertElliott {
    /// Share of packets that are lost in the long run. `p` and `r` are not both zero.
    pub fn loss(&self) -> f64 {
        let [p, r, good, bad] = [self.p, self.r, self.loss_good, self.loss_bad].map(Prob::as_f64);
        (r * good + p * bad) / (p + r)
    }
}

/// A failure of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The link is down from then on.
    pub at: Time,
    /// It is up again from then on.
    pub until: Time,
}

impl LinkPlan {
    /// The link `n0>n1` from node `from` to node `to`, with a rate, a delay and a queue and no other property. Set
    /// others with struct update: `LinkPlan { loss, ..LinkPlan::plain(...) }`.
    pub fn plain(from: usize, to: usize, rate: Option<Rate>, delay: Dur, queue: impl Into<LinkQueue>) -> LinkPlan {
        LinkPlan { name: format!("n{from}>n{to}"), from, to, rate, delay, queue: queue.into(), ..LinkPlan::default() }
    }
    /// Index of the node at which packets start that the queue emits.
    pub fn emission_node(&self) -> usize {
        self.emits_at.unwrap_or(self.from)
    }
    /// What an idle line saves up: the burst, and its time at the link's rate.
    pub fn saved_up(&self) -> Burst {
        Burst { bytes: self.burst, time: self.rate.map_or(Dur::ZERO, |rate| rate.time_for(self.burst)) }
    }
    /// The delay of packets differs. Then a packet might overtake the one before it, which a link prevents without
    /// `overtake`.
    pub fn delay_differs(&self) -> bool {
        let changes = |varying: &Varying| {
            let replayed = matches!(varying.capacity, Capacity::TwoTraces(_));
            replayed || varying.delay.is_some() || varying.jitter.is_some()
        };
        !self.jitter.is_zero() || self.varying.as_deref().is_some_and(changes)
    }
    /// What the line carries from one instant to another, in bits. `None`: packets take no time.
    pub fn capacity(&self, from: Time, to: Time) -> Option<f64> {
        match &self.varying {
            Some(varying) => varying.capacity.bits(from, to),
            None => Capacity::Constant(self.rate).bits(from, to),
        }
    }
}

/// A flow: who sends to whom, when, and what it does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowPlan {
    /// Name for results and seeds: that of its traffic entry (`bulk1`). If the entry has several flows, the nodes
    /// follow (`bulk1:c2>s2`), and from the second flow between the same nodes its number (`bulk1:c2>s2#2`).
    pub name: String,
    /// Index of its traffic entry, the `[[traffic]]` table in the experiment file.
    pub group: usize,
    /// Index of the node that sends the data.
    pub from: usize,
    /// Index of the node that receives the data.
    pub to: usize,
    /// When it starts, jitter included.
    pub start: Time,
    /// When its application stops, if before the end.
    pub stop: Option<Time>,
    /// The DSCP of its packets.
    pub dscp: u8,
    /// What it does: the explicit plan of its traffic kind.
    pub app: AppPlan,
}

impl FlowPlan {
    /// The flow of that name, which starts at time zero, does not stop before the end, and belongs to the first group.
    pub fn new(name: impl Into<String>, from: usize, to: usize, app: AppPlan) -> FlowPlan {
        FlowPlan { name: name.into(), group: 0, from, to, start: Time::ZERO, stop: None, dscp: 0, app }
    }
    /// Name of its traffic entry: the flow's own name up to the colon.
    pub fn group_name(&self) -> &str {
        self.name.split(':').next().unwrap_or(&self.name)
    }
    /// The random stream of a part of the flow's application.
    pub fn stream(&self, seed: u64, what: &str) -> Rng {
        Rng::new(seed, &format!("{}/{what}", self.name))
    }
}

/// What is measured. The default is nothing but counters.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Measure {
    /// Interval of the watched queues' time series. `None`: not at all.
    pub queues: Option<Dur>,
    /// Interval of the flows' time series. `None`: not at all.
    pub flows: Option<Dur>,
    /// Counters that say "after warm-up" end here. `None`: with the run.
    pub until: Option<Time>,
    /// Delays: of packets in watched queues, of round trips, and one-way of UDP.
    pub delays: bool,
    /// Inner variables of disciplines and controls with their units, at the intervals of the time series.
    pub state: bool,
    /// What senders do, for qlog.
    pub senders: bool,
    /// Links whose packets are written to a capture file, as indices in ascending order.
    pub captured: Vec<usize>,
    /// Bytes of each packet that a capture file keeps. `None`: all.
    pub snaplen: Option<u32>,
    /// Links whose packets are logged, as indices in ascending order.
    pub logged: Vec<usize>,
}

impl Measure {
    /// The key of the experiment file of the first measure that only the simulator has, if one is asked for.
    pub fn of_simulator(&self) -> Option<&'static str> {
        let asked = [
            (self.until.is_some(), "window (or cooldown)"),
            (self.delays, "delays"),
            (self.state, "state"),
            (self.senders, "qlog"),
            (!self.captured.is_empty(), "pcap"),
            (!self.logged.is_empty(), "packets"),
        ];
        asked.into_iter().find(|(asked, _)| *asked).map(|(_, key)| key)
    }
}
