//! RFC 9438 section 5.1, tables 1 and 2: the mean window of CUBIC under deterministic loss.
//!
//! The RFC's numbers are those of its equation 6 or of Reno, whichever is larger. An oracle runs beside the control:
//! the RFC's algorithm in real numbers, acknowledgement by acknowledgement, under the same losses. It is within 10 % of
//! the tables: fast convergence is not in equation 6, and the larger of two curves at each instant has a larger mean
//! than either has. The control is within 10 % for windows of 100 segments and more, and within 20 % below. Its windows
//! are whole: it is back at W_max when the cubic is within one segment of it, 1.36 s before K and on ((1 / C)^(1/3)),
//! so that windows for which the loss comes that much early are steady, too. That is a third of K at 40 segments and a
//! thirtieth at 6000. A window of 12 loses half a segment of four at each reduction. Linux has the same arithmetic.

use haltere_congestion::{AckEvent, CongestionControl, LossEvent, LossKind, SenderContext, cubic};
use haltere_units::{Bytes, Dur, Time};

const MSS: u64 = 1500;

/// Losses to play, and how many of them come before the mean is taken.
const LOSSES: u64 = 60;
const WARM_UP: u64 = 20;

/// A sender under this loss model.
trait Sender {
    fn window(&self) -> f64;
    fn acked(&mut self, now_s: f64, segments: u64);
    fn lost(&mut self, now_s: f64);
}

/// The mean window in segments over time.
fn mean_window(rtt_s: f64, segments_per_loss: u64, sender: &mut impl Sender) -> f64 {
    let (mut now_s, mut area, mut span) = (0.0, 0.0, 0.0);
    for loss in 0..LOSSES {
        let mut left = segments_per_loss;
        while left > 0 {
            let window = sender.window();
            // In large windows several segments are acknowledged together, at most a hundredth of a window.
            let together = ((window / 100.0) as u64).clamp(1, left);
            let step_s = rtt_s / window * together as f64;
            now_s += step_s;
            if loss >= WARM_UP {
                area += window * step_s;
                span += step_s;
            }
            sender.acked(now_s, together);
            left -= together;
        }
        sender.lost(now_s);
    }
    area / span
}

/// The control.
struct Haltere {
    control: cubic::Cubic,
    rtt: Dur,
}
impl Haltere {
    fn new(rtt: Dur, params: &cubic::Params) -> Haltere {
        let sender =
            SenderContext { mss: Bytes::new(MSS), initial_window: Bytes::new(10 * MSS), seed: 0, ..Default::default() };
        Haltere { control: cubic::Cubic::new(params, &sender).unwrap(), rtt }
    }
}
impl Sender for Haltere {
    fn window(&self) -> f64 {
        (self.control.cwnd().as_u64() / MSS) as f64
    }
    fn acked(&mut self, now_s: f64, segments: u64) {
        let bytes = Bytes::new(segments * MSS);
        let mut ack = AckEvent::at(Time::ZERO + Dur::from_secs_f64(now_s));
        (ack.acked, ack.delivered, ack.cwnd_limited) = (bytes, bytes, true);
        (ack.rtt, ack.srtt, ack.min_rtt) = (Some(self.rtt), self.rtt, self.rtt);
        self.control.on_ack(&ack);
    }
    fn lost(&mut self, now_s: f64) {
        self.control.on_loss(&LossEvent::at(Time::ZERO + Dur::from_secs_f64(now_s), LossKind::Loss));
    }
}

/// RFC 9438 §4.1 to §4.7 in real numbers.
struct Oracle {
    rtt_s: f64,
    cwnd: f64,
    w_max: f64,
    cwnd_prior: f64,
    epoch: Option<(f64, f64, f64)>,
    w_est: f64,
}
impl Oracle {
    const C: f64 = 0.4;
    const BETA: f64 = 0.7;
    fn new(rtt_s: f64) -> Oracle {
        Oracle { rtt_s, cwnd: 10.0, w_max: 0.0, cwnd_prior: 0.0, epoch: None, w_est: 0.0 }
    }
}
impl Sender for Oracle {
    fn window(&self) -> f64 {
        self.cwnd
    }
    fn acked(&mut self, now_s: f64, segments: u64) {
        if self.epoch.is_none() {
            let origin = self.w_max.max(self.cwnd);
            self.epoch = Some((now_s, origin, ((origin - self.cwnd) / Self::C).cbrt()));
            self.w_est = self.cwnd;
        }
        let (start_s, origin, k_s) = self.epoch.unwrap();
        let w_cubic = |t_s: f64| origin + Self::C * (t_s - k_s).powi(3);
        let t_s = now_s - start_s;
        let alpha = if self.w_est >= self.cwnd_prior { 1.0 } else { 3.0 * (1.0 - Self::BETA) / (1.0 + Self::BETA) };
        self.w_est += alpha * segments as f64 / self.cwnd;
        if w_cubic(t_s) < self.w_est {
            self.cwnd = self.cwnd.max(self.w_est);
        } else {
            let target = w_cubic(t_s + self.rtt_s).clamp(self.cwnd, 1.5 * self.cwnd);
            self.cwnd += (target - self.cwnd) / self.cwnd * segments as f64;
        }
    }
    fn lost(&mut self, _now_s: f64) {
        self.cwnd_prior = self.cwnd;
        self.w_max = if self.cwnd < self.w_max { self.cwnd * (1.0 + Self::BETA) / 2.0 } else { self.cwnd };
        self.cwnd = (self.cwnd * Self::BETA).max(2.0);
        self.epoch = None;
    }
}

fn check(rtt: Dur, table: &[(u32, f64)]) {
    for &(exponent, expected) in table {
        let segments_per_loss = 10u64.pow(exponent);
        let rtt_s = rtt.as_secs_f64();
        let oracle = mean_window(rtt_s, segments_per_loss, &mut Oracle::new(rtt_s));
        let params = cubic::Params::default();
        let got = mean_window(rtt_s, segments_per_loss, &mut Haltere::new(rtt, &params));
        let row = format!(
            "RTT {rtt} p 1e-{exponent}: {got:.1} segments, in real numbers {oracle:.1}, the RFC has {expected}"
        );
        println!("{row}");
        assert!((oracle / expected - 1.0).abs() < 0.10, "{row}");
        assert!((got / expected - 1.0).abs() < if expected < 100.0 { 0.20 } else { 0.10 }, "{row}");
    }
}

#[test]
fn table_1_round_trip_of_100_ms() {
    check(Dur::from_ms(100), &[(2, 12.0), (3, 38.0), (4, 187.0), (5, 1054.0), (6, 5926.0)]);
}

#[test]
fn table_2_round_trip_of_10_ms() {
    check(Dur::from_ms(10), &[(2, 12.0), (3, 38.0), (4, 120.0), (5, 379.0), (6, 1200.0)]);
}

/// The same with Linux's Reno-friendly region: the mean windows are the same within 10 %.
#[test]
fn the_linux_region_gives_the_same_mean_windows() {
    let rtt = Dur::from_ms(10);
    for exponent in 3..=5 {
        let mean = |reno_friendly| {
            let params = cubic::Params { reno_friendly, ..cubic::Params::default() };
            mean_window(rtt.as_secs_f64(), 10u64.pow(exponent), &mut Haltere::new(rtt, &params))
        };
        let (rfc, linux) = (mean(cubic::RenoFriendly::Rfc9438), mean(cubic::RenoFriendly::Linux));
        assert!((rfc / linux - 1.0).abs() < 0.1, "p 1e-{exponent}: {rfc:.1} and {linux:.1}");
    }
}
