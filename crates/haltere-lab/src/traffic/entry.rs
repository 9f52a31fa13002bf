//! A traffic entry and its flows: names, ends, directions, starts and stops, the same for every kind.

use super::draft::FlowDraft;
use super::ends::{Direction, Ends, Pairs, Starts};
use super::kind::{About, TrafficKind};
use crate::error::{Fault, FaultKind, ScenarioError, refuse_if};
use crate::limits::{FLOWS, LONGEST};
use crate::topology::network::NetworkDraft;
use haltere_plan::plan::{DurationDistribution, FlowPlan};
use haltere_plan::rng::Rng;
use haltere_transport::TcpParams;
use haltere_units::outside::{Origin, Outside};
use haltere_units::{Bytes, Dur, ParamError, Rate, Time};
use std::collections::HashSet;
use std::rc::Rc;

/// A traffic entry of an experiment on its network: what a kind may ask while it makes its plan.
pub(crate) struct Entry<'a> {
    /// How long the run lasts.
    pub(crate) duration: Dur,
    /// TCP of every host, unless the entry says otherwise.
    pub(crate) hosts_tcp: &'a TcpParams,
    /// Its mechanisms are asked whether they take their parameters, with those of these languages. `None`: they were asked
    /// when the experiment was read.
    pub(crate) checks: Option<&'a Outside>,
    pub(crate) network: &'a NetworkDraft,
    pub(crate) kind: &'a dyn TrafficKind,
    /// The nodes and times of its flows.
    pub(crate) ends: &'a Ends,
    pub(crate) about: About,
    pub(crate) group: usize,
    /// Its place in the experiment, e.g. `traffic[0]`.
    pub(crate) place: String,
    /// Its name: the one given, or its kind and its place among the entries, from 1.
    pub(crate) label: String,
    /// The random seed of the run.
    pub(crate) seed: u64,
}

impl Entry<'_> {
    /// Makes a mechanism to see whether it takes its parameters, which are in the table `place`.
    pub(crate) fn ask<T>(
        &self,
        place: impl FnOnce() -> String,
        make: impl FnOnce(Origin) -> Result<T, ParamError>,
    ) -> Result<(), ScenarioError> {
        let Some(outside) = self.checks else { return Ok(()) };
        make(Origin { seed: 0, outside: outside.clone() }).map_err(|e| Fault::param(place(), e))?;
        Ok(())
    }
    pub(crate) fn check_label(&self, taken: &HashSet<String>) -> Result<(), ScenarioError> {
        let label = &self.label;
        let fault = |rule: &str| self.fault("name", rule, format!("`{label}`")).out_of_range();
        if taken.contains(label) {
            return Err(fault("another name than those of the other entries"));
        }
        if label.is_empty() || label.contains([':', '>', '#']) || label.chars().any(char::is_control) {
            return Err(fault("a name without `:`, `>` and `#`"));
        }
        Ok(())
    }

    pub(crate) fn flows(&self) -> Result<Vec<FlowDraft>, ScenarioError> {
        let (kind, ends) = (self.kind, self.ends);
        self.left_out(self.about.without)?;
        let pairs = kind.pairs(self)?;
        let count = ends.count.saturating_mul(kind.flows_of_a_pair());
        let total = pairs.len() as u64 * u64::from(count);
        refuse_if!(total > FLOWS, self.fault("count", format!("such that there are at most {FLOWS} flows"), total));
        self.check_times(total)?;
        let apps = kind.plan(self)?;
        let single = total == 1 && (ends.direction != Direction::Both || self.about.arrivals);
        // Flows that arrive take their direction from their own plan.
        let direction = if self.about.arrivals { Direction::Forward } else { ends.direction };
        let place: Rc<str> = self.place.as_str().into();
        let mut flows = Vec::with_capacity(total as usize);
        for (turn, (a, b)) in pairs.iter().flat_map(|p| (0..count).map(move |_| *p)).enumerate() {
            let copy = turn as u64 % u64::from(count) + 1;
            for (from, to) in direction.of(a, b) {
                let name = if single { self.label.clone() } else { self.name_of(from, to, copy) };
                let start = Time::ZERO + ends.start_of(turn as u64).saturating_add(self.delay_of_start(&name));
                let app = apps[turn % apps.len()].clone();
                let (group, stop, dscp) = (self.group, ends.stop.map(|stop| Time::ZERO + stop), ends.dscp.unwrap_or(0));
                let plan = FlowPlan { name, group, from, to, start, stop, dscp, app };
                flows.push(FlowDraft { plan, place: place.clone(), from_written: a, to_written: b });
            }
        }
        Ok(flows)
    }

    /// The name of one of several flows, the `copy`-th between these nodes.
    fn name_of(&self, from: usize, to: usize, copy: u64) -> String {
        let (label, nodes) = (&self.label, &self.network.nodes);
        match copy {
            1 => format!("{label}:{}>{}", nodes[from], nodes[to]),
            _ => format!("{label}:{}>{}#{copy}", nodes[from], nodes[to]),
        }
    }

    /// The random delay of the start of the flow of that name. Flows that arrive during the run draw their own
    /// times.
    fn delay_of_start(&self, name: &str) -> Dur {
        if self.about.arrivals {
            return Dur::ZERO;
        }
        let jitter = DurationDistribution::Uniform(Dur::ZERO, self.ends.jitter);
        Rng::new(self.seed, &format!("{name} start")).span(jitter)
    }

    /// The key `name` of this entry must be `rule`, but is `got`.
    pub(crate) fn fault(&self, name: &str, rule: impl Into<String>, got: impl std::fmt::Display) -> Fault {
        Fault::new(&self.place, name, rule, got)
    }

    /// Every one of so many pairs starts before the end, and before the stop.
    fn check_times(&self, pairs: u64) -> Result<(), ScenarioError> {
        let (ends, end) = (self.ends, self.duration);
        let drawn = self.about.arrivals;
        let lists = match &ends.start {
            Starts::RoundRobin(starts) if drawn => {
                let got = format!("a list of {}", starts.len());
                let rule = "one time, as flows arrive by their own process";
                return Err(self.fault("start", rule, got).out_of_range());
            }
            Starts::RoundRobin(starts) => starts.len() as u64,
            Starts::One(_) => 1,
        };
        // With a stagger the last of each place in the list is the latest.
        let last = (0..lists.min(pairs)).map(|turn| ends.start_of(pairs - 1 - turn)).max().unwrap_or_default();
        if last >= end {
            let staggered = !ends.stagger.is_zero() && ends.start_of(0) < end;
            let (name, got) = if staggered { ("stagger", ends.stagger) } else { ("start", last) };
            let rule = match staggered {
                true => format!("such that the last of {pairs} pairs starts before the end of the run at {end}"),
                false => format!("before the end of the run at {end}"),
            };
            return Err(self.fault(name, rule, got).out_of_range());
        }
        let room = end - last;
        if ends.jitter >= room && !drawn {
            let rule = format!("less than the {room} from `start` to the end of the run");
            let fault = self.fault("jitter", rule, ends.jitter);
            return Err(fault.hint("write for example `jitter = \"0s\"`").out_of_range());
        }
        if let Some(stop) = ends.stop
            && stop <= last.saturating_add(if drawn { Dur::ZERO } else { ends.jitter })
        {
            let latest = last.saturating_add(ends.jitter);
            return Err(self.fault("stop", format!("after the latest start at {latest}"), stop).out_of_range());
        }
        Ok(())
    }

    /// The nodes between which the entry's flows run: `pairs`, or `from` and `to`.
    pub(crate) fn pairs(&self) -> Result<Vec<(usize, usize)>, ScenarioError> {
        let ends = self.ends;
        match (&ends.from, &ends.to) {
            (None, None) if !self.network.pairs.is_empty() => self.numbered_pairs(),
            (Some(from), Some(to)) => {
                refuse_if!(ends.pairs.is_some(), self.fault("pairs", "left out beside `from` and `to`", "both"));
                let a = self.network.node(from, &self.place, "from")?;
                let b = self.network.node(to, &self.place, "to")?;
                refuse_if!(a == b, self.fault("to", "another node than `from`", format!("`{to}`")));
                Ok(vec![(a, b)])
            }
            (from, _) => {
                let missing = if from.is_none() { "from" } else { "to" };
                let hint = match (&ends.pairs, self.network.pairs.is_empty()) {
                    (Some(_), true) => "this topology has no `pairs`: write `from` and `to`",
                    _ => "write both `from` and `to`",
                };
                Err(self.fault(missing, "the name of a node", "nothing").hint(hint).missing())
            }
        }
    }

    /// The pairs that `pairs` numbers, from 1.
    pub(crate) fn numbered_pairs(&self) -> Result<Vec<(usize, usize)>, ScenarioError> {
        let pairs = &self.network.pairs;
        let all = pairs.len() as u64;
        let Some(Pairs::These(numbers)) = &self.ends.pairs else { return Ok(pairs.clone()) };
        if let Some((i, wrong)) = numbers.iter().enumerate().find(|(_, n)| !(1..=all).contains(&u64::from(**n))) {
            return Err(self.fault(&format!("pairs[{i}]"), format!("from 1 to {all}"), wrong).out_of_range());
        }
        if let Some((i, twice)) = numbers.iter().enumerate().find(|(i, n)| numbers[..*i].contains(n)) {
            let fault = self.fault(&format!("pairs[{i}]"), "named once", twice);
            return Err(fault.hint("`count` gives several flows for each pair").out_of_range());
        }
        Ok(numbers.iter().map(|&n| pairs[n as usize - 1]).collect())
    }

    /// A number of bytes that is given is not zero.
    pub(crate) fn some_bytes(&self, bytes: Option<Bytes>) -> Result<(), ScenarioError> {
        match bytes {
            Some(Bytes::ZERO) => {
                let fault = self.fault("bytes", "at least 1B", Bytes::ZERO);
                Err(fault.hint("leave it out for an endless flow").out_of_range())
            }
            _ => Ok(()),
        }
    }

    /// The rate of a source is not zero.
    pub(crate) fn positive_rate(&self, rate: Rate) -> Result<(), ScenarioError> {
        if rate == Rate::ZERO { Err(self.fault("rate", "above zero", rate).out_of_range()) } else { Ok(()) }
    }

    /// A source writes so many bytes at a time, at that rate: one write takes no longer than the longest time.
    pub(crate) fn writes(&self, rate: Rate, packet: Bytes) -> Result<(), ScenarioError> {
        self.positive_rate(rate)?;
        if rate.time_for(packet) <= LONGEST {
            return Ok(());
        }
        let rule = format!("so small that a write takes at most {LONGEST}, a year, at {rate}");
        Err(self.fault("packet", rule, packet).out_of_range())
    }

    /// A payload of at least one byte and at most `most`.
    pub(crate) fn payload(&self, name: &str, bytes: Bytes, most: u64) -> Result<(), ScenarioError> {
        if (1..=most).contains(&bytes.as_u64()) {
            return Ok(());
        }
        Err(self.fault(name, format!("from 1B to {most}B"), bytes).out_of_range())
    }
}

/// The default of the bytes of one write or one packet.
pub(crate) fn packet() -> Bytes {
    Bytes::new(1000)
}
