//! The kinds of names: one entry a registry.

use haltere_congestion::CongestionParams;
use haltere_plan::stack::StackParams;
use haltere_queue::QueueParams;
use haltere_queue::classify::ClassifierParams;
use haltere_queue::service::ServiceParams;
use haltere_transport::multipath::correlation::CorrelatorParams;
use haltere_transport::multipath::scheduler::{self, SchedulerParams};
use haltere_units::ParamError;
use haltere_units::outside::{About, Location, Outside};
use serde_json::{Value, json};

use crate::topology::Topology;
use crate::topology::link::MEDIA;
use crate::traffic::Traffic;

/// A kind of names, such as the queue disciplines.
pub(super) struct Kind {
    /// Its name in `haltere list`.
    pub name: &'static str,
    /// One of them, in words.
    pub one: &'static str,
    /// Its union in the schema.
    pub union: &'static str,
    /// The names in the registry's order.
    pub names: &'static [&'static str],
    /// What a mechanism from outside the tree is, by its language and place, if the registry takes such.
    pub outside: Option<AboutOutside>,
    /// The language that a name has which is not of the registry and names none.
    pub language: Option<&'static str>,
}

impl Kind {
    /// A mechanism from outside the tree is an entry with keys of its own beside the mechanism's.
    pub(super) fn is_entry(&self) -> bool {
        self.union == "Traffic"
    }
}

/// Asks the maker of a language what a source is.
pub(super) type AboutOutside = fn(&Outside, &str, Location<'_>) -> Result<About, ParamError>;

/// One line a registry: what `haltere list` calls it, one of its entries in words, its union in the schema, its enum, and
/// the trait of makers, if mechanisms from outside the tree may be entries, with their language if there is only one.
macro_rules! kinds {
    ($($name:ident $one:literal $union:ident: $names:ty $(, $maker:path $(, $language:expr)?)?;)+) => {
        pub(super) const ALL: &[Kind] = &[$(Kind {
            name: stringify!($name),
            one: $one,
            union: stringify!($union),
            names: <$names>::NAMES,
            outside: kinds!(@outside $($maker)?),
            language: kinds!(@language $($($language)?)?),
        }),+];
    };
    (@language) => { None };
    (@language $language:expr) => { Some($language) };
    (@outside) => { None };
    (@outside $maker:path) => { Some(|of, language, at| of.find::<dyn $maker>(language)?.about(at)) };
}

kinds! {
    queues "queue discipline" LinkQueue: QueueParams, haltere_queue::outside::Maker;
    classifiers "flow classifier" ClassifierParams: ClassifierParams, haltere_queue::classify::outside::Maker;
    services "service of class queues" ServiceParams: ServiceParams;
    congestion "congestion control" CongestionParams: CongestionParams, haltere_congestion::outside::Maker;
    schedulers "path scheduler" SchedulerParams: SchedulerParams, scheduler::outside::Maker;
    correlators "path correlator" CorrelatorParams: CorrelatorParams;
    topologies "topology" Topology: Topology;
    stacks "transport stack" StackParams: StackParams, haltere_plan::stack::Maker, haltere_plan::stack::LANGUAGE;
    traffic "kind of traffic" Traffic: Traffic, haltere_plan::app::outside::Maker;
}

/// The kind whose names these are, with those that not every world has after them.
pub(super) fn of(names: &[&str]) -> Option<&'static Kind> {
    ALL.iter().find(|kind| names.starts_with(kind.names))
}

/// Writes into the schema which union is which kind (`x-kind`), what not every world has (`x-elsewhere`), which
/// keys a traffic kind must leave out (`x-left-out`), and which disciplines are the line (`x-medium`).
pub(super) fn mark(schema: &mut Value) {
    variants(&mut schema["$defs"]["Traffic"], &mut |name, table| {
        for key in Traffic::about(name).map_or(&[][..], |about| about.without) {
            table["properties"][key]["x-left-out"] = json!(true);
        }
    });
    variants(&mut schema["$defs"]["QueueParams"], &mut |name, table| {
        if MEDIA.contains(&name) {
            table["x-medium"] = json!(true);
        }
    });
    for kind in ALL {
        variants(&mut schema["$defs"][kind.union], &mut |name, table| {
            if !kind.names.contains(&name) {
                table["x-elsewhere"] = json!(true);
            }
        });
        schema["$defs"][kind.union]["x-kind"] = json!({ "name": kind.name, "one": kind.one });
    }
}

/// The tables of a union: those distinguished by `kind`, and those distinguished by their only key.
pub(super) fn variants(union: &mut Value, see: &mut impl FnMut(&str, &mut Value)) {
    for key in ["anyOf", "oneOf"] {
        for option in union.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
            match name_of(option) {
                Some(name) => see(&name, option),
                None => variants(option, see),
            }
        }
    }
}

/// The name of a table of a union.
fn name_of(option: &Value) -> Option<String> {
    let properties = option["properties"].as_object()?;
    if let Some(kind) = properties.get("kind").and_then(|kind| kind["const"].as_str()) {
        return Some(kind.into());
    }
    if properties.len() == 1 { properties.keys().next().cloned() } else { None }
}
