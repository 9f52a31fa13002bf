//! What single segments do to an endpoint whose peer is the test: handshake, timestamps, windows, the end of a stream.

use crate::pipe::{Mishap, Pipe, Setup};
use haltere_congestion::CongestionParams;
use haltere_transport::{Connection, Flags, Role, SackBlocks, Segment, TcpParams, Timestamps};
use haltere_units::{Bytes, Dur, Ecn, Rate, Time};

const MSS: u32 = 1448;

fn ms(n: u64) -> Time {
    Time::from_ns(n * 1_000_000)
}

fn endpoint(role: Role) -> Connection {
    let reno = CongestionParams::default_of("reno").unwrap();
    Connection::new(role, TcpParams::default(), reno, 7).unwrap()
}

/// An endpoint that is established, and what the test needs to speak with it.
struct Bench {
    c: Connection,
    /// Sequence numbers of the first byte of either side.
    ours: u32,
    theirs: u32,
    ts_base: u32,
}

impl Bench {
    /// A client whose handshake took 100 ms; the peer has this window, and timestamps or not.
    fn client(window: u16, timestamps: bool) -> Bench {
        let mut c = endpoint(Role::Client);
        c.open(Time::ZERO);
        let (syn, _) = c.poll_transmit(Time::ZERO).unwrap();
        let ts_base = syn.timestamps.unwrap().val;
        let answer = Segment {
            seq: 5000,
            ack: syn.seq.wrapping_add(1),
            window,
            flags: Flags::SYN.with(Flags::ACK),
            timestamps: timestamps.then_some(Timestamps { val: 1000, ecr: ts_base }),
            mss: Some(1460),
            window_scale: Some(0),
            sack_permitted: true,
            ..Segment::default()
        };
        c.on_segment(ms(100), &answer, Ecn::NotEct);
        Bench { c, ours: syn.seq.wrapping_add(1), theirs: 5001, ts_base }
    }

    fn send(&mut self, now: Time) -> Vec<Segment> {
        std::iter::from_fn(|| self.c.poll_transmit(now)).map(|(segment, _)| segment).collect()
    }

    /// A segment of the peer: `seq` and `ack` count from the first bytes.
    fn segment(&self, seq: u32, ack: u32, len: u32) -> Segment {
        Segment {
            seq: self.theirs.wrapping_add(seq),
            ack: self.ours.wrapping_add(ack),
            len,
            window: 60_000,
            flags: Flags::ACK,
            timestamps: Some(Timestamps { val: 1000, ecr: self.ts_base.wrapping_add(100) }),
            ..Segment::default()
        }
    }

    fn arrive(&mut self, now: Time, segment: &Segment) -> Vec<Segment> {
        self.c.on_segment(now, segment, Ecn::NotEct);
        self.send(now)
    }
}

#[test]
fn the_third_segment_of_the_handshake_is_an_acknowledgement_alone() {
    let mut b = Bench::client(60_000, true);
    b.c.write(Bytes::new(3000));
    let sent: Vec<u32> = b.send(ms(100)).iter().map(|s| s.len).collect();
    assert_eq!(sent, [0, 1448, 1448, 104]);
}

#[test]
fn a_fin_goes_alone_after_data_that_could_leave() {
    let mut b = Bench::client(60_000, true);
    b.c.write(Bytes::new(3000));
    b.c.close();
    let sent: Vec<(u32, bool)> = b.send(ms(100)).iter().map(|s| (s.len, s.flags.contains(Flags::FIN))).collect();
    assert_eq!(sent, [(0, false), (1448, false), (1448, false), (104, false), (0, true)]);
}

#[test]
fn a_fin_rides_on_data_that_has_to_wait_and_ignores_the_congestion_window() {
    // Eleven segments, a window of ten: the eleventh has the FIN and leaves, too.
    let mut b = Bench::client(60_000, true);
    b.c.write(Bytes::new(u64::from(11 * MSS)));
    b.c.close();
    let sent = b.send(ms(100));
    assert_eq!(sent.len(), 12);
    assert_eq!((sent[11].len, sent[11].flags.contains(Flags::FIN)), (MSS, true));
    // Of twelve, the eleventh has to wait.
    let mut b = Bench::client(60_000, true);
    b.c.write(Bytes::new(u64::from(12 * MSS)));
    b.c.close();
    assert_eq!(b.send(ms(100)).len(), 11);
}

#[test]
fn one_segment_more_than_the_windows_costs_no_round_trip() {
    // The acknowledgement of the thirtieth segment is delayed: a push before it shifted the pairs. No two segments arrive
    // at one instant, and all of a flight within 10 us.
    for (segments, rounds, delayed) in [(11, 1, 0), (31, 2, 0), (71, 3, 42)] {
        let mut s = Setup::new("reno");
        (s.rate, s.delay) = (Rate::from_mbps(100_000), Dur::from_ms(50));
        s.tcp[1].recv_buffer = Some(Bytes::new(1 << 20));
        let bytes = segments * u64::from(MSS);
        let mut p = Pipe::new(s);
        p.open();
        let mut left = bytes;
        while p.ends[1].info().received < bytes {
            left -= p.ends[0].write(Bytes::new(left)).as_u64();
            if left == 0 {
                p.ends[0].close();
            }
            p.flush(0);
            assert!(p.step());
        }
        let end = ms(50 + 100 * rounds + delayed);
        assert!((end..end + Dur::from_us(20)).contains(&p.now), "{segments} segments at {:?}", p.now);
    }
}

/// RFC 2883, as Linux has it: the FIN's number is received twice as data would be.
#[test]
fn a_repeated_fin_is_reported_as_received_twice() {
    let mut b = Bench::client(60_000, true);
    b.c.read_endless();
    b.send(ms(100));
    let mut fin = b.segment(0, 0, 0);
    fin.flags = Flags::ACK.with(Flags::FIN);
    b.arrive(ms(200), &fin);
    let again = b.arrive(ms(400), &fin);
    let blocks: Vec<_> = again.iter().flat_map(|segment| segment.sack.as_slice().to_vec()).collect();
    assert_eq!(blocks, [(b.theirs, b.theirs.wrapping_add(1))]);
}

#[test]
fn a_fin_alone_is_acknowledged_after_40_to_44_ms_unless_our_side_has_closed() {
    for (closed, delay) in [(false, 42), (true, 0)] {
        let mut b = Bench::client(60_000, true);
        b.c.read_endless();
        b.send(ms(100));
        assert_eq!(b.arrive(ms(200), &b.segment(0, 0, 100)).len(), 1, "quick at first");
        if closed {
            b.c.close();
            b.send(ms(201));
        }
        let mut fin = b.segment(100, u32::from(closed), 0);
        fin.flags = Flags::ACK.with(Flags::FIN);
        let at_once = b.arrive(ms(210), &fin).len();
        assert_eq!(at_once, usize::from(closed));
        if !closed {
            assert_eq!(b.c.next_timeout(), Some(ms(210 + delay)));
            b.c.on_timeout(ms(210 + delay));
            assert_eq!(b.send(ms(210 + delay))[0].ack, b.theirs.wrapping_add(101));
        }
    }
}

#[test]
fn a_retransmission_does_not_show_that_the_window_is_the_limit() {
    // One segment comes so late that the timeout is spurious. The window of 10 returns, and does not grow.
    let mut s = Setup::new("reno");
    s.tcp[0].tlp = false;
    s.scripts[0] = Some(Box::new(|n, _, _| Mishap {
        extra: if n == 2 { Dur::from_ms(400) } else { Dur::ZERO },
        ..Mishap::default()
    }));
    let mut p = Pipe::new(s);
    p.ends[0].write(Bytes::new(1000));
    p.open();
    p.run_until(ms(2000));
    let i = p.ends[0].info();
    assert_eq!((i.timeouts, i.acked), (1, 1000));
    assert!(i.cwnd <= Bytes::new(10 * 1448), "Linux has ten: {i:?}");
}

#[test]
fn an_acknowledgement_restarts_the_timer_of_the_window_probe() {
    let mut b = Bench::client(1000, true);
    b.c.write(Bytes::new(1000));
    b.send(ms(100));
    b.c.write(Bytes::new(5000));
    let mut ack = b.segment(0, 1000, 0);
    ack.window = 0;
    b.arrive(ms(200), &ack);
    let wait = b.c.next_timeout().unwrap() - ms(200);
    assert!(wait >= Dur::from_ms(200), "{wait}");
    b.arrive(ms(350), &ack);
    assert_eq!(b.c.next_timeout(), Some(ms(350) + wait));
}

#[test]
fn without_the_peers_timestamps_a_segment_has_their_room_for_payload() {
    let mut b = Bench::client(60_000, false);
    b.c.write(Bytes::new(3000));
    let sent = b.send(ms(100));
    assert_eq!((sent[1].len, sent[1].header_len()), (1460, 20));
    assert_eq!(b.c.info().cwnd, Bytes::new(10 * 1460));
}

#[test]
fn a_segment_that_acknowledges_unsent_data_does_not_set_the_timestamp_to_echo() {
    let mut b = Bench::client(60_000, true);
    b.send(ms(100));
    let mut bad = b.segment(0, 5000, 0);
    bad.timestamps = Some(Timestamps { val: 2000, ecr: b.ts_base });
    let sent = b.arrive(ms(200), &bad);
    assert_eq!(sent[0].timestamps.unwrap().ecr, 1000);
}

#[test]
fn a_segment_without_timestamps_is_taken() {
    // RFC 7323 section 3.2 would have it dropped; Linux takes it.
    let mut b = Bench::client(60_000, true);
    b.send(ms(100));
    let mut plain = b.segment(0, 0, 500);
    plain.timestamps = None;
    b.arrive(ms(200), &plain);
    assert_eq!(b.c.readable(), 500);
}

#[test]
fn data_in_order_that_covers_what_waits_is_reported_as_a_duplicate() {
    let mut b = Bench::client(60_000, true);
    b.send(ms(100));
    b.arrive(ms(200), &b.segment(1000, 0, 500));
    let sent = b.arrive(ms(201), &b.segment(0, 0, 2000));
    let mut expected = SackBlocks::default();
    expected.push(b.theirs.wrapping_add(1000), b.theirs.wrapping_add(1500));
    assert_eq!((sent[0].ack, sent[0].sack), (b.theirs.wrapping_add(2000), expected));
}

#[test]
fn a_listener_answers_no_syn_with_rst_or_fin() {
    for (extra, answers) in [(Flags::default(), 1), (Flags::RST, 0), (Flags::FIN, 0)] {
        let mut c = endpoint(Role::Server);
        let syn = Segment { seq: 99, window: 60_000, flags: Flags::SYN.with(extra), ..Segment::default() };
        c.on_segment(ms(1), &syn, Ecn::NotEct);
        assert_eq!(std::iter::from_fn(|| c.poll_transmit(ms(1))).count(), answers, "{extra:?}");
    }
}

#[test]
fn no_probe_goes_beyond_a_window_that_was_retracted() {
    let mut b = Bench::client(60_000, true);
    b.c.write(Bytes::new(u64::from(4 * MSS)));
    b.send(ms(100));
    let mut ack = b.segment(0, MSS, 0);
    ack.window = 1448; // room for the second segment; the third and fourth are out
    b.arrive(ms(200), &ack);
    let probe = b.c.next_timeout().unwrap();
    b.c.on_timeout(probe);
    assert_eq!(b.send(probe), [], "the probe would be the fourth");
    let timeout = b.c.next_timeout().unwrap();
    assert!(timeout > probe);
    b.c.on_timeout(timeout);
    let sent: Vec<u32> = b.send(timeout).iter().map(|s| s.seq.wrapping_sub(b.ours)).collect();
    assert_eq!(sent, [MSS], "the oldest");
}

#[test]
fn a_lost_syn_lowers_the_threshold_and_two_lower_the_window() {
    for (lost, delay, cwnd, ssthresh) in
        [(0, 10, 10, None), (1, 10, 10, Some(7)), (2, 10, 1, Some(7)), (0, 600, 10, None)]
    {
        let mut s = Setup::new("cubic");
        s.delay = Dur::from_ms(delay); // 600 ms: sent again although it was not lost
        s.scripts[0] = Some(Box::new(move |n, _, _| Mishap { lose: n < lost, ..Mishap::default() }));
        let mut p = Pipe::new(s);
        p.open();
        while !p.ends[0].is_established() {
            assert!(p.step());
        }
        p.ends[0].write(Bytes::new(1));
        let i = p.ends[0].info();
        let expected = ssthresh.map_or(Bytes::MAX, |segments| Bytes::new(segments * 1448));
        assert_eq!((i.cwnd, i.ssthresh), (Bytes::new(cwnd * 1448), expected), "{lost} lost, {delay} ms");
    }
}
