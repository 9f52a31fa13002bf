//! What the plan of a traffic kind needs.

pub(super) use super::kind::{App, Protocol, TcpPlan, tcp_app};
pub(super) use crate::rng::DurationDistribution;
pub(super) use crate::sizes::SizeDistribution;
pub(super) use alloc::sync::Arc;
pub(super) use alloc::vec::Vec;
pub(super) use haltere_units::{Bytes, Dur, Rate, Time};
pub(super) use serde::{Deserialize, Serialize};
