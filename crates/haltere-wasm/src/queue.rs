//! A queue discipline that is a module.

use crate::abi;
use crate::machine::{Failure, Handler, Machine};
use crate::module::Module;
use haltere_queue::LinkContext;
use haltere_queue::outside::{OutsideQueue, PacketView, Verdicts};
use haltere_units::outside::{Outside, Params, Reporter};
use haltere_units::{Bytes, Dur, Probe, Rate, Time};
use wasmi::TypedFunc;

/// The link with which a module is tried before the run.
pub(crate) const TRIAL: LinkContext = LinkContext {
    rate: Some(Rate::from_mbps(10)),
    rtt: Some(Dur::from_ms(20)),
    packet: Bytes::new(1514),
    seed: 1,
    outside: Outside::NONE,
};

/// A queue discipline that is a module.
pub(crate) struct Queue {
    machine: Machine,
    enqueue: TypedFunc<(), ()>,
    dequeue: TypedFunc<(), ()>,
    on_timer: Handler,
    next_timer: Option<Time>,
    ready_at: Option<Time>,
    /// Seed of the hashes of flows.
    seed: u64,
    /// Its random numbers have no seed yet: the queue's stream is available from the first packet on.
    is_unseeded: bool,
    reporter: Reporter,
    is_broken: bool,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").field("module", &self.machine.module).finish_non_exhaustive()
    }
}

/// A time of the answer: -1 stands for none.
fn time(value: i64) -> Option<Time> {
    match u64::try_from(value) {
        Err(_) => None,
        Ok(_) if value == abi::UNLIMITED => Some(Time::NEVER),
        Ok(ns) => Some(Time::from_ns(ns)),
    }
}

impl Queue {
    /// An empty queue of that module on that link; `values` are those of
    /// [`About::values`](crate::about::About::values).
    pub fn new(module: &Module, params: &Params, values: &[f64], link: &LinkContext) -> Result<Queue, String> {
        let mut machine = Machine::new(module, values, abi::QUEUE_ANSWER.fields.len(), link.seed)?;
        let needed = |name: &str| machine.handler(name).expect("checked when the module was read");
        let (start, enqueue, dequeue) = (needed("start"), needed("enqueue"), needed("dequeue"));
        let on_timer = machine.handler("on_timer");
        machine.call(start, &abi::link(link)).map_err(|error| Failure::call("start", &error, None).to_string())?;
        let mut queue = Queue {
            machine,
            enqueue,
            dequeue,
            on_timer,
            next_timer: None,
            ready_at: None,
            seed: link.seed,
            is_unseeded: module.0.draws,
            reporter: Reporter::new(params, &link.outside),
            is_broken: false,
        };
        queue.read();
        match (queue.next_timer, queue.on_timer) {
            (Some(_), None) => Err("next_timer must be -1 in a module without `on_timer`, got a time".to_owned()),
            _ => Ok(queue),
        }
    }

    /// Reads the fields of [`abi::QUEUE_ANSWER`]: the timers are kept, and the next packet's number is returned.
    #[inline]
    fn read(&mut self) -> i64 {
        let [next, next_timer, ready_at] = self.machine.answers();
        (self.next_timer, self.ready_at) = (time(next_timer), time(ready_at));
        next
    }

    /// Calls the module, which may decide about packets, and carries out its decisions.
    #[inline]
    fn ask<const FIELDS: usize>(
        &mut self,
        handler: TypedFunc<(), ()>,
        event: &[i64; FIELDS],
        arrival: Option<&PacketView>,
        verdicts: &mut dyn Verdicts,
    ) -> Result<(), wasmi::Error> {
        if std::mem::take(&mut self.is_unseeded) {
            self.machine.host().seed(verdicts.random());
        }
        self.machine.host().decisions.open(arrival);
        let outcome = self.machine.call(handler, event);
        self.machine.host().decisions.close(verdicts);
        outcome
    }

    /// Reads the answer of a call, or ends the run if the call failed. Returns the number of the next packet; -1: none.
    #[inline]
    fn settle(&mut self, export: &'static str, now: Time, outcome: Result<(), wasmi::Error>) -> i64 {
        match outcome {
            Ok(()) => self.read(),
            Err(error) => self.broken(export, now, &error),
        }
    }

    #[cold]
    fn broken(&mut self, export: &'static str, now: Time, error: &wasmi::Error) -> i64 {
        self.is_broken = true;
        // From now on no packet is withheld and no timer is set.
        self.ready_at = self.ready_at.map(|_| now);
        self.next_timer = self.next_timer.map(|_| Time::NEVER);
        let failure = Failure::call(export, error, Some(now));
        self.reporter.raise(failure.name, failure.rule, failure.got);
        -1
    }
}

impl OutsideQueue for Queue {
    fn enqueue(&mut self, now: Time, packet: &PacketView, verdicts: &mut dyn Verdicts) {
        if !self.is_broken {
            let event = abi::enqueue(now, packet, verdicts.backlog(), self.seed);
            let outcome = self.ask(self.enqueue, &event, Some(packet), verdicts);
            self.settle("enqueue", now, outcome);
        }
    }
    fn dequeue(&mut self, now: Time, verdicts: &mut dyn Verdicts) -> Option<u64> {
        if self.is_broken {
            return None;
        }
        let event = abi::dequeue(now, verdicts.backlog());
        let outcome = self.ask(self.dequeue, &event, None, verdicts);
        let chosen = u64::try_from(self.settle("dequeue", now, outcome)).ok()?;
        self.machine.host().decisions.leave(chosen);
        Some(chosen)
    }
    fn ready_at(&self) -> Option<Time> {
        self.ready_at
    }
    fn next_timer(&self) -> Option<Time> {
        self.next_timer
    }
    fn on_timer(&mut self, now: Time) {
        if let (Some(on_timer), false) = (self.on_timer, self.is_broken) {
            let outcome = self.machine.call(on_timer, &abi::timer(now));
            self.settle("on_timer", now, outcome);
        }
    }
    fn keeps_flow_order(&self) -> bool {
        self.machine.module.about().keeps_flow_order
    }
    fn probe(&self, row: &mut Probe) {
        self.machine.state().for_each(|(name, unit, value)| row.push(name, unit, value));
    }
    fn clone_box(&self) -> Box<dyn OutsideQueue> {
        let machine = self.machine.copy();
        let needed = |name: &str| machine.handler(name).expect("checked when the module was read");
        let (enqueue, dequeue) = (needed("enqueue"), needed("dequeue"));
        let on_timer = machine.handler("on_timer");
        Box::new(Queue { machine, enqueue, dequeue, on_timer, reporter: self.reporter.clone(), ..*self })
    }
}
