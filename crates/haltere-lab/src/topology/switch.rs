//! Hosts around one switch: one processor that all packets share, or an ingress thread and several egress threads (BMv2).

use super::{Context, Direction, Hint, Link, Network, TopologyKind, both, default_queue};
use crate::error::{Fault, FaultKind, ScenarioError};
use haltere_plan::FULL_PACKET;
use haltere_queue::QueueParams;
use haltere_units::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Hosts, `h1` .. `hN`, around one switch. Every packet, whatever its output, waits for the same processor, as in a software switch.
/// The switch is two nodes: packets enter at `switch` and leave from `switch.out`. The processor is the link
/// `switch>switch.out` between them. Packets that its queue returns to their sender start at `switch`, so they pass the processor, too.
///
/// With `egress_threads` the switch is built like BMv2's `simple_switch`: the link `switch>switch.out` is the ingress thread, and
/// `switch.out>switch.egressK` is egress thread K, which serves the ports of the hosts `hN` with N mod `egress_threads` = K.
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
    /// The discipline of the queue in front of it. With `egress_threads` in front of each egress thread.
    pub queue: QueueParams,
    /// Number of egress threads, each as fast as the ingress thread, which is in front of them. BMv2 has 4. If it is not given,
    /// there is one processor.
    #[schemars(range(min = 1, max = 64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub egress_threads: Option<u32>,
    /// The discipline of the queue in front of the ingress thread. Only with `egress_threads`. If it is not given, `input_buffer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<QueueParams>,
}

impl Default for Processor {
    fn default() -> Processor {
        Processor { rate: None, packet_rate: None, queue: default_queue(), egress_threads: None, input: None }
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
    /// The processor or ingress thread is the first link, then come the egress threads. Host `hN` has node N + 1, after the
    /// threads' nodes.
    fn build(&self, network: &mut Network, context: &Context<'_>) -> Result<(), ScenarioError> {
        let (input, output) = (network.add("switch"), network.add("switch.out"));
        network.show(input, Hint::switch("switch", 1));
        network.show(output, Hint::switch("switch.out", 2));
        let processor = processor(&self.processor, context)?;
        let outputs = match self.processor.egress_threads {
            None => {
                network.lay(input, output, &processor, true);
                vec![output]
            }
            Some(threads) => {
                network.lay(input, output, &ingress(&self.processor, &processor), true);
                let thread = |k| egress_thread(network, k, [input, output], &processor);
                (0..threads).map(thread).collect()
            }
        };
        let [up, down] = both(&self.link, &context.below("link"))?;
        for i in 1..=self.hosts {
            let host = network.add(&format!("h{i}"));
            network.show(host, Hint::host("h", 0).or_receives(if outputs == [output] { 3 } else { 4 }));
            network.lay(host, input, &up, up.link.watch.unwrap_or(false));
            let output = outputs[i as usize % outputs.len()];
            network.lay(output, host, &down, down.link.watch.unwrap_or(false));
        }
        Ok(())
    }
}

/// The ingress thread: the processor behind its own queue.
fn ingress(processor: &Processor, link: &Direction) -> Direction {
    let default = || QueueParams::default_of("input_buffer").expect("the registry holds input_buffer");
    let queue = processor.input.clone().unwrap_or_else(default);
    Direction { link: Link { queue, ..link.link.clone() }, ..link.clone() }
}

/// Adds egress thread `k` of the switch with these input and output nodes. Returned packets are recirculated to the input.
fn egress_thread(network: &mut Network, k: u32, [input, output]: [usize; 2], link: &Direction) -> usize {
    let thread = network.add(&format!("switch.egress{k}"));
    network.show(thread, Hint::switch("switch.egress", 3));
    network.lay(output, thread, link, true);
    let laid = network.links.last_mut().expect("the link that was laid");
    laid.returned_at = Some(input);
    thread
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
    if let (Some(input), None) = (&processor.input, processor.egress_threads) {
        let fault = fault("input", "left out without `egress_threads`", format!("`{}`", input.kind()));
        return Err(fault.hint("one processor has one queue, `queue`").out_of_range());
    }
    let link = Link { rate: Some(rate), queue: processor.queue.clone(), ..Link::default() };
    Ok(Direction { link, ring: None, mpu, varying: None, place })
}
