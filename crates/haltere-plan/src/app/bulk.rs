//! TCP: a sender that always has something to send, or sends a number of bytes.

use super::prelude::*;

/// A bulk transfer over one TCP connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BulkPlan {
    /// The TCP of both endpoints.
    pub tcp: TcpPlan,
    /// Bytes to send in all; `None`: endless.
    pub bytes: Option<Bytes>,
}

tcp_app!(BulkPlan);
