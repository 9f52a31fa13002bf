//! Traffic of a data centre: between which hosts, and how often.

use super::flows::Entry;
use crate::scenario::arrivals::{Incast, Poisson};
use crate::scenario::error::{FaultKind, ScenarioError};
use crate::scenario::traffic::{Ends, TcpSide};
use haltere_plan::plan::{AppPlan, ArrivalsPlan, Pattern, TcpPlan};
use haltere_plan::rng::Rng;
use haltere_plan::sizes::SizeDistribution;
use haltere_units::{Dur, Rate};

/// The shortest mean span between flows that makes sense in nanoseconds.
const MOST_PER_SECOND: f64 = 1e8;

impl Entry<'_> {
    /// The nodes with one link out, two at least.
    fn hosts(&self) -> Result<Vec<usize>, ScenarioError> {
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
    /// Two hosts that stand for all: where the source of the flows is put.
    pub(super) fn source(&self) -> Result<(usize, usize), ScenarioError> {
        let hosts = self.hosts()?;
        Ok((hosts[0], hosts[1]))
    }
    /// One cycle through all hosts in a random order: each sends to the next.
    pub(super) fn permutation(
        &self,
        ends: &Ends,
        label: &str,
        seed: u64,
    ) -> Result<Vec<(usize, usize)>, ScenarioError> {
        self.left_out(ends, &["pairs", "from", "to"])?;
        let mut hosts = self.hosts()?;
        Rng::new(seed, &format!("{label}/permutation")).shuffle(&mut hosts);
        let next = hosts.iter().cycle().skip(1);
        let mut pairs: Vec<(usize, usize)> = hosts.iter().copied().zip(next.copied()).collect();
        pairs.sort_unstable();
        Ok(pairs)
    }
    /// Keys of `Ends` that have no place in this kind of traffic.
    fn left_out(&self, ends: &Ends, keys: &[&str]) -> Result<(), ScenarioError> {
        let default = Ends::default();
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

    pub(super) fn poisson(&self, t: &Poisson) -> Result<Vec<AppPlan>, ScenarioError> {
        self.left_out(&t.ends, &["pairs", "from", "to", "count", "direction", "jitter"])?;
        let hosts = self.hosts()?;
        let sizes = t.sizes.law(&self.place)?;
        let (name, per_second) = match (t.load, t.per_second) {
            (Some(_), Some(per_second)) => {
                return Err(self.fault("per_second", "left out beside `load`", per_second).out_of_range());
            }
            (Some(load), None) => {
                ("load", load.as_f64() * self.hosts_rate(&hosts)?.as_bps_f64() / (8.0 * sizes.mean()))
            }
            (None, Some(per_second)) => ("per_second", per_second),
            (None, None) => {
                let hint = "or write `per_second`";
                return Err(self.fault("load", "given, or `per_second`", "nothing").hint(hint).missing());
            }
        };
        if !(per_second > 0.0 && per_second <= MOST_PER_SECOND) {
            let rule = format!("above 0 and at most {MOST_PER_SECOND} flows a second");
            return Err(self.fault(name, rule, format!("{per_second} flows a second")).out_of_range());
        }
        self.most(t.flows)?;
        let pattern = Pattern::Poisson { gap: Dur::from_secs_f64(1.0 / per_second) };
        self.arrivals(&t.side, |tcp| ArrivalsPlan {
            tcp,
            hosts: hosts.clone().into(),
            pattern,
            sizes: sizes.clone(),
            max_flows: t.flows,
        })
    }

    pub(super) fn incast(&self, t: &Incast) -> Result<Vec<AppPlan>, ScenarioError> {
        self.left_out(&t.ends, &["pairs", "from", "count", "direction", "jitter"])?;
        let hosts = self.hosts()?;
        self.some_bytes(Some(t.bytes))?;
        if t.interval.is_zero() {
            return Err(self.fault("interval", "above zero", t.interval).out_of_range());
        }
        if t.spread >= t.interval {
            let rule = format!("less than the {} from one round to the next", t.interval);
            return Err(self.fault("spread", rule, t.spread).out_of_range());
        }
        let to = t.ends.to.as_deref().map(|to| self.network.node(to, &self.place, "to")).transpose()?;
        let most = t.rounds.map(|rounds| u64::from(rounds) * u64::from(t.senders));
        self.most(most)?;
        let (senders, interval, jitter) = (t.senders, t.interval, t.spread);
        let pattern = Pattern::Incast { to, senders, interval, jitter };
        let sizes = SizeDistribution::constant(t.bytes);
        self.arrivals(&t.side, |tcp| ArrivalsPlan {
            tcp,
            hosts: hosts.clone().into(),
            pattern,
            sizes: sizes.clone(),
            max_flows: most,
        })
    }

    fn arrivals(&self, side: &TcpSide, plan: impl Fn(TcpPlan) -> ArrivalsPlan) -> Result<Vec<AppPlan>, ScenarioError> {
        let mut all = self.tcp(side, |tcp| AppPlan::Arrivals(Box::new(plan(tcp))))?;
        if all.len() > 1 {
            let fault = self.fault("congestion", "one control", format!("a list of {}", all.len()));
            return Err(fault.hint("write an entry for each").out_of_range());
        }
        all.truncate(1);
        Ok(all)
    }

    fn most(&self, flows: Option<u64>) -> Result<(), ScenarioError> {
        match flows {
            Some(0) => Err(self.fault("flows", "at least 1", 0).out_of_range()),
            _ => Ok(()),
        }
    }

    /// The rate of all hosts' links together.
    fn hosts_rate(&self, hosts: &[usize]) -> Result<Rate, ScenarioError> {
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
