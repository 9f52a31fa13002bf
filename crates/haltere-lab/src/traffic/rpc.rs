//! Requests and responses in a closed loop.

use super::prelude::*;
use haltere_plan::plan::RpcPlan;

/// Remote procedure calls over one TCP connection: requests and their responses, a fixed number at a time (a closed
/// loop). `to` calls and `from` answers, so responses go the way that data goes in all kinds. `count` is the number of
/// connections.
///
/// So many requests as `outstanding` says are sent at the start. Each response is followed by the next request after
/// the think time. Responses come in the order of the requests, as with netperf's `TCP_RR` with a burst. The table
/// `completions` has the time of each call, from the request to the last byte of the response.
///
/// Known problems: a long response delays those behind it on the same connection; the server takes no time to answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Rpc {
    /// Between whom and when. No call begins after `stop`.
    #[serde(flatten)]
    pub(crate) ends: Ends,
    /// The TCP of the connection. Nagle's algorithm is off unless `tcp` turns it on.
    #[serde(flatten)]
    pub(crate) side: TcpSide,
    /// How large requests are: one size, a published distribution, a law or a table.
    #[serde(default = "request")]
    pub request: SizesSpec,
    /// How large responses are.
    #[serde(default = "response")]
    pub response: SizesSpec,
    /// Calls at a time.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 100_000))]
    pub outstanding: u32,
    /// The time from a response to the next request in its place.
    #[serde(default = "no_time")]
    pub think: DurationSpec,
}

defaults! {
    request: SizesSpec = SizesSpec::Fixed(Bytes::new(100));
    response: SizesSpec = SizesSpec::Fixed(Bytes::new(1000));
    one: u32 = 1;
    no_time: DurationSpec = DurationSpec::Constant(Dur::ZERO);
}

impl TrafficKind for Rpc {
    fn about() -> About {
        About { request_response: true, completions: true, table: Some("completions"), noun: "caller", ..About::TCP }
    }
    fn plan(&self, entry: &Entry<'_>) -> Result<Vec<AppPlan>, ScenarioError> {
        let request = entry.sizes("request", &self.request)?;
        let response = entry.sizes("response", &self.response)?;
        let (outstanding, think) = (self.outstanding, entry.duration("think", &self.think)?);
        entry.tcp_without_nagle(&self.side, |tcp| {
            Box::new(RpcPlan { tcp, request: request.clone(), response: response.clone(), outstanding, think }).into()
        })
    }
}
