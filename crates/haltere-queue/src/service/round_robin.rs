//! Round robin: one packet of each class in turn.
//! Model: the class after the one served last is next, if it holds a packet.
//! Units: packets. Cost: O(1) a packet.

use super::ClassService;
use crate::LinkContext;
use crate::classify::CLASSES;
use haltere_units::ParamError;

haltere_units::params! {
    /// Serves one packet of each class in turn.
    ///
    /// Source: J. Nagle, "On packet switches with infinite storage", RFC 970 (1985).
    ///
    /// Deviations: none.
    ///
    /// Known problems: a class of large packets gets more bytes.
    pub struct Params {}
}

/// Round robin over the two classes.
#[derive(Debug, Clone)]
pub struct RoundRobin {
    /// The class whose turn it is.
    turn: usize,
}

impl RoundRobin {
    /// A service that begins with the short class.
    pub fn new(_params: &Params, _link: &LinkContext) -> Result<RoundRobin, ParamError> {
        Ok(RoundRobin { turn: 0 })
    }
}

impl ClassService for RoundRobin {
    #[inline]
    fn pick(&mut self, waiting: [bool; CLASSES]) -> Option<usize> {
        (0..CLASSES).map(|i| (self.turn + i) % CLASSES).find(|&class| waiting[class])
    }
    #[inline]
    fn sent(&mut self, class: usize, _len: u32, _waiting: [bool; CLASSES]) {
        self.turn = (class + 1) % CLASSES;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::link;

    #[test]
    fn classes_take_turns_by_packets_and_one_alone_has_all() {
        let mut rr = RoundRobin::new(&Params {}, &link()).unwrap();
        let order = super::super::order(&mut rr, &[(0, 1500), (0, 1500), (0, 1500), (0, 40), (1, 40), (1, 40)]);
        assert_eq!(order, [0, 4, 1, 5, 2, 3]);
    }
}
