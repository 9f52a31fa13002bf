//! Hosts around one switch: one processor that all packets share, or an ingress thread and several egress threads
//! (BMv2).

use super::prelude::*;
use haltere_plan::LinkQueue;
use haltere_plan::headers::FULL_PACKET;
use haltere_units::{Bytes, Rate};

/// Hosts, `h1` .. `hN`, around one switch. Every packet, whatever its output, waits for the same processor, as in a
/// software switch. The switch is two nodes: packets enter at `switch` and leave from `switch.out`. The processor is
/// the link `switch>switch.out` between them. Packets that its queue returns to their sender start at `switch`, so they
/// pass the processor, too.
///
/// With `egress` the switch is built like BMv2's `simple_switch`. The processor is then the ingress thread, with
/// `input_buffer` as its queue. The link `switch.out>switch.egressK` is egress thread K. It serves the ports of the
/// hosts `hN` with N mod `threads` = K. Packets that its queue returns start at `switch`, too (BMv2 recirculates them).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Switch {
    /// Number of hosts.
    #[schemars(range(min = 2, max = 100_000))]
    pub hosts: u32,
    /// The link of each host to the switch. `reverse` is the direction from the switch to the host.
    pub link: LinkSpec,
    /// The processor, which every packet passes between its input and its output.
    pub processor: Processor,
    /// Egress threads behind the processor. If they are not given, there are none.
    pub egress: Option<Egress>,
}

/// The egress threads of a switch: how many there are, and for each its speed and the queue in front of it. A
/// `threshold` with `per_destination` and a limit of 64 packets gives BMv2's queues, one for each port.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Egress {
    /// Number of threads. BMv2 has 4.
    #[schemars(range(min = 1, max = 64))]
    pub threads: u32,
    /// Bits that each handles in a second. Not with `packet_rate`. Without both a thread is as fast as the processor.
    pub rate: Option<Rate>,
    /// Packets that each handles in a second. Every packet of up to 1500 bytes takes the same time. Above 0. Not with
    /// `rate`.
    pub packet_rate: Option<f64>,
    /// The discipline of the queue in front of each.
    pub queue: LinkQueue,
}

impl Default for Egress {
    fn default() -> Egress {
        Egress { threads: 4, rate: None, packet_rate: None, queue: LinkQueue::default() }
    }
}

/// The processor of a switch: its speed, in bit/s or in packets per second, and the queue in front of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Processor {
    /// Bits that it handles in a second. Not with `packet_rate`.
    pub rate: Option<Rate>,
    /// Packets that it handles in a second. Every packet of up to 1500 bytes takes the same time. Above 0. Not with
    /// `rate`.
    pub packet_rate: Option<f64>,
    /// The discipline of the queue in front of it.
    pub queue: LinkQueue,
}

impl TopologyKind for Switch {
    /// The processor or ingress thread is the first link, then come the egress threads. Host `hN` has node N + 1, after
    /// the threads' nodes.
    fn build(&self, network: &mut NetworkDraft, context: &Context<'_>) -> Result<(), ScenarioError> {
        let (input, output) = (network.add("switch"), network.add("switch.out"));
        network.show(input, Hint::switch("switch", 1));
        network.show(output, Hint::switch("switch.out", 2));
        network.lay(input, output, &processor(&self.processor, &context.below("processor"), context.framing)?, true);
        let outputs = match &self.egress {
            None => vec![output],
            Some(egress) => egress.build(network, &self.processor, [input, output], context)?,
        };
        let [up, down] = both(&self.link, &context.below("link"))?;
        for i in 1..=self.hosts {
            let host = network.add(&format!("h{i}"));
            network.show(host, Hint::host("h", 0).or_receives(3 + u32::from(self.egress.is_some())));
            network.lay(host, input, &up, up.link.watch.unwrap_or(false));
            let output = outputs[i as usize % outputs.len()];
            network.lay(output, host, &down, down.link.watch.unwrap_or(false));
        }
        Ok(())
    }
}

impl Egress {
    /// Adds the threads of a switch with that processor and these input and output nodes. Returns their nodes.
    fn build(
        &self,
        network: &mut NetworkDraft,
        ingress: &Processor,
        [input, output]: [usize; 2],
        context: &Context<'_>,
    ) -> Result<Vec<usize>, ScenarioError> {
        let (rate, packet_rate) = match (self.rate, self.packet_rate) {
            (None, None) => (ingress.rate, ingress.packet_rate),
            given => given,
        };
        let thread = Processor { rate, packet_rate, queue: self.queue.clone() };
        let thread = processor(&thread, &context.below("egress"), context.framing)?;
        let lay = |k| {
            let node = network.add(&format!("switch.egress{k}"));
            network.show(node, Hint::switch("switch.egress", 3));
            network.lay(output, node, &thread, true);
            network.emit_at(input);
            node
        };
        Ok((0..self.threads).map(lay).collect())
    }
}

/// The processor as a link: with the same work for every packet, each takes the time of a full one.
fn processor(processor: &Processor, place: &str, framing: Bytes) -> Result<DirectionDraft, ScenarioError> {
    let fault = |name: &str, rule: &str, got: String| Fault::new(place, name, rule, got);
    let full = Bytes::new(FULL_PACKET.into()) + framing;
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
    let link = LinkSpec { rate: Some(rate), queue: processor.queue.clone(), ..LinkSpec::default() };
    Ok(DirectionDraft { link, ring: None, mpu, varying: None, place: place.into() })
}
