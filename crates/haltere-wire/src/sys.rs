//! System calls without a safe wrapper elsewhere: socket options as plain structures, and interface offloads by ioctl.
#![expect(unsafe_code, reason = "the one place for such calls besides the packet port")]

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// A structure of integers that the kernel fills or reads: every pattern of bits is a value.
///
/// # Safety
/// Only for `repr(C)` types all of whose bit patterns are valid, such as structures of integers.
pub unsafe trait Plain: Copy {}

// SAFETY: an integer; structures of integers and arrays of them.
unsafe impl Plain for i32 {}
// SAFETY: as above.
unsafe impl Plain for libc::tpacket_stats {}
// SAFETY: as above.
unsafe impl Plain for libc::tpacket_req {}
// SAFETY: as above.
unsafe impl Plain for libc::packet_mreq {}
// SAFETY: as above.
unsafe impl<const N: usize> Plain for [u8; N] {}

/// Sets a socket option.
pub fn set_option<T: Plain>(socket: BorrowedFd<'_>, level: i32, option: i32, value: &T) -> io::Result<()> {
    // SAFETY: pointer and length are those of `value`, which lives through the call; the kernel only reads it.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const *value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    })
}

/// Reads a socket option; bytes that this kernel does not know stay zero.
pub fn get_option<T: Plain>(socket: BorrowedFd<'_>, level: i32, option: i32) -> io::Result<T> {
    let mut value = MaybeUninit::<T>::zeroed();
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes into `value`.
    check(unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, value.as_mut_ptr().cast(), &raw mut len) })?;
    // SAFETY: zeroed before, partly overwritten; `Plain` says that any bits are a value.
    Ok(unsafe { value.assume_init() })
}

/// Reads a socket option for which the kernel reads `value` first.
pub fn exchange_option<T: Plain>(socket: BorrowedFd<'_>, level: i32, option: i32, value: &mut T) -> io::Result<()> {
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel reads and writes at most `len` bytes of `value`, which lives through the call; any bits are a
    // value.
    check(unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, (&raw mut *value).cast(), &raw mut len) })
}

/// A stream socket of Multipath TCP that does not block.
pub fn mptcp_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: plain system call.
    let fd = unsafe { libc::socket(libc::AF_INET, kind, libc::IPPROTO_MPTCP) };
    check(fd)?;
    // SAFETY: just opened, owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The kernel's `struct ethtool_value`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// A request about the interface of that name.
fn interface_request(interface: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all-zero is a valid ifreq.
    let mut request: libc::ifreq = unsafe { MaybeUninit::zeroed().assume_init() };
    if interface.len() >= request.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

/// Has the kernel fill a request about an interface. `socket` is any socket of its namespace.
fn ask(socket: BorrowedFd<'_>, what: libc::c_ulong, mut request: libc::ifreq) -> io::Result<libc::ifreq> {
    // SAFETY: the kernel reads and writes the ifreq, which lives through the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), what as _, &raw mut request) })?;
    Ok(request)
}

/// The longest packet that the interface takes, without link header.
pub fn mtu(socket: BorrowedFd<'_>, interface: &str) -> io::Result<usize> {
    let told = ask(socket, libc::SIOCGIFMTU, interface_request(interface)?)?;
    // SAFETY: this request fills the MTU.
    Ok(unsafe { told.ifr_ifru.ifru_mtu } as usize)
}

/// Whether the interface of that index is up; an error if there is none any more.
pub fn is_up(socket: BorrowedFd<'_>, index: u32) -> io::Result<bool> {
    let mut request = interface_request("")?;
    request.ifr_ifru.ifru_ifindex = index as i32;
    let told = ask(socket, libc::SIOCGIFFLAGS, ask(socket, libc::SIOCGIFNAME, request)?)?;
    // SAFETY: the second request fills the flags.
    Ok(i32::from(unsafe { told.ifr_ifru.ifru_flags }) & libc::IFF_UP != 0)
}

/// Whether the interface carries Ethernet frames (loopback says that it does not).
pub fn is_ethernet(socket: BorrowedFd<'_>, interface: &str) -> io::Result<bool> {
    let told = ask(socket, libc::SIOCGIFHWADDR, interface_request(interface)?)?;
    // SAFETY: this request fills the hardware address.
    Ok(unsafe { told.ifr_ifru.ifru_hwaddr }.sa_family == libc::ARPHRD_ETHER)
}

fn ethtool(socket: BorrowedFd<'_>, interface: &str, command: u32, data: u32) -> io::Result<u32> {
    let mut value = EthtoolValue { command, data };
    let mut request = interface_request(interface)?;
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // The request points to the value, which lives through the call.
    ask(socket, libc::SIOCETHTOOL, request)?;
    Ok(value.data)
}

/// Offloads that would make frames on an interface differ from packets on a line: name, command to read, command to set
/// (`linux/ethtool.h`).
const OFFLOADS: [(&str, u32, u32); 6] = [
    ("tx-checksum", 0x16, 0x17),
    ("scatter-gather", 0x18, 0x19),
    ("tso", 0x1e, 0x1f),
    ("gso", 0x23, 0x24),
    ("gro", 0x2b, 0x2c),
    ("rx-checksum", 0x14, 0x15),
];

/// Turns the offloads of an interface off; the names of those that stayed on.
pub fn offloads_off(socket: BorrowedFd<'_>, interface: &str) -> io::Result<Vec<&'static str>> {
    let mut left = Vec::new();
    for (name, read, set) in OFFLOADS {
        // An interface may lack one: what counts is that it reads as off.
        let _ = ethtool(socket, interface, set, 0);
        if ethtool(socket, interface, read, 0)? != 0 {
            left.push(name);
        }
    }
    Ok(left)
}

/// Makes the kernel kill this process when its parent thread ends; for children between fork and exec.
pub fn die_with_parent(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    // SAFETY: prctl is a plain system call, safe between fork and exec.
    unsafe {
        command.pre_exec(|| check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL)));
    }
}

/// The same, and the process begins a group of processes. `first`: it is the first process of its namespace, and `/proc` shows that one.
pub fn begin_a_group(command: &mut std::process::Command, first: bool) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
    die_with_parent(command);
    if first {
        // SAFETY: mount is a plain system call, safe between fork and exec, on texts that are constants.
        unsafe {
            command.pre_exec(|| {
                let (kind, place) = (c"proc".as_ptr(), c"/proc".as_ptr());
                // Where it may not be mounted, `/proc` shows the processes of the machine.
                libc::mount(kind, place, kind, 0, std::ptr::null());
                Ok(())
            });
        }
    }
}

/// How the kernel schedules the calling thread: policy, priority, niceness, slice.
pub fn scheduling() -> io::Result<libc::sched_attr> {
    // SAFETY: all-zero is a valid value of this structure of integers.
    let mut now: libc::sched_attr = unsafe { MaybeUninit::zeroed().assume_init() };
    let size = size_of::<libc::sched_attr>();
    // SAFETY: the kernel writes at most `size` bytes into `now`, which lives through the call; thread 0 is the caller.
    check(unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut now, size, 0) } as i32)?;
    Ok(now)
}

/// Sets what [`scheduling`] reads.
pub fn set_scheduling(wanted: &libc::sched_attr) -> io::Result<()> {
    // SAFETY: the kernel only reads `wanted`, whose size it finds in it; thread 0 is the caller.
    check(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const *wanted, 0) } as i32)
}

/// A descriptor of our own for what `fd`, a number from elsewhere, stands for; reading it does not block.
pub fn duplicate(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: plain system calls on a number; the new descriptor is owned by nobody else.
    unsafe {
        let ours = libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3);
        check(ours)?;
        check(libc::fcntl(ours, libc::F_SETFL, libc::O_NONBLOCK))?;
        Ok(OwnedFd::from_raw_fd(ours))
    }
}

/// A zero result or the error of the call just made.
pub fn check(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
