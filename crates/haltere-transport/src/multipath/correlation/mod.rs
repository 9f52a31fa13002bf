//! Path correlators: which paths share a bottleneck. One line in the registry below makes one known everywhere.

mod window;

use super::info::Coefficient;
use alloc::vec::Vec;
use haltere_units::{Dur, ParamError, Time};

/// A measurement on a path.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Observation {
    /// The scheduler looks at the path, whose smoothed round-trip time is this.
    Opportunity {
        /// Smoothed round-trip time.
        srtt: Dur,
        /// The path has room for a segment.
        ready: bool,
    },
    /// A new smoothed round-trip time.
    Srtt(Dur),
    /// A one-way delay, and segments marked lost and sent on the path so far.
    Delay {
        /// The delay; a constant error does no harm.
        delay: Dur,
        /// Segments marked lost so far.
        lost: u64,
        /// Segments sent so far.
        sent: u64,
    },
}

/// What a correlator knows of two paths.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Relation {
    /// From -1 to 1, if the correlator has one and knows enough.
    pub coefficient: Option<f64>,
    /// The two share a bottleneck.
    pub shares: bool,
    /// The correlator knows enough of both to say so.
    pub known: bool,
}

impl Relation {
    /// By a coefficient, if there is one: the two share a bottleneck from `phi` on.
    pub fn of(coefficient: Option<f64>, phi: f64) -> Relation {
        Relation { coefficient, shares: coefficient.is_some_and(|c| c >= phi), known: coefficient.is_some() }
    }
}

/// Relations of all pairs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Relations(Vec<Relation>);

/// All pairs of so many paths.
pub(crate) fn pairs(paths: usize) -> impl Iterator<Item = (usize, usize)> {
    (1..paths).flat_map(|b| (0..b).map(move |a| (a, b)))
}

impl Relations {
    /// What relates each pair of so many paths.
    pub fn of_pairs(paths: usize, mut relate: impl FnMut(usize, usize) -> Relation) -> Relations {
        let mut relations = Relations::default();
        pairs(paths).for_each(|(a, b)| relations.set(a, b, relate(a, b)));
        relations
    }
    fn index(a: usize, b: usize) -> usize {
        let (low, high) = (a.min(b), a.max(b));
        high * high.saturating_sub(1) / 2 + low
    }
    /// The relation of two paths.
    pub fn get(&self, a: usize, b: usize) -> Relation {
        self.0.get(Relations::index(a, b)).copied().unwrap_or_default()
    }
    /// Sets what relates two paths, in both directions.
    pub fn set(&mut self, a: usize, b: usize, relation: Relation) {
        let index = Relations::index(a, b);
        if index >= self.0.len() {
            self.0.resize(index + 1, Relation::default());
        }
        self.0[index] = relation;
    }
}

/// Watches paths and relates them.
pub trait PathCorrelator {
    /// Takes a measurement of a path.
    fn observe(&mut self, now: Time, path: usize, what: Observation);
    /// When it relates the paths next.
    fn due(&self) -> Time;
    /// Relates all pairs of `paths` paths.
    fn relate(&mut self, now: Time, paths: usize) -> Relations;
    /// True if it pairs the samples of two paths by their order. Samples that are evenly spaced in time then serve it
    /// best.
    fn pairs_by_order(&self) -> bool {
        true
    }
    /// True if its relations have a coefficient once it knows enough of both paths.
    fn has_coefficient(&self) -> bool {
        true
    }
    /// How long a new path needs until its first relation, if it gets a sample every `spacing`.
    fn settling(&self, spacing: Dur) -> Dur;
}

haltere_units::registry! {
    /// A path correlator with its parameters, distinguished by `kind`.
    params CorrelatorParams;
    /// Any correlator of the registry.
    any Correlator;
    match each_correlator;

    red_cpi => RedCpi;
    mscm => Mscm;
    sbd => Sbd;
}

impl CorrelatorParams {
    /// The first parameter that breaks its rule, as an error.
    pub fn check(&self) -> Result<(), ParamError> {
        each_correlator!(params p in self => p.check())
    }
}

impl Correlator {
    /// The correlator of these parameters, which have been checked.
    pub fn new(params: &CorrelatorParams) -> Correlator {
        each_correlator!(new p in params => (p))
    }
}

impl PathCorrelator for Correlator {
    fn observe(&mut self, now: Time, path: usize, what: Observation) {
        each_correlator!(self, c => c.observe(now, path, what))
    }
    fn due(&self) -> Time {
        each_correlator!(self, c => c.due())
    }
    fn relate(&mut self, now: Time, paths: usize) -> Relations {
        each_correlator!(self, c => c.relate(now, paths))
    }
    fn pairs_by_order(&self) -> bool {
        each_correlator!(self, c => c.pairs_by_order())
    }
    fn has_coefficient(&self) -> bool {
        each_correlator!(self, c => c.has_coefficient())
    }
    fn settling(&self, spacing: Dur) -> Dur {
        each_correlator!(self, c => c.settling(spacing))
    }
}

/// The least interval of a correlator, so that it stays cheap beside sending.
pub(crate) const LEAST_INTERVAL: Dur = Dur::from_us(10);

/// Checks a window, an interval, a threshold and a resolution.
pub(crate) fn check(window: u32, interval: Dur, phi: f64, resolution: Dur) -> Result<(), ParamError> {
    if !(3..=10_000).contains(&window) {
        return Err(ParamError::new("window", "from 3 to 10000 samples", window));
    }
    if interval < LEAST_INTERVAL {
        return Err(ParamError::new("interval", alloc::format!("at least {LEAST_INTERVAL}"), interval));
    }
    if !(phi > 0.0 && phi <= 1.0) {
        return Err(ParamError::new("phi", "above 0 and at most 1", phi));
    }
    if !(Dur::from_ns(1)..=Dur::from_secs(1)).contains(&resolution) {
        return Err(ParamError::new("resolution", "from 1ns to 1s", resolution));
    }
    Ok(())
}

/// The correlators of a connection and their relations so far.
#[derive(Debug, Default)]
pub(crate) struct Correlators {
    all: Vec<Correlator>,
    paths: usize,
    first: Relations,
    log: Vec<Coefficient>,
}

impl Correlators {
    pub fn new(params: &[CorrelatorParams]) -> Correlators {
        Correlators { all: params.iter().map(Correlator::new).collect(), ..Correlators::default() }
    }
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
    pub fn add_path(&mut self) {
        self.paths += 1;
    }
    pub fn observe(&mut self, now: Time, path: usize, what: Observation) {
        self.all.iter_mut().for_each(|c| c.observe(now, path, what));
    }
    /// Lets those relate the paths whose time has come. True if the first one did.
    pub fn update(&mut self, now: Time) -> bool {
        let mut first = false;
        for (correlator, c) in self.all.iter_mut().enumerate() {
            if now < c.due() {
                continue;
            }
            let relations = c.relate(now, self.paths);
            self.log.extend(pairs(self.paths).map(|(a, b)| {
                let Relation { coefficient, shares, .. } = relations.get(a, b);
                Coefficient { at: now, correlator, paths: (a, b), coefficient, shares }
            }));
            if correlator == 0 {
                self.first = relations;
                first = true;
            }
        }
        first
    }
    /// The last relations of the first one.
    pub fn first(&self) -> &Relations {
        &self.first
    }
    pub fn take_log(&mut self) -> Vec<Coefficient> {
        core::mem::take(&mut self.log)
    }
}
