//! Validation of the congestion window: was it what limited the sender?
//! Source: RFC 7661, Linux's `tcp_cwnd_validate`.
//! Deviations (Linux): the window counts as validated while it was the limit in this round, or in slow start while at
//! least half of it was used.
//! Units: segments, stream offsets. Cost: O(1). Known problems: none.

use crate::tcp::seq::Offset;

/// How much of the congestion window was used.
#[derive(Debug)]
pub(crate) struct WindowUsage {
    /// The window was the limit in this round.
    limited: bool,
    /// Most segments out in this round.
    max_out: u32,
    /// The round ends when this is acknowledged.
    round_end: Offset,
}

impl WindowUsage {
    pub(crate) fn new() -> WindowUsage {
        WindowUsage { limited: false, max_out: 0, round_end: Offset::FIRST }
    }
    /// A burst has ended with `out` segments out.
    #[inline]
    pub(crate) fn validate(&mut self, limited: bool, out: u32, una: Offset, nxt: Offset) {
        if una >= self.round_end || limited || (!self.limited && out > self.max_out) {
            self.limited = limited;
            self.max_out = out;
            self.round_end = nxt;
        }
    }
    #[inline]
    pub(crate) fn was_limited(&self) -> bool {
        self.limited
    }
    #[inline]
    pub(crate) fn max_out(&self) -> u32 {
        self.max_out
    }
}
