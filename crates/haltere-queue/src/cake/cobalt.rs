//! COBALT: CoDel, whose rate of drops decays, beside BLUE.

use crate::{Fate, MarkReason, Pkt, mark};
use haltere_units::{Dur, Time};

/// Added to BLUE's probability by an overflow, and taken from it by an empty queue (section III.C; the values are
/// Linux's).
const INCREASE: f64 = 1.0 / 256.0;
const DECREASE: f64 = 1.0 / 4096.0;
/// A queue whose packets wait no longer than the transmission of this many full packets is not too long.
pub(super) const SPARED_PACKETS: u64 = 4;

/// What the queues of a tin have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Config {
    /// The delay that is acceptable.
    pub target: Dur,
    /// How long it may be more.
    pub interval: Dur,
    /// Time that a full packet takes; zero without a shaper.
    pub packet_time: Dur,
    /// A delay of so many full packets is acceptable in any case.
    pub spared_packets: u64,
}

impl Config {
    /// For an `rtt` and a rate at which a full packet takes that time. A slow link gets a target of one and a half
    /// packets.
    pub fn new(rtt: Dur, packet_time: Dur) -> Config {
        let wanted = Dur::from_ns(rtt.as_ns() / 20);
        let target = wanted.max(Dur::from_ns(packet_time.as_ns() * 3 / 2));
        Config {
            target,
            interval: (rtt + (target - wanted)).max(target * 2),
            packet_time,
            spared_packets: SPARED_PACKETS,
        }
    }
    /// True if a packet that waited so long waited too long.
    fn is_late(&self, sojourn: Dur) -> bool {
        sojourn > self.target && sojourn > self.packet_time * self.spared_packets
    }
    fn gap(&self, count: u32) -> Dur {
        Dur::from_ns((self.interval.as_ns() as f64 / libm::sqrt(f64::from(count))) as u64)
    }
}

/// The state of one queue.
#[derive(Debug, Clone)]
pub(super) struct Cobalt {
    /// Sets the rate of CoDel's drops. It falls by one for each that was due while the delay was fine.
    pub count: u32,
    dropping: bool,
    drop_next: Time,
    /// The gap for `count` was computed before. Linux begins with a gap of zero, and computes it only when `count`
    /// changes in or after a late period: the first late packet of a fresh queue makes the next one due at once.
    aged: bool,
    /// BLUE's probability.
    pub probability: f64,
    /// When the probability changed.
    changed: Time,
}

impl Cobalt {
    /// The state of a queue that was late before if it is `aged`, else of one that never was.
    pub const fn new(aged: bool) -> Cobalt {
        Cobalt { count: 0, dropping: false, drop_next: Time::ZERO, aged, probability: 0.0, changed: Time::ZERO }
    }
    /// True if nothing is left to decay.
    pub fn is_at_rest(&self, now: Time) -> bool {
        self.probability == 0.0 && self.count == 0 && now >= self.drop_next
    }
    /// The queue lost a packet because no room was left: CoDel drops from now on, and BLUE more often.
    pub fn on_overflow(&mut self, config: &Config, now: Time) {
        if now.since(self.changed) > config.target {
            self.probability = (self.probability + INCREASE).min(1.0);
            self.changed = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }
    /// The queue was asked for a packet and has none.
    pub fn on_empty(&mut self, config: &Config, now: Time) {
        if self.probability > 0.0 && now.since(self.changed) > config.target {
            self.probability = (self.probability - DECREASE).max(0.0);
            self.changed = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.decay(config);
        }
    }
    fn decay(&mut self, config: &Config) {
        self.count -= 1;
        self.aged = true;
        if self.count > 0 {
            self.drop_next += config.gap(self.count);
        }
    }
    /// True if the packet, which waited so long, is to be dropped. It may be marked instead.
    #[inline]
    pub fn decide<P: Pkt>(
        &mut self,
        config: &Config,
        (now, sojourn): (Time, Dur),
        pkt: &mut P,
        fate: &mut impl Fate<P>,
    ) -> bool {
        let due = self.count > 0 && now >= self.drop_next;
        if config.is_late(sojourn) {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = if self.aged { now + config.gap(self.count.max(1)) } else { now };
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut drop = false;
        if due && self.dropping {
            drop = !mark(pkt, MarkReason::Congestion, fate);
            self.count = self.count.saturating_add(1);
            self.aged = true;
            self.drop_next += config.gap(self.count);
        } else if due {
            while self.count > 0 && now >= self.drop_next {
                self.decay(config);
            }
        }
        if self.probability > 0.0 {
            drop |= fate.uniform() < self.probability;
        }
        if self.count == 0 {
            self.drop_next = now + config.interval;
        } else if !drop && now > self.drop_next {
            self.drop_next = now; // one signal a packet, so no debt is kept
        }
        drop
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::testing::{Recorder, TestPkt};

    const CONFIG: Config =
        Config { target: Dur::from_ms(5), interval: Dur::from_ms(100), packet_time: Dur::ZERO, spared_packets: 4 };

    fn at(ms: u64) -> Time {
        Time::ZERO + Dur::from_ms(ms)
    }
    fn is_dropped(cobalt: &mut Cobalt, ms: u64, sojourn_ms: u64, fate: &mut Recorder) -> bool {
        cobalt.decide(&CONFIG, (at(ms), Dur::from_ms(sojourn_ms)), &mut TestPkt::new(ms, 1500), fate)
    }

    #[test]
    fn drops_begin_an_interval_after_the_delay_rose_and_come_faster() {
        // At 100 + 100, then after 100 / sqrt(2) = 70.7 and 100 / sqrt(3) = 57.7 ms more.
        let (mut cobalt, mut fate) = (Cobalt::new(true), Recorder::new(1));
        let drops: alloc::vec::Vec<u64> = (100..400).filter(|&ms| is_dropped(&mut cobalt, ms, 6, &mut fate)).collect();
        assert_eq!(drops, [200, 271, 329, 379]);
    }
    /// By hand: late at 100 ms with a gap of zero, so the packet at 101 is due; then 100 / sqrt(2) = 70.7 and 100 /
    /// sqrt(3) = 57.7 ms.
    #[test]
    fn the_second_late_packet_of_a_fresh_queue_is_dropped_at_once() {
        let (mut cobalt, mut fate) = (Cobalt::new(false), Recorder::new(1));
        let drops: alloc::vec::Vec<u64> = (100..250).filter(|&ms| is_dropped(&mut cobalt, ms, 6, &mut fate)).collect();
        assert_eq!(drops, [101, 171, 229]);
    }
    #[test]
    fn the_count_decays_at_the_rate_at_which_it_would_have_dropped() {
        let (mut cobalt, mut fate) = (Cobalt::new(true), Recorder::new(1));
        assert_eq!((100..400).filter(|&ms| is_dropped(&mut cobalt, ms, 6, &mut fate)).count(), 4);
        assert_eq!(cobalt.count, 5);
        // The next would be due 100 / sqrt(5) = 44.7 ms after 379: at 423 the delay is fine, and 4 are left, then 3 at
        // 473.
        (400..450).for_each(|ms| assert!(!is_dropped(&mut cobalt, ms, 1, &mut fate)));
        assert_eq!(cobalt.count, 4);
        (450..1000).for_each(|ms| assert!(!is_dropped(&mut cobalt, ms, 1, &mut fate)));
        assert!(cobalt.count == 0 && cobalt.probability == 0.0);
    }
    #[test]
    fn overflows_raise_the_probability_once_a_target_and_idle_times_lower_it() {
        let mut cobalt = Cobalt::new(true);
        for ms in 1..=12 {
            cobalt.on_overflow(&CONFIG, at(ms)); // at 6 and at 12 ms
        }
        assert_eq!(cobalt.probability, 2.0 / 256.0);
        cobalt.on_empty(&CONFIG, at(13));
        assert_eq!(cobalt.probability, 2.0 / 256.0, "a target has not passed");
        cobalt.on_empty(&CONFIG, at(20));
        assert_eq!(cobalt.probability, 2.0 / 256.0 - 1.0 / 4096.0);
    }
    #[test]
    fn blue_drops_even_what_could_be_marked() {
        let (mut cobalt, mut fate) = (Cobalt::new(true), Recorder::new(1));
        cobalt.probability = 0.5;
        fate.forced = alloc::vec![0.6, 0.4];
        let mut pkt = TestPkt::new(0, 1500).ecn(Ecn::Ect0);
        let mut decide = |ms| cobalt.decide(&CONFIG, (at(ms), Dur::ZERO), &mut pkt, &mut fate);
        assert_eq!([decide(1), decide(2)], [true, false]);
    }
    #[test]
    fn a_slow_link_has_a_longer_target() {
        // 1514 bytes at 625 kbit/s take 19.4 ms, so the target is 29.1 ms, and the interval grows as much.
        let slow = Config::new(Dur::from_ms(100), Dur::from_us(19_379));
        assert_eq!((slow.target, slow.interval), (Dur::from_ns(29_068_500), Dur::from_ns(124_068_500)));
        assert_eq!(Config::new(Dur::from_ms(100), Dur::ZERO).target, Dur::from_ms(5));
    }
}
