//! What the kinds share that choose their hosts themselves, and those whose flows arrive during the run.

use super::{Ends, Entry, TcpSide};
use crate::error::{FaultKind, ScenarioError};
use haltere_plan::plan::{AppPlan, ArrivalsPlan, TcpPlan};
use haltere_units::Rate;

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
    /// Two hosts that stand for all: the plan's flow of an arrival process is shown between them.
    pub(crate) fn two_hosts(&self) -> Result<Vec<(usize, usize)>, ScenarioError> {
        let hosts = self.hosts()?;
        Ok(vec![(hosts[0], hosts[1])])
    }
    /// Keys of `Ends` that have no place in this kind of traffic.
    pub(crate) fn left_out(&self, keys: &[&str]) -> Result<(), ScenarioError> {
        let (ends, default) = (self.ends(), Ends::default());
        let given = |key: &str| match key {
            "pairs" => ends.pairs.is_some(),
            "from" => ends.from.is_some(),
            "to" => ends.to.is_some(),
            "count" => ends.count != default.count,
            "direction" => ends.direction != default.direction,
            _ => ends.jitter != default.jitter,
        };
        match keys.iter().find(|key| given(key)) {
            Some(key) => {
                let fault = self.fault(key, "left out: the entry draws its hosts itself", "a value");
                Err(fault.out_of_range())
            }
            None => Ok(()),
        }
    }
    /// The plan of flows that arrive during the run, with one congestion control.
    pub(crate) fn arrivals(
        &self,
        side: &TcpSide,
        plan: impl Fn(TcpPlan) -> ArrivalsPlan,
    ) -> Result<Vec<AppPlan>, ScenarioError> {
        let all: Vec<AppPlan> = self.tcp(side, |tcp| Box::new(plan(tcp)).into())?;
        if all.len() > 1 {
            let fault = self.fault("congestion", "one control", format!("a list of {}", all.len()));
            return Err(fault.hint("write an entry for each").out_of_range());
        }
        Ok(all)
    }

    /// A number of flows that is given is not zero.
    pub(crate) fn some_flows(&self, flows: Option<u64>) -> Result<(), ScenarioError> {
        match flows {
            Some(0) => Err(self.fault("flows", "at least 1", 0).out_of_range()),
            _ => Ok(()),
        }
    }

    /// The rate of all hosts' links together.
    pub(crate) fn hosts_rate(&self, hosts: &[usize]) -> Result<Rate, ScenarioError> {
        let mut is_host = vec![false; self.network.nodes.len()];
        hosts.iter().for_each(|host| is_host[*host] = true);
        let rates = self.network.links.iter().filter(|link| is_host[link.from]).map(|link| link.rate);
        let sum: Option<u64> = rates.map(|rate| rate.map(|r| r.as_bps())).sum();
        sum.map(Rate::from_bps).ok_or_else(|| {
            let fault = self.fault("load", "left out where hosts' links have no rate", "a value");
            fault.hint("write `per_second`").out_of_range()
        })
    }
}
