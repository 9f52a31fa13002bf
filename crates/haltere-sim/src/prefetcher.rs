//! Prefetches memory that the next events will need.
//!
//! With thousands of flows hardly anything that an event needs is in the cache, and each event would wait for one
//! memory line after the other. The pending events say which flows are next. So each event begins with one step: it
//! chooses an event that is due soon, and the events that were chosen before come one step nearer to the endpoint that
//! will receive the packet:
//!
//! ```text
//!   place in the queue -> link -> first packet in flight -> point of its path -> next link, and those after it
//!                              -> packet in flight                           -> flow -> endpoint -> its parts ->
//! oldest segment
//! ```
//!
//! Each step prefetches the line that the next step reads. It changes nothing, so a wrong guess costs only the
//! prefetch.
//!
//! Model: software prefetching along pointers, C.-K. Luk and T. C. Mowry, ASPLOS 1996. Cost: some 160 instructions an
//! event.

use crate::app::AnyFlow;
use crate::app::arrivals::{self, SpawnedFlows};
use crate::app::tcp::Tcp;
use crate::engine::event::{Kind, Target};
use crate::engine::prefetch::{fetch, fetch_all};
use crate::net::fabric::{DELIVER, Fabric};
use crate::net::link::SimLink;

/// With at least so many pending events, what they need does not fit into the caches.
const MIN_PENDING: usize = 4096;

/// No place, packet, point or endpoint.
const NONE: u32 = u32::MAX;

/// What the last steps prefetched.
#[derive(Debug)]
pub(crate) struct Prefetcher {
    /// Prefetching is worth its cost if more events than so many are pending.
    pub min_pending: usize,
    /// An event's place in the queue.
    queued: u32,
    /// The event of a link or of a packet in flight whose lines were prefetched.
    event: Option<Target>,
    /// A packet in flight.
    packet: u32,
    /// The point of its path at which a packet will be, and its destination endpoint.
    point: (u32, u32),
    /// The endpoint whose flow was prefetched.
    flow: u32,
    /// The endpoint whose own lines were prefetched.
    end: u32,
    /// The endpoint whose other parts were prefetched.
    parts: u32,
}

impl Default for Prefetcher {
    fn default() -> Prefetcher {
        Prefetcher {
            min_pending: MIN_PENDING,
            queued: NONE,
            event: None,
            packet: NONE,
            point: (NONE, NONE),
            flow: NONE,
            end: NONE,
            parts: NONE,
        }
    }
}

impl Prefetcher {
    /// One step, just before the event for `target` is carried out.
    #[inline(never)]
    pub fn step(&mut self, target: Target, fabric: &mut Fabric, flows: &[AnyFlow], spawned: &SpawnedFlows) {
        if target.kind() == Kind::Link {
            fabric.pool.flights.fetch_third(fabric.links[target.index()].flight());
        }
        let tcp = |endpoint: u32| tcp_of(endpoint, flows, spawned);
        if let Some(tcp) = tcp(self.parts) {
            tcp.fetch_record(self.parts as usize % 2, fabric);
        }
        if let Some(tcp) = tcp(self.end) {
            tcp.fetch_parts(self.end as usize % 2, fabric);
        }
        if let Some(tcp) = tcp(self.flow) {
            tcp.fetch(self.flow as usize % 2);
        }
        self.parts = core::mem::replace(&mut self.end, self.flow);
        self.flow = NONE;
        let (point, endpoint) = self.point;
        match fabric.paths.get(point as usize) {
            Some(&DELIVER) => {
                fetch_flow(endpoint, flows, spawned);
                self.flow = endpoint;
            }
            Some(&link) => {
                fabric.fetch_link::<2>(link);
                if fabric.links[link as usize].sends_ahead() {
                    fetch_next_links(point, &fabric.links[link as usize], fabric);
                }
            }
            None => {}
        }
        self.point = match fabric.pool.flights.look(self.packet) {
            Some(packet) => {
                fetch(fabric.paths.as_ptr().wrapping_add(packet.header.cursor as usize));
                fabric.pool.fetch_rare(packet);
                (packet.header.cursor, packet.header.endpoint)
            }
            None => (NONE, NONE),
        };
        self.packet = match self.event.map(|event| (event.kind(), event.index())) {
            Some((Kind::Link, link)) => fabric.pool.flights.fetch_first(fabric.links[link].flight()),
            Some((_, place)) => place as u32,
            None => NONE,
        };
        self.event = None;
        if let Some(target) = fabric.events.target_at(self.queued) {
            match target.kind() {
                Kind::Link => fabric.fetch_link::<2>(target.index() as u32),
                Kind::Delivery => fabric.pool.flights.fetch_place(target.index() as u32),
                Kind::Timer => fetch_flow(target.index() as u32, flows, spawned),
                Kind::App | Kind::Start | Kind::Stop | Kind::Record => {}
            }
            self.event = matches!(target.kind(), Kind::Link | Kind::Delivery).then_some(target);
        }
        self.queued = fabric.events.prefetch_next(self.queued).unwrap_or(NONE);
    }
}

/// Prefetches the links on which `first` puts packets ahead of time: the link after that point of a packet's path, or
/// those of the packets that wait in `first`.
#[inline(always)]
fn fetch_next_links(point: u32, first: &SimLink, fabric: &Fabric) {
    let fetch_next = |point: u32| match fabric.paths.get(point as usize) {
        Some(&link) if link != DELIVER => fabric.fetch_link::<2>(link),
        _ => {}
    };
    if first.waiting() == 0 {
        return fetch_next(point + 1);
    }
    let waiting = |n: usize| first.upcoming(n, &fabric.pool);
    if let Some(packet) = waiting(4) {
        fetch_next(packet.header.cursor);
    }
    if let Some(packet) = waiting(8) {
        fetch(fabric.paths.as_ptr().wrapping_add(packet.header.cursor as usize));
    }
    if let Some(packet) = waiting(12) {
        fetch_all(packet);
    }
}

/// Prefetches the first line of an endpoint's flow.
#[inline(always)]
fn fetch_flow(endpoint: u32, flows: &[AnyFlow], spawned: &SpawnedFlows) {
    match arrivals::slot(endpoint as usize) {
        Some(slot) => spawned.fetch(slot),
        None => fetch(flows.as_ptr().wrapping_add(endpoint as usize / 2)),
    }
}

#[inline(always)]
fn tcp_of<'a>(endpoint: u32, flows: &'a [AnyFlow], spawned: &'a SpawnedFlows) -> Option<&'a Tcp> {
    if endpoint == NONE {
        return None; // the usual case
    }
    match arrivals::slot(endpoint as usize) {
        Some(slot) => spawned.tcp(slot),
        None => flows.get(endpoint as usize / 2)?.tcp(),
    }
}

#[cfg(test)]
mod tests {
    use crate::run::Run;
    use haltere_lab::Scenario;
    use haltere_plan::Record;
    use std::borrow::Cow;

    const NETWORK: &str = r#"
        duration = "1s"
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
        per_second = 200
    "#;

    #[test]
    fn a_run_is_the_same_with_and_without_prefetching() {
        let plan = Scenario::parse(NETWORK, "test.toml").and_then(|one| one.plan(1)).expect("the experiment is right");
        let run = |min_pending: usize| -> Record {
            let mut network = Run::new(Cow::Borrowed(&plan)).expect("the network is right");
            network.prefetcher.min_pending = min_pending;
            network.run_until(plan.end, &Default::default()).expect("it runs");
            network.finish()
        };
        let without = run(usize::MAX);
        assert!(without.completions.len() > 10 && without.flows[0].received > 0, "something happens");
        assert_eq!(run(0), without);
    }
}
