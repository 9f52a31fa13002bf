//! Redundant: every segment on every path.
//! Source, deviations and known problems: see [`Params`].
//! Model: each path runs through the stream at its own pace and leaves out data that was acknowledged in the meantime.
//! Units: segments. Cost: O(1) a segment and path.

use super::PathScheduler;
use crate::multipath::view::{PathView, Paths, SegView};
use haltere_units::{ParamError, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sends every segment on every path.
///
/// Source: I. Lopez et al., ITSC 2015. A. Froemmgen et al., "ReMP TCP: Low Latency Multipath TCP", ICC 2016.
///
/// Deviations: none.
///
/// Known problems: the goodput is that of the best path. Paths over one bottleneck take capacity from each other.
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
pub struct Redundant;

impl Redundant {
    /// It has no state.
    pub fn new(_params: &Params) -> Redundant {
        Redundant
    }
}

impl PathScheduler for Redundant {
    fn pick(&mut self, _now: Time, paths: &[PathView], _seg: &SegView) -> Paths {
        paths.iter().filter(|p| p.usable).fold(Paths::NONE, |all, p| all.with(p.path))
    }
    fn replicates(&self) -> bool {
        true
    }
}
