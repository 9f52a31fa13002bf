//! A link, as written in an experiment file.

use super::access::AccessPath;
use super::jitter::Jitter;
use super::loss::Loss;
use super::trace::TraceSpec;
use crate::scenario::overrides::Overrides;
use haltere_plan::LinkQueue;
use haltere_plan::plan::Impairments;
use haltere_units::{Bytes, Dur, Prob, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Disciplines that are the line themselves: a link with one of them has no rate of its own.
pub const MEDIA: [&str; 3] = ["wifi", "cell", "docsis"];

/// A link with a queue in front of each direction.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Link")]
pub struct LinkSpec {
    /// An access link by name, such as `dsl-16/1`: rate, delay and queue of both directions, as measured or as usual.
    /// The direction of the link is the download, `reverse` the upload. Other keys beside it replace its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<AccessPath>,
    /// Rate of each direction. If it is not given, packets take no time.
    pub rate: Option<Rate>,
    /// A trace instead of a rate: the name of a file, or a table with `kind`. `mahimahi`: times at which a packet can
    /// be delivered, as on a wireless link. `cellreplay`: the same under light and heavy load. `csv` and `theaterq`: rate,
    /// delay and loss over time. `leo` and `leoem`: a path over satellites with hand-overs. `cellular`: a link whose
    /// rate varies and that has outages.
    pub trace: Option<TraceSpec>,
    /// Steps of rate, delay, jitter and loss: `[{ at = "10s", rate = "5Mbit" }, { at = "20s", rate = "10Mbit", delay =
    /// "30ms" }]`. Values that a step does not give stay as they are.
    #[schemars(length(max = 100_000))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<Step>,
    /// The schedule begins again after this time. If it is not given, the last step holds to the end.
    pub schedule_repeat: Option<Dur>,
    /// Propagation time of each direction.
    pub delay: Dur,
    /// Each packet takes longer by a time drawn uniformly from zero to this, or as in busy Wi-Fi networks: `{ kind =
    /// "wifi", mean = "7ms" }`. Packets keep their order without `overtake`. Real hosts have some jitter. Without any, flows of equal rates stay in phase, and the phase decides which flow finds room in a
    /// full drop-tail queue (Floyd and Jacobson 1992). Jitter of about the time of a full packet at the bottleneck
    /// avoids that.
    pub jitter: Jitter,
    /// Loss on the line: the probability that a packet is lost, or `{ kind = "gilbert_elliott", p = "1%", r = "25%" }`
    /// for loss in bursts.
    pub loss: Loss,
    /// Numbers of packets that are lost on the line, in ascending order: the first one that the line takes is 1. For
    /// tests of a protocol.
    #[schemars(length(max = 100_000))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lose: Vec<u64>,
    /// Probability that a packet is held back by `reorder_by` after its delay, so that later packets overtake it.
    #[serde(skip_serializing_if = "is_never")]
    pub reorder: Prob,
    /// How long such a packet is held back. Required with `reorder`.
    #[serde(skip_serializing_if = "is_no_time")]
    pub reorder_by: Dur,
    /// True: packets overtake each other if `jitter` differs, as under Linux's netem, or if `trace` or `schedule`
    /// shortens the delay, as on two paths over satellites. False: no packet overtakes another.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub overtake: bool,
    /// Probability that a packet is delivered twice. The copy takes no time on the line. The kernel world has no such
    /// links.
    #[serde(skip_serializing_if = "is_never")]
    pub duplicate: Prob,
    /// The discipline of the queue in front of the line.
    pub queue: LinkQueue,
    /// The device's own first-in first-out ring under the discipline, in packets (`100p`). If it is not given, there is
    /// none.
    pub ring: Option<Size>,
    /// When a packet is handed over to the line: when its transmission ends, or when it starts, as Linux's `htb` and
    /// `tbf` shapers do.
    pub handover: Handover,
    /// Depth of a token bucket: after an idle time, so many bytes take no time on the line. With a `schedule` an idle
    /// line saves up what it could have carried, at most that. Linux's `htb` (with `handover = "start"`) and `tbf`
    /// (with `"end"`) need at least a full frame.
    pub burst: Bytes,
    /// Sample and report this queue. If it is not given, a topology with a bottleneck watches that. Others watch the
    /// slowest links, those whose rate changes, and those whose queue is not the default.
    pub watch: Option<bool>,
    /// What is different in the other direction.
    #[serde(skip_serializing_if = "Overrides::is_empty")]
    pub reverse: Overrides<LinkSpec>,
}

impl LinkSpec {
    /// True if its discipline is the line.
    pub(super) fn is_medium(&self) -> bool {
        MEDIA.contains(&self.queue.kind())
    }
    /// What the line does to some packets besides independent loss.
    pub(crate) fn impairments(&self) -> Option<Box<Impairments>> {
        let LinkSpec { reorder, reorder_by, overtake, duplicate, .. } = *self;
        let (lose, gilbert_elliott) = (self.lose.clone(), self.loss.bursts());
        let all = Impairments { reorder, reorder_by, overtake, duplicate, lose, gilbert_elliott, failures: Vec::new() };
        (all != Impairments { reorder_by, ..Impairments::default() }).then(|| Box::new(all))
    }
}

fn is_never(probability: &Prob) -> bool {
    *probability == Prob::ZERO
}

fn is_no_time(span: &Dur) -> bool {
    span.is_zero()
}

/// A change of a link's rate, delay, jitter or loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// When it begins, from the start of the run or of the repetition.
    pub at: Dur,
    /// The rate from then on. With `0bit` nothing leaves. A packet on the line continues at the new rate.
    pub rate: Option<Rate>,
    /// The propagation time of packets that leave from then on. No packet overtakes another without `overtake`.
    pub delay: Option<Dur>,
    /// The jitter of packets that leave from then on.
    pub jitter: Option<Jitter>,
    /// The probability of loss of packets that leave from then on.
    pub loss: Option<Prob>,
}

/// When a packet is handed over to the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Handover {
    /// When its transmission ends.
    #[default]
    End,
    /// When its transmission starts.
    Start,
}
