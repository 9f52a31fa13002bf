//! The loop that joins ports, fabric and clock.
//!
//! One turn: what is due happens, what is due out is sent, what has come in is taken, and then the loop
//! sleeps until the next deadline or the next frame. It waits in a busy loop for 10 us at most, unless its clock was set to spin.

use crate::clock::{Clock, thread_cpu};
use crate::error::{Doing, WireError};
use crate::fabric::Fabric;
use crate::frame::Frame;
use crate::port::{Port, PortCounters};
use crate::schedule::Schedule;
use crate::stats::Snapshot;
use haltere_plan::Histogram;
use haltere_plan::capture::Capture;
use haltere_units::{Dur, Time};
use std::fs::File;
use std::io::{self, BufWriter};
use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;
use std::path::Path;

/// Frames taken from one port in one turn: bounds the time before what is due elsewhere goes out.
const TURN: usize = 64;
/// How often ports are asked whether their interfaces are still there.
const CHECK: Dur = Dur::from_ms(100);

/// What the loop asks of its owner; every method may be left as it is.
pub trait Watch {
    /// Called once a turn; `Break` ends the loop: nothing more is taken in, what is inside still goes out.
    fn turn(&mut self, _router: &mut dyn FnMut() -> Snapshot, _now: Time) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    /// When it wants to be called at the latest.
    fn next(&self) -> Option<Time> {
        None
    }
    /// Called once a turn, to change the network; `Break` ends the loop.
    fn change(&mut self, _fabric: &mut Fabric, _now: Time) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    /// Called when a descriptor of [`wake`](Watch::wake) is ready; `Break` ends the loop.
    fn woken(&mut self, _router: &mut dyn FnMut() -> Snapshot) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    /// Descriptors that wake the loop, a few.
    fn wake(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }
}

type CaptureFile = Capture<BufWriter<File>>;

/// The kind of link of a capture.
const ETHERNET: u16 = 1;
/// Which way a frame passed a port, seen from the router: the flags of its packet in a capture.
const CAME: [u8; 4] = [1, 0, 0, 0];
const WENT: [u8; 4] = [2, 0, 0, 0];

/// Writes the frame into the capture of its port, if it has one.
fn write_down(to: &mut Option<CaptureFile>, ns: u64, direction: [u8; 4], frame: &Frame) -> Result<(), WireError> {
    let Some(capture) = to else { return Ok(()) };
    let bytes = frame.bytes();
    capture.packet(ns, bytes.len() as u32, bytes, &[(2, &direction)]).doing("writing a capture")
}

/// A fabric with its ports.
#[derive(Debug)]
pub struct Router<P> {
    /// The network between the ports.
    pub fabric: Fabric,
    /// Its ports, in the order of the fabric's.
    pub ports: Vec<P>,
    captures: Vec<Option<CaptureFile>>,
    /// The wall clock at time zero, for captures.
    zero_ns: u64,
    /// Taken from the ports in this turn.
    came: Vec<(usize, Frame)>,
    lateness: Histogram,
    next_check: Time,
    /// How the thread that runs it is scheduled, for its statistics.
    pub schedule: Schedule,
    /// The network ends then: a frame that is due later does not leave, and a frame that comes later is not taken in.
    pub end: Time,
    /// Processor time of the thread when it began to run.
    cpu_before: Dur,
    turns: u64,
    sleeps: u64,
}

impl<P: Port> Router<P> {
    /// A router of this fabric with a port for each of the fabric's.
    pub fn new(fabric: Fabric, ports: Vec<P>) -> Result<Router<P>, WireError> {
        if fabric.ports() != ports.len() {
            let want = fabric.ports();
            return Err(WireError::plan("router", format!("ports must be {want}, got {}", ports.len())));
        }
        let captures = ports.iter().map(|_| None).collect();
        Ok(Router {
            fabric,
            ports,
            captures,
            zero_ns: 0,
            came: Vec::new(),
            lateness: Histogram::default(),
            next_check: Time::ZERO,
            schedule: Schedule::Shared,
            end: Time::NEVER,
            cpu_before: Dur::ZERO,
            turns: 0,
            sleeps: 0,
        })
    }
    /// Writes what passes that port into a file, with stamps for a run whose time zero is at `zero_ns` of the wall
    /// clock.
    pub fn capture(&mut self, port: usize, path: &Path, name: &str, zero_ns: u64) -> io::Result<()> {
        let mut capture = Capture::start(BufWriter::new(File::create(path)?), name, ETHERNET, 0)?;
        capture.flush()?; // a full disk is told now
        self.captures[port] = Some(capture);
        self.zero_ns = zero_ns;
        Ok(())
    }
    /// Runs until `watch` breaks, then lets everything inside go out, for at most `drain`. Captures are complete even
    /// if it fails.
    pub fn run(&mut self, clock: &mut impl Clock, watch: &mut impl Watch, drain: Dur) -> Result<(), WireError> {
        self.cpu_before = thread_cpu();
        let ended = self.route(clock, watch).and_then(|()| self.drain(clock, drain));
        let flushed = self.captures.iter_mut().flatten().try_for_each(Capture::flush);
        ended.and(flushed.doing("writing a capture"))
    }
    fn route(&mut self, clock: &mut impl Clock, watch: &mut impl Watch) -> Result<(), WireError> {
        loop {
            let now = clock.now();
            let more = self.turn(clock, now, true)?;
            // The owner ends the run by the time at which the turn began, so what was due by the end has left.
            if watch.change(&mut self.fabric, now).is_break() || watch.turn(&mut || self.snapshot(now), now).is_break()
            {
                return Ok(());
            }
            // While packets pour in without a sleep, the owner's descriptors are looked at every 256th turn.
            let called = if more { self.turns.is_multiple_of(256) } else { self.sleep(clock, watch)? };
            if called && watch.woken(&mut || self.snapshot(clock.now())).is_break() {
                return Ok(());
            }
        }
    }
    fn drain(&mut self, clock: &mut impl Clock, drain: Dur) -> Result<(), WireError> {
        let end = clock.now() + drain;
        while self.fabric.holds() > 0 && clock.now() < end {
            self.turn(clock, clock.now(), false)?;
            // What no event will move stays inside: waiting longer would not bring it out.
            let Some(next) = self.fabric.network.next_packet() else { break };
            clock.sleep(Some(next.min(end)), &[]).doing("sleeping")?;
        }
        Ok(())
    }
    /// One turn; true where a port may have more.
    fn turn(&mut self, clock: &impl Clock, now: Time, take: bool) -> Result<bool, WireError> {
        self.turns += 1;
        if now >= self.next_check {
            self.next_check = now + CHECK;
            self.ports.iter_mut().try_for_each(Port::check)?;
        }
        self.fabric.advance(now.min(self.end));
        self.send(now)?;
        let (mut more, take) = (false, take && now < self.end);
        for (index, port) in self.ports.iter_mut().enumerate().filter(|_| take) {
            let count = port.receive(now, TURN, &mut |frame| self.came.push((index, frame))).doing("receiving")?;
            more |= count == TURN;
        }
        if !self.came.is_empty() {
            self.take_in(clock.now())?;
        }
        Ok(more)
    }
    /// What has come enters the fabric. `read` is a time after it was taken: a process that is held up in between makes
    /// a packet's delay longer, never shorter than the way.
    fn take_in(&mut self, read: Time) -> Result<(), WireError> {
        let now = read.min(self.end);
        self.fabric.advance(now);
        let mut came = std::mem::take(&mut self.came);
        for (index, frame) in came.drain(..) {
            write_down(&mut self.captures[index], self.zero_ns.saturating_add(now.as_ns()), CAME, &frame)?;
            self.fabric.arrive(now, index, frame);
        }
        self.came = came;
        self.fabric.advance(now);
        self.send(read)
    }
    fn send(&mut self, now: Time) -> Result<(), WireError> {
        for (index, port) in self.ports.iter_mut().enumerate() {
            let outbox = self.fabric.outbox(index);
            if outbox.is_empty() {
                continue;
            }
            for (due, frame) in outbox.iter() {
                self.lateness.add(now.since(*due));
                write_down(&mut self.captures[index], self.zero_ns.saturating_add(now.as_ns()), WENT, frame)?;
            }
            port.send(now, outbox).doing("sending")?;
        }
        Ok(())
    }
    /// Sleeps until something is to do; true where one of the owner's descriptors woke it.
    fn sleep(&mut self, clock: &mut impl Clock, watch: &impl Watch) -> Result<bool, WireError> {
        let ports = self.ports.iter().filter_map(Port::next).min();
        let until = [self.fabric.network.deadline(), watch.next(), ports].into_iter().flatten().min();
        if until.is_some_and(|at| at <= clock.now()) {
            return Ok(false);
        }
        self.sleeps += 1;
        let mut wake = watch.wake();
        let owners = (1u64 << wake.len()) - 1;
        wake.extend(self.ports.iter().filter_map(Port::fd));
        let ready = clock.sleep(until, &wake).doing("sleeping")?;
        Ok(ready & owners != 0)
    }
    /// Everything counted so far.
    pub fn snapshot(&mut self, now: Time) -> Snapshot {
        let ports: Vec<PortCounters> = self.ports.iter_mut().map(Port::counters).collect();
        Snapshot {
            at: now,
            cpu: thread_cpu().saturating_sub(self.cpu_before),
            fabric: self.fabric.network.counters(),
            unread: self.fabric.unread(),
            holds: self.fabric.holds(),
            ports,
            links: self.fabric.network.links_now(now),
            lateness: self.lateness.clone(),
            schedule: self.schedule,
            turns: self.turns,
            sleeps: self.sleeps,
        }
    }
}

#[cfg(test)]
mod tests;
