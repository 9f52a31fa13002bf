//! Wi-Fi: an access point and its stations share the airtime of one channel.
//! Model: senders are the access point and each station with packets. A sender waits AIFS and a backoff of U(0, CW)
//! slots on a free channel. The one that ends first sends an aggregate to one receiver. Two that end in the same slot
//! collide: both fail and double CW. The receiver answers after SIFS with a block acknowledgement. Packets that failed
//! are sent again; the receiver gives packets out in order.
//!
//! ```text
//!   free: AIFS + backoff ──> preamble + 8 L / rate ──> SIFS + block ack ──> packets leave
//!   L = sum of (length + 28 B),  at most `aggregate_bytes`, 8 L / rate at most `aggregate`, at most 64 outstanding
//!
//!              +-- airtime, round_robin: a discipline for each station --+
//!   arrival ───┤                                                         ├─> 2 aggregates ready ──> channel
//!              +-- driver: one discipline ──> buffers of the stations ───+
//!   station ──────────────── its own discipline ───────────────────────────> 2 aggregates ready ──> channel
//! ```
//!
//! Units: time ns, packets bytes. Cost: O(stations) an aggregate, O(1) a packet beyond that of the inner discipline.

use crate::hashed::{Queues, Turns};
use crate::stations::{Hosts, RateStep, Rates};
use crate::{
    Backlog, Bound, DropReason, Fate, LinkContext, Pkt, Qdisc, Queue, QueueParams, Store, codel, drop_tail, fq_codel,
};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use haltere_units::{Bytes, Dur, ParamError, Prob, Probe, Rate, Size, Time};

/// IEEE 802.11-2016, OFDM at 5 GHz (table 17-21); AIFS and windows are those of best effort (table 9-137).
const SLOT: Dur = Dur::from_us(9);
const SIFS: Dur = Dur::from_us(16);
const AIFS: Dur = Dur::from_us(43);
const CW_MIN: u32 = 15;
const CW_MAX: u32 = 1023;
/// HT-mixed preamble and header of two streams (section 19.3.9): 8 + 8 + 4 + 8 + 4 + 2 * 4 us, less a guard interval.
const PREAMBLE: Dur = Dur::from_us(36);
/// A block acknowledgement, 32 bytes at 24 Mbit/s: 20 us, and 3 symbols of 4 us.
const BLOCK_ACK: Dur = Dur::from_us(32);
/// What a packet has on the channel beyond its length: delimiter 4, MAC header 26, LLC 8, checksum 4, less the 14 bytes
/// of an Ethernet header, which the channel does not carry.
const OVERHEAD: u64 = 28;
/// Packets that a receiver may lack while later ones arrive (block acknowledgement window).
const WINDOW: u64 = 64;
/// Aggregates that the hardware has at a time, and packets that the driver buffers (Linux's `ath9k`).
const HARDWARE: usize = 2;
const DRIVER: u32 = 123;
/// Sent again so often before it is dropped (dot11LongRetryLimit counts 7 transmissions).
const TRIES: u32 = 7;

haltere_units::params! {
    /// The channel of a Wi-Fi network: the access point and its stations contend for airtime and send aggregates.
    ///
    /// It holds packets back until their transmission ends. The link has no rate of its own. Packets to a station wait
    /// at the access point, packets of a station at that station.
    ///
    /// Source: IEEE 802.11-2016 (EDCA, A-MPDU); T. Høiland-Jørgensen et al., "Ending the Anomaly: Achieving Low Latency
    /// and Airtime Fairness in WiFi", USENIX ATC 2017 (queues, scheduler, two aggregates in hardware).
    ///
    /// Deviations: OFDM symbols are not rounded up. All senders hear each other. A collision loses every packet in it.
    /// A rate is given, not found: there is no rate control. A block acknowledgement is never lost. Packets of all
    /// access categories are best effort.
    ///
    /// Known problems: none.
    pub struct Params {
        /// The stations. Left out: one, with its default rate, for the packets of all hosts.
        pub stations: Vec<Station> = Vec::new();
        /// Who is served next at the access point.
        pub scheduler: Scheduler = Scheduler::Airtime;
        /// Discipline at the access point: for each station, or with `driver` in front of all. Left out: `fq_codel`
        /// with a target of 20 ms and 8192 packets, as in Linux's mac80211; with `driver` 1000 packets first in, first
        /// out.
        pub queue: Option<Box<QueueParams>> = None;
        /// Discipline at each station. Left out: 1000 packets first in, first out.
        pub uplink: Option<Box<QueueParams>> = None;
        /// Packet or byte limit of all waiting packets, those at the stations included, above 0. Left out: only the
        /// disciplines' own limits count.
        pub limit: Option<Size> = None;
        /// The longest transmission of an aggregate, above 0. The default is Linux's for `ath9k`.
        pub aggregate: Dur = Dur::from_ms(4), [above 0];
        /// Bytes of an aggregate at most, above 0. The default is that of 802.11n; 802.11ac has up to 1 MB.
        pub aggregate_bytes: Bytes = Bytes::new(65_535), [above 0];
        /// Packets of an aggregate, from 1 to 64. 1: no aggregation.
        pub aggregate_packets: u32 = 64, [from 1 to 64];
        /// True: an aggregate takes packets until its transmission starts, as in ns-3 and in hardware that forms aggregates
        /// itself. False: it is complete once the driver passes it on, as with Linux's `ath9k`. The first packets that
        /// find an idle sender then leave alone.
        pub late: bool = false;
        /// Airtime that a station may have in its turn with `airtime`, above 0.
        pub quantum: Dur = Dur::from_us(300), [above 0];
    }
    /// A station of a Wi-Fi network.
    #[schemars(rename = "WifiStation")]
    pub struct Station {
        /// The number of its host, which is the lower half of its IPv4 address. The topology `wireless` fills it in. Left
        /// out: the packets of all hosts.
        pub host: Option<u16> = None;
        /// The rate of data in both directions, above 0. The default is that of 802.11n with two streams and 20 MHz
        /// (MCS 15).
        pub rate: Rate = Rate::from_bps(144_400_000), [above 0];
        /// Other rates from certain times on: tables, or a CSV file with the columns `time` and `rate`.
        #[schemars(schema_with = "crate::stations::steps_schema")]
        pub steps: Vec<RateStep> = Vec::new();
        /// Probability that a packet of an aggregate must be sent again.
        pub error: Prob = Prob::ZERO;
    }
    /// Who is served next at an access point.
    #[schemars(rename = "WifiScheduler")]
    pub enum Scheduler {
        /// The station with airtime left, in turn: deficit round robin by the airtime of both directions.
        Airtime,
        /// The next station in turn, one aggregate each.
        RoundRobin,
        /// One discipline is in front of buffers in the driver, of 123 packets together. The stations that have packets
        /// there are served in turn.
        Driver,
    }
}

impl Params {
    fn discipline(&self) -> QueueParams {
        match (&self.queue, self.scheduler) {
            (Some(queue), _) => QueueParams::clone(queue),
            (None, Scheduler::Driver) => QueueParams::DropTail(drop_tail::Params::default()),
            (None, _) => QueueParams::FqCodel(fq_codel::Params {
                queues: Queues { limit: Size::Packets(8192), ..Queues::default() },
                law: codel::Law { target: Dur::from_ms(20), ..codel::Law::default() },
                ..fq_codel::Params::default()
            }),
        }
    }
}

/// A packet that left its queue.
#[derive(Debug, Clone)]
struct Frame<P> {
    seq: u64,
    tries: u32,
    pkt: P,
}

#[derive(Debug, Clone)]
struct Aggregate<P> {
    lane: usize,
    frames: VecDeque<Frame<P>>,
    /// From its preamble to the end of the acknowledgement.
    airtime: Dur,
}

/// The packets to a station, or those from it.
#[derive(Debug, Clone)]
struct Lane<P> {
    /// `None`: its packets wait in front of the driver.
    queue: Option<Queue<P>>,
    /// The driver's buffer, and a packet that did not fit into the last aggregate.
    buffer: Store<P>,
    /// To be sent again, before all others.
    again: VecDeque<Frame<P>>,
    next_seq: u64,
    /// When the last aggregate was begun.
    turn_at: Time,
    /// The packet that the receiver gives out next, and those that came before it. `None`: it was dropped.
    expected: u64,
    early: BTreeMap<u64, Option<P>>,
    /// It is in the list of turns.
    listed: bool,
}

impl<P: Pkt> Lane<P> {
    fn new(queue: Option<Queue<P>>) -> Lane<P> {
        Lane {
            queue,
            buffer: Store::unbounded(),
            again: VecDeque::new(),
            next_seq: 0,
            turn_at: Time::ZERO,
            expected: 0,
            early: BTreeMap::new(),
            listed: false,
        }
    }
    fn has_packets(&self) -> bool {
        let waits = self.queue.as_ref().is_some_and(|queue| queue.backlog().packets > 0);
        waits || !self.again.is_empty() || !self.buffer.is_empty()
    }
    /// The receiver has the packet of that number, or will never have it. Gives out what is in order.
    fn receive(&mut self, seq: u64, pkt: Option<P>, out: &mut VecDeque<P>) {
        self.early.insert(seq, pkt);
        while let Some(pkt) = self.early.remove(&self.expected) {
            self.expected += 1;
            out.extend(pkt);
        }
    }
}

/// The access point, or a station.
#[derive(Debug, Clone)]
struct Sender<P> {
    hardware: VecDeque<Aggregate<P>>,
    /// Slots that it still waits on a free channel.
    backoff: u32,
    window: u32,
    /// When the hardware got something to send.
    ready: Time,
}

impl<P> Sender<P> {
    /// When it sends, if the channel stays free.
    fn start(&self, free_since: Time) -> Time {
        if self.hardware.is_empty() {
            return Time::NEVER;
        }
        self.ready.max(free_since + AIFS + SLOT * u64::from(self.backoff))
    }
}

/// What is on the channel.
#[derive(Debug, Clone)]
struct OnAir {
    until: Time,
    senders: Vec<usize>,
}

/// A Wi-Fi channel. Lane `i` leads to station `i`, lane `stations + i` away from it. Sender 0 is the access point.
#[derive(Debug, Clone)]
pub struct Wifi<P> {
    params: Params,
    bound: Bound,
    hosts: Hosts,
    rates: Vec<Rates>,
    errors: Vec<f64>,
    /// In front of the driver's buffers.
    front: Option<Queue<P>>,
    lanes: Vec<Lane<P>>,
    senders: Vec<Sender<P>>,
    turns: Turns,
    /// Airtime that each station has left, in ns.
    deficits: Vec<i64>,
    on_air: Option<OnAir>,
    free_since: Time,
    /// Packets that leave now.
    out: VecDeque<P>,
    /// Packets that left their queues and are not out.
    taken: Backlog,
    buffered: u32,
    /// The airtime and the packets of each lane, and of collisions.
    airtimes: Vec<Dur>,
    aggregates: u64,
    aggregated: u64,
    collisions: u64,
}

impl<P: Pkt> Wifi<P> {
    /// A channel of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        params.check()?;
        let stations =
            if params.stations.is_empty() { alloc::vec![Station::default()] } else { params.stations.clone() };
        for station in &stations {
            station.check()?;
            if let Some(step) = station.steps.iter().find(|step| step.rate == Rate::ZERO) {
                return Err(ParamError::new("rate", "above 0", step.rate));
            }
        }
        let inside = LinkContext { rate: stations.iter().map(|station| station.rate).max(), ..link.clone() };
        let (driver, discipline) = (params.scheduler == Scheduler::Driver, params.discipline());
        let tail = QueueParams::DropTail(drop_tail::Params::default());
        let uplink = params.uplink.as_deref().unwrap_or(&tail);
        let queue = || Queue::inside("queue", &discipline, &inside);
        let mut lanes = Vec::new();
        for _ in &stations {
            lanes.push(Lane::new(if driver { None } else { Some(queue()?) }));
        }
        for _ in &stations {
            lanes.push(Lane::new(Some(Queue::inside("uplink", uplink, &inside)?)));
        }
        let sender = |_| Sender { hardware: VecDeque::new(), backoff: 0, window: CW_MIN, ready: Time::ZERO };
        let rates = stations.iter().map(|station| Rates::new(station.rate, &station.steps, None));
        Ok(Wifi {
            bound: Bound::optional(params.limit, link)?,
            hosts: Hosts::new(stations.iter().map(|station| station.host).collect())?,
            rates: rates.collect::<Result<_, _>>()?,
            errors: stations.iter().map(|station| station.error.as_f64()).collect(),
            front: if driver { Some(queue()?) } else { None },
            airtimes: alloc::vec![Dur::ZERO; lanes.len()],
            lanes,
            senders: (0..=stations.len()).map(sender).collect(),
            turns: Turns::default(),
            deficits: alloc::vec![0; stations.len()],
            on_air: None,
            free_since: Time::ZERO,
            out: VecDeque::new(),
            taken: Backlog::default(),
            buffered: 0,
            aggregates: 0,
            aggregated: 0,
            collisions: 0,
            params: params.clone(),
        })
    }
    fn stations(&self) -> usize {
        self.rates.len()
    }
    fn sender_of(&self, lane: usize) -> usize {
        (lane + 1).saturating_sub(self.stations())
    }
    fn queues(&self) -> impl Iterator<Item = &Queue<P>> {
        self.front.iter().chain(self.lanes.iter().filter_map(|lane| lane.queue.as_ref()))
    }
    fn queues_mut(&mut self) -> impl Iterator<Item = &mut Queue<P>> {
        self.front.iter_mut().chain(self.lanes.iter_mut().filter_map(|lane| lane.queue.as_mut()))
    }

    /// When something happens on the channel next.
    fn next_event(&self) -> Time {
        match &self.on_air {
            Some(on_air) => on_air.until,
            None => self.senders.iter().map(|sender| sender.start(self.free_since)).min().unwrap_or(Time::NEVER),
        }
    }
    /// What happens on the channel up to `now`.
    fn advance(&mut self, now: Time, fate: &mut impl Fate<P>) {
        loop {
            let at = self.next_event();
            if at > now {
                return;
            }
            match self.on_air.take() {
                Some(on_air) => self.settle(on_air, fate),
                None => self.start(at),
            }
        }
    }
    /// The backoff of one sender ends, or of several.
    fn start(&mut self, at: Time) {
        let slots = at.since(self.free_since + AIFS).as_ns() / SLOT.as_ns();
        let mut on_air = OnAir { until: at, senders: Vec::new() };
        for (i, sender) in self.senders.iter_mut().enumerate() {
            if sender.start(self.free_since) == at {
                let airtime = sender.hardware.front().map_or(Dur::ZERO, |aggregate| aggregate.airtime);
                on_air.until = on_air.until.max(at + airtime);
                on_air.senders.push(i);
            } else {
                sender.backoff = sender.backoff.saturating_sub(slots as u32);
            }
        }
        self.on_air = Some(on_air);
    }
    /// A transmission ends.
    fn settle(&mut self, on_air: OnAir, fate: &mut impl Fate<P>) {
        let OnAir { until, senders } = on_air;
        let collided = senders.len() > 1;
        self.free_since = until;
        self.collisions += u64::from(collided);
        for i in senders {
            let sender = &mut self.senders[i];
            let Some(aggregate) = sender.hardware.pop_front() else { continue };
            sender.window = if collided { (2 * sender.window + 1).min(CW_MAX) } else { CW_MIN };
            sender.backoff = fate.below(sender.window + 1);
            sender.ready = until;
            self.receive(aggregate, collided, fate);
            self.fill(i, until, fate);
        }
    }
    fn receive(&mut self, aggregate: Aggregate<P>, collided: bool, fate: &mut impl Fate<P>) {
        let Aggregate { lane: id, frames, airtime } = aggregate;
        let station = id % self.stations();
        let error = if collided { 1.0 } else { self.errors[station] };
        self.deficits[station] -= airtime.as_ns() as i64;
        self.airtimes[id] += airtime;
        (self.aggregates, self.aggregated) = (self.aggregates + 1, self.aggregated + frames.len() as u64);
        let lane = &mut self.lanes[id];
        for mut frame in frames {
            if error == 0.0 || (error < 1.0 && fate.uniform() >= error) {
                lane.receive(frame.seq, Some(frame.pkt), &mut self.out);
            } else if frame.tries < TRIES {
                frame.tries += 1;
                let place = lane.again.partition_point(|other| other.seq < frame.seq);
                lane.again.insert(place, frame);
            } else {
                lane.receive(frame.seq, None, &mut self.out);
                self.taken.remove(frame.pkt.len());
                // The limit is that of its transmissions.
                fate.dropped(frame.pkt, DropReason::Overlimit);
            }
        }
        self.list(id);
    }

    /// A lane of the access point with packets gets its turns.
    fn list(&mut self, id: usize) {
        if id < self.stations() && !self.lanes[id].listed && self.lanes[id].has_packets() {
            self.lanes[id].listed = true;
            self.turns.new.push_back(id as u32);
        }
    }
    /// The hardware of that sender gets aggregates while it has room.
    fn fill(&mut self, sender: usize, now: Time, fate: &mut impl Fate<P>) {
        self.top_up(sender, now, fate);
        while self.senders[sender].hardware.len() < HARDWARE {
            let next = match sender.checked_sub(1) {
                None => self.next_of_access_point(now, fate),
                Some(station) => self.build(self.stations() + station, VecDeque::new(), now, fate),
            };
            let Some(aggregate) = next else { return };
            let sender = &mut self.senders[sender];
            if sender.hardware.is_empty() {
                sender.ready = now;
            }
            sender.hardware.push_back(aggregate);
        }
    }
    /// With `late` the last aggregate of that sender takes more packets unless it is on the channel.
    fn top_up(&mut self, sender: usize, now: Time, fate: &mut impl Fate<P>) {
        if !self.params.late {
            return;
        }
        let on_air = self.on_air.as_ref().is_some_and(|on_air| on_air.senders.contains(&sender));
        let hardware = &mut self.senders[sender].hardware;
        if hardware.len() > usize::from(on_air)
            && let Some(Aggregate { lane, frames, .. }) = hardware.pop_back()
            && let Some(aggregate) = self.build(lane, frames, now, fate)
        {
            self.senders[sender].hardware.push_back(aggregate);
        }
    }
    /// ATC 2017, algorithm 3: the station whose turn it is and that has airtime left.
    fn next_of_access_point(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<Aggregate<P>> {
        loop {
            self.feed_driver(now, fate);
            let id = self.turns.front()? as usize;
            if self.params.scheduler == Scheduler::Airtime && self.deficits[id] <= 0 {
                self.deficits[id] += self.params.quantum.as_ns() as i64;
                self.turns.rotate();
                continue;
            }
            if let Some(aggregate) = self.build(id, VecDeque::new(), now, fate) {
                if self.params.scheduler != Scheduler::Airtime {
                    self.turns.rotate();
                }
                return Some(aggregate);
            }
            self.lanes[id].listed = !self.turns.found_empty();
        }
    }
    /// The driver takes packets from the discipline in front of it while it has room.
    fn feed_driver(&mut self, now: Time, fate: &mut impl Fate<P>) {
        while self.buffered < DRIVER
            && let Some(pkt) = self.front.as_mut().and_then(|front| front.dequeue(now, fate))
        {
            let (id, _) = self.hosts.station_of(&pkt);
            self.buffered += 1;
            self.taken.add(pkt.len());
            self.lanes[id].buffer.append(now, pkt);
            self.list(id);
        }
    }
    /// An aggregate of these packets of that lane and of those that wait there.
    fn build(
        &mut self,
        id: usize,
        mut frames: VecDeque<Frame<P>>,
        now: Time,
        fate: &mut impl Fate<P>,
    ) -> Option<Aggregate<P>> {
        let rate = self.rates[id % self.stations()].at(now);
        let mut bytes = frames.iter().map(|frame| u64::from(frame.pkt.len()) + OVERHEAD).sum();
        let params = &self.params;
        let fits = |bytes: u64, count: usize| {
            let bytes = Bytes::new(bytes);
            let limits = bytes <= params.aggregate_bytes && rate.time_for(bytes) <= params.aggregate;
            count == 0 || limits && (count as u32) < params.aggregate_packets
        };
        let begins = frames.is_empty();
        let lane = &mut self.lanes[id];
        if begins && let Some(queue) = &mut lane.queue {
            queue.on_turn(now.since(lane.turn_at));
        }
        loop {
            let lane = &mut self.lanes[id];
            if let Some(frame) = lane.again.front() {
                let more = bytes + u64::from(frame.pkt.len()) + OVERHEAD;
                if !fits(more, frames.len()) {
                    break;
                }
                bytes = more;
                frames.extend(lane.again.pop_front());
                continue;
            }
            if lane.next_seq >= lane.expected + WINDOW {
                break;
            }
            if lane.buffer.is_empty()
                && let Some(pkt) = lane.queue.as_mut().and_then(|queue| queue.dequeue(now, fate))
            {
                self.taken.add(pkt.len());
                lane.buffer.append(now, pkt);
            }
            let Some(pkt) = lane.buffer.get(0) else { break };
            let more = bytes + u64::from(pkt.len()) + OVERHEAD;
            if !fits(more, frames.len()) {
                break;
            }
            bytes = more;
            if let Some((_, pkt)) = lane.buffer.pop() {
                self.buffered -= u32::from(lane.queue.is_none());
                frames.push_back(Frame { seq: lane.next_seq, tries: 1, pkt });
                lane.next_seq += 1;
            }
        }
        if begins && !frames.is_empty() {
            self.lanes[id].turn_at = now;
        }
        let airtime = PREAMBLE + rate.time_for(Bytes::new(bytes)) + SIFS + BLOCK_ACK;
        (!frames.is_empty()).then_some(Aggregate { lane: id, frames, airtime })
    }
}

impl<P: Pkt> Qdisc<P> for Wifi<P> {
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        self.advance(now, fate);
        if !self.bound.fits(self.backlog(), pkt.len()) {
            return fate.dropped(pkt, DropReason::Overlimit);
        }
        let (station, up) = self.hosts.station_of(&pkt);
        let id = if up { self.stations() + station } else { station };
        match (&mut self.lanes[id].queue, &mut self.front) {
            (Some(queue), _) | (None, Some(queue)) => queue.enqueue(now, pkt, fate),
            (None, None) => fate.dropped(pkt, DropReason::Overlimit),
        }
        self.list(id);
        self.fill(self.sender_of(id), now, fate);
        self.advance(now, fate);
    }
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        self.advance(now, fate);
        let pkt = self.out.pop_front()?;
        self.taken.remove(pkt.len());
        Some(pkt)
    }
    fn backlog(&self) -> Backlog {
        self.queues().map(Qdisc::backlog).sum::<Backlog>() + self.taken
    }
    fn ready_at(&self) -> Option<Time> {
        Some(if self.out.is_empty() { self.next_event() } else { Time::ZERO })
    }
    crate::classes::inner_calls!(this => this.queues(), this.queues_mut());
    fn keeps_flow_order(&self) -> bool {
        self.queues().all(Qdisc::keeps_flow_order)
    }
    fn probe(&self, row: &mut Probe) {
        let mean = if self.aggregates > 0 { self.aggregated as f64 / self.aggregates as f64 } else { 0.0 };
        row.push("aggregate_packets", "", mean);
        row.push("airtime_down", "s", self.airtimes[..self.stations()].iter().map(|time| time.as_secs_f64()).sum());
        row.push("airtime_up", "s", self.airtimes[self.stations()..].iter().map(|time| time.as_secs_f64()).sum());
        row.push("collisions", "", self.collisions as f64);
    }
}

#[cfg(test)]
mod tests;
