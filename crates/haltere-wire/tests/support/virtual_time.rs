//! Time that passes only while a caller sleeps.

use haltere_units::Time;
use haltere_wire::clock::Clock;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::rc::Rc;

/// Time that passes only while a caller sleeps. Clones share it.
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
    /// Sets when frames will arrive, in order. Each arrival ends a sleep.
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
