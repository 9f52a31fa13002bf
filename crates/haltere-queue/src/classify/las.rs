//! LAS: least attained service in two levels, from exact state for every flow.
//! Model: attained service of a flow = bytes of its packets so far. A packet is short while these are below
//! `threshold`, then long. A flow that was silent for `timeout` is forgotten.
//! Units: bytes on the link, headers included; time ns. Cost: O(log flows) a packet. Memory: every flow of the last
//! `timeout`, and one pass over all of them at each `timeout`.

use super::{Class, FlowClassifier};
use crate::{Fate, FlowKey, LinkContext, Pkt};
use alloc::collections::BTreeMap;
use haltere_units::{Bytes, Dur, ParamError, Probe, Time};

haltere_units::params! {
    /// Calls a packet long if its flow has sent more than a threshold before it.
    ///
    /// It keeps exact state for every flow and so shows what a classifier with state can reach (least attained
    /// service).
    ///
    /// Source: K. Avrachenkov, U. Ayesta, P. Brown and E. Nyberg, IEEE INFOCOM 2004 (two-level processor sharing, of
    /// which LAS is the limit of many levels).
    ///
    /// Deviations: it has two classes, because the services serve two queues.
    ///
    /// Known problems: it needs state for every flow.
    pub struct Params {
        /// Bytes of a flow, headers included, that are short, above 0. The default is that of `run2c`.
        pub threshold: Bytes = Bytes::new(16_000), [above 0];
        /// A flow that was silent for longer is forgotten, above 0.
        pub timeout: Dur = Dur::from_secs(120), [above 0];
    }
}

/// A flow's five fields, in an order.
type Id = (u128, u128, u16, u16, u8);

/// What is known of a flow.
#[derive(Debug, Clone, Copy)]
struct Flow {
    attained: u64,
    seen: Time,
}

/// LAS with the flows that it knows.
#[derive(Debug, Clone)]
pub struct Las {
    threshold: u64,
    timeout: Dur,
    flows: BTreeMap<Id, Flow>,
    /// When silent flows were last removed.
    swept: Time,
}

impl Las {
    /// A classifier of these parameters, which knows no flow.
    pub fn new(params: &Params, _link: &LinkContext) -> Result<Las, ParamError> {
        params.check()?;
        let Params { threshold, timeout } = *params;
        Ok(Las { threshold: threshold.as_u64(), timeout, flows: BTreeMap::new(), swept: Time::ZERO })
    }
    fn sweep(&mut self, now: Time) {
        let timeout = self.timeout;
        self.flows.retain(|_, flow| now.since(flow.seen) <= timeout);
        self.swept = now;
    }
}

impl<P: Pkt> FlowClassifier<P> for Las {
    fn classify(&mut self, now: Time, pkt: &P, _fate: &mut impl Fate<P>) -> Class {
        if now.since(self.swept) > self.timeout {
            self.sweep(now);
        }
        let FlowKey { src, dst, src_port, dst_port, protocol } = pkt.flow();
        let id = (src, dst, src_port, dst_port, protocol);
        let flow = self.flows.entry(id).or_insert(Flow { attained: 0, seen: now });
        if now.since(flow.seen) > self.timeout {
            flow.attained = 0;
        }
        let class = if flow.attained < self.threshold { Class::Short } else { Class::Long };
        flow.attained += u64::from(pkt.len());
        flow.seen = now;
        class
    }
    fn probe(&self, row: &mut Probe) {
        row.push("known_flows", "", self.flows.len() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Recorder, TestPkt, link};

    fn class(c: &mut Las, at_ms: u64, flow: u16) -> Class {
        c.classify(Time::ZERO + Dur::from_ms(at_ms), &TestPkt::new(0, 1500).flow(flow), &mut Recorder::new(1))
    }

    #[test]
    fn a_flow_is_short_until_it_was_served_the_threshold() {
        let mut c = Las::new(&Params { threshold: Bytes::new(3000), ..Params::default() }, &link()).unwrap();
        assert_eq!([1, 1, 1, 2].map(|f| class(&mut c, 0, f)), [Class::Short, Class::Short, Class::Long, Class::Short]);
    }
    #[test]
    fn a_silent_flow_is_forgotten_at_its_timeout_and_leaves_no_state() {
        let params = Params { threshold: Bytes::new(1500), timeout: Dur::from_ms(100) };
        let mut c = Las::new(&params, &link()).unwrap();
        assert_eq!([0, 100, 201].map(|at| class(&mut c, at, 1)), [Class::Short, Class::Long, Class::Short]);
        class(&mut c, 1000, 2);
        assert_eq!(c.flows.len(), 1);
    }
}
