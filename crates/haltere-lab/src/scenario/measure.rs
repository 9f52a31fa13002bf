//! `[measure]`: what is measured while an experiment runs, and how it is summed up.

use crate::error::{Fault, FaultKind, ScenarioError};
use crate::keys::{defaults, kind};
use crate::names::{did_you_mean, listed};
use crate::schema::short_or_table;
use haltere_plan::plan::{LinkPlan, Measure};
use haltere_units::{Bytes, Dur, Prob, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is measured while it runs, and how it is summed up. The default is counters, and samples of queues and flows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MeasureSpec {
    /// Interval of the watched queues' time series, or `off`.
    pub queues: Every,
    /// Interval of the flows' time series, or `off`.
    pub flows: Every,
    /// True: count how many packets each packet leaves behind when it leaves a watched queue (the depth at dequeue).
    /// The table `depths` and the metrics `depth`, `depth_p50` and `depth_p95` show it.
    pub depths: bool,
    /// The part of the run that statistics take, from the first time to the second, instead of all that follows the
    /// warm-up. Columns that end in `_after_warmup`, metrics and tables of delays are of this part. Time series are of
    /// the whole run. Simulator only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<[Dur; 2]>,
    /// True: measure delays. Of watched links the sojourn time of each packet, of TCP flows each sample of the
    /// round-trip time, of `cbr` the one-way delay, jitter and loss. The tables `delay_summary` and `delay_bins` and
    /// the metrics `sojourn_p50`, `rtt_p95`, `one_way_p99`, `one_way_jitter` and their like show them. Simulator only.
    pub delays: bool,
    /// True: record inner variables of queue disciplines and congestion controls at the intervals of the time series:
    /// CoDel's `count` and `drop_next`, PIE's `drop_prob`, BBR's `state` and `bw`, CUBIC's `w_max`, `ssthresh`. The
    /// tables `queue_state` and `flow_state` and the timeline show them. Simulator only.
    pub state: bool,
    /// True: write what the TCP senders do to `senders.qlog`, one trace a flow, and keep the qlogs that transport stacks
    /// write themselves, two a connection. Simulator only.
    pub qlog: bool,
    /// Links whose packets are written to a capture file (pcapng) of that name, such as `["left>right"]`. Payload is
    /// zeros. Simulator only.
    pub pcap: Vec<String>,
    /// Bytes of each packet that a capture file keeps: enough for all headers. With the length of a full packet, tools
    /// can check checksums.
    pub snaplen: Bytes,
    /// Links whose packets are logged in the table `packets`, such as `["left>right"]`: time, flow, bytes, sojourn
    /// time, fate. Simulator only.
    pub packets: Vec<String>,
    /// Sizes that divide flows into ranges, in ascending order. Flow completion times are given for each range. If none
    /// is given, they are 100 kB and 10 MB.
    pub size_bins: Vec<Bytes>,
    /// What `convergence` means: see `haltere explain convergence`.
    pub convergence: Convergence,
    /// Metrics of your own by name, such as `{ deep = "SELECT max(packets) FROM queue_series" }`: a query in SQL over
    /// the tables of one run, which returns one number. They are metrics like others: in summaries, reports,
    /// `precision`, `haltere plot` and comparisons.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "metrics")]
    pub metrics: BTreeMap<String, OwnMetric>,
}

impl Default for MeasureSpec {
    fn default() -> MeasureSpec {
        MeasureSpec {
            queues: Every::Interval(Dur::from_ms(10)),
            flows: Every::Interval(Dur::from_ms(100)),
            depths: false,
            window: None,
            delays: false,
            state: false,
            qlog: false,
            pcap: Vec::new(),
            snaplen: snaplen(),
            packets: Vec::new(),
            size_bins: Vec::new(),
            convergence: Convergence::default(),
            metrics: BTreeMap::new(),
        }
    }
}

defaults! {
    /// Ethernet, IPv4 and the longest TCP header.
    snaplen: Bytes = Bytes::new(96);
}

/// When flows have converged: the first time from which each flow's rate stays within this part of the fair share. The
/// fair share is the mean of the rates of the flows that are compared. Time counts from the start of the last of them.
/// After RFC 5166, which names convergence times among the metrics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Convergence {
    /// How far a rate may be from the fair share, as a part of it.
    pub within: Prob,
    /// How long it must stay there.
    pub hold: Dur,
    /// Time over which rates are averaged.
    pub average: Dur,
}

impl Default for Convergence {
    fn default() -> Convergence {
        Convergence {
            within: Prob::new(0.2).unwrap_or(Prob::ZERO),
            hold: Dur::from_secs(2),
            average: Dur::from_ms(500),
        }
    }
}

/// A metric of your own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MetricTable")]
pub struct OwnMetric {
    /// A query in DuckDB's SQL over the tables of one run. It returns one row with one number, or null. The table
    /// `span` has the columns `from_ns` and `to_ns`: the part of the run that statistics take.
    pub sql: String,
    /// Its unit.
    #[serde(default)]
    pub unit: String,
    /// What it is, in a few words.
    #[serde(default)]
    pub about: String,
    /// Which direction is better: `higher`, `lower` or `neither`.
    #[serde(default)]
    pub better: Better,
}

/// Metrics by name, each a table or its `sql` alone.
fn metrics(generator: &mut SchemaGenerator) -> Schema {
    let metric = short_or_table::<String, OwnMetric>("sql", generator);
    json_schema!({ "type": "object", "additionalProperties": metric })
}

/// Which direction of a metric is better.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither.
    #[default]
    Neither,
}

/// Keys that change no run, only what is read off it: they are no part of a run's name.
pub(super) const AFTERWARDS: [&str; 3] = ["size_bins", "convergence", "metrics"];

impl MeasureSpec {
    /// Rules beside those of single keys.
    pub(crate) fn check(&self, duration: Dur, warmup: Dur) -> Result<(), ScenarioError> {
        let refuse = |name: &str, rule: String, got: String| Fault::new("measure", name, rule, got);
        for (name, every) in [("queues", self.queues), ("flows", self.flows)] {
            if let Some(interval) = every.interval().filter(|interval| *interval < Dur::from_us(1)) {
                let fault = refuse(name, "at least 1us".into(), interval.to_string());
                return Err(fault.hint("`off` samples nothing").out_of_range());
            }
        }
        if let Some([from, to]) = self.window {
            if from >= to || to > duration {
                let rule = format!("a time and a later one, up to the duration of {duration}");
                return Err(refuse("window", rule, format!("{from} and {to}")).out_of_range());
            }
            if !warmup.is_zero() && warmup != from {
                let rule = "left out beside a `warmup`, or begin with it".into();
                return Err(refuse("window", rule, format!("{from} and {to}")).out_of_range());
            }
        }
        if self.snaplen < Bytes::new(64) || self.snaplen > Bytes::new(1 << 18) {
            return Err(refuse("snaplen", "from 64B to 262144B".into(), self.snaplen.to_string()).out_of_range());
        }
        if self.size_bins.windows(2).any(|pair| pair[0] >= pair[1]) || self.size_bins.first() == Some(&Bytes::ZERO) {
            let got: Vec<String> = self.size_bins.iter().map(Bytes::to_string).collect();
            return Err(refuse("size_bins", "above zero and in ascending order".into(), got.join(", ")).out_of_range());
        }
        let Convergence { within, hold, average } = self.convergence;
        let within = within.as_f64();
        if within <= 0.0 || within >= 1.0 || hold.is_zero() || average.is_zero() {
            let got = format!("{} %, {hold} and {average}", within * 100.0);
            let rule = "a part above 0 and below 100 %, and times above zero".into();
            return Err(refuse("convergence", rule, got).out_of_range());
        }
        let is_name = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_lowercase())
                && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        };
        match self.metrics.keys().find(|name| !is_name(name)) {
            Some(name) => {
                let rule = "names of small letters, digits and `_`";
                Err(Fault::new("measure", "metrics", rule, format!("`{name}`")).out_of_range())
            }
            None => Ok(()),
        }
    }
    /// What the plan says of it.
    pub(crate) fn plan(&self, links: &[LinkPlan]) -> Result<Measure, ScenarioError> {
        Ok(Measure {
            queues: self.queues.interval(),
            flows: self.flows.interval(),
            until: self.window.map(|[_, to]| Time::from_ns(to.as_ns())),
            delays: self.delays,
            state: self.state,
            senders: self.qlog,
            captured: indices("pcap", &self.pcap, links)?,
            snaplen: u32::try_from(self.snaplen.as_u64()).ok(),
            logged: indices("packets", &self.packets, links)?,
        })
    }
}

/// The links of those names, in the plan's order, each once.
fn indices(key: &str, names: &[String], links: &[LinkPlan]) -> Result<Vec<usize>, ScenarioError> {
    let known = || links.iter().map(|link| link.name.as_str()).collect::<Vec<_>>();
    let mut found = Vec::new();
    for name in names {
        match links.iter().position(|link| link.name == *name) {
            Some(index) => found.push(index),
            None => {
                let fault = Fault::new(
                    "measure",
                    key,
                    format!("links of the network: {}", listed(&known())),
                    format!("`{name}`"),
                );
                return Err(fault.hint(did_you_mean(name, &known())).unknown_name());
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

kind! {
    /// The word `off`.
    Off, Off, "off"
}

/// An interval, or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Every {
    /// Never.
    Off(Off),
    /// Each time after so long.
    Interval(Dur),
}

impl Every {
    /// The interval; `None`: never.
    pub fn interval(self) -> Option<Dur> {
        if let Every::Interval(interval) = self { Some(interval) } else { None }
    }
}
