//! What the file of a topology needs.

pub(super) use super::context::{Context, TopologyKind};
pub(super) use super::direction::{DirectionDraft, both, slowest, watched};
pub(super) use super::failure::Failures;
pub(super) use super::link::LinkSpec;
pub(super) use super::network::{Hint, NetworkDraft};
pub(super) use crate::error::{Fault, FaultKind, ScenarioError, refuse_if};
pub(super) use schemars::JsonSchema;
pub(super) use serde::{Deserialize, Serialize};
