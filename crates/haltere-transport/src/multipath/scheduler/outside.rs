//! Path schedulers from outside the tree: the table of their languages, and a scheduler of any of them.
//!
//! A scheduler that fails, or names a path that is not there, [raises](haltere_units::outside::raise) a fault. From then on the segments take
//! the path of the lowest round-trip time, until the run has ended.

use super::PathScheduler;
use crate::multipath::correlation::Relations;
use crate::multipath::view::{PathView, Paths, SegView, fastest};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::fmt::Debug;
use haltere_units::outside::{About, Fault, Location, Makers, raise};
use haltere_units::{ParamError, Time};

pub use haltere_units::outside::Params;

/// Makes the schedulers of one language.
pub trait Maker: Send + Sync {
    /// What the source is, without a connection. The laboratory asks for each place of an experiment that names it, so a maker keeps what it
    /// has read for as long as the code is the same. The error's name is `kind`; its hint may name the nearest classes.
    fn about(&self, at: Location<'_>) -> Result<About, ParamError>;
    /// A scheduler of a new connection. `params` were checked against [`About::schema`]. Random numbers follow from `seed` alone, which
    /// differs between runs and between connections.
    fn make(&self, params: &Params, seed: u64) -> Result<Box<dyn OutsideScheduler>, ParamError>;
}

/// A scheduler from outside the tree. A call that fails [raises](haltere_units::outside::raise) a fault and returns no path.
pub trait OutsideScheduler: PathScheduler + Debug + Send {
    /// A copy with the same state.
    fn clone_box(&self) -> Box<dyn OutsideScheduler>;
}

/// The languages of path schedulers.
pub static MAKERS: Makers<dyn Maker> = Makers::new();

/// Adds a language to this process. False if it was there: the first maker stays.
pub fn register(language: &'static str, maker: Box<dyn Maker>) -> bool {
    MAKERS.register(language, maker)
}

fn make(params: &Params, seed: u64) -> Result<Box<dyn OutsideScheduler>, ParamError> {
    MAKERS.find(&params.language)?.make(params, seed)
}

/// What the registry asks of parameters, of those that another crate has.
pub(super) trait Check {
    /// The first parameter that breaks its rule, as an error.
    fn check(&self) -> Result<(), ParamError>;
}

impl Check for Params {
    fn check(&self) -> Result<(), ParamError> {
        make(self, 0).map(drop)
    }
}

/// A scheduler from outside the tree, in the registry's enum.
#[derive(Debug)]
pub struct Outside {
    /// `None` if it could not be made again, or broke its contract.
    scheduler: Option<Box<dyn OutsideScheduler>>,
    /// What stands for `kind` in the experiment file, for faults.
    kind: String,
}

impl Outside {
    /// A scheduler whose random numbers follow from 0.
    pub fn new(params: &Params) -> Outside {
        Outside::seeded(params, 0)
    }
    /// A scheduler of a new connection, whose parameters were [checked](super::SchedulerParams::check). One that cannot be made all the same
    /// ends the run.
    pub fn seeded(params: &Params, seed: u64) -> Outside {
        let kind = params.kind();
        let made = make(params, seed);
        if let Err(error) = &made {
            raise(Fault::new(&kind, "making it", "succeed as it did before the run", error));
        }
        Outside { scheduler: made.ok(), kind }
    }
    #[cold]
    fn broken(&mut self, picks: Paths, paths: usize) {
        self.scheduler = None;
        let named = (0..32).rev().find(|&path| picks.contains(path)).unwrap_or_default();
        raise(Fault::new(&self.kind, "pick", &format!("name paths from 0 to {}", paths - 1), named));
    }
}

impl Clone for Outside {
    fn clone(&self) -> Outside {
        Outside { scheduler: self.scheduler.as_ref().map(|one| one.clone_box()), kind: self.kind.clone() }
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
        fn make(&self, params: &Params, seed: u64) -> Result<Box<dyn OutsideScheduler>, ParamError> {
            params.check_digest("d")?;
            Ok(Box::new(Always(seed as usize)))
        }
    }
    fn params(digest: &str) -> SchedulerParams {
        register("test", Box::new(Test));
        SchedulerParams::Outside(Params { language: "test".into(), digest: digest.into(), ..Params::default() })
    }

    #[test]
    fn a_registered_language_makes_schedulers_and_changed_code_is_refused() {
        let paths = [PathView::new(0), PathView::new(1)];
        let mut scheduler = Scheduler::new(&params("d"), 1);
        assert_eq!(scheduler.clone().pick(Time::ZERO, &paths, &SegView::default()), Paths::one(1));
        assert!(scheduler.replicates() && params("d").check().is_ok() && params("e").check().is_err());
        assert!(!SchedulerParams::NAMES.contains(&"outside"));
        assert_eq!(scheduler.pick(Time::ZERO, &paths[..1], &SegView::default()), Paths::one(0), "there is no path 1");
        assert!(!scheduler.replicates(), "it broke its contract");
    }
}
