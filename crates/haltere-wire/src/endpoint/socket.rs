//! Sockets of the kernel's TCP: made, set up and connected in a host, and what every kind does with them.

use super::{Done, Opening};
use crate::error::WireError;
use crate::kernel_tcp::congestion_names;
use crate::namespace::Namespace;
use crate::sys;
use haltere_plan::plan::TcpPlan;
use haltere_units::Bytes;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, Backlog, MsgFlags, SockFlag, SockType, SockaddrIn, accept4, bind, connect, listen, recv, send,
    setsockopt, socket, sockopt,
};
use std::ffi::OsString;
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Bytes of one write: large enough to be cheap, small enough not to keep the loop from others.
const WRITE: usize = 1 << 17;
static ZEROS: [u8; WRITE] = [0; WRITE];
/// Bytes of one read; the kernel throws them away (`MSG_TRUNC`), none is copied.
pub(super) const READ: usize = 1 << 20;
/// Low bits of the initial sequence number that are zero, so that a router can tell a packet's place in its stream.
pub(super) const ISN_BITS_OF_SENDERS: u8 = 30;

/// A socket that does not block.
pub(super) fn stream_socket(multipath: bool) -> io::Result<OwnedFd> {
    if multipath {
        return sys::mptcp_socket();
    }
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    Ok(socket(AddressFamily::Inet, SockType::Stream, flags, None)?)
}

/// The sizes of a socket's buffers where they are given, before it is connected.
pub(super) fn set_buffers(socket: &OwnedFd, send: Option<Bytes>, receive: Option<Bytes>) -> io::Result<()> {
    if let Some(bytes) = receive {
        // The kernel doubles it, and half is window.
        setsockopt(socket, sockopt::RcvBufForce, &(bytes.as_u64() as usize))?;
    }
    if let Some(bytes) = send {
        setsockopt(socket, sockopt::SndBufForce, &(bytes.as_u64() as usize))?;
    }
    Ok(())
}

/// A socket of that host which listens at the address, after `set` has set it up.
pub(super) fn listener(
    host: &Namespace,
    address: SocketAddrV4,
    multipath: bool,
    set: impl FnOnce(&OwnedFd) -> io::Result<()> + Send,
) -> io::Result<OwnedFd> {
    host.enter(|| {
        let listener = stream_socket(multipath)?;
        set(&listener)?;
        bind(listener.as_raw_fd(), &SockaddrIn::from(address))?;
        listen(&listener, Backlog::MAXCONN)?;
        Ok(listener)
    })
}

/// The initial sequence number, through the repair options: its low bits zero (see
/// [`crate::frame::Frame::set_isn_bits`]).
pub(super) fn choose_isn(socket: BorrowedFd<'_>, port: u16) -> io::Result<()> {
    const TCP_SEND_QUEUE: i32 = 2;
    const TCP_REPAIR_OFF_NO_WP: i32 = -1;
    let isn = (i32::from(port) % 3 + 1) << ISN_BITS_OF_SENDERS; // never zero: that would mean "choose one"
    let set = |option, value| sys::set_option(socket, libc::IPPROTO_TCP, option, &value);
    set(libc::TCP_REPAIR, 1)?;
    set(libc::TCP_REPAIR_QUEUE, TCP_SEND_QUEUE)?;
    set(libc::TCP_QUEUE_SEQ, isn)?;
    set(libc::TCP_REPAIR, TCP_REPAIR_OFF_NO_WP)
}

impl Opening<'_> {
    /// Gives a socket of that host the congestion control of the plan.
    pub(super) fn set_congestion(&self, socket: &OwnedFd, tcp: &TcpPlan, host: &Namespace) -> Done {
        let flow = &self.flow.name;
        let names = match self.manner.instead_of(tcp.congestion.kind()) {
            Some(name) => vec![name.to_string()],
            None => congestion_names(flow, &tcp.congestion)?.to_vec(),
        };
        for name in &names {
            match setsockopt(socket, sockopt::TcpCongestion, &OsString::from(name)) {
                Ok(()) => return Ok(()),
                Err(Errno::ENOENT) => {}
                Err(e) => return Err(self.failed(&format!("congestion control {name}"), e)),
            }
        }
        let has = host.read_sysctl("ipv4/tcp_available_congestion_control").unwrap_or_default();
        let what = format!("{flow}: congestion must be one that this kernel has ({has}), got {}", names[0]);
        Err(WireError::Missing(what))
    }
    /// The same for a receiver that must run the sender's control: DCTCP's echoes each mark (RFC 8257 section 3.2).
    pub(super) fn set_receivers_congestion(&self, listener: &OwnedFd, tcp: &TcpPlan, host: &Namespace) -> Done {
        if tcp.congestion.kind() == "dctcp" { self.set_congestion(listener, tcp, host) } else { Ok(()) }
    }
    /// A socket of that host, bound to `own` if it is given, which `set` has set up and which is now connecting.
    pub(super) fn connection(
        &self,
        host: &Namespace,
        (own, to): (Option<SocketAddrV4>, SocketAddrV4),
        tcp: &TcpPlan,
        set: impl FnOnce(&OwnedFd) -> io::Result<()> + Send,
    ) -> Result<OwnedFd, WireError> {
        let made = host.enter(|| {
            let socket = stream_socket(false)?;
            if let Some(own) = own {
                bind(socket.as_raw_fd(), &SockaddrIn::from(own))?;
            }
            choose_isn(socket.as_fd(), to.port())?;
            set(&socket)?;
            Ok(socket)
        });
        let socket = made.map_err(|e| self.failed("a connection", e))?;
        self.set_congestion(&socket, tcp, host)?;
        begin(&socket, to).map_err(|e| self.failed("connecting", e))?;
        Ok(socket)
    }
    /// The error of this flow.
    pub(super) fn failed(&self, doing: &str, error: impl Into<io::Error>) -> WireError {
        WireError::os(format!("{}: {doing}", self.flow.name), error)
    }
}

/// Starts to connect, and does not wait for the handshake.
pub(super) fn begin(socket: &OwnedFd, to: SocketAddrV4) -> io::Result<()> {
    match connect(socket.as_raw_fd(), &SockaddrIn::from(to)) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

/// The next connection that waits at a listener; `None`: there is none now.
pub(super) fn accept(listener: &OwnedFd) -> io::Result<Option<OwnedFd>> {
    loop {
        match accept4(listener.as_raw_fd(), SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC) {
            Ok(fd) => return Ok(Some(owned(fd))),
            Err(Errno::EAGAIN) => return Ok(None),
            Err(Errno::EINTR | Errno::ECONNABORTED) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

fn owned(fd: std::os::fd::RawFd) -> OwnedFd {
    #![expect(unsafe_code, reason = "nix returns accepted sockets as numbers")]
    // SAFETY: just returned by accept4, owned by nobody else.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// A connection was reset, or gave up.
pub(super) struct Dead;

/// Writes at most so many bytes. Returns how many; `None`: the socket takes none now.
pub(super) fn write(socket: &OwnedFd, most: u64) -> Result<Option<u64>, Dead> {
    let zeros = &ZEROS[..most.min(WRITE as u64) as usize];
    outcome(|| send(socket.as_raw_fd(), zeros, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL))
}

/// Reads what has come and throws it away. Returns how many bytes, 0 at the end of the stream; `None`: nothing has
/// come.
pub(super) fn read(socket: &OwnedFd, sink: &mut [u8]) -> Result<Option<u64>, Dead> {
    outcome(|| recv(socket.as_raw_fd(), sink, MsgFlags::MSG_TRUNC | MsgFlags::MSG_DONTWAIT))
}

fn outcome(mut call: impl FnMut() -> nix::Result<usize>) -> Result<Option<u64>, Dead> {
    loop {
        match call() {
            Ok(n) => return Ok(Some(n as u64)),
            Err(Errno::EAGAIN) => return Ok(None),
            Err(Errno::EINTR) => {}
            Err(_) => return Err(Dead),
        }
    }
}

/// Has a socket reset its connection when it is dropped, instead of a long goodbye: orphans would keep TCP memory for
/// minutes.
pub(super) fn reset_when_dropped(socket: &OwnedFd) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let _ = setsockopt(socket, sockopt::Linger, &linger);
}
