//! Path schedulers from outside the tree: how a language makes them, and the registry's variant for them.
//!
//! A scheduler that fails, or names a path that is not there, [raises](haltere_units::outside::Outside::raise) a fault.
//! From then on the segments take
//! the path of the lowest round-trip time, until the run has ended.

use super::PathScheduler;
use crate::multipath::correlation::Relations;
use crate::multipath::view::{PathView, Paths, SegView, fastest};
use alloc::boxed::Box;
use alloc::format;
use core::fmt::Debug;
use haltere_units::outside::{self as units, About, Location, Origin, Reporter};
use haltere_units::{ParamError, Time};

pub use haltere_units::outside::Params;

/// Makes the schedulers of one language.
pub trait Maker: Send + Sync {
    /// What the source is, without a connection. The laboratory asks for each place of an experiment that names it, so
    /// a maker keeps what it has read for as long as the code is the same. The error's name is `kind`; its hint may
    /// name the nearest classes.
    fn about(&self, at: Location<'_>) -> Result<About, ParamError>;
    /// A scheduler of a new connection. `params` were checked against [`About::schema`]. Random numbers follow from the
    /// origin's
    /// seed alone, which differs between runs and between connections.
    fn make(&self, params: &Params, origin: &Origin) -> Result<Box<dyn OutsideScheduler>, ParamError>;
}

/// A scheduler from outside the tree. A call that fails [raises](haltere_units::outside::Outside::raise) a fault and
/// returns no path.
pub trait OutsideScheduler: PathScheduler + Debug + Send {
    /// A copy with the same state.
    fn clone_box(&self) -> Box<dyn OutsideScheduler>;
}

/// What the registry asks of parameters, of those that another crate has.
pub(super) trait Check {
    /// The first parameter that breaks its rule, as an error.
    fn check(&self) -> Result<(), ParamError>;
}

impl Check for Params {
    /// The laboratory has checked them against the schema of the maker.
    fn check(&self) -> Result<(), ParamError> {
        Ok(())
    }
}

/// A scheduler from outside the tree, in the registry's enum.
#[derive(Debug)]
pub struct Outside {
    /// `None` if it is not made yet, or broke its contract.
    scheduler: Option<Box<dyn OutsideScheduler>>,
    reporter: Reporter,
}

impl Outside {
    /// A scheduler before its maker was asked: segments take the fastest path.
    pub fn new(params: &Params) -> Outside {
        Outside { scheduler: None, reporter: Reporter::new(params, &units::Outside::NONE) }
    }
    /// Has it made for a new connection.
    pub(super) fn make(&mut self, params: &Params, origin: &Origin) -> Result<(), ParamError> {
        self.reporter = Reporter::new(params, &origin.outside);
        self.scheduler = Some(origin.outside.find::<dyn Maker>(&params.language)?.make(params, origin)?);
        Ok(())
    }
    #[cold]
    fn broken(&mut self, picks: Paths, paths: usize) {
        self.scheduler = None;
        let named = (0..32).rev().find(|&path| picks.contains(path)).unwrap_or_default();
        self.reporter.raise("pick", &format!("name paths from 0 to {}", paths - 1), named);
    }
}

impl Clone for Outside {
    fn clone(&self) -> Outside {
        let scheduler = self.scheduler.as_ref().map(|one| one.clone_box());
        Outside { scheduler, reporter: self.reporter.clone() }
    }
}

impl PathScheduler for Outside {
    fn pick(&mut self, now: Time, paths: &[PathView], seg: &SegView) -> Paths {
        if let Some(scheduler) = &mut self.scheduler {
            let picks = scheduler.pick(now, paths, seg);
            if picks.is_below(paths.len()) {
                return picks;
            }
            self.broken(picks, paths.len());
        }
        fastest(paths, PathView::is_open).map_or(Paths::NONE, |path| Paths::one(path.path))
    }
    fn replicates(&self) -> bool {
        self.scheduler.as_ref().is_some_and(|one| one.replicates())
    }
    fn queues_ahead(&self) -> bool {
        self.scheduler.as_ref().is_some_and(|one| one.queues_ahead())
    }
    fn on_relations(&mut self, relations: &Relations) {
        if let Some(scheduler) = &mut self.scheduler {
            scheduler.on_relations(relations);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Scheduler, SchedulerParams};
    use super::*;

    /// The path of the seed's number; a maker of the test's own language.
    #[derive(Debug, Clone)]
    struct Always(usize);
    impl PathScheduler for Always {
        fn pick(&mut self, _: Time, _: &[PathView], _: &SegView) -> Paths {
            Paths::one(self.0)
        }
        fn replicates(&self) -> bool {
            true
        }
    }
    impl OutsideScheduler for Always {
        fn clone_box(&self) -> Box<dyn OutsideScheduler> {
            Box::new(self.clone())
        }
    }
    struct Test;
    impl Maker for Test {
        fn about(&self, _: Location<'_>) -> Result<About, ParamError> {
            Ok(About::default())
        }
        fn make(&self, params: &Params, origin: &Origin) -> Result<Box<dyn OutsideScheduler>, ParamError> {
            params.check_digest("d")?;
            Ok(Box::new(Always(origin.seed as usize)))
        }
    }
    fn params(digest: &str) -> SchedulerParams {
        SchedulerParams::Outside(Params { language: "test".into(), digest: digest.into(), ..Params::default() })
    }

    #[test]
    fn a_language_makes_schedulers_and_changed_code_is_refused() {
        let mut makers = units::Makers::default();
        makers.add::<dyn Maker>("test", Box::new(Test));
        let origin = Origin { seed: 1, outside: units::Outside::of(&alloc::sync::Arc::new(makers)) };
        let paths = [PathView::new(0), PathView::new(1)];
        let mut scheduler = Scheduler::new(&params("d"), &origin).unwrap();
        assert_eq!(scheduler.clone().pick(Time::ZERO, &paths, &SegView::default()), Paths::one(1));
        assert!(scheduler.replicates() && Scheduler::new(&params("e"), &origin).is_err());
        assert!(!SchedulerParams::NAMES.contains(&"outside"));
        assert_eq!(scheduler.pick(Time::ZERO, &paths[..1], &SegView::default()), Paths::one(0), "there is no path 1");
        assert!(!scheduler.replicates() && origin.outside.fault().is_some(), "it broke its contract");
    }
}
