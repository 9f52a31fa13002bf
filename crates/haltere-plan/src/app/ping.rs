//! ICMP echo requests and their replies.

use super::{App, Protocol};
use haltere_units::{Bytes, Dur};
use serde::{Deserialize, Serialize};

/// Echo requests at an interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PingPlan {
    /// Time between requests.
    pub interval: Dur,
    /// Payload bytes of a request.
    pub payload: Bytes,
    /// Packets are ECN-capable.
    pub ecn: bool,
}

impl App for PingPlan {
    fn protocol(&self) -> Protocol {
        Protocol::Icmp
    }
    fn has_goodput(&self) -> bool {
        false
    }
}
