//! A router as a service: a line per second, JSON and Prometheus on request, an orderly end by signal.

use crate::clock::{Clock, Monotonic, wall_ns};
use crate::error::{Doing, WireError};
use crate::fabric::{Fabric, FabricParams, Steering};
use crate::port::PortCounters;
use crate::port::packet::PacketPort;
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
    let listener = listen(options.prometheus.as_ref())?;
    if !options.keep_privileges {
        for kept in privileges::give_up() {
            eprintln!("haltere: router: warning: {kept}");
        }
    }
    let (now, json) = (clock.now(), options.json);
    let mut owner = Owner {
        signals: sys::duplicate(signals).doing("waiting for signals")?,
        listener,
        warned: Default::default(),
        end: options.duration.map(|span| now + span),
        options,
        before: router.snapshot(now),
        next_line: now + SECOND,
    };
    let ended = router.run(&mut clock, &mut owner, DRAIN);
    let last = router.snapshot(clock.now());
    say(if json { format!("{}\n", last.json()) } else { last.text() });
    ended
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

/// Listens for those who want the statistics, if it is asked for.
fn listen(address: Option<&String>) -> Result<Option<TcpListener>, WireError> {
    let listen = |address: &String| {
        let bound = TcpListener::bind(address).and_then(|l| l.set_nonblocking(true).map(|()| l));
        let rule = "--prometheus must be a free address of this machine such as 127.0.0.1:9900";
        bound.map_err(|e| WireError::plan("router", format!("{rule}, got `{address}`: {e}")))
    };
    address.map(listen).transpose()
}

/// To standard output. That its reader has gone does not end a router.
fn say(text: String) {
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// What the user is to be warned of at an interface with these counters.
fn warnings(port: &PortCounters, name: &str) -> [Option<String>; 3] {
    let (lost, refused) = (port.oversize + port.unhandled, port.refused);
    [
        (lost > 0).then(|| {
            format!(
                "interface `{name}`: {lost} frames could not be cut into packets and were dropped; switch the offloads of \
                 their sender off, there: `ethtool -K INTERFACE tx off tso off gso off`"
            )
        }),
        (refused > 0 && !port.is_down).then(|| {
            format!(
                "interface `{name}` refused {refused} packets: its MTU is less than the other interface's, or it is full"
            )
        }),
        port.is_down.then(|| format!("interface `{name}` is down; `ip link set {name} up`")),
    ]
}

/// Who owns the router: prints its statistics, answers those who ask for them, and ends it.
struct Owner {
    /// The numbers of signals are read here.
    signals: OwnedFd,
    listener: Option<TcpListener>,
    options: Options,
    /// The warnings of each interface that were given.
    warned: [[bool; 3]; 2],
    end: Option<Time>,
    before: Snapshot,
    next_line: Time,
}

impl Watch for Owner {
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
        let mut fds = vec![self.signals.as_fd()];
        fds.extend(self.listener.as_ref().map(AsFd::as_fd));
        fds
    }
    fn woken(&mut self, router: &mut dyn FnMut() -> Snapshot) -> ControlFlow<()> {
        let mut numbers = [0; 16];
        // The descriptor does not block: nothing to read is an error here, and no signal.
        let count = nix::unistd::read(&self.signals, &mut numbers).unwrap_or(0);
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

impl Owner {
    fn second(&mut self, snapshot: Snapshot, now: Time) {
        for ((warned, port), name) in self.warned.iter_mut().zip(&snapshot.ports).zip(&self.options.interfaces) {
            for (was_given, text) in warned.iter_mut().zip(warnings(port, name)) {
                if let (Some(text), false) = (text, *was_given) {
                    *was_given = true;
                    eprintln!("haltere: router: warning: {text}");
                }
            }
        }
        match (self.options.quiet, self.options.json) {
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
