//! UDP: one direction of a telephone call.

use super::prelude::*;

/// A voice source and its listener.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VoipPlan {
    /// Payload bytes of a packet after the UDP header: the codec's and the RTP header.
    pub packet: Bytes,
    /// Time from one packet to the next.
    pub interval: Dur,
    /// From the arrival of the first packet until it is played.
    pub playout: Dur,
    /// Delay of the codec at both ends: its frames and what it reads in advance.
    pub codec_delay: Dur,
    /// Impairment of the codec without loss, Ie of ITU-T G.107.
    pub impairment: f64,
    /// Robustness of the codec against loss, Bpl of ITU-T G.107.
    pub robustness: f64,
}

impl App for VoipPlan {
    fn protocol(&self) -> Protocol {
        Protocol::Udp
    }
    fn has_replies(&self) -> bool {
        false
    }
}
