//! One TCP flow: a sender and a receiver socket of the kernel. What the sender writes, the kind says: bytes, or a [`Source`].

use super::{Context, Done, Endpoint, Manner, Observed, Opening, Side};
use crate::error::WireError;
use crate::kernel_tcp::{TcpInfo, congestion_names};
use crate::namespace::{Namespace, node_address};
use crate::sys;
use haltere_plan::plan::{DurationDistribution, TcpPlan};
use haltere_plan::record::FlowRecord;
use haltere_plan::rng::Rng;
use haltere_transport::Info;
use haltere_units::{Bytes, Dur, Rate, Time};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{
    AddressFamily, Backlog, MsgFlags, Shutdown, SockFlag, SockType, SockaddrIn, accept4, bind, connect, listen, recv,
    send, setsockopt, shutdown, socket, sockopt,
};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Bytes of one write: large enough to be cheap, small enough not to keep the loop from others.
const WRITE: usize = 1 << 17;
/// What is written.
pub(super) static ZEROS: [u8; WRITE] = [0; WRITE];
/// Bytes of one read; the kernel throws them away (`MSG_TRUNC`), none is copied.
pub(super) const READ: usize = 1 << 20;
/// Low bits of the initial sequence number that are zero, so that a router can tell a packet's place in its stream.
pub(super) const ISN_BITS_OF_SENDERS: u8 = 30;

/// Longer than any run: a source that is never off.
const ALWAYS: Dur = Dur::from_secs(1 << 30);

/// A source that writes chunks while it is on.
#[derive(Debug)]
pub(super) struct Source {
    chunk: u64,
    every: Dur,
    on: DurationDistribution,
    off: DurationDistribution,
    begins_off: bool,
    on_until: Time,
    chance: Rng,
}

impl Source {
    /// A source with that rate while it is on, for times drawn from these distributions.
    pub(super) fn new(
        rate: Rate,
        chunk: Bytes,
        (on, off): (DurationDistribution, DurationDistribution),
        chance: Rng,
    ) -> Source {
        let every = rate.time_for(chunk).max(Dur::from_ns(1));
        Source { chunk: chunk.as_u64(), every, on, off, begins_off: false, on_until: Time::ZERO, chance }
    }
    /// The same source, which begins off or on.
    pub(super) fn beginning(self, begins_off: bool) -> Source {
        Source { begins_off, ..self }
    }
    /// A source that is always on.
    pub(super) fn steady(rate: Rate, chunk: Bytes, chance: Rng) -> Source {
        let (on, off) = (DurationDistribution::Constant(ALWAYS), DurationDistribution::Constant(Dur::ZERO));
        Source::new(rate, chunk, (on, off), chance)
    }
}

/// What a TCP flow sends.
pub(super) struct Stream<'p> {
    pub(super) tcp: &'p TcpPlan,
    /// Bytes in all; `None`: endless.
    pub(super) bytes: Option<Bytes>,
    /// What writes them; `None`: as much is written as the socket takes.
    pub(super) source: Option<Source>,
    /// The connection is one of Multipath TCP.
    pub(super) multipath: bool,
}

/// One TCP flow.
#[derive(Debug)]
pub(super) struct Transfer {
    sender: OwnedFd,
    listener: OwnedFd,
    receiver: Option<OwnedFd>,
    to: SockaddrIn,
    name: String,
    /// Bytes in all, where limited.
    total: Option<u64>,
    /// Bytes that may be written now; `None`: without end.
    allowance: Option<u64>,
    source: Option<Source>,
    writing: bool,
    sink: Vec<u8>,
    reading: Reading,
}

/// Who reads at the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// The agent, when the socket has something.
    Agent,
    /// A thread in one long call: the kernel takes each segment as it arrives, without a system call for it. What was received is read
    /// from `TCP_INFO`.
    Thread,
}

impl Transfer {
    pub(super) fn open(at: &Opening<'_>, stream: Stream<'_>) -> Result<Transfer, WireError> {
        let Stream { tcp, bytes, source, multipath } = stream;
        let (flow, from, to, port, manner) = (at.flow, at.from, at.to, at.port(), at.manner);
        let total = bytes.map(Bytes::as_u64);
        let address = SockaddrIn::from(std::net::SocketAddrV4::new(node_address(flow.to), port));
        let listener = to.enter(|| listening(&address, tcp, multipath));
        let listener = listener.map_err(|e| WireError::os(format!("{}: receiver", flow.name), e))?;
        let sender = from.enter(|| {
            let sender = stream_socket(multipath)?;
            if multipath {
                // Which of the host's interfaces the first subflow takes. Its sequence numbers cannot be chosen.
                let own = SockaddrIn::from(std::net::SocketAddrV4::new(node_address(flow.from), 0));
                bind(sender.as_raw_fd(), &own)?;
            } else {
                choose_isn(sender.as_fd(), port)?;
            }
            if let Some(bytes) = tcp.sender.send_buffer {
                setsockopt(&sender, sockopt::SndBufForce, &(bytes.as_u64() as usize))?;
            }
            setsockopt(&sender, sockopt::TcpNoDelay, &!tcp.sender.nagle)?;
            Ok(sender)
        });
        let sender = sender.map_err(|e| WireError::os(format!("{}: sender", flow.name), e))?;
        set_congestion(&flow.name, &sender, tcp, from, manner)?;
        // DCTCP's receiver echoes each mark (RFC 8257 section 3.2): it must run the control too.
        if tcp.congestion.kind() == "dctcp" {
            set_congestion(&flow.name, &listener, tcp, to, manner)?;
        }
        Ok(Transfer {
            sender,
            listener,
            receiver: None,
            to: address,
            name: flow.name.clone(),
            total,
            allowance: if source.is_some() { Some(0) } else { total },
            source,
            writing: false,
            sink: vec![0; READ],
            // When a limited flow is complete must be told at once, and MPTCP's sockets do not read so.
            reading: if multipath || total.is_some() || !manner.readers { Reading::Agent } else { Reading::Thread },
        })
    }
    pub(super) fn sender(&self) -> BorrowedFd<'_> {
        self.sender.as_fd()
    }
    fn write_when_possible(&mut self, context: &Context<'_>) -> Done {
        if !self.writing {
            self.writing = true;
            context.watch(self.sender.as_fd(), Side::Sender, EpollFlags::EPOLLOUT)?;
        }
        Ok(())
    }
    fn accept(&mut self, context: &Context<'_>) -> Done {
        match accept4(self.listener.as_raw_fd(), SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC) {
            Ok(fd) => {
                let receiver = owned(fd);
                match self.reading {
                    Reading::Agent => context.watch(receiver.as_fd(), Side::Receiver, EpollFlags::EPOLLIN)?,
                    Reading::Thread => read_in_a_thread(&receiver, &self.name)?,
                }
                context.forget(self.listener.as_fd());
                self.receiver = Some(receiver);
                Ok(())
            }
            Err(Errno::EAGAIN | Errno::EINTR | Errno::ECONNABORTED) => Ok(()),
            Err(e) => Err(WireError::os(format!("{}: accepting", self.name), e)),
        }
    }
    fn read(&mut self, context: &Context<'_>, record: &mut FlowRecord) {
        let Some(receiver) = &self.receiver else { return };
        match recv(receiver.as_raw_fd(), &mut self.sink, MsgFlags::MSG_TRUNC | MsgFlags::MSG_DONTWAIT) {
            Ok(0) => context.forget(receiver.as_fd()),
            Ok(n) => {
                record.received += n as u64;
                if record.completed.is_none() && self.total.is_some_and(|total| record.received >= total) {
                    record.completed = Some(context.now);
                }
            }
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            Err(_) => context.forget(receiver.as_fd()), // reset: what came has been counted
        }
    }
    fn write(&mut self, context: &Context<'_>) {
        loop {
            let most = self.allowance.map_or(WRITE, |left| left.min(WRITE as u64) as usize);
            if most == 0 {
                return self.finish_writing(context);
            }
            match send(self.sender.as_raw_fd(), &ZEROS[..most], MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL) {
                Ok(n) => self.allowance = self.allowance.map(|left| left - n as u64),
                Err(Errno::EAGAIN | Errno::EINTR) => return,
                Err(_) => return context.forget(self.sender.as_fd()),
            }
        }
    }
    /// Nothing to write now: a source waits for its next chunk, all others close their side.
    fn finish_writing(&mut self, context: &Context<'_>) {
        context.forget(self.sender.as_fd());
        self.writing = false;
        if self.source.is_none() {
            // Not connected (any more): nothing is left to close.
            let _ = shutdown(self.sender.as_raw_fd(), Shutdown::Write);
        }
    }
}

impl Endpoint for Transfer {
    fn start(&mut self, context: &Context<'_>, at: Time, _observed: &mut Observed) -> Done {
        context.watch(self.listener.as_fd(), Side::Listener, EpollFlags::EPOLLIN)?;
        match connect(self.sender.as_raw_fd(), &self.to) {
            Ok(()) | Err(Errno::EINPROGRESS) => {}
            Err(e) => return Err(WireError::os(format!("{}: connecting", self.name), e)),
        }
        self.write_when_possible(context)?;
        if let Some(source) = &mut self.source {
            let first = if source.begins_off { at + source.chance.span(source.off) } else { at };
            source.on_until = first + source.chance.span(source.on);
            context.tick_at(first);
        }
        Ok(())
    }
    /// The source's next write.
    fn tick(&mut self, context: &Context<'_>, at: Time, _observed: &mut Observed) -> Done {
        let Some(source) = &mut self.source else { return Ok(()) };
        if at >= source.on_until {
            let start = at + source.chance.span(source.off);
            source.on_until = start + source.chance.span(source.on);
            context.tick_at(start);
            return Ok(());
        }
        self.allowance = self.allowance.map(|left| left + source.chunk);
        let next = at + source.every;
        // A sender that cannot be watched any more is gone: its source with it.
        if self.write_when_possible(context).is_ok() {
            context.tick_at(next);
        }
        Ok(())
    }
    fn ready(&mut self, context: &Context<'_>, side: Side, events: EpollFlags, observed: &mut Observed) -> Done {
        match side {
            Side::Listener => self.accept(context),
            Side::Receiver => {
                self.read(context, context.line(observed));
                Ok(())
            }
            Side::Sender => {
                self.write(context);
                if events.intersects(EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP) {
                    context.forget(self.sender.as_fd());
                }
                Ok(())
            }
        }
    }
    fn stop(&mut self, context: &Context<'_>) {
        self.source = None;
        self.allowance = Some(0);
        self.finish_writing(context);
    }
    fn sender_info(&self) -> Option<Info> {
        TcpInfo::of(self.sender()).ok().map(|info| info.info())
    }
    fn is_in_recovery(&self) -> bool {
        TcpInfo::of(self.sender()).is_ok_and(|info| info.in_recovery())
    }
    /// Payload that the receiver has, if it is not counted as it is read.
    fn received(&self) -> Option<u64> {
        let receiver = self.receiver.as_ref().filter(|_| self.reading == Reading::Thread)?;
        TcpInfo::of(receiver.as_fd()).ok().map(|info| info.payload_received())
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        // Reset instead of a long goodbye: orphans would keep TCP memory for minutes.
        let linger = libc::linger { l_onoff: 1, l_linger: 0 };
        let _ = setsockopt(&self.sender, sockopt::Linger, &linger);
        if let Some(receiver) = &self.receiver {
            // Ends the thread that reads, if there is one.
            let _ = shutdown(receiver.as_raw_fd(), Shutdown::Both);
        }
    }
}

/// Reads until the stream ends, or its socket is shut down.
fn read_in_a_thread(receiver: &OwnedFd, flow: &str) -> Done {
    let failed = |e| WireError::os(format!("{flow}: reading"), e);
    fcntl(receiver, FcntlArg::F_SETFL(OFlag::empty())).map_err(|e| failed(e.into()))?;
    let own = receiver.try_clone().map_err(failed)?;
    let read = move || {
        let mut sink = vec![0; READ];
        while let Ok(1..) | Err(Errno::EINTR) =
            recv(own.as_raw_fd(), &mut sink, MsgFlags::MSG_WAITALL | MsgFlags::MSG_TRUNC)
        {}
    };
    std::thread::Builder::new().stack_size(1 << 16).spawn(read).map(drop).map_err(failed)
}

pub(super) fn stream_socket(multipath: bool) -> io::Result<OwnedFd> {
    if multipath {
        return sys::mptcp_socket();
    }
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    Ok(socket(AddressFamily::Inet, SockType::Stream, flags, None)?)
}

fn listening(address: &SockaddrIn, tcp: &TcpPlan, multipath: bool) -> io::Result<OwnedFd> {
    let listener = stream_socket(multipath)?;
    if let Some(bytes) = tcp.receiver.recv_buffer {
        // The kernel doubles it, and half is window.
        setsockopt(&listener, sockopt::RcvBufForce, &(bytes.as_u64() as usize))?;
    }
    // Subflows come to any of the host's addresses.
    let any = SockaddrIn::from(std::net::SocketAddrV4::new(std::net::Ipv4Addr::UNSPECIFIED, address.port()));
    bind(listener.as_raw_fd(), if multipath { &any } else { address })?;
    listen(&listener, Backlog::new(8)?)?;
    Ok(listener)
}

/// The initial sequence number, through the repair options: its low bits zero (see [`crate::frame::Frame::set_isn_bits`]).
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

pub(super) fn set_congestion(flow: &str, sender: &OwnedFd, tcp: &TcpPlan, from: &Namespace, manner: &Manner) -> Done {
    let names = match manner.instead_of(tcp.congestion.kind()) {
        Some(name) => vec![name.to_string()],
        None => congestion_names(flow, &tcp.congestion)?.to_vec(),
    };
    for name in &names {
        match setsockopt(sender, sockopt::TcpCongestion, &OsString::from(name)) {
            Ok(()) => return Ok(()),
            Err(Errno::ENOENT) => {}
            Err(e) => return Err(WireError::os(format!("{flow}: congestion control {name}"), e)),
        }
    }
    let has = from.read_sysctl("ipv4/tcp_available_congestion_control").unwrap_or_default();
    let what = format!("{flow}: congestion must be one that this kernel has ({has}), got {}", names[0]);
    Err(WireError::Missing(what))
}

pub(super) fn owned(fd: std::os::fd::RawFd) -> OwnedFd {
    #![expect(unsafe_code, reason = "nix returns accepted sockets as numbers")]
    // SAFETY: just returned by accept4, owned by nobody else.
    unsafe { OwnedFd::from_raw_fd(fd) }
}
