//! Any bytes as an experiment file, or as the JSON of one that a page of the playground sends: `make fuzz`. The same body runs bounded in
//! the tests of haltere-lab.
#![no_main]

#[path = "../../crates/haltere-lab/tests/it/bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bodies::exercise_experiment(bytes));
