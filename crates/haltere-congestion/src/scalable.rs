//! Scalable TCP: the window grows by a share of itself.
//! Model: cwnd += a for each segment acknowledged, with a = 1 / min(cwnd, `per_segment`). On loss cwnd *= 1 - b.
//! Units: segments. Cost: O(1) an acknowledgement.

use crate::law::{WindowLaw, Windowed};
use crate::window::Window;
use crate::{AckEvent, SenderContext};
use haltere_units::{ParamError, Time};

haltere_units::params! {
    /// The window grows by one percent each round trip and loses an eighth, so recovery takes as long in any window.
    ///
    /// Source: Kelly, "Scalable TCP: improving performance in highspeed wide area networks", ACM CCR 33(2), 2003.
    ///
    /// Deviations: this is Linux's: windows below `per_segment` grow by one segment a round trip, as Reno's.
    ///
    /// Known problems: two such flows do not converge to equal windows. It starves Reno in large windows.
    pub struct Params {
        /// Segments to acknowledge for one more, from 2 to 10000. The default is the paper's 1 / 0.01.
        pub per_segment: u32 = 100, [from 2 to 10000];
        /// b: the share of the window that a loss takes, above 0 and at most 0.5. The default is the paper's.
        pub decrease: f64 = 0.125, [above 0 and at most 0.5];
    }
}

/// How Scalable TCP changes the window.
#[derive(Debug, Clone)]
pub struct Law {
    params: Params,
}

/// Scalable TCP for one sender.
pub type Scalable = Windowed<Law>;

impl WindowLaw for Law {
    type Params = Params;
    fn new(params: &Params, _sender: &SenderContext) -> Result<Law, ParamError> {
        params.check()?;
        Ok(Law { params: params.clone() })
    }
    fn avoid(&mut self, _ev: &AckEvent, window: &mut Window, acked: u64) {
        window.additive_increase(window.cwnd.min(u64::from(self.params.per_segment)), acked);
    }
    fn reduced(&mut self, window: &Window, _now: Time) -> u64 {
        window.cwnd - (window.cwnd as f64 * self.params.decrease) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::law::testing::{loss, sender};

    #[test]
    fn a_large_window_grows_by_one_percent_and_loses_an_eighth() {
        let mut c = Scalable::new(&Params::default(), &sender(10)).unwrap().avoiding(1000);
        assert_eq!(c.round(0, 100, 100), 10);
        c.window.cwnd = 1000;
        c.on_loss(&loss(0));
        assert_eq!(c.window.cwnd, 875);
    }

    #[test]
    fn a_small_window_grows_by_one_segment() {
        let mut c = Scalable::new(&Params::default(), &sender(10)).unwrap().avoiding(50);
        assert_eq!(c.round(0, 100, 100), 1);
    }
}
