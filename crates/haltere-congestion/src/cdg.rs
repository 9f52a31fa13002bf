//! CDG: the window backs off when the round-trip time grows, whatever its size.
//! Source, deviations and known problems: see [`Params`].
//! Model: once a round trip, of the least and of the largest RTT, g = its change since the round before, and the gradient is the mean of the
//! last `smoothing` values of g. While a gradient is above 0, with the probability 1 - exp(-gradient / G) the window is multiplied by
//! beta. Otherwise growth as Reno. After 5 back-offs in a row that did not shorten the queue there are none for 5 round trips. A shadow window
//! grows and halves as Reno's beside flows that fill the queue; after a loss the window is half of the larger of both.
//! Units: segments; delays ms. Cost: O(1) an acknowledgement, an exponential function a round trip.

use crate::law::{WindowLaw, Windowed};
use crate::random::SplitMix;
use crate::window::Window;
use crate::{AckEvent, LossKind, SenderContext};
use alloc::collections::VecDeque;
use haltere_units::{Dur, ParamError, Probe, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Delay gradients as the signal of congestion, with back-offs at random (CAIA Delay-Gradient).
///
/// Source: Hayes and Armitage, "Revisiting TCP congestion control using delay gradients", NETWORKING 2011. Armitage and Khademi,
/// "Using delay-gradient TCP for multimedia-friendly background transport in home networks", LCN 2013 (use and defaults).
///
/// Deviations: a loss always reduces by default; with `tolerance` only if the queue seems full, as in the paper (Linux has both,
/// with this default). Slow start ends with the first back-off.
///
/// Known problems: beside flows that fill the queue it gets less than its share, though the shadow window helps. In a queue that is always
/// full there is no gradient.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// G, above 0: the gradient, in time a round trip, at which a back-off has the probability 63 %. The default is the paper's.
    pub scale: Dur,
    /// beta, from 0.1 to 0.99: what a back-off leaves of the window. The default is the paper's.
    pub beta: f64,
    /// a, from 1 to 64: round trips over which a gradient is smoothed. The default is the paper's.
    pub smoothing: u32,
    /// Back-offs in a row that have no effect before back-offs pause, and round trips of the pause; 0: never. The default is the paper's.
    pub ineffectual: u32,
    /// Keep a shadow window beside flows that fill the queue. The default is the paper's.
    pub shadow: bool,
    /// A loss reduces only if the queue seems full: the largest RTT stopped growing before the least one did. For paths that lose at random.
    pub tolerance: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params { scale: Dur::from_ms(3), beta: 0.7, smoothing: 8, ineffectual: 5, shadow: true, tolerance: false }
    }
}

/// The smoothed change of a round-trip time from round to round, in ms.
#[derive(Debug, Clone, Default)]
struct Gradient {
    last_ms: Option<f64>,
    changes: VecDeque<f64>,
    smooth: f64,
}

impl Gradient {
    /// The paper, equation 2: a moving average of `length` changes, of which the older ones are 0 at first.
    fn add(&mut self, rtt_ms: f64, length: usize) {
        if let Some(last) = self.last_ms.replace(rtt_ms) {
            self.changes.push_back(rtt_ms - last);
            if self.changes.len() > length {
                self.changes.pop_front();
            }
            self.smooth = self.changes.iter().sum::<f64>() / length as f64;
        }
    }
}

/// The law.
#[derive(Debug, Clone)]
pub struct Law {
    params: Params,
    scale_ms: f64,
    random: SplitMix,
    least: Gradient,
    largest: Gradient,
    /// The least and the largest RTT of this round trip, in ms.
    round: Option<(f64, f64)>,
    /// The queue seems full.
    full: bool,
    /// The shadow window, in segments; 0 before the first back-off.
    shadow: u64,
    /// Segments acknowledged towards the next one of the shadow window.
    shadow_acked: u64,
    /// Back-offs in a row, and round trips until the next may come.
    backoffs: u32,
    pause: u32,
}

/// The control.
pub type Cdg = Windowed<Law>;

impl Cdg {
    /// A sender at its initial window.
    pub fn new(params: &Params, sender: &SenderContext) -> Result<Cdg, ParamError> {
        let usual = Params::default();
        if params.scale.is_zero() {
            return Err(ParamError::new("scale", "above 0", params.scale).default_is(usual.scale));
        }
        if !(0.1..=0.99).contains(&params.beta) {
            return Err(ParamError::new("beta", "from 0.1 to 0.99", params.beta).default_is(usual.beta));
        }
        if !(1..=64).contains(&params.smoothing) {
            return Err(ParamError::new("smoothing", "from 1 to 64", params.smoothing).default_is(usual.smoothing));
        }
        let law = Law {
            params: params.clone(),
            scale_ms: params.scale.as_secs_f64() * 1e3,
            random: SplitMix::new(sender.seed),
            least: Gradient::default(),
            largest: Gradient::default(),
            round: None,
            full: false,
            shadow: 0,
            shadow_acked: 0,
            backoffs: 0,
            pause: 0,
        };
        Ok(Windowed { window: Window::new(sender), law })
    }
}

impl Law {
    /// The gradient that counts: the larger of the two that are above 0.
    fn gradient(&self) -> f64 {
        self.least.smooth.max(self.largest.smooth)
    }
    /// The paper, equation 4.
    fn probability(&self) -> f64 {
        let gradient = self.gradient();
        if gradient > 0.0 { 1.0 - libm::exp(-gradient / self.scale_ms) } else { 0.0 }
    }
    fn draw(&mut self) -> f64 {
        (self.random.next() >> 11) as f64 / (1u64 << 53) as f64
    }
    fn end_round(&mut self, window: &mut Window) {
        let Some((least, largest)) = self.round.take() else { return };
        let length = self.params.smoothing as usize;
        self.least.add(least, length);
        self.largest.add(largest, length);
        // The paper, section 3.2: a full queue cannot grow, so the largest RTT stops first; an empty one cannot shrink.
        if self.least.smooth > 0.0 && self.largest.smooth <= 0.0 {
            self.full = true;
        } else if self.largest.smooth < 0.0 && self.least.smooth >= 0.0 || self.largest.smooth > 0.0 {
            self.full = false;
        }
        if self.gradient() <= 0.0 {
            (self.backoffs, self.pause) = (0, 0);
        } else if self.pause > 0 {
            self.pause -= 1;
        } else if self.draw() < self.probability() {
            self.back_off(window);
        }
    }
    fn back_off(&mut self, window: &mut Window) {
        if self.params.shadow {
            self.shadow = self.shadow.max(window.cwnd);
        }
        window.reduce((window.cwnd as f64 * self.params.beta) as u64, LossKind::Ecn);
        self.backoffs += 1;
        if self.params.ineffectual > 0 && self.backoffs >= self.params.ineffectual {
            (self.backoffs, self.pause) = (0, self.params.ineffectual);
        }
    }
    /// The shadow window grows as Reno's.
    fn grow_shadow(&mut self, acked: u64) {
        if self.shadow > 0 {
            self.shadow_acked += acked;
            if self.shadow_acked >= self.shadow {
                self.shadow_acked -= self.shadow;
                self.shadow += 1;
            }
        }
    }
}

impl WindowLaw for Law {
    fn observe(&mut self, ev: &AckEvent, window: &mut Window) {
        if ev.round_start && !ev.in_recovery && !ev.in_rto_recovery {
            self.end_round(window);
        }
        let Some(rtt) = ev.rtt else { return };
        let ms = rtt.as_secs_f64() * 1e3;
        self.round = Some(self.round.map_or((ms, ms), |(least, largest)| (least.min(ms), largest.max(ms))));
    }
    fn avoid(&mut self, _ev: &AckEvent, window: &mut Window, acked: u64) {
        self.grow_shadow(acked);
        window.additive_increase(window.cwnd, acked);
    }
    fn reduced(&mut self, window: &Window, _now: Time) -> u64 {
        if self.params.tolerance && !self.full {
            return window.cwnd;
        }
        let half = window.cwnd.max(self.shadow) / 2;
        self.shadow = if self.params.shadow { half } else { 0 };
        self.shadow_acked = 0;
        half
    }
    fn timed_out(&mut self) {
        (self.least, self.largest, self.round) = (Gradient::default(), Gradient::default(), None);
        (self.shadow, self.backoffs, self.pause, self.full) = (0, 0, 0, false);
    }
    fn probe(&self, row: &mut Probe) {
        row.push("gradient_min", "s", self.least.smooth * 1e-3);
        row.push("gradient_max", "s", self.largest.smooth * 1e-3);
        row.push("shadow", "segments", self.shadow as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::law::testing::{loss, sender};

    fn cdg(params: Params) -> Cdg {
        Cdg::new(&params, &sender(10)).unwrap().avoiding(100)
    }
    /// A round trip with this least and this largest RTT, in ms.
    fn pass(c: &mut Cdg, least: f64, largest: f64) {
        c.law.round = Some((least, largest));
        let mut window = c.window.clone();
        c.law.end_round(&mut window);
        c.window = window;
    }

    /// By hand, a = 8: changes of 4, 4 and -2 ms give 4/8, 8/8 and 6/8 ms a round trip.
    #[test]
    fn a_gradient_is_the_moving_average_of_the_changes() {
        let mut g = Gradient::default();
        let seen: alloc::vec::Vec<f64> = [40.0, 44.0, 48.0, 46.0]
            .into_iter()
            .map(|rtt| {
                g.add(rtt, 8);
                g.smooth
            })
            .collect();
        assert_eq!(seen, [0.0, 0.5, 1.0, 0.75]);
        (0..8).for_each(|_| g.add(46.0, 8));
        assert_eq!(g.smooth, 0.0, "eight round trips later it is forgotten");
    }

    /// By hand: gradient 3 ms at G = 3 ms: 1 - 1/e = 0.632.
    #[test]
    fn the_probability_of_a_back_off_is_that_of_the_paper() {
        let mut c = cdg(Params::default());
        c.law.largest.smooth = 3.0;
        assert!((c.law.probability() - 0.632).abs() < 1e-3);
        c.law.largest.smooth = -3.0;
        assert_eq!(c.law.probability(), 0.0);
    }

    #[test]
    fn a_steep_rise_backs_off_and_a_steady_delay_does_not() {
        let mut c = cdg(Params::default());
        (0..20).for_each(|_| pass(&mut c, 40.0, 45.0));
        assert_eq!(c.window.cwnd, 100);
        pass(&mut c, 40.0, 4045.0);
        assert_eq!((c.window.cwnd, c.law.shadow), (70, 100));
    }

    #[test]
    fn five_back_offs_without_effect_pause_for_five_round_trips() {
        let mut c = cdg(Params { smoothing: 1, ..Params::default() });
        let mut rtt = 1000.0;
        let mut widths = alloc::vec::Vec::new();
        for _ in 0..12 {
            pass(&mut c, rtt, rtt);
            rtt += 1000.0;
            widths.push(c.window.cwnd);
        }
        // The first round has no gradient; five back-offs; five round trips of rest; the next back-off.
        assert_eq!(widths, [100, 70, 49, 34, 23, 16, 16, 16, 16, 16, 16, 11]);
    }

    #[test]
    fn a_loss_halves_the_larger_of_window_and_shadow() {
        let mut c = cdg(Params::default());
        c.law.shadow = 140;
        c.on_loss(&loss(0));
        assert_eq!((c.window.cwnd, c.law.shadow), (70, 70));
    }

    #[test]
    fn with_tolerance_a_loss_counts_only_if_the_queue_seems_full() {
        let mut c = cdg(Params { tolerance: true, ..Params::default() });
        c.on_loss(&loss(0));
        assert_eq!(c.window.cwnd, 100);
        c.law.full = true;
        c.on_loss(&loss(1));
        assert_eq!(c.window.cwnd, 50);
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let refused = |params| Cdg::new(&params, &sender(10)).is_err();
        assert!(refused(Params { scale: Dur::ZERO, ..Params::default() }));
        assert!(refused(Params { beta: 1.0, ..Params::default() }));
        assert!(refused(Params { smoothing: 0, ..Params::default() }));
    }
}
