//! Sequence numbers: 32 bits that wrap in the header, stream offsets of 64 bits inside.

use core::ops::{Add, AddAssign, Sub};

/// A stream offset. The SYN has offset 0, the first payload byte 1, and the FIN the one after the last byte. It never
/// wraps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Offset(u64);

impl Offset {
    /// The offset of the SYN.
    pub(crate) const SYN: Offset = Offset(0);
    /// The offset of the first payload byte.
    pub(crate) const FIRST: Offset = Offset(1);

    #[inline]
    pub(crate) const fn new(offset: u64) -> Offset {
        Offset(offset)
    }
    #[inline]
    pub(crate) const fn get(self) -> u64 {
        self.0
    }
    /// Bytes since `earlier`, or 0 if that is later.
    #[inline]
    pub(crate) const fn since(self, earlier: Offset) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
    /// The offset one before this one, which must not be the SYN.
    #[inline]
    pub(crate) const fn previous(self) -> Offset {
        Offset(self.0 - 1)
    }
}

impl Add<u64> for Offset {
    type Output = Offset;
    #[inline]
    fn add(self, bytes: u64) -> Offset {
        Offset(self.0 + bytes)
    }
}
impl AddAssign<u64> for Offset {
    #[inline]
    fn add_assign(&mut self, bytes: u64) {
        self.0 += bytes;
    }
}
impl Sub for Offset {
    type Output = u64;
    #[inline]
    fn sub(self, earlier: Offset) -> u64 {
        self.0 - earlier.0
    }
}

/// An offset modulo 2^32.
#[inline]
pub(crate) fn low(offset: Offset) -> u32 {
    offset.0 as u32
}

/// The offsets from `start` to the one before `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Span {
    pub start: Offset,
    pub end: Offset,
}

impl Span {
    #[inline]
    pub(crate) const fn new(start: Offset, end: Offset) -> Span {
        Span { start, end }
    }
    #[inline]
    pub(crate) fn len(self) -> u64 {
        self.end - self.start
    }
    /// True if it holds no offset.
    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.start >= self.end
    }
    #[inline]
    pub(crate) fn contains(self, offset: Offset) -> bool {
        self.start <= offset && offset < self.end
    }
    /// True if all of `other` lies in it.
    #[inline]
    pub(crate) fn covers(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }
    /// True if both have an offset in common, or one begins where the other ends.
    #[inline]
    pub(crate) fn touches(self, other: Span) -> bool {
        self.start <= other.end && other.start <= self.end
    }
    /// The least span that covers both.
    #[inline]
    pub(crate) fn joined(self, other: Span) -> Span {
        Span::new(self.start.min(other.start), self.end.max(other.end))
    }
}

/// The offset of a stream's FIN, once that is known: an `Option<Offset>` of one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamEnd(Offset);

impl StreamEnd {
    /// The stream may go on.
    pub(crate) const UNKNOWN: StreamEnd = StreamEnd(Offset(u64::MAX));

    /// The FIN has this offset.
    pub(crate) const fn at(fin: Offset) -> StreamEnd {
        StreamEnd(fin)
    }
    #[inline]
    pub(crate) fn is_known(self) -> bool {
        self != StreamEnd::UNKNOWN
    }
    /// True if the FIN has this offset.
    #[inline]
    pub(crate) fn is_at(self, offset: Offset) -> bool {
        self.0 == offset
    }
    /// True if the FIN is known and lies before `offset`.
    #[inline]
    pub(crate) fn is_before(self, offset: Offset) -> bool {
        self.0 < offset
    }
    /// This offset, but not beyond the FIN.
    #[inline]
    pub(crate) fn bound(self, offset: Offset) -> Offset {
        offset.min(self.0)
    }
}

/// The initial sequence number of one direction (ISS or IRS): the number of its SYN. It relates header fields and
/// offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct InitialSeq(u32);

impl InitialSeq {
    pub(crate) const fn new(number: u32) -> InitialSeq {
        InitialSeq(number)
    }
    /// The stream offset of a header's sequence number: of all that have this number, the nearest to `near`. Numbers
    /// before the SYN give the SYN.
    #[inline]
    pub(crate) fn offset_of(self, number: u32, near: Offset) -> Offset {
        let distance = number.wrapping_sub(self.number_of(near)) as i32;
        Offset((near.0 as i64 + i64::from(distance)).max(0) as u64)
    }
    /// The same for both ends of a SACK block.
    #[inline]
    pub(crate) fn span_of(self, block: (u32, u32), near: Offset) -> Span {
        Span::new(self.offset_of(block.0, near), self.offset_of(block.1, near))
    }
    /// The sequence number that a header has for this offset.
    #[inline]
    pub(crate) fn number_of(self, offset: Offset) -> u32 {
        self.0.wrapping_add(offset.0 as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_pass_the_wrap_of_the_sequence_number() {
        let isn = InitialSeq::new(u32::MAX - 5);
        for near in [0_u64, 3, 6, 7, 1 << 32, (1 << 33) + 12345] {
            for distance in [-2_000_000_000_i64, -3, 0, 9, 2_000_000_000] {
                let there = near as i64 + distance;
                if there >= 0 {
                    let offset = Offset::new(there as u64);
                    assert_eq!(isn.offset_of(isn.number_of(offset), Offset::new(near)), offset);
                }
            }
        }
    }

    #[test]
    fn a_number_before_the_syn_is_offset_zero() {
        assert_eq!(InitialSeq::new(100).offset_of(90, Offset::new(5)), Offset::SYN);
    }

    #[test]
    fn an_unknown_end_bounds_nothing() {
        let far = Offset::new(u64::MAX / 2);
        assert!(!StreamEnd::UNKNOWN.is_before(far) && StreamEnd::UNKNOWN.bound(far) == far);
        let end = StreamEnd::at(Offset::new(7));
        assert!(end.is_before(Offset::new(8)) && !end.is_before(Offset::new(7)));
        assert_eq!(end.bound(Offset::new(9)), Offset::new(7));
    }
}
