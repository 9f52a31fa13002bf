//! Connections that a flow opens during the run, each on ports of its own.

use super::Place;
use crate::engine::timer::Alarms;
use crate::net::fabric::{Fabric, Port};
use crate::net::packet::Packet;
use haltere_plan::plan::{FlowPlan, TcpPlan};
use haltere_plan::rng::Rng;
use haltere_transport::{Connection, Role, Segment};
use haltere_units::outside::Origin;
use haltere_units::{ParamError, Time};

/// One end of a connection.
#[derive(Debug)]
pub(super) struct End {
    pub socket: Connection,
    pub port: Port,
}

/// Both ends of a connection, that of the flow's sender first.
pub(super) type Peers = [End; 2];

/// The connection gave up: it ended though the peer had not closed.
pub(super) fn is_dead(ends: &Peers) -> bool {
    ends.iter().any(|end| end.socket.is_closed() && !end.socket.is_peer_closed())
}

impl End {
    /// Sends what may be sent now.
    pub fn transmit(&mut self, fabric: &mut Fabric) {
        while let Some((segment, ecn)) = self.socket.poll_transmit(fabric.now) {
            self.port.send_segment(&segment, 0, ecn, fabric);
        }
    }
}

/// Opens the connections of a flow, and sets their timers.
#[derive(Debug)]
pub(super) struct Sockets {
    pub index: usize,
    tcp: TcpPlan,
    ports: [Port; 2],
    origin: Origin,
    /// Gives each end its seed.
    seeds: Rng,
    /// The flow's side that opens connections.
    client: usize,
    alarms: [Alarms; 2],
}

impl Sockets {
    pub fn new(flow: &FlowPlan, tcp: &TcpPlan, client: usize, place: Place) -> Result<Sockets, ParamError> {
        // The parameters are checked before the run.
        for (side, params) in [&tcp.sender, &tcp.receiver].into_iter().enumerate() {
            let role = if side == client { Role::Client } else { Role::Server };
            Connection::new(role, params.clone(), tcp.congestion.clone(), place.origin.clone())?;
        }
        let Place { index, ports, origin, .. } = place;
        let seeds = Rng::new(origin.seed, &format!("{}/connections", flow.name));
        Ok(Sockets { index, tcp: tcp.clone(), ports, origin, seeds, client, alarms: Default::default() })
    }
    /// A new connection to that port of the server, its SYN due. Its packets have that DSCP, or the flow's.
    pub fn open(&mut self, server_port: u16, dscp: Option<u8>, fabric: &mut Fabric) -> Peers {
        let client_port = fabric.hosts.ephemeral_port();
        let mut seeds = [0; 2];
        seeds[self.client] = self.seeds.bits();
        seeds[1 - self.client] = self.seeds.bits();
        let TcpPlan { sender, receiver, congestion, .. } = &self.tcp;
        let end = |side: usize| {
            let mut port = self.ports[side].clone();
            let (role, own, other) = match side == self.client {
                true => (Role::Client, client_port, server_port),
                false => (Role::Server, server_port, client_port),
            };
            (port.header.src_port, port.header.dst_port) = (own, other);
            port.header.dscp = dscp.unwrap_or(port.header.dscp);
            let params = [sender, receiver][side].clone();
            let socket = Connection::new(role, params, congestion.clone(), self.origin.with_seed(seeds[side]));
            End { socket: socket.expect("checked when the flow was made"), port }
        };
        let mut ends = [end(0), end(1)];
        ends[self.client].socket.open(fabric.now);
        ends
    }
    /// Sets the timer of one side for all of its connections.
    pub fn set_timer<'a>(&mut self, side: usize, ends: impl Iterator<Item = &'a Peers>, fabric: &mut Fabric) {
        if let Some(at) = ends.filter_map(|ends| ends[side].socket.next_timeout()).min() {
            fabric.set_timer(&mut self.alarms[side], at, 2 * self.index + side);
        }
    }
    /// The timer of one side is due. False: another one replaced it.
    pub fn on_timer<'a>(&mut self, side: usize, now: Time, ends: impl Iterator<Item = &'a mut Peers>) -> bool {
        let fired = self.alarms[side].fired(now);
        for ends in ends.filter(|_| fired) {
            let socket = &mut ends[side].socket;
            if socket.next_timeout().is_some_and(|at| at <= now) {
                socket.on_timeout(now);
            }
        }
        fired
    }
}

/// A packet reached that side. One of a connection that is gone is dropped.
pub(super) fn receive<'a>(
    side: usize,
    packet: &Packet,
    ends: impl Iterator<Item = &'a mut Peers>,
    fabric: &mut Fabric,
) {
    let h = &packet.header;
    let mut ends = ends.map(|ends| &mut ends[side]);
    let end = ends.find(|e| (e.port.header.src_port, e.port.header.dst_port) == (h.dst_port, h.src_port));
    let mut segment = Segment::default();
    if fabric.pool.open_segment(packet, &mut segment)
        && let Some(end) = end
    {
        end.socket.on_segment(fabric.now, &segment, h.marks.ecn());
    }
}
