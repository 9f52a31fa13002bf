//! Drop tail: one first-in first-out queue with a limit.
//! Model: a packet is kept if the limit, in packets or bytes, allows it.
//! Units: packets or bytes, as the limit is written. Cost: O(1) a packet.

use crate::{Admission, Backlog, DropReason, Fate, LinkContext, Pkt, Qdisc, Store};
use haltere_units::{ParamError, Size, Time};

haltere_units::params! {
    /// First in, first out: a packet that arrives at a full queue is dropped.
    ///
    /// Source: RFC 7567 section 1.1, which describes it as the practice that active queue management replaces.
    ///
    /// Deviations: none.
    ///
    /// Known problems: long-lived flows keep the queue full, so every packet waits long. A few flows can lock out the
    /// others.
    pub struct Params {
        /// Packet or byte limit, above 0. The default is Linux's `txqueuelen`.
        pub limit: Size = Size::Packets(1000);
    }
}

/// One first-in first-out queue with a limit.
#[derive(Debug, Clone)]
pub struct DropTail<P> {
    store: Store<P>,
}

impl<P: Pkt> DropTail<P> {
    /// A queue of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        Ok(DropTail { store: Store::new(link.resolve(params.limit))? })
    }
}

impl<P: Pkt> Qdisc<P> for DropTail<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        if let Err(pkt) = self.store.push(now, pkt) {
            fate.dropped(pkt, DropReason::Overlimit);
        }
    }
    #[inline]
    fn dequeue(&mut self, _now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        self.store.pop().map(|(_, pkt)| pkt)
    }
    #[inline]
    fn passes(&self, len: u32) -> bool {
        self.store.is_empty() && self.store.fits(len)
    }
    fn admits(&self) -> bool {
        true
    }
    #[inline]
    fn admit(&mut self, backlog: Backlog, pkt: &P) -> Admission {
        if self.store.bound().fits(backlog, pkt.len()) {
            Admission::Keep
        } else {
            Admission::Drop(DropReason::Overlimit)
        }
    }
    #[inline]
    fn upcoming(&self, n: usize) -> Option<&P> {
        self.store.get(n)
    }
    #[inline]
    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Recorder, TestPkt, link};

    fn fill(limit: Size, lens: &[u32]) -> (DropTail<TestPkt>, Recorder) {
        let (mut q, mut fate) = (DropTail::new(&Params { limit }, &link()).unwrap(), Recorder::new(1));
        for (id, &len) in lens.iter().enumerate() {
            q.enqueue(Time::ZERO, TestPkt::new(id as u64, len), &mut fate);
        }
        (q, fate)
    }

    #[test]
    fn a_limit_in_packets_counts_packets() {
        let (q, fate) = fill(Size::Packets(2), &[1500, 40, 40]);
        assert_eq!(fate.dropped_ids(), [2]);
        assert_eq!(q.backlog(), Backlog { packets: 2, bytes: 1540 });
    }

    #[test]
    fn a_limit_in_bytes_keeps_what_still_fits_exactly() {
        let (q, fate) = fill(Size::Bytes(3000), &[1500, 1400, 200, 100]);
        assert_eq!(fate.dropped_ids(), [2]);
        assert_eq!(q.backlog(), Backlog { packets: 3, bytes: 3000 });
    }

    #[test]
    fn a_limit_in_bandwidth_delay_products_becomes_packets_of_the_link() {
        // 10 Mbit/s * 10 ms = 12500 B = 8.33 packets of 1500 B, to the nearest 8.
        let (_, fate) = fill(Size::MilliBdp(1000), &[1500; 10]);
        assert_eq!(fate.dropped_ids(), [8, 9]);
    }
}
