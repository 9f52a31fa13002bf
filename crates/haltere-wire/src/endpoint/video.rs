//! A player of adaptive video.

use super::exchange::Exchange;
use super::{Opened, Opening};
use haltere_plan::exchange::Player;
use haltere_plan::plan::VideoPlan;

/// Opens a flow of the kind.
pub(super) fn open<'p>(plan: &'p VideoPlan, at: Opening<'p>) -> Opened<'p> {
    let client = Player::new(at.flow, plan).map_err(|e| at.refused(e))?;
    Ok(Box::new(Exchange::open(&plan.tcp, client, at)?))
}
