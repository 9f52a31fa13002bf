//! One direction of a link: a queue discipline, a device ring under it where there is one, a line, and packets in flight.
//!
//! A link has at most one pending event, and a packet costs it one event whatever the discipline. Nobody outside sees
//! the queue between events, so the dequeues are carried out when somebody looks ([`Link::catch_up`]): before an
//! arrival, before the packets in flight run out, before a sample. Each is carried out *as of* the instant at which the
//! line became free, in order of time, with the discipline's own timers in between. A dequeued packet has its delivery time
//! at once and joins the flight; the pending event is the delivery of the flight's head. A packet is delivered
//! at or after the end of its transmission, so while something waits the flight is not empty, with two exceptions (a
//! packet lost on the line, `handover_at_start`), for which the pending event is the end of the transmission. A
//! discipline that sends packets back at a dequeue makes its link eager: an event at the end of each transmission, too.
//!
//! ```text
//!   arrive ──> discipline ──> [device ring] ──> line (busy until free_at) ──> flight ──> deliver
//! ```

use crate::packet::{Packet, Pool};
use crate::pcap::Tap;
use haltere_lab::plan::LinkPlan;
use haltere_lab::record::LinkCounters;
use haltere_lab::rng::Rng;
use haltere_lab::varying::Line;
use haltere_queue::{DropReason, Fate, LinkContext, MarkReason, Qdisc, Queue};
use haltere_units::{Bytes, Dur, ParamError, Serialisation, Time};
use std::collections::VecDeque;

#[path = "link_change.rs"]
mod change;

/// Length of a full IP packet, for queue sizes in bandwidth-delay products.
const FULL_PACKET: u32 = 1500;

/// Packets in flight for which an empty link keeps room.
const SPARE: usize = 8;

/// A packet on the line.
#[derive(Debug)]
struct InFlight {
    due: Time,
    packet: Packet,
}

/// The device's own ring.
#[derive(Debug)]
struct Device {
    fifo: VecDeque<Packet>,
    /// Packets that it holds besides the one that is being sent.
    capacity: usize,
}

/// What a link counts.
#[derive(Debug, Default, Clone)]
struct Tally {
    counters: LinkCounters,
    /// Packets in the discipline.
    waiting: u32,
    /// Sum of the instants at which packets left the discipline less the sum of those at which they came, so
    /// that `waiting * now` more is the integral of the packets waiting.
    balance_ns: i128,
}

impl Tally {
    #[inline]
    fn came(&mut self, now: Time) {
        self.counters.arrived += 1;
        self.waiting += 1;
        self.balance_ns -= i128::from(now.as_ns());
    }
    #[inline]
    fn left(&mut self, now: Time) {
        self.waiting -= 1;
        self.balance_ns += i128::from(now.as_ns());
    }
    fn at(&self, now: Time) -> LinkCounters {
        let packet_ns = self.balance_ns + i128::from(self.waiting) * i128::from(now.as_ns());
        let packet_ns = u128::try_from(packet_ns)
            .unwrap_or_else(|_| panic!("negative waiting time: {packet_ns} ns for {} packets", self.waiting));
        LinkCounters { packet_ns, ..self.counters }
    }
}

/// Where the discipline tells what became of packets.
struct Verdict<'a> {
    now: Time,
    tally: &'a mut Tally,
    rng: &'a mut Rng,
    pool: &'a mut Pool,
}

impl Fate<Packet> for Verdict<'_> {
    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        match reason {
            DropReason::Overlimit => self.tally.counters.dropped_overlimit += 1,
            _ => self.tally.counters.dropped_congestion += 1,
        }
        self.tally.left(self.now);
        self.pool.give(&packet);
    }
    fn marked(&mut self, _packet: &Packet, _reason: MarkReason) {
        self.tally.counters.marked += 1;
    }
    fn returned(&mut self, packet: &Packet) {
        self.tally.counters.returned += 1;
        self.pool.send_back(packet);
    }
    fn random(&mut self) -> u64 {
        self.rng.bits()
    }
}

/// What a link shows of itself at one instant.
pub(crate) struct LinkView {
    pub counters: LinkCounters,
    pub waiting: u32,
    pub waiting_bytes: u64,
    pub ring_packets: u32,
}

/// One direction of a link.
#[derive(Debug)]
pub(crate) struct Link {
    /// When its pending event is due; never: there is none.
    scheduled: Time,
    /// When the line becomes or became free.
    free_at: Time,
    /// The line is free and the discipline said that nothing waits.
    idle: bool,
    handover_at_start: bool,
    /// The discipline has timers of its own.
    timed: bool,
    /// The discipline has no memory when it is empty, and there is no device under it: see [`Qdisc::passes`].
    plain: bool,
    /// What the discipline does at a dequeue acts elsewhere, so no dequeue may be late.
    eager: bool,
    /// Time on the line that an idle line saves up.
    burst: Dur,
    /// Least bytes that a packet takes on the line.
    mpu: u64,
    /// When the line became busy last.
    busy_since: Time,
    delay: Dur,
    /// Most that a packet is under way longer.
    jitter: Dur,
    /// A packet might overtake the one before it, and must not.
    ordered: bool,
    jitter_rng: Rng,
    /// When the packet sent last is delivered; none overtakes it.
    last_due: Time,
    line: Serialisation,
    /// Where rate or delay changes: the line in the place of the plain one.
    varying: Option<Box<Line>>,
    flight: VecDeque<InFlight>,
    tally: Tally,
    /// Chance of a loss on the line.
    loss: f64,
    rng: Rng,
    queue: Queue<Packet>,
    device: Option<Device>,
    tap: Option<Box<Tap>>,
    /// The node that sends.
    pub from: u32,
    loss_rng: Rng,
    /// The counters at the end of the warm-up, and the most packets that waited until then.
    warmup: LinkCounters,
}

impl Link {
    /// The link of that plan, with its streams of randomness.
    pub fn new(plan: &LinkPlan, framing: u32, seed: u64) -> Result<Link, ParamError> {
        let mut hash = Rng::new(seed, &format!("{}/hash", plan.name));
        let context = LinkContext {
            rate: plan.rate,
            rtt: plan.rtt,
            packet: Bytes::new(u64::from(FULL_PACKET + framing)),
            seed: hash.bits(),
        };
        let device = plan.ring.map(|n| Device { fifo: VecDeque::new(), capacity: n as usize });
        let queue = Queue::new(&plan.queue, &context)?;
        Ok(Link {
            scheduled: Time::NEVER,
            free_at: Time::ZERO,
            idle: true,
            handover_at_start: plan.handover_at_start,
            timed: queue.next_timer().is_some(),
            plain: queue.passes(1) && device.is_none() && plan.varying.is_none(),
            eager: queue.returns_at_dequeue(),
            burst: plan.rate.map_or(Dur::ZERO, |rate| rate.time_for(plan.burst)),
            mpu: plan.mpu.as_u64(),
            busy_since: Time::ZERO,
            delay: plan.delay,
            jitter: plan.jitter,
            ordered: !plan.jitter.is_zero() || plan.varying.as_ref().is_some_and(|v| v.delay.is_some()),
            jitter_rng: Rng::new(seed, &format!("{}/jitter", plan.name)),
            last_due: Time::ZERO,
            line: Serialisation::new(plan.rate),
            varying: plan.varying.as_deref().map(|varying| Box::new(Line::new(varying, plan.delay))),
            flight: VecDeque::new(),
            tally: Tally::default(),
            loss: plan.loss.as_f64(),
            rng: Rng::new(seed, &format!("{}/queue", plan.name)),
            queue,
            device,
            tap: None,
            from: plan.from as u32,
            loss_rng: Rng::new(seed, &format!("{}/loss", plan.name)),
            warmup: LinkCounters::default(),
        })
    }
    /// Writes every packet that the line takes to `tap`.
    pub fn set_tap(&mut self, tap: Tap) {
        self.tap = Some(Box::new(tap));
    }
    /// The tap, to be closed.
    pub fn take_tap(&mut self) -> Option<Box<Tap>> {
        self.tap.take()
    }

    /// A packet arrives at the queue. Where the link then needs an event, its time is returned.
    #[inline]
    pub fn arrive(&mut self, now: Time, packet: Packet, pool: &mut Pool) -> Option<Time> {
        if self.plain && self.tally.waiting == 0 && self.free_at <= now && self.queue.passes(packet.header.len) {
            return self.pass(now, packet, pool);
        }
        self.catch_up(now, pool);
        self.tally.came(now);
        let mut verdict = Verdict { now, tally: &mut self.tally, rng: &mut self.rng, pool };
        self.queue.enqueue(now, packet, &mut verdict);
        if self.device.is_some() {
            self.fill_device(now, pool);
        }
        if self.idle {
            self.idle = false;
            self.free_at = self.free_at.max(now.saturating_sub(self.burst));
            if let Some(line) = &mut self.varying {
                self.free_at = line.ready(self.free_at);
            }
            self.busy_since = now;
            self.send_until(now, pool);
        }
        self.tally.counters.peak_packets = self.tally.counters.peak_packets.max(self.tally.waiting);
        if self.scheduled == Time::NEVER || self.eager { self.schedule() } else { None }
    }
    /// The line is free, nothing waits, and the discipline has no say: the packet goes on the line at once.
    #[inline]
    fn pass(&mut self, now: Time, packet: Packet, pool: &mut Pool) -> Option<Time> {
        self.tally.counters.arrived += 1;
        self.idle = false;
        self.free_at = self.free_at.max(now.saturating_sub(self.burst));
        self.busy_since = now;
        self.transmit(now, packet, pool);
        if self.scheduled == Time::NEVER { self.schedule() } else { None }
    }
    /// The pending event is due: the packet that is delivered now, if any, and the time of the next event, if any.
    #[inline]
    pub fn on_event(&mut self, now: Time, pool: &mut Pool) -> (Option<Packet>, Option<Time>) {
        if now != self.scheduled {
            return (None, None); // an earlier event took its place
        }
        self.scheduled = Time::NEVER;
        if self.flight.len() <= 1 || self.eager {
            self.catch_up(now, pool);
        }
        let delivered = match self.flight.front() {
            Some(head) if head.due <= now => self.flight.pop_front().map(|head| head.packet),
            _ => None,
        };
        if self.flight.is_empty() && self.flight.capacity() > SPARE {
            self.flight.shrink_to(0); // of thousands of links few are full at one time
        }
        (delivered, self.schedule())
    }
    /// The time of the next event, where there is one and no event as early is pending.
    #[inline]
    fn schedule(&mut self) -> Option<Time> {
        let mut next = Time::NEVER;
        if let Some(head) = self.flight.front() {
            next = head.due;
        }
        if (next == Time::NEVER || self.eager) && self.is_backlogged() {
            next = next.min(self.free_at);
        }
        if next >= self.scheduled {
            return None;
        }
        self.scheduled = next;
        Some(next)
    }
    fn is_backlogged(&self) -> bool {
        self.tally.waiting > 0 || self.device.as_ref().is_some_and(|d| !d.fifo.is_empty())
    }

    /// Carries out everything that happened in the queue until `now`: dequeues and the discipline's timers.
    #[inline]
    pub fn catch_up(&mut self, now: Time, pool: &mut Pool) {
        self.send_until(now, pool);
        self.run_timers(now);
    }
    #[inline]
    fn run_timers(&mut self, now: Time) {
        if !self.timed {
            return;
        }
        while let Some(at) = self.queue.next_timer().filter(|at| *at <= now) {
            self.queue.on_timer(at);
            debug_assert!(self.queue.next_timer() != Some(at), "a discipline's timer does not advance from {at}");
        }
    }
    /// The dequeues at which the line became free, up to `now`.
    #[inline]
    fn send_until(&mut self, now: Time, pool: &mut Pool) {
        if self.plain && self.tally.waiting == 0 {
            self.idle |= self.free_at <= now;
            return;
        }
        while !self.idle && self.free_at <= now {
            let start = self.free_at.max(self.busy_since);
            self.run_timers(start);
            match self.next_packet(start, pool) {
                Some(packet) => self.transmit(start, packet, pool),
                None => self.idle = true,
            }
        }
    }
    /// The packet that the line takes at `start`.
    #[inline]
    fn next_packet(&mut self, start: Time, pool: &mut Pool) -> Option<Packet> {
        let Some(device) = &mut self.device else { return self.dequeue(start, pool) };
        let packet = device.fifo.pop_front();
        self.fill_device(start, pool);
        packet
    }
    #[inline]
    fn dequeue(&mut self, now: Time, pool: &mut Pool) -> Option<Packet> {
        let mut verdict = Verdict { now, tally: &mut self.tally, rng: &mut self.rng, pool };
        let packet = self.queue.dequeue(now, &mut verdict)?;
        self.tally.left(now);
        Some(packet)
    }
    /// The discipline hands packets to the device as long as there is room.
    fn fill_device(&mut self, now: Time, pool: &mut Pool) {
        while self.device.as_ref().is_some_and(|d| d.fifo.len() < d.capacity) {
            let Some(packet) = self.dequeue(now, pool) else { return };
            if let Some(device) = &mut self.device {
                device.fifo.push_back(packet);
            }
        }
    }
    #[inline]
    fn transmit(&mut self, start: Time, packet: Packet, pool: &mut Pool) {
        let bytes = u64::from(packet.header.len);
        let (end, delay) = self.take_line(start, Bytes::new(bytes.max(self.mpu)));
        self.tally.counters.sent += 1;
        self.tally.counters.sent_bytes += bytes;
        if let Some(tap) = &mut self.tap {
            tap.write(start, &packet, pool);
        }
        if self.loss > 0.0 && self.loss_rng.uniform() < self.loss {
            self.tally.counters.lost += 1;
            pool.give(&packet);
            return;
        }
        let leaves = if self.handover_at_start { start } else { end.max(start) };
        let due = self.due(leaves + delay);
        self.flight.push_back(InFlight { due, packet });
    }

    /// A packet takes the line at `start`: when its last byte leaves, and how long it is under way from there.
    #[inline]
    fn take_line(&mut self, start: Time, bytes: Bytes) -> (Time, Dur) {
        match &mut self.varying {
            None => {
                self.free_at += self.line.next(bytes);
                (self.free_at, self.delay)
            }
            Some(line) => {
                let end = line.send(self.free_at, bytes);
                self.free_at = line.ready(end);
                let leaves = if self.handover_at_start { start } else { end };
                // A packet that the line never carries is under way for ever.
                (end, line.delay(leaves).min(Time::NEVER.since(leaves)))
            }
        }
    }

    /// When a packet is delivered that comes at `at` without jitter.
    #[inline]
    fn due(&mut self, at: Time) -> Time {
        if self.ordered {
            self.last_due = self.last_due.max(at + self.jitter.mul_f64(self.jitter_rng.uniform()));
            return self.last_due;
        }
        at
    }

    /// The warm-up ends: counters "after warm-up" begin here.
    pub fn end_warmup(&mut self, now: Time, pool: &mut Pool) {
        self.catch_up(now, pool);
        self.warmup = self.tally.at(now);
        self.tally.counters.peak_packets = self.tally.waiting;
    }
    /// The counters of the whole run and of the time after warm-up.
    pub fn counters(&mut self, now: Time, pool: &mut Pool) -> (LinkCounters, LinkCounters) {
        self.catch_up(now, pool);
        let (total, before) = (self.tally.at(now), self.warmup);
        let after = LinkCounters {
            arrived: total.arrived - before.arrived,
            sent: total.sent - before.sent,
            sent_bytes: total.sent_bytes - before.sent_bytes,
            dropped_overlimit: total.dropped_overlimit - before.dropped_overlimit,
            dropped_congestion: total.dropped_congestion - before.dropped_congestion,
            marked: total.marked - before.marked,
            returned: total.returned - before.returned,
            lost: total.lost - before.lost,
            packet_ns: total.packet_ns - before.packet_ns,
            peak_packets: total.peak_packets,
        };
        (LinkCounters { peak_packets: total.peak_packets.max(before.peak_packets), ..total }, after)
    }
    /// What the queue looks like now.
    pub fn view(&mut self, now: Time, pool: &mut Pool) -> LinkView {
        self.catch_up(now, pool);
        let backlog = self.queue.backlog();
        assert_eq!(backlog.packets, self.tally.waiting, "the discipline's backlog and the packets in it differ");
        LinkView {
            counters: self.tally.at(now),
            waiting: backlog.packets,
            waiting_bytes: backlog.bytes,
            ring_packets: self.device.as_ref().map_or(0, |d| d.fifo.len() as u32),
        }
    }
    /// Inner variables of the discipline.
    pub fn queue(&self) -> &Queue<Packet> {
        &self.queue
    }
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
