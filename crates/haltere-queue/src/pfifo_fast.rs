//! pfifo_fast: three first-in first-out bands by priority, Linux's default discipline for many years.
//! Model: a packet's priority, 0 to 15, selects its band. The link serves the lowest band that holds a packet, so a
//! busy band 0 starves the others. A full band drops what arrives.
//! Units: packets or bytes, as the limit is written. Cost: O(1) a packet.

use crate::{Backlog, Bound, DropReason, Fate, LinkContext, Pkt, Qdisc, Store};
use core::array;
use haltere_units::{ParamError, Probe, Size, Time};

/// Which band each priority goes to, by `TC_PRIO_*` value: 0 best effort, 2 bulk, 6 interactive, 7 control.
const PRIO2BAND: [u8; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];
const BANDS: usize = 3;

/// The priority (`TC_PRIO_*`) that Linux gives to forwarded packets with this DSCP: `rt_tos2priority` looks at four
/// bits of the old TOS byte. Best effort is 0, bulk 2, interactive bulk 4, interactive 6.
pub const fn priority_of_dscp(dscp: u8) -> u8 {
    const TOS_PRIORITY: [u8; 8] = [0, 0, 2, 2, 6, 6, 4, 4];
    TOS_PRIORITY[(dscp & 7) as usize]
}

haltere_units::params! {
    /// Three first-in first-out bands by priority: the link serves the lowest band that holds a packet.
    ///
    /// Source: tc-pfifo_fast(8). The band of each priority is Linux's `prio2band`.
    ///
    /// Deviations: a place is free again as soon as its packet is sent. `release_batch = 16` gives Linux's ring, which
    /// frees places sixteen at a time.
    ///
    /// Known problems: those of drop tail. TCP without a set priority shares band 1 with all other traffic.
    pub struct Params {
        /// Packet or byte limit of each band, above 0. Linux's `txqueuelen` limits each band by itself, too; the
        /// default is Linux's.
        pub limit: Size = Size::Packets(1000);
        /// True: the three bands share one `limit`, as in ns-3. False: each has its own, as in Linux.
        pub shared_limit: bool = false;
        /// How many places a band frees at once, after their packets were sent; at least 1. Linux's ring (since 4.16)
        /// frees 16 at once if it has at least 32 places, and the rest at its end. So it drops before `limit` is
        /// reached. A value above 1 needs a `limit` in packets that is not shared.
        pub release_batch: u32 = 1, [at least 1];
    }
}

/// The places of one band that are not yet free again although their packets are sent.
#[derive(Debug, Clone, Copy, Default)]
struct Ring {
    /// Packets sent since the ring's end was last passed.
    head: u32,
    /// Packets sent whose places are not yet free.
    held: u32,
}

impl Ring {
    /// A packet was sent from a ring of `size` places that frees `batch` at a time.
    #[inline]
    fn sent(&mut self, size: u32, batch: u32) {
        self.head += 1;
        self.held += 1;
        let at_end = self.head >= size;
        if self.held >= batch || at_end {
            self.held = 0;
        }
        if at_end {
            self.head = 0;
        }
    }
}

/// Three first-in first-out queues, served by priority.
#[derive(Debug, Clone)]
pub struct PfifoFast<P> {
    bands: [Store<P>; BANDS],
    rings: [Ring; BANDS],
    /// Places of a ring and how many it frees at a time; none if each place is free at once.
    ring: Option<(u32, u32)>,
    bound: Bound,
    shared: bool,
    total: Backlog,
}

impl<P: Pkt> PfifoFast<P> {
    /// A queue of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        params.check()?;
        let limit = link.resolve(params.limit);
        let bound = Bound::new(limit)?;
        let ring = match (params.release_batch, limit) {
            (1, _) => None,
            (batch, Size::Packets(places)) if !params.shared_limit => {
                Some((u32::try_from(places).unwrap_or(u32::MAX), batch))
            }
            (batch, _) => {
                return Err(ParamError::new("release_batch", "1 if `limit` is in bytes or shared", batch));
            }
        };
        let bands = array::from_fn(|_| Store::unbounded());
        Ok(PfifoFast {
            bands,
            rings: Default::default(),
            ring,
            bound,
            shared: params.shared_limit,
            total: Backlog::default(),
        })
    }
    /// Packets and bytes that count against the limit of that band.
    #[inline]
    fn counted(&self, band: usize) -> Backlog {
        if self.shared {
            return self.total;
        }
        let waiting = self.bands[band].backlog();
        Backlog { packets: waiting.packets + self.rings[band].held, ..waiting }
    }
}

impl<P: Pkt> Qdisc<P> for PfifoFast<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        let band = usize::from(PRIO2BAND[usize::from(pkt.priority() & 15)]);
        let len = pkt.len();
        let kept = if self.bound.fits(self.counted(band), len) { self.bands[band].push(now, pkt) } else { Err(pkt) };
        match kept {
            Ok(()) => self.total.add(len),
            Err(pkt) => fate.dropped(pkt, DropReason::Overlimit),
        }
    }
    #[inline]
    fn dequeue(&mut self, _now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        let (band, (_, pkt)) = self.bands.iter_mut().enumerate().find_map(|(i, band)| Some((i, band.pop()?)))?;
        self.total.remove(pkt.len());
        if let Some((places, batch)) = self.ring {
            self.rings[band].sent(places, batch);
        }
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
        let params = Params { limit: Size::Packets(2), shared_limit: true, ..Params::default() };
        let (mut q, mut fate) = (queue(params), Recorder::new(1));
        for (id, priority) in [(0, 2), (1, 0), (2, 6)] {
            q.enqueue(Time::ZERO, TestPkt::new(id, 1500).priority(priority), &mut fate);
        }
        assert_eq!(fate.dropped_ids(), [2]);
        assert_eq!(q.backlog(), Backlog { packets: 2, bytes: 3000 });
    }

    /// Linux: 100 places freed 16 at a time; of a full ring 15 packets sent make no room, the sixteenth makes 16.
    #[test]
    fn a_ring_frees_its_places_in_batches_and_at_its_end() {
        let params = Params { limit: Size::Packets(100), release_batch: 16, ..Params::default() };
        let (mut q, mut fate) = (queue(params), Recorder::new(1));
        let offer = |q: &mut PfifoFast<TestPkt>, fate: &mut Recorder, n: u64| {
            let before = fate.dropped_ids().len();
            (0..n).for_each(|id| q.enqueue(Time::ZERO, TestPkt::new(id, 1500), fate));
            n as usize - (fate.dropped_ids().len() - before)
        };
        let send = |q: &mut PfifoFast<TestPkt>, fate: &mut Recorder, n: usize| {
            (0..n).for_each(|_| assert!(q.dequeue(Time::ZERO, fate).is_some()));
        };
        assert_eq!(offer(&mut q, &mut fate, 101), 100);
        send(&mut q, &mut fate, 15);
        assert_eq!(offer(&mut q, &mut fate, 1), 0);
        send(&mut q, &mut fate, 1);
        assert_eq!(offer(&mut q, &mut fate, 20), 16);
        send(&mut q, &mut fate, 80);
        assert_eq!(offer(&mut q, &mut fate, 100), 80);
        send(&mut q, &mut fate, 4); // the hundredth packet since the start passes the ring's end
        assert_eq!(offer(&mut q, &mut fate, 10), 4);
    }

    #[test]
    fn batches_want_a_limit_in_packets_for_each_band() {
        for params in [
            Params { release_batch: 0, ..Params::default() },
            Params { release_batch: 2, shared_limit: true, ..Params::default() },
            Params { release_batch: 2, limit: Size::Bytes(9000), ..Params::default() },
        ] {
            let error = PfifoFast::<TestPkt>::new(&params, &link()).unwrap_err();
            assert_eq!(error.name, "release_batch");
        }
    }
}
