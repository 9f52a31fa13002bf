//! Any bytes as an experiment file, or as the JSON of one that a page of the playground sends: `make fuzz`. The same body runs bounded in
//! the tests of haltere-lab.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| haltere_lab::testing::exercise_experiment(bytes));
