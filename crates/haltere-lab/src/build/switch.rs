//! A switch whose processor all packets share: two nodes with the processor as the link between them.

use super::{Direction, Network, both};
use crate::scenario::error::{Fault, FaultKind, ScenarioError};
use crate::scenario::topology::{Link, Processor, Switch};
use haltere_units::{Bytes, Rate};

const PATH: &str = "topology.switch";
/// Length of a full IP packet.
const FULL_PACKET: u64 = 1500;

impl Network {
    /// The processor is the first link; host `hN` has node N + 1.
    pub(super) fn switch(&mut self, switch: &Switch, framing: Bytes) -> Result<(), ScenarioError> {
        let (input, output) = (self.add("switch"), self.add("switch.out"));
        let processor = processor(&switch.processor, framing)?;
        self.lay(input, output, &processor, true);
        let [up, down] = both(&switch.link, &format!("{PATH}.link"))?;
        for i in 1..=switch.hosts {
            let host = self.add(&format!("h{i}"));
            self.lay(host, input, &up, up.link.watch.unwrap_or(false));
            self.lay(output, host, &down, down.link.watch.unwrap_or(false));
        }
        Ok(())
    }
}

/// The processor as a link: with the same work for every packet, each takes the time of a full one.
fn processor(processor: &Processor, framing: Bytes) -> Result<Direction, ScenarioError> {
    let place = format!("{PATH}.processor");
    let fault = |name: &str, rule: &str, got: String| Fault::new(place.as_str(), name, rule, got);
    let full = Bytes::new(FULL_PACKET) + framing;
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
