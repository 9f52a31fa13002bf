//! The draft and the authors' code, and the constants by which they differ.

use super::{Gain, PROBE_RTT_WINDOW};

haltere_units::params! {
    /// Whose rules apply where the draft and the authors' code differ.
    #[derive(Default)]
    pub enum Variant {
        /// The rules of draft-ietf-ccwg-bbr-06.
        #[default]
        Draft,
        /// Those of the authors' code for Linux (github.com/google/bbr, branch v3, `tcp_bbr.c`). Constants are in
        /// 256ths. Growth of the bandwidth is noticed at any acknowledgement, not only at the end of a round, so a
        /// probe lasts longer. The loss that ends a probe lowers the bounds, too. Each acknowledgement that finds
        /// nothing to send marks what leaves next as limited by the application; such samples measure no aggregation
        /// in a full window, which that of ProbeRTT is not. The flight is that at the next departure. Only a probe that
        /// ProbeRTT did not cut short renews the bandwidth filter. Fast recovery restores no window, and a spurious loss no phase. Startup counts
        /// acknowledgements with losses, not ranges. Drain has no limit in rounds.
        Linux,
    }
}

/// The constants of a variant.
#[derive(Debug, PartialEq)]
pub(super) struct Rules {
    pub startup: Gain,
    pub drain: Gain,
    pub down: Gain,
    /// The gain of ProbeRTT's target. Its window is half of a product in both.
    pub probe_rtt: Gain,
    /// What is left of a bound after a loss (beta).
    pub kept: Gain,
    /// The share of inflight_longterm that is left free for others.
    pub headroom: Gain,
    /// The loss rate that a probe may cause (LossThresh).
    pub loss_thresh: Gain,
}

const DRAFT: Rules = Rules {
    startup: Gain::percent(277),
    drain: Gain::percent(50),
    down: Gain::percent(90),
    probe_rtt: PROBE_RTT_WINDOW,
    kept: Gain::percent(70),
    headroom: Gain::percent(15),
    loss_thresh: Gain::percent(2),
};
const LINUX: Rules = Rules {
    startup: Gain::ratio(710, 256),
    drain: Gain::ratio(1000, 2885),
    down: Gain::ratio(91, 100),
    probe_rtt: Gain::UNIT,
    kept: Gain::ratio(180, 256),
    headroom: Gain::ratio(15, 100),
    loss_thresh: Gain::ratio(2, 100),
};

impl Variant {
    pub(super) const fn rules(self) -> &'static Rules {
        match self {
            Variant::Draft => &DRAFT,
            Variant::Linux => &LINUX,
        }
    }
}
