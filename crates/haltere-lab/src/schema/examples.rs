//! An example of each mechanism and of each table, in TOML, under `x-example` in the schema.
//!
//! The example of a mechanism follows from its kind's pattern and its own defaults: a new mechanism has one at once. A
//! type may bring its example along, as a block of TOML in its doc comment. The others are listed here. A test reads
//! them all.

use super::kinds::{self, ALL};
use serde_json::{Map, Value};

/// Parameters that an example shows.
const SHOWN: usize = 2;

/// Examples of tables by the name of their definition, and of the tables of unions by `kind/name`.
const EXAMPLES: &[(&str, &str)] = &[
    ("topologies/dumbbell", include_str!("examples/dumbbell.toml")),
    ("topologies/chain", include_str!("examples/chain.toml")),
    ("topologies/switch", include_str!("examples/switch.toml")),
    ("topologies/leaf_spine", include_str!("examples/leaf_spine.toml")),
    ("topologies/fat_tree", include_str!("examples/fat_tree.toml")),
    ("topologies/multipath", include_str!("examples/multipath.toml")),
    ("topologies/graph", include_str!("examples/graph.toml")),
    ("traffic/bulk", "[[traffic]]\nkind = \"bulk\"\ncongestion = [\"cubic\", \"bbr\"]\n"),
    (
        "traffic/on_off",
        "[[traffic]]\nkind = \"on_off\"\nrate = \"5Mbit\"\non = \"1s\"\noff = { exponential = \"2s\" }\n",
    ),
    ("traffic/cbr", "[[traffic]]\nkind = \"cbr\"\nrate = \"2Mbit\"\npacket = \"1200B\"\n"),
    ("traffic/ping", "[[traffic]]\nkind = \"ping\"\ninterval = \"100ms\"\n"),
    ("traffic/ftp", "[[traffic]]\nkind = \"ftp\"\nfiles = [\"10kB\", \"1MB\"]\ntasks = 4\n"),
    ("traffic/multipath", include_str!("examples/multipath.toml")),
    ("traffic/permutation", include_str!("examples/permutation.toml")),
    (
        "Link",
        "[topology.dumbbell]\nbottleneck = { rate = \"10Mbit\", delay = \"20ms\", queue = \"fq_codel\", loss = \"0.1%\" }\n",
    ),
    (
        "Step",
        "[topology.dumbbell.bottleneck]\nrate = \"10Mbit\"\nschedule = [{ at = \"2s\", rate = \"5Mbit\" }, { at = \"4s\", rate = \"10Mbit\", delay = \"30ms\" }]\n",
    ),
    (
        "Trace",
        "[topology.chain]\nlinks = [{ trace = { gaps = \"1 2 1 4\", opportunity = \"1500B\" }, delay = \"10ms\" }]\n\n\
         [[traffic]]\nkind = \"bulk\"\nfrom = \"n1\"\nto = \"n2\"\n",
    ),
    ("Processor", include_str!("examples/switch.toml")),
    ("Egress", include_str!("examples/egress.toml")),
    ("GraphLink", include_str!("examples/graph.toml")),
    ("TcpParams", "[tcp]\nmss = \"1448B\"\ninitial_window = 10\n"),
    (
        "DurationSpec",
        "[[traffic]]\nkind = \"on_off\"\nrate = \"5Mbit\"\non = \"1s\"\noff = { uniform = [\"1s\", \"3s\"] }\n",
    ),
    (
        "RandomDuration",
        "[[traffic]]\nkind = \"on_off\"\nrate = \"5Mbit\"\non = { exponential = \"1s\" }\noff = { uniform = [\"1s\", \"3s\"] }\n",
    ),
    ("Pareto", "[[traffic]]\nkind = \"on_off\"\nrate = \"5Mbit\"\non = { pareto = { mean = \"1s\", shape = 1.5 } }\n"),
    (
        "Normal",
        "[[traffic]]\nkind = \"on_off\"\nrate = \"5Mbit\"\noff = { normal = { mean = \"8s\", sd = \"1732ms\" } }\nbegin = \"off\"\n",
    ),
    ("PathEnds", include_str!("examples/multipath.toml")),
    ("MultipathParams", include_str!("examples/multipath.toml")),
    ("SizeTable", "[[traffic]]\nkind = \"poisson\"\nsizes = { points = [[1000, 0.5], [50000, 1]] }\nper_second = 20\n"),
    (
        "DrrClass",
        "[topology.dumbbell.bottleneck.queue]\nkind = \"drr\"\nclasses = [{ match = { dscp = [46] }, quantum = \"3000B\" }, { queue = \"codel\" }]\n",
    ),
    (
        "HtbClass",
        "[topology.dumbbell.bottleneck.queue]\nkind = \"htb\"\nclasses = [\n    { name = \"voice\", rate = \"1Mbit\", match = { dscp = [46] } },\n    { name = \"rest\", rate = \"9Mbit\", queue = \"codel\" },\n]\n",
    ),
    (
        "Match",
        "[topology.dumbbell.bottleneck.queue]\nkind = \"drr\"\nclasses = [{ match = { protocols = [17] } }, {}]\n",
    ),
    (
        "selector",
        "[topology.dumbbell.bottleneck.queue]\nkind = \"fq_codel\"\nce_threshold = \"1ms\"\nce_threshold_selector = \"0x1/0x3\"\n",
    ),
    ("MeasureSpec", "[measure]\nqueues = \"1ms\"\nflows = \"off\"\ndelays = true\nwindow = [\"2s\", \"8s\"]\n"),
    ("Convergence", "[measure]\nconvergence = { within = \"10%\", hold = \"5s\" }\n"),
    (
        "MetricTable",
        "[measure.metrics]\ndeep = { sql = \"SELECT max(packets) FROM queue_series\", unit = \"packets\", better = \"lower\" }\n",
    ),
    ("PrecisionTable", "[precision]\nwithin = \"5%\"\nof = [\"goodput\"]\n"),
    ("Sweep", "[sweep]\n\"topology.dumbbell.pairs\" = [2, 4]\n\"traffic[0].congestion\" = [\"cubic\", \"bbr\"]\n"),
    ("Values", "[sweep]\n\"topology.dumbbell.pairs\" = [2, 4, 8]\n"),
    ("Axis", "[sweep]\n\"topology.dumbbell.pairs\" = [2, 4, 8]\n"),
    (
        "AxisTable",
        "[sweep]\n\"topology.dumbbell.pairs\" = [2, 4]\n\"traffic[0].congestion\" = { values = [\"cubic\", \"bbr\"], when = { pairs = 4 } }\n",
    ),
    ("Range", "[sweep]\n\"topology.dumbbell.pairs\" = { logspace = { from = 2, to = 32, count = 5 } }\n"),
    (
        "Skip",
        "[sweep]\n\"topology.dumbbell.pairs\" = [2, 4]\n\"traffic[0].congestion\" = [\"cubic\", \"bbr\"]\nskip = [{ when = { pairs = 4, congestion = \"bbr\" } }]\n",
    ),
];

/// Writes the examples into the schema.
pub(super) fn add(schema: &mut Value) {
    take_blocks(schema);
    for kind in ALL {
        kinds::variants(&mut schema["$defs"][kind.union], &mut |name, table| {
            let listed = listed(&format!("{}/{name}", kind.name));
            let text = listed.map(str::to_owned).or_else(|| patterned(kind.example, name, table));
            set(table, text);
        });
    }
    for (name, definition) in schema["$defs"].as_object_mut().into_iter().flatten() {
        set(definition, listed(name).map(str::to_owned));
    }
}

fn listed(key: &str) -> Option<&'static str> {
    EXAMPLES.iter().find(|(name, _)| *name == key).map(|(_, text)| *text)
}

/// Sets the example, unless the type brought one along.
fn set(table: &mut Value, text: Option<String>) {
    if let (Some(text), Some(keys)) = (text, table.as_object_mut()) {
        keys.entry("x-example").or_insert(Value::String(text.trim_end().into()));
    }
}

/// A block of TOML in a description is the example.
fn take_blocks(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(take_blocks),
        Value::Object(keys) => {
            keys.values_mut().for_each(take_blocks);
            let Some(Value::String(text)) = keys.get("description") else { return };
            let Some((before, rest)) = text.split_once("```toml\n") else { return };
            let Some((example, after)) = rest.split_once("```") else { return };
            let about = format!("{}\n\n{}", before.trim_end(), after.trim_start());
            let example = Value::String(example.trim_end().into());
            keys.insert("description".into(), Value::String(about.trim().into()));
            keys.insert("x-example".into(), example);
        }
        _ => {}
    }
}

/// The example of a mechanism: its kind's pattern with its first parameters at their defaults.
fn patterned(pattern: &str, name: &str, table: &Value) -> Option<String> {
    let empty = Map::new();
    let parameters = table["properties"].as_object().unwrap_or(&empty).iter();
    let shown = parameters.filter_map(|(key, one)| Some((key, written(one.get("default")?)?))).take(SHOWN);
    let keys: String = shown.map(|(key, value)| format!(", {key} = {value}")).collect();
    let inline = format!("{{ kind = \"{name}\"{keys} }}");
    (!pattern.is_empty()).then(|| pattern.replace("{name}", name).replace("{table}", &inline))
}

/// A plain value as TOML writes it; `None` for tables and lists.
fn written(value: &Value) -> Option<String> {
    match value {
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value.to_string()),
        _ => None,
    }
}

#[cfg(test)]
#[path = "examples_tests.rs"]
mod tests;
