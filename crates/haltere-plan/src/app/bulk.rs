//! TCP: a sender that always has something to send, or sends a number of bytes.

use super::{App, TcpPlan};
use haltere_units::Bytes;
use serde::{Deserialize, Serialize};

/// A bulk transfer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BulkPlan {
    /// Both endpoints.
    pub tcp: TcpPlan,
    /// Bytes to send in all; `None`: endless.
    pub bytes: Option<Bytes>,
}

impl App for BulkPlan {
    fn tcp(&self) -> Option<&TcpPlan> {
        Some(&self.tcp)
    }
}
