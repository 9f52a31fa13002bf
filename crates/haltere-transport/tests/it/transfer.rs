//! Whole transfers between two connections.

use crate::pipe::{Mishap, Pipe, Setup};
use haltere_congestion::CongestionParams;
use haltere_transport::{CaState, Connection, Flags, Role, Segment, TcpParams};
use haltere_units::{Bytes, Dur, Ecn, Rate, Time};

fn ms(n: u64) -> Time {
    Time::from_ns(n * 1_000_000)
}

#[test]
fn the_handshake_takes_one_round_trip_and_negotiates_everything() {
    let mut p = Pipe::new(Setup::new("reno"));
    p.trace = Some(Vec::new());
    p.open();
    p.run_until(ms(25));
    assert!(p.ends[0].is_established());
    let trace = p.trace.take().unwrap();
    assert_eq!(trace.len(), 3, "SYN, SYN-ACK, ACK: {trace:#?}");
    assert_eq!(trace[0].2.header_len(), 40);
    assert_eq!(trace[1].2.header_len(), 40);
    assert_eq!(trace[2].2.header_len(), 32);
    assert!(trace.iter().take(2).all(|t| t.2.mss == Some(1460) && t.2.sack_permitted));
    p.run_until(ms(31));
    assert!(p.ends[1].is_established());
    assert_eq!(p.ends[0].info().srtt, Dur::from_ms(20));
    assert_eq!(p.ends[1].info().srtt, Dur::from_ms(20));
}

#[test]
fn a_lost_syn_is_repeated_after_one_two_and_four_seconds() {
    let mut s = Setup::new("reno");
    s.scripts[0] = Some(Box::new(|n, _, _| Mishap { lose: n < 3, ..Mishap::default() }));
    let mut p = Pipe::new(s);
    p.trace = Some(Vec::new());
    p.open();
    p.run_until(ms(8000));
    assert!(p.ends[0].is_established());
    let sent: Vec<_> = p.trace.take().unwrap().iter().filter(|t| t.1 == 0).map(|t| t.0).take(4).collect();
    assert_eq!(sent, [ms(0), ms(1000), ms(3000), ms(7000)]);
}

#[test]
fn a_lost_syn_is_repeated_after_the_initial_timeout_and_its_doubles() {
    let mut s = Setup::new("reno");
    s.tcp.iter_mut().for_each(|tcp| tcp.initial_rto = Dur::from_secs(3));
    s.scripts[0] = Some(Box::new(|n, _, _| Mishap { lose: n < 2, ..Mishap::default() }));
    let mut p = Pipe::new(s);
    p.trace = Some(Vec::new());
    p.open();
    p.run_until(ms(10_000));
    assert!(p.ends[0].is_established());
    let sent: Vec<_> = p.trace.take().unwrap().iter().filter(|t| t.1 == 0).map(|t| t.0).take(3).collect();
    assert_eq!(sent, [ms(0), ms(3000), ms(9000)]);
}

#[test]
fn the_wait_after_a_lost_syn_is_bounded_as_every_timeout_is() {
    let mut s = Setup::new("reno");
    s.tcp.iter_mut().for_each(|tcp| tcp.max_rto = Dur::from_secs(2));
    s.scripts[0] = Some(Box::new(|n, _, _| Mishap { lose: n < 4, ..Mishap::default() }));
    let mut p = Pipe::new(s);
    p.trace = Some(Vec::new());
    p.open();
    p.run_until(ms(8000));
    let sent: Vec<_> = p.trace.take().unwrap().iter().filter(|t| t.1 == 0).map(|t| t.0).take(5).collect();
    assert_eq!(sent, [ms(0), ms(1000), ms(3000), ms(5000), ms(7000)]);
}

#[test]
fn a_short_message_arrives_and_both_sides_close() {
    let mut p = Pipe::new(Setup::new("reno"));
    assert_eq!(p.ends[0].write(Bytes::new(10_000)), Bytes::new(10_000));
    p.ends[0].close();
    p.ends[1].close();
    p.open();
    let end = p.run_to_close(ms(1000)).expect("closes");
    assert_eq!(p.ends[1].info().received, 10_000);
    assert!(end < ms(100), "{end}");
}

#[test]
fn slow_start_doubles_from_ten_segments() {
    let mut s = Setup::new("reno");
    s.rate = Rate::from_mbps(1000);
    let mut p = Pipe::new(s).bulk();
    p.run_until(ms(29));
    assert_eq!(p.ends[0].info().in_flight, Bytes::new(14_480));
    p.run_until(ms(49));
    assert_eq!(p.ends[0].info().in_flight, Bytes::new(28_960));
    p.run_until(ms(69));
    // As in Linux: the sender pushed segment 17, so the acknowledgement of the thirtieth is delayed.
    assert_eq!(p.ends[0].info().in_flight, Bytes::new(39 * 1448));
}

#[test]
fn one_loss_is_repaired_within_a_round_trip_by_one_retransmission() {
    let mut s = Setup::new("reno");
    s.rate = Rate::from_mbps(10);
    s.scripts[0] = Some(Box::new(|n, _, _| Mishap { lose: n == 40, ..Mishap::default() }));
    let mut p = Pipe::new(s).bulk();
    p.run_until(ms(120));
    let i = p.ends[0].info();
    assert_eq!((i.retransmissions, i.recoveries, i.timeouts, i.undone), (1, 1, 0, 0));
    p.run_until(ms(400));
    let i = p.ends[0].info();
    assert_eq!((i.retransmissions, i.recoveries, i.timeouts, i.state), (1, 1, 0, CaState::Open));
}

#[test]
fn a_bottleneck_stays_full_for_a_minute_and_nothing_is_lost_twice() {
    let mut s = Setup::new("reno");
    (s.rate, s.queue, s.delay) = (Rate::from_mbps(20), 67, Dur::from_ms(20));
    let mut p = Pipe::new(s).bulk();
    p.run_until(Time::from_ns(60_000_000_000));
    let i = p.ends[0].info();
    let goodput = p.ends[1].info().received as f64 * 8.0 / 60e6;
    assert!((18.9..19.14).contains(&goodput), "{goodput} Mbit/s, {i:#?}");
    assert_eq!(i.timeouts, 0);
    assert_eq!(i.retransmissions, p.drops, "{i:#?}");
}

#[test]
fn bytes_arrive_as_written_through_losses_and_reordering() {
    let text: Vec<u8> = (0..200_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let tcp = TcpParams::default();
    let reno = CongestionParams::default_of("reno").unwrap();
    let mut ends = [
        Connection::new(Role::Client, tcp.clone(), reno.clone(), 1).unwrap(),
        Connection::new(Role::Server, tcp.clone(), reno.clone(), 2).unwrap(),
    ];
    let (mut written, mut got, mut number) = (0, Vec::<u8>::new(), 0_u64);
    let mut wire: std::collections::BTreeMap<(Time, u64), (usize, Segment, Vec<u8>)> = Default::default();
    let mut now = Time::ZERO;
    ends[0].open(now);
    while got.len() < text.len() {
        written += ends[0].write_payload(&text[written..]);
        for (side, end) in ends.iter_mut().enumerate() {
            while let Some((segment, _)) = end.poll_transmit(now) {
                let mut bytes = vec![0; segment.len as usize];
                assert_eq!(end.copy_payload(&segment, &mut bytes), bytes.len());
                number += 1;
                // Every 13th packet is lost, every 7th is late.
                if number % 13 != 5 {
                    let late = Dur::from_us(if number % 7 == 0 { 3_000 } else { 0 } + 5_000);
                    wire.insert((now + late, number), (1 - side, segment, bytes));
                }
            }
        }
        let timer = ends.iter().filter_map(Connection::next_timeout).min();
        let packet = wire.first_key_value().map(|((at, _), _)| *at);
        if packet.is_some_and(|at| timer.is_none_or(|t| at <= t)) {
            let ((at, _), (side, segment, bytes)) = wire.pop_first().unwrap();
            now = at;
            ends[side].on_segment_with(now, &segment, Ecn::NotEct, &bytes);
        } else if let Some(at) = timer {
            now = at.max(now);
            ends[0].on_timeout(now);
            ends[1].on_timeout(now);
        } else {
            assert!(ends[1].readable() > 0, "nothing is due, so all that was written has arrived");
        }
        let mut buffer = [0; 4096];
        let count = ends[1].read_payload(&mut buffer);
        got.extend(&buffer[..count]);
    }
    assert!(got == text, "the bytes are the ones written");
}

/// Times (ms) and acknowledged segments of the pure acknowledgements of the server, for `segments` segments sent at
/// once.
fn acknowledgements(tcp: TcpParams, segments: u64) -> Vec<(u64, u64)> {
    let mut s = Setup::new("reno");
    s.tcp = [TcpParams { initial_window: 100, ..TcpParams::default() }, tcp];
    let mut p = Pipe::new(s);
    p.trace = Some(Vec::new());
    p.ends[0].write(Bytes::new(1448 * segments));
    p.open();
    p.run_until(ms(1000));
    let trace = p.trace.take().unwrap();
    let iss = trace[0].2.seq;
    let acks = trace.iter().filter(|t| t.1 == 1).skip(1);
    acks.map(|t| (t.0.as_ns() / 1_000_000, u64::from(t.2.ack.wrapping_sub(iss) - 1) / 1448)).collect()
}

#[test]
fn a_fixed_delay_of_200_ms_and_two_segments_can_be_had() {
    // As ns-3's receiver: no quick acknowledgements; the odd last segment waits 200 ms.
    let two_hundred = Dur::from_ms(200);
    let tcp =
        TcpParams { quick_acks: 0, delayed_ack: two_hundred, delayed_ack_min: two_hundred, ..TcpParams::default() };
    assert_eq!(acknowledgements(tcp, 5), [(30, 2), (30, 4), (230, 5)]);
}

#[test]
fn linux_acknowledges_the_first_sixteen_one_by_one_then_every_second_or_after_40_ms() {
    let acks = acknowledgements(TcpParams::default(), 21);
    let numbers: Vec<_> = acks.iter().map(|a| a.1).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 21]);
    // The last segment ends the write (PSH) and is read at once: it does not wait (Linux since 6.1.56).
    assert_eq!(acks[18].0, 30);
}

#[test]
fn a_closed_window_is_probed_and_opens_again() {
    let mut s = Setup::new("reno");
    s.tcp[1].recv_buffer = Some(Bytes::new(20_000));
    let mut p = Pipe::new(s);
    p.slow_reader = Some(0);
    p.ends[0].write_endless();
    p.open();
    p.run_until(ms(5000));
    assert_eq!(p.ends[1].readable() / 1448, 13, "the window is full");
    assert_eq!(p.ends[0].info().timeouts, 0, "a closed window is no loss");
    p.slow_reader = Some(u64::MAX);
    p.run_until(ms(5200));
    assert!(p.ends[1].info().received > 60_000, "{:#?}", p.ends[1].info());
}

#[test]
fn a_classic_echo_reduces_once_a_window_and_ends_with_cwr() {
    let mut s = Setup::new("reno");
    s.tcp = [TcpParams { ecn: true, ..TcpParams::default() }, TcpParams { ecn: true, ..TcpParams::default() }];
    (s.rate, s.delay) = (Rate::from_mbps(20), Dur::from_ms(20));
    s.scripts[0] = Some(Box::new(|n, _, _| Mishap { mark: (60..70).contains(&n), ..Mishap::default() }));
    let mut p = Pipe::new(s).bulk();
    p.trace = Some(Vec::new());
    p.run_until(ms(1000));
    let i = p.ends[0].info();
    assert!(i.ecn);
    assert_eq!((i.ecn_reductions, i.retransmissions, i.recoveries), (1, 0, 0), "{i:#?}");
    assert_eq!(p.ends[1].info().ce_received, 10);
    let trace = p.trace.take().unwrap();
    assert_eq!(trace.iter().filter(|t| t.2.flags.contains(Flags::CWR) && t.2.len > 0).count(), 1);
    let plain = trace.iter().filter(|t| t.2.len == 0);
    assert!(plain.clone().all(|t| t.3 == Ecn::NotEct), "SYNs and pure acknowledgements are not ECT");
    assert!(trace.iter().filter(|t| t.2.len > 0).all(|t| t.3 == Ecn::Ect0), "new data is");
}

/// The segment comes back to its sender. True if its mark counts.
fn comes_back(p: &mut Pipe, segment: &Segment) -> bool {
    let counted = p.ends[0].info().returned;
    let back = Segment { flags: segment.flags.with(Flags::REFLECTED), ..*segment };
    p.ends[0].on_segment(p.now, &back, Ecn::Ce);
    p.ends[0].info().returned > counted
}

#[test]
fn a_returned_mark_counts_once_and_its_echo_does_not() {
    let mut s = Setup::new("dctcp");
    (s.rate, s.delay) = (Rate::from_mbps(20), Dur::from_ms(20));
    let mut p = Pipe::new(s).bulk();
    p.trace = Some(Vec::new());
    p.run_until(ms(50));
    let data: Vec<_> = p.trace.as_ref().unwrap().iter().filter(|t| t.1 == 0 && t.2.len > 0).map(|t| t.2).collect();
    assert!(comes_back(&mut p, &data[0]));
    assert!(!comes_back(&mut p, &data[0]), "a copy of it does not");
    p.run_until(ms(300));
    assert!(!comes_back(&mut p, &data[1]), "what was acknowledged does not");
    let i = p.ends[0].info();
    assert_eq!((i.returned, i.returned_late), (1, 2));
}

#[test]
fn returned_packets_reduce_the_window_once_before_any_echo() {
    let mut s = Setup::new("dctcp");
    (s.rate, s.delay) = (Rate::from_mbps(20), Dur::from_ms(20));
    let mut p = Pipe::new(s).bulk();
    p.trace = Some(Vec::new());
    p.run_until(ms(50));
    let data: Vec<_> = p.trace.as_ref().unwrap().iter().filter(|t| t.1 == 0 && t.2.len > 0).map(|t| t.2).collect();
    for segment in &data {
        assert!(comes_back(&mut p, segment), "each is in flight");
    }
    assert!(data.len() > 5 && p.ends[0].info().ecn_reductions == 1, "{} came back", data.len());
    p.run_until(ms(1000));
    let i = p.ends[0].info();
    assert_eq!((i.returned, i.ecn_reductions, i.retransmissions), (data.len() as u64, 1, 0), "{i:#?}");
}

#[test]
fn a_sender_that_ignores_returned_packets_is_not_slowed_down_by_them() {
    let mut s = Setup::new("dctcp");
    s.tcp[0].ignore_returned = true;
    let mut p = Pipe::new(s).bulk();
    p.trace = Some(Vec::new());
    p.run_until(ms(50));
    let data: Vec<_> = p.trace.as_ref().unwrap().iter().filter(|t| t.1 == 0 && t.2.len > 0).map(|t| t.2).collect();
    let window = p.ends[0].info().cwnd;
    assert!(data.iter().all(|segment| !comes_back(&mut p, segment)));
    let i = p.ends[0].info();
    assert_eq!((i.cwnd, i.ecn_reductions, i.returned, i.returned_late), (window, 0, 0, 0));
}

#[test]
fn forged_returned_packets_are_counted_and_change_nothing() {
    let run = |forge: bool| {
        let mut s = Setup::new("dctcp");
        (s.rate, s.delay) = (Rate::from_mbps(20), Dur::from_ms(20));
        let mut p = Pipe::new(s).bulk();
        p.trace = Some(Vec::new());
        p.run_until(ms(50));
        let real = p.trace.as_ref().unwrap().iter().find(|t| t.1 == 0 && t.2.len > 0).unwrap().2;
        if forge {
            let seqs = [real.seq.wrapping_add(1), real.seq.wrapping_add(10_000_000), real.seq.wrapping_sub(1_000_000)];
            let forged = seqs.map(|seq| Segment { seq, ..real });
            for segment in forged.iter().chain([&Segment { len: 0, ..real }]) {
                assert!(!comes_back(&mut p, segment), "{segment:?}");
            }
        }
        p.run_until(ms(1000));
        p.ends[0].info()
    };
    let (left_alone, attacked) = (run(false), run(true));
    assert_eq!((attacked.returned, attacked.returned_late, attacked.ecn_reductions), (0, 4, 0));
    assert_eq!((attacked.cwnd, attacked.acked), (left_alone.cwnd, left_alone.acked));
}

#[test]
fn a_control_that_does_not_know_returned_packets_ignores_them() {
    let mut s = Setup::new("cubic");
    (s.rate, s.delay) = (Rate::from_mbps(20), Dur::from_ms(20));
    let mut p = Pipe::new(s).bulk();
    p.trace = Some(Vec::new());
    p.run_until(ms(50));
    let real = p.trace.as_ref().unwrap().iter().find(|t| t.1 == 0 && t.2.len > 0).unwrap().2;
    let before = p.ends[0].info().cwnd;
    comes_back(&mut p, &real);
    assert_eq!((p.ends[0].info().cwnd, p.ends[0].info().ecn_reductions), (before, 0));
}
