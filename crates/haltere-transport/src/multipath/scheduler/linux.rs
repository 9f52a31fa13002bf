//! Linux's own scheduler: the path that would be done first with the bytes given to it.
//! Source, deviations and known problems: see [`Params`].
//! Model: bytes given to a path wait in the subflow's own send buffer, behind a full window, too. For each path linger
//! = bytes given and not acknowledged / pacing rate. The path of least linger takes the next burst of 64 kB, if its
//! buffer has room; otherwise all wait. The pacing rate is that of Linux's TCP: 2 (slow start) or 1.2 windows a
//! round-trip time, averaged over the waiting bytes and the burst.
//! Units: bytes, ns. Cost: O(paths) a segment.

use super::PathScheduler;
use crate::multipath::view::{MAX_PATHS, PathView, Paths, SegView};
use haltere_units::{ParamError, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Memory for each byte of payload that waits: 2704 bytes for a segment of 1424.
const MEMORY: f64 = 1.9;

/// Linux 6.1's scheduler: sends on the path that would be done first with the bytes given to it.
///
/// Source: behaviour of Linux 6.1 (net/mptcp), measured with its multipath TCP over two paths. The idea is BLEST's
/// (Ferlin et al., IFIP Networking 2016): a slow path gets no more than the fast one would send in the same time.
///
/// Deviations: there are no backup paths.
///
/// Known problems: a path of long delay stays partly unused if the send buffer of the fast one is small, as in Linux.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Bytes for which one choice of a path is valid, at least 1. The default is Linux's: 64 KiB less headers.
    pub burst: u32,
}

impl Default for Params {
    fn default() -> Params {
        Params { burst: 65_386 }
    }
}

impl Params {
    /// The first parameter that breaks its rule, as an error.
    pub fn check(&self) -> Result<(), ParamError> {
        if self.burst == 0 {
            return Err(ParamError::new("burst", "at least 1", self.burst).default_is(Params::default().burst));
        }
        Ok(())
    }
}

/// The scheduler with its parameters and state.
#[derive(Debug, Clone)]
pub struct Linux {
    params: Params,
    /// Averaged pacing rate of each path in bytes a second; zero before the first.
    pace: [f64; MAX_PATHS],
    /// The path chosen last, and what is left of its burst.
    last: usize,
    left: u64,
}

impl Linux {
    /// Without a choice.
    pub fn new(params: &Params) -> Linux {
        Linux { params: params.clone(), pace: [0.0; MAX_PATHS], last: 0, left: 0 }
    }
    /// What the path paces at now, in bytes a second.
    fn pacing(path: &PathView) -> f64 {
        let window = path.cwnd.max(path.in_flight).as_u64() as f64;
        // Linux's tcp_pacing_ss_ratio and tcp_pacing_ca_ratio.
        let ratio = if path.cwnd.as_u64() < path.ssthresh.as_u64() / 2 { 2.0 } else { 1.2 };
        ratio * window / (path.srtt.as_ns().max(1_000) as f64 * 1e-9)
    }
    fn choose(&mut self, paths: &[PathView], seg: &SegView) -> Option<usize> {
        let mut best: Option<(f64, &PathView)> = None;
        for path in paths.iter().filter(|p| p.usable) {
            let pace = &mut self.pace[path.path];
            if *pace == 0.0 {
                *pace = Linux::pacing(path);
            }
            let linger = path.queued.as_u64() as f64 / *pace;
            if best.is_none_or(|(least, _)| linger < least) {
                best = Some((linger, path));
            }
        }
        let (_, path) = best.filter(|(_, path)| path.ready)?;
        let (burst, queued) =
            (u64::from(self.params.burst).min(seg.window.as_u64()), MEMORY * path.queued.as_u64() as f64);
        let pace = &mut self.pace[path.path];
        *pace = (*pace * queued + Linux::pacing(path) * burst as f64) / (queued + burst.max(1) as f64);
        (self.last, self.left) = (path.path, burst);
        Some(path.path)
    }
}

impl PathScheduler for Linux {
    fn queues_ahead(&self) -> bool {
        true
    }
    fn pick(&mut self, _now: Time, paths: &[PathView], seg: &SegView) -> Paths {
        let again = self.left > 0 && paths.get(self.last).is_some_and(PathView::is_open);
        let path = if again { Some(self.last) } else { self.choose(paths, seg) };
        self.left = self.left.saturating_sub(seg.len.as_u64());
        path.map_or(Paths::NONE, Paths::one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_units::{Bytes, Dur};

    fn paths(queued: [u64; 2]) -> [PathView; 2] {
        let mut paths: [PathView; 2] = core::array::from_fn(PathView::new);
        for (path, queued) in paths.iter_mut().zip(queued) {
            path.queued = Bytes::new(queued);
            path.ssthresh = Bytes::new(10_000);
            path.cwnd = Bytes::new(100_000);
        }
        (paths[0].srtt, paths[1].srtt) = (Dur::from_ms(20), Dur::from_ms(100));
        paths
    }
    fn seg() -> SegView {
        SegView { len: Bytes::new(1000), window: Bytes::new(1_000_000), ..SegView::default() }
    }

    #[test]
    fn the_path_that_is_through_first_takes_the_burst() {
        // 6 MB/s and 1.2 MB/s: 50 kB last 8.3 ms on the one, 10 kB as long on the other.
        let pick = |queued| Linux::new(&Params::default()).pick(Time::ZERO, &paths(queued), &seg());
        assert_eq!(pick([50_000, 10_500]), Paths::one(0));
        assert_eq!(pick([50_000, 9_500]), Paths::one(1));
        let mut linux = Linux::new(&Params { burst: 3000 });
        let picked: [Paths; 4] = core::array::from_fn(|i| {
            let queued = if i == 0 { [0, 1] } else { [1_000_000, 0] };
            linux.pick(Time::ZERO, &paths(queued), &seg())
        });
        assert_eq!(picked, [0, 0, 0, 1].map(Paths::one), "three segments of 1000 bytes are the burst");
    }
    #[test]
    fn where_the_first_has_no_room_all_wait() {
        let mut full = paths([50_000, 10_500]);
        full[0].ready = false;
        assert_eq!(Linux::new(&Params::default()).pick(Time::ZERO, &full, &seg()), Paths::NONE);
        full[0].usable = false;
        assert_eq!(Linux::new(&Params::default()).pick(Time::ZERO, &full, &seg()), Paths::one(1));
    }
}
