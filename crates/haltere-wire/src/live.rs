//! A live network: the hosts and links of a plan, without its flows, for programs that a user starts.
//!
//! A thread has the router. The links can be changed while packets are on them. The network goes with its value.

use crate::clock::Monotonic;
use crate::endpoint::host_names;
use crate::error::WireError;
use crate::fabric::{Fabric, FabricParams, Steering, node_mac};
use crate::hosts::Hosts;
use crate::namespace::{Interfaces, Namespace, Topology, add_neighbour, configure, join, node_address};
use crate::port::packet::PacketPort;
use crate::program::Place;
use crate::router::{Router, Watch};
use crate::schedule::PriorityGuard;
use crate::stats::Snapshot;
use crate::world::{hosts as hosts_of, network};
use haltere_plan::Plan;
use haltere_plan::fabric::differences;
use haltere_units::{Dur, Time};
use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;

/// How often the router looks for changes.
const ATTENTION: Dur = Dur::from_ms(20);
/// Of the interface outside.
const MTU: u32 = 1500;

/// A live network; dropped, it goes.
#[derive(Debug)]
pub struct LiveNetwork {
    plan: Mutex<Plan>,
    hosts: Hosts,
    router: Mutex<Routing>,
    seen: Arc<Mutex<Option<Snapshot>>>,
    /// The file that its hosts see as `/etc/hosts`.
    names: PathBuf,
}

/// The thread with the router. It ends once nobody can send it changes.
#[derive(Debug)]
struct Routing {
    changes: Option<mpsc::Sender<Plan>>,
    thread: Option<JoinHandle<Result<(), WireError>>>,
}

impl LiveNetwork {
    /// The network of that plan, with a host for each node between which its flows run. The node `outside` has no namespace of its own:
    /// it is where this thread is.
    pub fn new(plan: &Plan, outside: Option<usize>) -> Result<LiveNetwork, WireError> {
        let mut wanted = hosts_of(plan)?;
        wanted.retain(|(nodes, _)| outside.is_none_or(|node| !nodes.contains(&node)));
        let topology = Topology::build_with(&wanted, true, Interfaces::Joined)?;
        let mut ports = topology.nodes();
        if let Some(node) = outside {
            attach_here(&topology, node)?;
            ports.push(node);
        }
        let (fabric, opened) = network(plan, &topology, ports.clone(), (0, false))?;
        let names = std::env::temp_dir().join(format!("haltere-hosts-{}", std::process::id()));
        fs::write(&names, host_names(plan)).map_err(|e| WireError::os("writing the names of the hosts", e))?;
        let seen = Arc::new(Mutex::new(None));
        let (changes, hear) = mpsc::channel();
        let attentive = Attentive { changes: hear, next: Time::ZERO, seen: Arc::clone(&seen), plan: plan.clone() };
        let thread = Some(std::thread::spawn(move || route(fabric, opened, attentive)));
        let router = Mutex::new(Routing { changes: Some(changes), thread });
        let hosts = Hosts::new(plan, topology, &ports, Place::default(), &names);
        Ok(LiveNetwork { plan: Mutex::new(plan.clone()), hosts, router, seen, names })
    }
    /// From now on its links are those of this plan, whose nodes and links are the same but for their parameters.
    pub fn change(&self, plan: &Plan) -> Result<(), WireError> {
        let mut now = lock(&self.plan);
        differences(&now.links, &plan.links).map_err(|rule| WireError::plan("set", rule))?;
        // A queue that cannot be made is refused here, where somebody hears of it.
        Fabric::new(FabricParams {
            plan: plan.fabric(),
            ports: Vec::new(),
            steering: Steering::ByAddress,
            isn_bits: 0,
        })?;
        *now = plan.clone();
        let mut router = lock(&self.router);
        match router.changes.as_ref().map(|changes| changes.send(plan.clone()).is_ok()) {
            Some(true) => Ok(()),
            _ => router.ended(),
        }
    }
    /// The hosts.
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }
    /// What the router counted, not long ago. `None`: it has just begun.
    pub fn snapshot(&self) -> Option<Snapshot> {
        lock(&self.seen).clone()
    }
}

impl Routing {
    /// It has ended: why.
    fn ended(&mut self) -> Result<(), WireError> {
        let ended = self.thread.take().map(JoinHandle::join);
        ended.map_or(Ok(()), |ended| ended.unwrap_or_else(|_| Err(WireError::plan("router", "panicked"))))
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for LiveNetwork {
    fn drop(&mut self) {
        self.hosts.end_servers();
        let mut router = lock(&self.router);
        router.changes = None;
        // Why it ended was said, or nobody asks.
        let _ = router.ended();
        let _ = fs::remove_file(&self.names);
    }
}

/// The node's interface in the calling thread's namespace.
fn attach_here(topology: &Topology, node: usize) -> Result<(), WireError> {
    let here = Namespace::current().map_err(|e| WireError::os("finding this network namespace", e))?;
    let name = format!("hl{}", std::process::id());
    join(&topology.router, &here, node, (&name, true), MTU)?;
    let others: Vec<usize> = topology.nodes();
    let known = topology
        .hosts
        .iter()
        .try_for_each(|host| host.namespace.enter(|| add_neighbour(node_address(node), node_mac(node))));
    let done = known.and_then(|()| here.enter(|| configure(node, &name, None, &others, &[])));
    done.map_err(|e| WireError::os("addresses of the host outside", e))
}

/// Ends the router if nobody can change it any more, and carries changes out.
struct Attentive {
    changes: mpsc::Receiver<Plan>,
    next: Time,
    seen: Arc<Mutex<Option<Snapshot>>>,
    plan: Plan,
}

impl Watch for Attentive {
    fn turn(&mut self, router: &mut dyn FnMut() -> Snapshot, now: Time) -> ControlFlow<()> {
        if now < self.next {
            return ControlFlow::Continue(());
        }
        self.next = now + ATTENTION;
        *lock(&self.seen) = Some(router());
        ControlFlow::Continue(())
    }
    fn next(&self) -> Option<Time> {
        Some(self.next)
    }
    fn change(&mut self, fabric: &mut Fabric, now: Time) -> ControlFlow<()> {
        loop {
            match self.changes.try_recv() {
                Ok(plan) => {
                    for (index, queue) in differences(&self.plan.links, &plan.links).unwrap_or_default() {
                        // It was made once before, when the change was asked for.
                        let _ = fabric.change(now, index, plan.links[index].clone(), queue);
                    }
                    self.plan = plan;
                }
                Err(mpsc::TryRecvError::Empty) => return ControlFlow::Continue(()),
                Err(mpsc::TryRecvError::Disconnected) => return ControlFlow::Break(()),
            }
        }
    }
}

fn route(fabric: Fabric, ports: Vec<PacketPort>, mut watch: Attentive) -> Result<(), WireError> {
    let guard = PriorityGuard::for_router(Dur::ZERO);
    let mut router = Router::new(fabric, ports)?;
    router.schedule = guard.schedule();
    let mut clock = Monotonic::start(Dur::ZERO).map_err(|e| WireError::os("the clock", e))?;
    router.run(&mut clock, &mut watch, Dur::ZERO)
}
