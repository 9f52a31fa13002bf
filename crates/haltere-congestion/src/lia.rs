//! LIA: linked increases of the subflows of a multipath connection.
//! Model: w_i the windows, r_i the smoothed round-trip times. For each segment acknowledged on path i w_i += min(alpha
//! / w_total, 1 / w_i), alpha = w_total * max(w_i / r_i^2) / (sum w_i / r_i)^2. Slow start, the reaction to loss and
//! timeouts are Reno's. With one subflow, or outside a multipath connection, it is Reno.
//! Units: segments and seconds within, bytes in the interface. Cost: O(subflows) an acknowledgement.

use crate::coupled::{Coupled, Rule, coupled_params};
use crate::coupling::CouplingView;

coupled_params! {
    /// Linked increases: the subflows of a multipath connection grow together as fast as one flow on the best path.
    ///
    /// Source: RFC 6356 (section 3, equations 1 and 2).
    ///
    /// Deviations: alpha is computed at each acknowledgement, not once a window.
    ///
    /// Known problems: it uses worse paths more than the optimum does, and takes from other flows without gain for
    /// itself (Khalili et al., CoNEXT 2012). OLIA avoids this.
}

/// The control of one subflow.
pub type Lia = Coupled<Linked>;

/// The growth of RFC 6356.
#[derive(Debug, Clone, Default)]
pub struct Linked {
    /// alpha / w_total, in windows per segment; `None` before siblings are known.
    per_segment: Option<f64>,
}

/// alpha / w_total of RFC 6356 equation 2: the growth for each segment acknowledged on any path, were there no bound.
fn linked(view: &CouplingView<'_>, mss: f64) -> Option<f64> {
    let best = view.rates(mss).map(|(w, r)| w / (r * r)).fold(0.0, f64::max);
    let rate: f64 = view.rates(mss).map(|(w, r)| w / r).sum();
    (rate > 0.0).then(|| best / (rate * rate))
}

impl Rule for Linked {
    type Params = Params;
    fn learn(&mut self, view: &CouplingView<'_>, mss: f64) {
        self.per_segment = linked(view, mss);
    }
    // RFC 6356 equation 1: never faster than Reno on this path.
    fn growth(&self, alone: f64) -> f64 {
        self.per_segment.map_or(alone, |linked| linked.min(alone))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AckEvent, CongestionControl, LossEvent, SenderContext, Sibling};
    use haltere_units::{Bytes, Dur, Time};

    fn sibling(segments: u64, ms: u64) -> Sibling {
        Sibling { cwnd: Bytes::new(1000 * segments), srtt: Dur::from_ms(ms), between_losses: Bytes::ZERO }
    }

    #[test]
    fn equal_paths_grow_together_as_fast_as_one_tcp() {
        // Two paths, 10 segments and 100 ms each: best 10 / 0.01 = 1000, rate 200: 1000 / 40000 = 1/40 for each segment
        // acknowledged, and 20 of them a round trip: half a segment in all, where one TCP of the same total rate
        // (w_total / alpha = 40 = 20 * 2) gains 1/20 of 10: half a segment on the best path.
        let view = CouplingView { siblings: &[sibling(10, 100), sibling(10, 100)], this: 0 };
        let each = linked(&view, 1000.0).unwrap();
        assert!((each - 1.0 / 40.0).abs() < 1e-12, "{each}");
    }

    #[test]
    fn one_path_alone_is_reno() {
        let view = CouplingView { siblings: &[sibling(10, 100)], this: 0 };
        assert!((linked(&view, 1000.0).unwrap() - 0.1).abs() < 1e-12);
    }

    #[test]
    fn no_path_grows_faster_than_reno_would() {
        // 10 segments at 10 ms beside 100 at 1 s: unbounded, the slow path would gain more than 1/100 for each segment.
        let view = CouplingView { siblings: &[sibling(10, 10), sibling(100, 1000)], this: 1 };
        assert!(linked(&view, 1000.0).unwrap() > 1.0 / 100.0);
        let mss = Bytes::new(1000);
        let sender = SenderContext { mss, initial_window: mss * 200, seed: 0, ..Default::default() };
        let mut c = Lia::new(&Params::default(), &sender).unwrap();
        c.on_loss(&LossEvent::at(Time::ZERO, crate::LossKind::Loss));
        c.on_coupling(&view);
        let ack = AckEvent { acked: mss, delivered: mss, cwnd_limited: true, ..AckEvent::at(Time::ZERO) };
        (0..99).for_each(|_| c.on_ack(&ack));
        assert_eq!(c.cwnd(), mss * 100);
        (0..2).for_each(|_| c.on_ack(&ack));
        assert_eq!(c.cwnd(), mss * 101);
    }
}
