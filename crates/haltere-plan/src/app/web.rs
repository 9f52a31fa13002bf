//! TCP: somebody who fetches web pages, one after the other.

use super::prelude::*;

/// A user and a server. The server is the flow's sender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WebPlan {
    /// Both endpoints of each connection: the sender is the server.
    pub tcp: TcpPlan,
    /// The least and the most objects of a page. Each number between them is as likely as any other.
    pub objects: (u32, u32),
    /// How large the objects are.
    pub sizes: SizeDistribution,
    /// Bytes of a request.
    pub request: Bytes,
    /// The most connections of a page.
    pub connections: u32,
    /// The time from the end of a page to the start of the next.
    pub think: DurationDistribution,
}

tcp_app! {
    WebPlan;
    fn has_completions(&self) -> bool {
        true
    }
}
