//! One direction of a link: a queue discipline, a device ring under it where there is one, a line, and packets in flight.
//!
//! A link has at most one pending event, and a packet costs one event whatever the discipline; that of a packet which is alone on
//! the line is the packet's own and does not come back to the link. Nobody outside sees
//! the queue between events, so the dequeues are carried out when somebody looks ([`Link::catch_up`]): before an
//! arrival, before the packets in flight run out, before a sample. Each is carried out *as of* the instant at which the
//! line became free, in order of time, with the discipline's own timers in between. A dequeued packet has its delivery time
//! at once and joins the flight; the pending event is the delivery of the flight's head. A packet is delivered
//! at or after the end of its transmission, so while something waits the flight is not empty, with exceptions (a
//! packet lost on the line, alone on it, or sent [ahead](crate::net::ahead), and `handover_at_start`), for which the pending event is that of
//! `look_again`: the end of the transmission, where nothing allows a later one. A
//! discipline that sends packets back at a dequeue makes its link eager: an event at the end of each transmission, too.
//!
//! ```text
//!   arrive ──> discipline ──> [device ring] ──> line (busy until free_at) ──> flight ──> deliver
//! ```

use crate::capture::pcap::Tap;
use crate::net::ahead::Ahead;
use crate::net::flight::{Flight, Flights};
use crate::net::packet::{Packet, Pool};
use haltere_plan::plan::LinkPlan;
use haltere_plan::record::LinkCounters;
use haltere_plan::rng::Rng;
use haltere_plan::varying::Line;
use haltere_queue::{DropReason, Fate, LinkContext, MarkReason, Qdisc, Queue, Returns};
use haltere_units::{Bytes, Dur, ParamError, Serialisation, Time};
use std::collections::VecDeque;

mod ahead;
mod change;

/// Length of a full IP packet, for queue sizes in bandwidth-delay products.
const FULL_PACKET: u32 = 1500;

/// No packet is longer, framing included.
const LARGEST_PACKET: u32 = 1 << 17;

/// The device's own ring.
#[derive(Debug)]
struct Device {
    fifo: VecDeque<Packet>,
    /// Packets that it holds besides the one that is being sent.
    capacity: usize,
}

/// What a link counts beside the packets that pass.
#[derive(Debug, Default)]
struct Tally {
    /// Sum of the instants at which packets left the discipline less the sum of those at which they came, so
    /// that `waiting * now` more is the integral of the packets waiting.
    balance_ns: i128,
    dropped_overlimit: u64,
    dropped_congestion: u64,
    peak_packets: u32,
    /// Packets put on the line ahead of time that arrive after the end of the warm-up, at which counters are read, and their bytes.
    later_packets: u32,
    later_bytes: u64,
    active: Active,
}

/// What a discipline does that few have: it draws, marks, sends back.
#[derive(Debug, Default)]
struct Active {
    /// Seed of its stream of randomness.
    seed: u64,
    signals: Option<Box<Signals>>,
}

#[derive(Debug)]
struct Signals {
    rng: Rng,
    marked: u64,
    returned: u64,
}

impl Active {
    fn get(&mut self) -> &mut Signals {
        let seed = self.seed;
        self.signals.get_or_insert_with(|| Box::new(Signals { rng: Rng::from_seed(seed), marked: 0, returned: 0 }))
    }
}

/// Where the discipline tells what became of packets.
struct QueueFate<'a> {
    now: Time,
    waiting: &'a mut u32,
    tally: &'a mut Tally,
    pool: &'a mut Pool,
}

impl QueueFate<'_> {
    #[inline]
    fn came(&mut self) {
        *self.waiting += 1;
        self.tally.balance_ns -= i128::from(self.now.as_ns());
    }
    #[inline]
    fn left(&mut self) {
        *self.waiting -= 1;
        self.tally.balance_ns += i128::from(self.now.as_ns());
    }
}

impl Fate<Packet> for QueueFate<'_> {
    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        match reason {
            DropReason::Overlimit => self.tally.dropped_overlimit += 1,
            _ => self.tally.dropped_congestion += 1,
        }
        self.left();
        self.pool.give(&packet);
    }
    fn marked(&mut self, _packet: &Packet, _reason: MarkReason) {
        self.tally.active.get().marked += 1;
    }
    fn returned(&mut self, packet: &Packet) {
        self.tally.active.get().returned += 1;
        self.pool.send_back(packet);
    }
    fn random(&mut self) -> u64 {
        self.tally.active.get().rng.bits()
    }
}

/// What a link shows of itself at one instant.
pub(crate) struct LinkView {
    pub counters: LinkCounters,
    pub waiting: u32,
    pub waiting_bytes: u64,
    pub ring_packets: u32,
}

/// What a link needs next.
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use]
pub(crate) enum Next {
    /// No event, or the one that is pending.
    Nothing,
    /// Its own event at that time.
    Event(Time),
    /// The delivery at that time of the packet at that place of [`Flights`](crate::net::flight::Flights), which was alone on the line.
    Delivery(Time, u32),
}

/// What few links have, and no packet of the others looks at.
#[derive(Debug)]
struct Extras {
    /// When the line became busy last.
    busy_since: Time,
    handover_at_start: bool,
    /// Time on the line that an idle line saves up.
    burst: Dur,
    /// Least bytes that a packet takes on the line.
    mpu: u64,
    /// Most that a packet is under way longer.
    jitter: Dur,
    /// A packet might overtake the one before it, and must not.
    ordered: bool,
    jitter_rng: Rng,
    /// When the packet sent last is delivered; none overtakes it.
    last_due: Time,
    /// Chance of a loss on the line.
    loss: f64,
    loss_rng: Rng,
    lost: u64,
    /// Where rate or delay changes: the line in the place of the plain one.
    varying: Option<Line>,
    tap: Option<Box<Tap>>,
}

impl Extras {
    fn new(plan: &LinkPlan, seed: u64) -> Extras {
        Extras {
            busy_since: Time::ZERO,
            handover_at_start: plan.handover_at_start,
            burst: plan.rate.map_or(Dur::ZERO, |rate| rate.time_for(plan.burst)),
            mpu: plan.mpu.as_u64(),
            jitter: plan.jitter,
            ordered: !plan.jitter.is_zero() || plan.varying.as_ref().is_some_and(|v| v.delay.is_some()),
            jitter_rng: Rng::new(seed, &format!("{}/jitter", plan.name)),
            last_due: Time::ZERO,
            loss: plan.loss.as_f64(),
            loss_rng: Rng::new(seed, &format!("{}/loss", plan.name)),
            lost: 0,
            varying: plan.varying.as_deref().map(|varying| Line::new(varying, plan.delay)),
            tap: None,
        }
    }
    /// True where a packet would notice.
    fn matters(&self) -> bool {
        let line = self.handover_at_start || !self.burst.is_zero() || self.mpu > 0 || self.varying.is_some();
        line || self.ordered || self.loss > 0.0 || self.tap.is_some()
    }
}

/// One direction of a link. A delivery reads the first cache line, a packet that finds the line free the second, too.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Link {
    /// When its pending event is due; never: there is none.
    scheduled: Time,
    /// When the line becomes or became free.
    free_at: Time,
    flight: Flight,
    /// Up to this length a packet passes a discipline that is empty and has no memory, without a device under it: see
    /// [`Qdisc::passes`]. 0: none does.
    passing: u32,
    delay: Dur,
    /// Packets in the discipline.
    waiting: u32,
    /// The line is free and the discipline said that nothing waits.
    idle: bool,
    /// The discipline has timers of its own.
    timed: bool,
    /// What the discipline does at a dequeue acts elsewhere, so no dequeue may be late.
    eager: bool,
    /// There is a device ring under the discipline: so told that a delivery need not read the line of the device itself.
    ringed: bool,
    /// Packets that arrived.
    arrived: u64,
    /// After this time the one link that feeds this one may put packets on it ahead of time (see `ahead`); never: it may not.
    open_from: Time,
    line: Serialisation,
    sent_bytes: u64,
    /// Where it feeds links that take packets ahead of time: its index; else [`NO_FEEDER`].
    feeder: u32,
    /// A packet has waited here: packets come in bunches.
    bunched: bool,
    extras: Option<Box<Extras>>,
    device: Option<Box<Device>>,
    queue: Queue<Packet>,
    tally: Tally,
}

/// The [`feeder`](Link::feeder) of a link that feeds none.
const NO_FEEDER: u32 = u32::MAX;

const _: () = assert!(size_of::<Link>() == 256, "four cache lines");

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
        let extras = Extras::new(plan, seed);
        let mut link = Link {
            scheduled: Time::NEVER,
            free_at: Time::ZERO,
            flight: Flight::default(),
            passing: 0,
            delay: plan.delay,
            waiting: 0,
            idle: true,
            timed: false,
            eager: false,
            ringed: plan.ring.is_some(),
            arrived: 0,
            open_from: Time::NEVER,
            line: Serialisation::new(plan.rate),
            sent_bytes: 0,
            feeder: NO_FEEDER,
            bunched: false,
            extras: extras.matters().then(|| Box::new(extras)),
            device: plan.ring.map(|n| Box::new(Device { fifo: VecDeque::new(), capacity: n as usize })),
            queue: Queue::new(&plan.queue, &context)?,
            tally: Tally {
                active: Active { seed: Rng::seed(seed, &format!("{}/queue", plan.name)), signals: None },
                ..Tally::default()
            },
        };
        link.cache_queue_properties();
        Ok(link)
    }
    /// The discipline is new, and empty: what is fixed as long as the link has it.
    fn cache_queue_properties(&mut self) {
        self.timed = self.queue.next_timer().is_some();
        self.eager = self.queue.returns() == Returns::AtDequeue;
        let simple = self.device.is_none() && self.varying().is_none();
        let passes = |len: &u32| simple && self.queue.passes(*len);
        // Packets mostly all pass, or none; else the limit is found by halving.
        self.passing = if passes(&LARGEST_PACKET) || !passes(&1) {
            LARGEST_PACKET * u32::from(passes(&1))
        } else {
            let (mut fits, mut too_long) = (0, LARGEST_PACKET);
            while too_long - fits > 1 {
                let middle = (fits + too_long) / 2;
                if passes(&middle) { fits = middle } else { too_long = middle }
            }
            fits
        };
    }
    fn varying(&self) -> Option<&Line> {
        self.extras.as_ref().and_then(|extras| extras.varying.as_ref())
    }
    /// Writes every packet that the line takes to `tap`; plan and seed are the link's.
    pub fn set_tap(&mut self, tap: Tap, plan: &LinkPlan, seed: u64) {
        self.extras.get_or_insert_with(|| Box::new(Extras::new(plan, seed))).tap = Some(Box::new(tap));
    }
    /// The tap, to be closed.
    pub fn take_tap(&mut self) -> Option<Box<Tap>> {
        self.extras.as_mut().and_then(|extras| extras.tap.take())
    }

    /// A packet arrives at the queue.
    #[inline(always)]
    pub fn arrive(&mut self, now: Time, packet: Packet, pool: &mut Pool) -> Next {
        if self.passes(now, packet.header.len) {
            return self.pass(now, packet, pool);
        }
        self.join(now, packet, pool)
    }
    /// The packet goes through the discipline.
    fn join(&mut self, now: Time, packet: Packet, pool: &mut Pool) -> Next {
        self.catch_up(now, pool);
        self.arrived += 1;
        let mut verdict = QueueFate { now, waiting: &mut self.waiting, tally: &mut self.tally, pool };
        verdict.came();
        self.queue.enqueue(now, packet, &mut verdict);
        if self.device.is_some() {
            self.fill_device(now, pool);
        }
        if self.idle {
            self.occupy(now);
            self.send_until(now, pool);
        }
        self.tally.peak_packets = self.tally.peak_packets.max(self.waiting);
        self.bunched |= self.waiting > 0;
        if self.scheduled == Time::NEVER || self.eager { self.schedule(&pool.flights) } else { Next::Nothing }
    }
    /// True where a packet of `len` bytes finds the line free and nothing waiting at `time`, and the discipline has no say.
    #[inline(always)]
    fn passes(&self, time: Time, len: u32) -> bool {
        len <= self.passing && self.waiting == 0 && self.free_at <= time
    }
    /// The packet [passes](Link::passes): it goes on the line at once.
    #[inline(always)]
    fn pass(&mut self, now: Time, packet: Packet, pool: &mut Pool) -> Next {
        let alone = self.is_clear(now);
        self.arrived += 1;
        self.occupy(now);
        if alone && self.is_plain() && !self.feeds() {
            return self.send_alone(now, packet, pool);
        }
        self.transmit(now, packet, pool);
        if self.scheduled == Time::NEVER { self.schedule(&pool.flights) } else { Next::Nothing }
    }
    /// True where what the line took last has been delivered, and nothing is likely to wait behind the packet that it takes now: that
    /// would need an event of the link, which the delivery of a packet in its flight is.
    #[inline(always)]
    fn is_clear(&self, now: Time) -> bool {
        !self.bunched && self.flight.len() == 0 && self.free_at + self.delay <= now
    }
    /// The packet is alone on the line: its delivery is an event of its own, which does not come back to this link.
    #[inline(always)]
    fn send_alone(&mut self, start: Time, packet: Packet, pool: &mut Pool) -> Next {
        self.sent_bytes += u64::from(packet.header.len);
        let due = self.serialise(start, packet.header.len);
        Next::Delivery(due, pool.flights.place(due, packet))
    }
    /// A free line becomes busy.
    #[inline(always)]
    fn occupy(&mut self, now: Time) {
        self.idle = false;
        match &mut self.extras {
            None => self.free_at = self.free_at.max(now),
            Some(extras) => {
                extras.busy_since = now;
                self.free_at = self.free_at.max(now.saturating_sub(extras.burst));
                if let Some(line) = &mut extras.varying {
                    self.free_at = line.ready(self.free_at);
                }
            }
        }
    }
    /// The pending event is due: the packet that is delivered now, if any, and what the link needs next.
    #[inline(always)]
    pub fn on_event(&mut self, now: Time, pool: &mut Pool) -> (Option<Packet>, Next) {
        if now != self.scheduled {
            return (None, Next::Nothing); // an earlier event took its place
        }
        self.scheduled = Time::NEVER;
        if self.flight.len() <= 1 || self.eager {
            self.catch_up(now, pool);
        }
        let delivered = pool.flights.pop(&mut self.flight, now);
        (delivered, self.schedule(&pool.flights))
    }
    /// The time of the next event, where there is one and no event as early is pending.
    #[inline(always)]
    fn schedule(&mut self, flights: &Flights<Packet>) -> Next {
        let mut next = flights.due(&self.flight);
        if (next == Time::NEVER || self.eager) && self.is_backlogged() {
            next = next.min(self.look_again());
        }
        if next >= self.scheduled {
            return Next::Nothing;
        }
        self.scheduled = next;
        Next::Event(next)
    }
    /// The packets in flight.
    #[inline(always)]
    pub fn flight(&self) -> &Flight {
        &self.flight
    }
    #[inline(always)]
    fn is_backlogged(&self) -> bool {
        self.waiting > 0 || (self.ringed && self.device.as_ref().is_some_and(|d| !d.fifo.is_empty()))
    }

    /// Carries out everything that happened in the queue until `now`: dequeues and the discipline's timers.
    #[inline]
    pub fn catch_up(&mut self, now: Time, pool: &mut Pool) {
        self.send_until(now, pool);
        self.run_timers(now);
    }
    #[inline(always)]
    fn run_timers(&mut self, now: Time) {
        if self.timed {
            self.run_due_timers(now);
        }
    }
    fn run_due_timers(&mut self, now: Time) {
        while let Some(at) = self.queue.next_timer().filter(|at| *at <= now) {
            self.queue.on_timer(at);
            debug_assert!(self.queue.next_timer() != Some(at), "a discipline's timer does not advance from {at}");
        }
    }
    /// The dequeues at which the line became free, up to `now`.
    #[inline(always)]
    fn send_until(&mut self, now: Time, pool: &mut Pool) {
        if self.passing > 0 && self.waiting == 0 {
            self.idle |= self.free_at <= now;
        } else {
            self.drain_until(now, pool);
        }
    }
    fn drain_until(&mut self, now: Time, pool: &mut Pool) {
        while !self.idle && self.free_at <= now {
            let start = self.extras.as_ref().map_or(self.free_at, |extras| self.free_at.max(extras.busy_since));
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
        let mut verdict = QueueFate { now, waiting: &mut self.waiting, tally: &mut self.tally, pool };
        let packet = self.queue.dequeue(now, &mut verdict)?;
        verdict.left();
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
    #[inline(always)]
    fn transmit(&mut self, start: Time, packet: Packet, pool: &mut Pool) {
        self.sent_bytes += u64::from(packet.header.len);
        if self.extras.is_some() {
            return self.transmit_slow_path(start, packet, pool);
        }
        let due = self.serialise(start, packet.header.len);
        if self.feeds() {
            let place = pool.flights.place(due, packet);
            pool.ahead.push(Ahead { from: self.feeder, place });
        } else {
            pool.flights.push(&mut self.flight, due, packet);
        }
    }
    /// The line takes the packet, which is delivered at the time returned.
    #[inline(always)]
    fn serialise(&mut self, start: Time, len: u32) -> Time {
        self.free_at += self.line.next(Bytes::new(u64::from(len)));
        self.free_at.max(start) + self.delay
    }
    fn transmit_slow_path(&mut self, start: Time, packet: Packet, pool: &mut Pool) {
        let Some(extras) = &mut self.extras else { return };
        let bytes = Bytes::new(u64::from(packet.header.len).max(extras.mpu));
        let (end, delay) = match &mut extras.varying {
            None => {
                self.free_at += self.line.next(bytes);
                (self.free_at, self.delay)
            }
            Some(line) => {
                let end = line.send(self.free_at, bytes);
                self.free_at = line.ready(end);
                let leaves = if extras.handover_at_start { start } else { end };
                // A packet that the line never carries is under way for ever.
                (end, line.delay(leaves).min(Time::NEVER.since(leaves)))
            }
        };
        if let Some(tap) = &mut extras.tap {
            tap.write(start, &packet, pool);
        }
        if extras.loss > 0.0 && extras.loss_rng.uniform() < extras.loss {
            extras.lost += 1;
            pool.give(&packet);
            return;
        }
        let leaves = if extras.handover_at_start { start } else { end.max(start) };
        let mut due = leaves + delay;
        if extras.ordered {
            let jitter = extras.jitter.mul_f64(extras.jitter_rng.uniform());
            extras.last_due = extras.last_due.max(due.checked_add(jitter).unwrap_or(Time::NEVER));
            due = extras.last_due;
        }
        pool.flights.push(&mut self.flight, due, packet);
    }

    /// The counters up to now.
    fn counters(&self, now: Time) -> LinkCounters {
        let (tally, signals) = (&self.tally, self.tally.active.signals.as_ref());
        let gone = tally.dropped_overlimit + tally.dropped_congestion;
        let held = self.waiting + self.device.as_ref().map_or(0, |d| d.fifo.len() as u32);
        let packet_ns = tally.balance_ns + i128::from(self.waiting) * i128::from(now.as_ns());
        LinkCounters {
            arrived: self.arrived,
            sent: self.arrived - gone - u64::from(held),
            sent_bytes: self.sent_bytes,
            dropped_overlimit: tally.dropped_overlimit,
            dropped_congestion: tally.dropped_congestion,
            marked: signals.map_or(0, |signals| signals.marked),
            returned: signals.map_or(0, |signals| signals.returned),
            lost: self.extras.as_ref().map_or(0, |extras| extras.lost),
            packet_ns: u128::try_from(packet_ns)
                .unwrap_or_else(|_| panic!("negative waiting time: {packet_ns} ns for {} packets", self.waiting)),
            peak_packets: tally.peak_packets,
        }
    }
    /// The warm-up ends: the counters until now, of which the peak is counted anew.
    pub fn end_warmup(&mut self, now: Time, pool: &mut Pool) -> LinkCounters {
        let counters = self.record(now, pool);
        self.tally.peak_packets = self.waiting;
        counters
    }
    /// The counters until now.
    pub fn record(&mut self, now: Time, pool: &mut Pool) -> LinkCounters {
        self.catch_up(now, pool);
        self.counters(now)
    }
    /// What the queue looks like now.
    pub fn view(&mut self, now: Time, pool: &mut Pool) -> LinkView {
        self.catch_up(now, pool);
        let backlog = self.queue.backlog();
        assert_eq!(backlog.packets, self.waiting, "the discipline's backlog and the packets in it differ");
        LinkView {
            counters: self.counters(now),
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
mod tests;
