//! The second reading: the files side by side in order of time, the chosen flows through the correlators.

use super::{Chosen, DelaySource, Fault, Options, Pair, Passed, Report, Series, SideBySide, Told};
use crate::error::CaptureError;
use crate::packet::{Tcp, reversed};
use crate::samples::Track;
use haltere_queue::FlowKey;
use haltere_transport::multipath::correlation::{Correlator, CorrelatorParams, Observation, PathCorrelator};
use haltere_units::{Dur, Time};
use std::collections::HashMap;
use std::io::Read;

/// Added to one-way delays, whose zero is anywhere: a correlator takes no negative ones.
const SHIFT_NS: f64 = 1e15;
/// Weight of a new measurement in the smoothed one (RFC 6298).
const ALPHA: f64 = 1.0 / 8.0;
/// The most comparisons of two flows: one packet with a wrong time may lie centuries away, and a method may have steps
/// of microseconds. Sixteen hours of eight flows at steps of 350 ms have as many. Each takes a microsecond and,
/// in the log, 48 bytes.
const COMPARISONS: u64 = 5_000_000;
/// Points in a flow's series.
const POINTS: u64 = 1500;

/// One method at work.
struct Method {
    correlator: Correlator,
    /// It gets one sample a step, not each measurement.
    stepped: bool,
    /// What it says of a flow counts this long after the flow's first segment, in ns.
    settle_ns: u64,
}

impl Method {
    fn new(params: &CorrelatorParams, every: Dur) -> Method {
        let correlator = Correlator::new(params);
        let stepped = every != Dur::ZERO && correlator.pairs_by_order();
        Method { stepped, settle_ns: correlator.settling(every).as_ns(), correlator }
    }
}

/// A flow on its way through the captures.
struct Followed {
    chosen: Chosen,
    track: Track,
    smoothed: Option<f64>,
    /// Sum and number of the measurements of this step.
    step: (f64, u64),
    last: f64,
    series: Series,
}

struct Follow {
    flows: Vec<Followed>,
    index: HashMap<(usize, FlowKey), usize>,
    methods: Vec<Method>,
    zero_ns: u64,
    every_ns: u64,
    next_step: u64,
    next_point: u64,
    point_ns: u64,
    /// Nothing is due after it.
    last_ns: u64,
    /// Comparisons of two flows, and steps, so far.
    compared: u64,
    log: Vec<Told>,
}

/// Follows the chosen flows; flows, counts and duration of the report are the caller's.
pub(super) fn follow<R: Read>(
    mut files: SideBySide<'_, R>,
    captures: &[usize],
    options: &Options,
    chosen: &[Chosen],
) -> Result<Report, Fault> {
    let mut follow = Follow::new(options, chosen).map_err(|error| (0, error))?;
    while let Some(Passed { at_ns, file, flow, tcp, .. }) = files.next_record()? {
        follow.advance(at_ns.min(follow.last_ns)).map_err(|error| (0, error))?;
        follow.take(at_ns, captures[file], flow, &tcp);
    }
    Ok(follow.report())
}

impl Follow {
    fn new(options: &Options, chosen: &[Chosen]) -> Result<Follow, CaptureError> {
        let zero_ns = chosen.iter().map(|flow| flow.from_ns).min().unwrap_or(0);
        let end_ns = chosen.iter().map(|flow| flow.to_ns).max().unwrap_or(0);
        let every_ns = options.every.as_ns();
        let flows = chosen.iter().map(|chosen| Followed {
            chosen: chosen.clone(),
            track: Track::default(),
            smoothed: None,
            step: (0.0, 0),
            last: 0.0,
            series: Series::default(),
        });
        let methods: Vec<Method> = options.methods.iter().map(|params| Method::new(params, options.every)).collect();
        let span = Dur::from_ns(end_ns - zero_ns);
        Ok(Follow {
            flows: flows.collect(),
            index: chosen.iter().enumerate().map(|(i, flow)| ((flow.capture, flow.key), i)).collect(),
            methods,
            zero_ns,
            every_ns,
            next_step: if every_ns == 0 { u64::MAX } else { every_ns },
            next_point: 0,
            point_ns: (span.as_ns() / POINTS).max(1_000_000),
            last_ns: end_ns.saturating_add(3_600_000_000_000),
            compared: 0,
            log: vec![],
        })
    }
    /// What is due before `at_ns`: steps, points of the series, correlations.
    fn advance(&mut self, at_ns: u64) -> Result<(), CaptureError> {
        let Some(until) = at_ns.checked_sub(self.zero_ns) else { return Ok(()) };
        loop {
            let due = self.methods.iter().map(|method| method.correlator.due().as_ns()).min().unwrap_or(u64::MAX);
            let next = self.next_step.min(self.next_point).min(due);
            if next > until {
                return Ok(());
            }
            self.compared += 1;
            if self.compared > COMPARISONS {
                let (flows, at) = (self.flows.len(), Dur::from_ns(next));
                let text = format!(
                    "captures must need at most {COMPARISONS} comparisons of two flows, got more in the first {at} of {flows} flows; \
                     are all times right? Otherwise follow fewer flows or use longer steps"
                );
                return Err(CaptureError::Nothing(text));
            }
            if next == self.next_step {
                self.step(next);
                self.next_step += self.every_ns;
            }
            if next == self.next_point {
                self.point(next);
                self.next_point += self.point_ns;
            }
            self.relate(next);
        }
    }
    fn under_way(&self, flow: usize, at: u64) -> bool {
        let Chosen { from_ns, to_ns, .. } = self.flows[flow].chosen;
        (from_ns..=to_ns).contains(&(at + self.zero_ns))
    }
    /// Gives the stepped methods what each flow measured in the step that ends at `at`; where it measured nothing, the
    /// last again.
    fn step(&mut self, at: u64) {
        for i in 0..self.flows.len() {
            let Some(smoothed) = self.flows[i].smoothed.filter(|_| self.under_way(i, at)) else { continue };
            let flow = &mut self.flows[i];
            if flow.step.1 > 0 {
                flow.last = flow.step.0 / flow.step.1 as f64;
                flow.step = (0.0, 0);
            }
            let delay = flow.last;
            for method in self.methods.iter_mut().filter(|method| method.stepped) {
                observe(method, at, i, smoothed, delay, (0, 0));
            }
        }
    }
    fn point(&mut self, at: u64) {
        for i in 0..self.flows.len() {
            let Some(smoothed) = self.flows[i].smoothed.filter(|_| self.under_way(i, at)) else { continue };
            let series = &mut self.flows[i].series;
            series.at_s.push(at as f64 * 1e-9);
            series.delay_ms.push(smoothed * 1e-6);
        }
    }
    fn relate(&mut self, at: u64) {
        let paths = self.flows.len();
        for m in 0..self.methods.len() {
            let method = &mut self.methods[m];
            if method.correlator.due().as_ns() > at {
                continue;
            }
            let relations = method.correlator.relate(Time::from_ns(at), paths);
            self.compared += (paths * paths.saturating_sub(1) / 2) as u64;
            let settle = method.settle_ns;
            let has_coefficient = method.correlator.has_coefficient();
            for b in 1..paths {
                for a in 0..b {
                    let relation = relations.get(a, b);
                    let begun = self.flows[a].chosen.from_ns.max(self.flows[b].chosen.from_ns) - self.zero_ns;
                    let both = self.under_way(a, at) && self.under_way(b, at) && at >= begun + settle;
                    if both && (relation.coefficient.is_some() || !has_coefficient) {
                        let (coefficient, shares) = (relation.coefficient, relation.shares);
                        self.log.push(Told { at_s: at as f64 * 1e-9, method: m, a, b, coefficient, shares });
                    }
                }
            }
        }
    }
    /// A packet of any flow.
    fn take(&mut self, at_ns: u64, capture: usize, key: FlowKey, tcp: &Tcp) {
        if let Some(&i) = self.index.get(&(capture, reversed(key)))
            && let Some(rtt) = self.flows[i].track.answered(at_ns, tcp)
            && self.flows[i].chosen.source == DelaySource::RoundTrip
        {
            self.measured(at_ns, i, rtt as f64);
        }
        if let Some(&i) = self.index.get(&(capture, key))
            && tcp.payload > 0
            && !tcp.syn
        {
            let flow = &mut self.flows[i];
            let delay = flow.track.sent(at_ns, tcp, flow.chosen.tick_ns);
            if let Some(delay) = delay.filter(|_| flow.chosen.source == DelaySource::OneWay) {
                self.measured(at_ns, i, delay + SHIFT_NS);
            }
        }
    }
    fn measured(&mut self, at_ns: u64, i: usize, delay: f64) {
        let at = at_ns.saturating_sub(self.zero_ns);
        let flow = &mut self.flows[i];
        let smoothed = flow.smoothed.map_or(delay, |before| before + ALPHA * (delay - before));
        flow.smoothed = Some(smoothed);
        flow.step = (flow.step.0 + delay, flow.step.1 + 1);
        let lost = (flow.track.again, flow.track.sent);
        for method in self.methods.iter_mut().filter(|method| !method.stepped) {
            observe(method, at, i, smoothed, delay, lost);
        }
    }
    fn report(mut self) -> Report {
        for flow in self.flows.iter_mut().filter(|flow| flow.chosen.source == DelaySource::OneWay) {
            let least = flow.series.delay_ms.iter().copied().fold(f64::INFINITY, f64::min);
            flow.series.delay_ms.iter_mut().for_each(|ms| *ms -= least);
        }
        let paths = self.flows.len();
        let mut by_pair: HashMap<(usize, usize, usize), Vec<Told>> = HashMap::new();
        for told in &self.log {
            by_pair.entry((told.method, told.a, told.b)).or_default().push(*told);
        }
        let (mut pairs, mut groups, mut untold) = (vec![], vec![], vec![]);
        for method in 0..self.methods.len() {
            let from = pairs.len();
            for b in 1..paths {
                for a in 0..b {
                    let told = by_pair.remove(&(method, a, b)).unwrap_or_default();
                    pairs.push(verdict(method, (a, b), &told));
                }
            }
            let together = grouped(paths, &pairs[from..]);
            untold.push(untold_of(&together, &pairs[from..]));
            groups.push(together);
        }
        let series = self.flows.into_iter().map(|flow| flow.series).collect();
        Report { packets: 0, flows: vec![], left_out: 0, pairs, groups, untold, log: self.log, series, seconds: 0.0 }
    }
}

fn observe(method: &mut Method, at: u64, flow: usize, smoothed: f64, delay: f64, (lost, sent): (u64, u64)) {
    let now = Time::from_ns(at);
    let ns = |value: f64| Dur::from_ns(value.max(0.0) as u64);
    let srtt = ns(smoothed);
    method.correlator.observe(now, flow, Observation::Srtt(srtt));
    // In a capture no scheduler looks at paths: each measurement is the opportunity to take a sample.
    method.correlator.observe(now, flow, Observation::Opportunity { srtt, ready: true });
    method.correlator.observe(now, flow, Observation::Delay { delay: ns(delay), lost, sent });
}

fn verdict(method: usize, (a, b): (usize, usize), told: &[Told]) -> Pair {
    let yes = told.iter().filter(|told| told.shares).count();
    let mut coefficients: Vec<f64> = told.iter().filter_map(|told| told.coefficient).collect();
    coefficients.sort_unstable_by(f64::total_cmp);
    let at = |part: usize| coefficients[(coefficients.len() - 1) * part / 4];
    let quartiles = (!coefficients.is_empty()).then(|| [at(1), at(2), at(3)]);
    let shared = (!told.is_empty()).then(|| yes as f64 / told.len() as f64);
    Pair { method, a, b, told: told.len() as u64, shared, quartiles, shares: shared.map(|part| part > 0.5) }
}

/// Flows joined by pairs that share, largest group first.
fn grouped(flows: usize, pairs: &[Pair]) -> Vec<Vec<usize>> {
    let mut leader: Vec<usize> = (0..flows).collect();
    for pair in pairs.iter().filter(|pair| pair.shares == Some(true)) {
        let (to, from) = (leader[pair.a], leader[pair.b]);
        leader.iter_mut().filter(|leader| **leader == from).for_each(|leader| *leader = to);
    }
    let mut groups: Vec<Vec<usize>> = vec![vec![]; flows];
    leader.iter().enumerate().for_each(|(flow, &leader)| groups[leader].push(flow));
    groups.retain(|group| !group.is_empty());
    groups.sort_by_key(|group| (std::cmp::Reverse(group.len()), group[0]));
    groups
}

/// The flows that are alone and have a pair without a verdict.
fn untold_of(groups: &[Vec<usize>], pairs: &[Pair]) -> Vec<usize> {
    let untold = |flow: usize| pairs.iter().any(|pair| pair.shares.is_none() && (pair.a == flow || pair.b == flow));
    groups.iter().filter(|group| group.len() == 1).map(|group| group[0]).filter(|flow| untold(*flow)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(a: usize, b: usize, shares: bool) -> Pair {
        Pair { method: 0, a, b, told: 1, shared: None, quartiles: None, shares: Some(shares) }
    }

    #[test]
    fn pairs_that_share_make_groups() {
        let pairs = [pair(0, 1, false), pair(0, 2, true), pair(1, 2, false), pair(2, 3, true)];
        assert_eq!(grouped(5, &pairs), [vec![0, 2, 3], vec![1], vec![4]]);
    }

    #[test]
    fn a_flow_with_a_pair_that_could_not_be_told_is_not_said_to_be_alone() {
        let unknown = |a: usize, b: usize| Pair { shares: None, ..pair(a, b, false) };
        let pairs = [pair(0, 1, true), pair(0, 2, false), unknown(1, 2), pair(0, 3, false), pair(1, 3, false)];
        assert_eq!(untold_of(&grouped(4, &pairs), &pairs), [2]);
        assert_eq!(untold_of(&grouped(2, &[unknown(0, 1)]), &[unknown(0, 1)]), [0, 1]);
    }

    #[test]
    fn a_verdict_is_the_majority_of_what_was_told() {
        let told = |coefficient: f64| Told {
            at_s: 0.0,
            method: 0,
            a: 0,
            b: 1,
            coefficient: Some(coefficient),
            shares: coefficient >= 0.8,
        };
        let v = verdict(0, (0, 1), &[told(0.9), told(0.1), told(0.85), told(0.8), told(0.3)]);
        assert_eq!((v.told, v.shared, v.shares, v.quartiles), (5, Some(0.6), Some(true), Some([0.3, 0.8, 0.85])));
        assert_eq!(verdict(0, (0, 1), &[]).shares, None);
    }
}
