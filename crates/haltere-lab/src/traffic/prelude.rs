//! What the file of a traffic kind needs.

pub(super) use super::duration::{DurationSpec, Pareto, RandomDuration, a_second, one_second};
pub(super) use super::ends::Ends;
pub(super) use super::entry::Entry;
pub(super) use super::hosts::Arriving;
pub(super) use super::kind::{About, TrafficKind};
pub(super) use super::sizes::{SizeLaw, SizesSpec};
pub(super) use super::tcp::TcpSide;
pub(super) use crate::error::{Fault, FaultKind, ScenarioError, refuse_if};
pub(super) use crate::keys::defaults;
pub(super) use haltere_plan::plan::AppPlan;
pub(super) use haltere_units::{Bytes, Dur, Prob, Rate, Time};
pub(super) use schemars::JsonSchema;
pub(super) use serde::{Deserialize, Serialize};
