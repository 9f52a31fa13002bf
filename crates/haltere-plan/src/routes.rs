//! Which links a packet takes: the fewest, of these the least delay, of these the first in the plan.
//!
//! The laboratory computes round-trip times and finds unreachable hosts with it, and worlds send packets by it. Hosts with
//! one link are followed to the core first and paths through the core are remembered, so a dumbbell of 10,000 pairs costs
//! one search.

use crate::plan::Plan;
use crate::plan::Reroute;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use haltere_units::{Dur, Time};

/// Shortest paths over the links of a plan.
#[derive(Debug, Clone)]
pub struct Routes {
    delays: Vec<Dur>,
    /// The links that leave each node, with the node at their end.
    out: Adjacency,
    /// The links that enter each node, with the node at their start.
    into: Adjacency,
    found: BTreeMap<(usize, usize), Option<Vec<usize>>>,
    /// By node: how many links every node is away from it.
    away: BTreeMap<usize, Arc<[u32]>>,
}

/// The links at each node, with the node at their other end, in the order of the plan: one list for all nodes.
#[derive(Debug, Clone)]
struct Adjacency {
    /// Where each node's links begin, and at last where they all end.
    starts: Vec<u32>,
    links: Vec<(u32, u32)>,
}

impl Adjacency {
    /// Of so many nodes; each link is given by the node that it is for and the node at its other end.
    fn new(nodes: usize, ends: impl Iterator<Item = (usize, usize)> + Clone) -> Adjacency {
        let mut starts = vec![0; nodes + 1];
        for (node, _) in ends.clone() {
            starts[node + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let (mut next, mut links) = (starts.clone(), vec![(0, 0); starts[nodes] as usize]);
        for (link, (node, other)) in ends.enumerate() {
            links[next[node] as usize] = (link as u32, other as u32);
            next[node] += 1;
        }
        Adjacency { starts, links }
    }
    fn nodes(&self) -> usize {
        self.starts.len() - 1
    }
    /// Without these links. The others keep their indices.
    fn remove(&mut self, left_out: &[usize]) {
        let mut kept = Vec::with_capacity(self.links.len());
        for node in 0..self.nodes() {
            let own = self.starts[node] as usize..self.starts[node + 1] as usize;
            self.starts[node] = kept.len() as u32;
            kept.extend(self.links[own].iter().filter(|(link, _)| !left_out.contains(&(*link as usize))));
        }
        if let Some(end) = self.starts.last_mut() {
            *end = kept.len() as u32;
        }
        self.links = kept;
    }
    fn of(&self, node: usize) -> impl ExactSizeIterator<Item = (usize, usize)> {
        let own = self.starts[node] as usize..self.starts[node + 1] as usize;
        self.links[own].iter().map(|&(link, other)| (link as usize, other as usize))
    }
    fn only(&self, node: usize) -> Option<(usize, usize)> {
        let mut all = self.of(node);
        if all.len() == 1 { all.next() } else { None }
    }
}

impl Routes {
    /// Over these links, each given by the indices of its two nodes and its delay.
    pub fn new(nodes: usize, links: impl IntoIterator<Item = (usize, usize, Dur), IntoIter: Clone>) -> Routes {
        let links = links.into_iter();
        let out = Adjacency::new(nodes, links.clone().map(|(from, to, _)| (from, to)));
        let into = Adjacency::new(nodes, links.clone().map(|(from, to, _)| (to, from)));
        let delays = links.map(|(.., delay)| delay).collect();
        Routes { delays, out, into, found: BTreeMap::new(), away: BTreeMap::new() }
    }

    /// Over the links of a plan.
    pub fn of(plan: &Plan) -> Routes {
        Routes::new(plan.nodes.len(), plan.links.iter().map(|l| (l.from, l.to, l.delay)))
    }
    /// Over the links of a plan without these.
    pub fn without(plan: &Plan, left_out: &[usize]) -> Routes {
        Routes::of(plan).leaving_out(left_out)
    }
    fn leaving_out(mut self, left_out: &[usize]) -> Routes {
        for ends in [&mut self.out, &mut self.into] {
            ends.remove(left_out);
        }
        self
    }

    /// The [path](Self::path) from one node to another, or with a key one of several equal ones,
    /// [spread](Self::spread).
    pub fn choose(&mut self, from: usize, to: usize, key: Option<u64>) -> Option<Vec<usize>> {
        match key {
            Some(key) => self.spread(from, to, key),
            None => self.path(from, to),
        }
    }
    /// The links from one node to another, in order; `None` where there is no way. From a node to itself: no links.
    pub fn path(&mut self, from: usize, to: usize) -> Option<Vec<usize>> {
        let (mut here, mut there) = (from, to);
        let (mut head, mut tail) = (Vec::new(), Vec::new());
        // A host's only link is the only way out, and in; the bound ends a ring of such links.
        while here != there
            && head.len() <= self.out.nodes()
            && let Some((link, next)) = self.out.only(here)
        {
            head.push(link);
            here = next;
        }
        while here != there
            && tail.len() <= self.out.nodes()
            && let Some((link, before)) = self.into.only(there)
        {
            tail.push(link);
            there = before;
        }
        if here != there {
            if !self.found.contains_key(&(here, there)) {
                let path = self.search(here, there);
                self.found.insert((here, there), path);
            }
            head.extend(self.found[&(here, there)].as_ref()?);
        }
        head.extend(tail.into_iter().rev());
        Some(head)
    }

    /// A path of the fewest links from one node to another; where there are several, each node on the way chooses its
    /// next link by a hash of `key` (equal-cost multi-path). `None` where there is no way.
    pub fn spread(&mut self, from: usize, to: usize, key: u64) -> Option<Vec<usize>> {
        // Nodes with one link in have their distances from those of the node before: only routers are remembered.
        let (mut goal, mut tail) = (to, Vec::new());
        while goal != from
            && tail.len() <= self.out.nodes()
            && let Some((link, before)) = self.into.only(goal)
        {
            tail.push(link);
            goal = before;
        }
        let away = self.away(goal);
        let (mut here, mut path) = (from, Vec::new());
        while here != goal {
            let left = away[here];
            if left == u32::MAX {
                return None;
            }
            let near = || self.out.of(here).filter(|(_, next)| away[*next] == left - 1);
            let choice = mix(key ^ mix(here as u64)) % near().count() as u64;
            let (link, next) = near().nth(choice as usize)?;
            path.push(link);
            here = next;
        }
        path.extend(tail.into_iter().rev());
        Some(path)
    }

    /// How many links every node is away from `goal`; [`u32::MAX`] where there is no way.
    fn away(&mut self, goal: usize) -> Arc<[u32]> {
        if let Some(known) = self.away.get(&goal) {
            return known.clone();
        }
        let mut away = vec![u32::MAX; self.out.nodes()];
        let mut level = vec![goal];
        away[goal] = 0;
        for hops in 1.. {
            let mut further = Vec::new();
            for node in level {
                for (_, before) in self.into.of(node) {
                    if away[before] == u32::MAX {
                        away[before] = hops;
                        further.push(before);
                    }
                }
            }
            if further.is_empty() {
                break;
            }
            level = further;
        }
        let away: Arc<[u32]> = away.into();
        self.away.insert(goal, away.clone());
        away
    }

    /// Breadth first, level by level.
    fn search(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        // Of each node reached: the links to it, their delay, the last link and the node before it.
        let mut came: Vec<Option<(usize, Dur, usize, usize)>> = vec![None; self.out.nodes()];
        let mut level = vec![(from, Dur::ZERO)];
        let mut hops = 0;
        while !level.is_empty() && came[to].is_none() {
            hops += 1;
            let mut reached = Vec::new();
            for (node, so_far) in level {
                for (link, next) in self.out.of(node) {
                    let delay = so_far.saturating_add(self.delays[link]);
                    match came[next] {
                        _ if next == from => {}
                        Some((before, least, ..)) if before < hops || least <= delay => {}
                        known => {
                            came[next] = Some((hops, delay, link, node));
                            if known.is_none() {
                                reached.push(next);
                            }
                        }
                    }
                }
            }
            level = reached.into_iter().filter_map(|n| came[n].map(|(_, delay, ..)| (n, delay))).collect();
        }
        let (mut path, mut node) = (Vec::new(), to);
        while node != from {
            let (_, _, link, before) = came[node]?;
            path.push(link);
            node = before;
        }
        path.reverse();
        Some(path)
    }
}

/// The next link from each node to each other one, for worlds that forward packets from node to node.
#[derive(Debug, Clone)]
pub struct NextHops {
    /// From when on which table, in order of time: `table[node][destination]`.
    tables: Vec<(Time, Vec<Vec<Option<u32>>>)>,
}

impl NextHops {
    /// Along the paths of these routes, which change as given.
    pub fn new(routes: &Routes, reroutes: &[Reroute]) -> NextHops {
        let mut tables = vec![(Time::ZERO, next_hops(routes.clone()))];
        for reroute in reroutes {
            let mut table = next_hops(routes.clone().leaving_out(&reroute.without));
            let (_, before) = tables.last().expect("the first table");
            for (row, before) in table.iter_mut().zip(before) {
                row.iter_mut().zip(before).for_each(|(next, before)| *next = next.or(*before));
            }
            tables.push((reroute.at, table));
        }
        NextHops { tables }
    }
    /// The link that a packet at `node` takes to `to` at `now`. `None`: no link leads there.
    #[inline]
    pub fn link(&self, now: Time, node: usize, to: usize) -> Option<usize> {
        let (_, table) = self.tables.iter().rev().find(|(at, _)| *at <= now)?;
        Some((*table.get(node)?.get(to)?)? as usize)
    }
}

/// `table[node][destination]`: the first link of the path.
fn next_hops(mut routes: Routes) -> Vec<Vec<Option<u32>>> {
    let nodes = routes.out.nodes();
    let mut next = |from, to| routes.path(from, to)?.first().map(|link| *link as u32);
    (0..nodes).map(|from| (0..nodes).map(|to| next(from, to)).collect()).collect()
}

/// The output step of SplitMix64: every bit of the result depends on every bit of `z`.
fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::LinkPlan;
    use haltere_queue::QueueParams;

    #[test]
    fn flows_are_spread_over_all_paths_of_the_fewest_links() {
        // Hosts 0 and 7 at leaves 1 and 6; spines 2 to 5; and a longer way 1-8-9-6.
        let ends =
            [(0, 1), (7, 6), (1, 2), (1, 3), (1, 4), (1, 5), (2, 6), (3, 6), (4, 6), (5, 6), (1, 8), (8, 9), (9, 6)];
        let mut routes = Routes::new(10, links(&ends.map(|(a, b)| (a, b, 1))));
        let mut taken = BTreeMap::new();
        for key in 0..4000 {
            let path = routes.spread(0, 7, key).unwrap();
            assert_eq!(path.len(), 4, "{path:?}");
            assert_eq!(path, routes.spread(0, 7, key).unwrap(), "a flow keeps its path");
            *taken.entry(path).or_insert(0u32) += 1;
        }
        // A binomial law with a mean of 1000 and a deviation of 27; five of them.
        assert_eq!(taken.len(), 4);
        assert!(taken.values().all(|n| n.abs_diff(1000) < 137), "{taken:?}");
    }

    #[test]
    fn where_there_is_one_path_spreading_finds_it() {
        let mut routes = Routes::new(6, links(&[(0, 2, 1), (1, 2, 1), (2, 3, 1), (3, 4, 1), (3, 5, 1)]));
        for (from, to) in [(0, 4), (5, 1), (0, 1), (2, 4), (4, 3), (2, 3), (1, 1)] {
            assert_eq!(routes.spread(from, to, 7), routes.path(from, to), "{from} to {to}");
        }
        assert_eq!(Routes::new(4, links(&[(0, 1, 1), (2, 3, 1)])).spread(0, 3, 1), None);
    }

    fn links(ends: &[(usize, usize, u64)]) -> impl Iterator<Item = (usize, usize, Dur)> + Clone {
        ends.iter().flat_map(|&(a, b, ms)| [(a, b, Dur::from_ms(ms)), (b, a, Dur::from_ms(ms))])
    }

    #[test]
    fn hosts_are_followed_to_the_core_and_back_out() {
        let mut routes = Routes::new(4, links(&[(0, 1, 1), (1, 2, 1), (2, 3, 1)]));
        assert_eq!(routes.path(0, 3), Some(vec![0, 2, 4]));
        assert_eq!(routes.path(3, 0), Some(vec![5, 3, 1]));
        assert_eq!(routes.path(1, 1), Some(vec![]));
    }

    #[test]
    fn of_two_short_paths_the_quicker_wins_then_the_first_given() {
        let square = |first| [(0, 1, first), (0, 2, 1), (1, 3, 1), (2, 3, 1)];
        assert_eq!(Routes::new(4, links(&square(1))).path(0, 3), Some(vec![0, 4]));
        assert_eq!(Routes::new(4, links(&square(9))).path(0, 3), Some(vec![2, 6]));
    }

    #[test]
    fn fewest_links_come_before_least_delay() {
        let mut routes = Routes::new(4, links(&[(0, 1, 1), (1, 3, 1), (0, 3, 100), (3, 2, 1), (0, 2, 500)]));
        assert_eq!(routes.path(0, 3), Some(vec![4]));
    }

    #[test]
    fn hosts_of_a_dumbbell_cross_both_routers() {
        // Hosts 0, 1 at router 2; hosts 4, 5 at router 3.
        let mut routes = Routes::new(6, links(&[(0, 2, 1), (1, 2, 1), (2, 3, 1), (3, 4, 1), (3, 5, 1)]));
        assert_eq!(routes.path(0, 4), Some(vec![0, 4, 6]));
        assert_eq!(routes.path(5, 1), Some(vec![9, 5, 3]));
        assert_eq!(routes.path(0, 1), Some(vec![0, 3]), "by their own router");
        assert_eq!(routes.path(2, 4), Some(vec![4, 6]), "a router may send, too");
        assert_eq!(routes.path(4, 3), Some(vec![7]));
    }

    #[test]
    fn a_one_way_street_is_no_way_back() {
        let street = [(0, 1), (1, 2), (2, 1)].map(|(from, to)| (from, to, Dur::from_ms(1)));
        let mut routes = Routes::new(3, street);
        assert_eq!(routes.path(0, 2), Some(vec![0, 1]));
        assert_eq!(routes.path(2, 0), None);
    }

    /// A square with both directions of each side: 0-1 (links 0, 1), 0-2 (2, 3), 1-3 (4, 5), 2-3 (6, 7).
    const SQUARE: [(usize, usize, u64); 4] = [(0, 1, 1), (0, 2, 5), (1, 3, 1), (2, 3, 5)];

    #[test]
    fn routes_leave_out_links_that_failed() {
        let queue = QueueParams::default_of("drop_tail").expect("a name of the registry");
        let all =
            links(&SQUARE).map(|(from, to, delay)| LinkPlan::plain(from, to, None, delay, queue.clone())).collect();
        let plan = Plan::new(Plan::node_names(4), all, Vec::new(), Time::ZERO);
        assert_eq!(Routes::of(&plan).path(0, 3), Some(vec![0, 4]));
        assert_eq!(Routes::without(&plan, &[4, 5]).path(0, 3), Some(vec![2, 6]));
        assert_eq!(Routes::without(&plan, &[4, 5]).path(1, 3), Some(vec![1, 2, 6]));
        assert_eq!(Routes::without(&plan, &[4, 6]).path(0, 3), None);
        assert_eq!(Routes::without(&plan, &[0]).spread(0, 3, 9), Some(vec![2, 6]));
    }

    #[test]
    fn next_hops_change_with_the_routes_and_stay_where_there_is_none() {
        let ends: Vec<(usize, usize)> = links(&SQUARE).map(|(from, to, _)| (from, to)).collect();
        let ms = |ms| Time::ZERO + Dur::from_ms(ms);
        let reroute = |at, without: &[usize]| Reroute { at: ms(at), without: without.to_vec() };
        let routes = Routes::new(4, links(&SQUARE));
        let next = NextHops::new(&routes, &[reroute(10, &[4, 5]), reroute(20, &[4, 6]), reroute(30, &[])]);
        let way = |at| {
            let (mut node, mut path) = (0, Vec::new());
            while node != 3 {
                let link = next.link(ms(at), node, 3).expect("a link");
                path.push(link);
                node = ends[link].1;
            }
            path
        };
        assert_eq!([way(0), way(10), way(29), way(30)], [[0, 4], [2, 6], [2, 6], [0, 4]]);
        assert_eq!((next.link(ms(0), 3, 3), next.link(ms(0), 9, 1), next.link(ms(0), 0, 9)), (None, None, None));
    }

    #[test]
    fn islands_do_not_reach_each_other() {
        let mut routes = Routes::new(4, links(&[(0, 1, 1), (2, 3, 1)]));
        assert_eq!(routes.path(0, 3), None);
        assert_eq!(Routes::new(2, []).path(0, 1), None);
    }
}
