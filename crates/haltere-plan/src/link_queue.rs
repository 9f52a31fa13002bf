//! The queue of a link: one of Haltere's disciplines, or one of the world's own.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use haltere_queue::QueueParams;
use haltere_units::{Dur, ParamError};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The queue discipline of a link with its parameters, distinguished by `kind`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum LinkQueue {
    /// One of Haltere's. Every world has it. Links that an experiment gives the same parameters share them.
    Ours(Arc<QueueParams>),
    /// One that only a certain world has.
    World(WorldQueue),
}

/// The disciplines that worlds bring along.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WorldQueue {
    #[expect(missing_docs, reason = "the schema takes the text of the params struct")]
    Kernel(Box<KernelQueue>),
}

/// A queue discipline of Linux itself. Only the kernel world has it.
///
/// `tc` is written as in `tc qdisc add dev DEV root ...`, such as `fq_codel limit 1000 target 5ms`. `haltere run FILE
/// --world kernel` runs it.
///
/// Source: Linux, of the guest kernel's version.
///
/// Deviations: the discipline is on a device of its own that sends at the link's rate. Drops at enqueue are counted as
/// `dropped_overlimit`, drops at dequeue as `dropped_congestion`: Linux gives no reason.
///
/// Known problems: disciplines with classes or filters cannot be written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KernelQueue {
    /// The discipline and its parameters, as `tc` takes them.
    pub tc: String,
    /// A discipline of Haltere to compare. It gets the same packets at the same times. The link's time series then
    /// have `verdicts`, how many calls were compared, and `differ`, how many had another result. Left out: nothing is
    /// compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<Box<QueueParams>>,
    /// The clock of `beside` counts in units of this, and is the kernel's clock. Left out: it is the link's, in ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside_grain: Option<Dur>,
}

impl Default for KernelQueue {
    fn default() -> KernelQueue {
        KernelQueue { tc: String::from("pfifo limit 1000"), beside: None, beside_grain: None }
    }
}

impl LinkQueue {
    /// Haltere's discipline, for a world that has no other.
    pub fn ours(&self) -> Result<&QueueParams, ParamError> {
        match self {
            LinkQueue::Ours(params) => Ok(&**params),
            LinkQueue::World(WorldQueue::Kernel(_)) => {
                let rule = "one of Haltere's disciplines outside the kernel world";
                Err(ParamError::new("queue", rule, "`kernel`").hint("run it with `--world kernel`"))
            }
        }
    }
    /// The parameters of Haltere's discipline, to change them for this link alone.
    pub fn ours_mut(&mut self) -> Option<&mut QueueParams> {
        match self {
            LinkQueue::Ours(params) => Some(Arc::make_mut(params)),
            LinkQueue::World(_) => None,
        }
    }
    /// The parameters of Haltere's disciplines in it: its own, or those of a discipline that is compared with the
    /// world's.
    pub fn all_ours(&self) -> Option<&QueueParams> {
        match self {
            LinkQueue::Ours(params) => Some(params),
            LinkQueue::World(WorldQueue::Kernel(params)) => params.beside.as_deref(),
        }
    }
    /// The discipline's name, as in experiment files.
    pub fn kind(&self) -> &'static str {
        match self {
            LinkQueue::Ours(params) => params.kind(),
            LinkQueue::World(WorldQueue::Kernel(_)) => KERNEL,
        }
    }
    /// The discipline's name in reports.
    pub fn label(&self) -> &str {
        match self {
            LinkQueue::Ours(params) => params.label(),
            LinkQueue::World(_) => self.kind(),
        }
    }
}

const KERNEL: &str = "kernel";

impl Default for LinkQueue {
    fn default() -> LinkQueue {
        QueueParams::default_of("drop_tail").expect("the registry holds drop_tail").into()
    }
}

impl From<QueueParams> for LinkQueue {
    fn from(params: QueueParams) -> LinkQueue {
        LinkQueue::Ours(Arc::new(params))
    }
}

impl<'de> Deserialize<'de> for LinkQueue {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<LinkQueue, D::Error> {
        let value = Value::deserialize(d)?;
        let read = if value["kind"] == KERNEL {
            serde_json::from_value(value).map(LinkQueue::World)
        } else {
            serde_json::from_value(value).map(QueueParams::into)
        };
        read.map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for LinkQueue {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "LinkQueue".into()
    }
    /// The tables of both unions as one union.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = QueueParams::json_schema(generator);
        let mut world = WorldQueue::json_schema(generator);
        let theirs = world.get_mut("oneOf").map(Value::take);
        if let (Some(Value::Array(all)), Some(Value::Array(theirs))) = (schema.get_mut("oneOf"), theirs) {
            all.extend(theirs);
        }
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn read(text: &str) -> Result<LinkQueue, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn a_queue_is_ours_or_the_worlds_by_its_kind() {
        for text in [r#"{"kind":"drop_tail","limit":"5p"}"#, r#"{"kind":"kernel","tc":"pie"}"#] {
            let queue = read(text).unwrap();
            assert_eq!(queue.kind() == "kernel", queue.ours().is_err(), "{text}");
            assert_eq!(serde_json::to_string(&queue).unwrap(), text);
        }
    }

    #[test]
    fn a_copy_shares_the_parameters_until_one_is_changed() {
        let queue = read(r#"{"kind":"drop_tail","limit":"5p"}"#).unwrap();
        let mut copy = queue.clone();
        let params = |queue: &LinkQueue| core::ptr::from_ref(queue.ours().unwrap());
        assert_eq!(params(&queue), params(&copy));
        *copy.ours_mut().unwrap() = QueueParams::default_of("codel").unwrap();
        assert_eq!((queue.kind(), copy.kind()), ("drop_tail", "codel"));
    }

    #[test]
    fn what_is_neither_is_refused_with_the_name_of_the_fault() {
        let error = read(r#"{"kind":"codell"}"#).unwrap_err().to_string();
        assert!(error.contains("codell") && error.contains("fq_codel"), "{error}");
        let error = read(r#"{"kind":"kernel","tcc":"pie"}"#).unwrap_err().to_string();
        assert!(error.contains("tcc"), "{error}");
        let inside = read(r#"{"kind":"kernel","beside":{"kind":"kernel"}}"#).unwrap_err().to_string();
        assert!(inside.contains("unknown variant `kernel`"), "{inside}");
    }
}
