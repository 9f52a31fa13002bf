//! The scheduling-priority guard: real-time priority for a thread, as far as the kernel grants it.
//! Source: sched(7), sched_setattr(2).
//!
//! A thread of the ordinary class that wakes up waits until the running thread has used its slice: 3 ms by default,
//! rounded up to the tick. If another program runs on the machine, every packet is late by milliseconds. A thread of
//! class `SCHED_FIFO` runs at once, but the class needs CAP_SYS_NICE in the first user namespace. Without it a thread
//! of the ordinary class may ask for a slice of 100 us (Linux 6.12): when it wakes up, it preempts a thread with a
//! longer slice. The timer slack does not matter: a timerfd has none.

use crate::sys;
use haltere_units::Dur;
use std::io;
use std::marker::PhantomData;

/// Above all ordinary threads, and below the kernel's own threads of that class (50).
const PRIORITY: u32 = 1;
/// The least slice that the kernel grants, in nanoseconds.
const SLICE_NS: u64 = 100_000;

/// How a thread is scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schedule {
    /// Before all ordinary threads.
    Fifo,
    /// Among the ordinary threads, with a short slice: it preempts others when it wakes up.
    Slice,
    /// As any other thread.
    #[default]
    Shared,
}

impl Schedule {
    /// For manifests and statistics.
    pub fn name(self) -> &'static str {
        match self {
            Schedule::Fifo => "fifo",
            Schedule::Slice => "slice",
            Schedule::Shared => "shared",
        }
    }
}

/// The thread that makes this guard is scheduled so until the guard is dropped.
#[derive(Debug)]
pub struct PriorityGuard {
    schedule: Schedule,
    before: Option<libc::sched_attr>,
    /// The guard changes the calling thread, which must be the one that drops it.
    thread: PhantomData<*const ()>,
}

impl PriorityGuard {
    /// For a router's thread. A thread that spins never sleeps: with real-time priority it would starve the other
    /// threads of its processor, until the kernel throttles it for 50 ms a second. So it only asks for a short slice.
    pub fn for_router(spin: Dur) -> PriorityGuard {
        if spin.is_zero() { PriorityGuard::real_time() } else { PriorityGuard::short_slice() }
    }
    /// The calling thread gets real-time priority if the kernel allows it. Else it asks for a short slice.
    pub fn real_time() -> PriorityGuard {
        let Ok(before) = sys::scheduling() else { return PriorityGuard::of(Schedule::Shared, None) };
        let fifo = libc::sched_attr {
            sched_policy: libc::SCHED_FIFO as u32,
            sched_priority: PRIORITY,
            // Threads that it starts are scheduled as before.
            sched_flags: libc::SCHED_FLAG_RESET_ON_FORK as u64,
            sched_nice: 0,
            sched_runtime: 0,
            ..before
        };
        if is_ordinary(&before) && sys::set_scheduling(&fifo).is_ok() {
            PriorityGuard::of(Schedule::Fifo, Some(before))
        } else {
            PriorityGuard::short_slice()
        }
    }
    /// The calling thread asks for a short slice.
    pub fn short_slice() -> PriorityGuard {
        let set = || -> io::Result<PriorityGuard> {
            let before = sys::scheduling()?;
            // Another policy was set on purpose.
            if !is_ordinary(&before) {
                let policy = before.sched_policy as i32;
                let first = policy == libc::SCHED_FIFO || policy == libc::SCHED_RR;
                return Ok(PriorityGuard::of(if first { Schedule::Fifo } else { Schedule::Shared }, None));
            }
            sys::set_scheduling(&libc::sched_attr { sched_runtime: SLICE_NS, ..before })?;
            // Kernels before 6.12 take the request and ignore it.
            let granted = sys::scheduling()?.sched_runtime == SLICE_NS;
            Ok(PriorityGuard::of(if granted { Schedule::Slice } else { Schedule::Shared }, granted.then_some(before)))
        };
        set().unwrap_or_else(|_| PriorityGuard::of(Schedule::Shared, None))
    }
    fn of(schedule: Schedule, before: Option<libc::sched_attr>) -> PriorityGuard {
        PriorityGuard { schedule, before, thread: PhantomData }
    }
    /// What the kernel granted.
    pub fn schedule(&self) -> Schedule {
        self.schedule
    }
}

fn is_ordinary(attributes: &libc::sched_attr) -> bool {
    attributes.sched_policy == libc::SCHED_OTHER as u32
}

impl Drop for PriorityGuard {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // Giving up a priority is always allowed.
            let _ = sys::set_scheduling(before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_granted_is_what_the_kernel_says_and_ends_with_the_guard() {
        for make in [PriorityGuard::real_time, PriorityGuard::short_slice] {
            let before = sys::scheduling().unwrap();
            let guard = make();
            let now = sys::scheduling().unwrap();
            match guard.schedule() {
                Schedule::Fifo => assert_eq!(now.sched_policy, libc::SCHED_FIFO as u32),
                Schedule::Slice => {
                    assert_eq!((now.sched_policy, now.sched_runtime), (libc::SCHED_OTHER as u32, SLICE_NS));
                }
                Schedule::Shared => assert_eq!(now.sched_policy, before.sched_policy),
            }
            drop(guard);
            let after = sys::scheduling().unwrap();
            assert_eq!((after.sched_policy, after.sched_runtime), (before.sched_policy, before.sched_runtime));
            assert_eq!((after.sched_nice, after.sched_flags), (before.sched_nice, before.sched_flags));
        }
    }
}
