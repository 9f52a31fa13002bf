//! Priority: the short class first, with an optional guard against starvation.
//! Model: short first. After `guard` short packets in a row while a long one waited, one long packet is served.
//! Units: packets. Cost: O(1) a packet.

use super::ClassService;
use crate::LinkContext;
use crate::classify::{CLASSES, Class};
use haltere_units::ParamError;

haltere_units::params! {
    /// Serves the short class as long as it holds a packet, then the long class.
    ///
    /// Source: strict priority as in the RAFLE study (PrioSched) and in RuN2C.
    ///
    /// Deviations: none without `guard`, which is an addition.
    ///
    /// Known problems: without `guard` short packets that arrive at the link's rate starve the long class.
    pub struct Params {
        /// Short packets in a row after which a waiting long packet is served, at least 1. Left out: strict priority.
        pub guard: Option<u32> = None;
    }
}

const SHORT: usize = Class::Short.index();
const LONG: usize = Class::Long.index();

/// Strict priority with a guard.
#[derive(Debug, Clone)]
pub struct Priority {
    guard: u32,
    /// Short packets in a row while a long one waited.
    run: u32,
}

impl Priority {
    /// A service of these parameters.
    pub fn new(params: &Params, _link: &LinkContext) -> Result<Priority, ParamError> {
        if params.guard == Some(0) {
            return Err(ParamError::new("guard", "at least 1 packet", 0).hint("leave it out for strict priority"));
        }
        Ok(Priority { guard: params.guard.unwrap_or(u32::MAX), run: 0 })
    }
}

impl ClassService for Priority {
    #[inline]
    fn pick(&mut self, waiting: [bool; CLASSES]) -> Option<usize> {
        let starving = waiting[LONG] && self.run >= self.guard;
        if waiting[SHORT] && !starving {
            return Some(SHORT);
        }
        waiting[LONG].then_some(LONG)
    }
    #[inline]
    fn sent(&mut self, class: usize, _len: u32, waiting: [bool; CLASSES]) {
        // Without a guard the count stops short of it.
        self.run = if class == SHORT && waiting[LONG] { (self.run + 1).min(u32::MAX - 1) } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::link;

    fn order(guard: Option<u32>, packets: &[(usize, u32)]) -> alloc::vec::Vec<usize> {
        super::super::order(&mut Priority::new(&Params { guard }, &link()).unwrap(), packets)
    }

    #[test]
    fn short_packets_go_first() {
        assert_eq!(order(None, &[(1, 40), (0, 40), (0, 40), (1, 40), (0, 40)]), [1, 2, 4, 0, 3]);
    }
    #[test]
    fn the_guard_lets_a_long_packet_through() {
        assert_eq!(order(Some(2), &[(1, 40), (0, 40), (0, 40), (0, 40), (1, 40)]), [1, 2, 0, 3, 4]);
    }
}
