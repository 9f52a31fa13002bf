//! UDP at a constant rate.
//! Model: a packet at the start and then one every `packet / rate`, exactly and without drift, until `stop`.

use super::one_way::OneWay;
use super::{App, Place, is_over, payload, positive_rate};
use crate::engine::event::Kind;
use crate::net::fabric::{Fabric, Port};
use crate::net::packet::{Body, Datagram, Packet, UDP_HEADER};
use haltere_plan::Record;
use haltere_plan::plan::{CbrPlan, FlowPlan};
use haltere_plan::record::FlowRecord;
use haltere_queue::Ecn;
use haltere_units::{Bytes, ParamError, Serialisation, Time};

/// A source of UDP and its sink.
#[derive(Debug)]
pub(crate) struct Cbr {
    index: usize,
    port: Port,
    clock: Serialisation,
    payload: u32,
    ecn: Ecn,
    stop: Option<Time>,
    /// Packets that left the source.
    packets_sent: u64,
    /// Packets that reached the sink.
    packets_received: u64,
    /// Payload bytes that reached the sink.
    received: u64,
    one_way: Option<Box<OneWay>>,
}

impl Cbr {
    pub fn new(flow: &FlowPlan, plan: &CbrPlan, place: Place) -> Result<Cbr, ParamError> {
        let [port, _] = place.ports;
        Ok(Cbr {
            index: place.index,
            port,
            clock: Serialisation::new(Some(positive_rate(plan.rate)?)),
            payload: payload("packet", plan.packet, 1)?,
            ecn: if plan.ecn { Ecn::Ect0 } else { Ecn::NotEct },
            stop: flow.stop,
            packets_sent: 0,
            packets_received: 0,
            received: 0,
            one_way: OneWay::asked(place.asked),
        })
    }
}

impl App for Cbr {
    fn start(&mut self, fabric: &mut Fabric) {
        self.step(fabric);
    }
    fn set_stop(&mut self, at: Time, _fabric: &mut Fabric) {
        self.stop = Some(at);
    }
    /// Sends one packet and sets the time of the next.
    fn step(&mut self, fabric: &mut Fabric) {
        if is_over(self.stop, fabric.now) {
            return;
        }
        self.packets_sent += 1;
        let datagram = Datagram { sent: fabric.now, seq: self.packets_sent as u32, payload: self.payload };
        self.port.send(UDP_HEADER + self.payload, self.ecn, Body::Udp(datagram), fabric);
        let next = fabric.now + self.clock.next(Bytes::new(u64::from(self.payload)));
        fabric.schedule(next, Kind::App, self.index);
    }
    fn receive(&mut self, side: usize, packet: Packet, fabric: &mut Fabric) {
        if let (1, Body::Udp(datagram)) = (side, fabric.pool.open(&packet)) {
            self.packets_received += 1;
            self.received += u64::from(datagram.payload);
            if let Some(one_way) = &mut self.one_way {
                one_way.arrived(fabric.now, &datagram);
            }
        }
    }
    fn received(&self) -> u64 {
        self.received
    }
    fn record(&self, record: &mut FlowRecord) {
        (record.packets_sent, record.packets_received) = (self.packets_sent, self.packets_received);
    }
    fn finish(&mut self, _at: Time, record: &mut Record) {
        record.delay_records.extend(self.one_way.as_ref().map(|one_way| one_way.record(self.index as u32)));
    }
}
