//! What a decision sets, and in which unit: the one home of the actions.

use haltere_units::{Bytes, Dur};

/// Steps of the action `discrete`: factor of the window, then segments added.
const STEPS: [(f64, f64); 5] = [(0.5, 0.0), (1.0, -10.0), (1.0, 0.0), (1.0, 10.0), (2.0, 0.0)];
/// The least and the largest pacing rate, in bit/s.
const PACING: (f64, f64) = (1e4, 1e12);
/// The largest window, in segments.
const MOST_SEGMENTS: f64 = 1_048_576.0;

/// What one action is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ActionSpec {
    /// The action that this describes.
    pub action: Action,
    /// Its name in the gym and in policy files.
    pub name: &'static str,
    /// Values of a decision.
    pub width: usize,
    /// Choices, if the value is the number of one; else 0.
    pub choices: usize,
    /// The unit of each value.
    pub unit: &'static str,
    /// The least value of a decision.
    pub low: f64,
    /// The largest value of a decision.
    pub high: f64,
    /// What a decision does, for the documents.
    pub meaning: &'static str,
}

/// Declares the actions: the enum, and its table.
macro_rules! actions {
    ($($(#[$doc:meta])+ $action:ident $name:ident $width:literal $choices:literal $unit:literal $low:expr, $high:expr,
        $meaning:literal;)+) => {
        /// What a decision sets: a window, a rate, or a probability.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Action { $($(#[$doc])+ $action),+ }

        /// The table of all actions.
        pub const ACTIONS: &[ActionSpec] = &[$(ActionSpec {
            action: Action::$action, name: stringify!($name), width: $width, choices: $choices, unit: $unit, low: $low,
            high: $high, meaning: $meaning,
        }),+];
    };
}

actions! {
    /// The congestion window, by a factor.
    Cwnd cwnd 1 0 "log2" -1.0, 1.0, "The congestion window is multiplied by 2 to the power of the value.";
    /// The pacing rate, by a factor.
    Pacing pacing 1 0 "log2" -1.0, 1.0,
        "The pacing rate is multiplied by 2 to the power of the value. The window is twice the pacing rate times the \
         smoothed round-trip time, at least 4 segments.";
    /// Both, by a factor each.
    Both both 2 0 "log2" -1.0, 1.0,
        "The congestion window and the pacing rate are each multiplied by 2 to the power of their value.";
    /// One of five steps of the congestion window.
    Discrete discrete 1 5 "1" 0.0, 4.0,
        "The congestion window is halved (0), less 10 segments (1), the same (2), more 10 segments (3), doubled (4).";
    /// The congestion window itself.
    CwndSegments cwnd_segments 1 0 "p" 1.0, MOST_SEGMENTS, "The congestion window in full segments.";
    /// The pacing rate itself.
    PacingBps pacing_bps 1 0 "bit/s" PACING.0, PACING.1, "The pacing rate; the window follows as with `pacing`.";
    /// The probability of a drop or mark in a queue.
    Probability probability 1 0 "1" 0.0, 1.0,
        "Probability that a packet that arrives is dropped, or marked if the queue marks and the packet can be.";
}

/// What a sender has set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// The congestion window in bytes.
    pub cwnd: f64,
    /// The pacing rate in bit/s; 0: the sender does not pace.
    pub pacing_bps: f64,
}

impl Action {
    /// The action of that name.
    pub fn of(name: &str) -> Option<Action> {
        ACTIONS.iter().find(|spec| spec.name == name).map(|spec| spec.action)
    }
    /// Its line in the table of actions.
    pub fn spec(self) -> &'static ActionSpec {
        ACTIONS.iter().find(|spec| spec.action == self).expect("every action has a line")
    }
    /// True if it sets a pacing rate.
    pub fn paces(self) -> bool {
        matches!(self, Action::Pacing | Action::Both | Action::PacingBps)
    }
    /// The first value in the range of the action, as a number from -1 to 1.
    pub fn normalised(self, values: &[f64]) -> f64 {
        let spec = self.spec();
        (2.0 * (self.limit(values, 0) - spec.low) / (spec.high - spec.low) - 1.0).clamp(-1.0, 1.0)
    }
    fn limit(self, values: &[f64], index: usize) -> f64 {
        let spec = self.spec();
        values.get(index).map_or(spec.low, |value| value.clamp(spec.low, spec.high))
    }
    /// What is set after a decision of these values.
    pub fn apply(self, values: &[f64], before: Setting, mss: Bytes, srtt: Dur) -> Setting {
        let mss = mss.as_f64();
        let window = |bytes: f64| bytes.clamp(mss, MOST_SEGMENTS * mss);
        let rate = |bps: f64| bps.clamp(PACING.0, PACING.1);
        let following =
            |bps: f64| Setting { cwnd: window((2.0 * bps / 8.0 * srtt.as_secs_f64()).max(4.0 * mss)), pacing_bps: bps };
        let first = self.limit(values, 0);
        match self {
            Action::Cwnd => Setting { cwnd: window(before.cwnd * libm::exp2(first)), ..before },
            Action::Pacing => following(rate(before.pacing_bps * libm::exp2(first))),
            Action::Both => Setting {
                cwnd: window(before.cwnd * libm::exp2(first)),
                pacing_bps: rate(before.pacing_bps * libm::exp2(self.limit(values, 1))),
            },
            Action::Discrete => {
                let (factor, segments) = STEPS[first.round() as usize];
                Setting { cwnd: window(before.cwnd * factor + segments * mss), ..before }
            }
            Action::CwndSegments => Setting { cwnd: window(first * mss), ..before },
            Action::PacingBps => following(rate(first)),
            Action::Probability => before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1000);

    fn after(action: Action, values: &[f64]) -> Setting {
        action.apply(values, Setting { cwnd: 20_000.0, pacing_bps: 1e6 }, MSS, Dur::from_ms(100))
    }

    #[test]
    fn decisions_set_what_the_table_says() {
        assert_eq!(after(Action::Cwnd, &[1.0]).cwnd, 40_000.0);
        assert_eq!(after(Action::Cwnd, &[-7.0]).cwnd, 10_000.0, "values end at the range");
        let cwnds = [0.0, 1.0, 2.0, 3.0, 4.0].map(|choice| after(Action::Discrete, &[choice]).cwnd);
        assert_eq!(cwnds, [10_000.0, 10_000.0, 20_000.0, 30_000.0, 40_000.0]);
        assert_eq!(after(Action::Pacing, &[1.0]), Setting { cwnd: 50_000.0, pacing_bps: 2e6 });
        assert_eq!(after(Action::Both, &[0.0, -1.0]), Setting { cwnd: 20_000.0, pacing_bps: 5e5 });
        assert_eq!(after(Action::CwndSegments, &[3.0]).cwnd, 3000.0);
        assert_eq!(after(Action::PacingBps, &[1.0]).pacing_bps, 1e4);
    }
    #[test]
    fn names_and_ranges_of_actions_are_in_order() {
        for spec in ACTIONS {
            assert_eq!(Action::of(spec.name), Some(spec.action));
            assert!(spec.low < spec.high && spec.width > 0);
        }
        assert_eq!(Action::Cwnd.normalised(&[0.5]), 0.5);
        assert_eq!(Action::Discrete.normalised(&[4.0]), 1.0);
    }
}
