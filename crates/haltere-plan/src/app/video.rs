//! TCP: a player of adaptive video.

use super::prelude::*;

/// A player and a server. The server is the flow's sender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VideoPlan {
    /// Both endpoints of the connection: the sender is the server.
    pub tcp: TcpPlan,
    /// Playing time of a segment.
    pub segment: Dur,
    /// The bitrates, in ascending order, one at least.
    pub ladder: Arc<[Rate]>,
    /// Playing time that the buffer holds.
    pub buffer: Dur,
    /// With less in the buffer, the lowest bitrate is asked for.
    pub reservoir: Dur,
    /// From the reservoir on, the playing time over which the bitrate grows from the lowest to the highest.
    pub cushion: Dur,
}

tcp_app!(VideoPlan);
