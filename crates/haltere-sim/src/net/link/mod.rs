//! One direction of a link: the model of [`haltere_plan::link`], computed lazily.
//!
//! A link has at most one pending event, and a packet costs one event whatever the discipline. The event of a packet
//! that is alone on the line is the packet's own delivery and does not come back to the link.
//!
//! The queue is visible only between events, so [`SimLink::catch_up`] carries out the dequeues when something needs
//! their result: before an arrival, before the packets in flight run out, before a sample. Each dequeue is carried out
//! *as of* the instant at which the line became free, in order of time, with the discipline's own timers in between. A
//! dequeued packet has its delivery time at once and joins the flight. The pending event is the delivery of the head of
//! the flight.
//!
//! A packet is delivered at or after the end of its transmission, so the flight is not empty while a packet waits.
//! Exceptions: a packet that is lost on the line or held back, alone on it, or sent [ahead of time](crate::net::ahead),
//! and `handover_at_start`. For these the pending event is the next dequeue: the end of the transmission, or later if
//! that is allowed. If a discipline emits packets at a dequeue or withholds packets, or the line holds packets back,
//! the link is eager: it has an event at the end of each transmission, too, and when a packet that was withheld is
//! ready.
//!
//! Tests compare departures, drops, marks, counters and random draws with those of [`haltere_plan::link`].
//!
//! ```text
//!   arrive ──> discipline ──> [device ring] ──> line (busy until free_at) ──> flight ──> deliver
//! ```

use crate::net::flight::{Ahead, Flight, Flights};
use crate::net::packet::{Packet, Pool};
use fate::{Counters, LazySignals, QueueFate};
use haltere_plan::jitter::Jitter;
use haltere_plan::link::{Losses, Stream, context, is_punctual};
use haltere_plan::plan::LinkPlan;
use haltere_plan::record::Depths;
use haltere_plan::rng::Rng;
use haltere_plan::varying::{Burst, Line};
use haltere_queue::{Qdisc, Queue};
use haltere_units::outside::Origin;
use haltere_units::{Bytes, Dur, ParamError, Prob, Serialisation, Time};
use impairments::ImpairedLine;
use in_place::Places;
use std::collections::VecDeque;

mod ahead;
mod change;
mod fate;
mod impairments;
mod in_place;
mod reading;
mod watch;
mod withheld;

/// The longest possible packet, framing included.
const LARGEST_PACKET: u32 = 1 << 17;

/// The device's own ring.
#[derive(Debug)]
struct Device {
    fifo: VecDeque<Packet>,
    /// Packets that it holds besides the one that is being sent.
    capacity: usize,
}

/// Packets of a link outside of its discipline.
#[derive(Debug)]
enum Apart {
    /// Those in the device's own ring.
    Device(Device),
    /// Those that wait in their places.
    Places(Places),
}

/// What a link needs next.
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use]
pub(crate) enum Next {
    /// No event besides the one that is pending, if any.
    Nothing,
    /// Its own event at that time.
    Event(Time),
    /// The delivery at that time of the packet at that place of [`Flights`](crate::net::flight::Flights), which was
    /// alone on the line.
    Delivery(Time, u32),
}

/// Optional properties of a link that leave its fast path.
#[derive(Debug)]
struct Extras {
    /// When the line last became busy.
    busy_since: Time,
    handover_at_start: bool,
    /// What an idle line saves up.
    burst: Burst,
    /// Least length that a packet takes on the line, in bytes.
    mpu: u64,
    /// What is added to the delay, if that does not change.
    jitter: Jitter,
    /// The delay of packets differs, and none may overtake the one before it.
    ordered: bool,
    jitter_rng: Rng,
    /// When the last packet is delivered.
    last_due: Time,
    /// When a discipline that withholds packets has the next one, as far as it was asked. `None`: it withholds none.
    ready_at: Option<Time>,
    losses: Losses,
    loss_rng: Rng,
    lost: u64,
    /// Further impairments of the line.
    impairments: Option<Box<ImpairedLine>>,
    /// The line, if its rate or delay changes. It replaces the plain one.
    varying: Option<Line>,
}

impl Extras {
    fn new(plan: &LinkPlan, seed: u64) -> Extras {
        Extras {
            busy_since: Time::ZERO,
            handover_at_start: plan.handover_at_start,
            burst: plan.saved_up(),
            mpu: plan.mpu.as_u64(),
            jitter: plan.jitter,
            ordered: plan.delay_differs(),
            jitter_rng: Stream::Jitter.rng(seed, &plan.name),
            last_due: Time::ZERO,
            ready_at: None,
            losses: Losses::new(plan),
            loss_rng: Stream::Loss.rng(seed, &plan.name),
            lost: 0,
            impairments: plan
                .impairments
                .as_deref()
                .map(|impairments| Box::new(ImpairedLine::new(impairments, plan, seed))),
            varying: plan.varying.as_deref().map(|varying| Line::new(varying, plan.delay)),
        }
    }
    /// True if the link needs them.
    fn matters(&self) -> bool {
        let line = self.handover_at_start || self.burst != Burst::default() || self.mpu > 0 || self.varying.is_some();
        line || self.impairments.is_some() || self.ordered || self.losses.probability > Prob::ZERO
    }
}

/// One direction of a link. A delivery reads the first cache line. A packet that finds the line free reads the second,
/// too.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct SimLink {
    /// When its pending event is due. Never: there is none.
    scheduled: Time,
    /// When the line becomes or became free.
    free_at: Time,
    flight: Flight,
    /// The longest packet that passes the discipline if that is empty: see [`Qdisc::passes`]. 0: none does, or that is
    /// not known. A link with a device ring has 0.
    passing: u32,
    delay: Dur,
    /// Packets in the discipline.
    waiting: u32,
    /// The line is free, and the discipline had no packet for it.
    idle: bool,
    /// The discipline has timers of its own.
    timed: bool,
    /// The discipline emits packets at a dequeue or withholds packets, or later packets overtake earlier ones, so no
    /// dequeue may be late.
    eager: bool,
    /// There is a device ring under the discipline, the link is [watched](watch::Watch), or its limit varies. Stored
    /// here so that no other link need read another cache line for it.
    special: bool,
    arrived: u64,
    /// After this time the one link before this one may put packets on it ahead of time (see `ahead`). Never: it may
    /// not.
    ahead_from: Time,
    line: Serialisation,
    sent_bytes: u64,
    /// The link's own index, if it sends packets ahead of time; else [`NOT_AHEAD`].
    index_ahead: u32,
    /// A packet has waited here: packets arrive in bunches. If the discipline has moods, packets count as bunched.
    bunched: bool,
    /// Whether packets pass the discipline if that is empty depends on those that it had before.
    moody: bool,
    /// A dequeue of the empty discipline leaves no trace.
    skips_empty: bool,
    /// Packets wait in their places: see [`in_place`].
    in_place: bool,
    extras: Option<Box<Extras>>,
    apart: Option<Box<Apart>>,
    queue: Queue<Packet>,
    counters: Counters,
}

/// The [`index_ahead`](SimLink::index_ahead) of a link that does not send packets ahead of time.
const NOT_AHEAD: u32 = u32::MAX;

const _: () = assert!(size_of::<SimLink>() == 256, "four cache lines");

impl SimLink {
    /// The link of that plan, with its random streams.
    pub fn new(plan: &LinkPlan, framing: u32, origin: impl Into<Origin>) -> Result<SimLink, ParamError> {
        let origin = origin.into();
        let seed = origin.seed;
        let extras = Extras::new(plan, seed);
        let queue = Queue::new(plan.queue.ours()?, &context(plan, framing, &origin))?;
        let is_extra = extras.matters() || queue.ready_at().is_some();
        let mut link = SimLink {
            scheduled: Time::NEVER,
            free_at: Time::ZERO,
            flight: Flight::default(),
            passing: 0,
            delay: plan.delay,
            waiting: 0,
            idle: true,
            timed: false,
            eager: false,
            special: plan.ring.is_some(),
            arrived: 0,
            ahead_from: Time::NEVER,
            line: Serialisation::new(plan.rate),
            sent_bytes: 0,
            index_ahead: NOT_AHEAD,
            bunched: false,
            moody: false,
            skips_empty: false,
            in_place: false,
            extras: is_extra.then(|| Box::new(extras)),
            apart: plan.ring.map(|n| {
                let capacity = n as usize;
                Box::new(Apart::Device(Device { fifo: VecDeque::new(), capacity }))
            }),
            queue,
            counters: Counters {
                signals: LazySignals { seed: Stream::Queue.seed(seed, &plan.name), made: None },
                ..Counters::default()
            },
        };
        if plan.count_depths {
            link.watch().depths = Some(Depths::default());
        }
        link.cache_queue_properties();
        Ok(link)
    }
    /// Stores what does not change while the link has this discipline, which is new and empty.
    fn cache_queue_properties(&mut self) {
        self.timed = self.queue.next_timer().is_some();
        let withholds = self.queue.ready_at().is_some();
        if let Some(extras) = &mut self.extras {
            extras.ready_at = withholds.then_some(Time::NEVER);
        }
        let reorders = self.impairments().is_some_and(ImpairedLine::reorders);
        self.eager = reorders || is_punctual(&self.queue);
        self.special |= self.varying().is_some_and(Line::has_limit);
        let simple = !self.special && self.varying().is_none();
        let has_moods = !matches!(self.queue, Queue::DropTail(_));
        // A discipline with moods lets packets of any length pass, or none: it is asked again and again.
        let passes = |len: &u32| simple && self.queue.passes(if has_moods { LARGEST_PACKET } else { *len });
        self.moody = has_moods && passes(&LARGEST_PACKET);
        self.bunched |= self.moody;
        // Mostly all packets pass, or none. Else the limit is found by bisection.
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
        self.skips_empty = self.passing > 0;
        self.in_place = self.waiting == 0 && self.suits_places();
    }
    fn device(&self) -> Option<&Device> {
        match self.apart.as_deref() {
            Some(Apart::Device(device)) => Some(device),
            _ => None,
        }
    }
    fn device_mut(&mut self) -> Option<&mut Device> {
        match self.apart.as_deref_mut() {
            Some(Apart::Device(device)) => Some(device),
            _ => None,
        }
    }
    fn varying(&self) -> Option<&Line> {
        self.extras.as_ref().and_then(|extras| extras.varying.as_ref())
    }

    /// The packet at that [place](Flights::place), of that length, arrives at the queue.
    #[inline(always)]
    pub fn arrive(&mut self, now: Time, (place, len): (u32, u32), pool: &mut Pool) -> Next {
        if self.passes(now, len) {
            return self.pass(now, (place, len), pool);
        }
        match self.in_place {
            true => self.enqueue::<true>(now, (place, len), pool),
            false => self.enqueue::<false>(now, (place, len), pool),
        }
    }
    /// The packet waits, [in place](in_place) or in the discipline, unless the line became free since something waited.
    fn enqueue<const IN_PLACE: bool>(&mut self, now: Time, (place, len): (u32, u32), pool: &mut Pool) -> Next {
        self.catch_up_as::<IN_PLACE>(now, pool);
        if self.moody && self.waiting == 0 && self.queue.passes(LARGEST_PACKET) {
            self.passing = LARGEST_PACKET;
        }
        if self.passes(now, len) {
            return self.pass(now, (place, len), pool);
        }
        self.arrived += 1;
        if IN_PLACE {
            self.wait_in_place(now, (place, len), pool);
        } else {
            let packet = pool.flights.take(place);
            if self.special {
                self.enqueue_special(now, packet, pool);
            } else {
                self.put(now, packet, pool);
            }
        }
        if self.idle {
            self.occupy(now);
            self.send_until::<IN_PLACE>(now, pool);
        }
        self.counters.peak_packets = self.counters.peak_packets.max(self.waiting);
        self.bunched |= self.waiting > 0;
        if self.scheduled == Time::NEVER || self.eager { self.schedule(&pool.flights) } else { Next::Nothing }
    }
    /// The discipline takes the packet.
    #[inline(always)]
    fn put(&mut self, now: Time, packet: Packet, pool: &mut Pool) {
        let mut fate = QueueFate { now, waiting: &mut self.waiting, counters: &mut self.counters, pool };
        fate.count_arrival();
        self.queue.enqueue(now, packet, &mut fate);
        if self.moody {
            self.passing = 0;
        }
    }
    /// True if a packet of `len` bytes finds the line free and nothing waiting at `time`, and passes the discipline.
    #[inline(always)]
    fn passes(&self, time: Time, len: u32) -> bool {
        len <= self.passing && self.waiting == 0 && self.free_at <= time
    }
    /// The line takes the packet, which [passes](SimLink::passes), at once.
    #[inline(always)]
    fn pass(&mut self, now: Time, (place, len): (u32, u32), pool: &mut Pool) -> Next {
        let alone = self.is_clear(now);
        self.arrived += 1;
        self.occupy(now);
        if alone && self.is_plain() && !self.sends_ahead() {
            return self.send_alone(now, (place, len), pool);
        }
        self.transmit(now, (place, len), pool);
        if self.scheduled == Time::NEVER || self.eager { self.schedule(&pool.flights) } else { Next::Nothing }
    }
    /// True if all packets were delivered and none is likely to wait behind the next one. A packet that waits needs an
    /// event of the link, such as the delivery of a packet in its flight.
    #[inline(always)]
    fn is_clear(&self, now: Time) -> bool {
        !self.bunched && self.flight.len() == 0 && self.free_at + self.delay <= now
    }
    /// The packet is alone on the line. Its delivery is an event of its own, which does not come back to this link.
    #[inline(always)]
    fn send_alone(&mut self, start: Time, (place, len): (u32, u32), pool: &mut Pool) -> Next {
        self.sent_bytes += u64::from(len);
        let due = self.serialise(start, len);
        pool.flights.set_due(place, due);
        Next::Delivery(due, place)
    }
    /// A free line becomes busy.
    #[inline(always)]
    fn occupy(&mut self, now: Time) {
        self.idle = false;
        match &mut self.extras {
            None => self.free_at = self.free_at.max(now),
            Some(extras) => {
                extras.busy_since = now;
                match &mut extras.varying {
                    None => self.free_at = self.free_at.max(now.saturating_sub(extras.burst.time)),
                    Some(line) => self.free_at = line.ready(line.saved_since(now, self.free_at, extras.burst)),
                }
            }
        }
    }
    /// The pending event is due. Returns the place of the packet that is delivered now, if any, and what the link needs
    /// next.
    #[inline(always)]
    pub fn on_event(&mut self, now: Time, pool: &mut Pool) -> (Option<u32>, Next) {
        if now != self.scheduled {
            return (None, Next::Nothing); // an earlier event replaced it
        }
        self.scheduled = Time::NEVER;
        if self.flight.len() <= 1 || self.eager {
            self.catch_up(now, pool);
        }
        let delivered = pool.flights.pop(&mut self.flight, now).or_else(|| self.pop_held_back(now, pool));
        (delivered, self.schedule(&pool.flights))
    }
    /// The next event, unless one as early is pending.
    #[inline(always)]
    fn schedule(&mut self, flights: &Flights<Packet>) -> Next {
        let mut next = flights.due(&self.flight);
        if (next == Time::NEVER || self.eager) && self.is_backlogged() {
            next = next.min(self.next_dequeue());
        }
        if let Some(extras) = &self.extras
            && let Some(impairments) = &extras.impairments
        {
            next = next.min(flights.due(&impairments.held_back));
        }
        if next >= self.scheduled {
            return Next::Nothing;
        }
        self.scheduled = next;
        Next::Event(next)
    }
    /// Packets in the discipline, or in its stead in their places.
    #[inline(always)]
    pub fn waiting(&self) -> u32 {
        self.waiting
    }
    /// The packets in flight.
    #[inline(always)]
    pub fn flight(&self) -> &Flight {
        &self.flight
    }
    #[inline(always)]
    fn is_backlogged(&self) -> bool {
        self.waiting > 0 || (self.special && self.device().is_some_and(|d| !d.fifo.is_empty()))
    }

    /// Carries out what is due in the queue by `now`: dequeues and the discipline's timers.
    #[inline]
    pub fn catch_up(&mut self, now: Time, pool: &mut Pool) {
        match self.in_place {
            true => self.catch_up_as::<true>(now, pool),
            false => self.catch_up_as::<false>(now, pool),
        }
    }
    #[inline(always)]
    fn catch_up_as<const IN_PLACE: bool>(&mut self, now: Time, pool: &mut Pool) {
        self.send_until::<IN_PLACE>(now, pool);
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
    /// Carries out the dequeues up to `now`: one at each instant at which the line became free.
    #[inline(always)]
    fn send_until<const IN_PLACE: bool>(&mut self, now: Time, pool: &mut Pool) {
        if self.skips_empty && self.waiting == 0 {
            self.idle |= self.free_at <= now;
        } else {
            self.drain_until::<IN_PLACE>(now, pool);
        }
    }
    fn drain_until<const IN_PLACE: bool>(&mut self, now: Time, pool: &mut Pool) {
        if !IN_PLACE && self.eager {
            self.release_until(now, pool);
        }
        self.transmit_until::<IN_PLACE>(now, pool);
    }
    /// The line takes packets up to `now`.
    #[inline(always)]
    fn transmit_until<const IN_PLACE: bool>(&mut self, now: Time, pool: &mut Pool) {
        while !self.idle && self.free_at <= now {
            if self.skips_empty && self.waiting == 0 {
                self.idle = true;
                return;
            }
            let start = self.extras.as_ref().map_or(self.free_at, |extras| self.free_at.max(extras.busy_since));
            self.run_timers(start);
            match self.next_packet::<IN_PLACE>(start, pool) {
                Some(next) => self.transmit(start, next, pool),
                None => self.idle = true,
            }
        }
    }
    /// Removes the packet that the line takes at `start`. Returns its place and its length.
    #[inline(always)]
    fn next_packet<const IN_PLACE: bool>(&mut self, start: Time, pool: &mut Pool) -> Option<(u32, u32)> {
        if IN_PLACE {
            return self.next_in_place(start, pool);
        }
        let packet = if self.special { self.next_packet_special(start, pool) } else { self.dequeue(start, pool) }?;
        let len = packet.header.len;
        Some((pool.flights.place(Time::NEVER, packet), len))
    }
    #[inline(always)]
    fn dequeue(&mut self, now: Time, pool: &mut Pool) -> Option<Packet> {
        let mut fate = QueueFate { now, waiting: &mut self.waiting, counters: &mut self.counters, pool };
        let Some(packet) = self.queue.dequeue(now, &mut fate) else {
            if self.eager {
                self.note_ready();
            }
            return None;
        };
        fate.count_departure();
        Some(packet)
    }
    #[inline(always)]
    fn transmit(&mut self, start: Time, (place, len): (u32, u32), pool: &mut Pool) {
        self.sent_bytes += u64::from(len);
        if self.extras.is_some() {
            return self.transmit_slow_path(start, (place, len), pool);
        }
        pool.flights.set_due(place, self.serialise(start, len));
        if self.sends_ahead() {
            pool.ahead.push(Ahead { from: self.index_ahead, place });
        } else {
            pool.flights.join(&mut self.flight, place);
        }
    }
    /// The line takes the packet. Returns the time of its delivery.
    #[inline(always)]
    fn serialise(&mut self, start: Time, len: u32) -> Time {
        self.free_at += self.line.next(Bytes::new(u64::from(len)));
        self.free_at.max(start) + self.delay
    }
    fn transmit_slow_path(&mut self, start: Time, (place, len): (u32, u32), pool: &mut Pool) {
        let Some(extras) = &mut self.extras else { return };
        let bytes = Bytes::new(u64::from(len).max(extras.mpu));
        let (end, delay) = match &mut extras.varying {
            None => {
                self.free_at += self.line.next(bytes);
                (self.free_at, self.delay)
            }
            Some(line) => {
                let end = line.send(self.free_at, bytes);
                self.free_at = line.ready(end);
                let leaves = if extras.handover_at_start { start } else { end };
                // A packet that the line never carries is never delivered.
                (end, line.delay(leaves).min(Time::NEVER.since(leaves)))
            }
        };
        let leaves = if extras.handover_at_start { start } else { end.max(start) };
        let mut due = leaves + delay;
        if extras.losses.take([start, leaves, due], &mut extras.loss_rng) {
            extras.lost += 1;
            let packet = pool.flights.take(place);
            pool.give(&packet);
            return;
        }
        let mut overtaken = false;
        if extras.ordered {
            let line = extras.varying.as_ref();
            let jitter = line.and_then(|line| line.jitter(leaves)).unwrap_or(extras.jitter);
            due = due.checked_add(jitter.draw(&mut extras.jitter_rng)).unwrap_or(Time::NEVER);
            overtaken = extras.impairments.as_ref().is_some_and(|impairments| impairments.overtake)
                && (!jitter.is_zero() || line.is_some_and(|line| line.is_overtaken(leaves, due)));
        }
        if extras.ordered && !overtaken {
            extras.last_due = extras.last_due.max(due);
            due = extras.last_due;
        }
        pool.flights.set_due(place, due);
        match &mut extras.impairments {
            None => pool.flights.join(&mut self.flight, place),
            Some(impairments) => impairments.launch(&mut self.flight, place, overtaken, pool),
        }
    }
    /// The discipline, to change it.
    pub fn queue_mut(&mut self) -> &mut Queue<Packet> {
        &mut self.queue
    }
    pub fn queue(&self) -> &Queue<Packet> {
        &self.queue
    }
}

#[cfg(test)]
mod tests;
