//! UDP at a constant rate, without replies.

use super::prelude::*;

/// A source at a constant bit rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CbrPlan {
    /// Payload bits sent in a second.
    pub rate: Rate,
    /// Payload bytes of a packet.
    pub packet: Bytes,
    /// Packets carry ECT(0), so a queue may mark them.
    pub ecn: bool,
}

impl App for CbrPlan {
    fn protocol(&self) -> Protocol {
        Protocol::Udp
    }
    fn has_replies(&self) -> bool {
        false
    }
}
