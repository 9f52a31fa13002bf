//! One direction of a link on the wire: the link of [`haltere_plan::link`]. A router's options may add reordering.
//!
//! Every time here is the time at which an event is due, not when the process carried it out. A process that wakes up late shifts
//! packets, but it changes neither the rate nor what the discipline sees.
//! The link does no I/O and does not read the clock: [`Link::next`] says when [`Link::run`] wants to be called.

use crate::frame::Frame;
use haltere_plan::link::{self, Sink};
use haltere_plan::plan::LinkPlan;
use haltere_plan::record::{Depths, LinkCounters};
use haltere_queue::{Backlog, Qdisc};
use haltere_units::{Dur, ParamError, Prob, Probe, Time};

/// A link of a plan, and what the wire adds to it.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkParams {
    /// The link.
    pub plan: LinkPlan,
    /// Probability that a packet is held back by `reorder_by` more, so that later ones overtake it.
    pub reorder: Prob,
    /// How long such a packet is held back.
    pub reorder_by: Dur,
}

impl From<LinkPlan> for LinkParams {
    /// The link, without reordering beyond that of its plan.
    fn from(plan: LinkPlan) -> LinkParams {
        LinkParams { plan, reorder: Prob::ZERO, reorder_by: Dur::ZERO }
    }
}

/// Receives the packets of a link.
struct Outlet<'a> {
    delivered: &'a mut dyn FnMut(Frame),
    returned: &'a mut Vec<Frame>,
}

impl Sink<Frame> for Outlet<'_> {
    fn delivered(&mut self, _at: Time, frame: Frame) {
        (self.delivered)(frame);
    }
    fn returned(&mut self, frame: &Frame) -> bool {
        let copy = frame.turned_round();
        let made = copy.is_some();
        self.returned.extend(copy);
        made
    }
    fn copied(&mut self, frame: &Frame) -> Option<Frame> {
        Some(frame.clone())
    }
}

/// One direction of a link.
#[derive(Debug)]
pub struct Link {
    params: LinkParams,
    link: link::Link<Frame>,
    returned: Vec<Frame>,
}

impl Link {
    /// A link of these parameters, on which packets have so many bytes of framing.
    pub fn new(params: LinkParams, framing: u32, seed: u64) -> Result<Link, ParamError> {
        let mut link = link::Link::new(&params.plan, framing, seed)?;
        if params.reorder > Prob::ZERO {
            link = link.reordering(params.reorder, params.reorder_by);
        }
        Ok(Link { params, link, returned: Vec::new() })
    }
    /// Its parameters.
    pub fn params(&self) -> &LinkParams {
        &self.params
    }
    /// Its counters, the integral of the backlog brought up to `now`.
    pub fn counters(&mut self, now: Time) -> LinkCounters {
        self.link.counters(now)
    }
    /// The warm-up ends: its counters. The peak is counted anew.
    pub fn end_warmup(&mut self, now: Time) -> LinkCounters {
        self.link.end_warmup(now)
    }
    /// The depths at dequeue since the warm-up, if the plan asks for them.
    pub fn depths(&self) -> Depths {
        self.link.depths()
    }
    /// Packets in the discipline, in the ring, on the line and in flight.
    pub fn holds(&self) -> u64 {
        self.link.packets()
    }
    /// The discipline's backlog and the packets in the ring.
    pub fn backlog(&self) -> (Backlog, u32) {
        (self.link.backlog(), self.link.ring_packets())
    }
    /// The discipline's inner variables.
    pub fn probe(&self, row: &mut Probe) {
        self.link.queue().probe(row);
    }
    /// A packet arrives at the queue. Before that, the discipline's timers and transmissions that are due by `now` are carried out.
    #[inline]
    pub fn arrive(&mut self, now: Time, frame: Frame) {
        self.link.arrive(now, frame, &mut Outlet { delivered: &mut |_| {}, returned: &mut self.returned });
    }
    /// Copies that the discipline wants sent back to their senders.
    pub fn take_returned(&mut self) -> Option<Frame> {
        self.returned.pop()
    }
    /// When [`run`](Link::run) is to be called next.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.link.next_event()
    }
    /// Carries out what is due by `now`. Packets that reach the other end go to `out`.
    pub fn run(&mut self, now: Time, mut out: impl FnMut(Frame)) {
        self.link.advance(now, &mut Outlet { delivered: &mut out, returned: &mut self.returned });
    }
}
