//! The filters of BBR's model: the largest value of a window in constant space, and the least round-trip time.
//! Source: Kathleen Nichols' algorithm, as draft-ietf-ccwg-bbr section 2.2 refers to it.
//! Model: the best value, the best since that one, and the best since the second. When the best grows too old the
//! second takes its place; a second (third) as old as the first is renewed after a quarter (half) of the window, so
//! that there is always a recent one to fall back on.
//! Units: time in whatever is counted (rounds, cycles). Cost: O(1).
//! Known problems: a maximum between the three kept ones may be forgotten early, never a larger one.

use haltere_units::{Dur, Time};

/// The least round-trip time and when it was seen.
#[derive(Debug, Clone, Default)]
pub(crate) struct MinRtt {
    pub value: Option<Dur>,
    pub stamp: Time,
}

impl MinRtt {
    /// Takes a sample if it is lower, or if the value is older than `window`. True if the value was that old.
    pub fn update(&mut self, now: Time, sample: Option<Dur>, window: Dur) -> bool {
        let expired = self.value.is_some() && now.since(self.stamp) > window;
        if let Some(rtt) = sample
            && (expired || self.value.is_none_or(|min| rtt < min))
        {
            *self = MinRtt { value: Some(rtt), stamp: now };
        }
        expired
    }
}

/// The largest value of the current window and of the one before it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LastTwo<V> {
    before: V,
    current: V,
}

impl<V: Copy + PartialOrd + Default> LastTwo<V> {
    pub fn get(&self) -> V {
        if self.before > self.current { self.before } else { self.current }
    }
    pub fn update(&mut self, value: V) {
        if value > self.current {
            self.current = value;
        }
    }
    /// The next window begins. The value of the one before the current one is forgotten.
    pub fn advance(&mut self) {
        self.before = core::mem::take(&mut self.current);
    }
    /// The same, unless the current window has no value: then the older one is all that is known.
    pub fn advance_if_any(&mut self) {
        if self.current > V::default() {
            self.advance();
        }
    }
}

/// The largest value of the last `window` ticks.
#[derive(Debug, Clone)]
pub(crate) struct WindowedMax<V> {
    window: u64,
    /// Tick and value: best, second, third; ticks ascend, values do not.
    best: [(u64, V); 3],
}

impl<V: Copy + PartialOrd> WindowedMax<V> {
    pub fn new(window: u64, zero: V) -> WindowedMax<V> {
        WindowedMax { window, best: [(0, zero); 3] }
    }
    pub fn get(&self) -> V {
        self.best[0].1
    }
    /// Sets the number of ticks in the window.
    pub fn set_window(&mut self, window: u64) {
        self.window = window;
    }
    pub fn reset(&mut self, tick: u64, value: V) {
        self.best = [(tick, value); 3];
    }
    pub fn update(&mut self, tick: u64, value: V) {
        if value >= self.best[0].1 || tick - self.best[2].0 > self.window {
            return self.reset(tick, value);
        }
        let sample = (tick, value);
        if value >= self.best[1].1 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if value >= self.best[2].1 {
            self.best[2] = sample;
        }
        self.age(sample);
    }

    fn age(&mut self, sample: (u64, V)) {
        let age = sample.0 - self.best[0].0;
        let tick = |i: usize, best: &[(u64, V); 3]| best[i].0;
        if age > self.window {
            self.shift(sample);
            if sample.0 - self.best[0].0 > self.window {
                self.shift(sample);
            }
        } else if tick(1, &self.best) == tick(0, &self.best) && age > self.window / 4 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if tick(2, &self.best) == tick(1, &self.best) && age > self.window / 2 {
            self.best[2] = sample;
        }
    }

    fn shift(&mut self, sample: (u64, V)) {
        self.best = [self.best[1], self.best[2], sample];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_lasts_for_the_window_and_the_next_best_follows() {
        let mut f = WindowedMax::new(10, 0u64);
        f.update(1, 100);
        (2..=11).for_each(|t| f.update(t, 50 + t));
        assert_eq!(f.get(), 100, "ten rounds old");
        f.update(12, 10);
        assert_eq!(f.get(), 61, "the largest of the last ten rounds");
    }

    /// By hand. A maximum early in its window counts in the next one, whatever comes between: `WindowedMax` may forget
    /// it.
    #[test]
    fn the_largest_of_two_windows_is_exact() {
        let mut f = LastTwo::default();
        for (values, largest) in [([9, 1, 1], 9), ([8, 2, 3], 9), ([1, 5, 2], 8), ([4, 3, 3], 5)] {
            values.into_iter().for_each(|value| f.update(value));
            assert_eq!(f.get(), largest, "{values:?}");
            f.advance_if_any();
        }
        f.advance_if_any();
        assert_eq!(f.get(), 4, "a window without a value does not count");
        f.advance();
        assert_eq!(f.get(), 0);
    }

    #[test]
    fn a_larger_value_replaces_all() {
        let mut f = WindowedMax::new(10, 0u64);
        f.update(1, 5);
        f.update(2, 9);
        assert_eq!((f.get(), f.best), (9, [(2, 9); 3]));
    }

    /// Against the plain definition: never more than the true maximum, and never less than that of the last half
    /// window.
    #[test]
    fn it_stays_between_the_plain_maxima() {
        let mut f = WindowedMax::new(10, 0u64);
        let mut state = 1u64;
        let values: alloc::vec::Vec<u64> = (0..500)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                state >> 54
            })
            .collect();
        for (t, &v) in values.iter().enumerate() {
            f.update(t as u64, v);
            let max = |span: usize| *values[t.saturating_sub(span)..=t].iter().max().unwrap();
            assert!(f.get() <= max(10) && f.get() >= max(5), "tick {t}: {} of {} to {}", f.get(), max(5), max(10));
        }
    }

    /// By hand, with a window of 8: nothing younger than a quarter replaces a second, nothing younger than half a
    /// third.
    #[test]
    fn a_second_is_renewed_after_a_quarter_and_a_third_after_half() {
        let mut f = WindowedMax::new(8, 0u64);
        for (tick, value, best) in [
            (1, 100, [(1, 100); 3]),
            (2, 50, [(1, 100); 3]),
            (4, 40, [(1, 100), (4, 40), (4, 40)]),
            (4, 30, [(1, 100), (4, 40), (4, 40)]),
            (6, 20, [(1, 100), (4, 40), (6, 20)]),
        ] {
            f.update(tick, value);
            assert_eq!(f.best, best, "at {tick}");
        }
    }

    #[test]
    fn the_least_round_trip_time_is_the_first_a_lower_or_one_after_the_window() {
        let (mut least, window) = (MinRtt::default(), Dur::from_secs(10));
        let mut take = |s, ms| {
            let expired = least.update(Time::ZERO + Dur::from_secs(s), Some(Dur::from_ms(ms)), window);
            (expired, least.value.map(|value| value.as_ns() / 1_000_000), least.stamp.as_ns() / 1_000_000_000)
        };
        assert_eq!(take(1, 10), (false, Some(10), 1));
        assert_eq!(take(2, 12), (false, Some(10), 1));
        assert_eq!(take(3, 8), (false, Some(8), 3));
        assert_eq!(take(13, 9), (false, Some(8), 3), "as old as the window");
        assert_eq!(take(14, 9), (true, Some(9), 14));
    }
}
