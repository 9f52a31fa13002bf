//! Web pages, one after the other.

use super::prelude::*;
use haltere_plan::plan::WebPlan;

/// Users who fetch web pages over TCP, one after the other: a closed loop. `to` is the user and `from` the server, so
/// pages go the way that data goes in all kinds. `count` is the number of users of a pair.
///
/// A page begins with one object on one connection. When it is there, the user opens more connections, up to
/// `connections`, and each fetches one object after the other (HTTP/1.1 without pipelining). The page ends with its
/// last object. The next page begins after the think time, on new connections. The table `pages` has the page load
/// times, `completions` the time of each object.
///
/// Source of the defaults: Barford and Crovella, "Generating representative web workloads for network and server
/// performance evaluation", SIGMETRICS 1998, for the shapes of sizes and think times; HTTP Archive, Web Almanac 2024
/// (page weight), for the number of objects and the bytes of a page.
///
/// Known problems: there is no TLS, no HTTP/2 and no HTTP/3; all objects come from one server, which takes no time to
/// answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Web {
    /// Between whom and when. No page begins after `stop`.
    #[serde(flatten)]
    pub(crate) ends: Ends,
    /// The TCP of all connections. Nagle's algorithm is off unless `tcp` turns it on.
    #[serde(flatten)]
    pub(crate) side: TcpSide,
    /// Objects of a page: one number for all pages, or the least and the most. Each number between them is as likely as
    /// any other.
    #[serde(default = "objects")]
    pub objects: ObjectsSpec,
    /// How large the objects are: one size, a published distribution, a law or a table.
    #[serde(default = "sizes")]
    pub sizes: SizesSpec,
    /// Bytes of a request.
    #[serde(default = "request")]
    pub request: Bytes,
    /// The most connections of a page at a time. Browsers open six to a host over HTTP/1.1.
    #[serde(default = "connections")]
    #[schemars(range(min = 1, max = 100))]
    pub connections: u32,
    /// The time from the end of a page to the start of the next.
    #[serde(default = "think")]
    pub think: DurationSpec,
}

/// A number of objects: one for all pages, or the least and the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum ObjectsSpec {
    /// Always so many.
    Fixed(#[schemars(range(min = 1, max = 100_000))] u32),
    /// The least and the most.
    Between(#[schemars(inner(range(min = 1, max = 100_000)))] [u32; 2]),
}

defaults! { objects: ObjectsSpec = ObjectsSpec::Fixed(70); }
/// 70 objects of 37 kB are a page of 2.6 MB.
fn sizes() -> SizesSpec {
    SizesSpec::Law(SizeLaw::Lognormal { mean: Bytes::new(37_000), sigma: 1.318 })
}
defaults! {
    request: Bytes = Bytes::new(400);
    connections: u32 = 6;
}
fn think() -> DurationSpec {
    DurationSpec::RandomDuration(RandomDuration::Pareto(Pareto { mean: Dur::from_secs(3), shape: 1.5 }))
}

impl TrafficKind for Web {
    fn about() -> About {
        About { request_response: true, completions: true, table: Some("pages"), noun: "user", ..About::TCP }
    }
    fn plan(&self, entry: &Entry<'_>) -> Result<Vec<AppPlan>, ScenarioError> {
        let objects = match self.objects {
            ObjectsSpec::Fixed(objects) => (objects, objects),
            ObjectsSpec::Between([least, most]) if least > most => {
                let fault =
                    entry.fault("objects", "the smaller number and then the larger", format!("{least} and {most}"));
                return Err(fault.out_of_range());
            }
            ObjectsSpec::Between([least, most]) => (least, most),
        };
        entry.payload("request", self.request, 1_000_000)?;
        let (sizes, think) = (entry.sizes("sizes", &self.sizes)?, entry.duration("think", &self.think)?);
        let (request, connections) = (self.request, self.connections);
        entry.tcp_without_nagle(&self.side, |tcp| {
            Box::new(WebPlan { tcp, objects, sizes: sizes.clone(), request, connections, think }).into()
        })
    }
}
