//! The flows of the traffic entries.

use super::at;
use super::network::Network;
use crate::scenario::Experiment;
use crate::scenario::error::{Fault, FaultKind, ScenarioError};
use crate::scenario::ftp::Ftp;
use crate::scenario::traffic::{Direction, DurationSpec, Ends, Pairs, RandomDuration, TcpSide, Traffic};
use haltere_congestion::CongestionParams;
use haltere_plan::plan::{AppPlan, DurationDistribution, FlowPlan, FtpPlan, TcpPlan, Work};
use haltere_plan::rng::Rng;
use haltere_transport::TcpParams;
use haltere_units::{Bytes, Dur, Rate};
use std::sync::Arc;

/// The most flows of one experiment: what a machine can still hold.
const MAX_FLOWS: u64 = 1_000_000;

/// A flow with what error messages need.
pub(crate) struct FlowDraft {
    pub(crate) plan: FlowPlan,
    /// The traffic entry, e.g. `traffic[0]`.
    pub(crate) place: String,
    /// The ends as written, which `direction` may have turned round.
    pub(crate) from_written: usize,
    pub(crate) to_written: usize,
}

/// All flows, in the order of the entries; within one by pair, then count, then direction.
pub(crate) fn build(experiment: &Experiment, network: &Network, seed: u64) -> Result<Vec<FlowDraft>, ScenarioError> {
    let mut flows: Vec<FlowDraft> = Vec::new();
    let mut labels: Vec<String> = Vec::new();
    for (group, traffic) in experiment.traffic.iter().enumerate() {
        let entry = Entry { experiment, network, traffic, group, place: format!("traffic[{group}]") };
        let label = entry.label(&labels)?;
        flows.extend(entry.flows(&label, seed)?);
        labels.push(label);
        if flows.len() as u64 > MAX_FLOWS {
            let fault = Fault::new("", "traffic", format!("at most {MAX_FLOWS} flows in all"), flows.len());
            return Err(fault.out_of_range());
        }
    }
    Ok(flows)
}

pub(super) struct Entry<'a> {
    experiment: &'a Experiment,
    pub(super) network: &'a Network,
    traffic: &'a Traffic,
    group: usize,
    pub(super) place: String,
}

impl Entry<'_> {
    /// The entry's own name, or its kind and its place among the entries, from 1.
    fn label(&self, taken: &[String]) -> Result<String, ScenarioError> {
        let label = match &self.traffic.ends().name {
            Some(name) => name.clone(),
            None => format!("{}{}", self.traffic.kind(), self.group + 1),
        };
        let fault = |rule: &str| Fault::new(&self.place, "name", rule, format!("`{label}`")).out_of_range();
        if taken.contains(&label) {
            return Err(fault("another name than those of the other entries"));
        }
        if label.is_empty() || label.contains([':', '>', '#']) || label.chars().any(char::is_control) {
            return Err(fault("a name without `:`, `>` and `#`"));
        }
        Ok(label)
    }

    fn flows(&self, label: &str, seed: u64) -> Result<Vec<FlowDraft>, ScenarioError> {
        let ends = self.traffic.ends();
        self.check_times(ends)?;
        let pairs = match self.traffic {
            Traffic::Multipath(multipath) => self.multipath_ends(multipath)?,
            Traffic::Poisson(_) | Traffic::Incast(_) => vec![self.source()?],
            Traffic::Permutation(_) => self.permutation(ends, label, seed)?,
            _ => self.pairs(ends)?,
        };
        let count = self.count(ends);
        let total = pairs.len() as u64 * u64::from(count);
        if total > MAX_FLOWS {
            return Err(self
                .fault("count", format!("such that there are at most {MAX_FLOWS} flows"), total)
                .out_of_range());
        }
        let apps = self.apps()?;
        let single = total == 1 && ends.direction != Direction::Both;
        let mut flows = Vec::new();
        for (turn, (a, b)) in pairs.iter().flat_map(|p| (0..count).map(move |_| *p)).enumerate() {
            let copy = turn as u64 % u64::from(count) + 1;
            let (one, other) = ([(a, b)], [(b, a)]);
            let ways: &[(usize, usize)] = match ends.direction {
                Direction::Forward => &one,
                Direction::Backward => &other,
                Direction::Both => &[(a, b), (b, a)],
            };
            for &(from, to) in ways {
                let name = match (single, copy) {
                    (true, _) => label.to_owned(),
                    (false, 1) => format!("{label}:{}>{}", self.network.nodes[from], self.network.nodes[to]),
                    (false, _) => format!("{label}:{}>{}#{copy}", self.network.nodes[from], self.network.nodes[to]),
                };
                let jitter = match self.traffic {
                    Traffic::Poisson(_) | Traffic::Incast(_) => Dur::ZERO, // the flows themselves have it
                    _ => Rng::new(seed, &format!("{name} start"))
                        .span(DurationDistribution::Uniform(Dur::ZERO, ends.jitter)),
                };
                let app = apps[turn % apps.len()].clone();
                let start = at(ends.start.saturating_add(jitter));
                let plan = FlowPlan { name, group: self.group, from, to, start, stop: ends.stop.map(at), app };
                flows.push(FlowDraft { plan, place: self.place.clone(), from_written: a, to_written: b });
            }
        }
        Ok(flows)
    }

    /// Flows for each pair.
    fn count(&self, ends: &Ends) -> u32 {
        match self.traffic {
            Traffic::Ftp(ftp) => ends.count.saturating_mul(ftp.flows()),
            _ => ends.count,
        }
    }

    pub(super) fn fault(&self, name: &str, rule: impl Into<String>, got: impl std::fmt::Display) -> Fault {
        Fault::new(&self.place, name, rule, got)
    }

    fn check_times(&self, ends: &Ends) -> Result<(), ScenarioError> {
        let end = self.experiment.duration;
        if ends.start >= end {
            return Err(self.fault("start", format!("before the end of the run at {end}"), ends.start).out_of_range());
        }
        let room = end - ends.start;
        let drawn = matches!(self.traffic, Traffic::Poisson(_) | Traffic::Incast(_));
        if ends.jitter >= room && !drawn {
            let fault =
                self.fault("jitter", format!("less than the {room} from `start` to the end of the run"), ends.jitter);
            return Err(fault.hint("write for example `jitter = \"0s\"`").out_of_range());
        }
        if let Some(stop) = ends.stop
            && stop <= ends.start.saturating_add(if drawn { Dur::ZERO } else { ends.jitter })
        {
            let latest = ends.start.saturating_add(ends.jitter);
            return Err(self.fault("stop", format!("after the latest start at {latest}"), stop).out_of_range());
        }
        Ok(())
    }

    /// The nodes between which the entry's flows run.
    fn pairs(&self, ends: &Ends) -> Result<Vec<(usize, usize)>, ScenarioError> {
        match (&ends.from, &ends.to, self.network.pairs) {
            (None, None, Some(all)) => self.numbered(ends, all),
            (Some(from), Some(to), _) => {
                if ends.pairs.is_some() {
                    let fault = self.fault("pairs", "left out beside `from` and `to`", "both");
                    return Err(fault.out_of_range());
                }
                let a = self.network.node(from, &self.place, "from")?;
                let b = self.network.node(to, &self.place, "to")?;
                if a == b {
                    return Err(self.fault("to", "another node than `from`", format!("`{to}`")).out_of_range());
                }
                Ok(vec![(a, b)])
            }
            (from, _, pairs) => {
                let missing = if from.is_none() { "from" } else { "to" };
                let rule = "the name of a node";
                let hint = match (&ends.pairs, pairs) {
                    (Some(_), None) => "`pairs` are those of a dumbbell; elsewhere write `from` and `to`",
                    _ => "write both `from` and `to`",
                };
                Err(self.fault(missing, rule, "nothing").hint(hint).missing())
            }
        }
    }

    /// The pairs of a dumbbell: node 2 is the first client, 3 the first server, and so on.
    fn numbered(&self, ends: &Ends, all: u32) -> Result<Vec<(usize, usize)>, ScenarioError> {
        let nodes = |number: u32| (2 * number as usize, 2 * number as usize + 1);
        match &ends.pairs {
            None | Some(Pairs::All) => Ok((1..=all).map(nodes).collect()),
            Some(Pairs::These(numbers)) => {
                if let Some((i, wrong)) = numbers.iter().enumerate().find(|(_, n)| **n < 1 || **n > all) {
                    return Err(self.fault(&format!("pairs[{i}]"), format!("from 1 to {all}"), wrong).out_of_range());
                }
                if let Some((i, twice)) = numbers.iter().enumerate().find(|(i, n)| numbers[..*i].contains(n)) {
                    let fault = self.fault(&format!("pairs[{i}]"), "named once", twice);
                    return Err(fault.hint("`count` gives several flows for each pair").out_of_range());
                }
                Ok(numbers.iter().copied().map(nodes).collect())
            }
        }
    }

    /// What the entry's flows do: one for each congestion control that is dealt out.
    fn apps(&self) -> Result<Vec<AppPlan>, ScenarioError> {
        match self.traffic {
            Traffic::Bulk(bulk) => {
                self.some_bytes(bulk.bytes)?;
                self.tcp(&bulk.side, |tcp| AppPlan::Bulk { tcp, bytes: bulk.bytes })
            }
            Traffic::OnOff(on_off) => {
                self.rate(on_off.rate)?;
                self.payload("packet", on_off.packet, u64::from(u32::MAX))?;
                let (on, off) = (self.law("on", &on_off.on)?, self.law("off", &on_off.off)?);
                if on == DurationDistribution::Constant(Dur::ZERO) {
                    return Err(self.fault("on", "above zero", Dur::ZERO).out_of_range());
                }
                let (rate, chunk) = (on_off.rate, on_off.packet);
                self.tcp(&on_off.side, |tcp| AppPlan::OnOff { tcp, rate, chunk, on, off })
            }
            Traffic::Cbr(cbr) => {
                self.rate(cbr.rate)?;
                // The largest UDP payload: 65535 less 20 bytes of IPv4 and 8 of UDP.
                self.payload("packet", cbr.packet, 65_507)?;
                Ok(vec![AppPlan::Cbr { rate: cbr.rate, packet: cbr.packet, ecn: cbr.ecn }])
            }
            Traffic::Ping(ping) => {
                if ping.interval.is_zero() {
                    return Err(self.fault("interval", "above zero", ping.interval).out_of_range());
                }
                if ping.payload > Bytes::new(65_507) {
                    return Err(self.fault("payload", "at most 65507B", ping.payload).out_of_range());
                }
                Ok(vec![AppPlan::Ping { interval: ping.interval, payload: ping.payload, ecn: ping.ecn }])
            }
            Traffic::Ftp(ftp) => self.ftp(ftp),
            Traffic::Multipath(multipath) => self.multipath(multipath),
            Traffic::Poisson(poisson) => self.poisson(poisson),
            Traffic::Incast(incast) => self.incast(incast),
            Traffic::Permutation(t) => {
                self.some_bytes(t.bytes)?;
                self.tcp(&t.side, |tcp| AppPlan::Bulk { tcp, bytes: t.bytes })
            }
        }
    }

    pub(super) fn some_bytes(&self, bytes: Option<Bytes>) -> Result<(), ScenarioError> {
        match bytes {
            Some(Bytes::ZERO) => {
                let fault = self.fault("bytes", "at least 1B", Bytes::ZERO);
                Err(fault.hint("leave it out for an endless flow").out_of_range())
            }
            _ => Ok(()),
        }
    }

    /// One for each file, or one for all tasks that draw theirs; the congestion controls are dealt out over them.
    fn ftp(&self, ftp: &Ftp) -> Result<Vec<AppPlan>, ScenarioError> {
        if let Some(i) = ftp.files.iter().position(|bytes| *bytes == Bytes::ZERO) {
            return Err(self.fault(&format!("files[{i}]"), "at least 1B", Bytes::ZERO).out_of_range());
        }
        let tcp = self.tcp(&ftp.side, |tcp| tcp)?;
        let plan = |tcp: &TcpPlan, work| AppPlan::Ftp(FtpPlan { tcp: tcp.clone(), work, short: ftp.short });
        if ftp.tasks.is_some() {
            let files: Arc<[Bytes]> = ftp.files.as_slice().into();
            return Ok(tcp.iter().map(|tcp| plan(tcp, Work::Loop(files.clone()))).collect());
        }
        let dealt = ftp.files.iter().zip(tcp.iter().cycle());
        Ok(dealt.map(|(bytes, tcp)| plan(tcp, Work::One(*bytes))).collect())
    }

    fn rate(&self, rate: Rate) -> Result<(), ScenarioError> {
        if rate == Rate::ZERO { Err(self.fault("rate", "above zero", rate).out_of_range()) } else { Ok(()) }
    }

    fn payload(&self, name: &str, bytes: Bytes, most: u64) -> Result<(), ScenarioError> {
        if (1..=most).contains(&bytes.as_u64()) {
            return Ok(());
        }
        Err(self.fault(name, format!("from 1B to {most}B"), bytes).out_of_range())
    }

    pub(super) fn tcp<T>(&self, side: &TcpSide, app: impl Fn(TcpPlan) -> T) -> Result<Vec<T>, ScenarioError> {
        let bug = |e| self.fault("tcp", "what the schema says", e).hint("this is a bug of Haltere").bug();
        let mut base = self.experiment.tcp.clone();
        base.ecn = side.ecn.unwrap_or(base.ecn);
        let sender = side.tcp.apply(&base).map_err(bug)?;
        let receiver = side.receiver.apply(&sender).map_err(bug)?;
        let controls = side.congestion.all();
        for (i, control) in controls.iter().enumerate() {
            let name = if controls.len() == 1 { "congestion".into() } else { format!("congestion[{i}]") };
            self.check_tcp(side, &sender, control, &name)?;
        }
        self.check_tcp(side, &receiver, &controls[0], "congestion")?;
        let (sender, receiver) = (Arc::new(sender), Arc::new(receiver));
        let plan = |c: &CongestionParams| TcpPlan {
            congestion: Arc::new(c.clone()),
            sender: sender.clone(),
            receiver: receiver.clone(),
        };
        Ok(controls.iter().map(|c| app(plan(c))).collect())
    }

    /// Whether the control and the endpoint take these parameters.
    fn check_tcp(
        &self,
        side: &TcpSide,
        tcp: &TcpParams,
        control: &CongestionParams,
        name: &str,
    ) -> Result<(), ScenarioError> {
        super::verify::tcp(tcp).map_err(|e| {
            let place = if side.receiver.has(e.name) {
                format!("{}.receiver", self.place)
            } else if side.tcp.has(e.name) {
                format!("{}.tcp", self.place)
            } else {
                "tcp".into()
            };
            Fault::param(place, e).out_of_range()
        })?;
        super::verify::control(control, tcp)
            .map_err(|e| Fault::param(format!("{}.{name}", self.place), e).out_of_range())
    }

    fn law(&self, name: &str, law: &DurationSpec) -> Result<DurationDistribution, ScenarioError> {
        let drawn = match law {
            DurationSpec::Constant(span) => return Ok(DurationDistribution::Constant(*span)),
            DurationSpec::RandomDuration(drawn) => drawn,
        };
        let fault = |key: &str, rule: &str, got: String| {
            Err(Fault::new(format!("{}.{name}", self.place), key, rule, got).out_of_range())
        };
        match drawn {
            RandomDuration::Exponential(mean) if mean.is_zero() => fault("exponential", "above zero", mean.to_string()),
            RandomDuration::Exponential(mean) => Ok(DurationDistribution::Exponential(*mean)),
            RandomDuration::Uniform([low, high]) if low >= high => {
                fault("uniform", "the smaller span and then the larger", format!("{low} and {high}"))
            }
            RandomDuration::Uniform([low, high]) => Ok(DurationDistribution::Uniform(*low, *high)),
            RandomDuration::Pareto(pareto) if pareto.mean.is_zero() => {
                fault("pareto", "a law with a mean above zero", "0s".into())
            }
            RandomDuration::Pareto(pareto) if pareto.shape.is_nan() || pareto.shape <= 1.0 => {
                fault("pareto", "a law with a shape above 1, so that the mean exists", pareto.shape.to_string())
            }
            RandomDuration::Pareto(pareto) => Ok(DurationDistribution::Pareto(pareto.mean, pareto.shape)),
        }
    }
}
