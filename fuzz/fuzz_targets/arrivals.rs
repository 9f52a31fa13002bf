//! Any bytes as a table of flow sizes and the rate of a Poisson process: `make fuzz`. The same body runs bounded in
//! the tests of haltere-lab.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| haltere_lab::testing::exercise_arrivals(bytes));
