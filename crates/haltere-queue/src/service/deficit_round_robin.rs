//! Deficit round robin: a number of bytes of each class in turn.
//! Model: at its turn a class gets `quantum` bytes of credit. What it sends is subtracted. A class without packets
//! saves no credit.
//! Units: bytes on the link. Cost: O(1 + overdraft / quantum) a packet.

use super::ClassService;
use crate::LinkContext;
use crate::classify::CLASSES;
use haltere_units::{Bytes, ParamError};

haltere_units::params! {
    /// Serves each class in turn, `quantum` bytes at a time.
    ///
    /// Source: M. Shreedhar and G. Varghese, "Efficient fair queueing using deficit round robin", ACM SIGCOMM 1995.
    ///
    /// Deviations: a class is served while its credit is above 0, because a discipline does not show the length of its
    /// next packet. It may overdraw its credit by less than a packet and pays that back in its next turns (surplus
    /// round robin).
    ///
    /// Known problems: none.
    pub struct Params {
        /// Bytes of a class in its turn, from 64 B to 1 GiB. Left out: the link's full packet.
        pub quantum: Option<Bytes> = None;
    }
}

/// Deficit round robin over the two classes.
#[derive(Debug, Clone)]
pub struct DeficitRoundRobin {
    quantum: i64,
    deficit: [i64; CLASSES],
    /// The class whose turn it is.
    turn: usize,
}

impl DeficitRoundRobin {
    /// A service that begins with the short class.
    pub fn new(params: &Params, link: &LinkContext) -> Result<DeficitRoundRobin, ParamError> {
        let quantum = params.quantum.unwrap_or(link.packet);
        if !(64..=1 << 30).contains(&quantum.as_u64()) {
            return Err(
                ParamError::new("quantum", "from 64 B to 1 GiB", quantum).hint("the default is one full packet")
            );
        }
        let quantum = quantum.as_u64() as i64;
        Ok(DeficitRoundRobin { quantum, deficit: [quantum, 0], turn: 0 })
    }
}

impl ClassService for DeficitRoundRobin {
    #[inline]
    fn pick(&mut self, waiting: [bool; CLASSES]) -> Option<usize> {
        if !waiting.contains(&true) {
            return None;
        }
        loop {
            let class = self.turn;
            if waiting[class] && self.deficit[class] > 0 {
                return Some(class);
            }
            if !waiting[class] {
                self.deficit[class] = self.deficit[class].min(0);
            }
            self.turn = (class + 1) % CLASSES;
            self.deficit[self.turn] += self.quantum;
        }
    }
    #[inline]
    fn sent(&mut self, class: usize, len: u32, _waiting: [bool; CLASSES]) {
        self.deficit[class] -= i64::from(len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::link;

    #[test]
    fn classes_take_turns_by_bytes() {
        // A quantum of 1500 B: one full packet of class 0, then three of 500 B of class 1.
        let mut drr = DeficitRoundRobin::new(&Params::default(), &link()).unwrap();
        let order = super::super::order(&mut drr, &[(0, 1500), (0, 1500), (1, 500), (1, 500), (1, 500), (1, 500)]);
        assert_eq!(order, [0, 2, 3, 4, 1, 5]);
    }
    #[test]
    fn what_was_overdrawn_is_paid_back() {
        // Quantum 1000, packets of 1500 against 500: over many turns both get the same bytes.
        let params = Params { quantum: Some(Bytes::new(1000)) };
        let mut drr = DeficitRoundRobin::new(&params, &link()).unwrap();
        let mut sent = [0u64; 2];
        for _ in 0..4000 {
            let class = drr.pick([true, true]).unwrap();
            let len = [1500, 500][class];
            drr.sent(class, len, [true, true]);
            sent[class] += u64::from(len);
        }
        assert!(sent[0].abs_diff(sent[1]) <= 2500, "{sent:?}");
    }
    #[test]
    fn a_class_without_packets_saves_nothing() {
        let mut drr = DeficitRoundRobin::new(&Params::default(), &link()).unwrap();
        for _ in 0..100 {
            drr.sent(drr.turn, 1500, [true, false]);
            assert_eq!(drr.pick([true, false]), Some(0));
        }
        assert!(drr.deficit[1] <= 1500, "{:?}", drr.deficit);
    }
}
