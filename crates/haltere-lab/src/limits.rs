//! Limits of inputs: one table, which the code reads and the documents print.

use haltere_units::Dur;

/// The most of one thing in an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Limit {
    /// The input: an experiment file, a file that it names, a capture.
    pub input: &'static str,
    /// What is limited.
    pub what: &'static str,
    /// The most of it.
    pub most: u64,
    /// The unit of `most`, or empty.
    pub unit: &'static str,
}

/// Bytes of an experiment file; the longest that was written by hand has a few thousand.
pub const EXPERIMENT_BYTES: u64 = 16 << 20;
/// Bytes of a file that an experiment names.
pub const FILE_BYTES: u64 = 256 << 20;
/// Delivery opportunities of one trace.
pub const OPPORTUNITIES: usize = 20_000_000;
/// Points of one table of flow sizes.
pub const SIZE_POINTS: usize = 1_000_000;
/// Flows of one file of flows.
pub const REPLAYED_FLOWS: usize = 1_000_000;
/// Combinations of one sweep.
pub const POINTS: usize = 100_000;
/// Random seeds of one experiment.
pub const SEEDS: u64 = 1_000_000;
/// Links of one experiment, each direction counted.
pub const LINKS: u64 = 4_000_000;
/// Flows of one experiment that are there from the start.
pub const FLOWS: u64 = 1_000_000;
/// Flows a second of one Poisson entry.
pub const ARRIVALS_PER_SECOND: f64 = 1e8;
/// Hand-overs of one `leo` trace in a run.
pub const HANDOVERS: u64 = 1_000_000;
/// The longest time that may be written. 500 of them fit into the 64 bits in which times are counted, so no sum of a
/// run's times overflows.
pub const LONGEST: Dur = Dur::from_secs(365 * 86_400);
/// Bytes of a WebAssembly module.
pub const WASM_BYTES: u64 = 4 << 20;
/// Bytes of the memory of one instance of a module: each flow with a control has its own.
pub const WASM_MEMORY: usize = 64 << 20;
/// Tables of one instance of a module.
pub const WASM_TABLES: usize = 4;
/// Elements of one table: references to functions, of 4 bytes each.
pub const WASM_TABLE_ELEMENTS: usize = 1 << 16;
/// Instructions of one call of a module, about.
pub const WASM_INSTRUCTIONS: u64 = 10_000_000;

/// Characters of an error: the middle of a longer one is left out.
pub const ERROR_CHARACTERS: usize = 1000;

const EXPERIMENT: &str = "experiment";
const NAMED: &str = "file that an experiment names";
const MODULE: &str = "WebAssembly module";

/// Every limit of this crate.
pub const ALL: &[Limit] = &[
    Limit { input: EXPERIMENT, what: "size of the file", most: EXPERIMENT_BYTES, unit: "bytes" },
    Limit { input: EXPERIMENT, what: "combinations of a sweep", most: POINTS as u64, unit: "" },
    Limit { input: EXPERIMENT, what: "random seeds", most: SEEDS, unit: "" },
    Limit {
        input: EXPERIMENT,
        what: "any time, and the round trip of a path",
        most: LONGEST.as_ns() / 1_000_000_000,
        unit: "s",
    },
    Limit { input: EXPERIMENT, what: "hand-overs of a `leo` trace", most: HANDOVERS, unit: "" },
    Limit { input: EXPERIMENT, what: "links, each direction counted", most: LINKS, unit: "" },
    Limit { input: EXPERIMENT, what: "flows that are there from the start", most: FLOWS, unit: "" },
    Limit {
        input: EXPERIMENT,
        what: "flows a second of a `poisson` entry",
        most: ARRIVALS_PER_SECOND as u64,
        unit: "",
    },
    Limit {
        input: EXPERIMENT,
        what: "characters of an error, whose middle is left out",
        most: ERROR_CHARACTERS as u64,
        unit: "",
    },
    Limit { input: NAMED, what: "size", most: FILE_BYTES, unit: "bytes" },
    Limit { input: NAMED, what: "delivery opportunities or rows of a trace", most: OPPORTUNITIES as u64, unit: "" },
    Limit { input: NAMED, what: "flows of a `replay` entry", most: REPLAYED_FLOWS as u64, unit: "" },
    Limit { input: NAMED, what: "points of a table of flow sizes", most: SIZE_POINTS as u64, unit: "" },
    Limit { input: MODULE, what: "size", most: WASM_BYTES, unit: "bytes" },
    Limit { input: MODULE, what: "memory of one mechanism", most: WASM_MEMORY as u64, unit: "bytes" },
    Limit { input: MODULE, what: "tables", most: WASM_TABLES as u64, unit: "" },
    Limit { input: MODULE, what: "elements of one table", most: WASM_TABLE_ELEMENTS as u64, unit: "" },
    Limit { input: MODULE, what: "instructions of one call", most: WASM_INSTRUCTIONS, unit: "" },
];
