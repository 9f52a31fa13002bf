//! What the next events will need is fetched before they are due.
//!
//! Of thousands of flows hardly anything is in the cache when its turn comes, and each event would wait for one line of memory
//! after the other. The pending events say whose turn it will be. So with every event one that lies ahead is looked
//! at, and those that were looked at before come a step nearer to the endpoint that will receive the packet:
//!
//! ```text
//!   place in the queue -> link -> first packet in flight -> point of its path -> next link
//!                                                                            -> flow -> endpoint -> sending half -> oldest segment
//! ```
//!
//! Each step asks for the line that the next one reads. The event of a busy line's next packet is not yet known when it should be
//! looked at; its packets are traced from the delivery of one two before. Nothing is changed: what does not come as it was foreseen
//! was fetched in vain.
//!
//! Model: software prefetching along pointers, C.-K. Luk and T. C. Mowry, ASPLOS 1996. Cost: some 160 instructions an event.

use crate::app::Flow;
use crate::app::tcp::Tcp;
use crate::births::{self, Nursery};
use crate::event_queue::Target;
use crate::fabric::{DELIVER, Fabric, kind};

/// From so many pending events on what they need does not fit into the caches.
const CROWD: usize = 4096;

/// Bytes of a line of the cache.
pub(crate) const LINE: usize = 64;

/// Nothing is there to be looked at.
const NONE: u32 = u32::MAX;

/// Asks for the line at `place`, which may be any address.
#[inline(always)]
#[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "there is no safe way to ask for a line of memory"))]
pub(crate) fn fetch<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and cannot fault, whatever the address.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// Asks for all lines of a value.
#[inline(always)]
pub(crate) fn fetch_all<T>(value: &T) {
    let start: *const u8 = (&raw const *value).cast();
    for line in 0..size_of::<T>() / LINE {
        fetch(start.wrapping_add(line * LINE));
    }
    fetch(start.wrapping_add(size_of::<T>() - 1));
}

/// What was asked for at the last step.
#[derive(Debug)]
pub(crate) struct Lookahead {
    /// It pays where more events than so many are pending.
    pub crowd: usize,
    /// An event's place in the queue.
    queued: u32,
    link: u32,
    /// Packets in flight: the first of a link, and one of a busy line.
    packets: [u32; 2],
    /// Of these the point of the path at which they will be, and the endpoint to which they go.
    points: [(u32, u32); 2],
    /// Endpoints whose flow was asked for, whose own lines were, and whose sending half was.
    flows: [u32; 2],
    ends: [u32; 2],
    halves: [u32; 2],
}

impl Default for Lookahead {
    fn default() -> Lookahead {
        let (one, two) = (NONE, [NONE; 2]);
        let points = [(NONE, NONE); 2];
        Lookahead { crowd: CROWD, queued: one, link: one, packets: two, points, flows: two, ends: two, halves: two }
    }
}

impl Lookahead {
    /// One step, just before the event for `target` happens.
    #[inline(never)]
    pub fn step(&mut self, target: Target, fabric: &mut Fabric, flows: &[Flow], nursery: &Nursery) {
        let tcp = |endpoint: u32| tcp_of(endpoint, flows, nursery);
        for lane in 0..2 {
            if let Some(tcp) = tcp(self.halves[lane]) {
                tcp.fetch_record(self.halves[lane] as usize % 2);
            }
            if let Some(tcp) = tcp(self.ends[lane]) {
                tcp.fetch_half(self.ends[lane] as usize % 2, fabric);
            }
            if let Some(tcp) = tcp(self.flows[lane]) {
                tcp.fetch(self.flows[lane] as usize % 2);
            }
            self.halves[lane] = core::mem::replace(&mut self.ends[lane], self.flows[lane]);
            self.flows[lane] = NONE;
            let (point, endpoint) = self.points[lane];
            match fabric.paths.get(point as usize) {
                Some(&DELIVER) => {
                    fetch_flow(endpoint, flows, nursery);
                    self.flows[lane] = endpoint;
                }
                Some(&link) => fabric.fetch_link(link),
                None => {}
            }
            self.points[lane] = match fabric.pool.flights.look(self.packets[lane]) {
                Some(packet) => {
                    fetch(fabric.paths.as_ptr().wrapping_add(packet.header.cursor as usize));
                    (packet.header.cursor, packet.header.endpoint)
                }
                None => (NONE, NONE),
            };
        }
        self.packets[0] = match fabric.links.get(self.link as usize) {
            Some(link) => fabric.pool.flights.fetch(link.flight(), 0),
            None => NONE,
        };
        self.packets[1] = match target.kind() {
            kind::LINK => fabric.pool.flights.fetch(fabric.links[target.index()].flight(), 2),
            _ => NONE,
        };
        self.link = NONE;
        if let Some(target) = fabric.events.at_place(self.queued) {
            match target.kind() {
                kind::LINK => {
                    self.link = target.index() as u32;
                    fabric.fetch_link(self.link);
                }
                kind::TIMER => fetch_flow(target.index() as u32, flows, nursery),
                _ => {}
            }
        }
        self.queued = fabric.events.scout().unwrap_or(NONE);
    }
}

/// Asks for where the flow of an endpoint begins.
#[inline(always)]
fn fetch_flow(endpoint: u32, flows: &[Flow], nursery: &Nursery) {
    match births::slot(endpoint as usize) {
        Some(slot) => nursery.fetch(slot),
        None => fetch(flows.as_ptr().wrapping_add(endpoint as usize / 2)),
    }
}

#[inline(always)]
fn tcp_of<'a>(endpoint: u32, flows: &'a [Flow], nursery: &'a Nursery) -> Option<&'a Tcp> {
    if endpoint == NONE {
        return None; // the usual case
    }
    match births::slot(endpoint as usize) {
        Some(slot) => nursery.tcp(slot),
        None => flows.get(endpoint as usize / 2)?.tcp(),
    }
}

#[cfg(test)]
mod tests {
    use crate::network::Network;
    use haltere_lab::{Record, Scenario};
    use std::borrow::Cow;

    const NETWORK: &str = r#"
        duration = "300ms"
        [topology.dumbbell]
        pairs = 4
        access = { rate = "1Gbit", delay = "100us" }
        bottleneck = { rate = "50Mbit", delay = "1ms", queue = { kind = "drop_tail", limit = "30p" } }
        [[traffic]]
        kind = "bulk"
        pairs = "all"
        [[traffic]]
        kind = "ping"
        pairs = [1]
        [[traffic]]
        kind = "poisson"
        sizes = { points = [[100, 0.5], [30000, 1]] }
        load = 0.1
    "#;

    #[test]
    fn a_run_is_the_same_whether_looked_ahead_or_not() {
        let plan = Scenario::parse(NETWORK, "test.toml").and_then(|one| one.plan(1)).expect("the experiment is right");
        let run = |crowd: usize| -> Record {
            let mut network = Network::new(Cow::Borrowed(&plan)).expect("the network is right");
            network.lookahead.crowd = crowd;
            network.live(plan.end, &Default::default()).expect("it runs");
            network.finish()
        };
        let without = run(usize::MAX);
        assert!(without.completions.len() > 10 && without.flows[0].received > 0, "something happens");
        assert_eq!(run(0), without);
    }
}
