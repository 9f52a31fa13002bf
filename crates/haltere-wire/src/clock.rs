//! The one place for time on the wire.
//!
//! A [`Clock`] tells the time since the run began and sleeps until a deadline or until a port has
//! frames. [`Monotonic`] is the kernel's `CLOCK_MONOTONIC` with a timerfd, whose wake-up has no slack; [`Virtual`]
//! jumps to the deadline, for tests, so that the same loop runs without waiting and always alike.

use haltere_units::{Dur, Time};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::{ClockId as Id, clock_gettime};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;

/// Where a loop takes its time from, and how it sleeps.
pub trait Clock {
    /// The time since the run began; never goes back.
    fn now(&self) -> Time;
    /// Sleeps until `until`, or until one of `wake` can be read. May return early, never misses either. Returned is
    /// which of the first 64 can be read, as bits.
    fn sleep(&mut self, until: Option<Time>, wake: &[BorrowedFd<'_>]) -> io::Result<u64>;
}

/// Nanoseconds of `CLOCK_MONOTONIC`, which all processes of the machine share.
pub fn monotonic_ns() -> u64 {
    // The call cannot fail for this clock on Linux.
    let t = clock_gettime(Id::CLOCK_MONOTONIC).unwrap_or(nix::sys::time::TimeSpec::new(0, 0));
    t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64
}

/// Real time.
#[derive(Debug)]
pub struct Monotonic {
    origin_ns: u64,
    timer: TimerFd,
    armed: Option<Time>,
    spin: Dur,
}

impl Monotonic {
    /// A clock whose zero is now. With `spin` above zero it does not sleep through the last `spin` before a
    /// deadline but returns at once, so that the caller turns in its loop: precise, and a whole core.
    pub fn start(spin: Dur) -> io::Result<Monotonic> {
        Monotonic::from_origin(monotonic_ns(), spin)
    }
    /// A clock whose zero is `origin_ns` of `CLOCK_MONOTONIC`: threads of one run share it.
    pub fn from_origin(origin_ns: u64, spin: Dur) -> io::Result<Monotonic> {
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        Ok(Monotonic { origin_ns, timer, armed: None, spin })
    }
    /// Sleeps until time zero, before which [`now`](Clock::now) stands still.
    pub fn wait_for_zero(&mut self) -> io::Result<()> {
        self.arm(Some(Time::ZERO))?;
        while monotonic_ns() < self.origin_ns {
            match poll(&mut [PollFd::new(self.timer.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        self.armed = None;
        Ok(())
    }
    fn arm(&mut self, until: Option<Time>) -> io::Result<()> {
        if self.armed == until {
            return Ok(());
        }
        match until {
            Some(at) => {
                // Zero would disarm the timer: a deadline at boot is one nanosecond late.
                let ns = self.origin_ns.saturating_add(at.as_ns()).max(1);
                let at = TimeSpec::new((ns / 1_000_000_000) as i64, (ns % 1_000_000_000) as i64);
                self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
            }
            None => self.timer.unset()?,
        }
        self.armed = until;
        Ok(())
    }
}

impl Clock for Monotonic {
    #[inline]
    fn now(&self) -> Time {
        Time::from_ns(monotonic_ns().saturating_sub(self.origin_ns))
    }
    fn sleep(&mut self, until: Option<Time>, wake: &[BorrowedFd<'_>]) -> io::Result<u64> {
        let wait = until.map(|at| at.since(self.now()));
        if wait.is_some_and(|left| left <= self.spin) {
            return Ok(0);
        }
        self.arm(until.map(|at| at.saturating_sub(self.spin)))?;
        let mut fds: Vec<PollFd<'_>> = wake.iter().map(|fd| PollFd::new(*fd, PollFlags::POLLIN)).collect();
        fds.push(PollFd::new(self.timer.as_fd(), PollFlags::POLLIN));
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
        // A timer that has fired stays readable until it is set anew: set it next time whatever the deadline.
        if fds.pop().and_then(|t| t.any()).unwrap_or(false) {
            self.armed = None;
        }
        let ready = |fd: &PollFd<'_>| fd.any().unwrap_or(false);
        Ok(fds.iter().take(64).enumerate().fold(0, |bits, (i, fd)| bits | u64::from(ready(fd)) << i))
    }
}

/// Time that passes only when somebody sleeps. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Virtual {
    now: Rc<Cell<Time>>,
    arrivals: Rc<RefCell<VecDeque<Time>>>,
}

impl Virtual {
    /// Time zero.
    pub fn new() -> Virtual {
        Virtual::default()
    }
    /// Tells when frames will come in, in order; each ends the sleep.
    pub fn set_arrivals(&self, times: impl IntoIterator<Item = Time>) {
        *self.arrivals.borrow_mut() = times.into_iter().collect();
    }
}

impl Clock for Virtual {
    fn now(&self) -> Time {
        self.now.get()
    }
    fn sleep(&mut self, until: Option<Time>, _wake: &[BorrowedFd<'_>]) -> io::Result<u64> {
        let mut arrivals = self.arrivals.borrow_mut();
        while arrivals.front().is_some_and(|at| *at <= self.now.get()) {
            arrivals.pop_front();
        }
        let next = [until, arrivals.front().copied()].into_iter().flatten().min();
        let next = next.ok_or_else(|| io::Error::other("virtual time stands still: nothing will ever happen"))?;
        self.now.set(self.now.get().max(next));
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monotonic_sleeps_until_its_deadline_and_not_less() {
        let mut clock = Monotonic::start(Dur::ZERO).unwrap();
        for ms in [2, 4, 4, 5] {
            let until = Time::ZERO + Dur::from_ms(ms);
            while clock.now() < until {
                clock.sleep(Some(until), &[]).unwrap();
            }
        }
        assert!(clock.now() >= Time::ZERO + Dur::from_ms(5));
    }

    #[test]
    fn nothing_begins_before_time_zero() {
        let origin = monotonic_ns() + 3_000_000;
        let mut clock = Monotonic::from_origin(origin, Dur::ZERO).unwrap();
        assert_eq!(clock.now(), Time::ZERO);
        clock.wait_for_zero().unwrap();
        assert!(monotonic_ns() >= origin);
        clock.wait_for_zero().unwrap(); // it is past: at once
    }

    #[test]
    fn a_readable_descriptor_ends_the_sleep() {
        let (read, write) = nix::unistd::pipe().unwrap();
        nix::unistd::write(&write, b"x").unwrap();
        let mut clock = Monotonic::start(Dur::ZERO).unwrap();
        let ready = clock.sleep(Some(Time::ZERO + Dur::from_secs(60)), &[read.as_fd()]).unwrap();
        assert_eq!(ready, 1);
        assert!(clock.now() < Time::ZERO + Dur::from_secs(30));
    }

    #[test]
    fn virtual_time_jumps_to_what_comes_first() {
        let mut clock = Virtual::new();
        clock.set_arrivals([Time::from_ns(5)]);
        clock.sleep(Some(Time::from_ns(9)), &[]).unwrap();
        assert_eq!(clock.now(), Time::from_ns(5));
        clock.sleep(Some(Time::from_ns(9)), &[]).unwrap();
        assert_eq!(clock.now(), Time::from_ns(9));
        assert!(clock.sleep(None, &[]).is_err());
    }
}
