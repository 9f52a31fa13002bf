//! One TCP flow: a sender and a receiver socket of the kernel. What the sender writes, the kind says: bytes, or a
//! [`RateSource`].

use super::socket::{self, READ};
use super::{Context, Done, Endpoint, Observed, Opening, Side};
use crate::error::{Doing, WireError};
use crate::kernel_tcp::TcpInfo;
use crate::namespace::node_address;
use haltere_plan::plan::{DurationDistribution, TcpPlan};
use haltere_plan::record::FlowRecord;
use haltere_plan::rng::Rng;
use haltere_transport::Info;
use haltere_units::{Bytes, Dur, Rate, Time};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{MsgFlags, Shutdown, SockaddrIn, bind, recv, setsockopt, shutdown, sockopt};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Longer than any run: a source that is never off.
const ALWAYS: Dur = Dur::from_secs(1 << 30);

/// A source that writes chunks while it is on.
#[derive(Debug)]
pub(super) struct RateSource {
    chunk: u64,
    every: Dur,
    on: DurationDistribution,
    off: DurationDistribution,
    begins_off: bool,
    on_until: Time,
    chance: Rng,
    /// Chunks that find no room in the socket are written later, all of them.
    piles_up: bool,
}

impl RateSource {
    /// A source with that rate while it is on, for times drawn from these distributions. While a chunk waits for room in
    /// the socket, the source makes no other.
    pub(super) fn new(
        rate: Rate,
        chunk: Bytes,
        (on, off): (DurationDistribution, DurationDistribution),
        begins_off: bool,
        chance: Rng,
    ) -> RateSource {
        let every = rate.time_for(chunk).max(Dur::from_ns(1));
        RateSource { chunk: chunk.as_u64(), every, on, off, begins_off, on_until: Time::ZERO, chance, piles_up: false }
    }
    /// A source that is always on. Its chunks wait for room in the socket.
    pub(super) fn steady(rate: Rate, chunk: Bytes, chance: Rng) -> RateSource {
        let (on, off) = (DurationDistribution::Constant(ALWAYS), DurationDistribution::Constant(Dur::ZERO));
        RateSource { piles_up: true, ..RateSource::new(rate, chunk, (on, off), false, chance) }
    }
    /// It begins at that time. Returns when it writes first.
    fn begin(&mut self, at: Time) -> Time {
        let first = if self.begins_off { at + self.chance.span(self.off) } else { at };
        self.on_until = first + self.chance.span(self.on);
        first
    }
    /// It is `at`, the time that was returned last. Returns the bytes that it writes, and the next such time.
    fn write(&mut self, at: Time) -> (u64, Time) {
        if at < self.on_until {
            return (self.chunk, at + self.every);
        }
        let start = at + self.chance.span(self.off);
        self.on_until = start + self.chance.span(self.on);
        (0, start)
    }
    /// It was held up from `at`, the time that was returned last. Returns the first of its times from `now` on.
    fn skip(&mut self, mut at: Time, now: Time) -> Time {
        while at < now {
            at = self.write(at).1;
        }
        at
    }
}

/// What a TCP flow sends.
pub(super) struct Stream<'p> {
    pub(super) tcp: &'p TcpPlan,
    /// Bytes in all; `None`: endless.
    pub(super) bytes: Option<Bytes>,
    /// What writes them; `None`: as much is written as the socket takes.
    pub(super) source: Option<RateSource>,
    /// The connection is one of Multipath TCP.
    pub(super) multipath: bool,
}

#[derive(Debug)]
pub(super) struct Transfer {
    sender: OwnedFd,
    listener: OwnedFd,
    receiver: Option<OwnedFd>,
    to: SocketAddrV4,
    name: String,
    /// Bytes in all, where limited.
    total: Option<u64>,
    /// Bytes that may be written now; `None`: without end.
    allowance: Option<u64>,
    source: Option<RateSource>,
    /// Since when the source has been held up: its next chunk was due, and the last one still waits.
    held_since: Option<Time>,
    writing: bool,
    sink: Vec<u8>,
    reading: Reading,
}

/// Who reads at the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// The agent, when the socket has something.
    Agent,
    /// A thread in one long call: the kernel takes each segment as it arrives, without a system call for it. What was
    /// received is read from `TCP_INFO`.
    Thread,
}

impl Transfer {
    pub(super) fn open(at: &Opening<'_>, stream: Stream<'_>) -> Result<Transfer, WireError> {
        let Stream { tcp, bytes, source, multipath } = stream;
        let (flow, from, to, port) = (at.flow, at.from, at.to, at.port());
        let total = bytes.map(Bytes::as_u64);
        let address = SocketAddrV4::new(node_address(flow.to), port);
        // Subflows come to any of the host's addresses.
        let listens = if multipath { SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port) } else { address };
        let buffer = tcp.receiver.recv_buffer;
        let listener = socket::listener(to, listens, multipath, |socket| socket::set_buffers(socket, None, buffer));
        let listener = listener.map_err(|e| at.failed("receiver", e))?;
        let sender = from.enter(|| {
            let sender = socket::stream_socket(multipath)?;
            if multipath {
                // Which of the host's interfaces the first subflow takes. Its sequence numbers cannot be chosen.
                bind(sender.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(node_address(flow.from), 0)))?;
            } else {
                socket::choose_isn(sender.as_fd(), port)?;
            }
            socket::set_buffers(&sender, tcp.sender.send_buffer, None)?;
            setsockopt(&sender, sockopt::TcpNoDelay, &!tcp.sender.nagle)?;
            Ok(sender)
        });
        let sender = sender.map_err(|e| at.failed("sender", e))?;
        at.set_congestion(&sender, tcp, from)?;
        at.set_receivers_congestion(&listener, tcp, to)?;
        Ok(Transfer {
            sender,
            listener,
            receiver: None,
            to: address,
            name: flow.name.clone(),
            total,
            allowance: if source.is_some() { Some(0) } else { total },
            source,
            held_since: None,
            writing: false,
            sink: vec![0; READ],
            // When a limited flow is complete must be told at once, and MPTCP's sockets do not read so.
            reading: if multipath || total.is_some() || !at.manner.readers { Reading::Agent } else { Reading::Thread },
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
        let accepted = socket::accept(&self.listener).doing(format!("{}: accepting", self.name))?;
        let Some(receiver) = accepted else { return Ok(()) };
        match self.reading {
            Reading::Agent => context.watch(receiver.as_fd(), Side::Receiver, EpollFlags::EPOLLIN)?,
            Reading::Thread => read_in_a_thread(&receiver, &self.name)?,
        }
        context.forget(self.listener.as_fd());
        self.receiver = Some(receiver);
        Ok(())
    }
    fn read(&mut self, context: &Context<'_>, record: &mut FlowRecord) {
        let Some(receiver) = &self.receiver else { return };
        match socket::read(receiver, &mut self.sink) {
            Ok(None) => {}
            Ok(Some(n @ 1..)) => {
                record.received += n;
                if record.completed.is_none() && self.total.is_some_and(|total| record.received >= total) {
                    record.completed = Some(context.now);
                }
            }
            // The end, or a reset: what came has been counted.
            Ok(Some(0)) | Err(socket::Dead) => context.forget(receiver.as_fd()),
        }
    }
    /// Writes what it may; what finds no room is written when there is some.
    fn write(&mut self, context: &Context<'_>) -> Done {
        loop {
            let most = self.allowance.unwrap_or(u64::MAX);
            if most == 0 {
                self.finish_writing(context);
                return Ok(());
            }
            match socket::write(&self.sender, most) {
                Ok(Some(n)) => self.allowance = self.allowance.map(|left| left - n),
                Ok(None) => return self.write_when_possible(context),
                Err(socket::Dead) => {
                    context.forget(self.sender.as_fd());
                    self.source = None;
                    return Ok(());
                }
            }
        }
    }
    /// Nothing to write now: a source waits for its next chunk, all others close their side.
    fn finish_writing(&mut self, context: &Context<'_>) {
        if std::mem::take(&mut self.writing) {
            context.forget(self.sender.as_fd());
        }
        match &mut self.source {
            Some(source) => {
                if let Some(since) = self.held_since.take() {
                    context.tick_at(source.skip(since, context.now));
                }
            }
            // Not connected (any more): nothing is left to close.
            None => drop(shutdown(self.sender.as_raw_fd(), Shutdown::Write)),
        }
    }
}

impl Endpoint for Transfer {
    fn start(&mut self, context: &Context<'_>, at: Time, _observed: &mut Observed) -> Done {
        context.watch(self.listener.as_fd(), Side::Listener, EpollFlags::EPOLLIN)?;
        socket::begin(&self.sender, self.to).doing(format!("{}: connecting", self.name))?;
        self.write_when_possible(context)?;
        if let Some(source) = &mut self.source {
            context.tick_at(source.begin(at));
        }
        Ok(())
    }
    /// The source's next write.
    fn tick(&mut self, context: &Context<'_>, at: Time, _observed: &mut Observed) -> Done {
        let Some(source) = &mut self.source else { return Ok(()) };
        if !source.piles_up && self.allowance != Some(0) {
            self.held_since = Some(at);
            return Ok(());
        }
        let (bytes, next) = source.write(at);
        self.allowance = self.allowance.map(|left| left + bytes);
        // A sender that is gone, or cannot be watched, has no source any more.
        if bytes == 0 || self.writing || self.write(context).is_ok() {
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
                self.write(context)?;
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
        socket::reset_when_dropped(&self.sender);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_writes_its_rate_while_it_is_on() {
        let half = DurationDistribution::Constant(Dur::from_ms(250));
        let end = Time::ZERO + Dur::from_secs(3);
        // 500 kB/s for six times 250 ms; begun off, for five times and the 240 ms from 2.76 s on.
        for (begins_off, bytes) in [(false, 750_000), (true, 745_000)] {
            let (rate, chunk, chance) = (Rate::from_mbps(4), Bytes::new(1000), Rng::new(1, "source"));
            let mut source = RateSource::new(rate, chunk, (half, half), begins_off, chance);
            let (mut at, mut written) = (source.begin(Time::ZERO + Dur::from_ms(10)), 0);
            while at < end {
                let (more, next) = source.write(at);
                assert!(next > at);
                (written, at) = (written + more, next);
            }
            assert_eq!(written, bytes, "begins off: {begins_off}");
        }
    }

    #[test]
    fn a_source_that_was_held_up_keeps_its_clock() {
        let half = DurationDistribution::Constant(Dur::from_ms(250));
        let new = || RateSource::new(Rate::from_mbps(4), Bytes::new(1000), (half, half), false, Rng::new(1, "source"));
        let ms = |n| Time::ZERO + Dur::from_ms(n);
        // A chunk is due every 2 ms while it is on, which it is again from 500 ms on.
        for (held_until, next) in [(7, 8), (8, 8), (249, 250), (300, 500), (503, 504)] {
            let mut source = new();
            let due = source.begin(Time::ZERO);
            assert_eq!(source.skip(due, ms(held_until)), ms(next), "held up until {held_until} ms");
        }
    }
}
