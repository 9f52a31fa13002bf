//! The queues of a fabric's links: Haltere's disciplines, and those of the kernel in which the packets are.
//! Source, deviations and known problems: see [`KernelQueue`].
//! Model: packets go into the kernel's discipline and come out of it. If a discipline of Haltere is to be compared, it
//! is given a copy of each packet's header at the same times, and the fate of the copies is compared with that of the
//! packets.
//! Units: packets and bytes. Cost: that of the kernel's discipline, and of the other.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use haltere_plan::{KernelQueue, LinkQueue, WorldQueue};
use haltere_queue::{Backlog, DropReason, Emits, Fate, LinkContext, MarkReason, Pkt, Qdisc, Queue};
use haltere_units::{Dur, Ecn, ParamError, Probe, Time};

/// The queue of a link of the fabric.
#[derive(Debug)]
pub enum FabricQueue<P> {
    /// One of Haltere's disciplines.
    Ours(Queue<P>),
    /// One of the kernel's.
    Kernel(Box<Kernel<P>>),
}

impl<P: Pkt> FabricQueue<P> {
    /// The queue of these parameters on that link, in the kernel that is called by `calls`.
    pub fn new(params: &LinkQueue, link: &LinkContext, calls: Calls<P>) -> Result<FabricQueue<P>, ParamError> {
        Ok(match params {
            LinkQueue::Ours(params) => FabricQueue::Ours(Queue::new(params, link)?),
            LinkQueue::World(WorldQueue::Kernel(params)) => {
                FabricQueue::Kernel(Box::new(Kernel::new(params, link, calls)?))
            }
        })
    }
}

/// Passes a call to the discipline.
macro_rules! each {
    ($queue:expr, $q:ident => $call:expr) => {
        match $queue {
            FabricQueue::Ours($q) => $call,
            FabricQueue::Kernel($q) => $call,
        }
    };
}

impl<P: Pkt> Qdisc<P> for FabricQueue<P> {
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        each!(self, q => q.enqueue(now, pkt, fate))
    }
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        each!(self, q => q.dequeue(now, fate))
    }
    fn backlog(&self) -> Backlog {
        each!(self, q => q.backlog())
    }
    fn ready_at(&self) -> Option<Time> {
        each!(self, q => q.ready_at())
    }
    fn next_timer(&self) -> Option<Time> {
        each!(self, q => q.next_timer())
    }
    fn on_timer(&mut self, now: Time) {
        each!(self, q => q.on_timer(now))
    }
    fn emits(&self) -> Emits {
        each!(self, q => q.emits())
    }
    fn keeps_flow_order(&self) -> bool {
        each!(self, q => q.keeps_flow_order())
    }
    fn probe(&self, row: &mut Probe) {
        each!(self, q => q.probe(row))
    }
}

/// How to reach the disciplines of a kernel. A queue is a number.
pub struct Calls<P> {
    /// A queue of these `tc` words, or what is wrong.
    pub make: fn(&str) -> Result<u32, String>,
    /// A packet arrives at the queue.
    pub enqueue: fn(u32, P, &mut dyn Fate<P>),
    /// The link can send.
    pub dequeue: fn(u32, &mut dyn Fate<P>) -> Option<P>,
    /// What waits.
    pub backlog: fn(u32) -> Backlog,
    /// The kernel's time since the run began.
    pub now: fn() -> Time,
    /// Gives the packet that number; it keeps it in the kernel.
    pub number: fn(&mut P, u32),
    /// The number of the packet.
    pub number_of: fn(&P) -> u32,
    /// A copy of the packet's header, which the kernel does not know.
    pub header: fn(&P) -> P,
}

impl<P> Clone for Calls<P> {
    fn clone(&self) -> Calls<P> {
        *self
    }
}

impl<P> Copy for Calls<P> {}

impl<P> fmt::Debug for Calls<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Calls")
    }
}

/// The discipline.
#[derive(Debug, Clone)]
pub struct Kernel<P> {
    queue: u32,
    calls: Calls<P>,
    beside: Option<Beside<P>>,
}

/// The discipline that is compared.
#[derive(Debug, Clone)]
struct Beside<P> {
    queue: Queue<P>,
    grain: Option<Dur>,
    /// The last packet's number. The kernel keeps 23 bits.
    number: u32,
    verdicts: u64,
    differ: u64,
    dropped: u64,
    marked: u64,
}

/// Bits of a packet's number.
const NUMBERS: u32 = 1 << 23;

impl<P: Pkt> Kernel<P> {
    /// A queue of these parameters on that link.
    fn new(params: &KernelQueue, link: &LinkContext, calls: Calls<P>) -> Result<Self, ParamError> {
        let beside = params.beside.as_deref().map(|beside| Queue::new(beside, link)).transpose()?;
        let beside = beside.map(|queue| Beside::new(queue, params.beside_grain));
        let queue =
            (calls.make)(&params.tc).map_err(|rule| ParamError::new("tc", rule, alloc::format!("`{}`", params.tc)))?;
        Ok(Kernel { queue, calls, beside })
    }
}

impl<P: Pkt> Qdisc<P> for Kernel<P> {
    fn enqueue(&mut self, now: Time, mut pkt: P, fate: &mut impl Fate<P>) {
        let Some(beside) = &mut self.beside else { return (self.calls.enqueue)(self.queue, pkt, fate) };
        beside.number = (beside.number + 1) % NUMBERS;
        (self.calls.number)(&mut pkt, beside.number);
        let copy = (self.calls.header)(&pkt);
        let mut theirs = Noting::new(self.calls, fate, true);
        (self.calls.enqueue)(self.queue, pkt, &mut theirs);
        let theirs = theirs.verdict;
        let mut ours = Noting::new(self.calls, fate, false);
        beside.queue.enqueue(beside.time(now, self.calls), copy, &mut ours);
        let ours = ours.verdict;
        // The kernel does not say at once which packets it marked on arrival: they show when they leave.
        beside.compare(&theirs, &ours);
    }
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        let Some(beside) = &mut self.beside else { return (self.calls.dequeue)(self.queue, fate) };
        let mut theirs = Noting::new(self.calls, fate, true);
        let pkt = (self.calls.dequeue)(self.queue, &mut theirs);
        let mut theirs = theirs.verdict;
        let mut ours = Noting::new(self.calls, fate, false);
        let copy = beside.queue.dequeue(beside.time(now, self.calls), &mut ours);
        let mut ours = ours.verdict;
        let sent = |pkt: &Option<P>| pkt.as_ref().map(|p| ((self.calls.number_of)(p), p.ecn() == Ecn::Ce));
        (theirs.sent, ours.sent) = (sent(&pkt), sent(&copy));
        beside.compare(&theirs, &ours);
        pkt
    }
    fn backlog(&self) -> Backlog {
        (self.calls.backlog)(self.queue)
    }
    /// The kernel withholds packets without a time: it wakes the link.
    fn ready_at(&self) -> Option<Time> {
        Some(Time::NEVER)
    }
    fn next_timer(&self) -> Option<Time> {
        self.beside.as_ref().and_then(|beside| beside.queue.next_timer())
    }
    fn on_timer(&mut self, now: Time) {
        if let Some(beside) = &mut self.beside {
            beside.queue.on_timer(now);
        }
    }
    fn keeps_flow_order(&self) -> bool {
        false
    }
    fn probe(&self, row: &mut Probe) {
        let Some(beside) = &self.beside else { return };
        row.push("verdicts", "", beside.verdicts as f64);
        row.push("differ", "", beside.differ as f64);
        row.push("beside_dropped", "", beside.dropped as f64);
        row.push("beside_marked", "", beside.marked as f64);
        row.push("beside_packets", "", f64::from(beside.queue.backlog().packets));
    }
}

impl<P: Pkt> Beside<P> {
    fn new(queue: Queue<P>, grain: Option<Dur>) -> Beside<P> {
        Beside { queue, grain, number: 0, verdicts: 0, differ: 0, dropped: 0, marked: 0 }
    }
    fn time(&self, now: Time, calls: Calls<P>) -> Time {
        let Some(grain) = self.grain.map(|grain| grain.as_ns().max(1)) else { return now };
        let kernel = (calls.now)().as_ns();
        Time::from_ns(kernel - kernel % grain)
    }
    fn compare(&mut self, theirs: &Verdict, ours: &Verdict) {
        self.verdicts += 1;
        self.dropped += ours.dropped.len() as u64;
        self.marked += ours.marked;
        if theirs.dropped != ours.dropped || theirs.sent != ours.sent {
            self.differ += 1;
        }
    }
}

/// What one call did with packets.
#[derive(Debug, Default)]
struct Verdict {
    /// Numbers of the packets that were dropped, in order.
    dropped: Vec<u32>,
    marked: u64,
    /// Number of the packet that left, and whether it has a mark.
    sent: Option<(u32, bool)>,
}

/// Notes what a discipline says, and passes it on if it is the kernel's.
struct Noting<'f, P> {
    calls: Calls<P>,
    // Not generic: the discipline beside is a `Queue` as well, and would be compiled for a fate around this one.
    fate: &'f mut dyn Fate<P>,
    passes: bool,
    verdict: Verdict,
}

impl<'f, P: Pkt> Noting<'f, P> {
    fn new(calls: Calls<P>, fate: &'f mut dyn Fate<P>, passes: bool) -> Noting<'f, P> {
        Noting { calls, fate, passes, verdict: Verdict::default() }
    }
}

impl<P: Pkt> Fate<P> for Noting<'_, P> {
    fn dropped(&mut self, pkt: P, reason: DropReason) {
        self.verdict.dropped.push((self.calls.number_of)(&pkt));
        if self.passes {
            self.fate.dropped(pkt, reason);
        }
    }
    fn marked(&mut self, pkt: &P, reason: MarkReason) {
        self.verdict.marked += 1;
        if self.passes {
            self.fate.marked(pkt, reason);
        }
    }
    fn random(&mut self) -> u64 {
        self.fate.random()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use alloc::string::ToString;
    use core::cell::RefCell;

    use haltere_queue::FlowKey;

    std::thread_local! {
        /// The queues of a kernel that holds two packets in each, first in, first out.
        static QUEUES: RefCell<Vec<VecDeque<Packet>>> = const { RefCell::new(Vec::new()) };
    }

    #[derive(Debug, Clone)]
    struct Packet(u32);

    impl Pkt for Packet {
        fn len(&self) -> u32 {
            100
        }
        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }
        fn set_ce(&mut self) {}
        fn flow(&self) -> FlowKey {
            FlowKey::default()
        }
    }

    fn calls() -> Calls<Packet> {
        Calls {
            make: |tc| match tc {
                "pfifo limit 2" => QUEUES.with_borrow_mut(|all| {
                    all.push(VecDeque::new());
                    Ok(all.len() as u32 - 1)
                }),
                _ => Err("one that the test has".into()),
            },
            enqueue: |queue, pkt, fate| {
                if on(queue, |q| q.len()) < 2 {
                    on(queue, |q| q.push_back(pkt));
                } else {
                    fate.dropped(pkt, DropReason::Overlimit);
                }
            },
            dequeue: |queue, _| on(queue, VecDeque::pop_front),
            backlog: |queue| Backlog { packets: on(queue, |q| q.len()) as u32, bytes: 0 },
            now: || Time::ZERO,
            number: |pkt, number| pkt.0 = number,
            number_of: |pkt| pkt.0,
            header: Clone::clone,
        }
    }

    fn on<T>(queue: u32, work: impl FnOnce(&mut VecDeque<Packet>) -> T) -> T {
        QUEUES.with_borrow_mut(|all| work(&mut all[queue as usize]))
    }

    /// The numbers of the packets that were dropped.
    struct Dropped(Vec<u32>);

    impl Fate<Packet> for Dropped {
        fn dropped(&mut self, pkt: Packet, _: DropReason) {
            self.0.push(pkt.0);
        }
        fn marked(&mut self, _: &Packet, _: MarkReason) {}
        fn random(&mut self) -> u64 {
            1
        }
    }

    fn link() -> LinkContext {
        LinkContext {
            rate: None,
            rtt: None,
            packet: haltere_units::Bytes::new(1500),
            seed: 7,
            outside: Default::default(),
        }
    }

    fn beside(limit: u32) -> KernelQueue {
        let beside = serde_json::json!({ "kind": "drop_tail", "limit": alloc::format!("{limit}p") });
        let beside = Some(Box::new(serde_json::from_value(beside).unwrap()));
        KernelQueue { tc: "pfifo limit 2".into(), beside, beside_grain: None }
    }

    /// Five packets come, then six are asked for.
    fn compared(limit: u32) -> (Vec<u32>, Probe) {
        let mut q = Kernel::new(&beside(limit), &link(), calls()).unwrap();
        let mut fate = Dropped(Vec::new());
        (0..5).for_each(|id| q.enqueue(Time::from_ns(id), Packet(0), &mut fate));
        assert_eq!(q.backlog().packets, 2);
        let sent: Vec<u32> = (0..6).filter_map(|i| q.dequeue(Time::from_ns(10 + i), &mut fate)).map(|p| p.0).collect();
        assert_eq!(sent, [1, 2], "the kernel's packets leave");
        let mut row = Probe::new();
        q.probe(&mut row);
        (fate.0, row)
    }

    #[test]
    fn the_same_discipline_gives_no_difference() {
        let (dropped, row) = compared(2);
        assert_eq!(dropped, [3, 4, 5]);
        assert_eq!(
            (row.get("verdicts"), row.get("differ"), row.get("beside_dropped")),
            (Some(11.0), Some(0.0), Some(3.0))
        );
    }

    #[test]
    fn another_one_differs_where_its_verdicts_do() {
        // The third packet is kept, and leaves after the two that the kernel has.
        let (dropped, row) = compared(3);
        assert_eq!(dropped, [3, 4, 5], "only the kernel's drops count");
        // The third packet on arrival, and when it leaves.
        assert_eq!(row.get("differ"), Some(2.0));
    }

    #[test]
    fn what_the_kernel_cannot_make_is_refused() {
        let params = KernelQueue { tc: "cake".into(), ..KernelQueue::default() };
        let error = Kernel::new(&params, &link(), calls()).unwrap_err();
        assert_eq!(error.to_string(), "tc must be one that the test has, got `cake`");
    }
}
