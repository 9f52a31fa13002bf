//! RuN2C: running number, two classes. The header's sequence number shows how much the flow has sent.
//! Model: a packet whose first byte lies below `threshold` in its stream is short, every later one long. The header
//! shows the offset only if senders start at sequence numbers whose low bits are zero (here TCP's option
//! `isn_zero_bits`). The paper takes 22 bits, which is enough for offsets up to 4 MiB.
//! Units: bytes. Cost: O(1) a packet, no state.

use super::{Class, FlowClassifier};
use crate::{Fate, LinkContext, Pkt};
use haltere_units::{Bytes, ParamError, Probe, Time};

haltere_units::params! {
    /// Calls a packet long if its first byte lies beyond a threshold in its stream, as the sequence number shows.
    ///
    /// Source: K. Avrachenkov, U. Ayesta, P. Brown and E. Nyberg, "Differentiation between short and long TCP flows:
    /// predictability of the response time", IEEE INFOCOM 2004.
    ///
    /// Deviations: none.
    ///
    /// Known problems: it needs senders whose initial sequence numbers have zero low bits (`isn_zero_bits`), which
    /// makes sequence numbers easier to guess. Packets that do not show their offset are called short and counted as
    /// `unseen`.
    pub struct Params {
        /// Bytes at the beginning of a stream that are short, above 0. The default is the RAFLE paper's TH.
        pub threshold: Bytes = Bytes::new(16_000), [above 0];
    }
}

/// RuN2C, and how many packets did not show their offset.
#[derive(Debug, Clone)]
pub struct Run2c {
    threshold: u64,
    unseen: u64,
}

impl Run2c {
    /// A classifier of these parameters.
    pub fn new(params: &Params, _link: &LinkContext) -> Result<Run2c, ParamError> {
        params.check()?;
        Ok(Run2c { threshold: params.threshold.as_u64(), unseen: 0 })
    }
}

impl<P: Pkt> FlowClassifier<P> for Run2c {
    #[inline]
    fn classify(&mut self, _now: Time, pkt: &P, _fate: &mut impl Fate<P>) -> Class {
        match pkt.stream_offset() {
            Some(offset) if offset >= self.threshold => Class::Long,
            Some(_) => Class::Short,
            None => {
                self.unseen += 1;
                Class::Short
            }
        }
    }
    fn probe(&self, row: &mut Probe) {
        row.push("unseen", "packets", self.unseen as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Recorder, TestPkt, link};

    fn class(c: &mut Run2c, offset: Option<u64>) -> Class {
        c.classify(Time::ZERO, &TestPkt { offset, ..TestPkt::new(0, 100) }, &mut Recorder::new(1))
    }

    #[test]
    fn the_threshold_is_the_first_byte_that_is_long() {
        let mut c = Run2c::new(&Params::default(), &link()).unwrap();
        let told = [0, 15_999, 16_000, 4_000_000].map(|offset| class(&mut c, Some(offset)));
        assert_eq!(told, [Class::Short, Class::Short, Class::Long, Class::Long]);
    }
    #[test]
    fn what_tells_no_offset_is_short_and_counted() {
        let mut c = Run2c::new(&Params::default(), &link()).unwrap();
        assert_eq!(class(&mut c, None), Class::Short);
        let mut row = Probe::new();
        FlowClassifier::<TestPkt>::probe(&c, &mut row);
        assert_eq!(row.get("unseen"), Some(1.0));
    }
}
