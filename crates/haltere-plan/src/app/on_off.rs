//! TCP: an application that writes at a rate while it is on.

use super::prelude::*;

/// An application that writes at a rate, and is silent in between.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OnOffPlan {
    /// The TCP of both endpoints.
    pub tcp: TcpPlan,
    /// The rate at which it writes while on.
    pub rate: Rate,
    /// Bytes of one write.
    pub chunk: Bytes,
    /// How long it is on.
    pub on: DurationDistribution,
    /// How long it is off.
    pub off: DurationDistribution,
    /// It begins off: its first write comes after one off time.
    pub begins_off: bool,
}

tcp_app!(OnOffPlan);
