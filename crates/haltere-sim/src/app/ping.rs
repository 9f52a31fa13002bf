//! ICMP echo requests at an interval, answered by the destination at once.
//! Source: RFC 792. The answer carries the request's ECN setting, as Linux copies the type-of-service octet.

use super::{Place, is_over, payload, positive_span};
use crate::net::fabric::{Fabric, Port, kind};
use crate::net::packet::{Body, Echo, Packet, UDP_HEADER};
use haltere_plan::plan::FlowPlan;
use haltere_plan::record::PingSample;
use haltere_queue::Ecn;
use haltere_units::{Bytes, Dur, ParamError, Time};

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
    /// Requests sent.
    pub requests: u64,
    /// Replies received.
    pub replies: u64,
}

impl Ping {
    pub fn new(plan: &FlowPlan, interval: Dur, bytes: Bytes, ecn: bool, place: Place) -> Result<Ping, ParamError> {
        Ok(Ping {
            index: place.index,
            ports: place.ports,
            interval: positive_span("interval", interval)?,
            payload: payload("payload", bytes, 0)?,
            ecn: if ecn { Ecn::Ect0 } else { Ecn::NotEct },
            stop: plan.stop,
            requests: 0,
            replies: 0,
        })
    }
    /// Sends one request and sets the time of the next.
    pub fn step(&mut self, fabric: &mut Fabric) {
        if is_over(self.stop, fabric.now) {
            return;
        }
        self.requests += 1;
        let echo = Echo { sent: fabric.now, seq: self.requests as u16, payload: self.payload, reply: false };
        self.send(0, echo, fabric);
        fabric.schedule(fabric.now + self.interval, kind::APP, self.index);
    }
    pub fn receive(&mut self, side: usize, packet: Packet, fabric: &mut Fabric, pings: &mut Vec<PingSample>) {
        let body = fabric.pool.open(&packet);
        match (side, body) {
            (1, Body::Echo(echo)) if !echo.reply => self.send(1, Echo { reply: true, ..echo }, fabric),
            (0, Body::Echo(echo)) if echo.reply => {
                self.replies += 1;
                let rtt = fabric.now - echo.sent;
                pings.push(PingSample { at: echo.sent, flow: self.index as u32, rtt });
            }
            _ => {} // turned round by a queue on the way: nobody waits for it
        }
    }
    fn send(&mut self, side: usize, echo: Echo, fabric: &mut Fabric) {
        self.ports[side].send(ICMP_HEADER + echo.payload, self.ecn, Body::Echo(echo), fabric);
    }
}
