//! Cell: a base station that serves its users in slots, each with a queue of its own.
//! Model: a slot lasts a millisecond. In each slot the scheduler gives the bandwidth to the user with the largest
//! r / R, the rate that the channel offers over the mean rate that the user had (proportional fairness). What it does
//! not need goes to the next. A transport block fails with probability `error` and comes again 8 ms later (HARQ), before
//! anything new. After four failures RLC sends it again. Packets leave in order, each with its last block.
//!
//! ```text
//!   R <- (1 - 1/W) R + (1/W) served        each slot, W = `memory` / slot
//!   fading: r = rate log2(1 + snr |h|^2) / log2(1 + snr),  h' = rho h + sqrt(1 - rho^2) n,  n ~ CN(0, 1)
//!           rho = J0(2 pi f_D slot),  f_D the Doppler frequency
//!
//!   arrival -> queue of the user -> slot: r bytes as a block -+-> in order of blocks -> leaves
//!                                     ^--- 8 ms: HARQ --------+ error
//! ```
//!
//! Units: time ns, blocks bytes. Cost: O(users with packets) a slot, O(1) a packet.

use crate::stations::{Hosts, RateStep, Rates};
use crate::{Backlog, Bound, DropReason, Fate, LinkContext, Pkt, Qdisc, Queue, QueueParams, drop_tail};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use haltere_units::{Dur, ParamError, Prob, Probe, Rate, Size, Time};

/// An LTE subframe (TS 36.211 section 4), and the round trip of HARQ, eight of them (TS 36.213, FDD).
const SLOT: Dur = Dur::from_ms(1);
const HARQ: u64 = 8;
/// Transmissions of a block by HARQ (TS 36.321: `maxHARQ-Tx`, usually 4), and slots until RLC sends it again, the time
/// of a status report (TS 36.322, `t-StatusProhibit`, 35 ms, and HARQ's round trip).
const HARQ_TRIES: u32 = 4;
const RLC: u64 = 43;
/// A user gets at least this part of the bandwidth: a resource block of 100, as a band of 20 MHz has.
const LEAST_SHARE: f64 = 0.01;

haltere_units::params! {
    /// A cell of a mobile network: users share slots of 1 ms by proportional fairness, and failed blocks are sent
    /// again.
    ///
    /// It holds packets back until their last block has arrived. The link has no rate of its own. One direction of a
    /// cell is one link.
    ///
    /// Source: 3GPP TS 36.211, 36.213, 36.321, 36.322 (slots, HARQ, RLC acknowledged mode); A. Jalali, R. Padovani, R.
    /// Pankaj, "Data throughput of CDMA-HDR", VTC 2000 (proportional fairness); W. Jakes, "Microwave Mobile
    /// Communications", 1974 (fading).
    ///
    /// Deviations: a user gets a part of the bandwidth that need not be a whole number of resource blocks. All of the
    /// bandwidth has one fading. Each transmission of a block fails with the same probability, without a gain by
    /// combining. Coded rates are not rounded.
    ///
    /// Known problems: none.
    pub struct Params {
        /// The users. Left out: one, with its default rate, for the packets of all hosts.
        pub users: Vec<User> = Vec::new();
        /// Discipline of each user's queue. Left out: 1000 packets first in, first out, a deep queue as base stations
        /// have.
        pub queue: Option<Box<QueueParams>> = None;
        /// Packet or byte limit of all waiting packets, above 0. Left out: only the queues' own limits count.
        pub limit: Option<Size> = None;
        /// Over how long the scheduler takes the mean rate, at least 1 ms. 100 slots is common.
        pub memory: Dur = Dur::from_ms(100);
        /// Probability that a block must be sent again, below 1. Link adaptation aims at 10 %.
        pub error: Prob = Prob::of(0.1);
        /// How long a packet waits for a grant that finds its queue empty: 0 in the direction to the users. Uplink:
        /// scheduling request and grant, about 8 ms.
        pub grant: Dur = Dur::ZERO;
    }
    /// A user of a cell.
    #[schemars(rename = "CellUser")]
    pub struct User {
        /// The number of its host, which is the lower half of its IPv4 address. The topology `wireless` fills it in. Left
        /// out: the packets of all hosts.
        pub host: Option<u16> = None;
        /// What the user would get alone, without fading, above 0.
        pub rate: Rate = Rate::from_mbps(20), [above 0];
        /// Other rates from certain times on: tables, or a CSV file with the columns `time` and `rate`. 0: out of reach.
        #[schemars(schema_with = "crate::stations::steps_schema")]
        pub steps: Vec<RateStep> = Vec::new();
        /// The steps begin again after so long. Left out: the last one holds.
        pub repeat: Option<Dur> = None;
        /// Rayleigh fading by motion: the Doppler frequency in Hz, up to 500. 5 Hz is walking (3 km/h at 1.8 GHz), 80
        /// Hz driving. 0: no fading.
        pub doppler: f64 = 0.0, [from 0 to 500];
        /// Mean signal to noise ratio in dB with fading, from -20 to 50.
        pub snr: f64 = 15.0, [from -20 to 50];
    }
}

/// Rayleigh fading of one user: h is a complex Gaussian of variance 1 with the correlation of Jakes' model over a slot.
#[derive(Debug, Clone)]
struct Fading {
    rho: f64,
    snr: f64,
    h: [f64; 2],
    slot: u64,
}

impl Fading {
    fn new(user: &User) -> Option<Fading> {
        let angle = 2.0 * core::f64::consts::PI * user.doppler * SLOT.as_secs_f64();
        let snr = libm::pow(10.0, user.snr / 10.0);
        (user.doppler > 0.0).then(|| Fading { rho: libm::j0(angle), snr, h: [0.0; 2], slot: u64::MAX })
    }
    /// The part of the rate that the channel offers in that slot.
    fn gain<P>(&mut self, slot: u64, fate: &mut impl Fate<P>) -> f64 {
        if slot != self.slot {
            // Over k slots the correlation is rho^k; the first value is drawn without a past.
            let rho = match self.slot {
                u64::MAX => 0.0,
                before => libm::pow(self.rho, (slot - before) as f64),
            };
            let fresh = libm::sqrt((1.0 - rho * rho) / 2.0);
            let radius = libm::sqrt(-2.0 * libm::log(1.0 - fate.uniform()));
            let angle = 2.0 * core::f64::consts::PI * fate.uniform();
            let noise = [radius * libm::cos(angle), radius * libm::sin(angle)];
            self.h = [0, 1].map(|i| rho * self.h[i] + fresh * noise[i]);
            self.slot = slot;
        }
        let power = self.h[0] * self.h[0] + self.h[1] * self.h[1];
        libm::log2(1.0 + self.snr * power) / libm::log2(1.0 + self.snr)
    }
}

/// A transport block.
#[derive(Debug, Clone, Copy)]
struct Block {
    bytes: f64,
    tries: u32,
    /// The slot in which it may be sent again. `None`: it has arrived.
    again: Option<u64>,
}

/// A user, its queue and its blocks.
#[derive(Debug, Clone)]
struct Bearer<P> {
    queue: Queue<P>,
    rates: Rates,
    fading: Option<Fading>,
    /// The packet of which the last block had a part, and the bytes that are left of it.
    head: Option<P>,
    left: f64,
    /// Blocks from the first that has not arrived on; its number.
    blocks: VecDeque<Block>,
    first: u64,
    /// Packets that were sent, each with the number of its last block.
    sent: VecDeque<(u64, P)>,
    /// Its packets may be sent from this slot on.
    granted: u64,
    /// The mean rate, in bytes a slot.
    mean: f64,
    mean_at: u64,
    /// What it may send in this slot, in bytes.
    offered: f64,
}

impl<P: Pkt> Bearer<P> {
    fn has_packets(&self) -> bool {
        self.head.is_some() || self.queue.backlog().packets > 0
    }
    /// The next slot in which something is to be sent, at `slot` or later.
    fn next_slot(&self, slot: u64) -> Option<u64> {
        let again = self.blocks.iter().filter_map(|block| block.again).min();
        let fresh = self.has_packets().then_some(self.granted);
        [again, fresh].into_iter().flatten().min().map(|next| next.max(slot))
    }
    /// The mean rate just before that slot.
    fn mean_before(&mut self, slot: u64, decay: f64) -> f64 {
        self.mean *= libm::pow(decay, (slot - self.mean_at) as f64);
        self.mean_at = slot;
        self.mean
    }
    /// Sends at most so many bytes of the queue as one block. Returns how many, `None` if no packet had a part in it. A
    /// packet without bytes has.
    fn send(&mut self, room: f64, now: Time, taken: &mut Backlog, fate: &mut impl Fate<P>) -> Option<f64> {
        let (mut free, number) = (room, self.first + self.blocks.len() as u64);
        loop {
            if self.head.is_none() {
                let Some(pkt) = self.queue.dequeue(now, fate) else { break };
                taken.add(pkt.len());
                self.left = f64::from(pkt.len());
                self.head = Some(pkt);
            }
            let part = self.left.min(free);
            (self.left, free) = (self.left - part, free - part);
            if self.left > 0.0 {
                break;
            }
            self.sent.extend(self.head.take().map(|pkt| (number, pkt)));
        }
        let is_used = free < room || self.sent.back().is_some_and(|(last, _)| *last == number);
        is_used.then(|| {
            self.blocks.push_back(Block { bytes: room - free, tries: 0, again: None });
            room - free
        })
    }
    /// The block of that place was sent in that slot: it arrives, or is to be sent again.
    fn settle(&mut self, place: usize, slot: u64, error: f64, fate: &mut impl Fate<P>) {
        let block = &mut self.blocks[place];
        block.tries += 1;
        let wait = if block.tries.is_multiple_of(HARQ_TRIES) { RLC } else { HARQ };
        block.again = (error > 0.0 && fate.uniform() < error).then_some(slot + wait);
    }
    /// Packets whose blocks have all arrived, in order.
    fn release(&mut self, out: &mut VecDeque<P>) {
        while self.blocks.front().is_some_and(|block| block.again.is_none()) {
            self.blocks.pop_front();
            self.first += 1;
        }
        while self.sent.front().is_some_and(|(last, _)| *last < self.first) {
            out.extend(self.sent.pop_front().map(|(_, pkt)| pkt));
        }
    }
}

/// One direction of a cell.
#[derive(Debug, Clone)]
pub struct Cell<P> {
    bound: Bound,
    hosts: Hosts,
    bearers: Vec<Bearer<P>>,
    error: f64,
    /// What is left of the mean after a slot.
    decay: f64,
    grant: Dur,
    /// The next slot that is to be carried out. Slot k begins at k ms.
    slot: u64,
    /// Blocks of the slot before, which end as this one begins.
    ends: Option<Time>,
    /// When something happens next.
    wake: Time,
    pending: Vec<usize>,
    out: VecDeque<P>,
    taken: Backlog,
    slots: u64,
    retransmissions: u64,
}

impl<P: Pkt> Cell<P> {
    /// A cell of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        params.check()?;
        haltere_units::refuse!(params.error == Prob::ONE, params.error, "below 1");
        haltere_units::refuse!(params.memory < SLOT, params.memory, "at least 1 ms");
        let users = if params.users.is_empty() { alloc::vec![User::default()] } else { params.users.clone() };
        let tail = QueueParams::DropTail(drop_tail::Params::default());
        let discipline = params.queue.as_deref().unwrap_or(&tail);
        let mut bearers = Vec::new();
        for user in &users {
            user.check()?;
            let inside = LinkContext { rate: Some(user.rate), ..link.clone() };
            bearers.push(Bearer {
                queue: Queue::inside("queue", discipline, &inside)?,
                rates: Rates::new(user.rate, &user.steps, user.repeat)?,
                fading: Fading::new(user),
                head: None,
                left: 0.0,
                blocks: VecDeque::new(),
                first: 0,
                sent: VecDeque::new(),
                granted: 0,
                mean: 0.0,
                mean_at: 0,
                offered: 0.0,
            });
        }
        Ok(Cell {
            bound: Bound::optional(params.limit, link)?,
            hosts: Hosts::new(users.iter().map(|user| user.host).collect())?,
            bearers,
            error: params.error.as_f64(),
            decay: 1.0 - SLOT.as_secs_f64() / params.memory.as_secs_f64(),
            grant: params.grant,
            slot: 0,
            ends: None,
            wake: Time::NEVER,
            pending: Vec::new(),
            out: VecDeque::new(),
            taken: Backlog::default(),
            slots: 0,
            retransmissions: 0,
        })
    }
    fn queues(&self) -> impl Iterator<Item = &Queue<P>> {
        self.bearers.iter().map(|bearer| &bearer.queue)
    }
    fn queues_mut(&mut self) -> impl Iterator<Item = &mut Queue<P>> {
        self.bearers.iter_mut().map(|bearer| &mut bearer.queue)
    }
    /// Notes when something happens next.
    fn plan(&mut self) {
        let next = || self.bearers.iter().filter_map(|bearer| bearer.next_slot(self.slot)).min();
        self.wake = self.ends.or_else(|| next().map(|slot| Time::ZERO + SLOT * slot)).unwrap_or(Time::NEVER);
    }
    /// What happens up to `now`: blocks end, and slots begin.
    fn advance(&mut self, now: Time, fate: &mut impl Fate<P>) {
        while self.wake <= now {
            if self.ends.take().is_some() {
                for user in self.pending.drain(..) {
                    self.bearers[user].release(&mut self.out);
                }
            } else {
                self.slot = self.wake.as_ns() / SLOT.as_ns();
                self.serve(self.wake, fate);
                self.slot += 1;
            }
            self.plan();
        }
    }
    /// One slot: first blocks that failed, then the users by proportional fairness.
    fn serve(&mut self, now: Time, fate: &mut impl Fate<P>) {
        let (slot, mut share) = (self.slot, 1.0);
        self.slots += 1;
        self.ends = Some(now + SLOT);
        for bearer in &mut self.bearers {
            bearer.offered = 0.0;
            if bearer.next_slot(slot) == Some(slot) {
                let gain = bearer.fading.as_mut().map_or(1.0, |fading| fading.gain(slot, fate));
                bearer.offered = bearer.rates.at(now).as_bps_f64() / 8.0 * SLOT.as_secs_f64() * gain;
            }
        }
        for user in 0..self.bearers.len() {
            let bearer = &mut self.bearers[user];
            for place in 0..bearer.blocks.len() {
                let Block { bytes, again, .. } = bearer.blocks[place];
                let due = again.is_some_and(|at| at <= slot);
                // A block larger than what the channel now offers takes the whole of a slot.
                let part = if bearer.offered > 0.0 { (bytes / bearer.offered).min(1.0) } else { f64::INFINITY };
                if due && part <= share + 1e-9 {
                    share -= part;
                    self.retransmissions += 1;
                    bearer.settle(place, slot, self.error, fate);
                    self.pending.push(user);
                }
            }
        }
        while share > LEAST_SHARE
            && let Some(user) = self.best(slot)
        {
            let bearer = &mut self.bearers[user];
            let offered = core::mem::take(&mut bearer.offered);
            // A queue may drop all that it has, and give nothing.
            if let Some(bytes) = bearer.send(offered * share, now, &mut self.taken, fate) {
                share -= bytes / offered;
                bearer.mean = bearer.mean_before(slot, self.decay) + (1.0 - self.decay) * bytes;
                bearer.settle(bearer.blocks.len() - 1, slot, self.error, fate);
                self.pending.push(user);
            }
        }
    }
    /// The user with packets and the largest ratio of what it may get now to what it got.
    fn best(&mut self, slot: u64) -> Option<usize> {
        let (decay, mut best) = (self.decay, None);
        for (user, bearer) in self.bearers.iter_mut().enumerate() {
            if bearer.offered > 0.0 && bearer.granted <= slot && bearer.has_packets() {
                let ratio = bearer.offered / bearer.mean_before(slot, decay).max(1.0);
                if best.is_none_or(|(most, _)| ratio > most) {
                    best = Some((ratio, user));
                }
            }
        }
        best.map(|(_, user)| user)
    }
}

impl<P: Pkt> Qdisc<P> for Cell<P> {
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        self.advance(now, fate);
        if !self.bound.fits(self.backlog(), pkt.len()) {
            return fate.dropped(pkt, DropReason::Overlimit);
        }
        let bearer = &mut self.bearers[self.hosts.station_of(&pkt).0];
        if !bearer.has_packets() {
            // The first slot that begins at or after the grant.
            bearer.granted = (now + self.grant).as_ns().div_ceil(SLOT.as_ns());
        }
        bearer.queue.enqueue(now, pkt, fate);
        if self.ends.is_none() {
            self.plan();
            self.advance(now, fate);
        }
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
        Some(if self.out.is_empty() { self.wake } else { Time::ZERO })
    }
    crate::classes::inner_calls!(this => this.queues(), this.queues_mut());
    fn keeps_flow_order(&self) -> bool {
        self.queues().all(Qdisc::keeps_flow_order)
    }
    fn probe(&self, row: &mut Probe) {
        row.push("slots", "", self.slots as f64);
        row.push("harq_retransmissions", "", self.retransmissions as f64);
        row.push("users_waiting", "", self.bearers.iter().filter(|bearer| bearer.has_packets()).count() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Recorder, TestPkt, link};
    use alloc::vec;

    fn at(us: u64) -> Time {
        Time::from_ns(1000 * us)
    }
    /// Users with the hosts 2, 3 and so on, without errors.
    fn params(mbps: &[f64]) -> Params {
        let user = |(i, mbps): (usize, &f64)| User {
            host: Some(2 + i as u16),
            rate: Rate::from_bps((mbps * 1e6) as u64),
            ..User::default()
        };
        Params { users: mbps.iter().enumerate().map(user).collect(), error: Prob::ZERO, ..Params::default() }
    }
    fn cell(params: &Params) -> (Cell<TestPkt>, Recorder) {
        (Cell::new(params, &link()).unwrap(), Recorder::new(1))
    }
    fn to(host: u8, id: u64) -> TestPkt {
        TestPkt { dst: host, ..TestPkt::new(id, 1500) }
    }
    /// Times in us and numbers of what leaves until nothing waits.
    fn drain(q: &mut Cell<TestPkt>, fate: &mut Recorder) -> Vec<(u64, u64)> {
        let mut out = Vec::new();
        while let Some(now) = q.ready_at().filter(|at| *at != Time::NEVER) {
            while let Some(pkt) = q.dequeue(now, fate) {
                out.push((now.as_ns() / 1000, pkt.id));
            }
        }
        out
    }
    /// What each user gets, in Mbit/s, if all always have packets.
    fn saturated(params: &Params, seconds: u64) -> Vec<f64> {
        let (mut q, mut fate) = cell(params);
        let users = params.users.len();
        let (mut waiting, mut got) = (vec![0u32; users], vec![0u64; users]);
        let mut now = Time::ZERO;
        while now < Time::ZERO + Dur::from_secs(seconds) {
            for (user, waiting) in waiting.iter_mut().enumerate() {
                while *waiting < 300 {
                    q.enqueue(now, to(2 + user as u8, 0), &mut fate);
                    *waiting += 1;
                }
            }
            while let Some(pkt) = q.dequeue(now, &mut fate) {
                let user = usize::from(pkt.dst) - 2;
                waiting[user] -= 1;
                got[user] += u64::from(pkt.len) * 8;
            }
            now = q.ready_at().unwrap();
        }
        got.iter().map(|bits| *bits as f64 / seconds as f64 / 1e6).collect()
    }
    fn near(got: f64, want: f64, part: f64) {
        assert!((got / want - 1.0).abs() < part, "{got} against {want}");
    }

    #[test]
    fn a_packet_waits_for_a_slot_and_leaves_at_its_end() {
        // 8 Mbit/s are 1000 bytes a slot: 1500 bytes need a slot and a half, and the second packet the other half.
        let (mut q, mut fate) = cell(&params(&[8.0]));
        (0..2).for_each(|id| q.enqueue(at(400), to(2, id), &mut fate));
        assert_eq!(drain(&mut q, &mut fate), [(3000, 0), (4000, 1)]);
        q.enqueue(at(7000), to(2, 2), &mut fate);
        assert_eq!(drain(&mut q, &mut fate), [(9000, 2)], "a slot that begins as the packet comes");
    }
    #[test]
    fn a_packet_without_bytes_leaves_too() {
        let (mut q, mut fate) = cell(&params(&[12.0]));
        let empty = |id| TestPkt { len: 0, ..to(2, id) };
        q.enqueue(at(400), empty(0), &mut fate);
        assert_eq!(drain(&mut q, &mut fate), [(2000, 0)]);
        assert_eq!(q.backlog(), Backlog::default());
    }
    #[test]
    fn what_a_user_leaves_of_a_slot_is_the_next_one_s() {
        // 3000 bytes a slot each: one packet is half of it.
        let (mut q, mut fate) = cell(&params(&[24.0, 24.0]));
        (0..3).for_each(|id| q.enqueue(at(500), to(2 + u8::from(id > 0), id), &mut fate));
        assert_eq!(drain(&mut q, &mut fate).iter().map(|(at, _)| *at).collect::<Vec<_>>(), [2000, 2000, 3000]);
    }
    #[test]
    fn a_block_that_fails_comes_again_after_eight_slots_and_later_ones_wait_for_it() {
        let (mut q, mut fate) = cell(&Params { error: Prob::of(0.1), ..params(&[12.0]) });
        (0..3).for_each(|id| q.enqueue(at(500), to(2, id), &mut fate));
        // The first block fails, the others arrive; it is sent again in slot 9.
        fate.forced = vec![0.9, 0.9, 0.9, 0.0];
        assert_eq!(drain(&mut q, &mut fate), [(10_000, 0), (10_000, 1), (10_000, 2)]);
        // Four failures, 8 ms apart, and RLC 43 ms after the last: slots 20, 28, 36, 44 and 87.
        fate.forced = vec![0.9, 0.0, 0.0, 0.0, 0.0];
        q.enqueue(at(20_000), to(2, 3), &mut fate);
        assert_eq!(drain(&mut q, &mut fate), [(88_000, 3)]);
    }
    #[test]
    fn a_grant_delays_the_first_packet_alone() {
        let (mut q, mut fate) = cell(&Params { grant: Dur::from_ms(8), ..params(&[12.0]) });
        (0..2).for_each(|id| q.enqueue(at(500), to(2, id), &mut fate));
        assert_eq!(drain(&mut q, &mut fate), [(10_000, 0), (11_000, 1)]);
    }
    #[test]
    fn users_share_the_slots_evenly_whatever_their_rates() {
        // Proportional fairness without fading: a third of the slots each.
        for (got, want) in saturated(&params(&[9.0, 30.0, 60.0]), 10).into_iter().zip([3.0, 10.0, 20.0]) {
            near(got, want, 0.02);
        }
    }
    #[test]
    fn blocks_that_fail_cost_their_share_of_the_slots() {
        // Each block is sent 1 / (1 - 0.2) times on average.
        let got = saturated(&Params { error: Prob::of(0.2), ..params(&[20.0]) }, 20);
        near(got[0], 16.0, 0.02);
    }
    /// Eight users that fade alike: in each slot the best of eight independent exponential gains is served, so that all
    /// together get the integral of log2(1 + snr x) d(1 - e^-x)^8, over log2(1 + snr).
    #[test]
    fn fading_users_are_served_at_their_best() {
        let mut params = Params { memory: Dur::from_secs(2), ..params(&[20.0; 8]) };
        params.users.iter_mut().for_each(|user| (user.doppler, user.snr) = (100.0, 10.0));
        let (mut want, step) = (0.0, 1e-3);
        for i in 0..30_000 {
            let x = (f64::from(i) + 0.5) * step;
            let density = 8.0 * libm::pow(1.0 - libm::exp(-x), 7.0) * libm::exp(-x);
            want += libm::log2(1.0 + 10.0 * x) * density * step / libm::log2(11.0);
        }
        let got = saturated(&params, 30);
        near(got.iter().sum::<f64>(), 20.0 * want, 0.03);
        got.iter().for_each(|one| near(*one, 20.0 * want / 8.0, 0.06));
    }
    #[test]
    fn fading_has_the_correlation_of_jakes() {
        let user = User { doppler: 50.0, ..User::default() };
        let (mut fading, mut fate) = (Fading::new(&user).unwrap(), Recorder::new(3));
        let (mut power, mut product) = (0.0, 0.0);
        for slot in 0..200_000 {
            let before = fading.h[0];
            let _ = fading.gain::<TestPkt>(slot, &mut fate);
            (power, product) = (power + fading.h[0] * fading.h[0], product + before * fading.h[0]);
        }
        // J0(2 pi * 50 Hz * 1 ms) = J0(0.31416) = 0.97548; each part of h has a variance of 1/2.
        near(power / 200_000.0, 0.5, 0.06);
        near(product / power, 0.97548, 0.002);
    }
    #[test]
    fn a_user_out_of_reach_waits_until_it_comes_back() {
        let mut params = params(&[12.0]);
        let step = |ms, mbps| RateStep { at: Dur::from_ms(ms), rate: Rate::from_mbps(mbps) };
        params.users[0].steps = vec![step(0, 0), step(50, 12)];
        let (mut q, mut fate) = cell(&params);
        q.enqueue(at(500), to(2, 0), &mut fate);
        assert_eq!(drain(&mut q, &mut fate), [(51_000, 0)]);
    }
}
