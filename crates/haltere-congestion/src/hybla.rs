//! Hybla: flows over long paths grow as fast in time as a flow over a path of 25 ms.
//! Model: rho = max(RTT / RTT0, 1), in whole eighths. The first window is rho. Slow start: cwnd += 2^rho - 1 for each
//! acknowledgement. Congestion avoidance: cwnd += rho^2 / cwnd, in whole 128ths. On loss as Reno.
//! Units: segments; RTT ns. Cost: O(1) an acknowledgement.

use crate::law::{WindowLaw, Windowed};
use crate::window::Window;
use crate::{AckEvent, SenderContext};
use haltere_units::{Dur, ParamError, Probe, Time};

haltere_units::params! {
    /// Growth does not depend on the round-trip time, for satellite paths.
    ///
    /// Source: Caini and Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", Int. J. of Satellite
    /// Communications and Networking 22(5), 2004.
    ///
    /// Deviations: this is Linux's. rho follows the least smoothed round-trip time so far, so a queue does not speed
    /// the growth up. It is rounded down to eighths, and an increase to 128ths of a segment: at rho = 1.5 a window of
    /// 100 grows by 2/128 for each acknowledgement, not by 2.88/128, and one above 288 as Reno's. The first window is
    /// rho segments. Each acknowledgement adds, however much it covers, as in the paper: with delayed acknowledgements
    /// the window grows half as fast. Pacing, timestamps and SACK, which the paper advises, belong to the transport.
    ///
    /// Known problems: after a loss over a long path it sends large bursts.
    pub struct Params {
        /// The round-trip time RTT0 of the flow to be matched, above 0. The default is the paper's and Linux's.
        pub rtt0: Dur = Dur::from_ms(25), [above 0];
    }
}

/// 2^rho with a larger rho would leave every window behind.
const MAX_RHO_EIGHTHS: u64 = 8 * 16;
/// Parts of a segment in which the window grows.
const PARTS: u64 = 128;

/// How Hybla changes the window.
#[derive(Debug, Clone, Default)]
pub struct Law {
    rtt0: Dur,
    /// rho in eighths.
    eighths: u64,
    least: Option<Dur>,
    /// 128ths of a segment by which the window should be larger.
    parts: u64,
    /// Acknowledgements since the window grew, while a single one adds less than a 128th.
    idle: u64,
}

/// Hybla for one sender.
pub type Hybla = Windowed<Law>;

impl Law {
    fn sample(&mut self, rtt: Dur) {
        if !rtt.is_zero() && self.least.is_none_or(|least| rtt < least) {
            self.least = Some(rtt);
            let eighths = u128::from(rtt.as_ns()) * 8 / u128::from(self.rtt0.as_ns());
            self.eighths = eighths.clamp(8, u128::from(MAX_RHO_EIGHTHS)) as u64;
        }
    }
    fn rho(&self) -> f64 {
        self.eighths as f64 / 8.0
    }
    /// The window grows by so many 128ths of a segment.
    fn grow(&mut self, window: &mut Window, parts: u64) {
        let sum = self.parts + parts;
        self.parts = sum % PARTS;
        if sum >= PARTS {
            self.idle = 0;
        }
        window.set_cwnd(window.cwnd + sum / PARTS);
    }
}

impl WindowLaw for Law {
    type Params = Params;
    fn new(params: &Params, _sender: &SenderContext) -> Result<Law, ParamError> {
        params.check()?;
        Ok(Law { rtt0: params.rtt0, eighths: 8, ..Law::default() })
    }
    fn observe(&mut self, ev: &AckEvent, _window: &mut Window) {
        self.sample(ev.srtt);
    }
    fn established(&mut self, window: &mut Window, _now: Time, rtt: Dur) {
        self.sample(rtt);
        window.set_cwnd(self.eighths / 8);
    }
    fn slow_start(&mut self, window: &mut Window, _acked: u64) -> u64 {
        let parts = (PARTS as f64 * libm::exp2(self.rho())) as u64 - PARTS;
        self.grow(window, parts);
        window.set_cwnd(window.cwnd.min(window.ssthresh));
        0
    }
    fn avoid(&mut self, _ev: &AckEvent, window: &mut Window, _acked: u64) {
        // rho^2 of 64ths, in 128ths.
        let parts = 2 * self.eighths * self.eighths / window.cwnd.max(1);
        self.idle += 1;
        self.grow(window, parts);
        if parts == 0 && self.idle >= window.cwnd {
            self.idle = 0;
            window.set_cwnd(window.cwnd + 1);
        }
    }
    fn probe(&self, row: &mut Probe) {
        row.push("rho", "", self.rho());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::law::testing::{ack, sender};

    #[test]
    fn at_four_times_the_reference_the_window_grows_by_sixteen() {
        let mut c = Hybla::new(&Params::default(), &sender(10)).unwrap().avoiding(64);
        c.law.sample(Dur::from_ms(100));
        let grown = c.round(0, 100, 100);
        assert!((13..=16).contains(&grown), "rho^2 = 16 a round trip, less as the window grows: {grown}");
    }

    #[test]
    fn below_the_reference_it_is_reno() {
        let mut c = Hybla::new(&Params::default(), &sender(10)).unwrap().avoiding(16);
        assert_eq!(c.round(0, 10, 10), 1, "16 times 8/128");
    }

    /// By hand: 40 ms are 12 eighths; 2 x 144 / 100 = 2 parts. So 64 acknowledgements make a segment; 2.88 would take
    /// 45.
    #[test]
    fn an_increase_is_rounded_down_to_128ths() {
        let mut c = Hybla::new(&Params::default(), &sender(10)).unwrap().avoiding(100);
        let mut acks = 0;
        while c.window.cwnd == 100 {
            c.on_ack(&ack(0, 1, 40, 40));
            acks += 1;
        }
        assert_eq!((acks, c.law.eighths), (64, 12));
    }

    #[test]
    fn a_window_that_gets_no_part_grows_as_reno_s() {
        let mut c = Hybla::new(&Params::default(), &sender(10)).unwrap().avoiding(300);
        assert_eq!(c.round(0, 40, 40), 1);
    }

    #[test]
    fn the_first_window_is_rho() {
        let mut c = Hybla::new(&Params::default(), &sender(10)).unwrap();
        c.on_established(crate::law::testing::at(0), Dur::from_ms(60));
        assert_eq!(c.window.cwnd, 2, "60 / 25 = 2.4");
    }

    #[test]
    fn slow_start_multiplies_by_two_to_the_rho() {
        let mut c = Hybla::new(&Params::default(), &sender(10)).unwrap();
        c.on_ack(&ack(0, 1, 50, 50));
        assert_eq!(c.window.cwnd, 13, "rho = 2: three more");
    }
}
