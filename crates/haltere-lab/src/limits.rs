//! Limits of inputs: one table, which the code reads and the documents print.

use haltere_units::Dur;

/// The most of one thing in an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Limit {
    /// The input: an experiment file, a file that it names, a capture.
    pub input: &'static str,
    /// What is counted or measured of it.
    pub what: &'static str,
    /// The most of it.
    pub most: u64,
    /// The unit of `most`, or empty.
    pub unit: &'static str,
}

/// Makes a constant of each limit, and their table.
macro_rules! limits {
    ($($input:literal { $($name:ident: $type:ty = $value:expr, $most:expr, $what:literal $($unit:literal)?;)+ })+) => {
        $($(#[doc = concat!("The most in one input (", $input, "): ", $what, ".")] pub const $name: $type = $value;)+)+

        /// Every limit of this crate.
        pub const ALL: &[Limit] =
            &[$($(Limit { input: $input, what: $what, most: $most as u64, unit: concat!($($unit)?) }),+),+];
    };
}

limits! {
    "experiment" {
        // The longest file that was written by hand has a few thousand bytes.
        EXPERIMENT_BYTES: u64 = 16 << 20, EXPERIMENT_BYTES, "size of the file" "bytes";
        POINTS: usize = 100_000, POINTS, "combinations of a sweep";
        SEEDS: u64 = 1_000_000, SEEDS, "random seeds";
        // 500 of them fit into the 64 bits in which times are counted, so no sum of a run's times overflows.
        LONGEST: Dur = Dur::from_secs(365 * 86_400), LONGEST.as_ns() / 1_000_000_000,
            "any time, and the round trip of a path" "s";
        HANDOVERS: u64 = 1_000_000, HANDOVERS, "hand-overs of a `leo` trace";
        LINKS: u64 = 4_000_000, LINKS, "links, each direction counted";
        FLOWS: u64 = 1_000_000, FLOWS, "flows that are there from the start";
        ARRIVALS_PER_SECOND: f64 = 1e8, ARRIVALS_PER_SECOND, "flows a second of a `poisson` entry";
        ERROR_CHARACTERS: usize = 1000, ERROR_CHARACTERS, "characters of an error, whose middle is left out";
    }
    "file that an experiment names" {
        FILE_BYTES: u64 = 256 << 20, FILE_BYTES, "size" "bytes";
        OPPORTUNITIES: usize = 20_000_000, OPPORTUNITIES, "delivery opportunities or rows of a trace";
        REPLAYED_FLOWS: usize = 1_000_000, REPLAYED_FLOWS, "flows of a `replay` entry";
        SIZE_POINTS: usize = 1_000_000, SIZE_POINTS, "points of a table of flow sizes";
    }
    "WebAssembly module" {
        WASM_BYTES: u64 = 4 << 20, WASM_BYTES, "size" "bytes";
        // Of one instance: each flow with a control has its own.
        WASM_MEMORY: usize = 64 << 20, WASM_MEMORY, "memory of one mechanism" "bytes";
        WASM_TABLES: usize = 4, WASM_TABLES, "tables";
        // References to functions, of 4 bytes each.
        WASM_TABLE_ELEMENTS: usize = 1 << 16, WASM_TABLE_ELEMENTS, "elements of one table";
        WASM_INSTRUCTIONS: u64 = 10_000_000, WASM_INSTRUCTIONS, "instructions of one call";
    }
}
