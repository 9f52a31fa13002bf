//! Lowest round-trip time first.
//! Source, deviations and known problems: see [`Params`].
//! Model: of the paths whose window has room, the one of the least smoothed round-trip time.
//! Units: ns. Cost: O(paths) a segment.

use super::PathScheduler;
use crate::multipath::view::{PathView, Paths, SegView, fastest};
use haltere_units::{ParamError, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sends each segment on the path of the least round-trip time whose window has room.
///
/// Source: C. Raiciu et al., "How Hard Can It Be? Designing and Implementing a Deployable Multipath TCP", NSDI 2012,
/// section 4.2. It is the default of multipath-tcp.org's kernel.
///
/// Deviations: none. Linux itself has another scheduler: `linux`.
///
/// Known problems: it uses a slow path as soon as the fast one is full. Segments on the slow path then delay the stream
/// (head-of-line blocking), which `blest` and `ecf` avoid.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {}

impl Params {
    /// There is nothing to check.
    pub fn check(&self) -> Result<(), ParamError> {
        Ok(())
    }
}

/// The scheduler, which keeps no state.
#[derive(Debug, Clone)]
pub struct LowestRtt;

impl LowestRtt {
    /// It has no state.
    pub fn new(_params: &Params) -> LowestRtt {
        LowestRtt
    }
}

impl PathScheduler for LowestRtt {
    fn pick(&mut self, _now: Time, paths: &[PathView], _seg: &SegView) -> Paths {
        fastest(paths, PathView::is_open).map_or(Paths::NONE, |p| Paths::one(p.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_units::Dur;

    #[test]
    fn the_fastest_path_with_room_wins() {
        let mut paths: [PathView; 3] = core::array::from_fn(PathView::new);
        for (path, ms) in paths.iter_mut().zip([30, 10, 20]) {
            path.srtt = Dur::from_ms(ms);
        }
        let pick = |paths: &[PathView]| LowestRtt.pick(Time::ZERO, paths, &SegView::default());
        assert_eq!(pick(&paths), Paths::one(1));
        paths[1].ready = false;
        assert_eq!(pick(&paths), Paths::one(2));
        paths[2].usable = false;
        assert_eq!(pick(&paths), Paths::one(0));
    }
}
