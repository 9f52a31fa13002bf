//! Parameters of a TCP endpoint, with Linux's defaults.

use haltere_units::{Bytes, Dur};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of a TCP endpoint. The defaults are Linux's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TcpParams {
    /// Payload bytes of a full segment. Default 1448: 1500 less IPv4, TCP and timestamps.
    pub mss: Bytes,
    /// Initial congestion window in segments (RFC 6928). Default 10.
    pub initial_window: u32,
    /// ECN: negotiate it and use it (RFC 3168). Default false.
    pub ecn: bool,
    /// Least retransmission timeout. Default 200 ms (Linux; RFC 6298 says 1 s).
    pub min_rto: Dur,
}

impl Default for TcpParams {
    fn default() -> TcpParams {
        TcpParams { mss: Bytes::new(1448), initial_window: 10, ecn: false, min_rto: Dur::from_ms(200) }
    }
}
