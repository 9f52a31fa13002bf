//! Nodes and links, as written in an experiment file.

use super::overrides::Overrides;
use super::trace::TraceSpec;
use haltere_queue::QueueParams;
use haltere_units::{Bytes, Dur, Prob, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nodes and links: exactly one of these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "there is one in an experiment")]
pub enum Topology {
    /// Pairs of hosts on both sides of one bottleneck.
    Dumbbell(Dumbbell),
    /// Nodes in a row.
    Chain(Chain),
    /// Hosts around one switch whose processor all packets share.
    Switch(Switch),
    /// Hosts at leaf switches, each of which is joined to every spine switch.
    LeafSpine(LeafSpine),
    /// Hosts under three tiers of equal switches.
    FatTree(FatTree),
    /// Two interfaces at each end, one path alone and two over one bottleneck.
    Multipath(TwoByTwo),
    /// Any nodes and links.
    Graph(Graph),
}

impl Topology {
    /// The names of all topologies.
    pub const NAMES: &'static [&'static str] =
        &["dumbbell", "chain", "switch", "leaf_spine", "fat_tree", "multipath", "graph"];
}

/// Pairs of hosts, `c1` .. `cN` and `s1` .. `sN`, on both sides of one bottleneck between the switches `left` and `right`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Dumbbell {
    /// Number of pairs.
    #[schemars(range(min = 1, max = 100_000))]
    pub pairs: u32,
    /// The link of each host to its switch; `reverse` is the direction from the switch to the host.
    pub access: Link,
    /// The link from `left` to `right`; `reverse` is the direction from `right` to `left`.
    pub bottleneck: Link,
    /// The pairs' round-trip times without queues are spread evenly over plus and minus this part of the middle one, by
    /// the delay of their access links; which pair gets which is drawn with the seed.
    #[serde(default)]
    pub rtt_spread: Prob,
}

/// Nodes in a row, each joined to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Chain {
    /// The links in order; `reverse` is the direction from the later node to the earlier.
    #[schemars(length(min = 1))]
    pub links: Vec<Link>,
    /// Names of the nodes, one more than links; `n1`, `n2`, ... where not given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
}

/// Hosts, `h1` .. `hN`, around one switch in which every packet, whatever its output, waits for the same processor, as
/// in a software switch (BMv2). The switch is two nodes: packets come in at `switch` and leave from `switch.out`; the
/// processor is the link `switch>switch.out` between them. What its queue returns to the sender starts at `switch`, so it goes
/// through the processor, too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Switch {
    /// Number of hosts.
    #[schemars(range(min = 2, max = 100_000))]
    pub hosts: u32,
    /// The link of each host to the switch; `reverse` is the direction from the switch to the host.
    pub link: Link,
    /// What every packet passes between its input and its output.
    pub processor: Processor,
}

/// The processor of a switch: how fast it is, in bit/s or in packets, and the queue in front of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Processor {
    /// Bits that it handles in a second. Not with `packet_rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Packets that it handles in a second, of up to 1500 bytes each with the same work. Above 0. Not with `rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_rate: Option<f64>,
    /// The discipline of the queue in front of it.
    pub queue: QueueParams,
}

impl Default for Processor {
    fn default() -> Processor {
        Processor { rate: None, packet_rate: None, queue: default_queue() }
    }
}

/// Hosts, `h1` .. `hN` from leaf to leaf, at the switches `leaf1` .., each of which is joined to every one of `spine1` ... Each flow
/// takes one of the shortest paths by a hash of its ends and ports with the seed (ECMP).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeafSpine {
    /// Number of leaf switches.
    #[schemars(range(min = 1, max = 10_000))]
    pub leaves: u32,
    /// Number of spine switches.
    #[schemars(range(min = 1, max = 10_000))]
    pub spines: u32,
    /// Hosts at each leaf.
    #[schemars(range(min = 1, max = 10_000))]
    pub hosts: u32,
    /// The link of each host to its leaf; `reverse` is the direction to the host.
    pub access: Link,
    /// The link of each leaf to each spine; `reverse` is the direction to the leaf.
    pub fabric: Link,
}

/// A fat tree of switches with `k` ports: k pods of k/2 edge switches (`edge1.1`, pod and number) with k/2 hosts each and k/2
/// aggregation switches (`agg1.1`), and k^2/4 core switches (`core1`); k^3/4 hosts, `h1` and on from pod to pod (Al-Fares,
/// Loukissas, Vahdat, SIGCOMM 2008). Each flow takes one of the shortest paths by a hash of its ends and ports with the seed (ECMP).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FatTree {
    /// Ports of each switch, an even number.
    #[schemars(range(min = 2, max = 64))]
    pub k: u32,
    /// The link of each host to its edge switch; `reverse` is the direction to the host.
    pub access: Link,
    /// Each link between switches; `reverse` is the direction towards the hosts.
    pub fabric: Link,
}

/// A source with two interfaces, `s1` (Wi-Fi, behind `r1`) and `s2` (cellular, behind `r2`), and a destination with two, `d1` and
/// `d2`: figure 5 and table 1 of Felix et al. on redundant scheduling over uncorrelated paths. Path A, `s1` to `d1`, is alone; B,
/// `s1` to `d2`, and C, `s2` to `d1`, share the bottleneck from `r3` to `r4`. A pair of hosts with two interfaces each, `x1` and
/// `x2`, `y1` and `y2`, stands at the bottleneck for a connection that competes there. What is written of a link replaces
/// that part of table 1; of `r4` to `d1` and `d2` it is the two links of the figure in one, so that no packet goes
/// round the bottleneck.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TwoByTwo {
    /// From `r1` to `r5`: `150Mbit`, `5ms`, loss of `0.001%`.
    #[serde(skip_serializing_if = "Overrides::is_empty")]
    pub wifi: Overrides<Link>,
    /// From `r2` to `r6`: `100Mbit`, `15ms`, loss of `0.0001%`.
    #[serde(skip_serializing_if = "Overrides::is_empty")]
    pub cellular: Overrides<Link>,
    /// From `r3` to `r4`: `20Mbit`, `40ms`, loss of `0.001%`.
    #[serde(skip_serializing_if = "Overrides::is_empty")]
    pub bottleneck: Overrides<Link>,
    /// All other links: `100Mbit`, `1ms`, no loss.
    #[serde(skip_serializing_if = "Overrides::is_empty")]
    pub others: Overrides<Link>,
}

/// Any nodes and links. A packet takes the path of the fewest links, of these the least delay, of these the one given
/// first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Graph {
    /// Names of the nodes.
    #[schemars(length(min = 2))]
    pub nodes: Vec<String>,
    /// The links.
    #[schemars(length(min = 1))]
    pub links: Vec<GraphLink>,
}

/// A link of a graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GraphLink {
    /// Name of the node at one end.
    pub from: String,
    /// Name of the node at the other end.
    pub to: String,
    /// What the link is.
    #[serde(flatten)]
    pub link: Link,
}

/// A link with a queue in front of each direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Link {
    /// Rate of each direction; without it packets take no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// In the place of a rate: the name of a file with the times at which a packet can be delivered (Mahimahi's format), or
    /// a table with it. A wireless link behaves so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceSpec>,
    /// Steps of rate and delay: `[{ at = "10s", rate = "5Mbit" }, { at = "20s", rate = "10Mbit", delay = "30ms" }]`. Until the
    /// first step, and where no step has said otherwise, `rate` and `delay` hold.
    #[schemars(length(max = 100_000))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<Step>,
    /// The schedule begins again after so long; without it the last step stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule_repeat: Option<Dur>,
    /// Propagation time of each direction.
    pub delay: Dur,
    /// Each packet is under way longer by a span drawn uniformly from zero to this; order is kept. Real hosts have some.
    /// Without any, equal rates keep step for ever, and which flow finds room in a full drop-tail queue is decided by phase,
    /// not by share (Floyd and Jacobson 1992): about the time of a full packet at the bottleneck undoes that.
    pub jitter: Dur,
    /// Chance that a packet is lost on the line.
    pub loss: Prob,
    /// The discipline of the queue in front of the line.
    pub queue: QueueParams,
    /// The device's own first-in first-out ring under the discipline, in packets (`100p`); none where not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ring: Option<Size>,
    /// When a packet is handed on: when its transmission ends, or when it starts, as Linux's `htb` and `tbf` shapers do.
    pub handover: Handover,
    /// What an idle line saves up: so many bytes of the next busy time take no time on the line, as with a token bucket of
    /// that depth. Linux's `htb` (with `handover = "start"`) and `tbf` (with `"end"`) need at least a full frame.
    pub burst: Bytes,
    /// Sample and report this queue. Where not given: the bottleneck of a dumbbell; of the others the slowest links, and
    /// those whose queue is not the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watch: Option<bool>,
    /// What is different in the other direction.
    #[serde(skip_serializing_if = "Overrides::is_empty")]
    pub reverse: Overrides<Link>,
}

impl Default for Link {
    fn default() -> Link {
        Link {
            rate: None,
            trace: None,
            schedule: Vec::new(),
            schedule_repeat: None,
            delay: Dur::ZERO,
            jitter: Dur::ZERO,
            loss: Prob::ZERO,
            queue: default_queue(),
            ring: None,
            handover: Handover::End,
            burst: Bytes::ZERO,
            watch: None,
            reverse: Overrides::default(),
        }
    }
}

/// From when on a link has another rate or delay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// When it begins, from the start of the run or of the round.
    pub at: Dur,
    /// The rate from then on; `0bit`: nothing leaves. A packet on the line goes on at the new rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The propagation time of what leaves from then on; no packet overtakes another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Dur>,
}

/// The queue of a link that names none.
pub(crate) fn default_queue() -> QueueParams {
    QueueParams::default_of("drop_tail").expect("the registry holds drop_tail")
}

/// When a packet is handed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Handover {
    /// When its transmission ends.
    End,
    /// When its transmission starts.
    Start,
}
