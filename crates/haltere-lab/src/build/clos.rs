//! Leaf and spine, and the fat tree.

use super::{Network, both};
use crate::scenario::error::{Fault, FaultKind, ScenarioError};
use crate::scenario::topology::{FatTree, LeafSpine};

/// The most links of one topology, both directions together: what a machine can still hold.
const MOST_LINKS: u64 = 4_000_000;

impl Network {
    pub(super) fn leaf_spine(&mut self, t: &LeafSpine) -> Result<(), ScenarioError> {
        const PATH: &str = "topology.leaf_spine";
        few_enough(PATH, 2 * u64::from(t.leaves) * (u64::from(t.hosts) + u64::from(t.spines)))?;
        let access = both(&t.access, &format!("{PATH}.access"))?;
        let fabric = both(&t.fabric, &format!("{PATH}.fabric"))?;
        self.ecmp = true;
        let spines: Vec<usize> = (1..=t.spines).map(|i| self.add(&format!("spine{i}"))).collect();
        let mut host = 0;
        for i in 1..=t.leaves {
            let leaf = self.add(&format!("leaf{i}"));
            for &spine in &spines {
                self.join(leaf, spine, &fabric, |link| link.watch.unwrap_or(false));
            }
            for _ in 0..t.hosts {
                host += 1;
                let host = self.add(&format!("h{host}"));
                self.join(host, leaf, &access, |link| link.watch.unwrap_or(false));
            }
        }
        Ok(())
    }

    pub(super) fn fat_tree(&mut self, t: &FatTree) -> Result<(), ScenarioError> {
        const PATH: &str = "topology.fat_tree";
        if !t.k.is_multiple_of(2) {
            let fault = Fault::new(PATH, "k", "an even number from 2 to 64", t.k);
            return Err(fault.hint("half of a switch's ports lead up").out_of_range());
        }
        let half = t.k as usize / 2;
        let access = both(&t.access, &format!("{PATH}.access"))?;
        let fabric = both(&t.fabric, &format!("{PATH}.fabric"))?;
        self.ecmp = true;
        let cores: Vec<usize> = (1..=half * half).map(|i| self.add(&format!("core{i}"))).collect();
        let mut host = 0;
        for pod in 1..=t.k {
            let aggregates: Vec<usize> = (1..=half).map(|i| self.add(&format!("agg{pod}.{i}"))).collect();
            for (i, &aggregate) in aggregates.iter().enumerate() {
                // The i-th switch of every pod leads to the i-th group of cores.
                for &core in &cores[i * half..(i + 1) * half] {
                    self.join(aggregate, core, &fabric, |link| link.watch.unwrap_or(false));
                }
            }
            for i in 1..=half {
                let edge = self.add(&format!("edge{pod}.{i}"));
                for &aggregate in &aggregates {
                    self.join(edge, aggregate, &fabric, |link| link.watch.unwrap_or(false));
                }
                for _ in 0..half {
                    host += 1;
                    let host = self.add(&format!("h{host}"));
                    self.join(host, edge, &access, |link| link.watch.unwrap_or(false));
                }
            }
        }
        Ok(())
    }
}

fn few_enough(path: &str, links: u64) -> Result<(), ScenarioError> {
    if links <= MOST_LINKS {
        return Ok(());
    }
    let rule = format!("so many that there are at most {MOST_LINKS} links, each direction counted");
    Err(Fault::new(path, "leaves", rule, format!("{links} links")).out_of_range())
}
