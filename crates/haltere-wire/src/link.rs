//! One direction of a link: a discipline, the line behind it, and the way to the other end.
//!
//! Model: what arrives goes to the discipline; while the line is idle it takes the next packet (through the device
//! ring where there is one), is busy for exactly its length over the rate, and hands it over after the propagation time.
//! Every time here is the time at which a thing is due, not when the process came to do it: late wake-ups
//! shift packets, they do not change the rate nor what the discipline sees.
//! The link does no I/O and asks for no time: [`Link::next`] says when [`Link::run`] wants to be called.

use crate::frame::Frame;
use haltere_plan::plan::LinkPlan;
use haltere_plan::record::LinkCounters;
use haltere_plan::rng::Rng;
use haltere_plan::varying::{Line, Varying};
use haltere_queue::{DropReason, Fate, LinkContext, MarkReason, Pkt, Qdisc, Queue, QueueParams};
use haltere_units::{Bytes, Dur, ParamError, Prob, Probe, Rate, Time};
use std::collections::VecDeque;

/// What a link is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkParams {
    /// Name for results and seeds.
    pub name: String,
    /// Index of the node that sends.
    pub from: usize,
    /// Index of the node that receives.
    pub to: usize,
    /// Rate; `None`: packets take no time.
    pub rate: Option<Rate>,
    /// Propagation time.
    pub delay: Dur,
    /// Each packet is under way longer by a span drawn uniformly from zero to this; order is kept.
    pub jitter: Dur,
    /// Bytes that an idle line saves up: so many of the next busy time take no time on it.
    pub burst: Bytes,
    /// Least length that a packet takes on the line, however short it is.
    pub mpu: Bytes,
    /// What changes in the course of the run; `None`: nothing.
    pub varying: Option<Box<Varying>>,
    /// Chance that a packet is lost on the way.
    pub loss: Prob,
    /// Chance that a packet is held up on the way by `reorder_by` more, so that later ones overtake it.
    pub reorder: Prob,
    /// How long such a packet is held up.
    pub reorder_by: Dur,
    /// The discipline.
    pub queue: QueueParams,
    /// Packets that the device ring under the discipline holds; `None`: no ring.
    pub ring: Option<u32>,
    /// Packets are handed over when their transmission starts.
    pub handover_at_start: bool,
    /// Sampled for time series.
    pub watched: bool,
    /// Round-trip time for sizes in `bdp`.
    pub rtt: Option<Dur>,
}

impl From<&LinkPlan> for LinkParams {
    fn from(plan: &LinkPlan) -> LinkParams {
        LinkParams {
            name: plan.name.clone(),
            from: plan.from,
            to: plan.to,
            rate: plan.rate,
            delay: plan.delay,
            jitter: plan.jitter,
            burst: plan.burst,
            mpu: plan.mpu,
            varying: plan.varying.clone(),
            loss: plan.loss,
            reorder: Prob::ZERO,
            reorder_by: Dur::ZERO,
            queue: plan.queue.clone(),
            ring: plan.ring,
            handover_at_start: plan.handover_at_start,
            watched: plan.watched,
            rtt: plan.rtt,
        }
    }
}

/// The link's books, and the fate of its packets.
#[derive(Debug)]
pub struct Account {
    counters: LinkCounters,
    /// Drops that no counter of [`LinkCounters`] has a place for would be lost: all drops together.
    dropped: u64,
    chance: Rng,
    returned: Vec<Frame>,
}

impl Fate<Frame> for Account {
    fn dropped(&mut self, _pkt: Frame, reason: DropReason) {
        self.dropped += 1;
        match reason {
            DropReason::Overlimit => self.counters.dropped_overlimit += 1,
            _ => self.counters.dropped_congestion += 1,
        }
    }
    fn marked(&mut self, _pkt: &Frame, _reason: MarkReason) {
        self.counters.marked += 1;
    }
    fn returned(&mut self, pkt: &Frame) {
        if let Some(copy) = pkt.turned_round() {
            self.counters.returned += 1;
            self.returned.push(copy);
        }
    }
    fn random(&mut self) -> u64 {
        self.chance.bits()
    }
}

/// One direction of a link.
#[derive(Debug)]
pub struct Link {
    params: LinkParams,
    queue: Queue<Frame>,
    ring: VecDeque<Frame>,
    line: Line,
    /// The line is busy until then; `None`: nothing is on it.
    busy: Option<Time>,
    /// When the last transmission ended, or would have, had the line not saved up.
    free_at: Time,
    /// Time on the line that an idle line saves up.
    burst: Dur,
    /// On the way, in order of arrival.
    flight: VecDeque<(Time, Frame)>,
    /// On the way and held up.
    held: Vec<(Time, Frame)>,
    account: Account,
    loss: Rng,
    jitter: Rng,
    reorder: Rng,
    /// A packet might overtake the one before it, and must not.
    ordered: bool,
    /// When the packet sent last arrives.
    last_due: Time,
    /// The backlog that has stood since `counted_to`.
    standing: u32,
    counted_to: Time,
}

impl Link {
    /// A link of these parameters; `packet` is the length of a full packet on it.
    pub fn new(params: LinkParams, packet: Bytes, seed: u64) -> Result<Link, ParamError> {
        let stream = |part: &str| Rng::new(seed, &format!("{}/{part}", params.name));
        let context = LinkContext { rate: params.rate, rtt: params.rtt, packet, seed: stream("hash").bits() };
        let account =
            Account { counters: LinkCounters::default(), dropped: 0, chance: stream("queue"), returned: Vec::new() };
        Ok(Link {
            queue: Queue::new(&params.queue, &context)?,
            line: params
                .varying
                .as_deref()
                .map_or_else(|| Line::plain(params.rate, params.delay), |varying| Line::new(varying, params.delay)),
            ordered: !params.jitter.is_zero() || params.varying.as_ref().is_some_and(|v| v.delay.is_some()),
            burst: params.rate.map_or(Dur::ZERO, |rate| rate.time_for(params.burst)),
            free_at: Time::ZERO,
            loss: stream("loss"),
            jitter: stream("jitter"),
            reorder: stream("reorder"),
            last_due: Time::ZERO,
            params,
            ring: VecDeque::new(),
            busy: None,
            flight: VecDeque::new(),
            held: Vec::new(),
            account,
            standing: 0,
            counted_to: Time::ZERO,
        })
    }
    /// Its parameters.
    pub fn params(&self) -> &LinkParams {
        &self.params
    }
    /// Its counters, the integral of the backlog brought up to `now`.
    pub fn counters(&mut self, now: Time) -> LinkCounters {
        self.count_backlog(now);
        self.account.counters
    }
    /// The warm-up ends: its counters; the peak is counted anew.
    pub fn end_warmup(&mut self, now: Time) -> LinkCounters {
        let counters = self.counters(now);
        self.account.counters.peak_packets = self.standing;
        counters
    }
    /// Packets waiting, in the ring, on the line and on the way.
    pub fn holds(&self) -> u64 {
        u64::from(self.queue.backlog().packets) + (self.ring.len() + self.flight.len() + self.held.len()) as u64
    }
    /// The discipline's backlog and the packets in the ring.
    pub fn backlog(&self) -> (haltere_queue::Backlog, u32) {
        (self.queue.backlog(), self.ring.len() as u32)
    }
    /// The discipline's inner variables.
    pub fn probe(&self, row: &mut Probe) {
        self.queue.probe(row);
    }
    /// All drops so far.
    pub fn dropped(&self) -> u64 {
        self.account.dropped
    }
    /// A packet arrives at the queue.
    #[inline]
    pub fn arrive(&mut self, now: Time, frame: Frame) {
        self.account.counters.arrived += 1;
        self.queue.enqueue(now, frame, &mut self.account);
        self.transmit(now);
        self.count_backlog(now);
    }
    /// Copies that the discipline wants sent back to their senders.
    pub fn take_returned(&mut self) -> Option<Frame> {
        self.account.returned.pop()
    }
    /// When [`run`](Link::run) is to be called next.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        let front = self.flight.front().map(|(at, _)| *at);
        let held = self.held.iter().map(|(at, _)| *at).min();
        [self.busy, front, held, self.queue.next_timer()].into_iter().flatten().min()
    }
    /// Does what is due at `now`; what arrives at the other end is given to `out`.
    pub fn run(&mut self, now: Time, mut out: impl FnMut(Frame)) {
        while self.flight.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, frame)) = self.flight.pop_front() {
                out(frame);
            }
        }
        while let Some(place) = self.held.iter().position(|(at, _)| *at <= now) {
            out(self.held.swap_remove(place).1);
        }
        if self.queue.next_timer().is_some_and(|at| at <= now) {
            self.queue.on_timer(now);
        }
        if self.busy.is_some_and(|at| at <= now) {
            self.busy = None;
            self.transmit(now);
            self.count_backlog(now);
        }
    }
    /// Gives the line, if idle, its next packet.
    fn transmit(&mut self, now: Time) {
        self.fill_ring(now);
        if self.busy.is_some() {
            return;
        }
        // An idle line may begin in the past by what it has saved up.
        self.free_at = self.line.ready(self.free_at.max(now.saturating_sub(self.burst)));
        while self.free_at <= now {
            let Some(frame) = self.next_frame(now) else { return };
            let bytes = Bytes::new(u64::from(frame.len()));
            self.account.counters.sent += 1;
            self.account.counters.sent_bytes += bytes.as_u64();
            let start = self.free_at;
            let end = self.line.send(start, bytes.max(self.params.mpu));
            self.free_at = self.line.ready(end);
            let handed_over = if self.params.handover_at_start { start } else { end }.max(now);
            self.send_off(handed_over.checked_add(self.line.delay(handed_over)).unwrap_or(Time::NEVER), frame);
            self.fill_ring(now);
        }
        self.busy = Some(self.free_at);
    }
    fn next_frame(&mut self, now: Time) -> Option<Frame> {
        match self.params.ring {
            Some(_) => self.ring.pop_front(),
            None => self.queue.dequeue(now, &mut self.account),
        }
    }
    fn fill_ring(&mut self, now: Time) {
        let Some(room) = self.params.ring else { return };
        while self.ring.len() < room as usize {
            let Some(frame) = self.queue.dequeue(now, &mut self.account) else { return };
            self.ring.push_back(frame);
        }
    }
    fn send_off(&mut self, mut arrives: Time, frame: Frame) {
        if self.loss.chance(self.params.loss.as_f64()) {
            self.account.counters.lost += 1;
            return;
        }
        if self.ordered {
            arrives = self.last_due.max(arrives + self.params.jitter.mul_f64(self.jitter.uniform()));
            self.last_due = arrives;
        }
        if self.reorder.chance(self.params.reorder.as_f64()) {
            self.held.push((arrives + self.params.reorder_by, frame));
        } else {
            self.flight.push_back((arrives, frame));
        }
    }
    fn count_backlog(&mut self, now: Time) {
        let counters = &mut self.account.counters;
        counters.packet_ns += u128::from(self.standing) * u128::from(now.since(self.counted_to).as_ns());
        self.counted_to = now;
        self.standing = self.queue.backlog().packets;
        counters.peak_packets = counters.peak_packets.max(self.standing);
    }
}
