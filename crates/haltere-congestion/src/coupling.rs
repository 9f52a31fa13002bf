//! The view that a coupled control has of its siblings, and the credit by which LIA, OLIA and BALIA grow.

use crate::window::Window;
use haltere_units::{Bytes, Dur};

/// One subflow of a multipath connection, as its siblings see it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sibling {
    /// The congestion window of the subflow.
    pub cwnd: Bytes,
    /// Its smoothed round-trip time; zero before the first sample.
    pub srtt: Dur,
    /// The value of its control's [`bytes_between_losses`](crate::CongestionControl::bytes_between_losses).
    pub between_losses: Bytes,
}

/// All subflows that carry data, and the one whose control is called.
#[derive(Debug, Clone, Copy)]
pub struct CouplingView<'a> {
    /// All subflows of the connection that carry data.
    pub siblings: &'a [Sibling],
    /// Index of the one whose control is called.
    pub this: usize,
}

impl CouplingView<'_> {
    /// Windows in segments of `mss` and round-trip times in seconds, of those that have both.
    pub(crate) fn rates(&self, mss: f64) -> impl Iterator<Item = (f64, f64)> + Clone + '_ {
        let known = self.siblings.iter().filter(|s| !s.srtt.is_zero());
        known.map(move |s| (s.cwnd.as_u64() as f64 / mss, s.srtt.as_secs_f64()))
    }
    /// The subflow whose control is called: window in segments and round-trip time in seconds.
    pub(crate) fn own(&self, mss: f64) -> Option<(f64, f64)> {
        let s = self.siblings.get(self.this).filter(|s| !s.srtt.is_zero())?;
        Some((s.cwnd.as_u64() as f64 / mss, s.srtt.as_secs_f64()))
    }
}

/// The fraction of a segment by which the window is still to grow or shrink.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Credit(f64);

impl Credit {
    /// Adds `segments`, which may be negative, and moves the window by the whole ones.
    pub fn add(&mut self, segments: f64, window: &mut Window) {
        self.0 += segments;
        let whole = self.0 as i64; // towards zero
        if whole != 0 {
            self.0 -= whole as f64;
            window.set_cwnd(window.cwnd.saturating_add_signed(whole).max(2));
        }
    }
    /// Discards the fraction of a segment.
    pub fn clear(&mut self) {
        self.0 = 0.0;
    }
}
