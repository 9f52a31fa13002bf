//! Hosts around one switch whose processor all packets share.

use super::{Context, Direction, Hint, Link, Network, TopologyKind, both, default_queue};
use crate::error::{Fault, FaultKind, ScenarioError};
use haltere_plan::FULL_PACKET;
use haltere_queue::QueueParams;
use haltere_units::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Hosts, `h1` .. `hN`, around one switch. Every packet, whatever its output, waits for the same processor, as in a software switch
/// (BMv2). The switch is two nodes: packets enter at `switch` and leave from `switch.out`. The processor is the link
/// `switch>switch.out` between them. Packets that its queue returns to their sender start at `switch`, so they pass the processor, too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Switch {
    /// Number of hosts.
    #[schemars(range(min = 2, max = 100_000))]
    pub hosts: u32,
    /// The link of each host to the switch. `reverse` is the direction from the switch to the host.
    pub link: Link,
    /// The processor, which every packet passes between its input and its output.
    pub processor: Processor,
}

/// The processor of a switch: its speed, in bit/s or in packets per second, and the queue in front of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Processor {
    /// Bits that it handles in a second. Not with `packet_rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Packets that it handles in a second. Every packet of up to 1500 bytes takes the same time. Above 0. Not with `rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_rate: Option<f64>,
    /// The discipline of the queue in front of it.
    pub queue: QueueParams,
}

impl Default for Processor {
    fn default() -> Processor {
        Processor { rate: None, packet_rate: None, queue: default_queue() }
    }
}

impl TopologyKind for Switch {
    fn example() -> &'static str {
        r#"[topology.switch]
hosts = 4
link = { rate = "1Gbit", delay = "50us" }
processor = { rate = "200Mbit", queue = "fq_codel" }

[[traffic]]
kind = "bulk"
from = "h1"
to = "h2"
"#
    }
    /// The processor is the first link; host `hN` has node N + 1.
    fn build(&self, network: &mut Network, context: &Context<'_>) -> Result<(), ScenarioError> {
        let (input, output) = (network.add("switch"), network.add("switch.out"));
        network.show(input, Hint::switch("switch", 1));
        network.show(output, Hint::switch("switch.out", 2));
        let processor = processor(&self.processor, context)?;
        network.lay(input, output, &processor, true);
        let [up, down] = both(&self.link, &context.below("link"))?;
        for i in 1..=self.hosts {
            let host = network.add(&format!("h{i}"));
            network.show(host, Hint::host("h", 0).or_receives(3));
            network.lay(host, input, &up, up.link.watch.unwrap_or(false));
            network.lay(output, host, &down, down.link.watch.unwrap_or(false));
        }
        Ok(())
    }
}

/// The processor as a link: with the same work for every packet, each takes the time of a full one.
fn processor(processor: &Processor, context: &Context<'_>) -> Result<Direction, ScenarioError> {
    let place = context.below("processor");
    let fault = |name: &str, rule: &str, got: String| Fault::new(place.as_str(), name, rule, got);
    let full = Bytes::new(FULL_PACKET) + context.framing;
    let (rate, mpu) = match (processor.rate, processor.packet_rate) {
        (Some(Rate::ZERO), None) => return Err(fault("rate", "above zero", Rate::ZERO.to_string()).out_of_range()),
        (Some(rate), None) => (rate, Bytes::ZERO),
        (None, Some(packets)) => {
            let bps = packets * full.as_f64() * 8.0;
            if !(1.0..1e18).contains(&bps) {
                let rule = "above 0 packets a second, and no more than there can be";
                return Err(fault("packet_rate", rule, packets.to_string()).out_of_range());
            }
            (Rate::from_bps(bps.round() as u64), full)
        }
        (Some(_), Some(both)) => {
            let fault = fault("packet_rate", "left out beside `rate`", both.to_string());
            return Err(fault.hint("a processor handles bits or packets").out_of_range());
        }
        (None, None) => {
            let hint = "write `rate = \"10Mbit\"`, or `packet_rate` in packets a second";
            return Err(fault("rate", "given, or `packet_rate`", "nothing".into()).hint(hint).missing());
        }
    };
    let link = Link { rate: Some(rate), queue: processor.queue.clone(), ..Link::default() };
    Ok(Direction { link, ring: None, mpu, varying: None, place })
}
