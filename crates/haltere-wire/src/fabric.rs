//! The network between the hosts with real frames: [`haltere_plan::fabric`], and the ports at which frames come in and
//! go out.
//!
//! It has no I/O and reads no clock. Frames come in with [`Fabric::arrive`], what is due happens in
//! [`Fabric::advance`], and frames for a port wait in its outbox.

use crate::error::WireError;
use crate::frame::{Frame, Kind};
use haltere_plan::LinkQueue;
use haltere_plan::fabric::{self, FabricPlan, Ports, Routed};
use haltere_plan::plan::LinkPlan;
use haltere_queue::{LinkContext, Queue};
use haltere_units::{ParamError, Time};
use std::collections::VecDeque;

/// How the fabric finds a frame's destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steering {
    /// Two ports: a frame from one leaves at the other, as on a cable.
    Across,
    /// By destination address, which for node `i` is [`node_mac`]`(i)`.
    ByAddress,
}

/// The Ethernet address of the port of node `i`: locally administered, `HL`, the index.
pub fn node_mac(node: usize) -> [u8; 6] {
    let [.., a, b] = (node as u64).to_be_bytes();
    [0x02, b'H', b'L', 0, a, b]
}

fn mac_node(mac: [u8; 6]) -> Option<u16> {
    (mac[..4] == [0x02, b'H', b'L', 0]).then(|| u16::from_be_bytes([mac[4], mac[5]]))
}

/// Parameters of a fabric.
#[derive(Debug, Clone, PartialEq)]
pub struct FabricParams {
    /// The nodes and links between the ports.
    pub plan: FabricPlan,
    /// The nodes that have a port; a port's index is its place here.
    pub ports: Vec<usize>,
    /// How destinations are found.
    pub steering: Steering,
    /// Low bits of initial sequence numbers that are zero; 0: not known.
    pub isn_bits: u8,
}

/// Frames that were forwarded without a flow, and fragments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unread {
    /// Truncated or contradicting itself.
    pub malformed: u64,
    /// Of another protocol than IP.
    pub not_ip: u64,
    /// Fragments of IP packets.
    pub fragments: u64,
}

impl Routed for Frame {
    const IS_COPIED: bool = true;
    type Queue = Queue<Frame>;
    fn queue(params: &LinkQueue, link: &LinkContext) -> Result<Queue<Frame>, ParamError> {
        Queue::new(params.ours()?, link)
    }
    fn destination(&self) -> Option<usize> {
        self.route().1.map(usize::from)
    }
    fn source(&self) -> Option<usize> {
        self.route().0.map(usize::from)
    }
    fn copied(&self) -> Option<Frame> {
        Some(self.clone())
    }
    fn set_entered(&mut self, at: Time) {
        self.entered = at;
    }
    fn entered(&self) -> Option<Time> {
        Some(self.entered)
    }
}

/// Frames that wait until their ports send them.
#[derive(Debug)]
struct Outboxes {
    port_of_node: Vec<Option<usize>>,
    frames: Vec<VecDeque<(Time, Frame)>>,
}

impl Ports<Frame> for Outboxes {
    fn deliver(&mut self, at: Time, node: usize, frame: Frame) -> bool {
        let port = self.port_of_node[node];
        if let Some(port) = port {
            self.frames[port].push_back((at, frame));
        }
        port.is_some()
    }
}

/// The network between the ports.
#[derive(Debug)]
pub struct Fabric {
    /// The nodes and links.
    pub network: fabric::Fabric<Frame>,
    ports: Vec<usize>,
    steering: Steering,
    isn_bits: u8,
    outboxes: Outboxes,
    unread: Unread,
}

impl Fabric {
    /// A fabric of these parts.
    pub fn new(params: FabricParams) -> Result<Fabric, WireError> {
        let FabricParams { plan, ports, steering, isn_bits } = params;
        if steering == Steering::Across && ports.len() != 2 {
            return Err(WireError::plan("router", format!("ports must be two, got {}", ports.len())));
        }
        let mut port_of_node = vec![None; plan.nodes];
        for (port, &node) in ports.iter().enumerate() {
            port_of_node[node] = Some(port);
        }
        let outboxes = Outboxes { port_of_node, frames: ports.iter().map(|_| VecDeque::new()).collect() };
        let network = fabric::Fabric::new(plan).map_err(|mut fault| {
            let place = std::mem::take(&mut fault.path);
            WireError::plan(&place, fault)
        })?;
        Ok(Fabric { network, ports, steering, isn_bits, outboxes, unread: Unread::default() })
    }
    /// A frame comes in at a port.
    pub fn arrive(&mut self, now: Time, port: usize, mut frame: Frame) {
        self.unread.fragments += u64::from(frame.is_fragment());
        match frame.kind() {
            Kind::Malformed => self.unread.malformed += 1,
            Kind::Other | Kind::Arp => self.unread.not_ip += 1,
            _ => {}
        }
        frame.set_framing(self.network.plan().framing);
        frame.set_isn_bits(self.isn_bits);
        let node = self.ports[port];
        frame.set_route(match self.steering {
            Steering::Across => (Some(node as u16), Some(self.ports[1 - port] as u16)),
            Steering::ByAddress => frame.macs().map_or((None, None), |(to, from)| (mac_node(from), mac_node(to))),
        });
        self.network.arrive(now, node, frame, &mut self.outboxes);
    }
    /// Runs everything that is due by `now`, each event at its own time.
    pub fn advance(&mut self, now: Time) {
        self.network.advance(now, &mut self.outboxes);
    }
    /// From `now` on that link is the one of this plan. `queue`: its discipline, too.
    pub fn change(&mut self, now: Time, index: usize, plan: LinkPlan, queue: bool) -> Result<(), ParamError> {
        self.network.change(now, index, plan, queue, &mut self.outboxes)
    }
    /// The number of its ports.
    pub fn ports(&self) -> usize {
        self.ports.len()
    }
    /// Frames due at that port, each with the time at which it was due.
    #[inline]
    pub fn outbox(&mut self, port: usize) -> &mut VecDeque<(Time, Frame)> {
        &mut self.outboxes.frames[port]
    }
    /// Packets inside, outboxes included.
    pub fn holds(&self) -> u64 {
        self.network.packets() + self.outboxes.frames.iter().map(|outbox| outbox.len() as u64).sum::<u64>()
    }
    /// Frames that could not be read.
    pub fn unread(&self) -> Unread {
        self.unread
    }
}

#[cfg(test)]
mod tests;
