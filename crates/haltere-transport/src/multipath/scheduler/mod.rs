//! Path schedulers: which paths carry a segment. One line in the registry below makes one known everywhere.

use self::outside::Check;
use super::correlation::Relations;
use super::view::{PathView, Paths, SegView};
use haltere_units::outside::Origin;
use haltere_units::{ParamError, Time};

/// Chooses the paths of each segment.
pub trait PathScheduler {
    /// The paths that are to carry this segment; none to wait. Only paths that are usable and ready can take it now. A
    /// scheduler that [`replicates`](PathScheduler::replicates) is asked again for each path once that has room.
    fn pick(&mut self, now: Time, paths: &[PathView], seg: &SegView) -> Paths;
    /// True if segments go on several paths: each path then runs through the stream at its own pace.
    fn replicates(&self) -> bool {
        false
    }
    /// True if a path is given more than its window lets it send now: the rest waits in the subflow's own buffer.
    fn queues_ahead(&self) -> bool {
        false
    }
    /// The first correlator has new relations.
    fn on_relations(&mut self, _relations: &Relations) {}
}

haltere_units::registry! {
    /// A path scheduler with its parameters, distinguished by `kind`.
    params SchedulerParams;
    /// Any scheduler of the registry.
    any Scheduler;
    match each_scheduler, outside => Outside;

    lowest_rtt => LowestRtt;
    round_robin => RoundRobin;
    redundant => Redundant;
    red => Red;
    blest => Blest;
    ecf => Ecf;
    linux => Linux;
}

impl SchedulerParams {
    /// The first parameter that breaks its rule, as an error.
    pub fn check(&self) -> Result<(), ParamError> {
        each_scheduler!(params p in self => p.check())
    }
}

impl Scheduler {
    /// The scheduler of these parameters, which have been checked. Only one from outside the tree may fail, or draw
    /// random numbers.
    pub fn new(params: &SchedulerParams, origin: &Origin) -> Result<Scheduler, ParamError> {
        let mut made = each_scheduler!(new p in params => (p));
        if let (Scheduler::Outside(outside), SchedulerParams::Outside(params)) = (&mut made, params) {
            outside.make(params, origin)?;
        }
        Ok(made)
    }
}

impl PathScheduler for Scheduler {
    fn pick(&mut self, now: Time, paths: &[PathView], seg: &SegView) -> Paths {
        each_scheduler!(self, s => s.pick(now, paths, seg))
    }
    fn replicates(&self) -> bool {
        each_scheduler!(self, s => s.replicates())
    }
    fn queues_ahead(&self) -> bool {
        each_scheduler!(self, s => s.queues_ahead())
    }
    fn on_relations(&mut self, relations: &Relations) {
        each_scheduler!(self, s => s.on_relations(relations))
    }
}
