//! Haltere's own TCP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Haltere's own TCP, with the parameters of `[tcp]` and of the entry. In the kernel world and on the wire: Linux's.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {}
