//! One tin: a queue for each flow, served in turn.

use super::ack_filter;
use super::cobalt::{Cobalt, Config, SPARED_PACKETS};
use super::isolation::{Hosts, Table};
use super::link::Lengths;
use super::{AckFilter, Isolation};
use crate::hashed::Turns;
use crate::{Backlog, DropReason, Fate, Pkt, Store};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use haltere_units::{Dur, Rate, Time};

/// Queues of a tin.
const QUEUES: usize = 1024;

/// What a queue is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Set {
    None,
    /// The list of new flows.
    Sparse,
    /// The list of old flows, as it spent its first turn, but it had nothing left then.
    SparseWait,
    /// The list of old flows.
    Bulk,
    /// It has no packet, but its COBALT state is not at rest.
    Decaying,
}

#[derive(Debug, Clone)]
struct Flow<P> {
    store: Store<P>,
    cobalt: Cobalt,
    /// Bytes that it may send in this turn.
    deficit: i64,
    set: Set,
    /// Its hosts' places, if they are counted.
    src: u32,
    dst: u32,
}

/// What a queue gave when its turn came.
enum Taken<P> {
    Packet(P),
    /// Its drops took the rest of its turn.
    Turn,
    /// It is empty.
    Nothing,
}

/// What is the same for all tins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub isolation: Isolation,
    pub ack_filter: AckFilter,
    pub aged: bool,
    /// The lengths at which drops count, if they do.
    pub ingress: Option<Lengths>,
    pub seed: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Tin<P> {
    rules: Rules,
    config: Config,
    quantum: i64,
    flows: Vec<Flow<P>>,
    table: Table,
    /// The hosts of the sources and of the destinations, if they are counted.
    hosts: [Option<Hosts>; 2],
    /// The lists of new and of old flows.
    turns: Turns,
    decaying: VecDeque<u32>,
    /// Bulk flows among the old ones.
    bulk_flows: u32,
    pub backlog: Backlog,
    /// Its rate; `None` without a shaper.
    pub rate: Option<Rate>,
    /// When it may send next without being beyond its rate.
    pub time_next: Time,
    /// Bytes that it may send in its turn, without a shaper.
    pub deficit: i64,
    /// What the last packet waited.
    pub sojourn: Dur,
    /// The queue of the last packet.
    served: u32,
    /// Bytes on the link of the packets dropped since they were last taken.
    dropped: u32,
}

impl<P: Pkt> Tin<P> {
    pub fn new(rules: Rules, config: Config, quantum: i64, rate: Option<Rate>) -> Tin<P> {
        let flow = |_| Flow {
            store: Store::unbounded(),
            cobalt: Cobalt::new(rules.aged),
            deficit: 0,
            set: Set::None,
            src: 0,
            dst: 0,
        };
        let (src, dst) = rules.isolation.counts_hosts();
        Tin {
            rules,
            config,
            quantum,
            flows: (0..QUEUES).map(flow).collect(),
            table: Table::new(QUEUES),
            hosts: [src, dst].map(|counted| counted.then(|| Hosts::new(QUEUES))),
            turns: Turns::default(),
            decaying: VecDeque::new(),
            bulk_flows: 0,
            backlog: Backlog::default(),
            rate,
            time_next: Time::ZERO,
            deficit: 0,
            sojourn: Dur::ZERO,
            served: 0,
            dropped: 0,
        }
    }
    /// A packet of `len` bytes was dropped. Gives its bytes on the link, if they count.
    #[cold]
    fn count_dropped(&mut self, len: u32) -> u32 {
        let bytes = self.rules.ingress.map_or(0, |lengths| lengths.on_link(len));
        self.dropped += bytes;
        bytes
    }
    /// Bytes on the link of the packets dropped since the last call.
    #[inline]
    pub fn take_dropped(&mut self) -> u32 {
        core::mem::take(&mut self.dropped)
    }

    /// The turn of a flow: fewer bytes, the more bulk flows its busier host has. Counted in bytes times 2^16, so
    /// nothing is rounded away.
    #[inline]
    fn turn(&self, id: u32) -> i64 {
        let flow = &self.flows[id as usize];
        let of = |side: usize, host| self.hosts[side].as_ref().map_or(0, |hosts| hosts.bulk_flows(host));
        let load = of(0, flow.src).max(of(1, flow.dst)).max(1);
        (self.quantum << 16) / i64::from(load)
    }
    /// Counts the flow's hosts as having one bulk flow more or less.
    fn count_bulk(&mut self, id: u32, is_bulk: bool) {
        self.bulk_flows = if is_bulk { self.bulk_flows + 1 } else { self.bulk_flows - 1 };
        let flow = &self.flows[id as usize];
        for (hosts, host) in self.hosts.iter_mut().zip([flow.src, flow.dst]) {
            if let Some(hosts) = hosts {
                hosts.count_bulk(host, is_bulk);
            }
        }
    }
    fn put(&mut self, id: u32, set: Set) {
        let was = core::mem::replace(&mut self.flows[id as usize].set, set);
        if (was == Set::Bulk) != (set == Set::Bulk) {
            self.count_bulk(id, set == Set::Bulk);
        }
    }

    #[inline]
    pub fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        let key = pkt.flow();
        let hash = self.rules.isolation.hash(&key, self.rules.seed);
        let id = self.table.place(hash, |at| self.flows[at].set == Set::None) as u32;
        self.backlog.add(pkt.len());
        let store = &mut self.flows[id as usize].store;
        let redundant = ack_filter::redundant(self.rules.ack_filter, store, &pkt, fate);
        store.append(now, pkt);
        if let Some(lost) = redundant.and_then(|at| store.remove(at)) {
            self.backlog.remove(lost.len());
            self.count_dropped(lost.len());
            fate.dropped(lost, DropReason::Overlimit);
        }
        match self.flows[id as usize].set {
            Set::Sparse | Set::Bulk => {}
            Set::SparseWait => self.put(id, Set::Bulk),
            set => {
                if set == Set::Decaying {
                    self.decaying.retain(|&other| other != id);
                } else {
                    let flow = &mut self.flows[id as usize];
                    let host = |src, dst| crate::FlowKey { src, dst, ..Default::default() }.hash(self.rules.seed);
                    flow.src = self.hosts[0].as_mut().map_or(0, |hosts| hosts.join(host(key.src, 0)));
                    flow.dst = self.hosts[1].as_mut().map_or(0, |hosts| hosts.join(host(0, key.dst)));
                }
                self.flows[id as usize].deficit = self.turn(id);
                self.put(id, Set::Sparse);
                self.turns.new.push_back(id);
            }
        }
    }

    /// The next packet. Drops and marks on the way. `None` only if no packet waits.
    #[inline]
    pub fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        self.let_one_decay(now);
        let mut turns = 0;
        loop {
            let id = self.turns.front()?;
            if self.flows[id as usize].deficit <= 0 {
                self.turns.rotate();
                self.next_turn(id);
                turns += 1;
                if turns > self.turns.old.len() && self.turns.new.is_empty() {
                    self.skip_rounds();
                    turns = 0;
                }
                continue;
            }
            match self.take(id, now, fate) {
                Taken::Packet(pkt) => {
                    self.served = id;
                    return Some(pkt);
                }
                Taken::Turn => continue,
                Taken::Nothing => {}
            }
            self.turns.pop();
            self.flows[id as usize].cobalt.on_empty(&self.config, now);
            if self.flows[id as usize].cobalt.is_at_rest(now) {
                self.release(id);
            } else {
                self.put(id, Set::Decaying);
                self.decaying.push_back(id);
            }
        }
    }
    /// The flow spent its turn. A sparse flow with packets left is a bulk flow from now on.
    fn next_turn(&mut self, id: u32) {
        if self.flows[id as usize].set == Set::Sparse {
            let is_empty = self.flows[id as usize].store.is_empty();
            self.put(id, if is_empty { Set::SparseWait } else { Set::Bulk });
        }
        let turn = self.turn(id);
        self.flows[id as usize].deficit += turn;
    }
    /// Gives all old flows at once the turns of the rounds in which none may send yet. With many flows of one host a
    /// turn is a small part of a packet, and there are many such rounds. They leave the list in its order.
    fn skip_rounds(&mut self) {
        let idle = |&id: &u32| (-self.flows[id as usize].deficit).max(0) / self.turn(id);
        let Some(rounds) = self.turns.old.iter().map(idle).min().filter(|&rounds| rounds > 0) else { return };
        for at in 0..self.turns.old.len() {
            let id = self.turns.old[at];
            self.flows[id as usize].deficit += rounds * self.turn(id);
        }
    }
    /// A packet of that flow that COBALT lets pass. The last one is never dropped.
    #[inline]
    fn take(&mut self, id: u32, now: Time, fate: &mut impl Fate<P>) -> Taken<P> {
        if self.rules.ingress.is_some() {
            self.config.spared_packets = SPARED_PACKETS.max(2 * u64::from(self.bulk_flows));
        }
        loop {
            let flow = &mut self.flows[id as usize];
            let Some((came, mut pkt)) = flow.store.pop() else { return Taken::Nothing };
            self.backlog.remove(pkt.len());
            self.sojourn = now.since(came);
            let drop = flow.cobalt.decide(&self.config, (now, self.sojourn), &mut pkt, fate);
            if !drop || flow.store.is_empty() {
                return Taken::Packet(pkt);
            }
            let bytes = self.count_dropped(pkt.len());
            fate.dropped(pkt, DropReason::Congestion);
            let flow = &mut self.flows[id as usize];
            flow.deficit -= i64::from(bytes) << 16;
            if flow.deficit <= 0 {
                return Taken::Turn;
            }
        }
    }
    /// The packet just taken took so many bytes on the link, of its flow's turn.
    #[inline]
    pub fn charge(&mut self, len: u32) {
        self.flows[self.served as usize].deficit -= i64::from(len) << 16;
    }
    /// One flow without packets whose state decays is looked at.
    #[inline]
    fn let_one_decay(&mut self, now: Time) {
        let Some(id) = self.decaying.pop_front() else { return };
        let cobalt = &mut self.flows[id as usize].cobalt;
        cobalt.on_empty(&self.config, now);
        if cobalt.is_at_rest(now) {
            self.release(id);
        } else {
            self.decaying.push_back(id);
        }
    }
    /// The flow leaves all lists.
    fn release(&mut self, id: u32) {
        self.put(id, Set::None);
        let flow = &self.flows[id as usize];
        for (hosts, host) in self.hosts.iter_mut().zip([flow.src, flow.dst]) {
            if let Some(hosts) = hosts {
                hosts.leave(host);
            }
        }
    }

    /// Its longest queue in bytes, and how long that is.
    pub fn longest(&self) -> Option<(u64, u32)> {
        let with_bytes = |&id: &u32| (self.flows[id as usize].store.backlog().bytes, id);
        self.turns.old.iter().chain(&self.turns.new).map(with_bytes).max_by_key(|&(bytes, _)| bytes)
    }
    /// Drops the oldest packet of that queue, for which there is no room.
    pub fn drop_oldest(&mut self, id: u32, now: Time, fate: &mut impl Fate<P>) {
        let flow = &mut self.flows[id as usize];
        if let Some((_, pkt)) = flow.store.pop() {
            self.backlog.remove(pkt.len());
            flow.cobalt.on_overflow(&self.config, now);
            self.count_dropped(pkt.len());
            fate.dropped(pkt, DropReason::Overlimit);
        }
    }
    /// Flows in the list of sparse flows, and bulk flows.
    pub fn flows(&self) -> (usize, u32) {
        (self.turns.new.len(), self.bulk_flows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Recorder, TestPkt};

    /// Sixteen flows of one host: a turn is a sixteenth of a packet.
    #[test]
    fn rounds_that_are_skipped_do_not_change_the_order() {
        let rules = Rules {
            isolation: Isolation::TripleIsolate,
            ack_filter: AckFilter::Off,
            aged: false,
            ingress: None,
            seed: 1,
        };
        let config = Config::new(Dur::from_ms(100), Dur::ZERO);
        let (mut tin, mut fate) = (Tin::new(rules, config, 1500, None), Recorder::new(1));
        for id in 0..1600 {
            tin.enqueue(Time::ZERO, TestPkt::new(id, 200 + 80 * (id % 16) as u32).flow(id as u16 % 16), &mut fate);
        }
        let send = |tin: &mut Tin<TestPkt>, fate: &mut Recorder| {
            let len = tin.dequeue(Time::ZERO, fate).unwrap().len;
            tin.charge(len);
            (tin.served, len)
        };
        for _ in 0..60 {
            send(&mut tin, &mut fate);
        }
        // The plain round robin, one turn after the other.
        let (mut plain, mut order) = (tin.clone(), Vec::new());
        assert!(
            plain.turns.new.is_empty()
                && plain.turns.old.len() == 16
                && plain.turn(plain.turns.old[0]) == (1500 << 16) / 16
        );
        while order.len() < 160 {
            let id = plain.turns.old[0];
            let turn = plain.turn(id);
            let flow = &mut plain.flows[id as usize];
            if flow.deficit > 0 {
                let len = flow.store.pop().unwrap().1.len;
                flow.deficit -= i64::from(len) << 16;
                order.push((id, len));
            } else {
                flow.deficit += turn;
                plain.turns.old.rotate_left(1);
            }
        }
        let real: Vec<_> = (0..160).map(|_| send(&mut tin, &mut fate)).collect();
        assert_eq!(real, order);
    }
}
