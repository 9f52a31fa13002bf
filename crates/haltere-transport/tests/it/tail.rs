//! What happens at the tail of a short flow, and after spurious retransmissions: the figures of Linux 6.1.

use crate::pipe::{Mishap, Pipe, Setup};
use haltere_units::{Bytes, Dur, Probe, Rate, Time};

fn ms(n: u64) -> Time {
    Time::from_ns(n * 1_000_000)
}

/// The client writes so many segments and closes.
fn transfer(setup: Setup, bytes: u64) -> Pipe {
    let mut p = Pipe::new(setup);
    p.trace = Some(Vec::new());
    p.ends[0].write(Bytes::new(bytes));
    p.ends[0].close();
    p.open();
    p
}

/// When the server has all of `bytes`, in ms.
fn arrival(p: &mut Pipe, bytes: u64) -> u64 {
    while p.ends[1].info().received < bytes && p.now < ms(5_000) && p.step() {}
    assert_eq!(p.ends[1].info().received, bytes);
    p.now.as_ns() / 1_000_000
}

/// 10 kB alone into a queue of so many packets, at 100 Mbit/s with a round trip of 20 ms.
fn into_a_short_queue(queue: usize) -> u64 {
    let mut s = Setup::new("cubic");
    (s.rate, s.queue, s.delay) = (Rate::from_mbps(100), queue, Dur::from_ms(10));
    (s.early, s.bucket) = (true, true);
    let mut p = transfer(s, 10_000);
    let at = arrival(&mut p, 10_000);
    assert_eq!(p.ends[0].info().timeouts, 0);
    at
}

#[test]
fn a_probe_that_is_sacked_shows_the_tail_lost() {
    // 10 kB are seven segments and a FIN of its own. The last ones find the queue full; the probe repeats the FIN 48 ms
    // after the last acknowledgement. Its SACK shows the others lost. One is repeated after a round trip, then two, ...
    // The shaper lets the pure acknowledgement before the data, and the first segment, through at once: they take no
    // place. Sixteen transfers each on Linux; some wait for a timeout, as the probe came back a microsecond sooner than
    // ever (`rack.rs`).
    assert!((155..=158).contains(&into_a_short_queue(2)), "Linux 6.1: 154.7 to 158.0 ms");
    assert!((135..=138).contains(&into_a_short_queue(4)), "Linux 6.1: 135.2 to 138.0 ms");
    assert!((115..=118).contains(&into_a_short_queue(5)), "Linux 6.1: 115.0 to 118.2 ms");
    assert_eq!(into_a_short_queue(6), 30, "Linux 6.1: 30.6 ms");
}

#[test]
fn a_tail_loss_probe_is_not_a_retransmission_in_flight() {
    // The fifth of five segments is lost. Its probe takes its place: one segment is in flight, none is being repaired.
    let mut s = Setup::new("cubic");
    s.scripts[0] = Some(Box::new(|n, g, _| Mishap { lose: g.len > 0 && n >= 6, ..Mishap::default() }));
    let mut p = Pipe::new(s);
    p.ends[0].write(Bytes::new(5 * 1448));
    p.open();
    while p.ends[0].info().retransmissions == 0 && p.step() {}
    let i = p.ends[0].info();
    assert_eq!((i.timeouts, i.in_flight, i.retransmitting), (0, Bytes::new(1448), Bytes::ZERO), "{i:?}");
}

#[test]
fn a_reordering_timer_that_is_stale_gives_way_to_the_probe() {
    // The third of five segments comes 3 ms late, so the reordering timer runs. It is acknowledged before that fires;
    // the fifth is lost. Nothing is doubtful any more: the probe's timer follows, not the retransmission's.
    let mut s = Setup::new("cubic");
    s.scripts[0] = Some(Box::new(|n, g, _| Mishap {
        lose: g.len > 0 && n == 6,
        extra: if n == 4 { Dur::from_ms(3) } else { Dur::ZERO },
        ..Mishap::default()
    }));
    let mut p = Pipe::new(s);
    p.ends[0].write(Bytes::new(5 * 1448));
    p.open();
    p.run_until(ms(1_000));
    let i = p.ends[0].info();
    assert_eq!((i.acked, i.retransmissions, i.timeouts), (5 * 1448, 1, 0), "{i:?}");
}

/// Ten segments, of which the first is overtaken by 15 ms. Without timestamps only the DSACK shows that its
/// retransmission was spurious, and it comes when all is acknowledged.
fn overtaken(control: &str) -> Pipe {
    let mut s = Setup::new(control);
    s.tcp[0].timestamps = false;
    s.scripts[0] = Some(Box::new(|n, _, _| Mishap {
        extra: if n == 2 { Dur::from_ms(15) } else { Dur::ZERO },
        ..Mishap::default()
    }));
    let mut p = Pipe::new(s);
    p.ends[0].write(Bytes::new(10 * 1448));
    p.open();
    p
}

#[test]
fn a_duplicate_reported_when_nothing_is_in_flight_undoes_the_reduction() {
    let mut p = overtaken("cubic");
    p.run_until(ms(56));
    let i = p.ends[0].info();
    assert_eq!((i.recoveries, i.unacked, i.cwnd), (1, Bytes::ZERO, Bytes::new(7 * 1448)), "{i:?}");
    p.run_until(ms(200));
    let i = p.ends[0].info();
    assert_eq!((i.undone, i.cwnd), (1, Bytes::new(10 * 1448)), "Linux has ten, too: {i:?}");
}

#[test]
fn a_segment_reported_twice_was_delivered_twice() {
    let mut p = overtaken("reno");
    p.run_until(ms(200));
    let i = p.ends[0].info();
    assert_eq!((i.dsacks, i.delivered), (1, 11), "{i:?}");
    assert_eq!(i.acked, 10 * 1448);
}

/// Packets of the client that are lost.
const LOST: core::ops::Range<u64> = 8..20;

#[test]
fn a_flight_that_begins_after_everything_was_lost_is_a_new_path() {
    // All but the first segments are lost until the timeout. A round trip then takes 60 ms and not 20.
    let mut s = Setup::new("vegas");
    s.delay = Dur::from_ms(10);
    let extra = |n| if n < LOST.end { Dur::ZERO } else { Dur::from_ms(40) };
    s.scripts[0] =
        Some(Box::new(move |n, _, _| Mishap { lose: LOST.contains(&n), extra: extra(n), ..Mishap::default() }));
    let mut p = transfer(s, 24_000);
    let base_rtt = |p: &Pipe| {
        let mut row = Probe::new();
        p.ends[0].probe(&mut row);
        row.get("base_rtt").expect("Vegas shows it")
    };
    while p.ends[0].info().timeouts == 0 {
        assert!(p.step(), "a timeout");
    }
    assert_eq!(base_rtt(&p), 0.0);
    arrival(&mut p, 24_000);
    p.run_until(p.now + Dur::from_ms(20));
    assert!((0.060..0.061).contains(&base_rtt(&p)), "{}", base_rtt(&p));
}
