//! The endpoints: one thread that drives the sockets of every flow, each socket in its host's namespace.
//!
//! The kernel does TCP; the agent connects, writes, reads and counts, sends datagrams and pings by the clock,
//! and reads `TCP_INFO` at the plan's interval. Model: an epoll loop with a heap of deadlines.
//! Units: times since the start of the run. Known problems: a write is as large as the socket takes, so a send
//! buffer is always full, as with iperf3.

mod datagram;
mod ftp;
pub(crate) mod ftp_server;
mod multipath;
mod ping;
mod stream;

use crate::clock::{Clock, Monotonic};
use crate::error::WireError;
use crate::kernel_tcp::TcpInfo;
use crate::namespace::Topology;
use crate::world::Control;
use datagram::Datagram;
use ftp::Ftp;
use haltere_plan::Plan;
use haltere_plan::plan::{AppPlan, FlowPlan};
use haltere_plan::record::{FlowRecord, FlowSample, PathSample, PingSample, TaskRecord};
use haltere_plan::rng::Rng;
use haltere_transport::Info;
use haltere_units::{Dur, Time};
use multipath::Multipath;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use ping::Ping;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::{AsFd, BorrowedFd};
use stream::Transfer;

/// Low bits of senders' initial sequence numbers that are zero, so that a router can tell a packet's place in its stream.
pub const ISN_BITS: u8 = stream::ISN_BITS_OF_SENDERS;

/// How long the agent may sleep before it looks whether it is to stop.
const ATTENTION: Dur = Dur::from_ms(50);
/// First port of the flows' receivers.
pub(crate) const FIRST_PORT: u16 = 5001;

/// How an agent does its work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manner {
    /// A thread reads at each endless flow's receiver, in one long call.
    pub readers: bool,
    /// Recovery episodes are counted as far as samples show them: one that begins and ends between two samples is not seen. The kernel has no
    /// count of them.
    pub sampled_recoveries: bool,
    /// Congestion controls of the kernel that stand for those of the plan: the plan's name, the kernel's.
    pub controls: Vec<(String, String)>,
}

impl Manner {
    /// The kernel's name that stands for that control.
    fn instead_of(&self, control: &str) -> Option<&str> {
        self.controls.iter().find(|(planned, _)| planned == control).map(|(_, name)| name.as_str())
    }
}

/// Which of a flow's descriptors has something to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Sender,
    Listener,
    Receiver,
}

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

#[derive(Debug)]
enum App<'p> {
    Stream(Transfer),
    Multipath(Multipath),
    Ftp(Ftp<'p>),
    Datagram(Datagram),
    Ping(Ping),
}

/// What drives one flow sees of the agent.
struct Context<'a> {
    epoll: &'a Epoll,
    flow: usize,
    now: Time,
}

impl Context<'_> {
    fn watch(&self, fd: BorrowedFd<'_>, side: Side, flags: EpollFlags) -> Result<(), WireError> {
        let event = EpollEvent::new(flags, (self.flow * SIDES.len() + side as usize) as u64);
        self.epoll.add(fd, event).map_err(|e| WireError::os("watching a socket", e))
    }
    fn forget(&self, fd: BorrowedFd<'_>) {
        // A descriptor that is not watched any more is what was wanted.
        let _ = self.epoll.delete(fd);
    }
}

/// What the agent wrote down.
#[derive(Debug, Default)]
pub struct Observed {
    /// One entry a flow.
    pub flows: Vec<FlowRecord>,
    /// Samples, in order of time.
    pub series: Vec<FlowSample>,
    /// Samples of the paths of multipath connections, in order of time, the end included.
    pub paths: Vec<PathSample>,
    /// Ping replies, in order of time.
    pub pings: Vec<PingSample>,
    /// FTP tasks, in order of their start.
    pub tasks: Vec<TaskRecord>,
}

/// The sockets of all flows of a plan.
#[derive(Debug)]
pub struct Agent<'p> {
    plan: &'p Plan,
    apps: Vec<App<'p>>,
    epoll: Epoll,
    due: BinaryHeap<Reverse<(Time, Due)>>,
    observed: Observed,
    manner: &'p Manner,
    /// By flow: it was in recovery at the last sample, and the episodes seen so far.
    recoveries: Vec<(bool, u64)>,
}

impl<'p> Agent<'p> {
    /// Opens every socket in its host's namespace; nothing is sent yet.
    pub fn prepare(plan: &'p Plan, topology: &'p Topology, manner: &'p Manner) -> Result<Agent<'p>, WireError> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(|e| WireError::os("epoll", e))?;
        let mut agent = Agent {
            plan,
            apps: Vec::new(),
            epoll,
            due: BinaryHeap::new(),
            observed: Observed::default(),
            manner,
            recoveries: vec![(false, 0); plan.flows.len()],
        };
        for (index, flow) in plan.flows.iter().enumerate() {
            agent.apps.push(open(plan.seed, flow, index, topology, manner)?);
            agent.due.push(Reverse((flow.start, Due::Start(index))));
            if let Some(stop) = flow.stop {
                agent.due.push(Reverse((stop, Due::Stop(index))));
            }
        }
        agent.due.push(Reverse((plan.warmup, Due::Warmup)));
        if plan.measure.flows.is_some() {
            agent.due.push(Reverse((Time::ZERO, Due::Sample)));
        }
        agent.observed.flows = vec![FlowRecord::default(); plan.flows.len()];
        Ok(agent)
    }
    /// Runs all flows until the plan's end, or until the bell.
    pub fn run(mut self, clock: &mut Monotonic, control: &Control<'_>) -> Result<Observed, WireError> {
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
            while let Some(&Reverse((at, due))) = self.due.peek() {
                if at > now {
                    break;
                }
                self.due.pop();
                self.on_due(at, now, due)?;
            }
            let ready = self.epoll.wait(&mut events, EpollTimeout::ZERO).or_else(not_interrupted);
            let ready = ready.map_err(|e| WireError::os("waiting for sockets", e))?;
            for event in &events[..ready] {
                self.on_ready(now, event)?;
            }
            if ready == 0 {
                let next = self.due.peek().map_or(self.plan.end, |Reverse((at, _))| *at);
                let until = next.min(now + ATTENTION).min(self.plan.end);
                clock.sleep(Some(until), &[self.epoll.0.as_fd()]).map_err(|e| WireError::os("sleeping", e))?;
            }
        }
        for index in 0..self.apps.len() {
            self.count_received(index);
            self.observed.flows[index].sender = self.sender_info(index);
            match &self.apps[index] {
                App::Ftp(ftp) => self.observed.tasks.extend(ftp.tasks()),
                App::Multipath(multi) => multi.sample(self.plan.end, index as u32, &mut self.observed.paths),
                _ => {}
            }
        }
        self.observed.tasks.sort_by_key(|task| (task.start, task.flow));
        Ok(self.observed)
    }
    fn on_due(&mut self, at: Time, now: Time, due: Due) -> Result<(), WireError> {
        match due {
            Due::Warmup => self.warm(),
            Due::Sample => {
                self.sample(at);
                if let Some(every) = self.plan.measure.flows {
                    self.due.push(Reverse((at + every, Due::Sample)));
                }
            }
            Due::Start(flow) | Due::Tick(flow) => {
                let stopped = self.plan.flows[flow].stop.is_some_and(|stop| at >= stop);
                if !stopped {
                    let start = matches!(due, Due::Start(_));
                    let next = self.tick(flow, at, now, start)?;
                    self.due.extend(next.map(|at| Reverse((at, Due::Tick(flow)))));
                }
            }
            Due::Join(flow) => {
                let context = Context { epoll: &self.epoll, flow, now };
                if let App::Multipath(multi) = &mut self.apps[flow] {
                    let next = multi.join(&context)?;
                    self.due.extend(next.map(|at| Reverse((at, Due::Join(flow)))));
                }
            }
            Due::Stop(flow) => {
                let context = Context { epoll: &self.epoll, flow, now };
                match &mut self.apps[flow] {
                    App::Stream(transfer) => transfer.stop(&context),
                    App::Multipath(multi) => multi.transfer.stop(&context),
                    _ => {}
                }
            }
        }
        Ok(())
    }
    fn tick(&mut self, flow: usize, at: Time, now: Time, start: bool) -> Result<Option<Time>, WireError> {
        let context = Context { epoll: &self.epoll, flow, now };
        let record = &mut self.observed.flows[flow];
        match &mut self.apps[flow] {
            App::Stream(transfer) if start => transfer.start(&context, at),
            App::Stream(transfer) => Ok(transfer.tick(&context, at)),
            App::Multipath(multi) if start => {
                self.due.push(Reverse((at, Due::Join(flow))));
                multi.transfer.start(&context, at)
            }
            App::Multipath(multi) => Ok(multi.transfer.tick(&context, at)),
            App::Ftp(ftp) if start => ftp.start(&context, at).map(|()| None),
            App::Ftp(ftp) => ftp.tick(&context).map(|()| None),
            App::Datagram(datagram) if start => datagram.start(&context, at, record).map(Some),
            App::Datagram(datagram) => Ok(Some(datagram.tick(now, record))),
            App::Ping(ping) => ping.tick(&context, at, start, record).map(Some),
        }
    }
    fn on_ready(&mut self, now: Time, event: &EpollEvent) -> Result<(), WireError> {
        let token = event.data() as usize;
        let (flow, side) = (token / SIDES.len(), SIDES[token % SIDES.len()]);
        let context = Context { epoll: &self.epoll, flow, now };
        let record = &mut self.observed.flows[flow];
        match &mut self.apps[flow] {
            App::Stream(transfer) => transfer.ready(&context, side, event.events(), record),
            App::Multipath(multi) => multi.transfer.ready(&context, side, event.events(), record),
            App::Ftp(ftp) => {
                ftp.ready(&context, side)?;
                self.due.extend(ftp.take_restart().map(|at| Reverse((at, Due::Tick(flow)))));
                Ok(())
            }
            App::Datagram(datagram) => {
                datagram.receive(record);
                Ok(())
            }
            App::Ping(ping) => {
                ping.receive(flow as u32, record, &mut self.observed.pings);
                Ok(())
            }
        }
    }
    fn sender_info(&self, flow: usize) -> Option<Info> {
        match &self.apps[flow] {
            App::Stream(transfer) => TcpInfo::of(transfer.sender()).ok().map(|info| {
                let mut shown = info.info();
                shown.recoveries = self.recoveries[flow].1;
                shown
            }),
            App::Multipath(multi) => multi.info(),
            _ => None,
        }
    }
    fn look_for_recovery(&mut self, flow: usize) {
        if let App::Stream(transfer) = &self.apps[flow] {
            let now = TcpInfo::of(transfer.sender()).is_ok_and(|info| info.in_recovery());
            let (before, count) = &mut self.recoveries[flow];
            *count += u64::from(now && !*before);
            *before = now;
        }
    }
    /// Uploads, and what threads read, are counted when somebody looks.
    fn count_received(&mut self, flow: usize) {
        let received = match &self.apps[flow] {
            App::Ftp(ftp) => Some(ftp.received()),
            App::Stream(transfer) => transfer.received(),
            _ => None,
        };
        if let Some(received) = received {
            self.observed.flows[flow].received = received;
        }
    }
    fn warm(&mut self) {
        for flow in 0..self.apps.len() {
            self.count_received(flow);
            self.observed.flows[flow].sender_at_warmup = self.sender_info(flow).as_ref().map(Into::into);
            // What has come so far is taken off again at the end.
            self.observed.flows[flow].received_after_warmup = self.observed.flows[flow].received;
        }
    }
    fn sample(&mut self, at: Time) {
        for flow in 0..self.apps.len() {
            if self.plan.flows[flow].start > at {
                continue;
            }
            self.count_received(flow);
            if self.manner.sampled_recoveries {
                self.look_for_recovery(flow);
            }
            if let Some(sender) = self.sender_info(flow) {
                let received = self.observed.flows[flow].received;
                self.observed.series.push(FlowSample { at, flow: flow as u32, received, sender, control: Vec::new() });
            }
            if let App::Multipath(multi) = &self.apps[flow] {
                multi.sample(at, flow as u32, &mut self.observed.paths);
            }
        }
    }
}

fn not_interrupted(error: nix::errno::Errno) -> Result<usize, nix::errno::Errno> {
    if error == nix::errno::Errno::EINTR { Ok(0) } else { Err(error) }
}

fn open<'p>(
    seed: u64,
    flow: &'p FlowPlan,
    index: usize,
    topology: &'p Topology,
    manner: &'p Manner,
) -> Result<App<'p>, WireError> {
    let host = |node: usize| {
        let found = topology.host(node).map(|h| &h.namespace);
        found.ok_or_else(|| WireError::plan(&flow.name, format!("node {node} must be a host of the topology")))
    };
    let (from, to) = (host(flow.from)?, host(flow.to)?);
    let port = FIRST_PORT + index as u16;
    let chance = Rng::new(seed, &format!("{}/source", flow.name));
    match &flow.app {
        AppPlan::Bulk { .. } | AppPlan::OnOff { .. } => {
            Transfer::open(flow, from, to, port, chance, manner).map(App::Stream)
        }
        AppPlan::Cbr { .. } => Datagram::open(flow, from, to, port).map(App::Datagram),
        AppPlan::Ping { .. } => Ping::open(flow, index as u16, from).map(App::Ping),
        AppPlan::Ftp(_) => Ftp::new(flow, index, seed, from, manner).map(App::Ftp),
        AppPlan::Multipath(_) => Multipath::open(flow, from, to, port, chance, manner).map(App::Multipath),
        AppPlan::Arrivals(_) => Err(WireError::plan(&flow.name, "must be there from the start on the wire")),
    }
}
