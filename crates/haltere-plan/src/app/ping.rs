//! ICMP echo requests and their replies.

use super::prelude::*;

/// Echo requests at an interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PingPlan {
    /// Time from one request to the next.
    pub interval: Dur,
    /// Payload bytes of a request.
    pub payload: Bytes,
    /// Packets carry ECT(0), so a queue may mark them.
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
