//! HighSpeed TCP: a steeper growth and a gentler reduction in large windows.
//! Model: in a window of w segments cwnd += a(w) a round trip; on loss cwnd *= 1 - b(w). b falls from 1/2 at 38
//! segments to `high_decrease` at 83,000, linearly in log w. a(w) = w^2 p(w) 2 b(w) / (2 - b(w)) with p(w) = 0.078 /
//! w^1.2.
//! Units: segments. Cost: O(1) an acknowledgement.

use crate::law::{WindowLaw, Windowed};
use crate::window::Window;
use crate::{AckEvent, SenderContext};
use haltere_units::{ParamError, Probe, Time};

haltere_units::params! {
    /// Reno that grows faster and gives back less in large windows, for paths with a large bandwidth-delay product.
    ///
    /// Source: RFC 3649 (section 5).
    ///
    /// Deviations: none. a(w) and b(w) are those of the table in appendix B, as in Linux: the row of a window is the
    /// first that is not smaller, so a(w) is rounded up to whole segments. The rows are computed, and differ from the
    /// printed ones by a segment or two in a thousand. Each acknowledgement adds a(w)/w, however much it covers, as in
    /// the RFC and in Linux: with delayed acknowledgements that is half of a(w) a round trip. The table is looked up in
    /// congestion avoidance only, as in Linux: the first reduction after slow start halves.
    ///
    /// Known problems: it is unfair to Reno above 38 segments, by intent, and to flows with longer round-trip times.
    pub struct Params {
        /// Window in segments up to which it is Reno, from 2 to 10000. The default is RFC 3649's Low_Window (section
        /// 5).
        pub low_window: u32 = 38, [from 2 to 10000];
        /// The share that a loss takes from a window of 83,000 segments, above 0 and at most 0.5. The default is RFC
        /// 3649's High_Decrease (section 5).
        pub high_decrease: f64 = 0.1, [above 0 and at most 0.5];
    }
}

/// RFC 3649 section 5: High_Window in segments.
const HIGH_WINDOW: f64 = 83_000.0;

/// How HighSpeed TCP changes the window.
#[derive(Debug, Clone)]
pub struct Law {
    params: Params,
    /// Segments towards the next one of the window: a(w) for each acknowledgement, of w.
    credit: u64,
    /// The window of the row that congestion avoidance used last. Linux looks the table up only there, so the first
    /// reduction after slow start halves.
    row: u64,
}

/// HighSpeed TCP for one sender.
pub type Highspeed = Windowed<Law>;

impl Law {
    /// b(w): the share of the window that a loss takes.
    fn decrease(&self, cwnd: u64) -> f64 {
        let (w, low) = (cwnd as f64, f64::from(self.params.low_window));
        if w <= low {
            return 0.5;
        }
        let place = libm::log(w / low) / libm::log(HIGH_WINDOW / low);
        (0.5 + (self.params.high_decrease - 0.5) * place).max(self.params.high_decrease)
    }
    /// The function a(w) of section 5: segments a round trip.
    fn increase(&self, cwnd: u64) -> f64 {
        let (w, b) = (cwnd as f64, self.decrease(cwnd));
        let p = 0.078 / libm::pow(w, 1.2);
        w * w * p * 2.0 * b / (2.0 - b)
    }
    /// a(w) of the table: appendix B has a row for the least window at which the function reaches each whole number.
    fn row(&self, cwnd: u64) -> u64 {
        if cwnd <= u64::from(self.params.low_window) { 1 } else { (self.increase(cwnd - 1) as u64 + 1).max(2) }
    }
    /// The window of that row.
    fn window_of(&self, cwnd: u64) -> u64 {
        let (mut below, mut row) = (cwnd - 1, cwnd.max(HIGH_WINDOW as u64));
        let a = self.row(cwnd) as f64;
        while row - below > 1 {
            let middle = (below + row) / 2;
            if self.increase(middle) >= a { row = middle } else { below = middle }
        }
        row
    }
}

impl WindowLaw for Law {
    type Params = Params;
    fn new(params: &Params, _sender: &SenderContext) -> Result<Law, ParamError> {
        params.check()?;
        Ok(Law { params: params.clone(), credit: 0, row: 0 })
    }
    fn avoid(&mut self, _ev: &AckEvent, window: &mut Window, _acked: u64) {
        self.row = if window.cwnd <= u64::from(self.params.low_window) { 0 } else { self.window_of(window.cwnd) };
        self.credit += self.row(window.cwnd); // RFC 3649 section 5: a(w)/w for each ACK
        if self.credit >= window.cwnd {
            self.credit -= window.cwnd;
            window.set_cwnd(window.cwnd + 1);
        }
    }
    fn reduced(&mut self, window: &Window, _now: Time) -> u64 {
        self.credit = 0;
        window.cwnd - (window.cwnd as f64 * self.decrease(self.row)) as u64
    }
    fn probe(&self, row: &mut Probe) {
        row.push("low_window", "segments", f64::from(self.params.low_window));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::law::testing::{ack, loss, sender};

    /// RFC 3649 appendix B, some rows: w, a(w), b(w).
    #[test]
    fn the_table_of_the_rfc() {
        let law = Law { params: Params::default(), credit: 0, row: 0 };
        for (w, a, b) in [(38, 1, 0.50), (118, 2, 0.44), (221, 3, 0.41), (347, 4, 0.38)] {
            assert_eq!((law.row(w), law.row(w + 1)), (a, a + 1), "a({w})");
            assert!((law.decrease(w) - b).abs() < 0.005, "b({w}) = {}", law.decrease(w));
        }
        // The program of the appendix lets its rows drift by parts of a segment: a segment or two of the window in a
        // thousand.
        for (w, a, row) in [(39, 2, 118), (1000, 8, 1058), (1500, 10, 1529)] {
            assert_eq!(law.row(w), a);
            assert!((row - 2..=row).contains(&law.window_of(w)), "{}", law.window_of(w));
        }
        assert!((law.decrease(83_000) - 0.1).abs() < 1e-9);
    }

    /// A window of 80 is in the row of 118: two segments, and 44 percent.
    #[test]
    fn the_row_of_a_window_is_the_first_that_is_not_smaller() {
        let mut c = Highspeed::new(&Params::default(), &sender(10)).unwrap().avoiding(80);
        (0..39).for_each(|i| c.on_ack(&ack(i, 1, 40, 40)));
        assert_eq!(c.window.cwnd, 80);
        c.on_ack(&ack(40, 1, 40, 40));
        assert_eq!(c.window.cwnd, 81, "40 acknowledgements of 2/80");
        c.window.cwnd = 80;
        c.on_loss(&loss(0));
        assert_eq!(c.window.cwnd, 45, "80 less the whole segments of 80 times 0.441");
    }

    #[test]
    fn a_small_window_is_reno_s() {
        let mut c = Highspeed::new(&Params::default(), &sender(10)).unwrap().avoiding(20);
        assert_eq!(c.round(0, 100, 100), 1);
        c.on_loss(&loss(0));
        assert_eq!(c.window.cwnd, 11, "21 less 10");
    }

    #[test]
    fn a_window_of_118_segments_grows_by_two_and_loses_44_percent() {
        let mut c = Highspeed::new(&Params::default(), &sender(10)).unwrap().avoiding(118);
        assert_eq!(c.round(0, 100, 100), 2);
        c.window.cwnd = 118;
        c.on_ack(&ack(200, 1, 40, 40));
        c.on_loss(&loss(0));
        assert_eq!(c.window.cwnd, 66, "118 less the whole segments of 118 times 0.445");
    }

    #[test]
    fn the_first_reduction_after_slow_start_halves() {
        let mut c = Highspeed::new(&Params::default(), &sender(10)).unwrap();
        c.window.cwnd = 400;
        c.on_loss(&loss(0));
        assert_eq!(c.window.cwnd, 200);
    }
}
