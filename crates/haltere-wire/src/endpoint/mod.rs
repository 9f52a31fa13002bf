//! The endpoints: one thread that drives the sockets of every flow, each socket in its host's namespace.
//!
//! The kernel does TCP; the agent connects, writes, reads and counts, sends datagrams and pings by the clock,
//! and reads `TCP_INFO` at the plan's interval. Model: an epoll loop with a heap of deadlines.
//! Units: times since the start of the run. Known problems: a write is as large as the socket takes, so a send
//! buffer is always full, as with iperf3.
//!
//! `kinds!` below is the registry: one line and one file for each traffic kind that the wire has. The file has a
//! function `open`, which gives the [`Endpoint`] of a flow. A kind without a line is refused before the run. What the
//! kernel must be able to do or be set to for a kind is in `check` and `sysctls`.

mod exchange;
pub(crate) mod ftp_server;
mod socket;
mod stream;

use crate::clock::{Clock, Monotonic};
use crate::control::{Control, Manner, place};
use crate::error::{Doing, WireError};
use crate::mptcp::{self, Role};
use crate::namespace::{Namespace, Topology};
use crate::program::Place;
use haltere_plan::app::arrivals::ArrivalsPlan;
use haltere_plan::app::unknown_to_world;
use haltere_plan::arrivals::set_ideals;
use haltere_plan::plan::{AppPlan, FlowPlan, PathPlan};
use haltere_plan::record::{Completion, FlowRecord, FlowSample, PathSample};
use haltere_plan::rng::Rng;
use haltere_plan::{Fault, Histogram, Plan, Record, Routes};
use haltere_transport::Info;
use haltere_units::{Dur, ParamError, Time};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::{AsFd, BorrowedFd};

/// The end of a step of an endpoint.
type Done = Result<(), WireError>;

/// One flow's sockets, and what its applications do with them.
trait Endpoint: std::fmt::Debug {
    /// The flow's start, which was due at `at`, has come.
    fn start(&mut self, context: &Context<'_>, at: Time, observed: &mut Observed) -> Done;
    /// The time given to [`Context::tick_at`] has come.
    fn tick(&mut self, _context: &Context<'_>, _at: Time, _observed: &mut Observed) -> Done {
        Ok(())
    }
    /// The time given to [`Context::join_at`] has come.
    fn join(&mut self, _context: &Context<'_>) -> Done {
        Ok(())
    }
    /// A watched descriptor is ready.
    fn ready(&mut self, context: &Context<'_>, side: Side, events: EpollFlags, observed: &mut Observed) -> Done;
    /// The application stops. `tick` is not called again.
    fn stop(&mut self, _context: &Context<'_>) {}
    /// The sender's TCP endpoint.
    fn sender_info(&self) -> Option<Info> {
        None
    }
    /// The sender's TCP endpoint is in recovery.
    fn is_in_recovery(&self) -> bool {
        false
    }
    /// Bytes delivered so far, if the endpoint counts them on demand.
    fn received(&self) -> Option<u64> {
        None
    }
    /// It has samples in the time series of flows though its sender is not one TCP endpoint.
    fn is_sampled(&self) -> bool {
        false
    }
    /// Samples its paths.
    fn sample_paths(&self, _at: Time, _flow: u32, _paths: &mut Vec<PathSample>) {}
    /// The run is over: completes the record.
    fn finish(&mut self, _observed: &mut Observed) {}
}

/// Where a flow's sockets are opened.
#[derive(Debug)]
struct Opening<'p> {
    plan: &'p Plan,
    topology: &'p Topology,
    flow: &'p FlowPlan,
    /// The flow's place in the plan.
    index: usize,
    /// The random seed of the run.
    seed: u64,
    /// The sender's host.
    from: &'p Namespace,
    /// The receiver's host.
    to: &'p Namespace,
    manner: &'p Manner,
    programs: &'p Place,
}

impl<'p> Opening<'p> {
    /// The receiver's port.
    fn port(&self) -> u16 {
        FIRST_PORT + self.index as u16
    }
    /// The host with that node.
    fn host(&self, node: usize) -> Result<&'p Namespace, WireError> {
        host(self.flow, node, self.topology)
    }
    /// The random stream of the flow's application.
    fn source_rng(&self) -> Rng {
        self.flow.stream(self.seed, "source")
    }
    /// A parameter of the flow's traffic entry is wrong.
    fn refused(&self, error: ParamError) -> WireError {
        WireError::Refused(Box::new(Fault::param(place(self.flow), error)))
    }
}

/// The endpoint of a flow.
type Opened<'p> = Result<Box<dyn Endpoint + 'p>, WireError>;

macro_rules! kinds {
    ($($variant:ident, $module:ident);+ $(;)?) => {
        $(mod $module;)+

        /// The kinds that the wire has.
        const KINDS: &[&str] = &[$(stringify!($module)),+];

        fn is_known(app: &AppPlan) -> bool {
            matches!(app, $(AppPlan::$variant(_))|+)
        }

        /// Opens the sockets of a flow.
        fn open<'p>(at: Opening<'p>) -> Opened<'p> {
            match &at.flow.app {
                $(AppPlan::$variant(plan) => $module::open(plan, at),)+
                #[allow(unreachable_patterns, reason = "the wire need not have every kind")]
                _ => Err(unknown(at.flow)),
            }
        }
    };
}

kinds! {
    Bulk, bulk;
    OnOff, on_off;
    Cbr, cbr;
    Ping, ping;
    Ftp, ftp;
    Multipath, multipath;
    Arrivals, arrivals;
    Web, web;
    Rpc, rpc;
    Video, video;
    Voip, voip;
    Program, program;
}

/// Whether the wire has the kind of this flow, and can do what its plan asks.
pub(crate) fn check(flow: &FlowPlan) -> Done {
    if flow.dscp != 0 {
        let fault = Fault::new(place(flow), "dscp", "left out on the wire", flow.dscp);
        return Err(WireError::Refused(Box::new(fault)));
    }
    match &flow.app {
        app if !is_known(app) => Err(unknown(flow)),
        AppPlan::Multipath(plan) => mptcp::check(&place(flow), plan),
        AppPlan::Voip(plan) => voip::check(plan, &place(flow)),
        _ => Ok(()),
    }
}

/// What the kernel of a host with that role in this flow must be set to beside its TCP: names below `/proc/sys/net` and
/// values.
pub(crate) fn sysctls(flow: &FlowPlan, role: Role) -> Vec<(String, String)> {
    if matches!(flow.app, AppPlan::Multipath(_)) { mptcp::sysctls(role) } else { Vec::new() }
}

/// The hosts of a flow: the nodes of each, and what it does there.
pub(crate) fn hosts(flow: &FlowPlan) -> Vec<(Vec<usize>, Role)> {
    if let Some(process) = flow.app.arrivals() {
        let (from, to) = process.sides();
        let one = |role| move |node| (vec![node], role);
        return from.into_iter().map(one(Role::Opens)).chain(to.into_iter().map(one(Role::Accepts))).collect();
    }
    let interfaces = |own: usize, of: fn(&PathPlan) -> usize| {
        let mut nodes: Vec<usize> = flow.app.paths().iter().map(of).collect();
        nodes.sort_unstable();
        nodes.dedup();
        if nodes.is_empty() { vec![own] } else { nodes }
    };
    vec![(interfaces(flow.from, |path| path.from), Role::Opens), (interfaces(flow.to, |path| path.to), Role::Accepts)]
}

/// The flow's own ends. Of flows that arrive they count for nothing: the first of each side.
fn ends(flow: &FlowPlan) -> (usize, usize) {
    let sides = flow.app.arrivals().map(ArrivalsPlan::sides);
    let first = sides.and_then(|(from, to)| Some((*from.first()?, *to.first()?)));
    first.unwrap_or((flow.from, flow.to))
}

pub use program::names as host_names;

/// Refuses a kind that has no line in the registry.
fn unknown(flow: &FlowPlan) -> WireError {
    // The plan of an arrival process stands for three kinds of entries.
    let plain = KINDS.iter().copied().filter(|kind| *kind != "arrivals");
    let known: Vec<&str> = plain.chain(["poisson", "incast", "replay"]).collect();
    let fault = unknown_to_world(&place(flow), "on the wire", &known, &flow.app);
    WireError::Refused(Box::new(fault))
}

/// Low bits of senders' initial sequence numbers that are zero, so that a router can tell a packet's place in its
/// stream.
pub const ISN_BITS: u8 = socket::ISN_BITS_OF_SENDERS;

/// The longest sleep between two checks of the cancel flag.
const ATTENTION: Dur = Dur::from_ms(50);
/// First port of the flows' receivers.
pub(crate) const FIRST_PORT: u16 = haltere_plan::ports::FIRST_SERVER;

/// Which of a flow's descriptors is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Sender,
    Listener,
    Receiver,
}

/// Where the part is in an event's number.
const PART: u32 = 32;

const SIDES: [Side; 3] = [Side::Sender, Side::Listener, Side::Receiver];

/// What happens at a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Warmup,
    Start(usize),
    Tick(usize),
    Join(usize),
    Stop(usize),
    Sample,
}

/// The agent as one flow sees it.
struct Context<'a> {
    epoll: &'a Epoll,
    due: &'a RefCell<Deadlines>,
    flow: usize,
    /// Of a flow with several connections: which one, as it was watched.
    part: usize,
    now: Time,
}

impl Context<'_> {
    fn watch(&self, fd: BorrowedFd<'_>, side: Side, flags: EpollFlags) -> Done {
        self.watch_part(fd, 0, side, flags)
    }
    fn watch_part(&self, fd: BorrowedFd<'_>, part: usize, side: Side, flags: EpollFlags) -> Done {
        let event = EpollEvent::new(flags, ((part << PART) | (self.flow * SIDES.len() + side as usize)) as u64);
        self.epoll.add(fd, event).doing("watching a socket")
    }
    fn forget(&self, fd: BorrowedFd<'_>) {
        // A descriptor that is not watched any more is what was wanted.
        let _ = self.epoll.delete(fd);
    }
    /// Calls [`Endpoint::tick`] at that time, unless the flow has stopped by then.
    fn tick_at(&self, at: Time) {
        self.due.borrow_mut().push(Reverse((at, Due::Tick(self.flow))));
    }
    /// Calls [`Endpoint::join`] at that time.
    fn join_at(&self, at: Time) {
        self.due.borrow_mut().push(Reverse((at, Due::Join(self.flow))));
    }
    /// The flow's line of the record.
    fn line<'o>(&self, observed: &'o mut Observed) -> &'o mut FlowRecord {
        &mut observed.flows[self.flow]
    }
}

/// Deadlines, the next one on top.
type Deadlines = BinaryHeap<Reverse<(Time, Due)>>;

/// The agent's record, without links.
pub type Observed = Record;

/// The sockets of all flows of a plan.
#[derive(Debug)]
pub struct Agent<'p> {
    plan: &'p Plan,
    endpoints: Vec<Box<dyn Endpoint + 'p>>,
    epoll: Epoll,
    due: RefCell<Deadlines>,
    observed: Observed,
    manner: &'p Manner,
    /// By flow: it was in recovery at the last sample, and the episodes seen so far.
    recoveries: Vec<(bool, u64)>,
    late: Histogram,
}

impl<'p> Agent<'p> {
    /// Opens every socket in its host's namespace; nothing is sent yet.
    pub fn prepare(plan: &'p Plan, topology: &'p Topology, control: &'p Control<'_>) -> Result<Agent<'p>, WireError> {
        let (manner, programs) = (&control.manner, &control.programs);
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).doing("epoll")?;
        let mut due = Deadlines::new();
        let mut endpoints = Vec::new();
        for (index, flow) in plan.flows.iter().enumerate() {
            let (from, to) = ends(flow);
            let (from, to) = (host(flow, from, topology)?, host(flow, to, topology)?);
            endpoints.push(open(Opening { plan, topology, flow, index, seed: plan.seed, from, to, manner, programs })?);
            due.push(Reverse((flow.start, Due::Start(index))));
            due.extend(flow.stop.map(|stop| Reverse((stop, Due::Stop(index)))));
        }
        due.push(Reverse((plan.warmup, Due::Warmup)));
        if plan.measure.flows.is_some() {
            due.push(Reverse((Time::ZERO, Due::Sample)));
        }
        let (flows, measured) = (vec![FlowRecord::default(); plan.flows.len()], (plan.warmup, plan.measured_until()));
        let observed = Observed { flows, measured, ..Observed::default() };
        let recoveries = vec![(false, 0); plan.flows.len()];
        let (due, late) = (RefCell::new(due), Histogram::default());
        Ok(Agent { plan, endpoints, epoll, due, observed, manner, recoveries, late })
    }
    /// Runs all flows until the plan's end, or until it is cancelled.
    pub fn run(&mut self, clock: &mut Monotonic, control: &Control<'_>) -> Done {
        let mut events = vec![EpollEvent::empty(); 256];
        loop {
            let now = clock.now();
            if now >= self.plan.end {
                break;
            }
            control.at(now);
            if control.is_stopped() {
                return Err(WireError::Interrupted);
            }
            while let Some((at, due)) = self.pop(now) {
                self.late.add(now.since(at));
                self.on_due(at, now, due)?;
            }
            if self.on_all_ready(now, &mut events)? == 0 {
                let next = self.due.borrow().peek().map_or(self.plan.end, |Reverse((at, _))| *at);
                let until = next.min(now + ATTENTION).min(self.plan.end);
                clock.sleep(Some(until), &[self.epoll.0.as_fd()]).doing("sleeping")?;
            }
        }
        // What was due and is not done any more was late by as much at the least.
        let undone = self.due.borrow().iter().map(|Reverse((at, _))| *at).filter(|at| *at < self.plan.end).min();
        undone.into_iter().for_each(|at| self.late.add(self.plan.end.since(at)));
        Ok(())
    }
    /// The network has ended: what came from it before is read, and counts as of the run's end.
    pub fn read_the_rest(&mut self) -> Done {
        let mut events = vec![EpollEvent::empty(); 256];
        while self.on_all_ready(self.plan.end, &mut events)? > 0 {}
        Ok(())
    }
    /// What is due next, if it is due by now.
    fn pop(&self, now: Time) -> Option<(Time, Due)> {
        let mut due = self.due.borrow_mut();
        due.peek().filter(|Reverse((at, _))| *at <= now)?;
        due.pop().map(|Reverse(due)| due)
    }
    fn on_due(&mut self, at: Time, now: Time, due: Due) -> Done {
        let context = |flow| Context { epoll: &self.epoll, due: &self.due, flow, part: 0, now };
        match due {
            Due::Warmup => self.warm(),
            Due::Sample => {
                self.sample(at);
                let next = self.plan.measure.flows.map(|every| Reverse((at + every, Due::Sample)));
                self.due.borrow_mut().extend(next);
            }
            Due::Start(flow) | Due::Tick(flow) if self.plan.flows[flow].stop.is_some_and(|stop| at >= stop) => {}
            Due::Start(flow) => self.endpoints[flow].start(&context(flow), at, &mut self.observed)?,
            Due::Tick(flow) => self.endpoints[flow].tick(&context(flow), at, &mut self.observed)?,
            Due::Join(flow) => self.endpoints[flow].join(&context(flow))?,
            Due::Stop(flow) => self.endpoints[flow].stop(&context(flow)),
        }
        Ok(())
    }
    /// Handles the sockets that are ready; how many.
    fn on_all_ready(&mut self, now: Time, events: &mut [EpollEvent]) -> Result<usize, WireError> {
        let ready =
            self.epoll.wait(events, EpollTimeout::ZERO).or_else(not_interrupted).doing("waiting for sockets")?;
        events[..ready].iter().try_for_each(|event| self.on_ready(now, event))?;
        Ok(ready)
    }
    fn on_ready(&mut self, now: Time, event: &EpollEvent) -> Done {
        let (part, token) = ((event.data() >> PART) as usize, event.data() as u32 as usize);
        let (flow, side) = (token / SIDES.len(), SIDES[token % SIDES.len()]);
        let context = Context { epoll: &self.epoll, due: &self.due, flow, part, now };
        self.endpoints[flow].ready(&context, side, event.events(), &mut self.observed)
    }
    /// The sender's TCP endpoint, with the recovery episodes that samples showed.
    fn sender_info(&self, flow: usize) -> Option<Info> {
        let mut info = self.endpoints[flow].sender_info()?;
        if self.manner.sampled_recoveries {
            info.recoveries = self.recoveries[flow].1;
        }
        Some(info)
    }
    fn look_for_recovery(&mut self, flow: usize) {
        let now = self.endpoints[flow].is_in_recovery();
        let (before, count) = &mut self.recoveries[flow];
        *count += u64::from(now && !*before);
        *before = now;
    }
    /// Updates the counters that are only read on demand.
    fn count(&mut self) {
        for (record, endpoint) in self.observed.flows.iter_mut().zip(&self.endpoints) {
            record.received = endpoint.received().unwrap_or(record.received);
        }
    }
    fn warm(&mut self) {
        self.count();
        for flow in 0..self.endpoints.len() {
            let sender = self.sender_info(flow);
            let record = &mut self.observed.flows[flow];
            record.sender_at_warmup = sender.as_ref().map(Into::into);
            // What has come so far is taken off again at the end.
            record.received_after_warmup = record.received;
        }
    }
    fn sample(&mut self, at: Time) {
        self.count();
        for flow in 0..self.endpoints.len() {
            if self.plan.flows[flow].start > at {
                continue;
            }
            if self.manner.sampled_recoveries {
                self.look_for_recovery(flow);
            }
            let stand_in = self.endpoints[flow].is_sampled().then(Info::default);
            if let Some(sender) = self.sender_info(flow).or(stand_in) {
                let (received, flow) = (self.observed.flows[flow].received, flow as u32);
                self.observed.flow_series.push(FlowSample { at, flow, received, sender, control: Vec::new() });
            }
            self.endpoints[flow].sample_paths(at, flow as u32, &mut self.observed.path_series);
        }
    }
    /// Completes the record, and says how late the agent did what was due.
    pub fn finish(mut self) -> (Observed, Histogram) {
        self.count();
        for flow in 0..self.endpoints.len() {
            self.observed.flows[flow].sender = self.sender_info(flow);
            let endpoint = &mut self.endpoints[flow];
            endpoint.sample_paths(self.plan.end, flow as u32, &mut self.observed.path_series);
            endpoint.finish(&mut self.observed);
        }
        self.observed.tasks.sort_by_key(|task| (task.start, task.flow));
        self.order_completions();
        (self.observed, self.late)
    }
    /// Flows that arrived in order of their end, then the responses to requests of each flow.
    fn order_completions(&mut self) {
        let (plan, rows) = (self.plan, &mut self.observed.completions);
        let arrived = |row: &Completion| plan.flows[row.flow as usize].app.arrivals().is_some();
        rows.sort_by_key(
            |row| if arrived(row) { (0, row.end, row.start) } else { (1 + row.flow, Time::ZERO, Time::ZERO) },
        );
        let responses = rows.partition_point(arrived);
        if responses < rows.len() {
            set_ideals(plan, &mut Routes::of(plan), &mut rows[responses..]);
        }
    }
}

fn not_interrupted(error: nix::errno::Errno) -> Result<usize, nix::errno::Errno> {
    if error == nix::errno::Errno::EINTR { Ok(0) } else { Err(error) }
}

/// The namespace of the host with that node.
fn host<'p>(flow: &FlowPlan, node: usize, topology: &'p Topology) -> Result<&'p Namespace, WireError> {
    let found = topology.host(node).map(|h| &h.namespace);
    found.ok_or_else(|| WireError::plan(&flow.name, format!("node {node} must be a host of the topology")))
}
