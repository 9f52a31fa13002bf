//! A port in memory: frames arrive by a script, what is sent is kept.

use haltere_units::Time;
use haltere_wire::frame::Frame;
use haltere_wire::port::{Port, PortCounters};
use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;

/// A port in memory.
#[derive(Debug, Default)]
pub struct MemoryPort {
    /// What will arrive, in order of time.
    pub script: VecDeque<(Time, Vec<u8>)>,
    /// What was sent, and when it was due.
    pub sent: Vec<(Time, Vec<u8>)>,
    counters: PortCounters,
}

impl MemoryPort {
    /// A port at which these frames arrive.
    pub fn new(script: impl IntoIterator<Item = (Time, Vec<u8>)>) -> MemoryPort {
        MemoryPort { script: script.into_iter().collect(), ..MemoryPort::default() }
    }
    /// When the next frame arrives.
    pub fn next_arrival(&self) -> Option<Time> {
        self.script.front().map(|(at, _)| *at)
    }
}

impl Port for MemoryPort {
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
    fn receive(&mut self, now: Time, most: usize, each: &mut dyn FnMut(Frame)) -> io::Result<usize> {
        let mut count = 0;
        while count < most && self.next_arrival().is_some_and(|at| at <= now) {
            let Some((_, bytes)) = self.script.pop_front() else { break };
            self.counters.received += 1;
            self.counters.received_bytes += bytes.len() as u64;
            each(Frame::parse(&bytes));
            count += 1;
        }
        Ok(count)
    }
    fn send(&mut self, _now: Time, frames: &mut VecDeque<(Time, Frame)>) -> io::Result<()> {
        for (due, frame) in frames.drain(..) {
            self.counters.sent += 1;
            self.counters.sent_bytes += frame.bytes().len() as u64;
            self.sent.push((due, frame.bytes().to_vec()));
        }
        Ok(())
    }
    fn counters(&mut self) -> PortCounters {
        self.counters
    }
}
