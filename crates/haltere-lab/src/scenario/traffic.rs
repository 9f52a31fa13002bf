//! What is sent, as written in an experiment file.

use super::arrivals::{Incast, Permutation, Poisson};
use super::ftp::Ftp;
use super::multipath::Multipath;
use super::overrides::Overrides;
use haltere_congestion::CongestionParams;
use haltere_transport::TcpParams;
use haltere_units::{Bytes, Dur, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

/// Flows of one kind, told apart by `kind`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Traffic {
    /// TCP that always has something to send, or sends a number of bytes and closes.
    Bulk(Bulk),
    /// TCP whose application writes at a rate while it is on.
    OnOff(OnOff),
    /// UDP at a constant rate.
    Cbr(Cbr),
    /// Echo requests and their replies: the round-trip time as users see it.
    Ping(Ping),
    /// Uploads by FTP: a control connection with its dialogue, and a data connection for each file.
    Ftp(Ftp),
    /// Multipath TCP: one stream over several paths.
    Multipath(Multipath),
    /// TCP flows that arrive as a Poisson process, with sizes drawn from a distribution. They end when all is delivered.
    Poisson(Poisson),
    /// Many hosts send to one at a time, in rounds.
    Incast(Incast),
    /// Each host sends to one other host and receives from one.
    Permutation(Permutation),
}

impl Traffic {
    /// The names of all kinds.
    pub const NAMES: &'static [&'static str] =
        &["bulk", "on_off", "cbr", "ping", "ftp", "multipath", "poisson", "incast", "permutation"];

    /// The name of this kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Traffic::Bulk(_) => "bulk",
            Traffic::OnOff(_) => "on_off",
            Traffic::Cbr(_) => "cbr",
            Traffic::Ping(_) => "ping",
            Traffic::Ftp(_) => "ftp",
            Traffic::Multipath(_) => "multipath",
            Traffic::Poisson(_) => "poisson",
            Traffic::Incast(_) => "incast",
            Traffic::Permutation(_) => "permutation",
        }
    }
    /// Between whom and when.
    pub fn ends(&self) -> &Ends {
        match self {
            Traffic::Bulk(t) => &t.ends,
            Traffic::OnOff(t) => &t.ends,
            Traffic::Cbr(t) => &t.ends,
            Traffic::Ping(t) => &t.ends,
            Traffic::Ftp(t) => &t.ends,
            Traffic::Multipath(t) => &t.ends,
            Traffic::Poisson(t) => &t.ends,
            Traffic::Incast(t) => &t.ends,
            Traffic::Permutation(t) => &t.ends,
        }
    }
    /// The TCP of these flows, if they are TCP.
    pub fn tcp(&self) -> Option<&TcpSide> {
        match self {
            Traffic::Bulk(t) => Some(&t.side),
            Traffic::OnOff(t) => Some(&t.side),
            Traffic::Ftp(t) => Some(&t.side),
            Traffic::Multipath(t) => Some(&t.side),
            Traffic::Poisson(t) => Some(&t.side),
            Traffic::Incast(t) => Some(&t.side),
            Traffic::Permutation(t) => Some(&t.side),
            Traffic::Cbr(_) | Traffic::Ping(_) => None,
        }
    }
}

/// TCP that always has something to send, or sends `bytes` and closes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Bulk {
    /// Between whom and when.
    #[serde(flatten)]
    pub ends: Ends,
    /// The TCP of these flows.
    #[serde(flatten)]
    pub side: TcpSide,
    /// Bytes that each flow sends in all; endless where not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
}

/// TCP whose application writes at a rate while it is on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct OnOff {
    /// Between whom and when.
    #[serde(flatten)]
    pub ends: Ends,
    /// The TCP of these flows.
    #[serde(flatten)]
    pub side: TcpSide,
    /// The rate at which the application writes while it is on.
    pub rate: Rate,
    /// Bytes of one write.
    #[serde(default = "thousand")]
    pub packet: Bytes,
    /// How long it is on.
    #[serde(default = "one_second")]
    pub on: DurationSpec,
    /// How long it is off; `0s`: it never stops.
    #[serde(default = "one_second")]
    pub off: DurationSpec,
}

/// UDP at a constant rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Cbr {
    /// Between whom and when.
    #[serde(flatten)]
    pub ends: Ends,
    /// Payload rate.
    pub rate: Rate,
    /// Payload bytes of a packet.
    #[serde(default = "thousand")]
    pub packet: Bytes,
    /// Packets are ECN-capable.
    #[serde(default)]
    pub ecn: bool,
}

/// ICMP echo requests and their replies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Ping {
    /// Between whom and when.
    #[serde(flatten)]
    pub ends: Ends,
    /// Time between requests.
    #[serde(default = "a_second")]
    pub interval: Dur,
    /// Payload bytes; 56 as ping(8).
    #[serde(default = "ping_payload")]
    pub payload: Bytes,
    /// Packets are ECN-capable.
    #[serde(default)]
    pub ecn: bool,
}

fn thousand() -> Bytes {
    Bytes::new(1000)
}
fn ping_payload() -> Bytes {
    Bytes::new(56)
}
fn a_second() -> Dur {
    Dur::from_secs(1)
}
fn one_second() -> DurationSpec {
    DurationSpec::Constant(a_second())
}

/// Between whom flows run, how many, and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Ends {
    /// Name of this entry in the results; where not given its kind and its place in the file, such as `bulk1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The pairs of a dumbbell between which flows run: `all`, or their numbers from 1. Not together with `from` and `to`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<Pairs>,
    /// Name of the node that sends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Name of the node that receives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Flows for each pair, or from `from` to `to`.
    #[schemars(range(min = 1, max = 100_000))]
    pub count: u32,
    /// Which way the data goes: from `c` to `s` (`from` to `to`), back, or one flow each way.
    pub direction: Direction,
    /// When the flows start.
    pub start: Dur,
    /// Each flow starts later by a span drawn uniformly from zero to this, with the seed and the flow's name.
    pub jitter: Dur,
    /// When the flows stop; at the end where not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Dur>,
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
            start: Dur::ZERO,
            jitter: Dur::from_ms(100),
            stop: None,
        }
    }
}

/// The TCP of the flows of one entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TcpSide {
    /// The congestion control. A list is dealt out in turn over the pairs and their `count`; both directions of one pair
    /// get the same.
    pub congestion: Controls,
    /// Both ends use ECN, or do not; as in `[tcp]` where not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// What is different from `[tcp]` at both ends.
    #[serde(skip_serializing_if = "Overrides::is_empty")]
    pub tcp: Overrides<TcpParams>,
    /// What is different from that at the receiving end.
    #[serde(skip_serializing_if = "Overrides::is_empty")]
    pub receiver: Overrides<TcpParams>,
}

impl Default for TcpSide {
    fn default() -> TcpSide {
        // Linux's default control; Reno until the registry holds it.
        let control = CongestionParams::default_of("cubic").or_else(|| CongestionParams::default_of("reno"));
        TcpSide {
            congestion: Controls::One(control.expect("the registry holds reno")),
            ecn: None,
            tcp: Overrides::default(),
            receiver: Overrides::default(),
        }
    }
}

/// One congestion control, or several that are dealt out in turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Controls {
    /// One for all.
    One(CongestionParams),
    /// In turn.
    RoundRobin(#[schemars(length(min = 1))] Vec<CongestionParams>),
}

impl Controls {
    /// All that are dealt out.
    pub fn all(&self) -> &[CongestionParams] {
        match self {
            Controls::One(control) => std::slice::from_ref(control),
            Controls::RoundRobin(controls) => controls,
        }
    }
}

/// Which way the data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From `c` to `s`, or from `from` to `to`.
    Forward,
    /// From `s` to `c`, or from `to` to `from`.
    Backward,
    /// One flow each way.
    Both,
}

/// Pairs of a dumbbell.
#[derive(Debug, Clone, PartialEq)]
pub enum Pairs {
    /// Every pair.
    All,
    /// These, counted from 1.
    These(Vec<u32>),
}

impl Serialize for Pairs {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Pairs::All => s.serialize_str("all"),
            Pairs::These(numbers) => numbers.serialize(s),
        }
    }
}
impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Pairs, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            These(Vec<u32>),
            All(Cow<'static, str>),
        }
        match Written::deserialize(d)? {
            Written::These(numbers) => Ok(Pairs::These(numbers)),
            Written::All(text) if text == "all" => Ok(Pairs::All),
            Written::All(_) => Err(serde::de::Error::custom("pairs are `all` or a list of numbers")),
        }
    }
}
impl JsonSchema for Pairs {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Pairs".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [
            { "const": "all" },
            { "type": "array", "minItems": 1, "items": { "type": "integer", "minimum": 1 } }
        ] })
    }
}

/// A law of spans: always the same (`"1s"`), or drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum DurationSpec {
    /// Always this long.
    Constant(Dur),
    /// RandomDuration each time.
    RandomDuration(RandomDuration),
}

/// A law of random spans: exactly one of these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RandomDuration {
    /// Exponential with this mean.
    Exponential(Dur),
    /// Uniform between two spans.
    Uniform([Dur; 2]),
    /// Pareto.
    Pareto(Pareto),
}

/// A Pareto law.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pareto {
    /// The mean.
    pub mean: Dur,
    /// The shape, above 1 so that the mean exists.
    #[serde(default = "shape")]
    pub shape: f64,
}

fn shape() -> f64 {
    1.5
}
