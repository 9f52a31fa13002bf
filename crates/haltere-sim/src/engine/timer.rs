//! The timer of one endpoint, with few entries in the event queue.
//!
//! An endpoint's next timeout moves with almost every segment, mostly to a later time. A later timeout costs nothing:
//! the pending entry fires early, and the endpoint then names its next timeout again. An earlier timeout pushes a new
//! entry. The entries of one endpoint form a stack with the earliest on top. Each of them fires in turn.

use haltere_units::Time;

/// The most entries that are remembered. An endpoint has three kinds of timers.
const DEPTH: usize = 4;

/// The pending entries of one endpoint.
#[derive(Debug, Clone, Default)]
pub(crate) struct Alarms {
    times: [Time; DEPTH],
    len: u8,
}

impl Alarms {
    /// The endpoint wants to be called at `at`. True if an entry must be pushed.
    #[inline]
    pub fn wants(&mut self, at: Time) -> bool {
        let len = usize::from(self.len);
        if len > 0 && self.times[len - 1] <= at {
            return false;
        }
        if len < DEPTH {
            self.times[len] = at;
            self.len += 1;
        } else {
            self.times[DEPTH - 1] = at; // the entry that this replaces is now stale
        }
        true
    }
    /// An entry fired. False if it is stale.
    #[inline]
    pub fn fired(&mut self, at: Time) -> bool {
        let len = usize::from(self.len);
        if len == 0 || self.times[len - 1] != at {
            return false;
        }
        self.len -= 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ns(t: u64) -> Time {
        Time::from_ns(t)
    }

    #[test]
    fn moving_a_timeout_later_pushes_nothing() {
        let mut alarms = Alarms::default();
        assert!(alarms.wants(ns(10)));
        assert!(!alarms.wants(ns(20)));
        assert!(alarms.fired(ns(10)));
        assert!(alarms.wants(ns(20)));
    }
    #[test]
    fn earlier_entries_leave_the_later_ones_pending() {
        let mut alarms = Alarms::default();
        assert!(alarms.wants(ns(200)));
        for t in 1..100 {
            assert!(alarms.wants(ns(t)), "the earlier one is pushed");
            assert!(alarms.fired(ns(t)));
            assert!(!alarms.wants(ns(200 + t)), "the one at 200 is still there");
        }
        assert!(alarms.fired(ns(200)));
        assert!(!alarms.fired(ns(200)), "nothing is left");
    }
    #[test]
    fn beyond_its_depth_the_replaced_entry_is_stale() {
        let mut alarms = Alarms::default();
        for t in (1..=5).rev() {
            assert!(alarms.wants(ns(t)));
        }
        assert!(alarms.fired(ns(1)));
        assert!(!alarms.fired(ns(2)), "replaced by the one at 1");
        assert!(alarms.fired(ns(3)));
    }
}
