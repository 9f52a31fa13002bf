//! Any bytes as a frame: `make fuzz`. The same body runs bounded in the tests of haltere-wire.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| haltere_wire::testing::exercise_frame(bytes));
