//! Any bytes as a trace file, and as the gaps that stand for one: `make fuzz`. The same body runs bounded in
//! the tests of haltere-lab.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| haltere_lab::exercise_trace(bytes));
