//! RAFLE: random assorter of flow lengths, a classifier without state for flows.
//! Model: a circular memory of the flow ids of the last N packets. Each arrival draws one of the N places uniformly.
//! The same id in that place means a long flow; another id, or an empty place, a short one. Then the packet's id
//! replaces the oldest. So a flow that holds a share q of the last N packets is called long with probability q, and
//! with m independent draws with 1 - (1 - q)^m.
//! Units: packets. Cost: O(draws) a packet, N ids in all.

use super::{Class, FlowClassifier};
use crate::{Fate, FlowKey, LinkContext, Pkt};
use alloc::vec::Vec;
use haltere_units::{ParamError, Time};

haltere_units::params! {
    /// Calls a packet long if a randomly drawn one of the last N packets belongs to the same flow.
    ///
    /// It keeps no state for flows. A flow that sends a share q of the packets is called long with probability q.
    ///
    /// Source: S. S. Mussi and M. R. N. Ribeiro, "RAFLE: uma proposta para diferenciacao de fluxos sem manutencao de
    /// estados em roteadores", SBRC 2013, section 4.
    ///
    /// Deviations: none with the defaults. `draws` and `key` are additions.
    ///
    /// Known problems: it sees the rate of a flow, not its length. A long flow among many equal ones is called short,
    /// and the end of a burst is called long. A packet counts as forwarded when it is classified, even if its queue
    /// then drops it.
    pub struct Params {
        /// Packets remembered, from 1 to 1048576. The default is the paper's choice (table 1).
        pub n: u32 = 40, [from 1 to 1048576];
        /// Header fields that make two packets one flow. The default is the paper's twelve bytes.
        pub key: Key = Key::AddressesAndPorts;
        /// Places drawn for each packet, from 1 to 1000. One hit is enough for `long`. The default is the paper's.
        pub draws: u32 = 1, [from 1 to 1000];
    }
    /// Header fields that make two packets one flow.
    pub enum Key {
        /// Source and destination addresses and ports.
        AddressesAndPorts,
        /// These and the protocol.
        FiveTuple,
        /// Source and destination addresses.
        Addresses,
    }
}

impl Key {
    #[inline]
    fn of(self, flow: FlowKey) -> FlowKey {
        match self {
            Key::AddressesAndPorts => FlowKey { protocol: 0, ..flow },
            Key::FiveTuple => flow,
            Key::Addresses => FlowKey { protocol: 0, src_port: 0, dst_port: 0, ..flow },
        }
    }
}

/// RAFLE with its memory of flow ids.
#[derive(Debug, Clone)]
pub struct Rafle {
    n: u32,
    key: Key,
    draws: u32,
    /// Ids of the last packets; shorter than `n` while places are empty.
    memory: Vec<FlowKey>,
    /// The place that is written next.
    next: u32,
}

impl Rafle {
    /// A classifier with an empty memory.
    pub fn new(params: &Params, _link: &LinkContext) -> Result<Rafle, ParamError> {
        params.check()?;
        let memory = Vec::with_capacity(params.n as usize);
        Ok(Rafle { n: params.n, key: params.key, draws: params.draws, memory, next: 0 })
    }
    /// Writes `id` over the oldest one.
    #[inline]
    fn remember(&mut self, id: FlowKey) {
        match self.memory.get_mut(self.next as usize) {
            Some(place) => *place = id,
            None => self.memory.push(id),
        }
        self.next = if self.next + 1 == self.n { 0 } else { self.next + 1 };
    }
}

impl<P: Pkt> FlowClassifier<P> for Rafle {
    #[inline]
    fn classify(&mut self, _now: Time, pkt: &P, fate: &mut impl Fate<P>) -> Class {
        let id = self.key.of(pkt.flow());
        // Every draw is made, so that the random stream does not depend on what was found.
        let hits = (0..self.draws).filter(|_| self.memory.get(fate.below(self.n) as usize) == Some(&id)).count();
        self.remember(id);
        if hits > 0 { Class::Long } else { Class::Short }
    }
    fn is_random(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Recorder, TestPkt, link};
    use crate::{DropReason, MarkReason};

    /// Random numbers that are given: the places drawn, in order.
    struct Script<'a>(core::slice::Iter<'a, u32>);
    impl Fate<TestPkt> for Script<'_> {
        fn dropped(&mut self, _: TestPkt, _: DropReason) {}
        fn marked(&mut self, _: &TestPkt, _: MarkReason) {}
        fn random(&mut self) -> u64 {
            unreachable!("RAFLE draws places only")
        }
        fn below(&mut self, n: u32) -> u32 {
            let place = *self.0.next().expect("no more draws than packets");
            assert!(place < n);
            place
        }
    }

    fn rafle(params: Params) -> Rafle {
        Rafle::new(&params, &link()).unwrap()
    }
    /// The classes of packets of those flows when those places are drawn: s or l each.
    fn classes(params: Params, flows: &[u16], places: &[u32]) -> alloc::string::String {
        let (mut rafle, mut fate) = (rafle(params), Script(places.iter()));
        let told = flows.iter().map(|&f| rafle.classify(Time::ZERO, &TestPkt::new(0, 100).flow(f), &mut fate));
        told.map(|class| if class == Class::Long { 'l' } else { 's' }).collect()
    }

    #[test]
    fn an_empty_place_means_short_and_the_id_is_written_all_the_same() {
        // Flow 1 draws places 0 (empty), 1 (empty), then 0 and 1, where its first two packets stand.
        assert_eq!(classes(Params { n: 4, ..Params::default() }, &[1, 1, 1, 1], &[0, 1, 0, 1]), "ssll");
    }
    #[test]
    fn another_flow_in_the_place_means_short() {
        // After 1, 2 the memory holds (1, 2); the third packet (flow 2) draws flow 1, is short and takes that place;
        // the fourth finds it there.
        assert_eq!(classes(Params { n: 2, ..Params::default() }, &[1, 2, 2, 2], &[0, 0, 0, 0]), "sssl");
    }
    #[test]
    fn the_draw_comes_before_the_packet_s_own_id_is_written() {
        // With one place a packet would always find itself if it were written first.
        assert_eq!(classes(Params { n: 1, ..Params::default() }, &[1, 1, 2, 2, 1], &[0; 5]), "slsls");
    }
    #[test]
    fn the_oldest_id_is_overwritten_round_and_round() {
        // Three places. Packets 1 2 3 fill them; 4 takes place 0, 5 takes place 1, 6 takes place 2, 7 takes place 0
        // again.
        let places = [0, 0, 0, 0, 1, 2, 0, 0, 1, 2];
        assert_eq!(
            classes(Params { n: 3, ..Params::default() }, &[1, 2, 3, 4, 5, 6, 7, 7, 7, 7], &places),
            "ssssssslll"
        );
        // Packet 8 (flow 7) draws place 0, where 7 stands: long; it takes place 1, and so on.
    }
    #[test]
    fn one_hit_of_several_draws_is_enough() {
        let params = Params { n: 2, draws: 3, ..Params::default() };
        assert_eq!(classes(params, &[1, 2, 2], &[0, 1, 0, 0, 1, 0, 0, 0, 1]), "ssl");
    }
    #[test]
    fn the_key_says_what_one_flow_is() {
        // Test packets of different flows differ in the source port only.
        let params = Params { n: 1, key: Key::Addresses, ..Params::default() };
        assert_eq!(classes(params, &[1, 2, 3], &[0; 3]), "sll");
    }

    /// The part of flow 0's packets called long, when three of every ten packets are flow 0's.
    fn part_long(draws: u32, packets: u32) -> f64 {
        let (mut rafle, mut fate) = (rafle(Params { n: 40, draws, ..Params::default() }), Recorder::new(7));
        let (mut own, mut long) = (0u32, 0u32);
        for i in 0..packets {
            let flow = if matches!(i % 10, 0 | 3 | 7) { 0 } else { 1 + (i % 977) as u16 };
            let class = rafle.classify(Time::ZERO, &TestPkt::new(0, 100).flow(flow), &mut fate);
            if i >= 40 && flow == 0 {
                own += 1;
                long += u32::from(class == Class::Long);
            }
        }
        f64::from(long) / f64::from(own)
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn a_flow_with_a_share_q_of_the_memory_is_long_with_probability_q() {
        // q = 12/40 at every arrival, 400,000 independent draws: standard error sqrt(0.3 * 0.7 / 400,000) = 0.00072.
        // Four of them reject a right classifier once in 16,000 seeds. A memory one place too short or too long has
        // q = 12/39 or 12/41, at least 0.0073 (10 errors) away, one entry too many or too few 0.025:
        // the power against each of these is above 1 - 1e-8.
        let got = part_long(1, 400_000 * 10 / 3);
        assert!((got - 0.3).abs() < 4.0 * 0.000_725, "part called long: {got}");
    }
    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn m_draws_make_it_one_less_the_chance_that_all_miss() {
        // 1 - 0.7^3 = 0.657; standard error sqrt(0.657 * 0.343 / 400,000) = 0.00075, power as above.
        let got = part_long(3, 400_000 * 10 / 3);
        assert!((got - 0.657).abs() < 4.0 * 0.000_751, "part called long: {got}");
    }
}
