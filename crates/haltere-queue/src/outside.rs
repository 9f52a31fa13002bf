//! Queue disciplines from outside the tree: how a language makes them, and the registry's variant for them.
//!
//! The discipline sees packets by [`PacketView`] and names them by number. The packets themselves stay here, so a
//! discipline from outside can neither lose nor invent one unnoticed. One that breaks its contract ends the run with a
//! [fault](haltere_units::outside::Outside::raise): it drops, marks or sends a packet that does not wait, or sends
//! nothing although packets wait and it withholds none. From then on the packets leave in the order in which they came,
//! until the run has ended.

use crate::{Backlog, DropReason, Ecn, Fate, FlowKey, LinkContext, MarkReason, Pkt, Qdisc, Queue};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use core::any::Any;
use core::fmt::{Debug, Display};
use haltere_units::outside::{About, Location, Reporter};
use haltere_units::{ParamError, Probe, Time};

pub use haltere_units::outside::Params;

/// Makes the disciplines of one language.
pub trait Maker: Send + Sync {
    /// The description of a source, without a link. The laboratory asks for each place of an experiment that names it,
    /// so a maker keeps what it has read for as long as the code is the same. The error's name is `kind`; its hint may
    /// name the nearest classes.
    fn about(&self, at: Location<'_>) -> Result<About, ParamError>;
    /// An empty discipline on that link. `params` were checked against [`About::schema`]. A maker that reads the code
    /// again [checks its digest](Params::check_digest).
    fn make(&self, params: &Params, link: &LinkContext) -> Result<Box<dyn OutsideQueue>, ParamError>;
}

/// What a discipline from outside sees of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacketView {
    /// Its number: the first packet of a queue is 0, the next one 1. By it the discipline names the packet.
    pub id: u64,
    /// Length on the link in bytes, headers and framing included.
    pub len: u32,
    /// The ECN field at its arrival.
    pub ecn: Ecn,
    /// The flow to which the packet belongs.
    pub flow: FlowKey,
    /// Linux's packet priority, 0 to 15, 0 for best effort.
    pub priority: u8,
    /// The DSCP of its IP header, 0 for best effort.
    pub dscp: u8,
    /// Offset of its first payload byte in its stream, if the header shows it.
    pub stream_offset: Option<u64>,
}

impl PacketView {
    /// The view of a packet of that number.
    pub fn of<P: Pkt>(id: u64, pkt: &P) -> PacketView {
        PacketView {
            id,
            len: pkt.len(),
            ecn: pkt.ecn(),
            flow: pkt.flow(),
            priority: pkt.priority(),
            dscp: pkt.dscp(),
            stream_offset: pkt.stream_offset(),
        }
    }
}

/// What a discipline from outside may do to packets that wait, the arriving one included.
pub trait Verdicts {
    /// Drops the packet of that number: it waits no longer. The reason is for the counters.
    fn drop(&mut self, id: u64, reason: DropReason);
    /// Sets the packet's ECN field to CE. False if it is not ECN-capable: drop it instead.
    fn mark(&mut self, id: u64, reason: MarkReason) -> bool;
    /// 64 random bits from the stream of this queue.
    fn random(&mut self) -> u64;
    /// Packets and bytes that wait.
    fn backlog(&self) -> Backlog;
}

/// A discipline from outside the tree. Each packet that [`enqueue`](OutsideQueue::enqueue) was given waits until it is
/// dropped or sent.
///
/// The contract is that of [`Qdisc`]. A call that fails [raises](haltere_units::outside::Outside::raise) a fault and
/// returns. Names and units that [`probe`](OutsideQueue::probe) gives live as long as the process: a maker leaks each
/// of them once.
pub trait OutsideQueue: Debug + Send {
    /// A packet arrives. It waits from now on, unless it is dropped at once.
    fn enqueue(&mut self, now: Time, packet: &PacketView, verdicts: &mut dyn Verdicts);
    /// The link can send: the number of the next packet. `None` if none is left after drops, or none may leave
    /// [yet](OutsideQueue::ready_at).
    fn dequeue(&mut self, now: Time, verdicts: &mut dyn Verdicts) -> Option<u64>;
    /// When the next packet may leave, of a discipline that withholds packets: see [`Qdisc::ready_at`].
    fn ready_at(&self) -> Option<Time> {
        None
    }
    /// When [`on_timer`](OutsideQueue::on_timer) is to be called next: see [`Qdisc::next_timer`].
    fn next_timer(&self) -> Option<Time> {
        None
    }
    /// The time of [`next_timer`](OutsideQueue::next_timer) has come.
    fn on_timer(&mut self, _now: Time) {}
    /// False if packets of one flow may overtake each other.
    fn keeps_flow_order(&self) -> bool {
        true
    }
    /// Shows the inner variables, for time series.
    fn probe(&self, _row: &mut Probe) {}
    /// A copy with the same state.
    fn clone_box(&self) -> Box<dyn OutsideQueue>;
    /// The discipline itself, for a caller that knows its type: a run in steps sets what it decides. `None`: it is not
    /// shown.
    fn as_any_mut(&mut self) -> Option<&mut dyn Any> {
        None
    }
}

/// A discipline from outside the tree with its packets.
#[derive(Debug)]
pub struct Outside<P> {
    discipline: Box<dyn OutsideQueue>,
    waiting: Waiting<P>,
    reporter: Reporter,
    /// It broke its contract: packets leave in order of arrival.
    is_broken: bool,
}

impl<P: Clone> Clone for Outside<P> {
    fn clone(&self) -> Outside<P> {
        Outside {
            discipline: self.discipline.clone_box(),
            waiting: self.waiting.clone(),
            reporter: self.reporter.clone(),
            is_broken: self.is_broken,
        }
    }
}

impl<P: Pkt> Outside<P> {
    /// An empty queue under the discipline of these parameters.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Outside<P>, ParamError> {
        let discipline = link.outside.find::<dyn Maker>(&params.language)?.make(params, link)?;
        let reporter = Reporter::new(params, &link.outside);
        Ok(Outside { discipline, waiting: Waiting::default(), reporter, is_broken: false })
    }
    /// The discipline without its packets.
    pub fn discipline_mut(&mut self) -> &mut dyn OutsideQueue {
        &mut *self.discipline
    }
    #[cold]
    fn broken(&mut self, call: &str, rule: &str, got: impl Display) {
        self.is_broken = true;
        self.reporter.raise(call, rule, got);
    }
    /// After `call`: whether it named a packet that does not wait.
    fn check(&mut self, call: &str, unknown: Option<Unknown>) {
        if let Some(Unknown { verdict, id }) = unknown {
            self.broken(call, "name packets that wait", format!("{verdict} of packet {id}, which does not"));
        }
    }
    /// Nothing came out: whether that may be.
    fn check_empty(&mut self) {
        let backlog = self.waiting.backlog;
        match self.discipline.ready_at() {
            None if backlog.packets > 0 => {
                let got = format!("none while {} packets of {} bytes wait", backlog.packets, backlog.bytes);
                self.broken("dequeue", "give a packet, or drop those that wait", got);
            }
            Some(Time::NEVER) if backlog.packets > 0 => {
                self.broken("ready_at", "give a time while packets wait", format!("none with {}", backlog.packets));
            }
            _ => {}
        }
    }
}

impl<P: Pkt> Queue<P> {
    /// The discipline, if it is from outside the tree.
    pub fn outside_mut(&mut self) -> Option<&mut dyn OutsideQueue> {
        if let Queue::Outside(outside) = self { Some(outside.discipline_mut()) } else { None }
    }
}

impl<P: Pkt> Qdisc<P> for Outside<P> {
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        let view = self.waiting.push(pkt);
        if self.is_broken {
            return;
        }
        let mut desk = Desk::new(&mut self.waiting, fate);
        self.discipline.enqueue(now, &view, &mut desk);
        let unknown = desk.unknown;
        self.check("enqueue", unknown);
    }
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        if !self.is_broken {
            let mut desk = Desk::new(&mut self.waiting, fate);
            let chosen = self.discipline.dequeue(now, &mut desk);
            let unknown = desk.unknown;
            self.check("dequeue", unknown);
            match chosen.map(|id| (id, self.waiting.take(id))) {
                Some((_, Some(pkt))) => return Some(pkt),
                Some((id, None)) => self.check("dequeue", Some(Unknown { verdict: "the number", id })),
                None if self.is_broken => {}
                None => self.check_empty(),
            }
        }
        if self.is_broken { self.waiting.oldest() } else { None }
    }
    fn backlog(&self) -> Backlog {
        self.waiting.backlog
    }
    fn ready_at(&self) -> Option<Time> {
        let ready = self.discipline.ready_at()?;
        Some(match (self.waiting.backlog.packets, self.is_broken) {
            (0, _) => Time::NEVER,
            (_, true) => Time::ZERO,
            (_, false) => ready,
        })
    }
    fn next_timer(&self) -> Option<Time> {
        let next = self.discipline.next_timer()?;
        Some(if self.is_broken { Time::NEVER } else { next })
    }
    fn on_timer(&mut self, now: Time) {
        self.discipline.on_timer(now);
        if self.discipline.next_timer().is_some_and(|next| next <= now) && !self.is_broken {
            self.broken("on_timer", "set a later timer", format!("one at {now} or before"));
        }
    }
    fn keeps_flow_order(&self) -> bool {
        self.discipline.keeps_flow_order()
    }
    fn probe(&self, row: &mut Probe) {
        self.discipline.probe(row);
    }
}

/// The packets that wait, by number.
#[derive(Debug, Clone)]
struct Waiting<P> {
    /// Packets from number `first` on; the first of them waits.
    packets: VecDeque<Option<P>>,
    first: u64,
    backlog: Backlog,
}

impl<P> Default for Waiting<P> {
    fn default() -> Waiting<P> {
        Waiting { packets: VecDeque::new(), first: 0, backlog: Backlog::default() }
    }
}

impl<P: Pkt> Waiting<P> {
    fn push(&mut self, pkt: P) -> PacketView {
        let view = PacketView::of(self.first + self.packets.len() as u64, &pkt);
        self.backlog.add(view.len);
        self.packets.push_back(Some(pkt));
        view
    }
    fn get_mut(&mut self, id: u64) -> Option<&mut P> {
        let at = usize::try_from(id.checked_sub(self.first)?).ok()?;
        self.packets.get_mut(at)?.as_mut()
    }
    fn take(&mut self, id: u64) -> Option<P> {
        let at = usize::try_from(id.checked_sub(self.first)?).ok()?;
        let pkt = self.packets.get_mut(at)?.take()?;
        self.backlog.remove(pkt.len());
        while let Some(None) = self.packets.front() {
            self.packets.pop_front();
            self.first += 1;
        }
        Some(pkt)
    }
    fn oldest(&mut self) -> Option<P> {
        self.take(self.first)
    }
}

/// A verdict on a packet that does not wait.
#[derive(Debug, Clone, Copy)]
struct Unknown {
    verdict: &'static str,
    id: u64,
}

/// Carries out the verdicts of one call.
struct Desk<'a, P, F> {
    waiting: &'a mut Waiting<P>,
    fate: &'a mut F,
    unknown: Option<Unknown>,
}

impl<'a, P, F> Desk<'a, P, F> {
    fn new(waiting: &'a mut Waiting<P>, fate: &'a mut F) -> Desk<'a, P, F> {
        Desk { waiting, fate, unknown: None }
    }
}

impl<P: Pkt, F: Fate<P>> Verdicts for Desk<'_, P, F> {
    fn drop(&mut self, id: u64, reason: DropReason) {
        match self.waiting.take(id) {
            Some(pkt) => self.fate.dropped(pkt, reason),
            None => self.unknown = self.unknown.or(Some(Unknown { verdict: "a drop", id })),
        }
    }
    fn mark(&mut self, id: u64, reason: MarkReason) -> bool {
        match self.waiting.get_mut(id) {
            Some(pkt) => crate::mark(pkt, reason, self.fate),
            None => {
                self.unknown = self.unknown.or(Some(Unknown { verdict: "a mark", id }));
                false
            }
        }
    }
    fn random(&mut self) -> u64 {
        self.fate.random()
    }
    fn backlog(&self) -> Backlog {
        self.waiting.backlog
    }
}

#[cfg(test)]
#[path = "outside_tests.rs"]
mod tests;
