//! CHOKe: RED that drops packets of the flows that fill the queue.
//! Model: while RED's average is above `min`, an arrival is compared with a packet drawn at random from the queue.
//! If both are of one flow, both are dropped. Otherwise RED decides.
//! Units: as RED. Cost: O(1) a packet; a match moves the packets behind it.

use crate::{Backlog, DropReason, Fate, LinkContext, Pkt, Qdisc, red, red::Red};
use haltere_units::{ParamError, Probe, Time};

haltere_units::params! {
    /// RED that compares each arrival with a random packet of the queue and drops both if they are of one flow.
    ///
    /// A flow that has more packets in the queue is hit more often, without state for each flow.
    ///
    /// Source: Pan, Prabhakar and Psounis 2000. The marks are RED's (`haltere explain red`), and so is
    /// the average, in Linux's fixed-point numbers.
    ///
    /// Deviations: one comparison for each arrival, as in Linux; the paper's variant with several is left out.
    ///
    /// Known problems: with many unresponsive flows, each is hit only in proportion to its share of the queue.
    pub struct Params: flattens {
        /// Comparisons start above `min`. A match is dropped even if it is ECN-capable.
        #[serde(flatten)]
        pub red: red::Base = Default::default();
    }
}

/// A queue under CHOKe.
#[derive(Debug, Clone)]
pub struct Choke<P> {
    red: Red<P>,
}

impl<P: Pkt> Choke<P> {
    /// A queue of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        let red = red::Params { base: params.red.clone(), ..red::Params::default() };
        Ok(Choke { red: Red::new(&red, link)?.in_fixed_point() })
    }

    /// Drops the packet and one drawn from the queue if both are of one flow; otherwise gives the packet back.
    fn compare(&mut self, pkt: P, fate: &mut impl Fate<P>) -> Option<P> {
        let waiting = self.red.store().backlog().packets;
        if waiting == 0 || !self.red.is_congested() {
            return Some(pkt);
        }
        let drawn = fate.below(waiting) as usize;
        if self.red.store().get(drawn).is_none_or(|other| other.flow() != pkt.flow()) {
            return Some(pkt);
        }
        if let Some(other) = self.red.store().remove(drawn) {
            fate.dropped(other, DropReason::Congestion);
        }
        fate.dropped(pkt, DropReason::Congestion);
        None
    }
}

impl<P: Pkt> Qdisc<P> for Choke<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        self.red.update_average(now);
        if let Some(pkt) = self.compare(pkt, fate) {
            self.red.decide(now, pkt, fate);
        }
    }
    #[inline]
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        self.red.dequeue(now, fate)
    }
    #[inline]
    fn backlog(&self) -> Backlog {
        self.red.backlog()
    }
    fn probe(&self, row: &mut Probe) {
        self.red.probe(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Recorder, TestPkt, link};
    use haltere_units::{Prob, Size};

    /// A queue whose average follows the backlog at once, with packets of flows 1, 2, 1, 2, ...
    fn congested() -> (Choke<TestPkt>, Recorder) {
        let (min, max) = (Some(Size::Packets(2)), Some(Size::Packets(900)));
        let params =
            Params { red: red::Base { min, max, burst: Some(2), probability: Prob::of(1e-9), ..Default::default() } };
        let (mut q, mut fate) = (Choke::new(&params, &link()).unwrap(), Recorder::new(3));
        for id in 0..40 {
            q.red.update_average(Time::ZERO);
            q.red.decide(Time::ZERO, TestPkt::new(id, 1000).flow(1 + id as u16 % 2), &mut fate);
        }
        assert!(q.red.is_congested() && fate.dropped.is_empty());
        (q, fate)
    }

    #[test]
    fn an_arrival_that_meets_its_own_flow_goes_with_the_packet_it_met() {
        let (mut q, mut fate) = congested();
        let arrival = |id| TestPkt::new(id, 1000).flow(1);
        let mut matches = 0;
        for id in 100..120 {
            let before = (q.backlog().packets, fate.dropped.len());
            q.enqueue(Time::ZERO, arrival(id), &mut fate);
            let (waiting, dropped) = (q.backlog().packets, fate.dropped.len() - before.1);
            assert!((waiting, dropped) == (before.0 + 1, 0) || (waiting, dropped) == (before.0 - 1, 2));
            matches += dropped / 2;
        }
        assert!((5..=15).contains(&matches), "about half of 20 meet their own flow: {matches}");
        assert!(fate.dropped.iter().all(|(pkt, _)| pkt.flow == 1));
    }

    #[test]
    fn a_flow_of_its_own_is_never_matched() {
        let (mut q, mut fate) = congested();
        q.enqueue(Time::ZERO, TestPkt::new(100, 1000).flow(9), &mut fate);
        assert!(fate.dropped.is_empty());
    }

    #[test]
    fn the_average_is_linux_s_whole_number() {
        // A weight of one eighth. In eighths the average moves by queue - floor(average / 8).
        let base = red::Base {
            min: Some(Size::Packets(10)),
            max: Some(Size::Packets(30)),
            burst: Some(16),
            probability: Prob::of(1.0),
            ..Default::default()
        };
        let mut q = Choke::new(&Params { red: base }, &link()).unwrap();
        let mut fate = Recorder::new(5);
        let hold = |q: &mut Choke<TestPkt>, packets: u32, fate: &mut Recorder| {
            while q.backlog().packets < packets {
                let id = u64::from(q.backlog().packets);
                assert!(q.red.store().push(Time::ZERO, TestPkt::new(id, 1000).flow(id as u16)).is_ok());
            }
            while q.backlog().packets > packets {
                q.dequeue(Time::ZERO, fate);
            }
            (0..200).for_each(|_| q.red.update_average(Time::ZERO));
            (q.red.average() * 8.0, q.red.is_congested())
        };
        hold(&mut q, 0, &mut fate);
        // From below it stops at 10, which is not above min; from above at 10 and seven eighths, which is.
        assert_eq!(hold(&mut q, 10, &mut fate), (80.0, false));
        assert_eq!(hold(&mut q, 12, &mut fate), (96.0, true));
        assert_eq!(hold(&mut q, 10, &mut fate), (87.0, true));
        // The probability grows with the whole packets above min: here none, so nothing is dropped.
        for id in 0..20 {
            q.red.decide(Time::ZERO, TestPkt::new(100 + id, 1000).flow(500 + id as u16), &mut fate);
        }
        assert!(fate.dropped.is_empty());
    }

    #[test]
    fn below_min_nothing_is_compared() {
        let mut q = Choke::new(&Params::default(), &link()).unwrap();
        let mut fate = Recorder::new(1);
        for id in 0..50 {
            q.enqueue(Time::ZERO, TestPkt::new(id, 1000), &mut fate);
        }
        assert!(fate.dropped.is_empty());
    }
}
