//! A thread that must wake on time says so to the kernel, as far as it is let.
//! Source: sched(7), sched_setattr(2).
//!
//! A thread of the ordinary class that wakes waits until whoever has the processor has used up its slice, 3 ms by default and
//! rounded up to the tick: with another program on the machine that is milliseconds for every packet. `SCHED_FIFO` goes first, but needs
//! CAP_SYS_NICE in the first user namespace. Without it a thread of the ordinary class may ask for a slice of 100 us (Linux 6.12):
//! whoever has the shorter slice takes the processor over when it wakes. The timer slack is no concern here: a timerfd has none.

use crate::sys;
use haltere_units::Dur;
use std::io;
use std::marker::PhantomData;

/// Above all ordinary threads; below the kernel's own threads of that class (50).
const PRIORITY: u32 = 1;
/// The least slice that the kernel grants, in nanoseconds.
const SLICE_NS: u64 = 100_000;

/// How a thread is scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schedule {
    /// Before all ordinary threads.
    Fifo,
    /// Among them, with a short slice: it takes the processor over when it wakes.
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

/// While this lives, the thread that made it is scheduled so.
#[derive(Debug)]
pub struct Prompt {
    schedule: Schedule,
    before: Option<libc::sched_attr>,
    /// What is changed is the calling thread: it must be the one that changes it back.
    thread: PhantomData<*const ()>,
}

impl Prompt {
    /// For a router's thread. One that spins never sleeps: going first it would starve the other threads of its processor, until
    /// the kernel takes it off for 50 ms a second to let them run; so it only asks for a short slice.
    pub fn for_router(spin: Dur) -> Prompt {
        if spin.is_zero() { Prompt::first() } else { Prompt::soon() }
    }
    /// The calling thread goes first where the kernel lets it; else it asks for a short slice.
    pub fn first() -> Prompt {
        let Ok(before) = sys::scheduling() else { return Prompt::of(Schedule::Shared, None) };
        let fifo = libc::sched_attr {
            sched_policy: libc::SCHED_FIFO as u32,
            sched_priority: PRIORITY,
            // What it starts is as before.
            sched_flags: libc::SCHED_FLAG_RESET_ON_FORK as u64,
            sched_nice: 0,
            sched_runtime: 0,
            ..before
        };
        if is_ordinary(&before) && sys::set_scheduling(&fifo).is_ok() {
            Prompt::of(Schedule::Fifo, Some(before))
        } else {
            Prompt::soon()
        }
    }
    /// The calling thread asks for a short slice.
    pub fn soon() -> Prompt {
        let set = || -> io::Result<Prompt> {
            let before = sys::scheduling()?;
            // Whoever runs us under another policy wants that.
            if !is_ordinary(&before) {
                let policy = before.sched_policy as i32;
                let first = policy == libc::SCHED_FIFO || policy == libc::SCHED_RR;
                return Ok(Prompt::of(if first { Schedule::Fifo } else { Schedule::Shared }, None));
            }
            sys::set_scheduling(&libc::sched_attr { sched_runtime: SLICE_NS, ..before })?;
            // Kernels before 6.12 take the request and ignore it.
            let granted = sys::scheduling()?.sched_runtime == SLICE_NS;
            Ok(Prompt::of(if granted { Schedule::Slice } else { Schedule::Shared }, granted.then_some(before)))
        };
        set().unwrap_or_else(|_| Prompt::of(Schedule::Shared, None))
    }
    fn of(schedule: Schedule, before: Option<libc::sched_attr>) -> Prompt {
        Prompt { schedule, before, thread: PhantomData }
    }
    /// What was granted.
    pub fn schedule(&self) -> Schedule {
        self.schedule
    }
}

fn is_ordinary(attributes: &libc::sched_attr) -> bool {
    attributes.sched_policy == libc::SCHED_OTHER as u32
}

impl Drop for Prompt {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // Giving up what was granted is always allowed.
            let _ = sys::set_scheduling(before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_granted_is_what_the_kernel_says_and_ends_with_the_guard() {
        for make in [Prompt::first, Prompt::soon] {
            let before = sys::scheduling().unwrap();
            let prompt = make();
            let now = sys::scheduling().unwrap();
            match prompt.schedule() {
                Schedule::Fifo => assert_eq!(now.sched_policy, libc::SCHED_FIFO as u32),
                Schedule::Slice => {
                    assert_eq!((now.sched_policy, now.sched_runtime), (libc::SCHED_OTHER as u32, SLICE_NS));
                }
                Schedule::Shared => assert_eq!(now.sched_policy, before.sched_policy),
            }
            drop(prompt);
            let after = sys::scheduling().unwrap();
            assert_eq!((after.sched_policy, after.sched_runtime), (before.sched_policy, before.sched_runtime));
            assert_eq!((after.sched_nice, after.sched_flags), (before.sched_nice, before.sched_flags));
        }
    }
}
