//! The barrier between two windows: threads wait for each other, and learn when the first event of all is due.
//!
//! Who waits spins, because a window takes microseconds, and then yields its core.

use haltere_units::Time;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::yield_now;

/// Rounds of waiting before the core is yielded: some tens of microseconds.
const SPINS: u32 = 4096;

/// The barrier of so many threads.
#[derive(Debug)]
pub(super) struct Gate {
    threads: usize,
    /// Threads that wait.
    arrived: AtomicUsize,
    /// The least time that they have given so far.
    least: AtomicU64,
    /// The least time of all that was given for this window.
    first: AtomicU64,
    /// Windows that have begun, but for the first.
    window: AtomicU64,
    /// A thread has gone, so nobody need wait.
    broken: AtomicBool,
}

impl Gate {
    pub fn new(threads: usize) -> Gate {
        Gate {
            threads,
            arrived: AtomicUsize::new(0),
            least: AtomicU64::new(u64::MAX),
            first: AtomicU64::new(0),
            window: AtomicU64::new(0),
            broken: AtomicBool::new(false),
        }
    }
    /// A thread takes part from now on. If it drops what it gets without [leaving](Passage::leave), nobody waits longer.
    pub fn enter(&self) -> Passage<'_> {
        Passage { gate: self, window: 0, left: false }
    }
}

/// A thread's place at the gate.
#[derive(Debug)]
pub(super) struct Passage<'a> {
    gate: &'a Gate,
    window: u64,
    left: bool,
}

impl Passage<'_> {
    /// The window has an odd number.
    pub fn is_odd(&self) -> bool {
        self.window % 2 == 1
    }
    /// Waits until all threads have come. Returns the least of the times that they give. `None`: one of them has gone.
    pub fn wait(&mut self, next: Time) -> Option<Time> {
        let gate = self.gate;
        gate.least.fetch_min(next.as_ns(), Ordering::AcqRel);
        self.window += 1;
        if gate.arrived.fetch_add(1, Ordering::AcqRel) + 1 == gate.threads {
            gate.arrived.store(0, Ordering::Relaxed);
            gate.first.store(gate.least.swap(u64::MAX, Ordering::AcqRel), Ordering::Relaxed);
            gate.window.store(self.window, Ordering::Release);
        }
        let mut spins = 0;
        while gate.window.load(Ordering::Acquire) != self.window {
            if gate.broken.load(Ordering::Relaxed) {
                return None;
            }
            spins += 1;
            if spins < SPINS { spin_loop() } else { yield_now() }
        }
        Some(Time::from_ns(gate.first.load(Ordering::Relaxed)))
    }
    /// The thread has done all that it was to do.
    pub fn leave(mut self) {
        self.left = true;
    }
}

impl Drop for Passage<'_> {
    fn drop(&mut self) {
        if !self.left {
            self.gate.broken.store(true, Ordering::Relaxed);
        }
    }
}
