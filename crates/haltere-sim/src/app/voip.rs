//! One direction of a telephone call: packets at a constant rate. [`Voice`] judges what the listener receives.

use super::{App, Place, is_over, payload};
use crate::engine::event::Kind;
use crate::net::fabric::{Fabric, Port};
use crate::net::packet::{Body, Datagram, Packet, UDP_HEADER};
use haltere_plan::Record;
use haltere_plan::plan::{FlowPlan, VoipPlan};
use haltere_plan::record::FlowRecord;
use haltere_plan::voice::Voice;
use haltere_queue::Ecn;
use haltere_units::{ParamError, Time};

/// A talker and a listener.
#[derive(Debug)]
pub(crate) struct Voip {
    index: usize,
    voice: Voice,
    port: Port,
    payload: u32,
    stop: Option<Time>,
    received: u64,
}

impl Voip {
    pub fn new(flow: &FlowPlan, plan: &VoipPlan, place: Place) -> Result<Voip, ParamError> {
        let [port, _] = place.ports;
        Ok(Voip {
            index: place.index,
            voice: Voice::new(plan, flow.start)?,
            port,
            payload: payload("packet", plan.packet, 1)?,
            stop: flow.stop,
            received: 0,
        })
    }
}

impl App for Voip {
    fn start(&mut self, fabric: &mut Fabric) {
        self.voice.begin(fabric.now);
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
        let next = self.voice.send();
        let datagram = Datagram { sent: fabric.now, seq: self.voice.sent() as u32, payload: self.payload };
        self.port.send(UDP_HEADER + self.payload, Ecn::NotEct, Body::Udp(datagram), fabric);
        fabric.schedule(next, Kind::App, self.index);
    }
    fn receive(&mut self, side: usize, packet: Packet, fabric: &mut Fabric) {
        if let (1, Body::Udp(datagram)) = (side, fabric.pool.open(&packet))
            && self.voice.arrive(u64::from(datagram.seq) - 1, fabric.now.since(datagram.sent))
        {
            self.received += u64::from(datagram.payload);
        }
    }
    fn received(&self) -> u64 {
        self.received
    }
    fn record(&self, record: &mut FlowRecord) {
        self.voice.count(record);
    }
    fn finish(&mut self, _at: Time, record: &mut Record) {
        let (from, to) = record.measured;
        record.voices.push(self.voice.heard(self.index as u32, from, to));
    }
}
