//! Any bytes as a capture: `cargo +nightly fuzz run capture`. A bounded version runs in the tests of haltere-capture.
#![no_main]

use haltere_capture::packet::Packet;
use haltere_capture::reader::Reader;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(mut reader) = Reader::new(bytes, haltere_capture::Watch::default()) {
        while let Ok(Some(record)) = reader.next() {
            let _ = Packet::of(&record);
        }
    }
});
