//! TCP: requests and their responses, a fixed number at a time.

use super::prelude::*;

/// A caller and a server. The server is the flow's sender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RpcPlan {
    /// Both endpoints: the sender is the server.
    pub tcp: TcpPlan,
    /// How large requests are.
    pub request: SizeDistribution,
    /// How large responses are.
    pub response: SizeDistribution,
    /// Calls at a time.
    pub outstanding: u32,
    /// The time from a response to the next call in its place.
    pub think: DurationDistribution,
}

tcp_app! {
    RpcPlan;
    fn has_completions(&self) -> bool {
        true
    }
}
