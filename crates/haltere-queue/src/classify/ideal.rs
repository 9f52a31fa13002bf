//! Ideal: the sender marks each packet as short or long.
//! Model: the class is the mark's. Units: none. Cost: O(1) a packet, no state.

use super::{Class, FlowClassifier};
use crate::{Fate, LinkContext, Pkt};
use haltere_units::{ParamError, Probe, Time};

haltere_units::params! {
    /// Calls a packet long if its sender marked it as long: the ideal against which classifiers are measured.
    ///
    /// Source: the reference of the RAFLE study (S. S. Mussi and M. R. N. Ribeiro, SBRC 2013, section 3): a mark in the
    /// IP header.
    ///
    /// Deviations: the paper does not say which mark. Here it is the DSCP: AF11 for short, CS1 (lower effort, RFC 3662)
    /// for long.
    ///
    /// Known problems: it must trust the senders. Packets without a mark are called short and counted as `unseen`.
    pub struct Params {}
}

/// The ideal classifier, and how many packets had no mark.
#[derive(Debug, Clone)]
pub struct Ideal {
    unseen: u64,
}

impl Ideal {
    /// A classifier that has seen no packet.
    pub fn new(_params: &Params, _link: &LinkContext) -> Result<Ideal, ParamError> {
        Ok(Ideal { unseen: 0 })
    }
}

impl<P: Pkt> FlowClassifier<P> for Ideal {
    #[inline]
    fn classify(&mut self, _now: Time, pkt: &P, _fate: &mut impl Fate<P>) -> Class {
        let mark = Class::of_mark(pkt.dscp());
        self.unseen += u64::from(mark.is_none());
        mark.unwrap_or(Class::Short)
    }
    /// A sender marks all packets of a flow alike.
    fn is_constant_per_flow(&self) -> bool {
        true
    }
    fn probe(&self, row: &mut Probe) {
        row.push("unseen", "packets", self.unseen as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Recorder, TestPkt, link};

    #[test]
    fn the_mark_is_the_class_and_no_mark_is_short_and_counted() {
        let mut c = Ideal::new(&Params {}, &link()).unwrap();
        let mut class = |dscp| c.classify(Time::ZERO, &TestPkt { dscp, ..TestPkt::new(0, 100) }, &mut Recorder::new(1));
        assert_eq!([10, 8, 0, 46].map(&mut class), [Class::Short, Class::Long, Class::Short, Class::Short]);
        assert_eq!(c.unseen, 2);
        assert_eq!(
            [Class::Short, Class::Long].map(|c| Class::of_mark(c.mark())),
            [Some(Class::Short), Some(Class::Long)]
        );
    }
}
