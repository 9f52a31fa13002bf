//! The AccECN option (RFC 9768, section 3.2.3): three counters of 24 bits, in either order.

#![allow(missing_docs, reason = "tests")]

use haltere_transport::EcnCounts;

#[test]
fn counters_are_read_as_they_were_written_in_24_bits() {
    let counts = EcnCounts { ect0: 0x0001_0203, ce: 0x00ff_fefd, ect1: 7 };
    let bytes = counts.to_bytes();
    assert_eq!(bytes, [174, 11, 0, 0, 7, 0xff, 0xfe, 0xfd, 1, 2, 3]);
    assert_eq!(EcnCounts::from_option(174, &bytes[2..]), Some(counts));
    let more = EcnCounts { ect0: 0x0100_0000, ce: 0xab00_0001, ect1: u32::MAX };
    let kept = EcnCounts { ect0: 0, ce: 1, ect1: 0x00ff_ffff };
    assert_eq!(EcnCounts::from_option(174, &more.to_bytes()[2..]), Some(kept), "counters wrap");
}

#[test]
fn the_kind_says_which_counter_is_first() {
    let value = [0, 0, 1, 0, 0, 2, 0, 0, 3];
    assert_eq!(EcnCounts::from_option(172, &value), Some(EcnCounts { ect0: 1, ce: 2, ect1: 3 }));
    assert_eq!(EcnCounts::from_option(174, &value), Some(EcnCounts { ect0: 3, ce: 2, ect1: 1 }));
    assert_eq!(EcnCounts::from_option(173, &value), None, "another option");
    for length in [0, 3, 6, 8] {
        assert_eq!(EcnCounts::from_option(172, &value[..length]), None, "{length} bytes");
    }
}
