//! A player of adaptive video.

use super::exchange::Exchange;
use super::{Kind, Opening};
use crate::error::WireError;
use haltere_plan::exchange::Player;
use haltere_plan::plan::VideoPlan;

/// The kind.
pub(super) struct Video;

impl Kind for Video {
    type Plan = Box<VideoPlan>;
    type Endpoint<'p> = Exchange<'p, Player>;
    fn open<'p>(plan: &'p Box<VideoPlan>, at: Opening<'p>) -> Result<Exchange<'p, Player>, WireError> {
        let client = Player::new(at.flow, plan).map_err(|e| at.refused(e))?;
        Exchange::open(&plan.tcp, client, at)
    }
}
