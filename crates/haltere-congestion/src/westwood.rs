//! Westwood+: a loss leaves the window that the measured bandwidth fills.
//! Model: once a round trip, and at most every 50 ms, b = bytes delivered / time; two low-pass filters of 7/8 in a row
//! give B. A loss halves the window as Reno's; when it is repaired, the window is B RTT_min. A timeout leaves ssthresh
//! = B RTT_min. Growth as Reno.
//! Units: byte/s; windows in segments. Cost: O(1) an acknowledgement.

use crate::law::{LINUX_TICK, Ticks, WindowLaw, Windowed};
use crate::reno::halved;
use crate::window::Window;
use crate::{AckEvent, SenderContext};
use haltere_units::{Dur, ParamError, Probe, Time};

haltere_units::params! {
    /// After a loss the window is what the measured bandwidth needs without a queue, for paths that lose at random.
    ///
    /// Source: Mascolo, Casetti, Gerla, Sanadidi and Wang, "TCP Westwood", MobiCom 2001; Grieco and Mascolo,
    /// "Performance evaluation and comparison of Westwood+, New Reno and Vegas", ACM CCR 34(2), 2004 (one sample a
    /// round trip).
    ///
    /// Deviations: these are Linux's. The constants (7/8, 50 ms). The window is B RTT_min at the end of a recovery and
    /// not at its beginning, so B includes what a halved window delivers during the recovery. The least RTT is measured
    /// anew after a timeout. The first sample begins with the connection, and lacks what the first acknowledgement
    /// covers. Times are whole ticks of the kernel's clock, and a round-trip time is rounded up to them:
    /// at 250 Hz one of 40.1 ms counts as 44 ms.
    ///
    /// Known problems: a bandwidth that others share is estimated too high, so it takes more than its share from Reno
    /// behind small buffers.
    pub struct Params {
        /// The least time that a sample of the bandwidth takes. The default is Linux's.
        pub interval: Dur = Dur::from_ms(50);
        /// The tick of the clock that times are counted in, above 0. The default is Linux's at 250 Hz; 1 us is as good
        /// as exact.
        pub tick: Dur = LINUX_TICK, [above 0];
    }
}

/// How Westwood+ changes the window. Times are in ticks.
#[derive(Debug, Clone, Default)]
pub struct Law {
    ticks: Ticks,
    interval: u64,
    mss: f64,
    /// Bytes delivered since `since`.
    bytes: u64,
    since: Option<u64>,
    /// After the first filter and after both, in bytes a tick.
    once: f64,
    twice: f64,
    /// The newest round-trip time, 0 until the first acknowledgement, and the least one; `None`: not measured since the
    /// last reset.
    rtt: u64,
    least: Option<u64>,
    /// The sender is in a recovery that began with a loss.
    recovering: bool,
}

/// Westwood+ for one sender.
pub type Westwood = Windowed<Law>;

impl Law {
    fn sample(&mut self, rate: f64) {
        if self.twice == 0.0 {
            (self.once, self.twice) = (rate, rate);
            return;
        }
        self.once = (7.0 * self.once + rate) / 8.0;
        self.twice = (7.0 * self.twice + self.once) / 8.0;
    }
    /// Segments that the measured bandwidth needs.
    fn needed(&self) -> u64 {
        ((self.twice * self.least.unwrap_or(self.rtt) as f64 / self.mss) as u64).max(2)
    }
}

impl WindowLaw for Law {
    type Params = Params;
    fn new(params: &Params, sender: &SenderContext) -> Result<Law, ParamError> {
        params.check()?;
        let (ticks, mss) = (Ticks(params.tick), sender.mss.as_u64().max(1) as f64);
        Ok(Law { ticks, interval: ticks.floor(params.interval), mss, ..Law::default() })
    }
    fn established(&mut self, _window: &mut Window, now: Time, _rtt: Dur) {
        self.since = Some(self.ticks.at(now));
    }
    fn observe(&mut self, ev: &AckEvent, _window: &mut Window) {
        let now = self.ticks.at(ev.now);
        let took = now - *self.since.get_or_insert(now);
        if self.rtt > 0 && took > self.interval.max(self.rtt) {
            self.sample(self.bytes as f64 / took as f64);
            (self.bytes, self.since) = (0, Some(now));
        }
        if self.rtt > 0 {
            self.bytes += ev.delivered.as_u64();
            self.least = Some(self.least.map_or(self.rtt, |least| least.min(self.rtt)));
        }
        if let Some(rtt) = ev.rtt {
            self.rtt = self.ticks.of(rtt);
        }
    }
    fn reduced(&mut self, window: &Window, _now: Time) -> u64 {
        self.recovering = true;
        halved(window)
    }
    fn recovered(&mut self, window: &mut Window, _now: Time) {
        if core::mem::take(&mut self.recovering) {
            window.ssthresh = self.needed();
            window.set_cwnd(window.ssthresh);
        }
    }
    fn left_by_timeout(&mut self, _window: &Window, _now: Time) -> u64 {
        self.needed()
    }
    fn timed_out(&mut self) {
        (self.least, self.recovering) = (None, false);
    }
    fn probe(&self, row: &mut Probe) {
        row.push("bandwidth", "bit/s", self.twice * 8.0 / self.ticks.seconds(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::law::testing::{ack, at, loss, sender};
    use crate::{LossEvent, LossKind};

    /// One segment a millisecond for five seconds, at that RTT.
    fn fed(tick: Dur, rtt_ms: u64) -> Westwood {
        let mut c = Westwood::new(&Params { tick, ..Params::default() }, &sender(10)).unwrap().avoiding(100);
        (0..5000).for_each(|ms| c.on_ack(&ack(ms, 1, rtt_ms, 40)));
        c.window.cwnd = 100;
        c
    }

    /// Windows of 10 and 20 segments, 80 ms apart. The first sample is over 160 ms, as 80 ms are not more than a round
    /// trip, and lacks the first two segments.
    #[test]
    fn the_first_sample_begins_with_the_connection() {
        let mut c = Westwood::new(&Params::default(), &sender(10)).unwrap();
        c.on_established(at(0), Dur::from_ms(80));
        (0..5).for_each(|_| c.on_ack(&ack(80, 2, 80, 10)));
        c.on_ack(&ack(160, 2, 80, 20));
        assert!((c.law.twice * 40.0 - 8.0 * c.law.mss).abs() < 1e-6, "{} segments", c.law.twice * 40.0 / c.law.mss);
    }

    /// 1000 segments/s; with 40 ms that is 40 segments.
    #[test]
    fn a_loss_halves_and_its_repair_leaves_bandwidth_times_least_rtt() {
        let mut c = fed(Dur::from_us(1), 40);
        c.on_loss(&loss(5000));
        assert_eq!(c.window.cwnd, 50);
        c.on_recovered(at(5040));
        assert!((39..=40).contains(&c.window.cwnd), "{}", c.window.cwnd);
        assert_eq!(c.window.ssthresh, c.window.cwnd);
    }

    /// 41 ms are 11 ticks of 4 ms, so 44 segments.
    #[test]
    fn a_round_trip_time_is_rounded_up_to_ticks() {
        let mut c = fed(LINUX_TICK, 41);
        c.on_loss(&LossEvent::at(at(5000), LossKind::Ecn));
        c.on_recovered(at(5040));
        assert!((43..=44).contains(&c.window.cwnd), "{}", c.window.cwnd);
    }

    #[test]
    fn what_a_recovery_delivers_counts() {
        let mut c = fed(Dur::from_us(1), 40);
        c.on_loss(&loss(5000));
        // Nothing for 200 ms: the next sample is small, and takes an eighth of an eighth.
        c.on_ack(&ack(5200, 1, 40, 40));
        c.on_recovered(at(5200));
        assert_eq!(c.window.cwnd, 39);
        // Two segments of 1000 bytes came since the last sample, 202 ms ago.
        assert!((c.law.once - (7.0 + 2000.0 / 202_000.0) / 8.0).abs() < 1e-6, "{}", c.law.once);
    }

    #[test]
    fn a_timeout_leaves_the_bandwidth_and_forgets_the_least_rtt() {
        let mut c = fed(Dur::from_us(1), 40);
        c.on_rto(&crate::RtoEvent { first: true, ..crate::RtoEvent::at(at(5000)) });
        assert!((39..=40).contains(&c.window.ssthresh), "{}", c.window.ssthresh);
        assert_eq!((c.window.cwnd, c.law.least), (1, None));
        c.on_recovered(at(5500));
        assert_eq!(c.window.cwnd, 1, "a timeout's repair is slow start");
    }

    #[test]
    fn the_filters_take_an_eighth_of_an_eighth_of_a_step() {
        let mut c = Westwood::new(&Params::default(), &sender(10)).unwrap();
        c.law.sample(800.0);
        c.law.sample(1600.0);
        assert!((c.law.once - 900.0).abs() < 1e-9 && (c.law.twice - 812.5).abs() < 1e-9);
    }

    #[test]
    fn a_tick_of_zero_is_refused() {
        assert!(Westwood::new(&Params { tick: Dur::ZERO, ..Params::default() }, &sender(10)).is_err());
    }
}
