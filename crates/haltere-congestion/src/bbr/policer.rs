//! Long-term bandwidth: notice a token-bucket policer and send at its rate.
//! Source: Cardwell et al. 2016, section "Detecting and handling token-bucket policers"; Linux's interval rules.
//!
//! A policer lets bursts pass and then drops for long. An interval of 4 to 16 rounds begins and ends with a loss; when
//! a fifth was lost in each of two intervals and both have nearly the same rate, that is the policer's. It is believed
//! for 48 rounds.

use super::{Ack, Bbr, Mode};
use crate::RateSample;
use haltere_units::{Bytes, Dur, Rate, Time};

/// Rounds of the shortest interval; four times as many make the longest.
const MIN_ROUNDS: u32 = 4;
/// Rates that differ by no more than an eighth, or by 4 kbit/s, are the same.
const SAME_RATIO: u64 = 8;
const SAME_BPS: u64 = 4_000;
/// Rounds for which the policer's rate is believed.
const BELIEVED_ROUNDS: u32 = 48;
/// Lost segments, in 256ths of the delivered ones: 20 %.
const LOSS_THRESH: u64 = 50;

/// The sampling of long-term bandwidth.
#[derive(Debug, Clone, Default)]
pub(super) struct Policer {
    sampling: bool,
    believed: bool,
    bw: Rate,
    rounds: u32,
    start: Time,
    start_delivered: u64,
    start_lost: u64,
    /// Segments marked lost in all.
    pub lost: u64,
}

impl Policer {
    /// The policer's rate, if there is one.
    pub fn rate(&self) -> Option<Rate> {
        self.believed.then_some(self.bw)
    }
    pub fn reset(&mut self) {
        *self = Policer { lost: self.lost, ..Policer::default() };
    }
    fn begin(&mut self, now: Time, delivered: u64) {
        self.start = now;
        self.start_delivered = delivered;
        self.start_lost = self.lost;
        self.rounds = 0;
    }
    /// An interval with heavy loss had this rate.
    fn interval_done(&mut self, now: Time, delivered: u64, bw: Rate) {
        let difference = bw.as_bps().abs_diff(self.bw.as_bps());
        if self.bw > Rate::ZERO && (difference * SAME_RATIO <= self.bw.as_bps() || difference <= SAME_BPS) {
            self.bw = Rate::from_bps(bw.as_bps().midpoint(self.bw.as_bps()));
            self.believed = true;
            self.rounds = 0;
            return;
        }
        self.bw = bw;
        self.begin(now, delivered);
    }
}

impl Bbr {
    pub(super) fn sample_policer(&mut self, ack: &Ack, rate: &RateSample) {
        if self.params.detect_policer {
            self.step_policer(ack.ev.now, ack.lost > 0, rate.app_limited);
        }
    }

    /// A timeout is a loss at the begin of a round.
    pub(super) fn timeout_in_policer(&mut self, now: Time) {
        if self.params.detect_policer && !self.policer.believed && !self.policer.sampling {
            self.policer.sampling = true;
            self.policer.begin(now, self.core.delivered);
        }
    }

    fn step_policer(&mut self, now: Time, losses: bool, app_limited: bool) {
        let delivered = self.core.delivered;
        if self.policer.believed {
            return self.doubt_policer(now);
        }
        let p = &mut self.policer;
        if !p.sampling {
            if losses {
                p.sampling = true;
                p.begin(now, delivered);
            } else {
                return;
            }
        }
        if app_limited {
            return p.reset();
        }
        p.rounds += u32::from(self.core.round_start);
        if p.rounds < MIN_ROUNDS {
            return;
        }
        if p.rounds > 4 * MIN_ROUNDS {
            return p.reset();
        }
        let (lost, passed) = (p.lost - p.start_lost, delivered - p.start_delivered);
        let span = now.since(p.start);
        if losses && passed > 0 && lost * 256 >= LOSS_THRESH * passed && span >= Dur::from_ms(1) {
            let bw = Rate::of(Bytes::new(passed * self.core.mss), span);
            self.policer.interval_done(now, delivered, bw);
        }
    }

    /// After 48 rounds look whether the path carries more now.
    fn doubt_policer(&mut self, now: Time) {
        if self.mode == Mode::ProbeBw && self.core.round_start {
            self.policer.rounds += 1;
            if self.policer.rounds >= BELIEVED_ROUNDS {
                self.policer.reset();
                self.enter_probe_bw(now);
            }
        }
    }
}
