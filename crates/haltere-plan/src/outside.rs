//! Faults of mechanisms from outside the tree, kept for the run of their thread.
//!
//! A run is carried out by one thread. A mechanism that fails says so by [`raise`](haltere_units::outside::raise); the first fault of a
//! thread is kept here until that thread's run looks. So no mechanism and no host between it and the run has to pass a fault on.

use haltere_units::outside::{Fault, set_reporter};
use std::cell::{Cell, RefCell};

std::thread_local! {
    /// Read between events, so it is apart from the fault itself.
    static IS_RAISED: Cell<bool> = const { Cell::new(false) };
    static FIRST: RefCell<Option<Fault>> = const { RefCell::new(None) };
}

/// From now on the faults of this thread are kept. One that an earlier run of the thread left is forgotten.
pub fn watch() {
    set_reporter(keep);
    take();
}

/// Whether there is a fault: cheap enough to ask between events.
#[inline]
pub fn is_raised() -> bool {
    IS_RAISED.get()
}

/// The first fault of this thread since the last call. A run that finds one ends with it.
pub fn take() -> Option<Fault> {
    IS_RAISED.set(false);
    FIRST.take()
}

fn keep(fault: Fault) {
    if !IS_RAISED.replace(true) {
        FIRST.set(Some(fault));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_units::outside::raise;

    fn fault(call: &str) -> Fault {
        Fault::new("python:m:C", call, "return without an error", "one")
    }

    #[test]
    fn the_first_fault_of_a_thread_stays_until_it_is_taken() {
        watch();
        assert!(!is_raised() && take().is_none());
        raise(fault("on_ack"));
        raise(fault("on_loss"));
        assert!(is_raised());
        std::thread::spawn(|| assert!(!is_raised(), "each thread has its own")).join().expect("no fault there");
        assert_eq!(take(), Some(fault("on_ack")));
        assert!(!is_raised() && take().is_none());
        raise(fault("on_rto"));
        watch();
        assert!(!is_raised(), "what an earlier run left is forgotten");
    }
}
