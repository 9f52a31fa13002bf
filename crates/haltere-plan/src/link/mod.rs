//! One direction of a link: a queue discipline, a device ring under it, a line, and packets in flight.
//!
//! A link is a pure state machine. The world says when a packet [arrives](Link::arrive), [advances](Link::advance) the
//! link to a time, and reads the time of its [next event](Link::next_event). A [`Sink`] receives packets that are
//! delivered, dropped, lost or emitted by the discipline.
//!
//! ```text
//!   arrive ──> discipline ──> [device ring] ──> line (busy until free_at) ──> flight ──> Sink::delivered
//! ```
//!
//! Model:
//! - A free line takes the next packet from the discipline, or from the ring if there is one. The discipline refills
//!   the ring.
//! - The line is busy for the packet's length over the rate. It carries the fraction of a nanosecond to the next
//!   packet.
//! - A packet leaves the line at the end of its transmission, or at its start (`handover_at_start`). It is delivered
//!   after the propagation time, to which jitter is added. Jitter does not reorder packets.
//! - An idle line saves up a burst: so many bytes of the next busy period take no time. If the rate changes in steps,
//!   it saves up what it could have carried, at most the burst.
//! - A line may lose packets ([`Losses`]), deliver packets twice, and hold packets back so that later ones overtake
//!   them ([`Impairments`](crate::plan::Impairments)).
//! - A packet shorter than `mpu` takes as long as one of that length.
//! - A discipline that withholds packets, such as a shaper, says when the next one is ready. The link asks it again
//!   then.
//! - If nothing waits, the end of a transmission is no event: the link carries it out before the next arrival.
//!
//! Order at one instant: the discipline's timer, a packet that was withheld, the end of a transmission, an arrival.
//! Deliveries change nothing in the link, and [`Link::advance`] makes them last.
//!
//! Random draws of a packet that the line takes: loss, then jitter, duplication and reordering, each from its own
//! [`Stream`] and only if the link has that property.
//!
//! Every world uses this model. The simulator has a faster form of it, which tests compare with this one.
//!
//! Units: time ns. Cost: O(1) a packet.

mod flight;
mod losses;
mod streams;

pub use losses::Losses;
pub use streams::{Stream, Streams};

use crate::headers::FULL_PACKET;
use crate::jitter::Jitter;
use crate::plan::{Impairments, LinkPlan};
use crate::record::{Depths, LinkCounters};
use crate::rng::Rng;
use crate::varying::{Burst, Line};
use alloc::collections::VecDeque;
use flight::Flight;
use haltere_queue::{Backlog, DropReason, Emits, Fate, LinkContext, MarkReason, Pkt, Qdisc, Queue};
use haltere_units::outside::Origin;
use haltere_units::{Bytes, Dur, ParamError, Time};

/// Receives a link's packets.
pub trait Sink<P> {
    /// The packet reaches the other end of the link at that time.
    fn delivered(&mut self, at: Time, packet: P);
    /// The discipline made this packet. It starts at the plan's [`emission_node`](LinkPlan::emission_node).
    fn emitted(&mut self, _packet: P) {}
    /// The discipline dropped the packet.
    fn dropped(&mut self, _packet: P, _reason: DropReason) {}
    /// The line lost the packet.
    fn lost(&mut self, _packet: P) {}
    /// A copy of a packet that the line delivers twice. `None`: packets cannot be copied; the plan must not ask for it.
    fn copied(&mut self, _packet: &P) -> Option<P> {
        None
    }
}

/// What a discipline may know of the link of that plan, on which packets have so many bytes of framing, in a run of
/// that origin.
pub fn context(plan: &LinkPlan, framing: u32, origin: &Origin) -> LinkContext {
    LinkContext {
        rate: plan.rate,
        rtt: plan.rtt,
        packet: Bytes::new(u64::from(FULL_PACKET + framing)),
        seed: Stream::Hash.rng(origin.seed, &plan.name).bits(),
        outside: origin.outside.clone(),
    }
}

/// Packets that the device took from the discipline.
#[derive(Debug)]
struct Ring<P> {
    packets: VecDeque<P>,
    /// The most packets that it holds, besides the one on the line.
    capacity: usize,
}

/// One direction of a link.
#[derive(Debug)]
pub struct Link<P, Q = Queue<P>> {
    queue: Q,
    ring: Option<Ring<P>>,
    line: Line,
    flight: Flight<P>,
    streams: Streams,
    counters: LinkCounters,
    /// The line is busy until then. `None`: it is free, and nothing waits.
    busy_until: Option<Time>,
    /// The discipline withholds a packet until then. `None`: it withholds none, or something else comes first.
    ready_at: Option<Time>,
    /// The discipline withholds packets or emits some at a dequeue, so it is asked at the end of every transmission.
    punctual: bool,
    /// When the line became free, or becomes free. It lies in the past by at most the burst when a busy period begins.
    free_at: Time,
    /// What an idle line saves up.
    burst: Burst,
    /// Least length that a packet takes on the line.
    mpu: Bytes,
    handover_at_start: bool,
    jitter: Jitter,
    impairments: Impairments,
    losses: Losses,
    /// The delay of packets differs, and without `overtake` none may overtake the one before it.
    ordered: bool,
    /// When the last packet that was not held back is delivered.
    last_due: Time,
    /// Packets that have waited in the discipline since `counted_to`.
    waiting: u32,
    counted_to: Time,
    /// Depths at dequeue, if the plan asks for them.
    depths: Option<Depths>,
}

impl<P: Pkt> Link<P> {
    /// The link of that plan, on which packets have so many bytes of framing, in a run of that origin.
    pub fn new(plan: &LinkPlan, framing: u32, origin: impl Into<Origin>) -> Result<Link<P>, ParamError> {
        let origin = origin.into();
        let queue = Queue::new(plan.queue.ours()?, &context(plan, framing, &origin))?;
        Ok(Link::with_queue(plan, queue, origin.seed))
    }
}

impl<P: Pkt, Q: Qdisc<P>> Link<P, Q> {
    /// The link of that plan with a queue that the world made.
    pub fn with_queue(plan: &LinkPlan, queue: Q, seed: u64) -> Link<P, Q> {
        let impairments = plan.impairments.as_deref().cloned().unwrap_or_default();
        Link {
            punctual: is_punctual(&queue),
            queue,
            ring: plan.ring.map(|n| Ring { packets: VecDeque::new(), capacity: n as usize }),
            line: line(plan),
            flight: Flight::new(),
            streams: Streams::new(seed, &plan.name),
            counters: LinkCounters::default(),
            busy_until: None,
            ready_at: None,
            free_at: Time::ZERO,
            burst: plan.saved_up(),
            mpu: plan.mpu,
            handover_at_start: plan.handover_at_start,
            jitter: plan.jitter,
            losses: Losses::new(plan),
            impairments,
            ordered: plan.delay_differs(),
            last_due: Time::ZERO,
            waiting: 0,
            counted_to: Time::ZERO,
            depths: plan.count_depths.then(Depths::default),
        }
    }

    /// A packet arrives at the discipline. What is due by `now` happens first, except deliveries, which wait for
    /// [`advance`](Link::advance).
    #[inline]
    pub fn arrive(&mut self, now: Time, packet: P, sink: &mut impl Sink<P>) {
        self.catch_up(now, sink);
        self.counters.arrived += 1;
        let is_full = self.line.is_full(now, self.queue.backlog().packets);
        let mut fate = Fates { rng: &mut self.streams.queue, counters: &mut self.counters, sink };
        if is_full {
            fate.dropped(packet, DropReason::Overlimit);
        } else {
            self.queue.enqueue(now, packet, &mut fate);
        }
        self.serve(now, sink);
        self.count_backlog(now);
        self.counters.peak_packets = self.counters.peak_packets.max(self.waiting);
    }
    /// Everything that is due by `now` happens, each at its own time.
    #[inline]
    pub fn advance(&mut self, now: Time, sink: &mut impl Sink<P>) {
        self.catch_up(now, sink);
        while let Some((at, packet)) = self.flight.pop(now) {
            sink.delivered(at, packet);
        }
    }
    /// The discipline may give a packet that it withheld without a time: a kernel's says so by itself.
    pub fn wake(&mut self, now: Time, sink: &mut impl Sink<P>) {
        self.catch_up(now, sink);
        self.serve(now, sink);
        self.count_backlog(now);
    }
    /// From `now` on the line has the rate, the delay, the jitter and the losses of this plan. If a discipline is given, it
    /// replaces the link's and takes over what waits. Packets in flight arrive when they were due.
    pub fn change(&mut self, now: Time, plan: &LinkPlan, queue: Option<Q>, sink: &mut impl Sink<P>) {
        self.catch_up(now, sink);
        self.line = line(plan);
        (self.burst, self.mpu, self.jitter) = (plan.saved_up(), plan.mpu, plan.jitter);
        (self.losses, self.ordered) = (Losses::new(plan), self.ordered || plan.delay_differs());
        if let Some(queue) = queue {
            self.punctual = is_punctual(&queue);
            let mut old = core::mem::replace(&mut self.queue, queue);
            let mut fate = Fates { rng: &mut self.streams.queue, counters: &mut self.counters, sink };
            while let Some(packet) = old.dequeue(now, &mut fate) {
                self.queue.enqueue(now, packet, &mut fate);
            }
        }
        self.wake(now, sink);
    }
    /// When something is due next.
    #[inline]
    pub fn next_event(&self) -> Option<Time> {
        [self.next_before_the_line(), self.flight.next()].into_iter().flatten().min()
    }
    /// The next packet that is delivered, and when.
    pub(crate) fn next_delivery(&self) -> Option<(Time, &P)> {
        self.flight.first()
    }
    /// When something is due next in the discipline and at the line. The end of a transmission is, if anything waits.
    pub(crate) fn next_before_the_line(&self) -> Option<Time> {
        let waits = self.punctual || self.ring_packets() > 0 || self.queue.backlog().packets > 0;
        let free_at = self.busy_until.filter(|_| waits);
        [free_at, self.ready_at, self.queue.next_timer()].into_iter().flatten().min()
    }

    /// Events at the discipline are to be carried out in time: it may read a clock, or what it emits takes effect at once.
    pub(crate) fn needs_time(&self) -> bool {
        self.punctual || self.queue.emits() != Emits::Never
    }
    /// The least delay of a packet that the line takes from now on.
    pub(crate) fn least_delay(&self) -> Dur {
        self.line.least_delay()
    }

    /// Its counters at `now`. What is due by then and was not carried out is not counted.
    pub fn counters(&mut self, now: Time) -> LinkCounters {
        self.count_backlog(now);
        self.counters
    }
    /// The warm-up ends: the counters until now. The peak is reset.
    pub fn end_warmup(&mut self, now: Time) -> LinkCounters {
        let counters = self.counters(now);
        self.counters.peak_packets = self.waiting;
        self.depths = self.depths.take().map(|_| Depths::default());
        counters
    }
    /// The depths at dequeue since the warm-up, if the plan asks for them.
    pub fn depths(&self) -> Depths {
        self.depths.clone().unwrap_or_default()
    }
    /// The queue discipline, to ask for its inner variables.
    pub fn queue(&self) -> &Q {
        &self.queue
    }
    /// What waits in the discipline.
    pub fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
    /// Packets in the device ring.
    pub fn ring_packets(&self) -> u32 {
        self.ring.as_ref().map_or(0, |ring| ring.packets.len() as u32)
    }
    /// Packets in the discipline, in the ring and in flight, the one on the line included.
    pub fn packets(&self) -> u64 {
        u64::from(self.backlog().packets) + u64::from(self.ring_packets()) + self.flight.len() as u64
    }
    /// The present state of the random streams.
    pub fn streams(&self) -> &Streams {
        &self.streams
    }

    /// The discipline's timers, the ends of transmissions and the packets that a discipline withheld, up to `now`.
    pub(crate) fn catch_up(&mut self, now: Time, sink: &mut impl Sink<P>) {
        while let Some(at) = [self.busy_until, self.ready_at].into_iter().flatten().min().filter(|at| *at <= now) {
            self.run_timers(at);
            if self.ready_at == Some(at) {
                self.ready_at = None;
                self.serve(at, sink);
            } else {
                self.transmit(at, sink);
            }
            self.count_backlog(at);
        }
        self.run_timers(now);
    }
    /// The discipline may have a packet for the ring or for a free line.
    fn serve(&mut self, now: Time, sink: &mut impl Sink<P>) {
        self.fill_ring(now, sink);
        if self.busy_until.is_none() {
            let since = self.line.saved_since(now, self.free_at, self.burst);
            self.free_at = self.line.ready(since);
            self.transmit(now, sink);
        }
    }
    fn run_timers(&mut self, now: Time) {
        while let Some(at) = self.queue.next_timer().filter(|at| *at <= now) {
            self.queue.on_timer(at);
            debug_assert!(self.queue.next_timer() != Some(at), "a discipline's timer does not advance from {at}");
        }
    }
    /// The line is free at `now`. It takes packets until it is busy or nothing waits.
    fn transmit(&mut self, now: Time, sink: &mut impl Sink<P>) {
        self.busy_until = None;
        while self.free_at <= now {
            let Some(packet) = self.next_packet(now, sink) else { return };
            self.send(now, packet, sink);
        }
        self.busy_until = Some(self.free_at);
    }
    fn next_packet(&mut self, now: Time, sink: &mut impl Sink<P>) -> Option<P> {
        let Some(ring) = &mut self.ring else { return self.dequeue(now, sink) };
        let packet = ring.packets.pop_front();
        self.fill_ring(now, sink);
        packet
    }
    fn dequeue(&mut self, now: Time, sink: &mut impl Sink<P>) -> Option<P> {
        let mut fate = Fates { rng: &mut self.streams.queue, counters: &mut self.counters, sink };
        let packet = self.queue.dequeue(now, &mut fate);
        if let (Some(depths), Some(_)) = (&mut self.depths, &packet) {
            depths.count(self.queue.backlog().packets);
        }
        self.ready_at = if packet.is_none() { self.queue.ready_at().filter(|at| *at != Time::NEVER) } else { None };
        debug_assert!(self.ready_at.is_none_or(|at| at > now), "a packet that is ready at {now} does not leave");
        packet
    }
    fn fill_ring(&mut self, now: Time, sink: &mut impl Sink<P>) {
        while self.ring.as_ref().is_some_and(|ring| ring.packets.len() < ring.capacity) {
            let Some(packet) = self.dequeue(now, sink) else { return };
            if let Some(ring) = &mut self.ring {
                ring.packets.push_back(packet);
            }
        }
    }
    /// The line takes the packet at `start`.
    fn send(&mut self, start: Time, packet: P, sink: &mut impl Sink<P>) {
        let len = Bytes::new(u64::from(packet.len()));
        self.counters.sent += 1;
        self.counters.sent_bytes += len.as_u64();
        let end = self.line.send(self.free_at, len.max(self.mpu));
        self.free_at = self.line.ready(end);
        let delay = self.line.delay(if self.handover_at_start { start } else { end });
        let leaves = if self.handover_at_start { start } else { end.max(start) };
        let mut due = later(leaves, delay);
        if self.losses.take([start, leaves, due], &mut self.streams.loss) {
            self.counters.lost += 1;
            return sink.lost(packet);
        }
        let mut overtaken = false;
        if self.ordered {
            let jitter = self.line.jitter(leaves).unwrap_or(self.jitter);
            due = later(due, jitter.draw(&mut self.streams.jitter));
            overtaken = self.impairments.overtake && (!jitter.is_zero() || self.line.is_overtaken(leaves, due));
        }
        if self.ordered && !overtaken {
            due = due.max(self.last_due);
            self.last_due = due;
        }
        let copy = if self.streams.duplicate.chance(self.impairments.duplicate.as_f64()) {
            sink.copied(&packet)
        } else {
            None
        };
        let held = self.streams.reorder.chance(self.impairments.reorder.as_f64());
        self.launch(if held { later(due, self.impairments.reorder_by) } else { due }, held || overtaken, packet);
        if let Some(copy) = copy {
            self.counters.duplicated += 1;
            self.launch(due, overtaken, copy);
        }
    }
    /// The packet is in flight, in order or overtaken by later ones.
    fn launch(&mut self, due: Time, held: bool, packet: P) {
        if held {
            self.flight.hold_back(due, packet);
        } else {
            self.flight.push(due, packet);
        }
    }
    /// Adds what has waited until `now` to the integral of the backlog.
    fn count_backlog(&mut self, now: Time) {
        self.counters.packet_ns += u128::from(self.waiting) * u128::from(now.since(self.counted_to).as_ns());
        self.counted_to = now;
        self.waiting = self.queue.backlog().packets;
    }
}

/// A discipline that withholds packets, or emits some at a dequeue: it is to be asked for a packet whenever the line is
/// free, at that time.
pub fn is_punctual<P: Pkt>(queue: &impl Qdisc<P>) -> bool {
    queue.ready_at().is_some() || queue.emits() == Emits::AtDequeue
}

/// The line of that plan.
fn line(plan: &LinkPlan) -> Line {
    plan.varying.as_deref().map_or_else(|| Line::plain(plan.rate, plan.delay), |varying| Line::new(varying, plan.delay))
}

/// The time `span` after `time`; never, if that is past the end of time.
pub(crate) fn later(time: Time, span: Dur) -> Time {
    time.checked_add(span).unwrap_or(Time::NEVER)
}

/// Counts what the discipline reports, passes it to the sink, and draws for the discipline.
struct Fates<'a, S> {
    rng: &'a mut Rng,
    counters: &'a mut LinkCounters,
    sink: &'a mut S,
}

impl<P: Pkt, S: Sink<P>> Fate<P> for Fates<'_, S> {
    fn dropped(&mut self, packet: P, reason: DropReason) {
        match reason {
            DropReason::Overlimit => self.counters.dropped_overlimit += 1,
            _ => self.counters.dropped_congestion += 1,
        }
        self.sink.dropped(packet, reason);
    }
    fn marked(&mut self, _packet: &P, _reason: MarkReason) {
        self.counters.marked += 1;
    }
    fn emit(&mut self, copy: P) {
        self.counters.emitted += 1;
        self.sink.emitted(copy);
    }
    fn random(&mut self) -> u64 {
        self.rng.bits()
    }
}

#[cfg(test)]
mod tests;
