//! A plan: one run of an experiment with everything made explicit.
//!
//! A world needs nothing else: node and link indices, resolved queue limits, start times with their
//! jitter drawn. Worlds do not read scenarios.

use crate::sizes::SizeDistribution;
use crate::varying::{Capacity, Varying};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use haltere_congestion::CongestionParams;
use haltere_queue::QueueParams;
use haltere_transport::TcpParams;
use haltere_transport::multipath::MultipathParams;
use haltere_units::{Bytes, Dur, Prob, Rate, Time};
use serde::{Deserialize, Serialize};

/// One run, explicit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The seed from which every component's stream of randomness is derived.
    pub seed: u64,
    /// The run ends here.
    pub end: Time,
    /// Counters that say "after warm-up" begin here.
    pub warmup: Time,
    /// Bytes that every packet carries on a link below IP (14 for Ethernet).
    pub framing: u32,
    /// The nodes by name; a node's index is its place here.
    pub nodes: Vec<String>,
    /// The links, one for each direction.
    pub links: Vec<LinkPlan>,
    /// The flows.
    pub flows: Vec<FlowPlan>,
    /// Where several paths have the fewest links, each flow takes one of them, by a hash of its ends and ports with the seed
    /// (see [`Routes::spread`](crate::Routes::spread)); else all take the same.
    pub ecmp: bool,
    /// What is sampled, and how often.
    pub measure: Measure,
}

/// One direction of a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkPlan {
    /// Name for results and seeds, e.g. `n2>n3`.
    pub name: String,
    /// Index of the node that sends.
    pub from: usize,
    /// Index of the node that receives.
    pub to: usize,
    /// Rate, of a line that varies its mean; `None`: packets take no time.
    pub rate: Option<Rate>,
    /// Propagation time; with `varying` that until the first step.
    pub delay: Dur,
    /// What changes in the course of the run; `None`: nothing.
    pub varying: Option<Box<Varying>>,
    /// Each packet is under way longer by a span drawn uniformly from zero to this; order is kept.
    pub jitter: Dur,
    /// Chance that a packet is lost on the way.
    pub loss: Prob,
    /// The discipline of the queue in front of the line.
    pub queue: QueueParams,
    /// The device's own ring under the discipline, in packets, as ns-3 and NICs have; `None`: no ring.
    pub ring: Option<u32>,
    /// Packets are handed on when their transmission starts instead of when it ends, as Linux's `htb` and `tbf`
    /// shapers do; the line stays busy for the whole transmission all the same.
    pub handover_at_start: bool,
    /// What an idle line saves up: so many bytes of the next busy time take no time on the line, as a token bucket's depth
    /// does.
    pub burst: Bytes,
    /// Least length that a packet takes on the line, however short it is: a processor with the same work for every packet has
    /// a full packet's.
    pub mpu: Bytes,
    /// The queue of this link is sampled and reported.
    pub watched: bool,
    /// Round-trip time without queues of the flows over this link (the median), for `bdp`.
    pub rtt: Option<Dur>,
}

impl LinkPlan {
    /// The link from node `from` to node `to`, `n0>n1` by name, with nothing but a rate, a delay and a queue.
    pub fn plain(from: usize, to: usize, rate: Option<Rate>, delay: Dur, queue: QueueParams) -> LinkPlan {
        LinkPlan {
            name: format!("n{from}>n{to}"),
            from,
            to,
            rate,
            delay,
            varying: None,
            jitter: Dur::ZERO,
            loss: Prob::ZERO,
            queue,
            ring: None,
            handover_at_start: false,
            burst: Bytes::ZERO,
            mpu: Bytes::ZERO,
            watched: false,
            rtt: None,
        }
    }
    /// Time on the line that an idle line saves up: that of the burst at the link's rate.
    pub fn saved_up(&self) -> Dur {
        self.rate.map_or(Dur::ZERO, |rate| rate.time_for(self.burst))
    }
    /// The delay of packets differs. Then a packet might overtake the one before it, which a link prevents.
    pub fn delay_differs(&self) -> bool {
        !self.jitter.is_zero() || self.varying.as_ref().is_some_and(|varying| varying.delay.is_some())
    }
    /// What the line carries from one instant to another, in bits; `None` where packets take no time.
    pub fn capacity(&self, from: Time, to: Time) -> Option<f64> {
        match &self.varying {
            Some(varying) => varying.capacity.bits(from, to),
            None => Capacity::Constant(self.rate).bits(from, to),
        }
    }
}

/// One flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowPlan {
    /// Name for results and seeds: that of its traffic entry (`bulk1`), and where the entry has several flows, its
    /// nodes (`bulk1:c2>s2`) and from the second between the same nodes its number (`bulk1:c2>s2#2`).
    pub name: String,
    /// Group of flows that came from one `[[traffic]]` entry (index).
    pub group: usize,
    /// Index of the node that sends the data.
    pub from: usize,
    /// Index of the node that receives the data.
    pub to: usize,
    /// When it starts, jitter included.
    pub start: Time,
    /// When its application stops, if before the end.
    pub stop: Option<Time>,
    /// What it does.
    pub app: AppPlan,
}

impl FlowPlan {
    /// Name of the traffic entry from which the flow came: the flow's own name up to the colon.
    pub fn group_name(&self) -> &str {
        self.name.split(':').next().unwrap_or(&self.name)
    }
}

/// What a flow does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AppPlan {
    /// TCP: a sender with always something to send, or with `bytes` in all.
    Bulk {
        /// Both endpoints.
        tcp: TcpPlan,
        /// Bytes to send in all; `None`: endless.
        bytes: Option<Bytes>,
    },
    /// TCP: a source that writes at a rate while on.
    OnOff {
        /// Both endpoints.
        tcp: TcpPlan,
        /// The rate at which it writes while on.
        rate: Rate,
        /// Bytes of one write.
        chunk: Bytes,
        /// How long it is on.
        on: DurationDistribution,
        /// How long it is off.
        off: DurationDistribution,
    },
    /// UDP at a constant rate.
    Cbr {
        /// Payload rate.
        rate: Rate,
        /// Payload bytes of a packet.
        packet: Bytes,
        /// Packets are ECN-capable.
        ecn: bool,
    },
    /// ICMP echo request and reply.
    Ping {
        /// Time between requests.
        interval: Dur,
        /// Payload bytes (56 as ping(8)).
        payload: Bytes,
        /// Packets are ECN-capable.
        ecn: bool,
    },
    /// Files uploaded by FTP, one task after the other.
    Ftp(FtpPlan),
    /// A stream over several paths.
    Multipath(Box<MultipathPlan>),
    /// TCP flows of limited size between several hosts, which start and end during the run; the flow's own ends count for
    /// nothing.
    Arrivals(Box<ArrivalsPlan>),
}

/// TCP flows that start during the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArrivalsPlan {
    /// Both endpoints of each flow.
    pub tcp: TcpPlan,
    /// Indices of the nodes between which they run, two at least.
    pub hosts: Arc<[usize]>,
    /// When they start and between whom.
    pub pattern: Pattern,
    /// How large they are.
    pub sizes: SizeDistribution,
    /// No more than so many; `None`: until the entry stops.
    pub max_flows: Option<u64>,
}

/// When flows start, and between whom.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Pattern {
    /// After spans drawn from an exponential law with this mean, each between two hosts drawn anew.
    Poisson {
        /// The mean span from one to the next.
        gap: Dur,
    },
    /// In rounds: several hosts send to one at a time.
    Incast {
        /// Index of the node to which they send; `None`: drawn for each round.
        to: Option<usize>,
        /// How many send; more than there are other hosts: some several times.
        senders: u32,
        /// From one round to the next.
        interval: Dur,
        /// Each flow starts later by a span drawn uniformly from zero to this.
        jitter: Dur,
    },
}

/// A stream over several paths.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MultipathPlan {
    /// Endpoints of every subflow.
    pub tcp: TcpPlan,
    /// The connection.
    pub multipath: MultipathParams,
    /// The paths in the order of joining; the first is the flow's own.
    pub paths: Vec<PathPlan>,
    /// Rate at which the application writes; `None`: it always has something to send.
    pub rate: Option<Rate>,
    /// Bytes of one write, where there is a rate.
    pub packet: Bytes,
    /// Bytes in all; `None`: endless.
    pub bytes: Option<Bytes>,
}

/// One path of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PathPlan {
    /// Index of the node that is the sender's interface.
    pub from: usize,
    /// Index of the node that is the receiver's.
    pub to: usize,
    /// When its subflow joins; `None`: with the others.
    pub join: Option<Time>,
    /// When it leaves.
    pub leave: Option<Time>,
    /// From when on nothing passes.
    pub cut: Option<Time>,
}

/// Files uploaded by FTP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FtpPlan {
    /// Endpoints of every connection.
    pub tcp: TcpPlan,
    /// Which files.
    pub work: Work,
    /// Packets of tasks with files up to this are marked short, the others long.
    pub short: Bytes,
}

/// The files of one FTP flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Work {
    /// One file of that size.
    One(Bytes),
    /// Files drawn from these sizes, each when the last is done.
    Loop(Arc<[Bytes]>),
}

/// Both endpoints of a TCP flow. The flows of one entry share their parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TcpPlan {
    /// The sender's control.
    pub congestion: Arc<CongestionParams>,
    /// The sender's endpoint.
    pub sender: Arc<TcpParams>,
    /// The receiver's endpoint.
    pub receiver: Arc<TcpParams>,
}

impl TcpPlan {
    /// Two endpoints with the same parameters.
    pub fn alike(congestion: impl Into<Arc<CongestionParams>>, host: impl Into<Arc<TcpParams>>) -> TcpPlan {
        let (congestion, sender) = (congestion.into(), host.into());
        TcpPlan { congestion, receiver: sender.clone(), sender }
    }
}

/// A law of random spans.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum DurationDistribution {
    /// Always this long.
    Constant(Dur),
    /// Exponential with this mean.
    Exponential(Dur),
    /// Uniform between the two.
    Uniform(Dur, Dur),
    /// Pareto with this mean and shape.
    Pareto(Dur, f64),
}

/// What is sampled, and how often; `None`: not at all.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Measure {
    /// Interval of the watched queues' time series.
    pub queues: Option<Dur>,
    /// Interval of the flows' time series.
    pub flows: Option<Dur>,
}
