//! A TCP flow that is looked at after each of its events: samples of the round-trip time, and what its sender does.
//! It is a kind of flow of its own, so that other flows have nothing to ask.

use super::tcp::Tcp;
use super::{App, Asked};
use crate::net::fabric::Fabric;
use crate::net::packet::Packet;
use haltere_plan::record::{DelayOf, DelayRecord, FlowRecord, SenderEvent, SenderView};
use haltere_plan::{Histogram, Record};
use haltere_transport::{Info, RttReading};
use haltere_units::{Dur, Probe, Time};

/// A TCP flow and what was seen of it.
#[derive(Debug)]
pub(crate) struct Observed {
    tcp: Tcp,
    index: u32,
    asked: Asked,
    reading: RttReading,
    latest_rtt: Dur,
    rtts: Histogram,
    view: SenderView,
    events: Vec<SenderEvent>,
}

impl Observed {
    pub fn new(tcp: Tcp, index: usize, asked: Asked) -> Observed {
        Observed {
            tcp,
            index: index as u32,
            asked,
            reading: RttReading::default(),
            latest_rtt: Dur::ZERO,
            rtts: Histogram::default(),
            view: SenderView::default(),
            events: Vec::new(),
        }
    }
    /// Looks at the sender after an event.
    fn look(&mut self, now: Time) {
        let reading = self.tcp.rtt_reading();
        if let Some(rtt) = reading.sample_since(self.reading) {
            self.latest_rtt = rtt;
            if self.asked.measures_at(now) {
                self.rtts.add(rtt);
            }
        }
        self.reading = reading;
        if !self.asked.senders {
            return;
        }
        let view = SenderView::new(&self.tcp.info(), self.latest_rtt);
        if view == self.view {
            return;
        }
        self.view = view;
        // Events of one instant are one.
        match self.events.last_mut().filter(|last| last.at == now) {
            Some(last) => last.now = view,
            None => self.events.push(SenderEvent { at: now, flow: self.index, now: view }),
        }
    }
}

impl App for Observed {
    fn start(&mut self, fabric: &mut Fabric) {
        self.tcp.start(fabric);
        self.look(fabric.now);
    }
    fn step(&mut self, fabric: &mut Fabric) {
        self.tcp.step(fabric);
        self.look(fabric.now);
    }
    fn stop(&mut self, fabric: &mut Fabric) {
        self.tcp.stop(fabric);
        self.look(fabric.now);
    }
    fn set_stop(&mut self, at: Time, fabric: &mut Fabric) {
        self.tcp.set_stop(at, fabric);
    }
    fn on_timer(&mut self, side: usize, fabric: &mut Fabric) {
        self.tcp.on_timer(side, fabric);
        self.look(fabric.now);
    }
    fn receive(&mut self, side: usize, packet: Packet, fabric: &mut Fabric) {
        self.tcp.receive(side, packet, fabric);
        self.look(fabric.now);
    }
    fn received(&self) -> u64 {
        self.tcp.received()
    }
    fn sender(&self) -> Option<Info> {
        self.tcp.sender()
    }
    fn record(&self, record: &mut FlowRecord) {
        self.tcp.record(record);
    }
    fn sample(&self, at: Time, probe: &mut Probe, record: &mut Record) {
        self.tcp.sample(at, probe, record);
    }
    fn state(&self, probe: &mut Probe) {
        self.tcp.state(probe);
    }
    fn finish(&mut self, at: Time, record: &mut Record) {
        self.tcp.finish(at, record);
        if self.asked.window.is_some() {
            let rtts = core::mem::take(&mut self.rtts);
            record.delay_records.push(DelayRecord::new(DelayOf::Rtt(self.index), rtts));
        }
        record.sender_events.append(&mut self.events);
    }
}
