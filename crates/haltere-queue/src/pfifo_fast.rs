//! Three first-in first-out bands by priority: Linux's default discipline.
//! Source: tc-pfifo_fast(8); band map from Linux's `prio2band`. Deviations: none.
//! Model: a packet's priority, 0 to 15, picks its band; the link always serves the lowest band that holds
//! a packet (band 0 first), so a busy band 0 starves the others. A band drops what arrives when it is full.
//! Units: packets or bytes as the limit is written. Cost: O(1) a packet.
//! Known problems: as drop tail; TCP without a set priority lies in band 1 with everything else.

use crate::{Backlog, Bound, DropReason, Fate, LinkContext, Pkt, Qdisc, Store};
use core::array;
use haltere_units::{ParamError, Probe, Size, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which band each priority goes to, by `TC_PRIO_*` value: 0 best effort, 2 bulk, 6 interactive, 7 control.
const PRIO2BAND: [u8; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];
const BANDS: usize = 3;

/// Three bands by priority; the first that holds a packet is served.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// What each band may hold, as in Linux, where `txqueuelen` bounds each band by itself. More than nothing.
    /// Default 1000 packets: Linux's `txqueuelen`.
    pub limit: Size,
    /// True: the three bands share one `limit`, as in ns-3. Default false, as in Linux.
    pub shared_limit: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params { limit: Size::Packets(1000), shared_limit: false }
    }
}

/// The discipline.
#[derive(Debug, Clone)]
pub struct PfifoFast<P> {
    bands: [Store<P>; BANDS],
    bound: Bound,
    shared: bool,
    total: Backlog,
}

impl<P: Pkt> PfifoFast<P> {
    /// A queue of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        let bound = Bound::new(link.resolve(params.limit))?;
        let bands = array::from_fn(|_| Store::unbounded());
        Ok(PfifoFast { bands, bound, shared: params.shared_limit, total: Backlog::default() })
    }
}

impl<P: Pkt> Qdisc<P> for PfifoFast<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        let band = &mut self.bands[usize::from(PRIO2BAND[usize::from(pkt.priority() & 15)])];
        let len = pkt.len();
        let counted = if self.shared { self.total } else { band.backlog() };
        let kept = if self.bound.fits(counted, len) { band.push(now, pkt) } else { Err(pkt) };
        match kept {
            Ok(()) => self.total.add(len),
            Err(pkt) => fate.dropped(pkt, DropReason::Overlimit),
        }
    }
    #[inline]
    fn dequeue(&mut self, _now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        let (_, pkt) = self.bands.iter_mut().find_map(Store::pop)?;
        self.total.remove(pkt.len());
        Some(pkt)
    }
    #[inline]
    fn backlog(&self) -> Backlog {
        self.total
    }
    fn probe(&self, row: &mut Probe) {
        for (name, band) in ["band0", "band1", "band2"].into_iter().zip(&self.bands) {
            row.push(name, "packets", f64::from(band.backlog().packets));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Recorder, TestPkt, link};

    fn queue(params: Params) -> PfifoFast<TestPkt> {
        PfifoFast::new(&params, &link()).unwrap()
    }
    fn drain(q: &mut PfifoFast<TestPkt>, fate: &mut Recorder) -> alloc::vec::Vec<u64> {
        core::iter::from_fn(|| q.dequeue(Time::ZERO, fate)).map(|p| p.id).collect()
    }

    #[test]
    fn interactive_goes_before_best_effort_and_bulk_goes_last() {
        let (mut q, mut fate) = (queue(Params::default()), Recorder::new(1));
        for (id, priority) in [(1, 2), (2, 0), (3, 6), (4, 2), (5, 0), (6, 7)] {
            q.enqueue(Time::ZERO, TestPkt::new(id, 1500).priority(priority), &mut fate);
        }
        assert_eq!(drain(&mut q, &mut fate), [3, 6, 2, 5, 1, 4]);
    }

    #[test]
    fn each_band_has_its_own_limit() {
        let (mut q, mut fate) = (queue(Params { limit: Size::Packets(2), ..Params::default() }), Recorder::new(1));
        for id in 0..3 {
            q.enqueue(Time::ZERO, TestPkt::new(id, 1500).priority(0), &mut fate);
            q.enqueue(Time::ZERO, TestPkt::new(10 + id, 1500).priority(6), &mut fate);
        }
        assert_eq!(fate.dropped_ids(), [2, 12]);
        assert_eq!(drain(&mut q, &mut fate), [10, 11, 0, 1]);
    }

    #[test]
    fn a_shared_limit_counts_all_bands() {
        let params = Params { limit: Size::Packets(2), shared_limit: true };
        let (mut q, mut fate) = (queue(params), Recorder::new(1));
        for (id, priority) in [(0, 2), (1, 0), (2, 6)] {
            q.enqueue(Time::ZERO, TestPkt::new(id, 1500).priority(priority), &mut fate);
        }
        assert_eq!(fate.dropped_ids(), [2]);
        assert_eq!(q.backlog(), Backlog { packets: 2, bytes: 3000 });
    }
}
