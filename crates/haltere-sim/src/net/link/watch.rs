//! What a plan asks of one link beyond its counters: depths at dequeue, sojourn times, a log of packets, a capture
//! file.
//!
//! A link that is watched so takes every packet through its discipline, so that nothing here is on the path of other
//! links. Packets do not change: the arrival time of a packet that waits is kept here, by endpoint, ports and
//! identification. A line that duplicates may bring two packets with the same of all these. They leave in the order in
//! which they came.

use super::{QueueFate, SimLink};
use crate::capture::pcap::Tap;
use crate::net::packet::{Packet, Pool};
use haltere_plan::Histogram;
use haltere_plan::record::{Depths, PacketFate, PacketRecord};
use haltere_queue::{DropReason, Fate, Pkt};
use haltere_units::Time;
use std::collections::HashMap;

/// Measurements of one link.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Depths at dequeue.
    pub depths: Option<Depths>,
    /// Times from a packet's arrival until the line took it.
    pub sojourns: Option<Histogram>,
    /// The log of packets, with endpoints in place of flows.
    pub log: Option<Vec<PacketRecord>>,
    pub tap: Option<Box<Tap>>,
    /// The link's index in the plan.
    pub link: u32,
    /// The measured window, from which sojourn times are taken.
    pub window: (Time, Time),
    waiting: HashMap<Key, Waiting>,
}

/// What tells packets apart that wait in one queue: endpoint, source port and identification.
type Key = (u32, u16, u16);

/// Packets with one key.
#[derive(Debug, Clone, Default)]
struct Waiting {
    /// When the first of them arrived, and whether it was marked here.
    first: (Time, bool),
    more: Vec<(Time, bool)>,
}

fn key(packet: &Packet) -> Key {
    (packet.header.endpoint, packet.header.src_port, packet.header.id)
}

impl Watch {
    /// True if it must know when each packet arrived.
    fn follows_packets(&self) -> bool {
        self.sojourns.is_some() || self.log.is_some()
    }
    pub fn arrived(&mut self, now: Time, packet: &Packet) {
        if !self.follows_packets() {
            return;
        }
        let new = (now, false);
        let there = self.waiting.entry(key(packet)).and_modify(|one| one.more.push(new));
        there.or_insert_with(|| Waiting { first: new, more: Vec::new() });
    }
    /// The discipline marks a packet.
    pub fn marked(&mut self, packet: &Packet) {
        if let Some(waiting) = self.waiting.get_mut(&key(packet)) {
            waiting.first.1 = true;
        }
    }
    /// The discipline drops a packet.
    pub fn dropped(&mut self, now: Time, packet: &Packet, reason: DropReason) {
        let Some((at, _)) = self.take(packet) else { return };
        let fate = if reason == DropReason::Overlimit { PacketFate::Overlimit } else { PacketFate::Congestion };
        self.write(packet, at, now, fate);
    }
    /// The line takes a packet.
    pub fn left(&mut self, now: Time, packet: &Packet, pool: &Pool) {
        if let Some(tap) = &mut self.tap {
            tap.write(now, packet, pool);
        }
        let Some((at, marked)) = self.take(packet) else { return };
        let (from, to) = self.window;
        if let Some(sojourns) = self.sojourns.as_mut().filter(|_| from <= now && now < to) {
            sojourns.add(now.since(at));
        }
        self.write(packet, at, now, if marked { PacketFate::Marked } else { PacketFate::Sent });
    }
    /// The arrival of that packet, which waits no longer, and whether it was marked.
    fn take(&mut self, packet: &Packet) -> Option<(Time, bool)> {
        let key = key(packet);
        let waiting = self.waiting.get_mut(&key)?;
        let first = waiting.first;
        if waiting.more.is_empty() {
            self.waiting.remove(&key);
        } else {
            waiting.first = waiting.more.remove(0);
        }
        Some(first)
    }
    fn write(&mut self, packet: &Packet, at: Time, now: Time, fate: PacketFate) {
        let link = self.link;
        let Some(log) = &mut self.log else { return };
        let h = &packet.header;
        log.push(PacketRecord {
            at,
            sojourn: now.since(at),
            link,
            flow: Some(h.endpoint),
            bytes: packet.len(),
            from: h.src,
            to: h.dst,
            ports: (h.src_port, h.dst_port),
            id: h.id,
            fate,
        });
    }
}

impl SimLink {
    /// What the plan asks of this link beyond its counters; from now on something is. `cache_queue_properties` must
    /// follow.
    pub(super) fn watch(&mut self) -> &mut Watch {
        self.special = true;
        self.counters.signals.get().watch.get_or_insert_default()
    }
    /// Measures what `set` asks for from now on. No packet has come yet.
    pub fn watch_with(&mut self, set: impl FnOnce(&mut Watch)) {
        set(self.watch());
        self.cache_queue_properties();
    }
    /// What was asked of the link beyond its counters, as the run ends.
    pub fn take_watch(&mut self) -> Option<Box<Watch>> {
        self.counters.signals.made.as_mut()?.watch.take()
    }
    /// The depths at dequeue since the warm-up, if the plan asks for them.
    pub fn depths(&mut self) -> Depths {
        let watch = self.counters.signals.watch();
        watch.and_then(|watch| watch.depths.clone()).unwrap_or_default()
    }
    /// Depths start again at zero.
    pub(super) fn restart_depths(&mut self) {
        if let Some(depths) = self.counters.signals.watch().and_then(|watch| watch.depths.as_mut()) {
            *depths = Depths::default();
        }
    }
    /// Removes the capture file, which the caller closes.
    pub fn take_tap(&mut self) -> Option<Box<Tap>> {
        self.counters.signals.watch()?.tap.take()
    }
    /// The discipline takes a packet of a link that is watched or has a device ring.
    #[cold]
    pub(super) fn enqueue_special(&mut self, now: Time, packet: Packet, pool: &mut Pool) {
        if let Some(watch) = self.counters.signals.watch() {
            watch.arrived(now, &packet);
        }
        if self.varying().is_some_and(|line| line.is_full(now, self.waiting)) {
            self.refuse(now, packet, pool);
        } else {
            self.put(now, packet, pool);
        }
        self.fill_device(now, pool);
    }
    /// As many packets wait as the trace lets wait.
    fn refuse(&mut self, now: Time, packet: Packet, pool: &mut Pool) {
        let mut fate = QueueFate { now, waiting: &mut self.waiting, counters: &mut self.counters, pool };
        fate.count_arrival();
        fate.dropped(packet, DropReason::Overlimit);
    }
    /// Removes the packet that the line of such a link takes at `start`.
    #[cold]
    pub(super) fn next_packet_special(&mut self, start: Time, pool: &mut Pool) -> Option<Packet> {
        let packet = match self.device_mut() {
            None => self.dequeue_watched(start, pool),
            Some(device) => {
                let packet = device.fifo.pop_front();
                self.fill_device(start, pool);
                packet
            }
        }?;
        if let Some(watch) = self.counters.signals.watch() {
            watch.left(start, &packet, pool);
        }
        Some(packet)
    }
    /// The discipline gives a packet. Counts how many it leaves behind, if the plan asks for that.
    fn dequeue_watched(&mut self, now: Time, pool: &mut Pool) -> Option<Packet> {
        let packet = self.dequeue(now, pool)?;
        if let Some(depths) = self.counters.signals.watch().and_then(|watch| watch.depths.as_mut()) {
            depths.count(self.waiting);
        }
        Some(packet)
    }
    /// The device takes packets from the discipline while it has room.
    pub(super) fn fill_device(&mut self, now: Time, pool: &mut Pool) {
        while self.device().is_some_and(|d| d.fifo.len() < d.capacity) {
            let Some(packet) = self.dequeue_watched(now, pool) else { return };
            if let Some(device) = self.device_mut() {
                device.fifo.push_back(packet);
            }
        }
    }
}
