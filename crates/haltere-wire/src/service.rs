//! A router as a service: a line per second, JSON and Prometheus on request, an orderly end by signal.

use crate::clock::{Clock, Monotonic, wall_ns};
use crate::error::{Doing, WireError};
use crate::fabric::{Fabric, FabricParams, Steering};
use crate::port::packet::PacketPort;
use crate::port::{Port, PortCounters};
use crate::privileges;
use crate::router::{Router, Watch};
use crate::schedule::PriorityGuard;
use crate::stats::Snapshot;
use crate::sys;
use haltere_plan::Plan;
use haltere_plan::fabric::FabricPlan;
use haltere_plan::plan::{Impairments, LinkPlan};
use haltere_units::{Dur, Prob, Time};
use options::Options;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

mod options;

/// How long packets inside may take to go out at the end.
const DRAIN: Dur = Dur::from_secs(5);
const SECOND: Dur = Dur::from_secs(1);
/// A client of the statistics that is slower than this is cut off: the router must not wait for it.
const CLIENT: Duration = Duration::from_millis(20);

/// A router between two interfaces, until a signal ends it. The plan is a chain of two links; the forward
/// direction of the first is left to right, that of the second right to left. `options` is JSON; from the
/// descriptor `signals` the numbers of signals are read, a byte each: SIGUSR1 prints the statistics, SIGTERM and SIGINT
/// end.
///
/// Unless `keep_privileges` is among the options the process has none afterwards, and cannot get them back.
pub fn router_service(plan: &Plan, options: &str, signals: RawFd) -> Result<(), WireError> {
    let options = Options::read(options)?;
    let fabric = Fabric::new(fabric_params(plan, &options)?)?;
    options.check_interfaces()?;
    let open = |name: &String| PacketPort::open(name, options.slots);
    let ports = options.interfaces.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let guard = PriorityGuard::for_router(options.spin);
    let mut clock = Monotonic::start(options.spin).doing("the clock")?;
    let zero_ns = wall_ns().saturating_sub(clock.now().as_ns());
    let mut router = Router::new(fabric, ports)?;
    router.schedule = guard.schedule();
    for (port, (capture, name)) in options.captures.iter().zip(&options.interfaces).enumerate() {
        if let Some((option, path)) = capture {
            let made = router.capture(port, path, name, zero_ns);
            made.map_err(|e| options::not_a_capture(option, path, &e.to_string()))?;
        }
    }
    let listener = options.service.listen()?;
    if !options.keep_privileges {
        for kept in privileges::give_up() {
            eprintln!("haltere: router: warning: {kept}");
        }
    }
    options.service.run(&mut router, &mut clock, signals, listener)
}

fn fabric_params(plan: &Plan, options: &Options) -> Result<FabricParams, WireError> {
    let [there, _, back, ..] = &plan.links[..] else { return Err(WireError::plan("router", "links must be two")) };
    let link = |plan: &LinkPlan, name: &str, (from, to)| {
        let mut link = LinkPlan { name: name.into(), from, to, emits_at: None, ..plan.clone() };
        link.rtt = options.rtt.or(plan.rtt);
        if options.reorder > Prob::ZERO {
            let line: &mut Impairments = link.impairments.get_or_insert_default();
            (line.reorder, line.reorder_by) = (options.reorder, options.reorder_by);
        }
        link
    };
    let plan = FabricPlan {
        nodes: 2,
        links: vec![link(there, "right", (0, 1)), link(back, "left", (1, 0))],
        reroutes: Vec::new(),
        framing: plan.framing,
        seed: options.seed,
        outside: plan.outside.clone(),
        count_sockets: false,
        sample: None,
        warmup: Time::ZERO,
        end: Time::NEVER,
    };
    Ok(FabricParams { plan, ports: vec![0, 1], steering: Steering::Across, isn_bits: options.isn_bits })
}

/// How the service behaves.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Service {
    /// The interfaces' names, for warnings.
    pub interfaces: [String; 2],
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
    /// Listens for those who want the statistics, if it is asked for.
    pub fn listen(&self) -> Result<Option<TcpListener>, WireError> {
        let listen = |address: &String| {
            let bound = TcpListener::bind(address).and_then(|l| l.set_nonblocking(true).map(|()| l));
            let rule = "--prometheus must be a free address of this machine such as 127.0.0.1:9900";
            bound.map_err(|e| WireError::plan("router", format!("{rule}, got `{address}`: {e}")))
        };
        self.prometheus.as_ref().map(listen).transpose()
    }
    /// Runs the router until its end, and prints its statistics on standard output, also if it fails.
    pub fn run<P: Port>(
        &self,
        router: &mut Router<P>,
        clock: &mut impl Clock,
        signals: RawFd,
        listener: Option<TcpListener>,
    ) -> Result<(), WireError> {
        let now = clock.now();
        let mut desk = Desk {
            bell: sys::duplicate(signals).doing("waiting for signals")?,
            listener,
            warned: [Warned::default(); 2],
            how: self.clone(),
            end: self.duration.map(|span| now + span),
            before: router.snapshot(now),
            next_line: now + SECOND,
        };
        let ended = router.run(clock, &mut desk, DRAIN);
        let told = router.snapshot(clock.now());
        say(if self.json { format!("{}\n", told.json()) } else { told.text() });
        ended
    }
}

/// To standard output. That its reader has gone does not end a router.
fn say(text: String) {
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// What the user has been warned of, for one interface: once each.
#[derive(Debug, Clone, Copy, Default)]
struct Warned {
    unhandled: bool,
    refused: bool,
    down: bool,
}

impl Warned {
    /// What is to be said of an interface with these counters, and was not yet.
    fn of(&mut self, port: &PortCounters, name: &str) -> Vec<String> {
        let lost = port.oversize + port.unhandled;
        let news = [
            (
                &mut self.unhandled,
                lost > 0,
                format!(
                    "interface `{name}`: {lost} frames could not be cut into packets and were dropped; switch the \
                     offloads of their sender \
                 off, there: `ethtool -K INTERFACE tx off tso off gso off`"
                ),
            ),
            (
                &mut self.refused,
                port.refused > 0 && !port.is_down,
                format!(
                    "interface `{name}` refused {} packets: its MTU is less than the other interface's, or it is full",
                    port.refused
                ),
            ),
            (&mut self.down, port.is_down, format!("interface `{name}` is down; `ip link set {name} up`")),
        ];
        let fresh = news.into_iter().filter(|(said, is_so, _)| *is_so && !**said);
        fresh
            .map(|(said, _, text)| {
                *said = true;
                text
            })
            .collect()
    }
}

struct Desk {
    bell: OwnedFd,
    listener: Option<TcpListener>,
    how: Service,
    warned: [Warned; 2],
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
                libc::SIGUSR1 => say(format!("{}\n", router().json())),
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
        for ((warned, port), name) in self.warned.iter_mut().zip(&snapshot.ports).zip(&self.how.interfaces) {
            for text in warned.of(port, name) {
                eprintln!("haltere: router: warning: {text}");
            }
        }
        match (self.how.quiet, self.how.json) {
            (true, _) => {}
            (_, true) => say(format!("{}\n", snapshot.json())),
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
