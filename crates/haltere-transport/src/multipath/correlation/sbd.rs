//! SBD: shared bottleneck detection by summary statistics of one-way delays.
//! Source, deviations and known problems: see [`Params`].
//! Model: base intervals of T. Of each: mean delay E_T; skew: samples below less those above the mean of the last M;
//! variability: sum of |sample - E_T of the interval before|; losses. Over the last M (N for frequency and loss)
//! intervals: skew_est and var_est a sample, freq_est = crossings of the mean by more than p_v var_est, a N; pkt_loss.
//! A path is at a bottleneck if skew_est < c_s, or skew_est < c_h and it was, or pkt_loss > p_l. Of those, paths group
//! by freq_est (p_f), then var_est (p_mad), then loss (p_d) if it is high or else skew_est (p_s).
//! Units: ns. Cost: O(N) a path at each interval T, O(1) a sample.

use super::{Observation, PathCorrelator, Relation, Relations};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use haltere_units::{Dur, ParamError, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Two paths share a bottleneck if summary statistics of their one-way delays put them in one group.
///
/// The statistics are skewness, variability, oscillation frequency and loss. The names of the parameters are RFC
/// 8382's, and so are their defaults (section 2.2).
///
/// Source: RFC 8382 (sections 2.2, 3.2, 3.3).
///
/// Deviations: noise is not removed (section 4). Loss is the share of segments that the sender retransmits.
///
/// Known problems: the first result takes M intervals (about 10 s).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Base interval T, from 1 ms to an hour.
    pub interval: Dur,
    /// Base intervals N for frequency and loss, from `m` to 1000.
    pub n: u32,
    /// Base intervals M for skewness and variability, from 2 to 1000.
    pub m: u32,
    /// Skewness below which a path is at a bottleneck.
    pub c_s: f64,
    /// The same for a path that was at a bottleneck before.
    pub c_h: f64,
    /// Largest distance of frequencies in a group.
    pub p_f: f64,
    /// Largest distance of skewnesses in a group.
    pub p_s: f64,
    /// Largest distance of variabilities in a group, as a part of the larger.
    pub p_mad: f64,
    /// Largest distance of losses in a group, as a part of the larger.
    pub p_d: f64,
    /// Part of the variability by which the mean must be crossed.
    pub p_v: f64,
    /// Loss above which a path is at a bottleneck.
    pub p_l: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            interval: Dur::from_ms(350),
            n: 50,
            m: 30,
            c_s: 0.1,
            c_h: 0.3,
            p_f: 0.1,
            p_s: 0.15,
            p_mad: 0.1,
            p_d: 0.1,
            p_v: 0.7,
            p_l: 0.05,
        }
    }
}

impl Params {
    /// The first parameter that breaks its rule, as an error.
    pub fn check(&self) -> Result<(), ParamError> {
        if !(Dur::from_ms(1)..=Dur::from_secs(3600)).contains(&self.interval) {
            let default = Params::default().interval;
            return Err(ParamError::new("interval", "from 1ms to 3600s", self.interval).default_is(default));
        }
        if !(2..=1000).contains(&self.m) {
            return Err(ParamError::new("m", "from 2 to 1000", self.m));
        }
        if !(self.m..=1000).contains(&self.n) {
            return Err(ParamError::new("n", alloc::format!("from m ({}) to 1000", self.m), self.n));
        }
        Ok(())
    }
}

/// One base interval of one path.
#[derive(Debug, Clone, Copy, Default)]
struct Base {
    mean: f64,
    skew: i64,
    variability: f64,
    samples: u64,
    lost: u64,
    sent: u64,
}

#[derive(Debug, Clone, Default)]
struct PathHistory {
    /// The last N intervals, newest last.
    bases: VecDeque<Base>,
    sum: f64,
    samples: Vec<f64>,
    /// Counters at the end of the last interval, and now.
    before: (u64, u64),
    counters: (u64, u64),
    at_bottleneck: bool,
}

/// The estimates of one path.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Estimate {
    skew: f64,
    variability: f64,
    frequency: f64,
    loss: f64,
}

impl PathHistory {
    /// Ends a base interval.
    fn end_interval(&mut self, p: &Params) {
        let count = self.samples.len() as u64;
        let mut base = Base { samples: count, ..Base::default() };
        base.lost = self.counters.0.saturating_sub(self.before.0);
        base.sent = self.counters.1.saturating_sub(self.before.1);
        self.before = self.counters;
        if count > 0 {
            base.mean = self.sum / count as f64;
            // Section 3.2.1, 3.2.2: against the mean over M, and against that of the interval before.
            let reference = self.mean_over(p.m as usize).unwrap_or(base.mean);
            let previous = self.bases.iter().rev().find(|b| b.samples > 0).map_or(base.mean, |b| b.mean);
            for &delay in &self.samples {
                base.skew += i64::from(delay < reference) - i64::from(delay > reference);
                base.variability += (delay - previous).abs();
            }
        }
        self.samples.clear();
        self.sum = 0.0;
        if self.bases.len() == p.n as usize {
            self.bases.pop_front();
        }
        self.bases.push_back(base);
    }
    /// The newest `count` intervals.
    fn last(&self, count: usize) -> impl Iterator<Item = &Base> {
        self.bases.iter().skip(self.bases.len().saturating_sub(count))
    }
    fn mean_over(&self, count: usize) -> Option<f64> {
        let used = || self.last(count).filter(|b| b.samples > 0);
        let n = used().count();
        (n > 0).then(|| used().map(|b| b.mean).sum::<f64>() / n as f64)
    }
    /// Section 3.2; none before M intervals.
    fn estimate(&self, p: &Params) -> Option<Estimate> {
        let m = p.m as usize;
        let samples = self.last(m).map(|b| b.samples).sum::<u64>();
        if self.bases.len() < m || samples == 0 {
            return None;
        }
        let variability = self.last(m).map(|b| b.variability).sum::<f64>() / samples as f64;
        let (lost, sent) = self.bases.iter().fold((0, 0), |(l, s), b| (l + b.lost, s + b.sent));
        Some(Estimate {
            skew: self.last(m).map(|b| b.skew).sum::<i64>() as f64 / samples as f64,
            variability,
            frequency: self.crossings(self.mean_over(m)?, p.p_v * variability) as f64 / f64::from(p.n),
            loss: if sent == 0 { 0.0 } else { lost as f64 / sent as f64 },
        })
    }
    /// Section 3.2.3: significant crossings of the mean.
    fn crossings(&self, mean: f64, margin: f64) -> u64 {
        let (mut side, mut crossings) = (0, 0);
        for base in self.bases.iter().filter(|b| b.samples > 0) {
            let now = i32::from(base.mean > mean + margin) - i32::from(base.mean < mean - margin);
            if now != 0 {
                crossings += u64::from(side != 0 && now != side);
                side = now;
            }
        }
        crossings
    }
}

/// Splits groups of (path, key) between two neighbours in order of the key that are further apart than `gap` of the
/// larger one.
fn split(groups: Vec<Vec<usize>>, key: impl Fn(usize) -> f64, gap: impl Fn(f64) -> f64) -> Vec<Vec<usize>> {
    let mut out = Vec::new();
    for mut group in groups {
        group.sort_by(|&a, &b| key(b).total_cmp(&key(a)));
        let mut current: Vec<usize> = Vec::new();
        for path in group {
            if let Some(&last) = current.last()
                && key(last) - key(path) >= gap(key(last))
            {
                out.push(core::mem::take(&mut current));
            }
            current.push(path);
        }
        out.push(current);
    }
    out
}

/// The correlator with what it has measured of the paths.
#[derive(Debug, Clone)]
pub struct Sbd {
    params: Params,
    paths: Vec<PathHistory>,
    due: Time,
}

impl Sbd {
    /// Nothing is known yet.
    pub fn new(params: &Params) -> Sbd {
        Sbd { params: params.clone(), paths: Vec::new(), due: Time::ZERO }
    }
    /// Section 3.3.1: the groups of paths that share a bottleneck.
    fn groups(&mut self) -> Vec<Vec<usize>> {
        let p = &self.params;
        let estimates: Vec<Option<Estimate>> = self.paths.iter().map(|path| path.estimate(p)).collect();
        for (path, estimate) in self.paths.iter_mut().zip(&estimates) {
            path.at_bottleneck =
                estimate.is_some_and(|e| e.skew < p.c_s || (e.skew < p.c_h && path.at_bottleneck) || e.loss > p.p_l);
        }
        let at = (0..self.paths.len()).filter(|&i| self.paths[i].at_bottleneck).collect();
        let of = |i: usize| estimates[i].unwrap_or_default();
        let groups = split(alloc::vec![at], |i| of(i).frequency, |_| p.p_f);
        let groups = split(groups, |i| of(i).variability, |largest| p.p_mad * largest);
        let lossy = |group: &[usize]| group.iter().all(|&i| of(i).loss > p.p_l);
        let (high, low): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| lossy(group));
        let mut groups = split(high, |i| of(i).loss, |largest| p.p_d * largest);
        groups.extend(split(low, |i| of(i).skew, |_| p.p_s));
        groups
    }
}

impl PathCorrelator for Sbd {
    fn observe(&mut self, _now: Time, path: usize, what: Observation) {
        let Observation::Delay { delay, lost, sent } = what else { return };
        if self.paths.len() <= path {
            self.paths.resize_with(path + 1, PathHistory::default);
        }
        let path = &mut self.paths[path];
        let ns = delay.as_ns() as f64;
        path.sum += ns;
        path.samples.push(ns);
        path.counters = (lost, sent);
    }
    fn due(&self) -> Time {
        self.due
    }
    fn pairs_by_order(&self) -> bool {
        false
    }
    fn has_coefficient(&self) -> bool {
        false
    }
    /// M base intervals, however often it gets samples.
    fn settling(&self, _spacing: Dur) -> Dur {
        self.params.interval * u64::from(self.params.m)
    }
    fn relate(&mut self, now: Time, _paths: usize) -> Relations {
        self.due = now + self.params.interval;
        self.paths.iter_mut().for_each(|path| path.end_interval(&self.params));
        let known: Vec<bool> = self.paths.iter().map(|path| path.estimate(&self.params).is_some()).collect();
        let mut relations =
            Relations::of_pairs(known.len(), |a, b| Relation { known: known[a] && known[b], ..Relation::default() });
        for group in self.groups() {
            for (i, &a) in group.iter().enumerate() {
                let shared = Relation { shares: true, known: true, ..Relation::default() };
                group[i + 1..].iter().for_each(|&b| relations.set(a, b, shared));
            }
        }
        relations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths 0 and 1 see the same sawtooth of a queue, path 2 one of another period, path 3 an empty queue with rare
    /// peaks.
    fn shared() -> Relations {
        let mut sbd = Sbd::new(&Params::default());
        let saw = |t: u64, period: u64| 10_000_000 + (t % period) * 40_000_000 / period;
        let mut relations = Relations::default();
        for t in 0..(60 * 35_u64) {
            let now = Time::from_ns(t * 10_000_000);
            let peak = if t % 97 == 0 { 30_000_000 } else { 0 };
            for (path, ns) in [(0, saw(t, 400)), (1, saw(t, 400) + 7_000_000), (2, saw(t, 90)), (3, 5_000_000 + peak)] {
                sbd.observe(now, path, Observation::Delay { delay: Dur::from_ns(ns), lost: 0, sent: t });
            }
            if now >= sbd.due() {
                relations = sbd.relate(now, 4);
            }
        }
        relations
    }

    #[test]
    fn paths_over_one_queue_group_and_others_do_not() {
        let r = shared();
        assert!(r.get(0, 1).shares);
        for (a, b) in [(0, 2), (1, 2), (0, 3), (1, 3), (2, 3)] {
            assert!(!r.get(a, b).shares, "{a} and {b}");
        }
    }

    #[test]
    fn an_empty_queue_is_no_bottleneck() {
        // Rare peaks: nearly all samples lie below the mean: skewness near 1.
        let mut path = PathHistory::default();
        let p = Params::default();
        for t in 0..40 {
            path.samples = (0..20).map(|i| if i == t % 20 { 9.0 } else { 1.0 }).collect();
            path.sum = path.samples.iter().sum();
            path.end_interval(&p);
        }
        let e = path.estimate(&p).unwrap();
        assert!((e.skew - 0.9).abs() < 1e-9, "{e:?}");
    }

    #[test]
    fn groups_split_where_neighbours_lie_apart() {
        let values = [1.0, 0.95, 0.7, 0.65];
        let groups = split(alloc::vec![alloc::vec![0, 1, 2, 3]], |i| values[i], |_| 0.1);
        assert_eq!(groups, [alloc::vec![0, 1], alloc::vec![2, 3]]);
    }
}
