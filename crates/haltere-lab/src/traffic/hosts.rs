//! Shared by the kinds that choose their hosts themselves and by those whose flows arrive during the run.

use super::ends::Ends;
use super::entry::Entry;
use super::tcp::TcpSide;
use crate::error::{FaultKind, ScenarioError};
use haltere_plan::plan::{AppPlan, ArrivalsPlan, Between, Pattern};
use haltere_plan::routes::Routes;
use haltere_plan::sizes::SizeDistribution;
use haltere_units::Rate;

/// Flows that arrive during the run: all of their plan but the TCP.
pub(crate) struct Arriving {
    pub(crate) between: Between,
    pub(crate) pattern: Pattern,
    pub(crate) sizes: SizeDistribution,
    /// The most flows that arrive; `None`: until the entry stops.
    pub(crate) max_flows: Option<u64>,
}

impl Entry<'_> {
    /// The nodes with one link out, two at least.
    pub(crate) fn hosts(&self) -> Result<Vec<usize>, ScenarioError> {
        let mut links = vec![0u32; self.network.nodes.len()];
        self.network.links.iter().for_each(|link| links[link.from] += 1);
        let hosts: Vec<usize> = (0..links.len()).filter(|node| links[*node] == 1).collect();
        if hosts.len() < 2 {
            let fault =
                self.fault("kind", "a kind that this topology has room for", "no two hosts (nodes with one link)");
            return Err(fault.out_of_range());
        }
        Ok(hosts)
    }
    /// Two nodes that stand for all: the plan's flow of an arrival process is shown between them.
    pub(crate) fn stand_in(between: &Between) -> Vec<(usize, usize)> {
        vec![match between {
            Between::Hosts(hosts) => (hosts[0], hosts[1]),
            Between::Pairs(pairs) => pairs[0],
        }]
    }
    /// Between which nodes flows that arrive run: the pairs that the entry names, in its direction, or any two hosts.
    pub(crate) fn between(&self) -> Result<Between, ScenarioError> {
        let ends = self.ends;
        if ends.pairs.is_none() && ends.from.is_none() && ends.to.is_none() {
            self.left_out(&["direction"])?;
            return Ok(Between::Hosts(self.hosts()?.into()));
        }
        Ok(Between::Pairs(self.pairs()?.into_iter().flat_map(|(a, b)| ends.direction.of(a, b)).collect()))
    }
    /// Keys of `Ends` that have no place in this kind of traffic.
    pub(crate) fn left_out(&self, keys: &[&str]) -> Result<(), ScenarioError> {
        let (ends, default) = (self.ends, Ends::default());
        let given = |key: &str| match key {
            "pairs" => ends.pairs.is_some(),
            "from" => ends.from.is_some(),
            "to" => ends.to.is_some(),
            "count" => ends.count != default.count,
            "direction" => ends.direction != default.direction,
            "dscp" => ends.dscp.is_some(),
            "stagger" => ends.stagger != default.stagger,
            _ => ends.jitter != default.jitter,
        };
        match keys.iter().find(|key| given(key)) {
            Some(key) => {
                let fault = self.fault(key, "left out of this entry", "a value");
                Err(fault.out_of_range())
            }
            None => Ok(()),
        }
    }
    /// The plan of flows that arrive during the run, with one congestion control.
    pub(crate) fn arrivals(&self, side: &TcpSide, flows: Arriving) -> Result<Vec<AppPlan>, ScenarioError> {
        self.some_flows(flows.max_flows)?;
        let controls = side.congestion.all().len();
        if controls > 1 {
            let fault = self.fault("congestion", "one control", format!("a list of {controls}"));
            return Err(fault.hint("write an entry for each").out_of_range());
        }
        let Arriving { between, pattern, sizes, max_flows } = flows;
        let plan = |tcp| {
            let (between, pattern, sizes) = (between.clone(), pattern.clone(), sizes.clone());
            Box::new(ArrivalsPlan { tcp, between, pattern, sizes, max_flows }).into()
        };
        self.tcp(side, plan)
    }

    /// A number of flows that is given is not zero.
    fn some_flows(&self, flows: Option<u64>) -> Result<(), ScenarioError> {
        match flows {
            Some(0) => Err(self.fault("flows", "at least 1", 0).out_of_range()),
            _ => Ok(()),
        }
    }

    /// The rate of payload between these nodes that is a load of 1. Between pairs it fills the link of their paths that
    /// fills first; between any hosts it is the rate of all their links together.
    pub(crate) fn full_load(&self, between: &Between) -> Result<Rate, ScenarioError> {
        let full = match between {
            Between::Hosts(hosts) => self.hosts_rate(hosts),
            Between::Pairs(pairs) => self.bottleneck_rate(pairs),
        };
        full.ok_or_else(|| {
            let fault = self.fault("load", "left out where links have no rate", "a value");
            fault.hint("write `per_second`").out_of_range()
        })
    }
    fn hosts_rate(&self, hosts: &[usize]) -> Option<Rate> {
        let mut is_host = vec![false; self.network.nodes.len()];
        hosts.iter().for_each(|host| is_host[*host] = true);
        let rates = self.network.links.iter().filter(|link| is_host[link.from]).map(|link| link.rate);
        let sum: Option<f64> = rates.map(|rate| rate.map(|r| r.as_bps_f64())).sum();
        sum.map(|bps| Rate::from_bps(bps as u64))
    }
    /// The rate of all pairs together at which a link of their paths is full, if each pair sends as much as any other.
    fn bottleneck_rate(&self, pairs: &[(usize, usize)]) -> Option<Rate> {
        let links = &self.network.links;
        let mut routes = Routes::new(self.network.nodes.len(), links.iter().map(|l| (l.from, l.to, l.delay)));
        let mut over = vec![0u32; links.len()];
        for &(from, to) in pairs {
            routes.path(from, to).into_iter().flatten().for_each(|link| over[link] += 1);
        }
        let full = links.iter().zip(over).filter(|(_, over)| *over > 0).filter_map(|(link, over)| {
            let part = f64::from(over) / pairs.len() as f64;
            Some(Rate::from_bps((link.rate?.as_bps_f64() / part) as u64))
        });
        full.min()
    }
}
