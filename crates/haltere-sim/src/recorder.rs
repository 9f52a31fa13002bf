//! Records samples at their intervals, and the counters at the end of the warm-up.
//!
//! Samples are taken after 1, 2, 3, ... intervals, the end of the run included. There is no sample at time zero.

use crate::app::{App, Flow};
use crate::engine::event::Kind;
use crate::net::fabric::Fabric;
use crate::net::link::Link;
use haltere_plan::Plan;
use haltere_plan::record::{
    Depths, FlowRecord, FlowSample, LinkCounters, LinkRecord, QueueSample, Record, SenderCounts,
};
use haltere_queue::Qdisc;
use haltere_units::{Dur, Probe, Time};

const WARMUP: usize = 0;
const QUEUES: usize = 1;
const FLOWS: usize = 2;
const COOLDOWN: usize = 3;

/// Records the samples and counters of the plan.
#[derive(Debug)]
pub(crate) struct Recorder {
    queues: Option<Dur>,
    flows: Option<Dur>,
    warmup: Time,
    /// When the cool-down begins, if there is one.
    cooldown: Option<Time>,
    /// What was so then.
    cooled: Option<Cooled>,
    watched: Vec<u32>,
}

/// What was so when the cool-down began.
#[derive(Debug)]
struct Cooled {
    links: Vec<(LinkCounters, Depths)>,
    /// Of each flow, bytes received and what its sender had counted.
    flows: Vec<(u64, Option<SenderCounts>)>,
}

impl Recorder {
    pub fn new(plan: &Plan, fabric: &mut Fabric) -> Recorder {
        let watched = (0..plan.links.len()).filter(|i| plan.links[*i].watched).map(|i| i as u32).collect();
        let cooldown = (!plan.cooldown.is_zero()).then(|| plan.measured_to());
        let recorder = Recorder {
            queues: plan.measure.queues,
            flows: plan.measure.flows,
            warmup: plan.warmup,
            cooldown,
            cooled: None,
            watched,
        };
        fabric.schedule(plan.warmup, Kind::Record, WARMUP);
        if let Some(at) = cooldown {
            fabric.schedule(at, Kind::Record, COOLDOWN);
        }
        for (interval, what) in [(plan.measure.queues, QUEUES), (plan.measure.flows, FLOWS)] {
            if let Some(interval) = interval {
                fabric.schedule(Time::ZERO + interval, Kind::Record, what);
            }
        }
        recorder
    }
    /// A sample is due, or the warm-up ends.
    pub fn on_event(&mut self, what: usize, fabric: &mut Fabric, flows: &[Flow]) {
        let interval = match what {
            WARMUP => {
                self.end_warmup(fabric, flows);
                fabric.links.iter_mut().for_each(Link::count_later);
                // Without a cool-down, counters are next read when the run is over, and nothing arrives after that.
                fabric.warmup = self.cooldown.unwrap_or(Time::NEVER);
                None
            }
            COOLDOWN => {
                self.cooled = Some(begin_cooldown(fabric, flows));
                fabric.warmup = Time::NEVER;
                None
            }
            QUEUES => {
                self.sample_queues(fabric);
                self.queues
            }
            _ => {
                sample_flows(fabric, flows);
                self.flows
            }
        };
        if let Some(interval) = interval {
            fabric.schedule(fabric.now + interval, Kind::Record, what);
        }
    }
    /// From now on flows and links have lines in the record. Until the run is over they hold what was so at the end of the warm-up.
    fn end_warmup(&self, fabric: &mut Fabric, flows: &[Flow]) {
        let Fabric { links, pool, now, record, .. } = fabric;
        let link = |link: &mut Link| LinkRecord { total: link.end_warmup(*now, pool), ..LinkRecord::default() };
        record.links = links.iter_mut().map(link).collect();
        let flow = |flow: &Flow| FlowRecord {
            received_after_warmup: flow.received(),
            sender_at_warmup: flow.sender().as_ref().map(Into::into),
            ..FlowRecord::default()
        };
        record.flows = flows.iter().map(flow).collect();
    }
    fn sample_queues(&mut self, fabric: &mut Fabric) {
        let mut probe = Probe::new();
        for &id in &self.watched {
            let link = &mut fabric.links[id as usize];
            let view = link.view(fabric.now, &mut fabric.pool);
            probe.clear();
            link.queue().probe(&mut probe);
            fabric.record.queue_series.push(QueueSample {
                at: fabric.now,
                link: id,
                packets: view.waiting,
                bytes: view.waiting_bytes,
                ring_packets: view.ring_packets,
                dropped: view.counters.dropped_overlimit + view.counters.dropped_congestion,
                marked: view.counters.marked,
                sent_bytes: view.counters.sent_bytes,
                vars: probe.values().iter().map(|&(name, _, value)| (name, value)).collect(),
            });
        }
    }
    /// The run is over. Returns its record.
    pub fn finish(self, fabric: &mut Fabric, flows: &mut [Flow]) -> Record {
        let end = fabric.now;
        if self.warmup > end {
            self.end_warmup(fabric, flows); // nothing is after a warm-up that outlasts the run
        }
        let mut all = core::mem::take(&mut fabric.record);
        // Who joined after the warm-up had received nothing when it ended.
        all.flows.resize_with(flows.len(), FlowRecord::default);
        let cooled = self.cooled.as_ref();
        for (i, (record, flow)) in all.flows.iter_mut().zip(&*flows).enumerate() {
            let sender_at_warmup = record.sender_at_warmup.take();
            let at_cooldown = cooled.map(|cooled| cooled.flows.get(i).copied().unwrap_or_default());
            let (received, sender_at_cooldown) = at_cooldown.unwrap_or((flow.received(), None));
            let received_after_warmup = received.saturating_sub(record.received_after_warmup);
            *record = FlowRecord { received_after_warmup, sender_at_warmup, sender_at_cooldown, ..flow.line() };
        }
        all.measured = (self.warmup, self.cooldown.unwrap_or(end));
        flows.iter_mut().for_each(|flow| flow.finish(end, &mut all));
        all.tasks.sort_by_key(|task| (task.start, task.flow));
        for (i, (record, link)) in all.links.iter_mut().zip(&mut fabric.links).enumerate() {
            let counters = link.record(end, &mut fabric.pool);
            let warmup = record.total;
            *record = match cooled.and_then(|cooled| cooled.links.get(i)) {
                None => LinkRecord { depths: link.depths(), ..LinkRecord::new(&warmup, &counters) },
                Some((cooled, depths)) => {
                    let measured = LinkRecord::new(&warmup, cooled);
                    let total = LinkRecord::new(&measured.total, &counters).total;
                    LinkRecord { total, depths: depths.clone(), ..measured }
                }
            };
        }
        all.peak_events = fabric.events.peak() as u64;
        all
    }
}

/// The cool-down begins: what is measured ends here.
fn begin_cooldown(fabric: &mut Fabric, flows: &[Flow]) -> Cooled {
    let Fabric { links, pool, now, .. } = fabric;
    let link = |link: &mut Link| {
        link.catch_up(*now, pool);
        let depths = link.depths();
        (link.end_warmup(*now, pool), depths)
    };
    let flow = |flow: &Flow| (flow.received(), flow.sender().as_ref().map(Into::into));
    Cooled { links: links.iter_mut().map(link).collect(), flows: flows.iter().map(flow).collect() }
}

/// A sample of every flow that has samples in this series.
fn sample_flows(fabric: &mut Fabric, flows: &[Flow]) {
    let (at, mut probe) = (fabric.now, Probe::new());
    for (i, flow) in flows.iter().enumerate().filter(|(_, flow)| flow.is_sampled()) {
        probe.clear();
        flow.sample(at, &mut probe, &mut fabric.record);
        fabric.record.flow_series.push(FlowSample {
            at,
            flow: i as u32,
            received: flow.received(),
            sender: flow.sender().unwrap_or_default(),
            control: probe.values().iter().map(|&(name, _, value)| (name, value)).collect(),
        });
    }
}
