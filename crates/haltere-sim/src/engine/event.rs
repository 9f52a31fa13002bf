//! What an event is for: a kind and an index, in 32 bits.

/// The kinds of events that become due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// A link's pending event. The index is the link's.
    Link = 0,
    /// The delivery of a packet that was alone on its line. The index is its place among the packets in flight.
    Delivery = 1,
    /// A TCP endpoint's timer. The index is the endpoint's: twice the flow's, plus one at its far end.
    Timer = 2,
    /// An application's next step. The index is the flow's.
    App = 3,
    /// A flow starts. The index is the flow's.
    Start = 4,
    /// A flow's application stops. The index is the flow's.
    Stop = 5,
    /// The recorder writes something down. The index says what.
    Record = 6,
}

/// What an event is for, packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target(pub(super) u32);

const INDEX_BITS: u32 = 29;

impl Target {
    /// The largest index that a target has room for.
    pub const MAX_INDEX: u32 = (1 << INDEX_BITS) - 1;

    /// The target of that kind and index (up to [`Target::MAX_INDEX`]).
    #[inline]
    pub const fn new(kind: Kind, index: u32) -> Target {
        Target((kind as u32) << INDEX_BITS | index)
    }
    /// The kind of event that is due.
    #[inline(always)]
    pub const fn kind(self) -> Kind {
        match self.0 >> INDEX_BITS {
            0 => Kind::Link,
            1 => Kind::Delivery,
            2 => Kind::Timer,
            3 => Kind::App,
            4 => Kind::Start,
            5 => Kind::Stop,
            _ => Kind::Record,
        }
    }
    /// The index of the flow, link or end that it is for.
    #[inline]
    pub const fn index(self) -> usize {
        (self.0 & Target::MAX_INDEX) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_keeps_its_kind_and_its_index() {
        use Kind::{App, Delivery, Link, Record, Start, Stop, Timer};
        for kind in [Link, Delivery, Timer, App, Start, Stop, Record] {
            for index in [0, 5, Target::MAX_INDEX] {
                let target = Target::new(kind, index);
                assert_eq!((target.kind(), target.index()), (kind, index as usize));
            }
        }
    }
}
