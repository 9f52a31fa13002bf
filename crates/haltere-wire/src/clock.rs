//! Time on the wire: the only place that reads clocks and sleeps.
//!
//! A [`Clock`] tells the time since the run began and sleeps until a deadline or until a port has frames. [`Monotonic`]
//! is the kernel's `CLOCK_MONOTONIC` with a timerfd, whose wake-up has no slack. Tests have one that jumps to the
//! deadline, so that the same loop runs without waiting and always alike.

use haltere_units::{Dur, Time};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::{ClockId as Id, clock_gettime};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

/// A source of time that a loop can sleep on.
pub trait Clock {
    /// The time since the run began; never goes back.
    fn now(&self) -> Time;
    /// Sleeps until `until`, or until one of `wake` can be read. May return early, never misses either. Returns
    /// which of the first 64 can be read, as bits.
    fn sleep(&mut self, until: Option<Time>, wake: &[BorrowedFd<'_>]) -> io::Result<u64>;
}

fn read_ns(clock: Id) -> u64 {
    // The call cannot fail for the clocks below on Linux.
    let t = clock_gettime(clock).unwrap_or(TimeSpec::new(0, 0));
    t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64
}

/// Nanoseconds of `CLOCK_MONOTONIC`, which all processes of the machine share.
pub fn monotonic_ns() -> u64 {
    read_ns(Id::CLOCK_MONOTONIC)
}

/// Nanoseconds of the wall clock since 1970. The kernel's stamps on packets have this clock.
pub fn wall_ns() -> u64 {
    read_ns(Id::CLOCK_REALTIME)
}

/// Processor time of the calling thread, its work in the kernel included.
pub fn thread_cpu() -> Dur {
    Dur::from_ns(read_ns(Id::CLOCK_THREAD_CPUTIME_ID))
}

/// Asks every 5 ms whether it is so, for at most that long. Returns whether it became so.
pub fn wait_for(limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let until = monotonic_ns() + limit.as_nanos() as u64;
    loop {
        if is_so() {
            return true;
        }
        if monotonic_ns() >= until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Real time.
///
/// It waits by epoll: a router may have a hundred ports, and `poll` would ask each of them before and after every
/// sleep.
#[derive(Debug)]
pub struct Monotonic {
    origin_ns: u64,
    timer: TimerFd,
    /// The deadline of the timer. `None` once it has fired: it then stays readable until it is set again.
    armed: Option<Option<Time>>,
    spin: Dur,
    /// Consecutive calls that returned without sleeping.
    spun: u32,
    epoll: Epoll,
    /// The descriptors that the epoll watches, in the order of the last sleep.
    watched: Vec<RawFd>,
    events: Vec<EpollEvent>,
}

/// The timer's mark among the events; the others have their place in the list.
const TIMER: u64 = u64::MAX;
/// To set the timer, to sleep and to wake up takes about as long: nobody sleeps less.
const SLEEP_COST: Dur = Dur::from_us(10);
/// After so many calls a caller that never sleeps gets the events of its descriptors.
const SPINS: u32 = 64;

impl Monotonic {
    /// A clock whose zero is now. With `spin` above zero it does not sleep through the last `spin` before a
    /// deadline but returns at once, so that the caller polls: this is precise and takes a whole core.
    pub fn start(spin: Dur) -> io::Result<Monotonic> {
        Monotonic::from_origin(monotonic_ns(), spin)
    }
    /// A clock whose zero is `origin_ns` of `CLOCK_MONOTONIC`: threads of one run share it.
    pub fn from_origin(origin_ns: u64, spin: Dur) -> io::Result<Monotonic> {
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(timer.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
        let events = vec![EpollEvent::empty(); 256];
        Ok(Monotonic { origin_ns, timer, armed: Some(None), spin, spun: 0, epoll, watched: Vec::new(), events })
    }
    /// Sleeps until time zero, before which [`now`](Clock::now) does not advance.
    pub fn wait_for_zero(&mut self) -> io::Result<()> {
        while monotonic_ns() < self.origin_ns {
            self.arm(Some(Time::ZERO))?;
            self.wait(EpollTimeout::NONE)?;
        }
        Ok(())
    }
    fn arm(&mut self, until: Option<Time>) -> io::Result<()> {
        if self.armed == Some(until) {
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
        self.armed = Some(until);
        Ok(())
    }
    /// Watches exactly these descriptors. The caller keeps them open while it uses the clock: a number that was closed
    /// and used again would not be noticed.
    fn watch(&mut self, wake: &[BorrowedFd<'_>]) -> io::Result<()> {
        if wake.iter().map(AsRawFd::as_raw_fd).eq(self.watched.iter().copied()) {
            return Ok(());
        }
        self.epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        self.epoll.add(self.timer.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
        for (place, fd) in wake.iter().enumerate() {
            self.epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, place as u64))?;
        }
        self.watched = wake.iter().map(AsRawFd::as_raw_fd).collect();
        Ok(())
    }
    /// Sleeps until the timer or a descriptor; which of the first 64 can be read, as bits.
    fn wait(&mut self, most: EpollTimeout) -> io::Result<u64> {
        let count = match self.epoll.wait(&mut self.events, most) {
            Ok(count) => count,
            Err(Errno::EINTR) => 0,
            Err(e) => return Err(e.into()),
        };
        let mut bits = 0;
        for event in &self.events[..count] {
            match event.data() {
                TIMER => self.armed = None,
                place @ 0..64 => bits |= 1 << place,
                _ => {}
            }
        }
        Ok(bits)
    }
}

impl Clock for Monotonic {
    #[inline]
    fn now(&self) -> Time {
        Time::from_ns(monotonic_ns().saturating_sub(self.origin_ns))
    }
    fn sleep(&mut self, until: Option<Time>, wake: &[BorrowedFd<'_>]) -> io::Result<u64> {
        let wait = until.map(|at| at.since(self.now()));
        let wait = wait.is_none_or(|left| left > self.spin.max(SLEEP_COST));
        self.spun = if wait { 0 } else { self.spun + 1 };
        if !wait && self.spun < SPINS {
            return Ok(0);
        }
        self.watch(wake)?;
        if !wait {
            self.spun = 0;
            return self.wait(EpollTimeout::ZERO);
        }
        self.arm(until.map(|at| at.saturating_sub(self.spin)))?;
        self.wait(EpollTimeout::NONE)
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
        let hour_ns = 3_600_000_000_000;
        let far = Monotonic::from_origin(monotonic_ns() + hour_ns, Dur::ZERO).unwrap();
        assert_eq!(far.now(), Time::ZERO);
        let origin = monotonic_ns() + 3_000_000;
        let mut clock = Monotonic::from_origin(origin, Dur::ZERO).unwrap();
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
    fn each_of_many_descriptors_is_told_by_its_place_and_lists_may_change() {
        let pipes: Vec<_> = (0..70).map(|_| nix::unistd::pipe().unwrap()).collect();
        let reads: Vec<BorrowedFd<'_>> = pipes.iter().map(|(read, _)| read.as_fd()).collect();
        let mut clock = Monotonic::start(Dur::ZERO).unwrap();
        nix::unistd::write(&pipes[3].1, b"x").unwrap();
        let far = Some(Time::ZERO + Dur::from_secs(60));
        assert_eq!(clock.sleep(far, &reads).unwrap(), 1 << 3);
        assert_eq!(clock.sleep(far, &reads[3..]).unwrap(), 1);
        // The 69th wakes too, though it has no bit.
        nix::unistd::write(&pipes[69].1, b"x").unwrap();
        assert_eq!(clock.sleep(far, &reads[4..]).unwrap(), 0);
        assert!(clock.now() < Time::ZERO + Dur::from_secs(30));
        // A timer that has fired is set anew, whatever the next deadline.
        let soon = clock.now() + Dur::from_ms(2);
        while clock.now() < soon {
            clock.sleep(Some(soon), &reads[4..5]).unwrap();
        }
        assert_eq!(clock.sleep(None, &reads[3..4]).unwrap(), 1);
    }

    #[test]
    fn who_spins_hears_of_descriptors_too() {
        let (read, write) = nix::unistd::pipe().unwrap();
        nix::unistd::write(&write, b"x").unwrap();
        let mut clock = Monotonic::start(Dur::from_secs(100)).unwrap();
        let told =
            (0..SPINS).filter(|_| clock.sleep(Some(Time::ZERO + Dur::from_secs(60)), &[read.as_fd()]).unwrap() == 1);
        assert_eq!(told.count(), 1);
        assert!(clock.now() < Time::ZERO + Dur::from_secs(30), "it did not sleep");
    }
}
