//! A router as a service: a line per second, JSON and Prometheus on request, an orderly end by signal.

use crate::clock::{Clock, Monotonic};
use crate::error::WireError;
use crate::fabric::{Fabric, FabricParams, Steering};
use crate::link::LinkParams;
use crate::port::Port;
use crate::port::packet::PacketPort;
use crate::router::{Router, Watch};
use crate::schedule::PriorityGuard;
use crate::stats::Snapshot;
use crate::sys;
use haltere_plan::Plan;
use haltere_plan::plan::LinkPlan;
use haltere_units::{Dur, Prob, Time};
use serde::Deserialize;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::time::Duration;

/// How long packets inside may take to go out at the end.
const DRAIN: Dur = Dur::from_secs(5);
const SECOND: Dur = Dur::from_secs(1);
/// A client of the statistics that is slower than this is cut off: the router must not wait for it.
const CLIENT: Duration = Duration::from_millis(20);

/// Two interfaces and what joins them, as `haltere router` is told.
#[derive(Debug, Clone, Deserialize)]
struct Options {
    left: String,
    right: String,
    #[serde(default)]
    seed: u64,
    /// Low bits of senders' initial sequence numbers that are zero; 0: not known.
    #[serde(default)]
    isn_bits: u8,
    #[serde(default)]
    spin: Dur,
    /// For queue sizes in `bdp`.
    rtt: Option<Dur>,
    #[serde(default)]
    reorder: Prob,
    #[serde(default)]
    reorder_by: Dur,
    /// Received frames that an interface can hold.
    slots: usize,
    pcap_left: Option<PathBuf>,
    pcap_right: Option<PathBuf>,
    #[serde(flatten)]
    service: Service,
}

/// A router between two interfaces, until a signal ends it. The plan is a chain of two links; the forward
/// direction of the first is left to right, that of the second right to left. `options` is JSON; from the
/// descriptor `signals` the numbers of signals are read, a byte each: SIGUSR1 prints the statistics, SIGTERM and SIGINT end.
pub fn router_service(plan: &Plan, options: &str, signals: RawFd) -> Result<(), WireError> {
    let options: Options = serde_json::from_str(options)
        .map_err(|e| WireError::plan("router", format!("options must be right, got {e}")))?;
    let [there, _, back, ..] = &plan.links[..] else { return Err(WireError::plan("router", "links must be two")) };
    let link = |plan: &LinkPlan, name: &str, (from, to)| LinkParams {
        plan: LinkPlan { name: name.into(), from, to, rtt: options.rtt.or(plan.rtt), ..plan.clone() },
        reorder: options.reorder,
        reorder_by: options.reorder_by,
    };
    let fabric = Fabric::new(FabricParams {
        nodes: 2,
        ports: vec![0, 1],
        links: vec![link(there, "right", (0, 1)), link(back, "left", (1, 0))],
        steering: Steering::Across,
        framing: plan.framing,
        isn_bits: options.isn_bits.min(32),
        seed: options.seed,
        sample: None,
        warmup: Time::ZERO,
    })?;
    let names = [&options.left, &options.right];
    let ports = names.iter().map(|name| PacketPort::open(name, options.slots)).collect::<Result<Vec<_>, _>>()?;
    let guard = PriorityGuard::for_router(options.spin);
    let mut router = Router::new(fabric, ports)?;
    router.schedule = guard.schedule();
    for (port, path) in [&options.pcap_left, &options.pcap_right].into_iter().enumerate() {
        if let Some(path) = path {
            router.capture(port, path, names[port])?;
        }
    }
    let mut clock = Monotonic::start(options.spin).map_err(|e| WireError::os("the clock", e))?;
    options.service.run(&mut router, &mut clock, signals)
}

/// How the service behaves.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Service {
    /// No line per second.
    pub quiet: bool,
    /// Lines and statistics are JSON, on standard output.
    pub json: bool,
    /// Address at which `/metrics` and `/stats` are served.
    pub prometheus: Option<String>,
    /// End by itself after this.
    pub duration: Option<Dur>,
}

impl Service {
    /// Runs the router until its end, and prints its statistics on standard output.
    pub fn run<P: Port>(
        &self,
        router: &mut Router<P>,
        clock: &mut impl Clock,
        signals: RawFd,
    ) -> Result<(), WireError> {
        let listener = self.prometheus.as_ref().map(|address| {
            let bound = TcpListener::bind(address).and_then(|l| l.set_nonblocking(true).map(|()| l));
            bound.map_err(|e| WireError::os(format!("--prometheus: listening at `{address}`"), e))
        });
        let now = clock.now();
        let mut desk = Desk {
            bell: sys::duplicate(signals).map_err(|e| WireError::os("waiting for signals", e))?,
            listener: listener.transpose()?,
            how: self.clone(),
            end: self.duration.map(|span| now + span),
            before: router.snapshot(now),
            next_line: now + SECOND,
        };
        router.run(clock, &mut desk, DRAIN)?;
        let told = router.snapshot(clock.now());
        if self.json {
            println!("{}", told.json())
        } else {
            print!("{}", told.text())
        }
        Ok(())
    }
}

struct Desk {
    bell: OwnedFd,
    listener: Option<TcpListener>,
    how: Service,
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
        let mut fds = vec![self.bell.as_fd()];
        fds.extend(self.listener.as_ref().map(AsFd::as_fd));
        fds
    }
    fn woken(&mut self, router: &mut dyn FnMut() -> Snapshot) -> ControlFlow<()> {
        let mut numbers = [0; 16];
        // The descriptor does not block: nothing to read is an error here, and no signal.
        let count = nix::unistd::read(&self.bell, &mut numbers).unwrap_or(0);
        for number in &numbers[..count] {
            match i32::from(*number) {
                libc::SIGUSR1 => println!("{}", router().json()),
                libc::SIGTERM | libc::SIGINT => return ControlFlow::Break(()),
                _ => {}
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
        match (self.how.quiet, self.how.json) {
            (true, _) => {}
            (_, true) => println!("{}", snapshot.json()),
            _ => eprintln!("{}", snapshot.line(&self.before)),
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
