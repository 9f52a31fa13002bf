//! What the disciplines of shared media have in common: stations, which their hosts identify, with rates that change.

use crate::Pkt;
use alloc::format;
use alloc::vec::Vec;
use haltere_units::{Dur, ParamError, Rate, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

haltere_units::params! {
    /// A rate from a time on.
    pub struct RateStep {
        /// When it begins, from the start of the run or of the repetition.
        pub at: Dur = Dur::ZERO;
        /// The rate from then on.
        pub rate: Rate = Rate::ZERO;
    }
}

/// What an experiment may write for steps: these tables, or the name of a file that has them.
pub(crate) fn steps_schema(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [<Vec<RateStep>>::json_schema(generator), { "type": "string" }] })
}

/// The rate of a station over time.
#[derive(Debug, Clone)]
pub(crate) struct Rates {
    first: Rate,
    steps: Vec<RateStep>,
    repeat: Option<Dur>,
}

impl Rates {
    /// `first`, and then the steps, again and again with `repeat`.
    pub fn new(first: Rate, steps: &[RateStep], repeat: Option<Dur>) -> Result<Rates, ParamError> {
        if let Some(pair) = steps.windows(2).find(|pair| pair[0].at >= pair[1].at) {
            return Err(ParamError::new("at", format!("after the step before it at {}", pair[0].at), pair[1].at));
        }
        let last = steps.last().map(|step| step.at);
        if let Some(repeat) = repeat.filter(|repeat| last.is_none_or(|last| *repeat <= last)) {
            return Err(ParamError::new("repeat", "longer than the last step's start", repeat));
        }
        Ok(Rates { first, steps: steps.to_vec(), repeat })
    }
    /// The rate at `now`.
    #[inline]
    pub fn at(&self, now: Time) -> Rate {
        let within = match self.repeat {
            Some(repeat) => Dur::from_ns(now.as_ns() % repeat.as_ns()),
            None => now.since(Time::ZERO),
        };
        let count = self.steps.partition_point(|step| step.at <= within);
        count.checked_sub(1).map_or(self.first, |last| self.steps[last].rate)
    }
}

/// The hosts of the stations. `None`: the packets of every host.
#[derive(Debug, Clone)]
pub(crate) struct Hosts(Vec<Option<u16>>);

impl Hosts {
    /// These; two stations must not have the same.
    pub fn new(hosts: Vec<Option<u16>>) -> Result<Hosts, ParamError> {
        let twice = hosts.iter().enumerate().find(|(i, host)| hosts[..*i].contains(host));
        match twice {
            Some((_, Some(host))) => Err(ParamError::new("host", "one of its own", host)),
            Some((_, None)) => Err(ParamError::new("host", "given if there are several", "none")),
            None => Ok(Hosts(hosts)),
        }
    }
    /// The station of the packet, and whether it comes from there. The last one if it is nobody's.
    #[inline]
    pub fn station_of(&self, pkt: &impl Pkt) -> (usize, bool) {
        let flow = pkt.flow();
        let find = |address: u128| self.0.iter().position(|host| host.is_some_and(|host| host == address as u16));
        match (find(flow.src), find(flow.dst)) {
            (_, Some(to)) => (to, false),
            (Some(from), None) => (from, true),
            (None, None) => (self.0.len() - 1, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestPkt;
    use alloc::vec;

    #[test]
    fn a_packet_belongs_to_the_station_that_receives_or_sends_it() {
        let hosts = Hosts::new(vec![Some(2), Some(3)]).unwrap();
        let pkt = |src, dst| TestPkt { src, dst, ..TestPkt::new(0, 100) };
        assert_eq!(
            [pkt(1, 2), pkt(3, 1), pkt(1, 9)].map(|pkt| hosts.station_of(&pkt)),
            [(0, false), (1, true), (1, false)]
        );
        assert!(Hosts::new(vec![Some(2), Some(2)]).is_err() && Hosts::new(vec![None, None]).is_err());
    }
    #[test]
    fn rates_change_in_steps_and_begin_again() {
        let mbps = Rate::from_mbps;
        let steps = [(1, 5), (3, 0)].map(|(s, rate)| RateStep { at: Dur::from_secs(s), rate: mbps(rate) });
        let rates = Rates::new(mbps(9), &steps, Some(Dur::from_secs(4))).unwrap();
        let at = [0, 1, 2, 3, 4, 5].map(|s| rates.at(Time::ZERO + Dur::from_secs(s)));
        assert_eq!(at, [9, 5, 5, 0, 9, 5].map(mbps));
        assert!(Rates::new(mbps(9), &steps, Some(Dur::from_secs(3))).is_err());
    }
}
