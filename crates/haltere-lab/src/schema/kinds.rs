//! The kinds of names: one entry a registry.

use haltere_congestion::CongestionParams;
use haltere_queue::QueueParams;
use haltere_queue::classify::ClassifierParams;
use haltere_queue::service::ServiceParams;
use haltere_transport::multipath::correlation::CorrelatorParams;
use haltere_transport::multipath::scheduler::{self, SchedulerParams};
use haltere_units::ParamError;
use haltere_units::outside::{About, Location, Outside};
use serde_json::{Value, json};

use crate::topology::Topology;
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
}

impl Kind {
    /// A mechanism from outside the tree is an entry with keys of its own beside the mechanism's.
    pub(super) fn is_entry(&self) -> bool {
        self.union == "Traffic"
    }
}

/// Asks the maker of a language what a source is.
pub(super) type AboutOutside = fn(&Outside, &str, Location<'_>) -> Result<About, ParamError>;

/// All kinds.
pub(super) const ALL: &[Kind] = &[
    Kind {
        name: "queues",
        one: "queue discipline",
        union: "LinkQueue",
        names: QueueParams::NAMES,
        outside: Some(|of, language, at| of.find::<dyn haltere_queue::outside::Maker>(language)?.about(at)),
    },
    Kind {
        name: "classifiers",
        one: "flow classifier",
        union: "ClassifierParams",
        names: ClassifierParams::NAMES,
        outside: Some(|of, language, at| of.find::<dyn haltere_queue::classify::outside::Maker>(language)?.about(at)),
    },
    Kind {
        name: "services",
        one: "service of class queues",
        union: "ServiceParams",
        names: ServiceParams::NAMES,
        outside: None,
    },
    Kind {
        name: "congestion",
        one: "congestion control",
        union: "CongestionParams",
        names: CongestionParams::NAMES,
        outside: Some(|of, language, at| of.find::<dyn haltere_congestion::outside::Maker>(language)?.about(at)),
    },
    Kind {
        name: "schedulers",
        one: "path scheduler",
        union: "SchedulerParams",
        names: SchedulerParams::NAMES,
        outside: Some(|of, language, at| of.find::<dyn scheduler::outside::Maker>(language)?.about(at)),
    },
    Kind {
        name: "correlators",
        one: "path correlator",
        union: "CorrelatorParams",
        names: CorrelatorParams::NAMES,
        outside: None,
    },
    Kind { name: "topologies", one: "topology", union: "Topology", names: Topology::NAMES, outside: None },
    Kind {
        name: "traffic",
        one: "kind of traffic",
        union: "Traffic",
        names: Traffic::NAMES,
        outside: Some(|of, language, at| of.find::<dyn haltere_plan::app::outside::Maker>(language)?.about(at)),
    },
];

/// The kind whose names these are, with those that not every world has after them.
pub(super) fn of(names: &[&str]) -> Option<&'static Kind> {
    ALL.iter().find(|kind| names.starts_with(kind.names))
}

/// Writes into the schema which union is which kind (`x-kind`), what not every world has (`x-elsewhere`), and which
/// keys a traffic kind must leave out (`x-left-out`).
pub(super) fn mark(schema: &mut Value) {
    variants(&mut schema["$defs"]["Traffic"], &mut |name, table| {
        for key in Traffic::about(name).map_or(&[][..], |about| about.without) {
            table["properties"][key]["x-left-out"] = json!(true);
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
