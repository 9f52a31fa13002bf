//! ICMP echo requests at an interval, answered by the destination at once.
//! Source: RFC 792. The answer carries the request's ECN setting, as Linux copies the type-of-service octet.

use super::{App, Place, is_over, payload, positive_span};
use crate::engine::event::Kind;
use crate::net::fabric::{Fabric, Port};
use crate::net::packet::{Body, Echo, Packet, UDP_HEADER};
use haltere_plan::plan::{FlowPlan, PingPlan};
use haltere_plan::record::{FlowRecord, PingSample};
use haltere_queue::Ecn;
use haltere_units::{Dur, ParamError, Time};

/// Bytes of the ICMP echo header (RFC 792).
const ICMP_HEADER: u32 = UDP_HEADER;

/// A sender of echo requests and the host that answers.
#[derive(Debug)]
pub(crate) struct Ping {
    index: usize,
    ports: [Port; 2],
    interval: Dur,
    payload: u32,
    ecn: Ecn,
    stop: Option<Time>,
    requests: u64,
    replies: u64,
}

impl Ping {
    pub fn new(flow: &FlowPlan, plan: &PingPlan, place: Place) -> Result<Ping, ParamError> {
        Ok(Ping {
            index: place.index,
            ports: place.ports,
            interval: positive_span("interval", plan.interval)?,
            payload: payload("payload", plan.payload, 0)?,
            ecn: if plan.ecn { Ecn::Ect0 } else { Ecn::NotEct },
            stop: flow.stop,
            requests: 0,
            replies: 0,
        })
    }
    fn send(&mut self, side: usize, echo: Echo, fabric: &mut Fabric) {
        self.ports[side].send(ICMP_HEADER + echo.payload, self.ecn, Body::Echo(echo), fabric);
    }
}

impl App for Ping {
    fn start(&mut self, fabric: &mut Fabric) {
        self.step(fabric);
    }
    fn set_stop(&mut self, at: Time, _fabric: &mut Fabric) {
        self.stop = Some(at);
    }
    /// Sends one request and sets the time of the next.
    fn step(&mut self, fabric: &mut Fabric) {
        if is_over(self.stop, fabric.now) {
            return;
        }
        self.requests += 1;
        let echo = Echo { sent: fabric.now, seq: self.requests as u16, payload: self.payload, reply: false };
        self.send(0, echo, fabric);
        fabric.schedule(fabric.now + self.interval, Kind::App, self.index);
    }
    fn receive(&mut self, side: usize, packet: Packet, fabric: &mut Fabric) {
        let body = fabric.pool.open(&packet);
        match (side, body) {
            (1, Body::Echo(echo)) if !echo.reply => self.send(1, Echo { reply: true, ..echo }, fabric),
            (0, Body::Echo(echo)) if echo.reply => {
                self.replies += 1;
                let rtt = fabric.now - echo.sent;
                fabric.record.pings.push(PingSample { at: echo.sent, flow: self.index as u32, rtt });
            }
            _ => {} // a queue on the path emitted it: nobody waits for it
        }
    }
    fn received(&self) -> u64 {
        0
    }
    fn record(&self, record: &mut FlowRecord) {
        (record.packets_sent, record.packets_received) = (self.requests, self.replies);
    }
    /// Every reply is a sample of its own.
    fn is_sampled(&self) -> bool {
        false
    }
}
