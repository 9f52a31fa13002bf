//! ICMP echo requests and their replies.

use super::prelude::*;
use haltere_plan::headers::MAX_DATAGRAM;
use haltere_plan::plan::PingPlan;

/// ICMP echo requests and their replies: the round-trip time as users see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Ping {
    #[serde(flatten)]
    pub(crate) ends: Ends,
    /// Time between requests.
    #[serde(default = "a_second")]
    pub interval: Dur,
    /// Payload bytes of a request. The default is that of ping(8).
    #[serde(default = "payload")]
    pub payload: Bytes,
    /// Packets are ECN-capable.
    #[serde(default)]
    pub ecn: bool,
}

defaults! { payload: Bytes = Bytes::new(56); }

impl TrafficKind for Ping {
    fn about() -> About {
        About { goodput: false, request_response: true, table: Some("pings"), ..About::PLAIN }
    }
    fn plan(&self, entry: &Entry<'_>) -> Result<Vec<AppPlan>, ScenarioError> {
        refuse_if!(self.interval.is_zero(), entry.fault("interval", "above zero", self.interval));
        if self.payload.as_u64() > MAX_DATAGRAM {
            let rule = format!("at most {MAX_DATAGRAM}B");
            return Err(entry.fault("payload", rule, self.payload).out_of_range());
        }
        Ok(vec![PingPlan { interval: self.interval, payload: self.payload, ecn: self.ecn }.into()])
    }
}
