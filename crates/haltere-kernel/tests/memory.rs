//! A guest kernel gives at most 4 MB in one allocation, and its reserve 128 kB. The fabric and the text of its counters
//! need less, however long the run is.
#![expect(unsafe_code, reason = "an allocator that measures")]

use haltere_kernel::fabric::{first_piece, next_piece, read};
use haltere_plan::LinkQueue;
use haltere_plan::fabric::{Fabric, FabricPlan, Ports, Routed};
use haltere_plan::plan::LinkPlan;
use haltere_queue::{Ecn, FlowKey, LinkContext, Pkt, Queue, QueueParams};
use haltere_units::{Dur, ParamError, Rate, Time};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The largest request since it was set to zero.
static LARGEST: AtomicUsize = AtomicUsize::new(0);

struct Measured;

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Measured {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller says.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static MEASURED: Measured = Measured;

#[derive(Debug)]
struct Packet;

impl Pkt for Packet {
    fn len(&self) -> u32 {
        1250
    }
    fn ecn(&self) -> Ecn {
        Ecn::Ect0
    }
    fn set_ce(&mut self) {}
    fn flow(&self) -> FlowKey {
        FlowKey::default()
    }
}

impl Routed for Packet {
    type Queue = Queue<Packet>;
    fn queue(params: &LinkQueue, link: &LinkContext) -> Result<Queue<Packet>, ParamError> {
        Queue::new(params.ours()?, link)
    }
    fn destination(&self) -> Option<usize> {
        Some(2)
    }
}

struct Host(u64);

impl Ports<Packet> for Host {
    fn deliver(&mut self, _at: Time, _node: usize, _packet: Packet) -> bool {
        self.0 += 1;
        true
    }
}

#[test]
fn a_day_with_two_watched_links_needs_no_large_allocation() {
    let codel = || QueueParams::default_of("codel").expect("a discipline with variables");
    let link = |from, to| LinkPlan {
        watched: true,
        ..LinkPlan::plain(from, to, Some(Rate::from_mbps(10)), Dur::from_ms(1), codel())
    };
    let day = Dur::from_secs(24 * 3600);
    let plan = FabricPlan {
        nodes: 3,
        links: vec![link(0, 1), link(1, 2)],
        reroutes: Vec::new(),
        framing: 14,
        seed: 1,
        outside: Default::default(),
        count_sockets: false,
        sample: Some(Dur::from_secs(1)),
        warmup: Time::ZERO,
        end: Time::ZERO + day,
    };
    LARGEST.store(0, Ordering::Relaxed);
    let (mut fabric, mut host) = (Fabric::new(plan).expect("a valid plan"), Host(0));
    for minute in 0..24 * 60 {
        fabric.arrive(Time::ZERO + Dur::from_secs(60 * minute), 0, Packet, &mut host);
    }
    while let Some(at) = fabric.deadline() {
        fabric.advance(at, &mut host);
    }
    let mut pieces = vec![first_piece(&mut fabric, 7)];
    while let Some(piece) = Some(next_piece(&mut fabric)).filter(|piece| !piece.is_empty()) {
        pieces.push(piece);
    }
    let largest = LARGEST.load(Ordering::Relaxed);
    assert!(largest <= 128 << 10, "one allocation has {largest} bytes");

    let (counted, samples) = read(pieces.concat().as_bytes()).expect("the text of a fabric");
    assert_eq!(
        (host.0, counted.totals.counters.departed, counted.totals.unaccounted(), counted.refused),
        (1440, 1440, 0, 7)
    );
    assert_eq!(samples.len(), 2 * (24 * 3600 + 1));
    assert!(samples.iter().all(|sample| !sample.vars.is_empty()));
    assert!(samples.windows(2).all(|pair| (pair[0].at, pair[0].link) < (pair[1].at, pair[1].link)));
}
