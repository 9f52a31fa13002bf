//! What a host remembers of a destination when a connection ends, and tells later connections to it.
//! Source: Linux's `tcp_metrics` (ip-tcp_metrics(8), `tcp_no_metrics_save` and `tcp_no_ssthresh_metrics_save` in the
//! kernel's ip-sysctl).
//! Deviations: entries do not expire (Linux: after an hour without use). No entry is locked by an administrator, so the
//! remembered window limits nothing.
//! Model: a longer round-trip time replaces the remembered one, a shorter one moves it by an eighth. The remembered
//! window is the mean of itself and the last one, in slow start without loss the larger one.
//! Units: ns, bytes. Cost: O(1) a connection. Known problems: none.

use super::sender::Sender;
use super::sender::episode::CaState;
use super::time::or_zero;
use crate::tcp::connection::Connection;
use crate::tcp::params::CachedMetrics;
use alloc::collections::BTreeMap;
use haltere_congestion::CongestionControl;
use haltere_units::{Bytes, Dur};

/// What a host remembers of a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Metrics {
    /// Smoothed round-trip time; zero if none is remembered.
    pub rtt: Dur,
    /// Mean deviation of the round-trip time (`RTTVAR`).
    pub rttvar: Dur,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow-start threshold, if one is remembered.
    pub ssthresh: Option<Bytes>,
    /// Degree of reordering in segments, if it was ever above the parameter.
    pub reordering: Option<u32>,
}

/// What every host of a network remembers of each destination.
#[derive(Debug, Clone, Default)]
pub struct MetricsCache(BTreeMap<(u32, u32), Metrics>);

impl MetricsCache {
    /// Gives a connection of `host`, before it opens, what the host remembers of `peer`.
    pub fn recall(&self, host: u32, peer: u32, connection: &mut Connection) {
        if let Some(metrics) = self.0.get(&(host, peer)) {
            connection.recall(metrics);
        }
    }
    /// The connection is over: `host` remembers what it measured of `peer`.
    pub fn remember(&mut self, host: u32, peer: u32, connection: &Connection) {
        if let Some(metrics) = connection.remember(self.0.get(&(host, peer))) {
            self.0.insert((host, peer), metrics);
        }
    }
}

impl Metrics {
    fn update_rtt(&mut self, srtt: Dur, deviation: Dur) {
        let (old, shorter) = (self.rtt, srtt < self.rtt);
        self.rtt = if shorter { old - (old - srtt) / 8 } else { srtt };
        let change = if shorter { old - srtt } else { srtt - old };
        let error = (change / 2).max(deviation);
        self.rttvar = if error >= self.rttvar { error } else { self.rttvar - (self.rttvar - error) / 4 };
    }

    fn update_window(&mut self, tx: &Sender, keeps_ssthresh: bool) {
        let (cwnd, ssthresh) = (tx.control().cwnd(), tx.control().ssthresh());
        let half = |sum: Bytes| Bytes::new(sum.as_u64() / 2);
        let raised = |old: Option<Bytes>, new: Bytes| old.map(|old| old.max(new));
        if ssthresh == Bytes::MAX {
            // Slow start never ended: what is remembered was too low, if anything.
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = raised(self.ssthresh, half(cwnd));
        } else if cwnd >= ssthresh && tx.recovery().state() == CaState::Open {
            self.cwnd = half(self.cwnd + cwnd);
            if keeps_ssthresh {
                self.ssthresh = Some(half(cwnd).max(ssthresh));
            }
        } else {
            self.cwnd = half(self.cwnd + ssthresh);
            self.ssthresh = raised(self.ssthresh, ssthresh);
        }
    }
}

impl Connection {
    /// What the host remembers of the peer, before the connection opens. It counts if [`CachedMetrics`] says so.
    pub fn recall(&mut self, metrics: &Metrics) {
        if self.params().tcp_metrics != CachedMetrics::Off {
            self.recall_at_handshake(*metrics);
        }
    }

    /// The connection is over: what its host is to remember of the peer, which was `before`. `None` if it measured
    /// nothing, or is to remember nothing.
    pub fn remember(&self, before: Option<&Metrics>) -> Option<Metrics> {
        let kept = self.params().tcp_metrics;
        if kept == CachedMetrics::Off || self.is_reset() {
            return None;
        }
        let initial = self.params().reordering;
        self.with_sender(|tx| {
            let srtt = or_zero(tx.rtt().srtt());
            let mut metrics = before.copied().unwrap_or_default();
            if srtt.is_zero() || tx.rtt().is_backed_off() {
                metrics.rtt = Dur::ZERO; // the path has changed, or is broken
                return Some(metrics);
            }
            metrics.update_rtt(srtt, tx.rtt().deviation());
            metrics.update_window(tx, kept == CachedMetrics::WithSsthresh);
            let reordering = tx.reordering();
            if reordering != initial && metrics.reordering.is_none_or(|old| old < reordering) {
                metrics.reordering = Some(reordering);
            }
            Some(metrics)
        })
    }
}

impl Sender {
    /// The handshake is over, and this is remembered of the peer.
    pub(crate) fn recall(&mut self, metrics: &Metrics, with_ssthresh: bool) {
        self.recall_rtt(metrics.rtt);
        if let Some(degree) = metrics.reordering {
            self.recall_reordering(degree);
        }
        if let Some(ssthresh) = metrics.ssthresh.filter(|_| with_ssthresh) {
            self.control_mut().on_cached_ssthresh(ssthresh);
            self.refresh_cwnd();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Dur {
        Dur::from_ms(n)
    }

    #[test]
    fn a_longer_round_trip_time_counts_at_once_and_a_shorter_one_by_an_eighth() {
        let mut m = Metrics::default();
        m.update_rtt(ms(40), ms(5));
        assert_eq!((m.rtt, m.rttvar), (ms(40), ms(20)), "half the change");
        m.update_rtt(ms(80), ms(5));
        assert_eq!((m.rtt, m.rttvar), (ms(80), ms(20)));
        m.update_rtt(ms(40), ms(4));
        assert_eq!((m.rtt, m.rttvar), (ms(75), ms(20)), "80 - 40 / 8");
        m.update_rtt(ms(75), ms(4));
        assert_eq!((m.rtt, m.rttvar), (ms(75), ms(16)), "20 - (20 - 4) / 4");
    }
}
