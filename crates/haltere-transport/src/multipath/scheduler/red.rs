//! RED, redundant diversity scheduling: every segment on those paths that do not share a bottleneck. Not the queue
//! discipline of the same name.
//! Source, deviations and known problems: see [`Params`].
//! Model: the first two paths are the pair of the least |coefficient|. Then comes the path whose largest coefficient
//! with those chosen is least, as long as it is below phi. Segments go on the chosen paths only.
//! Units: none. Cost: O(paths^3) when the relations change, O(1) a segment.

use super::PathScheduler;
use crate::multipath::correlation::Relations;
use crate::multipath::view::{PathView, Paths, SegView};
use haltere_units::{ParamError, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The RED scheduler (redundant diversity): sends every segment on those paths that do not share a bottleneck.
///
/// A correlator finds which paths share one.
///
/// Source: B. Felix, I. Steuck, A. Santos and M. Nogueira, "Escalonador de pacotes para transmissao por multi-caminhos
/// nao-correlacionados em redes heterogeneas sem fio", section 3.2.
///
/// Deviations: if even the least correlated pair reaches phi, the faster of the two paths carries alone. A pair without
/// a known coefficient counts as uncorrelated. A correlator without coefficients (SBD) counts as 1 for a shared
/// bottleneck, else as 0.
///
/// Known problems: without a correlator it is `redundant`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Coefficient from which on two paths count as sharing a bottleneck, above 0 and at most 1. The default is the
    /// source's (section 5.1).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub phi: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params { phi: 0.8 }
    }
}

impl Params {
    /// The first parameter that breaks its rule, as an error.
    pub fn check(&self) -> Result<(), ParamError> {
        if self.phi > 0.0 && self.phi <= 1.0 {
            Ok(())
        } else {
            Err(ParamError::new("phi", "above 0 and at most 1", self.phi).default_is(Params::default().phi))
        }
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Red {
    phi: f64,
    relations: Relations,
    /// The usable paths for which `chosen` was found, and the paths chosen.
    usable: Paths,
    chosen: Paths,
}

impl Red {
    /// All paths are chosen until something is known.
    pub fn new(params: &Params) -> Red {
        Red { phi: params.phi, relations: Relations::default(), usable: Paths::NONE, chosen: Paths::NONE }
    }
    fn coefficient(&self, a: usize, b: usize) -> f64 {
        let relation = self.relations.get(a, b);
        relation.coefficient.unwrap_or(if relation.shares { 1.0 } else { 0.0 })
    }
    fn choose(&self, paths: &[PathView]) -> Paths {
        let usable = || paths.iter().filter(|p| p.usable);
        let pairs = usable().flat_map(|a| usable().filter(move |b| a.path < b.path).map(move |b| (a, b)));
        let least = pairs.min_by(|x, y| {
            let of = |(a, b): &(&PathView, &PathView)| self.coefficient(a.path, b.path).abs();
            of(x).total_cmp(&of(y))
        });
        let Some((a, b)) = least else { return usable().fold(Paths::NONE, |all, p| all.with(p.path)) };
        if self.coefficient(a.path, b.path) >= self.phi {
            return Paths::one(if b.srtt < a.srtt { b.path } else { a.path });
        }
        let mut chosen = Paths::one(a.path).with(b.path);
        loop {
            let with_chosen = |p: &PathView| {
                let all = usable().filter(|c| chosen.contains(c.path)).map(|c| self.coefficient(p.path, c.path));
                all.fold(f64::NEG_INFINITY, f64::max)
            };
            let rest = usable().filter(|p| !chosen.contains(p.path));
            let next = rest.map(|p| (p.path, with_chosen(p))).min_by(|x, y| x.1.total_cmp(&y.1));
            match next {
                Some((path, most)) if most < self.phi => chosen = chosen.with(path),
                _ => return chosen,
            }
        }
    }
}

impl PathScheduler for Red {
    fn pick(&mut self, _now: Time, paths: &[PathView], _seg: &SegView) -> Paths {
        let usable = paths.iter().filter(|p| p.usable).fold(Paths::NONE, |all, p| all.with(p.path));
        if usable != self.usable {
            self.usable = usable;
            self.chosen = self.choose(paths);
        }
        self.chosen
    }
    fn replicates(&self) -> bool {
        true
    }
    fn on_relations(&mut self, relations: &Relations) {
        self.relations = relations.clone();
        self.usable = Paths::NONE; // to be chosen anew
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multipath::correlation::Relation;

    fn chosen(ab: f64, ac: f64, bc: f64) -> [bool; 3] {
        let paths: [PathView; 3] = core::array::from_fn(PathView::new);
        let mut relations = Relations::default();
        for (a, b, c) in [(0, 1, ab), (0, 2, ac), (1, 2, bc)] {
            relations.set(a, b, Relation { coefficient: Some(c), shares: c >= 0.8 });
        }
        let mut red = Red::new(&Params::default());
        red.on_relations(&relations);
        let picks = red.pick(Time::ZERO, &paths, &SegView::default());
        core::array::from_fn(|p| picks.contains(p))
    }

    #[test]
    fn of_two_paths_that_share_only_the_less_correlated_with_the_third_is_used() {
        assert_eq!(chosen(0.1, 0.2, 0.95), [true, true, false]);
        assert_eq!(chosen(-0.3, 0.2, 0.95), [true, false, true]);
    }

    #[test]
    fn all_uncorrelated_paths_are_used() {
        assert_eq!(chosen(0.1, 0.2, 0.79), [true; 3]);
        assert_eq!(chosen(0.1, -0.9, 0.3), [true; 3], "a negative coefficient is none of a shared bottleneck");
    }

    #[test]
    fn if_all_share_one_carries_alone() {
        assert_eq!(chosen(0.9, 0.95, 0.99), [true, false, false]);
    }
}
