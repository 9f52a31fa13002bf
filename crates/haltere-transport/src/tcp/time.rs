//! Small types of time that an endpoint keeps by the thousand: each is an `Option` or a measurement in one word.

use core::num::NonZeroU64;
use haltere_units::{Dur, Time};

/// When something is due, if ever: an `Option<Time>` of one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deadline(Time);

impl Deadline {
    pub(crate) const NONE: Deadline = Deadline(Time::NEVER);

    #[inline]
    pub(crate) const fn at(time: Time) -> Deadline {
        Deadline(time)
    }
    #[inline]
    pub(crate) fn is_set(self) -> bool {
        self != Deadline::NONE
    }
    #[inline]
    pub(crate) fn is_due(self, now: Time) -> bool {
        now >= self.0
    }
    /// The earlier of the two.
    #[inline]
    pub(crate) fn earliest(self, other: Deadline) -> Deadline {
        Deadline(self.0.min(other.0))
    }
    #[inline]
    pub(crate) fn time(self) -> Option<Time> {
        self.is_set().then_some(self.0)
    }
    /// True, and unset, if it is due.
    #[inline]
    pub(crate) fn take_due(&mut self, now: Time) -> bool {
        let due = self.is_due(now);
        if due {
            *self = Deadline::NONE;
        }
        due
    }
}

/// A span of time of at least 1 ns, such as a round-trip time; `Option<PosDur>` takes one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PosDur(NonZeroU64);

impl PosDur {
    /// This span, but at least 1 ns.
    #[inline]
    pub(crate) fn at_least_1ns(span: Dur) -> PosDur {
        PosDur(NonZeroU64::new(span.as_ns()).unwrap_or(NonZeroU64::MIN))
    }
    #[inline]
    pub(crate) fn new(span: Dur) -> Option<PosDur> {
        NonZeroU64::new(span.as_ns()).map(PosDur)
    }
    #[inline]
    pub(crate) fn dur(self) -> Dur {
        Dur::from_ns(self.0.get())
    }
}

/// As controls and reports have it: zero before the first sample.
#[inline]
pub(crate) fn or_zero(span: Option<PosDur>) -> Dur {
    span.map_or(Dur::ZERO, PosDur::dur)
}

/// A reading of the clock behind the timestamps option (RFC 7323): whole milliseconds of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ms(u64);

impl Ms {
    #[inline]
    pub(crate) fn of(now: Time) -> Ms {
        Ms(now.as_ns() / 1_000_000)
    }
    /// What the option has room for.
    #[inline]
    pub(crate) fn low_bits(self) -> u32 {
        self.0 as u32
    }
    /// The reading `ms` earlier, if the run had begun.
    #[inline]
    pub(crate) fn earlier(self, ms: u32) -> Option<Ms> {
        self.0.checked_sub(u64::from(ms)).map(Ms)
    }
    /// True if it was read in an earlier millisecond than that of `time`.
    #[inline]
    pub(crate) fn is_before(self, time: Time) -> bool {
        self.0 < Ms::of(time).0
    }
    /// Time from this reading to `now`, at least 1 ms.
    #[inline]
    pub(crate) fn elapsed(self, now: Time) -> Dur {
        Dur::from_ms(Ms::of(now).0.saturating_sub(self.0).max(1))
    }
}
