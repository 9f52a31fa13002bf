//! DCTCP: the window is reduced by the share of marked packets.
//! Model: once a window M = marked bytes / delivered bytes, alpha = (1 - g) alpha + g M. On an echo, once a window,
//! cwnd = cwnd (1 - alpha / 2). On loss as Reno. Marks of which a switch notifies the sender count in the current
//! window, before the receiver's echo. The transport ensures that the echo does not count again.
//! Units: segments and bytes. Cost: O(1) an acknowledgement.

use crate::reno;
use crate::window::{Window, of_window};
use crate::{AckEvent, CongestionControl, EcnUse, LossEvent, LossKind, RtoEvent, SenderContext};
use haltere_units::{Bytes, ParamError, Prob, Probe, Time};

haltere_units::params! {
    /// The window is reduced by the share of marked packets, for data centres whose switches mark early.
    ///
    /// Source: RFC 8257 (sections 3.3 to 3.5). Alizadeh et al., "Data center TCP (DCTCP)", SIGCOMM 2010.
    ///
    /// Deviations: most are Linux's. alpha is an integer in 1/1024 that falls by at least one step and so reaches zero.
    /// Data that the acknowledgement at a window's end delivers counts for the next window; RFC 8257 section 3.3 step 3
    /// counts it in. Bytes are counted, as in the RFC; Linux counts packets. Marks of which a switch notifies the
    /// sender count at once, which the RFC does not know.
    ///
    /// Known problems: beside controls that ignore marks it starves. It starves controls that halve at every mark.
    pub struct Params {
        /// g, above 0 and at most 1: the weight of the newest window in alpha. The default is RFC 8257's (section 4.2).
        pub g: Prob = Prob::of(0.0625), [above 0 and at most 1];
        /// alpha before the first window ends. With 1 the first echo halves the window. The default is RFC 8257's
        /// (section 4.2).
        pub alpha: Prob = Prob::ONE;
    }
}

/// The value of alpha = 1.
const ALPHA_ONE: u64 = 1024;

/// DCTCP for one sender.
#[derive(Debug, Clone)]
pub struct Dctcp {
    g: f64,
    window: Window,
    /// alpha in steps of 1/1024.
    alpha: u64,
    /// The window is over when this byte is acknowledged (WindowEnd); `None` before the first acknowledgement.
    window_end: Option<u64>,
    /// Bytes delivered and bytes marked in this window (DCTCP.BytesAcked, DCTCP.BytesMarked).
    bytes_acked: u64,
    bytes_marked: u64,
}

impl Dctcp {
    /// A sender at its initial window.
    pub fn new(params: &Params, sender: &SenderContext) -> Result<Dctcp, ParamError> {
        params.check()?;
        let alpha = libm::round(params.alpha.as_f64() * ALPHA_ONE as f64) as u64;
        Ok(Dctcp {
            g: params.g.as_f64(),
            window: Window::new(sender),
            alpha,
            window_end: None,
            bytes_acked: 0,
            bytes_marked: 0,
        })
    }

    /// RFC 8257 §3.3, steps 4 to 8.
    fn end_window(&mut self, snd_nxt: u64) {
        let fall = ((self.alpha as f64 * self.g) as u64).max(1).min(self.alpha);
        let share = self.bytes_marked as f64 / self.bytes_acked.max(1) as f64;
        let rise = (self.g * ALPHA_ONE as f64 * share.min(1.0)) as u64;
        self.alpha = (self.alpha - fall + rise).min(ALPHA_ONE);
        self.bytes_acked = 0;
        self.bytes_marked = 0;
        self.window_end = Some(snd_nxt);
    }
}

impl CongestionControl for Dctcp {
    fn on_ack(&mut self, ev: &AckEvent) {
        match self.window_end {
            None => self.window_end = Some(ev.snd_nxt),
            Some(end) if ev.snd_una >= end => self.end_window(ev.snd_nxt),
            Some(_) => {}
        }
        self.bytes_acked += ev.delivered.as_u64();
        self.bytes_marked += ev.ce.as_u64();
        let acked = self.window.take_acked(ev);
        reno::grow(&mut self.window, ev, acked);
    }
    fn on_loss(&mut self, ev: &LossEvent) {
        let cwnd = self.window.cwnd;
        let ssthresh = match ev.kind {
            // RFC 8257 §3.3 step 9.
            LossKind::Ecn => cwnd - cwnd * self.alpha / (2 * ALPHA_ONE),
            // RFC 8257 §3.5: as a conventional TCP.
            LossKind::Loss | LossKind::Asked => reno::halved(&self.window),
        };
        self.window.reduce(ssthresh, ev.kind);
    }
    fn on_rto(&mut self, ev: &RtoEvent) {
        self.window.timeout(reno::halved(&self.window), ev);
    }
    fn on_early_ce(&mut self, _now: Time, bytes: Bytes) -> bool {
        self.bytes_marked += bytes.as_u64();
        true
    }
    of_window!(undo, restart, cache, sizes);
    fn ecn(&self) -> EcnUse {
        EcnUse::PerPacket
    }
    fn probe(&self, row: &mut Probe) {
        row.push("alpha", "", self.alpha as f64 / ALPHA_ONE as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn dctcp(segments: u64) -> Dctcp {
        let mss = Bytes::new(MSS);
        Dctcp::new(
            &Params::default(),
            &SenderContext { mss, initial_window: mss * segments, seed: 0, ..Default::default() },
        )
        .unwrap()
    }
    /// A window of ten segments, of which `marked` are marked, then the acknowledgement that ends it.
    fn window(c: &mut Dctcp, start: u64, marked: u64) -> u64 {
        for i in 1..=10 {
            c.on_ack(&AckEvent {
                acked: Bytes::new(MSS),
                delivered: Bytes::new(MSS),
                ce: Bytes::new(if i <= marked { MSS } else { 0 }),
                snd_una: start + i,
                snd_nxt: start + i + 10,
                ..AckEvent::at(Time::ZERO)
            });
        }
        start + 10
    }
    fn echo() -> LossEvent {
        LossEvent::at(Time::ZERO, LossKind::Ecn)
    }

    /// RFC 8257 §3.3 by hand: g = 1/16, alpha 1024 (1): no mark: 1024 - 64 = 960; then four of ten marked: 960 - 60 +
    /// floor(64 * 0.4) = 925.
    #[test]
    fn alpha_follows_the_share_of_marked_bytes() {
        let mut c = dctcp(10);
        let mut seq = window(&mut c, 0, 0);
        assert_eq!(c.alpha, 1024, "the first window is not over");
        // Ends the first window, with its own ten segments for the second.
        seq = window(&mut c, seq, 4);
        assert_eq!(c.alpha, 960);
        c.on_ack(&AckEvent { snd_una: seq + 1, snd_nxt: seq + 11, ..AckEvent::at(Time::ZERO) });
        let oracle = 960 - 60 + (64.0f64 * 0.4) as u64;
        assert_eq!(c.alpha, oracle);
        assert_eq!(oracle, 925);
    }

    #[test]
    fn alpha_reaches_zero_without_marks() {
        let mut c = dctcp(10);
        (0..200).for_each(|_| c.end_window(0));
        assert_eq!(c.alpha, 0);
    }

    #[test]
    fn an_echo_reduces_by_half_of_alpha_and_a_loss_by_half() {
        let mut c = dctcp(100);
        c.alpha = 256;
        c.on_loss(&echo());
        assert_eq!(c.cwnd(), Bytes::new(88 * MSS), "100 (1 - 0.25 / 2), rounded as Linux");
        c.on_loss(&LossEvent::at(Time::ZERO, LossKind::Loss));
        assert_eq!(c.cwnd(), Bytes::new(44 * MSS));
    }

    #[test]
    fn early_marks_count_before_their_echo() {
        let (mut with, mut without) = (dctcp(10), dctcp(10));
        with.on_early_ce(Time::ZERO, Bytes::new(5 * MSS));
        for c in [&mut with, &mut without] {
            c.alpha = 0;
            let seq = window(c, 0, 0);
            window(c, seq, 0);
        }
        assert_eq!((with.alpha, without.alpha), (32, 0), "half of the window: 64 / 2");
    }

    #[test]
    fn more_marked_than_delivered_is_no_more_than_all() {
        let mut c = dctcp(10);
        c.alpha = 1000;
        c.bytes_acked = 1000;
        c.on_early_ce(Time::ZERO, Bytes::new(50_000));
        c.end_window(0);
        assert_eq!(c.alpha, 1000 - 62 + 64);
    }
}
