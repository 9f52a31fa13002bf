//! A link, as written in an experiment file.

use super::TraceSpec;
use crate::scenario::Overrides;
use haltere_queue::QueueParams;
use haltere_units::{Bytes, Dur, Prob, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
