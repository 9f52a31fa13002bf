//! What a host remembers of a destination, and what a later connection does with it.

use crate::pipe::{Pipe, Setup};
use haltere_transport::{CachedMetrics, Metrics};
use haltere_units::{Bytes, Dur, Rate, Time};

fn setup(kept: CachedMetrics) -> Setup {
    let mut s = Setup::new("reno");
    (s.rate, s.queue) = (Rate::from_mbps(20), 30);
    s.tcp[0].tcp_metrics = kept;
    s
}

/// A transfer of 3 MB until both ends are closed.
fn transfer(kept: CachedMetrics, before: Option<&Metrics>) -> Pipe {
    let mut p = Pipe::new(setup(kept));
    if let Some(metrics) = before {
        p.ends[0].recall(metrics);
    }
    let mut left = 3_000_000;
    left -= p.ends[0].write(Bytes::new(left)).as_u64();
    p.open();
    while left > 0 && p.step() {
        left -= p.ends[0].write(Bytes::new(left)).as_u64();
    }
    p.ends[0].close();
    while !p.ends[1].is_peer_closed() && p.step() {}
    p.ends[1].close();
    p.flush(1);
    p.run_to_close(Time::ZERO + Dur::from_secs(60)).expect("it ends");
    p
}

#[test]
fn nothing_is_remembered_by_default() {
    assert_eq!(transfer(CachedMetrics::Off, None).ends[0].remember(None), None);
}

#[test]
fn the_threshold_is_kept_only_if_asked_for() {
    let without = transfer(CachedMetrics::WithoutSsthresh, None).ends[0].remember(None).unwrap();
    assert_eq!(without.ssthresh, None);
    assert!(without.rtt > Dur::from_ms(20) && without.cwnd > Bytes::ZERO, "{without:?}");
    let with = transfer(CachedMetrics::WithSsthresh, None).ends[0].remember(None).unwrap();
    assert!(with.ssthresh.is_some(), "{with:?}");
}

#[test]
fn a_later_connection_leaves_slow_start_at_the_threshold() {
    let first = transfer(CachedMetrics::WithSsthresh, None);
    let metrics = first.ends[0].remember(None).unwrap();
    let second = transfer(CachedMetrics::WithSsthresh, Some(&metrics));
    // The first one overshoots the queue of 30 packets in slow start.
    let lost = |p: &Pipe| p.ends[0].info().retransmissions;
    assert!(lost(&second) < lost(&first), "{} after {}", lost(&second), lost(&first));
    let deaf = transfer(CachedMetrics::WithoutSsthresh, Some(&metrics));
    assert_eq!(lost(&deaf), lost(&first), "the threshold is remembered, and not told");
}

#[test]
fn a_longer_round_trip_time_is_the_timeout_until_the_first_sample() {
    let mut metrics = Metrics::default();
    metrics.rtt = Dur::from_ms(500);
    let mut p = Pipe::new(setup(CachedMetrics::WithoutSsthresh));
    p.ends[0].recall(&metrics);
    p.ends[0].write(Bytes::new(1000));
    p.open();
    while !p.ends[0].is_established() && p.step() {}
    assert_eq!(p.ends[0].info().rto, Dur::from_ms(1500), "500 ms and twice that");
}
