//! Network namespaces for the hosts of a plan, joined to the router's by veth pairs.
//!
//! A namespace here has no name and no mount: it lives by a descriptor and by the sockets inside it. So the kernel
//! takes everything down when the process ends, however it ends (success, error, Ctrl-C, SIGKILL): there is nothing to
//! find and remove at the next start. Children are killed with their parent ([`Namespace::spawn`]), so they keep none
//! alive.
//! Works as root, or as the root of a user namespace (`unshare -Urn`).
//!
//! Each host has an interface `e0`, all on one network 10.72.0.0/16, neighbours fixed: no ARP, no router in the kernel.
//! The paths between them are the fabric's. A host that is several nodes of the plan has an interface for each, `e0`,
//! `e1`, ..; a packet leaves by the interface whose address it carries.

use crate::error::{Doing, WireError};
use crate::fabric::node_mac;
use crate::netlink::{Netlink, VethEnd};
use crate::sys;
use netlink_packet_route::route::RouteMetric;
use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::process::{Child, Command};

/// The name of a host's interface; where it has several, of the first.
pub const HOST_INTERFACE: &str = "e0";
/// Routing tables of the interfaces of a host that has several start here.
const TABLES: u8 = 100;

/// A network namespace, held by a descriptor.
#[derive(Debug)]
pub struct Namespace {
    handle: File,
}

impl Namespace {
    /// A new, empty namespace; the caller stays where it is.
    pub fn new() -> Result<Namespace, WireError> {
        let made = on_a_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            // Of the thread, not of the process: the name `self` would be the main thread.
            File::open("/proc/thread-self/ns/net")
        });
        match made {
            Ok(handle) => Ok(Namespace { handle }),
            Err(e) if e.raw_os_error() == Some(Errno::EPERM as i32) => {
                Err(WireError::Privilege("making network namespaces"))
            }
            Err(e) => Err(WireError::os("making a network namespace", e)),
        }
    }
    /// The namespace of the calling thread.
    pub fn current() -> io::Result<Namespace> {
        File::open("/proc/thread-self/ns/net").map(|handle| Namespace { handle })
    }
    /// The same once more.
    pub fn again(&self) -> io::Result<Namespace> {
        self.handle.try_clone().map(|handle| Namespace { handle })
    }
    /// Does `work` inside, on a thread of its own: no other thread is moved. Sockets made inside stay inside.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        on_a_thread(|| {
            setns(&self.handle, CloneFlags::CLONE_NEWNET)?;
            work()
        })
    }
    /// Moves the calling thread inside, for good.
    pub fn stay(&self) -> io::Result<()> {
        Ok(setns(&self.handle, CloneFlags::CLONE_NEWNET)?)
    }
    /// Starts a program inside. It is killed when the calling thread ends, and so must be started by one that lasts.
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let home = File::open("/proc/thread-self/ns/net")?;
        sys::die_with_parent(command);
        self.stay()?;
        let child = command.spawn();
        setns(&home, CloneFlags::CLONE_NEWNET)?;
        child
    }
    /// Writes a value below `/proc/sys/net`, e.g. `ipv4/tcp_ecn`.
    pub fn sysctl(&self, name: &str, value: &str) -> Result<(), WireError> {
        let done = self.enter(|| std::fs::write(format!("/proc/sys/net/{name}"), value));
        done.map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => {
                WireError::Missing(format!("this kernel has no `net/{name}`, needed for {value}"))
            }
            _ => WireError::os(format!("setting net/{name} to {value}"), e),
        })
    }
    /// Reads a value below `/proc/sys/net`.
    pub fn read_sysctl(&self, name: &str) -> io::Result<String> {
        self.enter(|| std::fs::read_to_string(format!("/proc/sys/net/{name}"))).map(|text| text.trim().to_string())
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

impl AsRawFd for Namespace {
    fn as_raw_fd(&self) -> RawFd {
        self.handle.as_raw_fd()
    }
}

fn on_a_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let result = std::thread::scope(|scope| scope.spawn(work).join());
    result.unwrap_or_else(|_| Err(io::Error::other("a thread inside a namespace panicked")))
}

/// The address of the host of node `i`.
pub fn node_address(node: usize) -> Ipv4Addr {
    // From 10.72.0.1 on.
    let [a, b] = (node as u16 + 1).to_be_bytes();
    Ipv4Addr::new(10, 72, a, b)
}

/// A host of the plan.
#[derive(Debug)]
pub struct Host {
    /// Its nodes in the plan, each an interface.
    pub nodes: Vec<usize>,
    /// Its network namespace.
    pub namespace: Namespace,
}

/// What the hosts of a topology need beyond addresses.
#[derive(Debug, Clone, PartialEq)]
pub struct HostSettings {
    /// MTU of the host's interface.
    pub mtu: u32,
    /// Names below `/proc/sys/net`, and their values.
    pub sysctls: Vec<(String, String)>,
    /// Metrics of the routes to the other hosts: initial window, least timeout.
    pub metrics: Vec<RouteMetric>,
}

/// Where the hosts' interfaces come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interfaces {
    /// They are made, and joined to the router's namespace.
    Joined,
    /// They are in the caller's namespace, named by [`port_name`], and move to the hosts.
    Given,
}

/// The namespaces of a run.
#[derive(Debug)]
pub struct Topology {
    /// The router's namespace; its interface for the node with index `i` is named `n{i}`.
    pub router: Namespace,
    /// The hosts, in the order of the plan they were made of.
    pub hosts: Vec<Host>,
}

impl Topology {
    /// Namespaces for these nodes, joined to the router's, offloads off.
    pub fn build(plan: &[(Vec<usize>, HostSettings)]) -> Result<Topology, WireError> {
        Topology::build_with(plan, false, Interfaces::Joined)
    }
    /// Namespaces for these nodes. `offloads`: those of the interfaces stay on, so that a frame may hold several packets.
    pub(crate) fn build_with(
        plan: &[(Vec<usize>, HostSettings)],
        offloads: bool,
        interfaces: Interfaces,
    ) -> Result<Topology, WireError> {
        let router = Namespace::new()?;
        quiet(&router)?;
        let mut hosts = Vec::new();
        for (nodes, settings) in plan {
            let namespace = Namespace::new()?;
            quiet(&namespace)?;
            let others: Vec<usize> = plan.iter().flat_map(|(n, _)| n).copied().filter(|n| !nodes.contains(n)).collect();
            for (place, &node) in nodes.iter().enumerate() {
                let name = host_interface(place);
                match interfaces {
                    Interfaces::Joined => join(&router, &namespace, node, (&name, offloads), settings.mtu)?,
                    // TCP gives an interface buffers of several segments whatever its offloads are.
                    Interfaces::Given => index_of(&port_name(node))
                        .and_then(|index| {
                            let segments = (!offloads).then_some(1);
                            Netlink::open()?.give(index, namespace.as_fd(), &name, settings.mtu, segments)
                        })
                        .doing(format!("moving the interface of node {node} to its host"))?,
                }
                let table = (nodes.len() > 1).then_some(TABLES + place as u8);
                let configured = namespace.enter(|| {
                    if !offloads {
                        without_offloads(&name)?;
                    }
                    configure(node, &name, table, &others, &settings.metrics)
                });
                configured.doing(format!("addresses of node {node}"))?;
            }
            for (name, value) in &settings.sysctls {
                match namespace.sysctl(name, value) {
                    // Kernels before 6.10 have one scheduler and no name for it.
                    Err(WireError::Missing(_)) if name == crate::mptcp::SCHEDULER => {}
                    done => done?,
                }
            }
            hosts.push(Host { nodes: nodes.clone(), namespace });
        }
        Ok(Topology { router, hosts })
    }
    /// The host of that node.
    pub fn host(&self, node: usize) -> Option<&Host> {
        self.hosts.iter().find(|h| h.nodes.contains(&node))
    }
    /// All nodes with an interface.
    pub fn nodes(&self) -> Vec<usize> {
        self.hosts.iter().flat_map(|h| &h.nodes).copied().collect()
    }
}

/// The name of a host's interface at that place of its nodes.
pub fn host_interface(place: usize) -> String {
    format!("e{place}")
}

/// The router's interface for that node.
pub fn port_name(node: usize) -> String {
    format!("n{node}")
}

/// Nothing in a namespace sends by itself: no IPv6 neighbour discovery; loopback is up.
fn quiet(namespace: &Namespace) -> Result<(), WireError> {
    // A kernel without IPv6 has nothing to quieten.
    for scope in ["all", "default"] {
        match namespace.sysctl(&format!("ipv6/conf/{scope}/disable_ipv6"), "1") {
            Ok(()) | Err(WireError::Missing(_)) => {}
            Err(e) => return Err(e),
        }
    }
    namespace.enter(|| Netlink::open()?.up(1)).doing("setting loopback up") // loopback is always the first
}

pub(crate) fn join(
    router: &Namespace,
    host: &Namespace,
    node: usize,
    (interface, offloads): (&str, bool),
    mtu: u32,
) -> Result<(), WireError> {
    let port = port_name(node);
    // The router's end has an address that no frame is sent to: its kernel takes none for itself.
    let mut unused = node_mac(node);
    unused[3] = 0xff;
    let here = VethEnd { name: &port, mac: unused, namespace: None };
    let there = VethEnd { name: interface, mac: node_mac(node), namespace: Some(host.as_fd()) };
    let made = router.enter(|| {
        let netlink = Netlink::open()?;
        netlink.add_veth(&here, &there, mtu)?;
        if !offloads {
            without_offloads(&port)?;
        }
        netlink.up(index_of(&port)?)
    });
    made.map_err(|e| match e.raw_os_error() {
        Some(libc::EOPNOTSUPP) => WireError::Missing("this kernel has no veth interfaces (CONFIG_VETH)".into()),
        _ => WireError::os(format!("joining node {node} to the router"), e),
    })
}

/// The interface of one of a host's nodes. If there are several, packets with its address have a routing table of their own.
pub(crate) fn configure(
    node: usize,
    interface: &str,
    table: Option<u8>,
    others: &[usize],
    metrics: &[RouteMetric],
) -> io::Result<()> {
    let netlink = Netlink::open()?;
    let index = index_of(interface)?;
    netlink.add_address(index, node_address(node), 16)?;
    netlink.up(index)?;
    if let Some(table) = table {
        netlink.add_rule_from(node_address(node), table)?;
    }
    for &other in others {
        netlink.add_neighbour(index, node_address(other), node_mac(other))?;
        if table.is_some() || !metrics.is_empty() {
            netlink.add_host_route(index, node_address(other), table, metrics.to_vec())?;
        }
    }
    Ok(())
}

/// Says, inside a host, which Ethernet address that neighbour has.
pub fn add_neighbour(address: Ipv4Addr, mac: [u8; 6]) -> io::Result<()> {
    Netlink::open()?.add_neighbour(index_of(HOST_INTERFACE)?, address, mac)
}

/// A queue discipline of the kernel, or a class of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discipline {
    /// The handle of what it is in.
    pub parent: u32,
    /// Its own handle.
    pub handle: u32,
    /// It is a class of the discipline `parent`.
    pub is_class: bool,
    /// Its name, such as `fq_codel`.
    pub kind: String,
    /// The payload of its options, as the kernel takes it; `None`: it takes none.
    pub options: Option<Vec<u8>>,
    /// That payload is a list of attributes, not one structure.
    pub nested: bool,
}

/// Attaches queue disciplines and classes, in this order, to an interface of the caller's namespace, and sets the
/// interface up.
pub fn attach_disciplines(interface: &str, made: &[Discipline]) -> io::Result<()> {
    let (netlink, index) = (Netlink::open()?, index_of(interface)?);
    made.iter().try_for_each(|one| netlink.add_discipline(index, one))?;
    netlink.up(index)
}

fn index_of(name: &str) -> io::Result<u32> {
    Ok(nix::net::if_::if_nametoindex(name)?)
}

fn without_offloads(name: &str) -> io::Result<()> {
    let any = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    let left = sys::offloads_off(any.as_fd(), name)?;
    if left.is_empty() {
        return Ok(());
    }
    Err(io::Error::other(format!("{name}: {} cannot be turned off", left.join(", "))))
}

#[cfg(test)]
mod tests;
