//! Paths that change during a run.
//!
//! A plan says when its routes change, so every path of a flow is known when the run is built. The header of a flow
//! whose path changes does not name a place in the list of paths but an entry here, which has the start of its path in
//! each epoch. The first hop of a packet does not find such a place in the list, looks here, and goes on from there. A
//! packet keeps the path with which it was sent.
//!
//! Other packets pay nothing: what tells the two apart is the check of the index that every packet needs.

use crate::net::fabric::Fabric;
use haltere_plan::{Plan, Routes};
use haltere_units::Time;
use std::collections::BTreeMap;

/// Set in a cursor that is the number of an entry here. The list of paths is never as long.
const DETOUR: u32 = 1 << 31;

/// The paths that change, and how.
#[derive(Debug, Default)]
pub(crate) struct Detours {
    /// The later epochs: when each begins, and its routes.
    epochs: Vec<(Time, Routes)>,
    /// Starts of a path: one for each epoch, the first included.
    starts: Vec<Box<[u32]>>,
    /// The entries by their starts.
    known: BTreeMap<Box<[u32]>, u32>,
    /// The starts of the paths of later epochs.
    paths: BTreeMap<Vec<usize>, u32>,
}

impl Detours {
    /// The changes of the routes of that plan.
    pub fn new(plan: &Plan) -> Detours {
        let epochs = plan.reroutes.iter().map(|change| (change.at, Routes::without(plan, &change.without)));
        Detours { epochs: epochs.collect(), ..Detours::default() }
    }
    /// The same changes over more nodes and links.
    pub fn renew(&mut self, plan: &Plan) {
        self.epochs = Detours::new(plan).epochs;
    }
    /// The list of paths was cut off there.
    pub fn forget_from(&mut self, end: u32) {
        self.paths.retain(|_, start| *start < end);
        self.known.retain(|starts, _| starts.iter().all(|start| *start < end));
    }
    /// The number of the entry of those starts, as a cursor.
    fn entry(&mut self, starts: Vec<u32>) -> u32 {
        let starts = starts.into_boxed_slice();
        if let Some(&known) = self.known.get(&starts) {
            return known;
        }
        let number = DETOUR | self.starts.len() as u32;
        self.starts.push(starts.clone());
        self.known.insert(starts, number);
        number
    }
}

impl Fabric {
    /// The cursor with which packets from one node to another begin, whose path until the routes change begins at
    /// `start`. `key`: the hash that chooses one of several equal paths, if the plan spreads flows over them.
    pub fn with_detours(&mut self, (from, to): (u32, u32), key: Option<u64>, start: u32) -> u32 {
        if self.detours.epochs.is_empty() {
            return start;
        }
        let mut starts = vec![start];
        let mut epochs = core::mem::take(&mut self.detours.epochs);
        for (_, routes) in &mut epochs {
            let path = routes.choose(from as usize, to as usize, key);
            let before = starts[starts.len() - 1];
            starts.push(path.map_or(before, |path| self.later_path(path)));
        }
        self.detours.epochs = epochs;
        let is_same = starts.iter().all(|later| self.path_at(*later) == self.path_at(start));
        if is_same { start } else { self.detours.entry(starts) }
    }
    /// The start of a path of a later epoch.
    fn later_path(&mut self, path: Vec<usize>) -> u32 {
        if let Some(&known) = self.detours.paths.get(&path) {
            return known;
        }
        let start = self.add_path(&path);
        self.detours.paths.insert(path, start);
        start
    }
    /// The links of the path that begins there, with its end.
    fn path_at(&self, start: u32) -> &[u32] {
        let rest = &self.paths[start as usize..];
        let end = rest.iter().position(|link| *link == super::fabric::DELIVER).unwrap_or(rest.len());
        &rest[..end]
    }
    /// The place in the list of paths from which a packet with that cursor goes on now.
    pub fn resolve(&self, cursor: u32) -> u32 {
        if cursor & DETOUR == 0 {
            return cursor;
        }
        let epoch = self.detours.epochs.partition_point(|(at, _)| *at <= self.now);
        self.detours.starts[(cursor & !DETOUR) as usize][epoch]
    }
}

#[cfg(test)]
mod tests {
    use haltere_lab::Scenario;
    use haltere_plan::Record;
    use haltere_units::Time;

    /// A square: from a to z over the upper link or over the longer lower path.
    const SQUARE: &str = r#"
        duration = "10s"
        [topology.graph]
        nodes = ["a", "l", "u", "v", "r", "z"]
        links = [
            { from = "a", to = "l", rate = "100Mbit", delay = "1ms" },
            { from = "l", to = "u", rate = "100Mbit", delay = "5ms" },
            { from = "u", to = "r", rate = "100Mbit", delay = "5ms" },
            { from = "l", to = "v", rate = "100Mbit", delay = "20ms" },
            { from = "v", to = "r", rate = "100Mbit", delay = "20ms" },
            { from = "r", to = "z", rate = "100Mbit", delay = "1ms" },
        ]
        fail = [{ from = "l", to = "u", at = "3s", until = "6s" }]
        REROUTE
        [[traffic]]
        kind = "ping"
        from = "a"
        to = "z"
        interval = "100ms"
        jitter = "0s"
        payload = "56B"
    "#;

    fn run(text: &str) -> Record {
        let plan = Scenario::parse(text, "test.toml").and_then(|one| one.plan(1)).expect("the experiment is right");
        crate::run(&plan, &Default::default()).expect("it runs")
    }

    #[test]
    fn pings_are_lost_until_the_routes_change_and_then_take_longer() {
        let record = run(&SQUARE.replace("REROUTE", "reroute = \"1s\""));
        // Round trips: 24 ms above and 84 ms below, and the requests and replies on the lines.
        let rtts: Vec<(u64, u64)> =
            record.pings.iter().map(|ping| (ping.at.as_ns() / 1_000_000, ping.rtt.as_ns() / 1_000_000)).collect();
        let expected: Vec<(u64, u64)> = (0..100)
            .map(|i| 100 * i)
            .filter(|ms| !(3000..4000).contains(ms))
            .map(|ms| (ms, if (4000..7000).contains(&ms) { 84 } else { 24 }))
            .collect();
        assert_eq!(rtts, expected);
    }
    #[test]
    fn without_a_change_of_the_routes_the_link_loses_all_until_its_end() {
        let record = run(&SQUARE.replace("REROUTE", ""));
        let lost = record.pings.iter().filter(|ping| {
            let at = ping.at;
            Time::from_ns(3_000_000_000) <= at && at < Time::from_ns(6_000_000_000)
        });
        assert_eq!((record.pings.len(), lost.count()), (70, 0));
    }
    #[test]
    fn a_bulk_flow_goes_on_over_the_other_path_and_comes_back() {
        let bulk = SQUARE.replace("kind = \"ping\"", "kind = \"bulk\"").replace("interval = \"100ms\"", "");
        let record = run(&bulk.replace("payload = \"56B\"", "").replace("REROUTE", "reroute = \"200ms\""));
        // Links in the order of the file, both directions: l>u is 2, l>v is 6.
        let (upper, lower) = (&record.links[2].total, &record.links[6].total);
        assert!(upper.lost > 0 && lower.lost == 0, "{upper:?}");
        assert!(upper.sent > 10_000 && lower.sent > 5_000, "{} and {}", upper.sent, lower.sent);
    }
    #[test]
    fn flows_that_arrive_are_rerouted() {
        let text = r#"
            duration = "4s"
            [topology.leaf_spine]
            leaves = 2
            spines = 2
            hosts = 2
            access = { rate = "1Gbit", delay = "5us" }
            fabric = { rate = "1Gbit", delay = "5us" }
            fail = [{ from = "spine1", to = "leaf1", at = "1s", until = "3600s" }]
            reroute = "1ms"
            [[traffic]]
            kind = "poisson"
            sizes = "web_search"
            load = 0.1
        "#;
        let [failing, whole] = [run(text), run(&text.replace("3600s", "1000001us"))].map(|record| {
            // The links of leaf1 to both spines come first, both directions of each.
            [&record.links[0].total, &record.links[2].total].map(|link| (link.sent, link.lost))
        });
        assert!(failing[0].0 * 2 < failing[1].0 && failing[0].0 > 1000, "{failing:?}");
        assert!(whole[0].0 * 2 > whole[1].0, "{whole:?}");
        assert!(failing[1].1 == 0 && failing[0].1 * 100 < failing[0].0, "{failing:?}");
    }
}
