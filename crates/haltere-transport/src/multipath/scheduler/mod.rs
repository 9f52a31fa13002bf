//! Schedulers: which paths carry a segment. One line in `schedulers!` makes one known everywhere.

use super::correlation::Relations;
use super::view::{PathView, Paths, SegView};
use haltere_units::{ParamError, Time};

/// Chooses the paths of each segment.
pub trait PathScheduler {
    /// The paths that shall carry this segment, none to wait. Only those that are usable and ready can take it now. One that
    /// [`replicates`](PathScheduler::replicates) is asked again for each path when that has room, with what carried the segment so far.
    fn pick(&mut self, now: Time, paths: &[PathView], seg: &SegView) -> Paths;
    /// True where segments go on several paths: each path then runs through the stream at its own pace.
    fn replicates(&self) -> bool {
        false
    }
    /// True where a path is given more than its window lets it send now: it waits in the subflow's own buffer.
    fn queues_ahead(&self) -> bool {
        false
    }
    /// The first correlator has looked at the paths again.
    fn on_relations(&mut self, _relations: &Relations) {}
}

macro_rules! schedulers {
    ($($variant:ident, $module:ident);+ $(;)?) => {
        $(pub mod $module;)+

        haltere_units::params_registry! {
            /// A scheduler with its parameters, told apart by `kind`.
            pub enum SchedulerParams { $($variant($module::Params) = $module),+ }
        }

        impl SchedulerParams {
            /// The first parameter that breaks its rule, as an error.
            pub fn check(&self) -> Result<(), ParamError> {
                match self { $(SchedulerParams::$variant(p) => p.check()),+ }
            }
        }

        /// Any scheduler of the registry.
        #[derive(Debug, Clone)]
        #[expect(missing_docs, reason = "each variant is the scheduler of that name")]
        pub enum Scheduler { $($variant($module::$variant)),+ }

        impl Scheduler {
            /// The scheduler of these parameters, which have been checked.
            pub fn new(params: &SchedulerParams) -> Scheduler {
                match params { $(SchedulerParams::$variant(p) => Scheduler::$variant($module::$variant::new(p))),+ }
            }
        }

        impl PathScheduler for Scheduler {
            fn pick(&mut self, now: Time, paths: &[PathView], seg: &SegView) -> Paths {
                match self { $(Scheduler::$variant(s) => s.pick(now, paths, seg)),+ }
            }
            fn replicates(&self) -> bool {
                match self { $(Scheduler::$variant(s) => s.replicates()),+ }
            }
            fn queues_ahead(&self) -> bool {
                match self { $(Scheduler::$variant(s) => s.queues_ahead()),+ }
            }
            fn on_relations(&mut self, relations: &Relations) {
                match self { $(Scheduler::$variant(s) => s.on_relations(relations)),+ }
            }
        }
    };
}

schedulers! {
    LowestRtt, lowest_rtt;
    RoundRobin, round_robin;
    Redundant, redundant;
    Red, red;
    Blest, blest;
    Ecf, ecf;
    Linux, linux;
}
