//! What a sender learns from the handshake.

use super::time::PosDur;
use haltere_units::Time;

/// What the handshake showed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Established {
    pub at: Time,
    /// Its round-trip time, if that could be measured.
    pub rtt: Option<PosDur>,
    pub lost: SynLoss,
}

/// How many SYNs of ours were lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SynLoss {
    None,
    One,
    More,
}
