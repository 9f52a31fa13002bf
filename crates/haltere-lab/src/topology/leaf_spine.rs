//! Hosts at leaf switches, each of which is joined to every spine switch.

use super::prelude::*;
use crate::limits::LINKS;

/// Hosts, `h1` .. `hN` from leaf to leaf, at the switches `leaf1` ... Each leaf is joined to every switch of `spine1`
/// ... Each flow takes one of the shortest paths by a hash of its ends and ports with the random seed (ECMP).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeafSpine {
    /// Number of leaf switches.
    #[schemars(range(min = 1, max = 10_000))]
    pub leaves: u32,
    /// Number of spine switches.
    #[schemars(range(min = 1, max = 10_000))]
    pub spines: u32,
    /// Hosts at each leaf.
    #[schemars(range(min = 1, max = 10_000))]
    pub hosts: u32,
    /// The link of each host to its leaf. `reverse` is the direction to the host.
    pub access: LinkSpec,
    /// The link of each leaf to each spine. `reverse` is the direction to the leaf.
    pub fabric: LinkSpec,
    /// Links that fail.
    #[serde(flatten)]
    pub failures: Failures,
}

impl TopologyKind for LeafSpine {
    fn build(&self, network: &mut NetworkDraft, context: &Context<'_>) -> Result<(), ScenarioError> {
        let links = 2 * u64::from(self.leaves) * (u64::from(self.hosts) + u64::from(self.spines));
        if links > LINKS {
            let rule = format!("so many that there are at most {LINKS} links, each direction counted");
            return Err(Fault::new(context.place, "leaves", rule, format!("{links} links")).out_of_range());
        }
        let access = both(&self.access, &context.below("access"))?;
        let fabric = both(&self.fabric, &context.below("fabric"))?;
        network.ecmp = true;
        let spines: Vec<usize> = (1..=self.spines).map(|i| network.add(&format!("spine{i}"))).collect();
        spines.iter().for_each(|&spine| network.show(spine, Hint::switch("spine", 2)));
        let mut host = 0;
        for i in 1..=self.leaves {
            let leaf = network.add(&format!("leaf{i}"));
            network.show(leaf, Hint::switch("leaf", 1));
            for &spine in &spines {
                network.join(leaf, spine, &fabric, |link| link.watch.unwrap_or(false));
            }
            for _ in 0..self.hosts {
                host += 1;
                let host = network.add(&format!("h{host}"));
                network.show(host, Hint::host("h", 0));
                network.join(host, leaf, &access, |link| link.watch.unwrap_or(false));
            }
        }
        self.failures.apply(network, context)
    }
}
