//! Classed: a classifier, a queue for each of its two classes under any discipline, and a service between them.
//! Model:
//!
//! ```text
//!                                        +--> short queue --+
//!   arrival -> shared limit -> classifier                    +--> service -> link
//!                  | full                +--> long queue ---+
//!                  v dropped
//! ```
//!
//! Units: packets and bytes as the limits are written. Cost: that of the parts.

use crate::classes::{self, Inner};
use crate::classify::{CLASSES, Class, Classifier, ClassifierParams, FlowClassifier};
use crate::service::{ClassService, Service, ServiceParams};
use crate::{Backlog, Bound, DropReason, Fate, LinkContext, Pkt, Qdisc, QueueParams};
use alloc::boxed::Box;
use haltere_units::{ParamError, Probe, Size, Time};

haltere_units::params! {
    /// Two queues, one for packets of short flows and one for packets of long flows.
    ///
    /// A classifier selects the queue of each packet. A service selects the queue that the link serves next. Each queue
    /// has a discipline of its own.
    ///
    /// Source: the router of the RAFLE study (S. S. Mussi and M. R. N. Ribeiro, SBRC 2013, section 3): classifier, two
    /// queues, round robin or strict priority.
    ///
    /// Deviations: the shared `limit` and `remark` are additions.
    ///
    /// Known problems: packets of one flow overtake each other if the classifier moves the flow to the other class.
    /// Within a class they keep their order. The inner variables of the class queues are not in the results.
    pub struct Params {
        /// Classifier that separates short from long flows.
        pub classifier: ClassifierParams = ClassifierParams::Rafle(Default::default());
        /// Service that selects the next queue.
        pub service: ServiceParams = ServiceParams::RoundRobin(Default::default());
        /// Discipline of the short flows' queue.
        pub short: Box<QueueParams> = default_queue();
        /// Discipline of the long flows' queue.
        pub long: Box<QueueParams> = default_queue();
        /// Packet or byte limit of both queues together, above 0. A packet beyond it is dropped before it is
        /// classified. Left out: only the queues' own limits count.
        pub limit: Option<Size> = None;
        /// True: write the class into the packet's DSCP (AF11 short, CS1 long), for routers behind this one.
        pub remark: bool = false;
    }
}

/// Drop tail with its defaults.
fn default_queue() -> Box<QueueParams> {
    Box::new(QueueParams::DropTail(Default::default()))
}

/// A queue for each of two classes, a classifier before them and a service behind them.
#[derive(Debug, Clone)]
pub struct Classed<P> {
    classifier: Classifier,
    service: Service,
    /// The queues by [`Class::index`].
    queues: [Inner<P>; CLASSES],
    limit: Bound,
    remark: bool,
    /// Packets by their sender's mark (short, long) and by the classifier's class.
    verdicts: [[u64; CLASSES]; CLASSES],
}

impl<P: Pkt> Classed<P> {
    /// A queue of these parameters on that link.
    pub fn new(params: &(impl Clone + Into<Params>), link: &LinkContext) -> Result<Self, ParamError> {
        let params: Params = params.clone().into();
        Ok(Classed {
            classifier: Classifier::new(&params.classifier, link)?,
            service: Service::new(&params.service, link)?,
            queues: [Inner::new("short", &params.short, link)?, Inner::new("long", &params.long, link)?],
            limit: Bound::optional(params.limit, link)?,
            remark: params.remark,
            verdicts: [[0; CLASSES]; CLASSES],
        })
    }
    fn class_of(&mut self, now: Time, pkt: &P, fate: &mut impl Fate<P>) -> Class {
        let class = self.classifier.classify(now, pkt, fate);
        if let Some(truth) = Class::of_mark(pkt.dscp()) {
            self.verdicts[truth.index()][class.index()] += 1;
        }
        class
    }
}

impl<P: Pkt> Qdisc<P> for Classed<P> {
    fn enqueue(&mut self, now: Time, mut pkt: P, fate: &mut impl Fate<P>) {
        if !self.limit.fits(self.backlog(), pkt.len()) {
            return fate.dropped(pkt, DropReason::Overlimit);
        }
        let class = self.class_of(now, &pkt, fate);
        if self.remark {
            pkt.set_dscp(class.mark());
        }
        self.queues[class.index()].enqueue(now, pkt, fate);
    }
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        let mut waiting = self.queues.each_mut().map(|inner| inner.waits(now, fate));
        while let Some(class) = self.service.pick(waiting) {
            if let Some(pkt) = self.queues[class].queue.dequeue(now, fate) {
                self.service.sent(class, pkt.len(), waiting);
                return Some(pkt);
            }
            self.queues[class].knows_idle = true; // its discipline dropped all that it had
            waiting[class] = false;
        }
        None
    }
    fn backlog(&self) -> Backlog {
        self.queues.iter().map(|inner| inner.queue.backlog()).sum()
    }
    classes::inner_calls!(this =>
        this.queues.iter().map(|inner| &inner.queue),
        this.queues.iter_mut().map(|inner| &mut inner.queue));
    fn keeps_flow_order(&self) -> bool {
        FlowClassifier::<P>::is_constant_per_flow(&self.classifier)
            && self.queues.iter().all(|inner| inner.queue.keeps_flow_order())
    }
    fn probe(&self, row: &mut Probe) {
        let [short, long] = self.queues.each_ref().map(|inner| inner.queue.backlog());
        row.push("short_packets", "packets", f64::from(short.packets));
        row.push("long_packets", "packets", f64::from(long.packets));
        let [[short_hits, short_misses], [long_misses, long_hits]] = self.verdicts.map(|row| row.map(|n| n as f64));
        row.push("short_hits", "packets", short_hits);
        row.push("short_misses", "packets", short_misses);
        row.push("long_hits", "packets", long_hits);
        row.push("long_misses", "packets", long_misses);
        FlowClassifier::<P>::probe(&self.classifier, row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{DSCP_LONG, DSCP_SHORT, ideal, rafle};
    use crate::service::priority;
    use crate::testing::{Recorder, TestPkt, link};
    use crate::{codel, drop_tail, pie};
    use alloc::vec::Vec;

    const S: u8 = DSCP_SHORT;
    const L: u8 = DSCP_LONG;

    /// Classified by the sender's mark.
    fn marked() -> Params {
        Params { classifier: ClassifierParams::Ideal(ideal::Params {}), ..Params::default() }
    }
    fn send(q: &mut Classed<TestPkt>, fate: &mut Recorder, marks: &[u8]) {
        for (id, &dscp) in (0..).zip(marks) {
            q.enqueue(Time::ZERO, TestPkt { dscp, ..TestPkt::new(id, 1000) }, fate);
        }
    }
    fn ids(q: &mut Classed<TestPkt>, fate: &mut Recorder) -> Vec<u64> {
        core::iter::from_fn(|| q.dequeue(Time::ZERO, fate)).map(|p| p.id).collect()
    }
    fn queue(params: &Params) -> (Classed<TestPkt>, Recorder) {
        (Classed::new(params, &link()).unwrap(), Recorder::new(1))
    }

    #[test]
    fn classes_wait_apart_and_the_service_chooses() {
        let (mut q, mut fate) = queue(&marked());
        send(&mut q, &mut fate, &[L, L, L, S, S]);
        assert_eq!(ids(&mut q, &mut fate), [3, 0, 4, 1, 2]);
        let priority = ServiceParams::Priority(priority::Params::default());
        let (mut q, mut fate) = queue(&Params { service: priority, ..marked() });
        send(&mut q, &mut fate, &[L, L, L, S, S]);
        assert_eq!(ids(&mut q, &mut fate), [3, 4, 0, 1, 2]);
    }
    #[test]
    fn each_class_has_its_own_limit() {
        let small = Box::new(QueueParams::DropTail(drop_tail::Params { limit: Size::Packets(1) }));
        let (mut q, mut fate) = queue(&Params { long: small, ..marked() });
        send(&mut q, &mut fate, &[L, L, S, S, S]);
        assert_eq!(fate.dropped_ids(), [1]);
    }
    #[test]
    fn the_shared_limit_drops_before_the_classifier_sees_the_packet() {
        let (mut q, mut fate) = queue(&Params { limit: Some(Size::Packets(2)), ..marked() });
        send(&mut q, &mut fate, &[L, S, S, L]);
        assert_eq!(fate.dropped_ids(), [2, 3]);
        assert_eq!(q.verdicts, [[1, 0], [0, 1]]);
    }
    #[test]
    fn what_a_class_s_discipline_drops_at_a_dequeue_is_gone_from_the_whole() {
        // CoDel drops from a queue that stood above its target for an interval.
        let codel = codel::Params { ecn: false, ..codel::Params::default() };
        let (mut q, mut fate) = queue(&Params { short: Box::new(QueueParams::Codel(codel)), ..marked() });
        send(&mut q, &mut fate, &[S; 400]);
        let mut now = Time::ZERO;
        let mut sent = 0;
        while q.backlog().packets > 0 {
            now += haltere_units::Dur::from_ms(1);
            sent += u32::from(q.dequeue(now, &mut fate).is_some());
        }
        assert!(!fate.dropped.is_empty(), "CoDel had a standing queue");
        assert_eq!(sent as usize + fate.dropped.len(), 400);
    }
    #[test]
    fn an_idle_class_is_told_so_once() {
        let (mut q, mut fate) = queue(&marked());
        send(&mut q, &mut fate, &[L, L]);
        assert!(q.dequeue(Time::ZERO, &mut fate).is_some());
        assert_eq!(q.queues.each_ref().map(|inner| inner.knows_idle), [true, false]);
        send(&mut q, &mut fate, &[S]);
        assert_eq!(q.queues.each_ref().map(|inner| inner.knows_idle), [false, false]);
    }
    #[test]
    fn timers_of_both_disciplines_are_kept() {
        let pie = |ms| {
            let tupdate = haltere_units::Dur::from_ms(ms);
            let controller = pie::Controller { tupdate, ..pie::Controller::default() };
            Box::new(QueueParams::Pie(pie::Params { controller, ..pie::Params::default() }))
        };
        let (mut q, mut fate) = queue(&Params { short: pie(10), long: pie(15), ..marked() });
        send(&mut q, &mut fate, &[S, L]);
        let mut fired = Vec::new();
        for _ in 0..4 {
            let at = q.next_timer().unwrap();
            fired.push(at.as_ns() / 1_000_000);
            q.on_timer(at);
        }
        assert_eq!(fired, [10, 15, 20, 30]);
    }
    #[test]
    fn remarking_writes_the_class_into_the_packet() {
        let classifier = ClassifierParams::Rafle(rafle::Params { n: 1, ..rafle::Params::default() });
        let (mut q, mut fate) = queue(&Params { classifier, remark: true, ..Params::default() });
        send(&mut q, &mut fate, &[0, 0]);
        let marks: Vec<_> = core::iter::from_fn(|| q.dequeue(Time::ZERO, &mut fate)).map(|p| (p.id, p.dscp)).collect();
        assert_eq!(marks, [(0, DSCP_SHORT), (1, DSCP_LONG)]);
    }
    #[test]
    fn order_within_a_flow_is_promised_only_if_its_class_is_constant() {
        assert!(queue(&marked()).0.keeps_flow_order());
        assert!(!queue(&Params::default()).0.keeps_flow_order());
    }
    #[test]
    fn packets_of_one_flow_overtake_each_other_between_classes_and_never_within_one() {
        let priority = ServiceParams::Priority(priority::Params::default());
        let (mut q, mut fate) = queue(&Params { remark: true, service: priority, ..Params::default() });
        (0..200).for_each(|id| q.enqueue(Time::ZERO, TestPkt::new(id, 1000), &mut fate));
        let sent: Vec<_> = core::iter::from_fn(|| q.dequeue(Time::ZERO, &mut fate)).collect();
        let of = |dscp| sent.iter().filter(|p| p.dscp == dscp).map(|p| p.id).collect::<Vec<_>>();
        assert!(of(DSCP_SHORT).is_sorted() && of(DSCP_LONG).is_sorted());
        assert!(!sent.iter().map(|p| p.id).collect::<Vec<_>>().is_sorted(), "this flow's packets did overtake");
    }
}
