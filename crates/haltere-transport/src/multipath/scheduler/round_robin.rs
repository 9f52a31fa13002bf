//! Round robin: the paths in turn.
//! Source, deviations and known problems: see [`Params`].
//! Model: the next path after the last one that has room.
//! Units: segments. Cost: O(paths) a segment.

use super::PathScheduler;
use crate::multipath::view::{PathView, Paths, SegView};
use haltere_units::{ParamError, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sends on the paths in turn, among those whose window has room.
///
/// Source: C. Paasch et al., "Experimental Evaluation of Multipath TCP Schedulers", CSWS 2014, section 3.
///
/// Deviations: none.
///
/// Known problems: with unequal paths the slowest one delays the stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Segments that a path takes in its turn, at least 1.
    pub segments: u32,
}

impl Default for Params {
    fn default() -> Params {
        Params { segments: 1 }
    }
}

impl Params {
    /// The first parameter that breaks its rule, as an error.
    pub fn check(&self) -> Result<(), ParamError> {
        if self.segments == 0 {
            Err(ParamError::new("segments", "at least 1", 0).default_is(Params::default().segments))
        } else {
            Ok(())
        }
    }
}

/// The scheduler with its parameters and state.
#[derive(Debug, Clone)]
pub struct RoundRobin {
    segments: u32,
    current: usize,
    left: u32,
}

impl RoundRobin {
    /// It begins with the first path.
    pub fn new(params: &Params) -> RoundRobin {
        RoundRobin { segments: params.segments, current: 0, left: params.segments }
    }
}

impl PathScheduler for RoundRobin {
    fn pick(&mut self, _now: Time, paths: &[PathView], _seg: &SegView) -> Paths {
        for step in 0..=paths.len() {
            let path = (self.current + step) % paths.len();
            let fresh = step > 0;
            if (fresh || self.left > 0) && paths[path].is_open() {
                self.left = if fresh { self.segments } else { self.left } - 1;
                self.current = path;
                return Paths::one(path);
            }
        }
        Paths::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn order(segments: u32, closed: usize) -> Vec<usize> {
        let mut paths: [PathView; 3] = core::array::from_fn(PathView::new);
        if let Some(path) = paths.get_mut(closed) {
            path.ready = false;
        }
        let mut s = RoundRobin::new(&Params { segments });
        (0..6).filter_map(|_| s.pick(Time::ZERO, &paths, &SegView::default()).first()).collect()
    }

    #[test]
    fn paths_take_turns_and_full_ones_are_passed_over() {
        assert_eq!(order(1, 9), [0, 1, 2, 0, 1, 2]);
        assert_eq!(order(2, 9), [0, 0, 1, 1, 2, 2]);
        assert_eq!(order(1, 1), [0, 2, 0, 2, 0, 2]);
    }

    #[test]
    fn the_only_path_with_room_takes_every_turn() {
        let mut paths: [PathView; 2] = core::array::from_fn(PathView::new);
        paths[1].usable = false;
        let mut s = RoundRobin::new(&Params::default());
        assert!((0..5).all(|_| s.pick(Time::ZERO, &paths, &SegView::default()) == Paths::one(0)));
    }
}
