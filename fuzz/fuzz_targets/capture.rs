//! Any bytes as a capture: `make fuzz`. A bounded version runs in the tests of haltere-capture.
#![no_main]

use haltere_capture::packet::Packet;
use haltere_capture::reader::Reader;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(mut reader) = Reader::new(bytes, haltere_capture::Watch::default()) {
        while let Ok(Some(record)) = reader.next_record() {
            let _ = Packet::of(&record);
        }
    }
});
