//! A router as a service: a line per second, JSON and Prometheus on request, an orderly end by signal.

use crate::clock::Clock;
use crate::error::WireError;
use crate::port::Port;
use crate::router::{Router, Watch};
use crate::stats::Snapshot;
use haltere_units::{Dur, Time};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// How long packets inside may take to go out at the end.
const DRAIN: Dur = Dur::from_secs(5);
const SECOND: Dur = Dur::from_secs(1);
/// A client of the statistics that is slower than this is cut off: the router must not wait for it.
const CLIENT: Duration = Duration::from_millis(20);

/// The signals that the service answers, waiting to be read.
#[derive(Debug)]
pub struct Bell(SignalFd);

impl Bell {
    /// From now on SIGTERM, SIGINT and SIGUSR1 wait here, for this thread and those that it starts later.
    pub fn hang() -> Result<Bell, WireError> {
        let mut signals = SigSet::empty();
        for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGUSR1] {
            signals.add(signal);
        }
        let hung = signals
            .thread_block()
            .and_then(|()| SignalFd::with_flags(&signals, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC));
        hung.map(Bell).map_err(|e| WireError::os("waiting for signals", e))
    }
}

/// How the service behaves.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Service {
    /// No line per second.
    pub quiet: bool,
    /// Address at which `/metrics` and `/stats` are served.
    pub listen: Option<String>,
    /// End by itself after this.
    pub duration: Option<Dur>,
}

impl Service {
    /// Runs the router until its end; then the statistics are on standard output as one line of JSON.
    pub fn run<P: Port>(&self, router: &mut Router<P>, clock: &mut impl Clock, bell: Bell) -> Result<(), WireError> {
        let listener = self.listen.as_ref().map(|address| {
            let bound = TcpListener::bind(address).and_then(|l| l.set_nonblocking(true).map(|()| l));
            bound.map_err(|e| WireError::os(format!("listening at `{address}`"), e))
        });
        let now = clock.now();
        let mut desk = Desk {
            bell,
            listener: listener.transpose()?,
            quiet: self.quiet,
            end: self.duration.map(|span| now + span),
            before: router.snapshot(now),
            next_line: now + SECOND,
        };
        router.run(clock, &mut desk, DRAIN)?;
        println!("{}", router.snapshot(clock.now()).json());
        Ok(())
    }
}

struct Desk {
    bell: Bell,
    listener: Option<TcpListener>,
    quiet: bool,
    end: Option<Time>,
    before: Snapshot,
    next_line: Time,
}

impl Watch for Desk {
    fn turn(&mut self, router: &mut dyn FnMut() -> Snapshot, now: Time) -> ControlFlow<()> {
        if now >= self.next_line {
            self.second(router(), now);
        }
        if self.end.is_some_and(|end| now >= end) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
    fn next(&self) -> Option<Time> {
        Some(self.end.map_or(self.next_line, |end| end.min(self.next_line)))
    }
    fn wake(&self) -> Vec<BorrowedFd<'_>> {
        let mut fds = vec![self.bell.0.as_fd()];
        fds.extend(self.listener.as_ref().map(AsFd::as_fd));
        fds
    }
    fn woken(&mut self, router: &mut dyn FnMut() -> Snapshot) -> ControlFlow<()> {
        while let Ok(Some(signal)) = self.bell.0.read_signal() {
            if signal.ssi_signo == Signal::SIGUSR1 as u32 {
                println!("{}", router().json());
            } else {
                return ControlFlow::Break(());
            }
        }
        while let Some(Ok((client, _))) = self.listener.as_ref().map(TcpListener::accept) {
            // A client that goes away is none of the router's business.
            let _ = answer(client, &router());
        }
        ControlFlow::Continue(())
    }
}

impl Desk {
    fn second(&mut self, snapshot: Snapshot, now: Time) {
        if !self.quiet {
            eprintln!("{}", snapshot.line(&self.before));
        }
        self.before = snapshot;
        while self.next_line <= now {
            self.next_line += SECOND;
        }
    }
}

/// One request of HTTP/1.0 kind, one answer.
fn answer(mut client: TcpStream, snapshot: &Snapshot) -> std::io::Result<()> {
    client.set_nonblocking(false)?;
    client.set_read_timeout(Some(CLIENT))?;
    client.set_write_timeout(Some(CLIENT))?;
    let mut request = [0; 1024];
    let len = client.read(&mut request)?;
    let (status, kind, body) = match request[..len].split(|b| *b == b' ').nth(1) {
        Some(b"/metrics") => ("200 OK", "text/plain; version=0.0.4", snapshot.prometheus()),
        Some(b"/" | b"/stats") => ("200 OK", "application/json", format!("{}\n", snapshot.json())),
        _ => ("404 Not Found", "text/plain", "there are /metrics and /stats\n".to_string()),
    };
    let head = format!("HTTP/1.0 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n", body.len());
    client.write_all(head.as_bytes())?;
    client.write_all(body.as_bytes())
}
