//! Records samples at their intervals, and the counters at the end of the warm-up.
//!
//! Samples are taken after 1, 2, 3, ... intervals, the end of the run included. There is no sample at time zero.

use crate::app::{AnyFlow, App};
use crate::engine::event::Kind;
use crate::engine::large_pages;
use crate::net::fabric::Fabric;
use crate::net::link::SimLink;
use crate::net::packet::Pool;
use crate::parts::cut::Part;
use haltere_plan::Plan;
use haltere_plan::record::{
    DelayOf, DelayRecord, Depths, FlowRecord, FlowSample, LinkCounters, LinkRecord, QueueSample, Record, SenderCounts,
    StateOf, StateSample,
};
use haltere_queue::Qdisc;
use haltere_units::{Dur, Probe, Time};

const WARMUP: usize = 0;
const QUEUES: usize = 1;
const FLOWS: usize = 2;
const UNTIL: usize = 3;

/// What a flow had received and its sender had counted.
type FlowCounts = (u64, Option<SenderCounts>);

/// The counters of a link at an instant. Most links lose, mark and drop nothing: they take half the memory.
#[derive(Debug)]
struct Brief {
    arrived: u64,
    sent: u64,
    sent_bytes: u64,
    packet_ns: u128,
    peak_packets: u32,
    /// All counters, if others are not zero.
    all: Option<Box<LinkCounters>>,
}

impl From<LinkCounters> for Brief {
    fn from(all: LinkCounters) -> Brief {
        let LinkCounters { arrived, sent, sent_bytes, packet_ns, peak_packets, .. } = all;
        let mut brief = Brief { arrived, sent, sent_bytes, packet_ns, peak_packets, all: None };
        if brief.counters() != all {
            brief.all = Some(Box::new(all));
        }
        brief
    }
}

impl Brief {
    fn counters(&self) -> LinkCounters {
        let Brief { arrived, sent, sent_bytes, packet_ns, peak_packets, .. } = *self;
        let brief = || LinkCounters { arrived, sent, sent_bytes, packet_ns, peak_packets, ..LinkCounters::default() };
        self.all.as_deref().copied().unwrap_or_else(brief)
    }
}

/// What was counted when the warm-up ended, or the measured window.
#[derive(Debug)]
struct Counted {
    links: Vec<Brief>,
    flows: Vec<FlowCounts>,
}

impl Counted {
    fn of(fabric: &mut Fabric, flows: &[AnyFlow], link: fn(&mut SimLink, Time, &mut Pool) -> LinkCounters) -> Counted {
        let Fabric { links, pool, now, .. } = fabric;
        Counted {
            links: links.iter_mut().map(|of| link(of, *now, pool).into()).collect(),
            flows: flows.iter().map(|flow| (flow.received(), flow.sender().as_ref().map(Into::into))).collect(),
        }
    }
}

/// Records the samples and counters of the plan.
#[derive(Debug)]
pub(crate) struct Recorder {
    queues: Option<Dur>,
    flows: Option<Dur>,
    warmup: Time,
    watched: Vec<u32>,
    /// The end of the measured window, if that is before the end of the run.
    until: Option<Time>,
    /// What was counted until the end of the warm-up.
    at_warmup: Option<Counted>,
    /// What was counted until the end of the measured window, and the depths of each link in it.
    at_until: Option<(Counted, Vec<Depths>)>,
    /// Inner variables are recorded.
    state: bool,
}

impl Recorder {
    /// Records what lies in that part of the plan's network.
    pub fn new(plan: &Plan, part: Part<'_>, fabric: &mut Fabric) -> Recorder {
        let watched = (0..).zip(&plan.links).filter(|(_, link)| link.watched && part.has(link.from));
        let watched = watched.map(|(index, _)| index).collect();
        let asked = &plan.measure;
        let recorder = Recorder {
            queues: asked.queues,
            flows: asked.flows,
            warmup: plan.warmup,
            watched,
            until: asked.until.filter(|until| *until < plan.end),
            at_warmup: None,
            at_until: None,
            state: asked.state,
        };
        fabric.schedule(plan.warmup, Kind::Record, WARMUP);
        if let Some(until) = recorder.until {
            fabric.schedule(until, Kind::Record, UNTIL);
        }
        for (interval, what) in [(plan.measure.queues, QUEUES), (plan.measure.flows, FLOWS)] {
            if let Some(interval) = interval {
                fabric.schedule(Time::ZERO + interval, Kind::Record, what);
            }
        }
        recorder
    }
    /// A sample is due, or the warm-up ends.
    pub fn on_event(&mut self, what: usize, fabric: &mut Fabric, flows: &[AnyFlow]) {
        let interval = match what {
            WARMUP => {
                self.at_warmup = Some(Counted::of(fabric, flows, SimLink::end_warmup));
                fabric.links.iter_mut().for_each(SimLink::count_later);
                // If there is no window, they are next read when the run is over, and nothing arrives after that.
                fabric.warmup = self.until.unwrap_or(Time::NEVER);
                None
            }
            UNTIL => {
                let counted = Counted::of(fabric, flows, SimLink::record);
                self.at_until = Some((counted, fabric.links.iter_mut().map(SimLink::depths).collect()));
                fabric.links.iter_mut().for_each(SimLink::count_later);
                fabric.warmup = Time::NEVER;
                None
            }
            QUEUES => {
                self.sample_queues(fabric);
                self.queues
            }
            _ => {
                sample_flows(fabric, flows, self.state);
                self.flows
            }
        };
        if let Some(interval) = interval {
            fabric.schedule(fabric.now + interval, Kind::Record, what);
        }
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
            if self.state {
                probe.clear();
                fabric.links[id as usize].queue().state(&mut probe);
                write_state(fabric, StateOf::Queue(id), &probe);
            }
        }
    }
    /// The run is over. Returns its record. Flows end first: the lines of the links may take the memory that they leave.
    pub fn finish(mut self, fabric: &mut Fabric, flows: Vec<AnyFlow>) -> Record {
        let end = fabric.now;
        // Nothing is after a warm-up that outlasts the run.
        let warmup = self.at_warmup.take().unwrap_or_else(|| Counted::of(fabric, &flows, SimLink::end_warmup));
        let mut all = core::mem::take(&mut fabric.record);
        all.measured = (self.warmup, self.until.unwrap_or(end));
        let until = self.at_until.as_ref().map(|(counted, _)| &counted.flows);
        // The standard library writes the lines where the flows were.
        let lines = flows.into_iter().enumerate().map(|(i, mut flow)| {
            // Who joined later had received nothing then.
            let at = |counted: &Vec<FlowCounts>| counted.get(i).copied().unwrap_or_default();
            let line = flow_line(&flow, at(&warmup.flows), until.map(at));
            flow.finish(end, &mut all);
            line
        });
        let lines = lines.collect();
        all.flows = lines;
        large_pages::make_room::<LinkRecord>(fabric.links.len());
        self.finish_links(fabric, &warmup.links, &mut all);
        all.sender_events.sort_by_key(|event| (event.at, event.flow));
        all.tasks.sort_by_key(|task| (task.start, task.flow));
        all.peak_events = fabric.events.peak() as u64;
        all
    }
    /// The lines of the links, and their delays before those of the flows.
    fn finish_links(&self, fabric: &mut Fabric, warmup: &[Brief], all: &mut Record) {
        let Fabric { links, pool, now, .. } = fabric;
        let mut delays = Vec::new();
        let lines = links.iter_mut().zip(warmup).enumerate().map(|(i, (link, warmup))| {
            let until = self.at_until.as_ref().map(|(counted, depths)| (counted.links[i].counters(), &depths[i]));
            let line = finish_link(&warmup.counters(), &link.record(*now, pool), link.depths(), until);
            if let Some(mut watch) = link.take_watch() {
                let sojourns = watch.sojourns.take();
                delays.extend(sojourns.map(|some| DelayRecord::new(DelayOf::Sojourn(i as u32), some)));
                all.packets.extend(watch.log.take().into_iter().flatten());
            }
            line
        });
        all.links = lines.collect();
        delays.append(&mut all.delay_records);
        all.delay_records = delays;
    }
}

/// The line of a flow, from what was counted at the end of the warm-up and at the end of the window, if there is one.
fn flow_line(flow: &AnyFlow, (before, sender_at_warmup): FlowCounts, until: Option<FlowCounts>) -> FlowRecord {
    let (received, sender_at_until) = until.unwrap_or_else(|| (flow.received(), None));
    FlowRecord { received_after_warmup: received - before, sender_at_warmup, sender_at_until, ..flow.line() }
}

/// The line of a link from its counters at the end of the warm-up, at the end of the run, and at that of the window, if
/// there is one.
fn finish_link(
    warmup: &LinkCounters,
    end: &LinkCounters,
    depths: Depths,
    until: Option<(LinkCounters, &Depths)>,
) -> LinkRecord {
    let whole = LinkRecord { depths, ..LinkRecord::new(warmup, end) };
    match until {
        None => whole,
        Some((counters, depths)) => LinkRecord {
            after_warmup: LinkRecord::new(warmup, &counters).after_warmup,
            depths: depths.clone(),
            ..whole
        },
    }
}

/// A sample of every flow that has samples in this series.
fn sample_flows(fabric: &mut Fabric, flows: &[AnyFlow], state: bool) {
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
        if state {
            probe.clear();
            flow.state(&mut probe);
            write_state(fabric, StateOf::Flow(i as u32), &probe);
        }
    }
}

/// Inner variables now; nothing of a mechanism that has none.
fn write_state(fabric: &mut Fabric, of: StateOf, probe: &Probe) {
    if !probe.values().is_empty() {
        fabric.record.state.push(StateSample { at: fabric.now, of, values: probe.values().to_vec() });
    }
}
