//! The link as CAKE's shaper sees it: what a packet takes on it, and which part of it each tin has.

use super::{Diffserv, Framing};
use crate::LinkContext;
use haltere_units::{Bytes, Dur, Rate};

/// An ATM cell, and its payload.
const CELL: u64 = 53;
const CELL_PAYLOAD: u64 = 48;
/// PTM sends 65 bytes for 64.
const PTM_PAYLOAD: u64 = 64;
/// Bounds of the bytes that a flow may send in its turn. It is what the rate carries in about a quarter of a
/// millisecond.
const QUANTUM: (u64, u64) = (300, 1514);
const TURNS_PER_SECOND: u64 = 4096;

/// The lengths of packets on the link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lengths {
    pub overhead: i32,
    pub mpu: u32,
    pub framing: Framing,
}

impl Lengths {
    /// The length of a packet of `len` bytes on the link.
    #[inline]
    pub fn on_link(&self, len: u32) -> u32 {
        let bytes = len.saturating_add_signed(self.overhead).max(self.mpu);
        let wide = u64::from(bytes);
        let framed = match self.framing {
            Framing::None => return bytes,
            Framing::Atm => wide.div_ceil(CELL_PAYLOAD) * CELL,
            Framing::Ptm => wide + wide.div_ceil(PTM_PAYLOAD),
        };
        u32::try_from(framed).unwrap_or(u32::MAX)
    }
}

impl Diffserv {
    /// The tins by rising priority: up to which part of the rate each comes before those of lower priority, as a power
    /// of two below it.
    pub(super) fn tins(self) -> &'static [u32] {
        const BULK: u32 = 4;
        const BEST_EFFORT: u32 = 0;
        const VIDEO: u32 = 1;
        const VOICE: u32 = 2;
        match self {
            Diffserv::Besteffort => &[BEST_EFFORT],
            Diffserv::Diffserv3 => &[BULK, BEST_EFFORT, VOICE],
            Diffserv::Diffserv4 => &[BULK, BEST_EFFORT, VIDEO, VOICE],
        }
    }
    /// The tin of packets with that DSCP (tc-cake(8)).
    #[inline]
    pub(super) fn tin_of(self, dscp: u8) -> usize {
        match (self, dscp) {
            (Diffserv::Besteffort, _) => 0,
            (_, 8 | 1) => 0,                                         // CS1, LE
            (Diffserv::Diffserv3, 48 | 56 | 46 | 44 | 4) => 2,       // CS6, CS7, EF, VA, TOS4
            (Diffserv::Diffserv4, 48 | 56 | 46 | 44 | 40 | 32) => 3, // CS6, CS7, EF, VA, CS5, CS4
            // AF4x, AF3x, CS3, AF2x, CS2, TOS4
            (Diffserv::Diffserv4, 34 | 36 | 38 | 26 | 28 | 30 | 24 | 18 | 20 | 22 | 16 | 4) => 2,
            _ => 1,
        }
    }
}

/// The rate of a tin with that part of the whole.
pub(super) fn part_of(rate: Rate, shift: u32) -> Rate {
    Rate::from_bps((rate.as_bps() >> shift).max(1))
}

/// Bytes of a flow in its turn at that rate.
pub(super) fn quantum(rate: Option<Rate>, link: &LinkContext) -> i64 {
    let wanted =
        rate.map_or(link.packet.as_u64(), |rate| (rate.as_bps() / 8 / TURNS_PER_SECOND).clamp(QUANTUM.0, QUANTUM.1));
    wanted as i64
}

/// How long so many bytes take.
#[inline]
pub(super) fn time_for(rate: Rate, len: u32) -> Dur {
    rate.time_for(Bytes::new(u64::from(len)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_whole_and_ptm_adds_a_byte_in_64() {
        let on = |overhead, mpu, framing, len| Lengths { overhead, mpu, framing }.on_link(len);
        // 1500 + 44 bytes are 32.2 cells of 48 bytes, so 33 of 53.
        assert_eq!(on(44, 0, Framing::Atm, 1500), 33 * 53);
        assert_eq!(on(0, 0, Framing::Atm, 48), 53);
        assert_eq!(on(0, 0, Framing::Ptm, 1280), 1300);
        assert_eq!(on(-14, 0, Framing::None, 1514), 1500);
        assert_eq!(on(38, 84, Framing::None, 40), 84);
    }
    #[test]
    fn code_points_lead_to_the_tins_of_the_manual_page() {
        let three = [8, 1, 0, 10, 46, 48, 4, 34].map(|dscp| Diffserv::Diffserv3.tin_of(dscp));
        assert_eq!(three, [0, 0, 1, 1, 2, 2, 2, 1]);
        let four = [8, 0, 10, 34, 24, 4, 46, 40, 32].map(|dscp| Diffserv::Diffserv4.tin_of(dscp));
        assert_eq!(four, [0, 1, 1, 2, 2, 2, 3, 3, 3]);
        assert_eq!(Diffserv::Besteffort.tin_of(46), 0);
    }
    #[test]
    fn a_turn_is_a_quarter_of_a_millisecond_within_bounds() {
        let link = crate::testing::link();
        let of = |mbps| quantum(Some(Rate::from_mbps(mbps)), &link);
        assert_eq!([of(1), of(10), of(20), of(100)], [300, 305, 610, 1514]);
        assert_eq!(quantum(None, &link), 1500);
    }
}
