//! An end that never sends has no sending half, and one that is made late is as if it had been there from the start.

use crate::pipe::{Mishap, Pipe, Setup};
use haltere_congestion::CongestionParams;
use haltere_transport::{Connection, Role, Segment, TcpParams};
use haltere_units::{Bytes, Dur, Ecn, Rate, Time};

/// Bytes of an end without its sending half and without holes in what it receives.
const RECEIVER: usize = 432;

fn ms(n: u64) -> Time {
    Time::from_ns(n * 1_000_000)
}

#[test]
fn who_only_receives_has_no_sending_half() {
    let mut p = Pipe::new(Setup::new("cubic"));
    assert!(p.ends[1].memory() <= RECEIVER, "{}", p.ends[1].memory());
    p.ends[0].write(Bytes::new(20_000));
    p.open();
    p.run_until(ms(500));
    assert_eq!(p.ends[1].info().received, 20_000);
    assert!(p.ends[1].memory() <= RECEIVER, "{}", p.ends[1].memory());
    assert!(p.ends[0].memory() > 2 * RECEIVER, "{}", p.ends[0].memory());
    assert_eq!((p.ends[1].segments_sent(), p.ends[1].unacknowledged()), (0, Bytes::ZERO));
    p.ends[1].write(Bytes::ZERO);
    assert!(p.ends[1].memory() > 2 * RECEIVER, "asked to write, even nothing: {}", p.ends[1].memory());
}

#[test]
fn the_holes_of_a_receiver_do_not_bring_its_sending_half() {
    let mut s = Setup::new("cubic");
    (s.rate, s.queue) = (Rate::from_mbps(10), 10);
    let mut p = Pipe::new(s).bulk();
    p.run_until(ms(5_000));
    assert!(p.drops > 10, "{}", p.drops);
    assert!(p.ends[1].memory() <= RECEIVER + 1024, "{}", p.ends[1].memory());
}

#[test]
fn the_first_window_takes_no_more_than_a_fifth_over() {
    let mut p = Pipe::new(Setup::new("reno")).bulk();
    let before = p.ends[0].memory();
    p.run_until(ms(25));
    assert_eq!(p.ends[0].segments_sent(), 10);
    let places = (p.ends[0].memory() - before) / 64;
    assert!((10..=12).contains(&places), "{places} records");
}

/// Everything that a conversation shows: the client sends `request` bytes, and when `turn` has come the server answers.
fn conversation(mut setup: Setup, turn: Time, early: bool) -> Vec<String> {
    let (client, server) = (0, 1);
    setup.rate = Rate::from_mbps(20);
    let mut p = Pipe::new(setup);
    if early {
        p.ends[server].write(Bytes::ZERO);
    }
    p.trace = Some(Vec::new());
    p.ends[client].write(Bytes::new(300_000));
    p.open();
    let mut shown = Vec::new();
    let mut show = |p: &Pipe| {
        let row = &mut haltere_units::Probe::default();
        p.ends[server].probe(row);
        shown.push(format!("{:?} {:?} {row:?}", p.ends[server].writable(), p.ends[server].info()));
    };
    for part in 0..4 {
        p.run_until(Time::ZERO + turn.since(Time::ZERO).mul_f64(f64::from(part) / 3.0));
        show(&p);
    }
    assert_eq!(p.ends[server].segments_sent(), 0);
    // What the send buffer takes tells of the window.
    for _ in 0..12 {
        let taken = p.ends[server].write(Bytes::new(100_000));
        assert!(taken > Bytes::ZERO || p.ends[server].unacknowledged() > Bytes::ZERO);
        p.flush(server);
        p.run_until(p.now + Dur::from_ms(150));
        show(&p);
    }
    for side in [client, server] {
        p.ends[side].close();
        p.flush(side);
    }
    p.run_to_close(p.now + Dur::from_secs(60)).expect("closes");
    show(&p);
    assert!(p.ends[server].segments_sent() > 30);
    shown.extend(p.trace.take().unwrap().iter().map(|sent| format!("{sent:?}")));
    shown
}

fn assert_same(what: &str, setup: impl Fn() -> Setup, turn: Time) {
    let (late, early) = (conversation(setup(), turn, false), conversation(setup(), turn, true));
    for (a, b) in late.iter().zip(&early) {
        assert_eq!(a, b, "{what}");
    }
    assert_eq!(late.len(), early.len(), "{what}");
}

#[test]
fn a_sending_half_made_late_is_as_one_that_was_there_with_every_control() {
    for kind in CongestionParams::NAMES {
        let setup = || {
            let mut s = Setup::new(kind);
            s.tcp.iter_mut().for_each(|tcp| tcp.ecn = true);
            s.mark_at = 10;
            s.scripts[1] =
                Some(Box::new(|n, _, _| Mishap { lose: n % 97 == 60, mark: n % 31 == 7, ..Mishap::default() }));
            s
        };
        assert_same(kind, setup, ms(900));
        assert_same(kind, setup, ms(11)); // the client's handshake is not done yet
    }
}

#[test]
fn a_sending_half_made_late_knows_what_the_handshake_agreed_on() {
    type Change = fn(&mut Setup);
    let changes: [(&str, Change); 6] = [
        ("the peer's segments are smaller", |s| s.tcp[0].mss = Bytes::new(600)),
        ("the peer has no SACK", |s| s.tcp[0].sack = false),
        ("the peer has no timestamps", |s| s.tcp[0].timestamps = false),
        ("the peer's window is small", |s| s.tcp[0].recv_buffer = Some(Bytes::new(9_000))),
        ("the SYN-ACK is lost", |s| {
            s.scripts[1] = Some(Box::new(|n, _, _| Mishap { lose: n == 0, ..Mishap::default() }));
        }),
        ("the SYN-ACK is lost and nothing shows the round-trip time", |s| {
            s.tcp[0].timestamps = false;
            s.scripts[1] = Some(Box::new(|n, _, _| Mishap { lose: n == 0, ..Mishap::default() }));
        }),
    ];
    for (what, change) in changes {
        for turn in [ms(12), ms(4_000)] {
            let setup = || {
                let mut s = Setup::new("cubic");
                change(&mut s);
                s
            };
            assert_same(what, setup, turn);
        }
    }
}

#[test]
fn an_acknowledgement_of_what_was_never_sent_is_answered_without_harm() {
    let mut ends = [Role::Client, Role::Server].map(|role| {
        Connection::new(role, TcpParams::default(), CongestionParams::default_of("reno").unwrap(), 3).unwrap()
    });
    let now = ms(1);
    ends[0].open(now);
    for (from, to) in [(0, 1), (1, 0), (0, 1)] {
        let (segment, ecn) = ends[from].poll_transmit(now).expect("the handshake");
        ends[to].on_segment(now, &segment, ecn);
    }
    assert!(ends[1].is_established());
    let (good, _) = {
        ends[0].write(Bytes::new(1));
        ends[0].poll_transmit(now).expect("a byte")
    };
    let bad = Segment { ack: good.ack.wrapping_add(5_000), ..good };
    ends[1].on_segment(now, &bad, Ecn::NotEct);
    assert_eq!(ends[1].readable(), 0, "RFC 9293 section 3.10.7.4: it is dropped");
    assert!(ends[1].poll_transmit(now).is_some(), "and answered");
    ends[1].on_segment(now, &good, Ecn::NotEct);
    assert_eq!(ends[1].readable(), 1);
}
