//! Any bytes as a discipline, a link and frames through a whole router in virtual time: `make fuzz`.
//! The same body runs bounded in the tests of haltere-wire.
#![no_main]

#[path = "../../crates/haltere-wire/tests/support/mod.rs"]
mod support;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| support::exercise_router(bytes));
