//! A player of adaptive video. The rule is [`Player`]'s.

use super::Place;
use super::exchange::Exchange;
use haltere_plan::exchange::Player;
use haltere_plan::plan::{FlowPlan, VideoPlan};
use haltere_units::ParamError;

/// A flow of video segments.
pub(crate) type Video = Exchange<Player>;

impl Video {
    pub fn new(flow: &FlowPlan, plan: &VideoPlan, place: Place) -> Result<Video, ParamError> {
        Exchange::of(flow, &plan.tcp, Player::new(flow, plan)?, place)
    }
}
