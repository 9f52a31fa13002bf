//! The laws of fixed-point arithmetic, tried on every small value and on every value near the ends of the range.

use haltere_units::{Bytes, Dur, Rate, Serialisation};

/// Small rates, powers of two with their neighbours, and the largest.
fn rates() -> impl Iterator<Item = u64> {
    let near = (1..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
    (1..=128).chain(near).chain([u64::MAX - 1, u64::MAX])
}

#[test]
fn the_time_for_some_bytes_is_the_least_in_which_they_pass() {
    for bps in rates() {
        let rate = Rate::from_bps(bps);
        for bytes in (0..=64).chain([1448, 1500, 9000, 1 << 20]) {
            let time = rate.time_for(Bytes::new(bytes));
            assert!(rate.bytes_in(time).as_u64() >= bytes, "{bytes} B at {bps} bit/s");
            let less = time.saturating_sub(Dur::from_ns(1));
            assert!(bytes == 0 || time.is_zero() || rate.bytes_in(less).as_u64() < bytes, "{bytes} B at {bps} bit/s");
        }
    }
}

#[test]
fn packets_occupy_a_line_for_their_exact_time_together() {
    for bps in rates() {
        for sizes in [[1, 1, 1], [1, 2, 3], [40, 1500, 40], [1500, 1500, 9000], [0, 1, 64]] {
            let mut line = Serialisation::new(Some(Rate::from_bps(bps)));
            let (mut bytes, mut ns) = (0u128, 0u128);
            for size in sizes.iter().cycle().take(60) {
                bytes += size;
                ns += u128::from(line.next(Bytes::new(*size as u64)).as_ns());
                assert_eq!(ns, bytes * 8_000_000_000 / u128::from(bps), "{bytes} B at {bps} bit/s");
            }
        }
    }
}

#[test]
fn a_rate_is_that_of_the_bytes_in_the_time() {
    for bytes in 0..=2000u64 {
        for ns in 1..=64u64 {
            let rate = Rate::of(Bytes::new(bytes), Dur::from_ns(ns)).as_bps();
            let exact = bytes * 8_000_000_000;
            assert!(rate * ns <= exact && exact < (rate + 1) * ns, "{bytes} B in {ns} ns");
        }
    }
}
