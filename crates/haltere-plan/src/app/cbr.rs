//! UDP at a constant rate, which nobody answers.

use super::{App, Protocol};
use haltere_units::{Bytes, Rate};
use serde::{Deserialize, Serialize};

/// A source at a constant bit rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CbrPlan {
    /// Payload rate.
    pub rate: Rate,
    /// Payload bytes of a packet.
    pub packet: Bytes,
    /// Packets are ECN-capable.
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
