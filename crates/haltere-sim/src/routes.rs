//! Ways through the network, found once at the start.
//! Source: breadth-first search backwards from the destination. Deviations: none.
//! Model: fewest links first, then least delay, then the link that stands first in the plan. A packet carries its place
//! in a list of link indices, so a router only reads the next number.
//! Cost: one search for each node to which a destination is attached: a node with a single neighbour cannot be passed
//! through, so hosts at the edge share their router's table.

use haltere_lab::Plan;
use haltere_units::Dur;
use std::collections::BTreeMap;

/// At the end of a path.
pub(crate) const DELIVER: u32 = u32::MAX;

/// Finds ways through the graph of a plan.
#[derive(Debug)]
pub(crate) struct Routes<'a> {
    plan: &'a Plan,
    /// Links that enter each node.
    into: Vec<Vec<u32>>,
    /// Links that leave each node.
    out: Vec<Vec<u32>>,
    /// The only neighbour of a node that has one only.
    only_neighbour: Vec<Option<u32>>,
    /// For each destination searched: the next link from each node.
    tables: BTreeMap<u32, Vec<u32>>,
}

impl<'a> Routes<'a> {
    pub fn new(plan: &'a Plan) -> Routes<'a> {
        let n = plan.nodes.len();
        let (mut into, mut out) = (vec![Vec::new(); n], vec![Vec::new(); n]);
        let mut neighbours: Vec<Option<Option<u32>>> = vec![None; n];
        let mut meet = |node: usize, other: usize| {
            let other = other as u32;
            neighbours[node] = match neighbours[node] {
                None => Some(Some(other)),
                Some(Some(same)) if same == other => Some(Some(same)),
                Some(_) => Some(None),
            };
        };
        for (i, link) in plan.links.iter().enumerate() {
            into[link.to].push(i as u32);
            out[link.from].push(i as u32);
            meet(link.from, link.to);
            meet(link.to, link.from);
        }
        let only_neighbour = neighbours.into_iter().map(Option::flatten).collect();
        Routes { plan, into, out, only_neighbour, tables: BTreeMap::new() }
    }
    /// Appends the links from `from` to `to` to `path`. False where there is no way.
    pub fn append(&mut self, from: usize, to: usize, path: &mut Vec<u32>) -> bool {
        let (mut at, to) = (from as u32, to as u32);
        let start = path.len();
        while at != to {
            match self.next_link(at, to) {
                // Only the first and the last node may have a single neighbour.
                Some(_) if at != from as u32 && self.is_dead_end(at, to) => {
                    path.truncate(start);
                    return false;
                }
                Some(link) => {
                    path.push(link);
                    at = self.plan.links[link as usize].to as u32;
                }
                None => {
                    path.truncate(start);
                    return false;
                }
            }
        }
        true
    }
    fn next_link(&mut self, at: u32, to: u32) -> Option<u32> {
        let gate = self.only_neighbour[to as usize];
        if gate == Some(at) {
            return self.direct(at, to);
        }
        if let Some(neighbour) = self.only_neighbour[at as usize] {
            return self.direct(at, neighbour);
        }
        let target = gate.unwrap_or(to);
        let next = self.table(target)[at as usize];
        (next != DELIVER).then_some(next)
    }
    /// True where the only way from `at` leads back, and not to `to`.
    fn is_dead_end(&self, at: u32, to: u32) -> bool {
        self.only_neighbour[at as usize].is_some_and(|neighbour| neighbour != to)
    }
    /// The best link between two neighbours.
    fn direct(&self, from: u32, to: u32) -> Option<u32> {
        let links = self.out[from as usize].iter().filter(|l| self.plan.links[**l as usize].to == to as usize);
        links.min_by_key(|l| (self.plan.links[**l as usize].delay, **l)).copied()
    }
    fn table(&mut self, to: u32) -> &[u32] {
        if !self.tables.contains_key(&to) {
            let table = self.search(to);
            self.tables.insert(to, table);
        }
        &self.tables[&to]
    }
    /// Breadth first from `to` backwards: the next link of every node that can be passed through.
    fn search(&self, to: u32) -> Vec<u32> {
        let n = self.plan.nodes.len();
        let mut best: Vec<(u32, Dur)> = vec![(u32::MAX, Dur::MAX); n];
        let mut next = vec![DELIVER; n];
        best[to as usize] = (0, Dur::ZERO);
        let mut level = vec![to];
        let mut hops = 0;
        while !level.is_empty() {
            hops += 1;
            let mut following = Vec::new();
            for &node in &level {
                for &link in &self.into[node as usize] {
                    let plan = &self.plan.links[link as usize];
                    let cost = (hops, best[node as usize].1.saturating_add(plan.delay));
                    let from = plan.from;
                    if self.only_neighbour[from].is_some() || (cost, link) >= (best[from], next[from]) {
                        continue;
                    }
                    if best[from].0 == u32::MAX {
                        following.push(from as u32);
                    }
                    (best[from], next[from]) = (cost, link);
                }
            }
            level = following;
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_lab::plan::{LinkPlan, Measure};
    use haltere_queue::QueueParams;
    use haltere_units::{Prob, Time};

    fn plan(nodes: usize, links: &[(usize, usize, u64)]) -> Plan {
        let queue = QueueParams::default_of("drop_tail").expect("in the registry");
        let link = |&(from, to, ms): &(usize, usize, u64)| LinkPlan {
            name: format!("{from}>{to}"),
            from,
            to,
            rate: None,
            delay: Dur::from_ms(ms),
            jitter: Dur::ZERO,
            loss: Prob::ZERO,
            queue: queue.clone(),
            ring: None,
            handover_at_start: false,
            burst: haltere_units::Bytes::ZERO,
            mpu: haltere_units::Bytes::ZERO,
            watched: false,
            rtt: None,
        };
        Plan {
            seed: 0,
            end: Time::ZERO,
            warmup: Time::ZERO,
            framing: 0,
            nodes: (0..nodes).map(|i| i.to_string()).collect(),
            links: links.iter().map(link).collect(),
            flows: Vec::new(),
            measure: Measure::default(),
        }
    }
    fn path(plan: &Plan, from: usize, to: usize) -> Option<Vec<u32>> {
        let mut path = Vec::new();
        Routes::new(plan).append(from, to, &mut path).then_some(path)
    }

    #[test]
    fn two_hosts_on_one_wire_reach_each_other() {
        let plan = plan(2, &[(0, 1, 1), (1, 0, 1)]);
        assert_eq!(path(&plan, 0, 1), Some(vec![0]));
        assert_eq!(path(&plan, 1, 0), Some(vec![1]));
    }
    #[test]
    fn fewest_links_come_before_least_delay() {
        // A square 0-1-3, 0-2-3 with a slow diagonal 0-3.
        let plan = plan(4, &[(0, 1, 1), (1, 3, 1), (0, 2, 1), (2, 3, 1), (0, 3, 100), (3, 0, 100)]);
        assert_eq!(path(&plan, 0, 3), Some(vec![4]));
    }
    #[test]
    fn among_equal_hops_the_least_delay_wins_then_the_first_link() {
        let slow_first = plan(4, &[(0, 1, 5), (1, 3, 1), (0, 2, 1), (2, 3, 1)]);
        assert_eq!(path(&slow_first, 0, 3), Some(vec![2, 3]));
        let alike = plan(4, &[(0, 2, 1), (2, 3, 1), (0, 1, 1), (1, 3, 1)]);
        assert_eq!(path(&alike, 0, 3), Some(vec![0, 1]));
    }
    #[test]
    fn hosts_of_a_dumbbell_cross_both_routers() {
        // Hosts 0, 1 at router 2; hosts 4, 5 at router 3.
        let pairs = [(0, 2), (1, 2), (2, 3), (3, 4), (3, 5)];
        let links: Vec<_> = pairs.iter().flat_map(|&(a, b)| [(a, b, 1), (b, a, 1)]).collect();
        let plan = plan(6, &links);
        assert_eq!(path(&plan, 0, 4), Some(vec![0, 4, 6]));
        assert_eq!(path(&plan, 5, 1), Some(vec![9, 5, 3]));
        assert_eq!(path(&plan, 0, 1), Some(vec![0, 3]), "by their own router");
        assert_eq!(path(&plan, 2, 4), Some(vec![4, 6]), "a router may send, too");
        assert_eq!(path(&plan, 4, 3), Some(vec![7]));
    }
    #[test]
    fn a_one_way_street_is_no_way_back() {
        let plan = plan(3, &[(0, 1, 1), (1, 2, 1), (2, 1, 1)]);
        assert_eq!(path(&plan, 0, 2), Some(vec![0, 1]));
        assert_eq!(path(&plan, 2, 0), None);
    }
    #[test]
    fn a_node_without_links_is_not_reached() {
        let plan = plan(3, &[(0, 1, 1), (1, 0, 1)]);
        assert_eq!(path(&plan, 0, 2), None);
        assert_eq!(path(&plan, 2, 0), None);
    }
}
