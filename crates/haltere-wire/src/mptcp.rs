//! The kernel's Multipath TCP: which plans it can do, its path manager by netlink, and what a connection tells of its
//! subflows.
//! Source: RFC 8684; the kernel's `linux/mptcp.h` and `linux/mptcp_pm.h`, whose numbers never change.
//! Model: the sender's host has its paths managed from outside (`pm_type` 1), by us: once the connection is
//! established, each further path of the plan is a subflow that we ask for, from that address to that one. The
//! receiver's host lets them join.
//! Known problems: the kernel has one scheduler, `default`; no path can be taken away again here.

use crate::error::WireError;
use crate::kernel_tcp::TcpInfo;
use crate::sys;
use haltere_plan::plan::MultipathPlan;
use haltere_transport::multipath::MultipathParams;
use haltere_transport::multipath::scheduler::SchedulerParams;
use netlink_packet_core::{DefaultNla, Emitable, NlasIterator};
use netlink_sys::protocols::NETLINK_GENERIC;
use netlink_sys::{Socket, SocketAddr};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::BorrowedFd;
use std::path::Path;

const SOL_MPTCP: i32 = 284;
/// Options of `SOL_MPTCP`.
const MPTCP_INFO: i32 = 1;
const MPTCP_TCPINFO: i32 = 2;
const MPTCP_SUBFLOW_ADDRS: i32 = 3;
/// Further subflows that a receiver's path manager can be set to accept (`MPTCP_PM_ADDR_MAX`).
const MOST_JOINS: usize = 8;

/// What a host is to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It connects, and asks for the further paths.
    Opens,
    /// It listens, and lets them join.
    Accepts,
}

/// The value that names the scheduler.
pub(crate) const SCHEDULER: &str = "mptcp/scheduler";

/// The settings of the host's kernel.
pub(crate) fn sysctls(role: Role) -> Vec<(String, String)> {
    sysctls_of(Path::new("/proc/sys/net/mptcp"), role)
}

/// The scheduler is named only to a kernel that lets one be chosen (Linux 6.6); one before it has no other.
fn sysctls_of(known: &Path, role: Role) -> Vec<(String, String)> {
    let manager = if role == Role::Opens { "1" } else { "0" };
    let wanted = [("enabled", "1"), ("scheduler", "default"), ("pm_type", manager)];
    let optional = |name: &str| name != "scheduler" || known.join(name).exists();
    wanted.into_iter().filter(|(n, _)| optional(n)).map(|(n, v)| (format!("mptcp/{n}"), v.to_string())).collect()
}

/// Whether the kernel can do this stream.
pub(crate) fn check(place: &str, plan: &MultipathPlan) -> Result<(), WireError> {
    let refuse =
        |name: &str, rule: &str, got: String, hint: &str| Err(WireError::refused(place, name, rule, got, hint));
    let kind = plan.multipath.scheduler.kind();
    if kind != "linux" {
        return refuse(
            "multipath.scheduler",
            "`linux`",
            format!("`{kind}`"),
            "the kernel has no other; the simulator has",
        );
    }
    // What the kernel's does: its send buffer is tuned, and a blocked window makes nobody send again.
    let scheduler = SchedulerParams::default_of(kind).unwrap_or_else(|| plan.multipath.scheduler.clone());
    let linux =
        MultipathParams { scheduler, tune_send_buffer: true, opportunistic: false, ..MultipathParams::default() };
    if linux != plan.multipath {
        let rule = "`{ scheduler = \"linux\", tune_send_buffer = true, opportunistic = false }`";
        return refuse(
            "multipath",
            rule,
            "other parameters".into(),
            "so the kernel's is built; the simulator takes others",
        );
    }
    if plan.paths.len() > MOST_JOINS + 1 {
        let rule = format!("at most {}", MOST_JOINS + 1);
        return refuse("paths", &rule, plan.paths.len().to_string(), "the kernel lets no more join");
    }
    if plan.paths.iter().any(|path| path.leave.is_some() || path.cut.is_some()) {
        return refuse("paths", "without `leave` and `cut`", "one that ends".into(), "the simulator has them");
    }
    Ok(())
}

/// The token by which the path manager knows the socket's connection; `None` while there is none.
pub(crate) fn token(socket: BorrowedFd<'_>) -> io::Result<Option<u32>> {
    const FALLBACK: u32 = 1;
    let info: [u8; 128] = sys::get_option(socket, SOL_MPTCP, MPTCP_INFO)?;
    if word(&info, 8) & FALLBACK != 0 {
        return Err(io::Error::other("the other end speaks plain TCP"));
    }
    Ok(Some(word(&info, 12)).filter(|token| *token != 0))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_ne_bytes(*b))
}

/// One subflow: its addresses, here and there, and its TCP.
pub(crate) type Subflow = (Ipv4Addr, Ipv4Addr, TcpInfo);

/// The subflows that the socket's connection has now.
pub(crate) fn subflows(socket: BorrowedFd<'_>) -> io::Result<Vec<Subflow>> {
    const ADDRESSES: usize = 256; // two sockaddr_storage
    let mut addresses = [0u8; HEADER + ADDRESSES * (MOST_JOINS + 1)];
    let mut infos = [0u8; HEADER + TcpInfo::SIZE * (MOST_JOINS + 1)];
    let (known, _) = arrays(socket, MPTCP_SUBFLOW_ADDRS, ADDRESSES, &mut addresses)?;
    let (told, stride) = arrays(socket, MPTCP_TCPINFO, TcpInfo::SIZE, &mut infos)?;
    // Both lists are in the connection's order; one that joined in between is at the end of the second.
    let one = |i: usize| {
        let ends = &addresses[HEADER + i * ADDRESSES..][..ADDRESSES];
        let info = &infos[HEADER + i * stride..][..stride];
        let address = |at: usize| Ipv4Addr::new(ends[at], ends[at + 1], ends[at + 2], ends[at + 3]);
        // sockaddr_in: family, port, address.
        (address(4), address(ADDRESSES / 2 + 4), TcpInfo::from_bytes(info))
    };
    Ok((0..known.min(told)).map(one).collect())
}

/// Bytes of `struct mptcp_subflow_data`: its own size, how many subflows, size of an entry in the kernel and here.
const HEADER: usize = 16;

/// Fills `buffer` with a header and an entry for each subflow; how many are there, and how far apart they lie: `size`
/// bytes, or fewer where the kernel's structure is shorter.
fn arrays<const N: usize>(
    socket: BorrowedFd<'_>,
    option: i32,
    size: usize,
    buffer: &mut [u8; N],
) -> io::Result<(usize, usize)> {
    buffer[..4].copy_from_slice(&(HEADER as u32).to_ne_bytes());
    buffer[12..16].copy_from_slice(&(size as u32).to_ne_bytes());
    sys::exchange_option(socket, SOL_MPTCP, option, buffer)?;
    let stride = (word(buffer, 12) as usize).clamp(1, size);
    Ok(((word(buffer, 4) as usize).min((N - HEADER) / size), stride))
}

/// A subflow that is to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Join {
    /// The token of the connection.
    pub token: u32,
    /// Identifier of the address here, the same for all subflows from it; 0 is the first subflow's.
    pub id: u8,
    /// The address from which it connects.
    pub from: Ipv4Addr,
    /// The address and port there.
    pub to: (Ipv4Addr, u16),
}

/// A connection to the path manager of the network namespace in which it was opened.
pub(crate) struct PathManager {
    socket: Socket,
    family: u16,
}

impl PathManager {
    pub(crate) fn open() -> io::Result<PathManager> {
        const CONTROL: u16 = 0x10;
        const GET_FAMILY: u8 = 3;
        const FAMILY_ID: u16 = 1;
        const FAMILY_NAME: u16 = 2;
        let mut socket = Socket::new(NETLINK_GENERIC)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        let mut manager = PathManager { socket, family: CONTROL };
        let answer = manager.request(GET_FAMILY, false, &attribute(FAMILY_NAME, b"mptcp_pm\0"))?;
        manager.family = find(&answer, FAMILY_ID)
            .and_then(|id| id.first_chunk().copied())
            .map(u16::from_ne_bytes)
            .ok_or_else(|| io::Error::other("the kernel names no path manager"))?;
        Ok(manager)
    }
    /// Lets as many subflows join each connection as the kernel can.
    pub(crate) fn accept_joins(&self) -> io::Result<()> {
        const SET_LIMITS: u8 = 5;
        const SUBFLOWS: u16 = 3;
        self.request(SET_LIMITS, true, &attribute(SUBFLOWS, &(MOST_JOINS as u32).to_ne_bytes())).map(drop)
    }
    /// Asks for a subflow; false if the connection is not established yet.
    pub(crate) fn join(&self, join: &Join) -> io::Result<bool> {
        const SUBFLOW_CREATE: u8 = 10;
        let (here, token, there) = (1, 4, 6);
        const NESTED: u16 = 0x8000;
        let address = |id: u8, address: Ipv4Addr, port: Option<u16>| {
            let mut bytes = attribute(1, &(libc::AF_INET as u16).to_ne_bytes());
            bytes.extend(attribute(2, &[id]));
            bytes.extend(attribute(3, &address.octets()));
            bytes.extend(port.map(|port| attribute(5, &port.to_ne_bytes())).unwrap_or_default());
            bytes
        };
        let mut asked = attribute(token, &join.token.to_ne_bytes());
        asked.extend(attribute(here | NESTED, &address(join.id, join.from, None)));
        asked.extend(attribute(there | NESTED, &address(0, join.to.0, Some(join.to.1))));
        match self.request(SUBFLOW_CREATE, true, &asked) {
            Ok(_) => Ok(true),
            Err(e) if e.raw_os_error() == Some(libc::ENOTCONN) => Ok(false),
            Err(e) => Err(e),
        }
    }
    /// One request; the attributes of the answer, where one other than an acknowledgement is wanted.
    fn request(&self, command: u8, acknowledge: bool, attributes: &[u8]) -> io::Result<Vec<u8>> {
        const REQUEST: u16 = 1;
        const ACK: u16 = 4;
        const ERROR: u16 = 2;
        let flags = if acknowledge { REQUEST | ACK } else { REQUEST };
        let mut message = ((20 + attributes.len()) as u32).to_ne_bytes().to_vec();
        message.extend(self.family.to_ne_bytes());
        message.extend(flags.to_ne_bytes());
        message.extend([0; 8]); // sequence number and sender: one question at a time
        message.extend([command, 1, 0, 0]);
        message.extend(attributes);
        self.socket.send(&message, 0)?;
        let mut answer = Vec::with_capacity(8192);
        self.socket.recv(&mut answer, 0)?;
        let kind = answer.get(4..6).and_then(|b| b.first_chunk()).map_or(0, |b| u16::from_ne_bytes(*b));
        match (kind, word(&answer, 16) as i32) {
            (ERROR, 0) => Ok(Vec::new()),
            (ERROR, code) => Err(io::Error::from_raw_os_error(-code)),
            _ => Ok(answer.get(20..).unwrap_or_default().to_vec()),
        }
    }
}

impl std::fmt::Debug for PathManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PathManager({})", self.family)
    }
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let attribute = DefaultNla::new(kind, value.to_vec());
    let mut bytes = vec![0; attribute.buffer_len()];
    attribute.emit(&mut bytes);
    bytes
}

/// The value of the first attribute of that kind.
fn find(attributes: &[u8], kind: u16) -> Option<Vec<u8>> {
    NlasIterator::new(attributes).map_while(Result::ok).find(|one| one.kind() == kind).map(|one| one.value().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_a_choice_of_schedulers_is_told_of_none() {
        let names = |known: &str| {
            let all = sysctls_of(Path::new(known), Role::Opens);
            all.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
        };
        assert_eq!(names("/nowhere"), ["mptcp/enabled=1", "mptcp/pm_type=1"]);
        let folder = std::env::temp_dir().join(format!("haltere-mptcp-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("scheduler"), "default").unwrap();
        let told = names(folder.to_str().unwrap());
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(told, ["mptcp/enabled=1", "mptcp/scheduler=default", "mptcp/pm_type=1"]);
    }

    #[test]
    fn attributes_are_found_behind_others_and_nothing_else_is() {
        let mut bytes = attribute(7, b"abc");
        bytes.extend(attribute(1, &[5, 6]));
        assert_eq!(bytes.len(), 16);
        assert_eq!(find(&bytes, 1), Some(vec![5, 6]));
        assert_eq!(find(&bytes, 7), Some(b"abc".to_vec()));
        assert_eq!(find(&bytes, 2), None);
        assert_eq!(find(&[9, 0, 1, 0], 1), None, "longer than what is there");
        assert_eq!(find(&[0, 0, 2, 0, 0, 0, 3, 0], 1), None, "a length of zero does not stop the search for ever");
    }
}
