//! What a scheduler sees of the paths and of the segment to be sent.

use haltere_units::{Bytes, Dur};

/// The most paths of one connection.
pub const MAX_PATHS: usize = 16;

/// A set of paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Paths(u32);

impl Paths {
    /// The set without any path.
    pub const NONE: Paths = Paths(0);
    /// The set of one path.
    pub const fn one(path: usize) -> Paths {
        Paths(1 << path)
    }
    /// With that path in it.
    #[must_use]
    pub const fn with(self, path: usize) -> Paths {
        Paths(self.0 | 1 << path)
    }
    /// The set without that path.
    #[must_use]
    pub const fn without(self, path: usize) -> Paths {
        Paths(self.0 & !(1 << path))
    }
    /// True if the path is in it.
    pub const fn contains(self, path: usize) -> bool {
        self.0 & 1 << path != 0
    }
    /// True if both have one in common.
    pub const fn meets(self, other: Paths) -> bool {
        self.0 & other.0 != 0
    }
    /// True if all its paths have lower numbers than that.
    pub const fn is_below(self, path: usize) -> bool {
        path >= 32 || self.0 >> path == 0
    }
    /// True if it holds none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// The number of paths in the set.
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }
    /// The path of the set with the lowest number.
    pub fn first(self) -> Option<usize> {
        (self.0 != 0).then(|| self.0.trailing_zeros() as usize)
    }
}

/// One path as a scheduler sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PathView {
    /// The path's number, from 0, in the order of joining.
    pub path: usize,
    /// Established, and not silent since a timeout.
    pub usable: bool,
    /// The window has room for a segment now, and nothing waits to be sent on it; for a scheduler that queues ahead:
    /// the subflow's buffer has room.
    pub ready: bool,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Dur,
    /// Mean deviation of the round-trip time.
    pub rttvar: Dur,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow-start threshold; [`Bytes::MAX`] before the first reduction.
    pub ssthresh: Bytes,
    /// Bytes in flight.
    pub in_flight: Bytes,
    /// Bytes given to the path and not acknowledged on it.
    pub queued: Bytes,
    /// Payload of a full segment.
    pub mss: Bytes,
}

impl PathView {
    /// A path of that number that is usable and ready, with everything else zero.
    pub fn new(path: usize) -> PathView {
        PathView {
            path,
            usable: true,
            ready: true,
            srtt: Dur::ZERO,
            rttvar: Dur::ZERO,
            cwnd: Bytes::ZERO,
            ssthresh: Bytes::MAX,
            in_flight: Bytes::ZERO,
            queued: Bytes::ZERO,
            mss: Bytes::new(1448),
        }
    }
    /// Usable and ready.
    pub fn is_open(&self) -> bool {
        self.usable && self.ready
    }
}

/// The usable and ready path of the least smoothed round-trip time among those that `keep` names.
pub(crate) fn fastest(paths: &[PathView], keep: impl Fn(&PathView) -> bool) -> Option<&PathView> {
    paths.iter().filter(|p| keep(p)).min_by_key(|p| p.srtt)
}

/// The segment to be sent, as a scheduler sees it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct SegView {
    /// Its payload bytes.
    pub len: Bytes,
    /// The paths that have carried it already.
    pub carried: Paths,
    /// Bytes that wait to be sent for the first time, this segment included.
    pub waiting: Bytes,
    /// Bytes sent and not acknowledged to the connection.
    pub unacked: Bytes,
    /// Bytes that the receiver's window leaves open, this segment included.
    pub window: Bytes,
}
