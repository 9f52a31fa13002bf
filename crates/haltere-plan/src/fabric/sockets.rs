//! The packets of each connection between two hosts, counted where they enter the network and where they leave it.
//!
//! Programs do not report how much they sent, so the network counts for them.

use crate::app::program::Ready;
use crate::app::{AppPlan, Protocol};
use crate::headers::{IPV4_HEADER, TCP_HEADER_WITH_TIMESTAMPS, UDP_HEADER};
use crate::plan::Plan;
use crate::record::{Record, SocketRecord};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use haltere_queue::{Ecn, FlowKey};
use haltere_units::Dur;
use serde::{Deserialize, Serialize};

/// The most connections that are counted one by one. Packets of further ones are counted together.
const MOST: usize = 4096;

/// From and to (nodes), protocol, and their ports. All ones: the connections beyond the most.
type Key = (u32, u32, u8, u16, u16);

const OTHERS: Key = (u32::MAX, u32::MAX, 0, 0, 0);

/// A counter for each connection and direction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sockets(BTreeMap<Key, SocketRecord>);

/// A packet where it enters or leaves the network.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub from: usize,
    pub to: usize,
    pub flow: FlowKey,
    /// Bytes of the IP packet.
    pub bytes: u32,
    pub ecn: Ecn,
}

impl Sockets {
    /// The packet came from its host.
    pub fn entered(&mut self, seen: &Seen) {
        self.of(seen).sent += 1;
    }
    /// The packet reached its host, after that time in queues and in transmission, if it is known.
    pub fn left(&mut self, seen: &Seen, sojourn: Option<Dur>, is_warm: bool) {
        let payload = u64::from(seen.bytes.saturating_sub(headers(seen.flow.protocol)));
        let socket = self.of(seen);
        socket.delivered += 1;
        if let Some(sojourn) = sojourn {
            socket.timed += 1;
            socket.sojourn_sum += sojourn;
            socket.sojourn_max = socket.sojourn_max.max(sojourn);
        }
        socket.marked += u64::from(seen.ecn == Ecn::Ce);
        socket.payload += payload;
        if is_warm {
            socket.payload_after_warmup += payload;
        }
    }
    /// All counters, in order of hosts, protocol and ports.
    pub fn records(&self) -> Vec<SocketRecord> {
        self.0.values().copied().collect()
    }
    fn of(&mut self, seen: &Seen) -> &mut SocketRecord {
        let (flow, (from, to)) = (seen.flow, (seen.from as u32, seen.to as u32));
        let mut key = (from, to, flow.protocol, flow.src_port, flow.dst_port);
        if self.0.len() >= MOST && !self.0.contains_key(&key) {
            key = OTHERS;
        }
        let (from, to, protocol, from_port, to_port) = key;
        self.0.entry(key).or_insert(SocketRecord { from, to, protocol, from_port, to_port, ..SocketRecord::default() })
    }
}

/// Writes the connections into the record, and the goodput of programs, which they do not report. A flow has the
/// connections between its two hosts (if its server is ready at a port, those at that port), in the direction that carried
/// more.
pub fn write_down(plan: &Plan, sockets: Vec<SocketRecord>, record: &mut Record) {
    for (flow, line) in plan.flows.iter().zip(&mut record.flows) {
        let AppPlan::Program(program) = &flow.app else { continue };
        let port = if let Ready::Port(port) = program.ready { Some(port) } else { None };
        let carried = |from: usize, to: usize| {
            let mine = sockets.iter().filter(|s| (s.from as usize, s.to as usize) == (from, to));
            let at_port = mine.filter(|s| port.is_none_or(|port| s.from_port == port || s.to_port == port));
            at_port.fold((0, 0), |sum, s| (sum.0 + s.payload, sum.1 + s.payload_after_warmup))
        };
        (line.received, line.received_after_warmup) = carried(flow.from, flow.to).max(carried(flow.to, flow.from));
    }
    record.sockets = sockets;
}

/// Bytes of IPv4's header and the next one: TCP's with timestamps, as Linux sends it, UDP's and ICMP's.
fn headers(protocol: u8) -> u32 {
    IPV4_HEADER + if protocol == Protocol::Tcp.number() { TCP_HEADER_WITH_TIMESTAMPS } else { UDP_HEADER }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(port: u16) -> Seen {
        let flow = FlowKey { src: 1, dst: 2, src_port: port, dst_port: 80, protocol: 6 };
        Seen { from: 0, to: 1, flow, bytes: 1500, ecn: Ecn::Ce }
    }

    #[test]
    fn a_connection_counts_what_it_sent_and_what_arrived() {
        let mut sockets = Sockets::default();
        for _ in 0..3 {
            sockets.entered(&seen(5000));
        }
        sockets.left(&seen(5000), None, false);
        sockets.left(&seen(5000), Some(Dur::from_ms(3)), true);
        let records = sockets.records();
        let only = records[0];
        assert_eq!((records.len(), only.sent, only.delivered, only.marked), (1, 3, 2, 2));
        assert_eq!((only.payload, only.payload_after_warmup), (2 * 1448, 1448));
        assert_eq!((only.timed, only.sojourn_sum, only.sojourn_max), (1, Dur::from_ms(3), Dur::from_ms(3)));
    }
    #[test]
    fn connections_beyond_the_most_are_counted_together() {
        let mut sockets = Sockets::default();
        for port in 0..MOST as u16 + 10 {
            sockets.entered(&seen(port));
        }
        let records = sockets.records();
        assert_eq!(records.len(), MOST + 1);
        assert_eq!((records[MOST].from, records[MOST].sent), (u32::MAX, 10));
    }
}
