//! Segmentation offload: what leaves at a time, what is lost and what is repeated.

use crate::pipe::{Mishap, Pipe, Setup};
use haltere_transport::{Offload, Segment};
use haltere_units::{Bytes, Dur, Ecn, Rate, Time};

const MSS: u32 = 1448;

fn setup(control: &str, offload: Offload) -> Setup {
    let mut s = Setup::new(control);
    s.tcp[0].offload = offload;
    s
}

/// The data segments that the client sent, and when.
fn data(p: &Pipe) -> Vec<(Time, Segment)> {
    let trace = p.trace.as_ref().unwrap();
    trace.iter().filter(|(_, side, g, _)| *side == 0 && g.len > 0).map(|(at, _, g, _)| (*at, *g)).collect()
}

fn bulk(mut s: Setup, mbps: u64, ms: u64) -> Pipe {
    s.rate = Rate::from_mbps(mbps);
    let mut p = Pipe::new(s);
    p.trace = Some(Vec::new());
    let mut p = p.bulk();
    p.run_until(Time::ZERO + Dur::from_ms(ms));
    p
}

#[test]
fn without_it_no_segment_exceeds_the_mss() {
    let p = bulk(setup("cubic", Offload::Off), 100, 500);
    assert!(data(&p).iter().all(|(_, g)| g.len <= MSS));
}

#[test]
fn an_initial_window_leaves_by_twos() {
    // Nothing is known but the handshake's 20 ms: 20 segments a round trip in slow start, 1/1024 s of which is less
    // than one.
    let p = bulk(setup("cubic", Offload::Packet), 1000, 41);
    let first: Vec<u32> = data(&p).iter().take(5).map(|(_, g)| g.len / MSS).collect();
    assert_eq!(first, [2; 5], "ten segments by twos");
}

#[test]
fn a_unit_grows_with_the_rate_to_64_kb() {
    let mut s = setup("cubic", Offload::Packet);
    (s.tcp[0].send_buffer_max, s.tcp[1].recv_buffer_max) = (Bytes::new(1 << 28), Bytes::new(1 << 28));
    let p = bulk(s, 1000, 2000);
    let largest = data(&p).iter().map(|(_, g)| g.len).max().unwrap();
    assert_eq!(largest, 45 * MSS, "what 65,215 bytes hold");
    assert!(data(&p).iter().all(|(_, g)| g.len % MSS == 0));
}

#[test]
fn a_receiver_acknowledges_each_unit_at_once_and_gets_every_byte() {
    for offload in [Offload::Packet, Offload::Burst] {
        let mut s = setup("cubic", offload);
        (s.rate, s.queue) = (Rate::from_mbps(50), 30);
        s.scripts[0] =
            Some(Box::new(|n, g: &Segment, _: Ecn| Mishap { lose: g.len > 0 && n % 37 == 5, ..Mishap::default() }));
        let mut p = Pipe::new(s);
        p.ends[0].write(Bytes::new(4_000_000));
        let mut left = 4_000_000 - p.ends[0].unacknowledged().as_u64();
        p.open();
        while p.ends[1].info().received < 4_000_000 && p.now < Time::ZERO + Dur::from_secs(60) && p.step() {
            left -= p.ends[0].write(Bytes::new(left)).as_u64();
        }
        assert_eq!(p.ends[1].info().received, 4_000_000, "{offload:?}");
    }
}

#[test]
fn what_a_lost_unit_held_is_repeated_in_units() {
    let mut lost = 0;
    let mut s = setup("cubic", Offload::Packet);
    s.rate = Rate::from_mbps(400);
    s.scripts[0] = Some(Box::new(move |_, g: &Segment, _: Ecn| {
        let lose = g.len > 4 * MSS && lost == 0;
        lost += u32::from(lose);
        Mishap { lose, ..Mishap::default() }
    }));
    let p = bulk(s, 400, 1000);
    let sent = data(&p);
    let repeated: Vec<_> =
        sent.iter().enumerate().filter(|(i, (_, g))| sent[..*i].iter().any(|(_, h)| h.seq == g.seq)).collect();
    assert!(repeated.iter().any(|(_, (_, g))| g.len > MSS), "{repeated:?}");
    assert_eq!(p.ends[0].info().timeouts, 0);
}

#[test]
fn a_paced_sender_sends_a_unit_and_then_waits_as_long_as_it_takes() {
    // BBR: 100 Mbit/s, a unit of eight segments a millisecond; the same rate as single segments.
    for offload in [Offload::Packet, Offload::Burst] {
        let p = bulk(setup("bbr", offload), 100, 3000);
        let late: Vec<_> = data(&p).into_iter().filter(|(at, _)| *at > Time::ZERO + Dur::from_ms(1500)).collect();
        let mut instants: Vec<Time> = late.iter().map(|(at, _)| *at).collect();
        instants.dedup();
        let bytes: u64 = late.iter().map(|(_, g)| u64::from(g.len)).sum();
        let unit = bytes as f64 / instants.len() as f64 / f64::from(MSS);
        assert!((6.0..10.0).contains(&unit), "{offload:?}: {unit} segments at a time");
        let received = p.ends[1].info().received as f64 * 8.0 / 3e6;
        assert!(received > 80.0, "{offload:?}: {received} Mbit/s");
    }
}
