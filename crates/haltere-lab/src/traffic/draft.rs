//! A flow as planned, with its place in the experiment.

use haltere_plan::plan::FlowPlan;
use std::rc::Rc;

/// A flow with what error messages need.
pub(crate) struct FlowDraft {
    pub(crate) plan: FlowPlan,
    /// The traffic entry, e.g. `traffic[0]`.
    pub(crate) place: Rc<str>,
    /// The ends as written, before `direction`.
    pub(crate) from_written: usize,
    pub(crate) to_written: usize,
}
