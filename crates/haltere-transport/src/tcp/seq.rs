//! Sequence numbers: 32 bits on the wire, 64 bits inside.
//!
//! Inside, a position counts from the SYN, which is 0; the first payload byte is 1. A position never wraps.

use core::cmp::max;

/// The position of wire number `wire`, the nearest to `near`, where the SYN had the number `base`.
#[inline]
pub(crate) fn position(wire: u32, base: u32, near: u64) -> u64 {
    let distance = wire.wrapping_sub(base.wrapping_add(near as u32)) as i32;
    max(near as i64 + i64::from(distance), 0) as u64
}

/// The wire number of a position.
#[inline]
pub(crate) fn wire(position: u64, base: u32) -> u32 {
    base.wrapping_add(position as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_pass_the_wrap_of_the_wire_number() {
        let base = u32::MAX - 5;
        for near in [0_u64, 3, 6, 7, 1 << 32, (1 << 33) + 12345] {
            for distance in [-2_000_000_000_i64, -3, 0, 9, 2_000_000_000] {
                let there = near as i64 + distance;
                if there >= 0 {
                    assert_eq!(position(wire(there as u64, base), base, near), there as u64);
                }
            }
        }
    }

    #[test]
    fn a_number_before_the_syn_is_position_zero() {
        assert_eq!(position(90, 100, 5), 0);
    }
}
