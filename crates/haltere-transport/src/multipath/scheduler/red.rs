//! RED, redundant diversity scheduling: every segment on those paths that do not share a bottleneck. Not the queue
//! discipline of the same name.
//! Source, deviations and known problems: see [`Params`].
//! Model: the rule `module` chooses a chain of paths. The first path of the list begins it. Next comes the path p of
//! the least
//! |c(last, p)|, while |c(last, p)| <= phi. The rule `pairwise` begins with the two paths of the least |c|. Next comes
//! the path whose largest c with those chosen is least, while that is below phi. Segments go on the chosen paths only.
//! Units: none. Cost: O(paths^3) when the relations change, O(1) a segment.

use super::PathScheduler;
use crate::multipath::correlation::Relations;
use crate::multipath::view::{PathView, Paths, SegView};
use haltere_units::{ParamError, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the paths of a segment are chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The rule of the authors' kernel module. The first path always carries. Each further path is the one least
    /// correlated with the path chosen last, of either sign, while that coefficient is at most phi. A pair without a
    /// known coefficient counts as correlated, so only the first path carries before the first evaluation.
    #[default]
    Module,
    /// The rule of the paper's text, with regard to the sign. The pair of the least coefficient begins. A further path
    /// needs coefficients below phi with all chosen ones. A pair without a known coefficient counts as uncorrelated.
    Pairwise,
}

/// The RED scheduler (redundant diversity): sends every segment on those paths that do not share a bottleneck.
///
/// A correlator finds which paths share one.
///
/// Source: B. Felix, I. Steuck, A. Santos and M. Nogueira, "Escalonador de pacotes para transmissao por multi-caminhos
/// nao-correlacionados em redes heterogeneas sem fio", section 3.2, and the behaviour of the authors' kernel module
/// (github.com/ccsc-research/red-scheduler).
///
/// Deviations: the chain of `module` begins with the first path. In the authors' module it begins with the first path
/// of the least correlated pair, which is another one only if two later paths are the least correlated. If that module
/// finds two paths with one local address, it takes them for correlated. This scheduler compares paths only, as the
/// paper's text does. With `pairwise`, if even the least correlated pair reaches phi, only the faster of the
/// two carries. A correlator without coefficients (SBD) counts as 1 for a shared bottleneck, else as 0.
///
/// Known problems: without a correlator, `module` sends on the first path only and `pairwise` is `redundant`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Coefficient above which two paths count as sharing a bottleneck, above 0 and at most 1. With `pairwise`, `phi`
    /// itself counts, too. The default is the source's (section 5.1).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub phi: f64,
    /// How the paths of a segment are chosen.
    pub rule: Rule,
}

impl Default for Params {
    fn default() -> Params {
        Params { phi: 0.8, rule: Rule::Module }
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

/// The scheduler with its parameters and state.
#[derive(Debug, Clone)]
pub struct Red {
    params: Params,
    relations: Relations,
    /// The usable paths for which `chosen` was found, and the paths chosen.
    usable: Paths,
    chosen: Paths,
}

impl Red {
    /// Nothing is known yet.
    pub fn new(params: &Params) -> Red {
        Red { params: params.clone(), relations: Relations::default(), usable: Paths::NONE, chosen: Paths::NONE }
    }
    /// The coefficient of two paths, if it is known.
    fn known(&self, a: usize, b: usize) -> Option<f64> {
        let relation = self.relations.get(a, b);
        relation.known.then(|| relation.coefficient.unwrap_or(if relation.shares { 1.0 } else { 0.0 }))
    }
    fn choose(&self, paths: &[PathView]) -> Paths {
        match self.params.rule {
            Rule::Module => self.chain(paths),
            Rule::Pairwise => self.pairwise(paths),
        }
    }

    /// The authors' module: a chain of paths, each the least correlated with the one before it.
    fn chain(&self, paths: &[PathView]) -> Paths {
        let usable = || paths.iter().filter(|p| p.usable).map(|p| p.path);
        let Some(mut last) = usable().next() else { return Paths::NONE };
        let mut chosen = Paths::one(last);
        loop {
            let with_last =
                usable().filter(|&p| !chosen.contains(p)).filter_map(|p| Some((p, self.known(last, p)?.abs())));
            match with_last.min_by(|x, y| x.1.total_cmp(&y.1)) {
                Some((path, least)) if least <= self.params.phi => (last, chosen) = (path, chosen.with(path)),
                _ => return chosen,
            }
        }
    }

    /// The text: the least correlated pair, then paths that are uncorrelated with all chosen ones.
    fn pairwise(&self, paths: &[PathView]) -> Paths {
        let coefficient = |a, b| self.known(a, b).unwrap_or(0.0);
        let usable = || paths.iter().filter(|p| p.usable);
        let pairs = usable().flat_map(|a| usable().filter(move |b| a.path < b.path).map(move |b| (a, b)));
        let least = pairs.min_by(|x, y| {
            let of = |(a, b): &(&PathView, &PathView)| coefficient(a.path, b.path).abs();
            of(x).total_cmp(&of(y))
        });
        let Some((a, b)) = least else { return usable().fold(Paths::NONE, |all, p| all.with(p.path)) };
        if coefficient(a.path, b.path) >= self.params.phi {
            return Paths::one(if b.srtt < a.srtt { b.path } else { a.path });
        }
        let mut chosen = Paths::one(a.path).with(b.path);
        loop {
            let with_chosen = |p: &PathView| {
                let all = usable().filter(|c| chosen.contains(c.path)).map(|c| coefficient(p.path, c.path));
                all.fold(f64::NEG_INFINITY, f64::max)
            };
            let rest = usable().filter(|p| !chosen.contains(p.path));
            let next = rest.map(|p| (p.path, with_chosen(p))).min_by(|x, y| x.1.total_cmp(&y.1));
            match next {
                Some((path, most)) if most < self.params.phi => chosen = chosen.with(path),
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

    fn red(rule: Rule, ab: f64, ac: f64, bc: f64) -> Red {
        let mut relations = Relations::default();
        for (a, b, c) in [(0, 1, ab), (0, 2, ac), (1, 2, bc)] {
            relations.set(a, b, Relation::of(Some(c), 0.8));
        }
        let mut red = Red::new(&Params { rule, ..Params::default() });
        red.on_relations(&relations);
        red
    }
    fn picks(red: &mut Red, unusable: Option<usize>) -> [bool; 3] {
        let mut paths: [PathView; 3] = core::array::from_fn(PathView::new);
        unusable.into_iter().for_each(|p| paths[p].usable = false);
        let picks = red.pick(Time::ZERO, &paths, &SegView::default());
        core::array::from_fn(|p| picks.contains(p))
    }
    fn chosen(rule: Rule, ab: f64, ac: f64, bc: f64) -> [bool; 3] {
        picks(&mut red(rule, ab, ac, bc), None)
    }

    #[test]
    fn of_two_paths_that_share_only_the_less_correlated_with_the_third_is_used() {
        for rule in [Rule::Module, Rule::Pairwise] {
            assert_eq!(chosen(rule, 0.1, 0.2, 0.95), [true, true, false]);
            assert_eq!(chosen(rule, -0.3, 0.2, 0.95), [true, false, true]);
        }
    }

    #[test]
    fn the_first_path_always_carries_with_the_modules_rule() {
        assert_eq!(chosen(Rule::Module, 0.9, 0.95, 0.1), [true, false, false]);
        assert_eq!(chosen(Rule::Pairwise, 0.9, 0.95, 0.1), [false, true, true], "the least correlated pair");
    }

    #[test]
    fn both_signs_are_correlated_with_the_modules_rule() {
        assert_eq!(chosen(Rule::Module, 0.1, -0.9, 0.3), [true, true, true], "C is compared with B, chosen last");
        assert_eq!(chosen(Rule::Module, 0.1, 0.2, -0.9), [true, true, false]);
        assert_eq!(chosen(Rule::Module, -0.81, 0.81, 0.0), [true, false, false]);
        assert_eq!(
            chosen(Rule::Pairwise, 0.1, -0.9, 0.3),
            [true; 3],
            "a negative coefficient is none of a shared bottleneck"
        );
    }

    #[test]
    fn phi_itself_is_uncorrelated_with_the_modules_rule_and_correlated_pairwise() {
        assert_eq!(chosen(Rule::Module, 0.1, 0.2, 0.8), [true; 3]);
        assert_eq!(chosen(Rule::Pairwise, 0.1, 0.2, 0.8), [true, true, false]);
        assert_eq!(chosen(Rule::Pairwise, 0.1, 0.2, 0.79), [true; 3]);
    }

    #[test]
    fn if_all_share_one_carries_alone() {
        assert_eq!(chosen(Rule::Module, 0.9, 0.95, 0.99), [true, false, false]);
        assert_eq!(chosen(Rule::Pairwise, 0.9, 0.95, 0.99), [true, false, false]);
    }

    #[test]
    fn before_the_first_evaluation_the_module_sends_on_the_first_path_only() {
        let fresh = |rule| picks(&mut Red::new(&Params { rule, ..Params::default() }), None);
        assert_eq!(fresh(Rule::Module), [true, false, false]);
        assert_eq!(fresh(Rule::Pairwise), [true; 3]);
    }

    #[test]
    fn if_the_first_path_is_unusable_the_chain_begins_with_the_next() {
        assert_eq!(picks(&mut red(Rule::Module, 0.1, 0.2, 0.95), Some(0)), [false, true, false]);
        assert_eq!(picks(&mut red(Rule::Module, 0.1, 0.2, 0.5), Some(0)), [false, true, true]);
    }
}
