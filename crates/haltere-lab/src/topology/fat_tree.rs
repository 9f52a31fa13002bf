//! Hosts under three tiers of equal switches.

use super::prelude::*;

/// A fat tree of switches with `k` ports (Al-Fares, Loukissas, Vahdat, SIGCOMM 2008). It has k pods and k^2/4 core
/// switches (`core1` ..). A pod has k/2 edge switches (`edge1.1`: pod and number) with k/2 hosts each, and k/2
/// aggregation switches (`agg1.1`). There are k^3/4 hosts, `h1` and on from pod to pod. Each flow takes one of the
/// shortest paths by a hash of its ends and ports with the random seed (ECMP).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FatTree {
    /// Ports of each switch, an even number.
    #[schemars(range(min = 2, max = 64))]
    pub k: u32,
    /// The link of each host to its edge switch. `reverse` is the direction to the host.
    pub access: LinkSpec,
    /// Each link between switches. `reverse` is the direction towards the hosts.
    pub fabric: LinkSpec,
    /// Links that fail.
    #[serde(flatten)]
    pub failures: Failures,
}

impl TopologyKind for FatTree {
    fn build(&self, network: &mut NetworkDraft, context: &Context<'_>) -> Result<(), ScenarioError> {
        if !self.k.is_multiple_of(2) {
            let fault = Fault::new(context.place, "k", "an even number from 2 to 64", self.k);
            return Err(fault.hint("half of a switch's ports lead up").out_of_range());
        }
        let half = self.k as usize / 2;
        let access = both(&self.access, &context.below("access"))?;
        let fabric = both(&self.fabric, &context.below("fabric"))?;
        network.ecmp = true;
        let cores: Vec<usize> = (1..=half * half).map(|i| network.add(&format!("core{i}"))).collect();
        cores.iter().for_each(|&core| network.show(core, Hint::switch("core", 3)));
        let mut host = 0;
        for pod in 1..=self.k {
            let aggregates: Vec<usize> = (1..=half).map(|i| network.add(&format!("agg{pod}.{i}"))).collect();
            for (i, &aggregate) in aggregates.iter().enumerate() {
                network.show(aggregate, Hint::switch("agg", 2));
                // The i-th switch of every pod leads to the i-th group of cores.
                for &core in &cores[i * half..(i + 1) * half] {
                    network.join(aggregate, core, &fabric, |link| link.watch.unwrap_or(false));
                }
            }
            for i in 1..=half {
                let edge = network.add(&format!("edge{pod}.{i}"));
                network.show(edge, Hint::switch("edge", 1));
                for &aggregate in &aggregates {
                    network.join(edge, aggregate, &fabric, |link| link.watch.unwrap_or(false));
                }
                for _ in 0..half {
                    host += 1;
                    let host = network.add(&format!("h{host}"));
                    network.show(host, Hint::host("h", 0));
                    network.join(host, edge, &access, |link| link.watch.unwrap_or(false));
                }
            }
        }
        self.failures.apply(network, context)
    }
}
