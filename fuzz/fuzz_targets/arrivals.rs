//! Any bytes as a table of flow sizes and the rate of a Poisson process: `make fuzz`. The same body runs bounded in
//! the tests of haltere-lab.
#![no_main]

#[path = "../../crates/haltere-lab/tests/it/bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bodies::exercise_arrivals(bytes));
