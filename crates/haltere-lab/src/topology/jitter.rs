//! Jitter, as written in an experiment file.

use crate::keys::kind;
use haltere_plan::jitter;
use haltere_units::Dur;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Jitter: the most that is added to a packet's delay, drawn uniformly from zero, or a table with `kind`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Jitter {
    /// Uniform, from zero to that.
    Uniform(Dur),
    /// As in busy Wi-Fi networks.
    Wifi(WifiJitter),
}

kind! {
    /// The kind `wifi`.
    WifiKind, Wifi, "wifi"
}

/// Jitter as in busy Wi-Fi networks. Each packet is deferred by some milliseconds, N1 ~ Poisson(1) less U(0, 1 ms).
/// A fraction x of the packets is retransmitted N2 ~ Poisson(12) times, 7.5 ms each. x is (`mean` - 1 ms) / 90 ms, from
/// 0 to 1. Packets keep their order, so those behind a late one come with it. Source: draft-huitema-ccwg-c4-test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WifiJitter {
    /// The kind.
    pub kind: WifiKind,
    /// The mean, 0.3 ms more than what comes out. "Bad Wi-Fi" in the draft has 7 ms: several times a second 100 to 200
    /// ms.
    pub mean: Dur,
}

impl Default for Jitter {
    fn default() -> Jitter {
        Jitter::Uniform(Dur::ZERO)
    }
}

impl From<Jitter> for jitter::Jitter {
    fn from(jitter: Jitter) -> jitter::Jitter {
        match jitter {
            Jitter::Uniform(most) => jitter::Jitter::Uniform(most),
            Jitter::Wifi(WifiJitter { mean, .. }) => jitter::Jitter::Wifi(mean),
        }
    }
}
