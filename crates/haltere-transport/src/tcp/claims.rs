//! Worked examples of the standards, by hand: recovery, probes, timeouts, marks.

use crate::tcp::sender::prr::Prr;
use crate::{CaState, Connection, Flags, Role, SackBlocks, Segment, TcpParams, Timestamps};
use alloc::vec::Vec;
use haltere_congestion::CongestionParams;
use haltere_units::{Bytes, Dur, Ecn, Time};

const MSS: u64 = 1000;

fn at(us: u64) -> Time {
    Time::from_ns(us * 1000)
}

/// A sender whose peer is the test: established at 100 ms with a round-trip time of 100 ms, its first window sent.
struct Bench {
    c: Connection,
    iss: u32,
    peer: u32,
    ts_base: u32,
}

impl Bench {
    fn new(change: impl FnOnce(&mut TcpParams)) -> Bench {
        let mut bench = Bench::opened(CongestionParams::default_of("reno").unwrap(), change);
        bench.c.write_endless();
        bench
    }
    /// The same with nothing to send yet.
    fn opened(control: CongestionParams, change: impl FnOnce(&mut TcpParams)) -> Bench {
        let mut p = TcpParams { mss: Bytes::new(MSS), ..TcpParams::default() };
        change(&mut p);
        let mut c = Connection::new(Role::Client, p, control, 7).unwrap();
        c.open(Time::ZERO);
        let (syn, _) = c.poll_transmit(Time::ZERO).unwrap();
        let ts_base = syn.timestamps.unwrap().val;
        let answer = Segment {
            seq: 5000,
            ack: syn.seq.wrapping_add(1),
            window: 65_000,
            flags: Flags::SYN.with(Flags::ACK),
            timestamps: Some(Timestamps { val: 1, ecr: ts_base }),
            mss: Some(1012),
            window_scale: Some(7),
            sack_permitted: true,
            ..Segment::default()
        };
        c.on_segment(at(100_000), &answer, Ecn::NotEct);
        Bench { c, iss: syn.seq.wrapping_add(1), peer: 5001, ts_base }
    }

    fn send(&mut self, now: Time) -> Vec<u64> {
        core::iter::from_fn(|| self.c.poll_transmit(now))
            .filter(|(s, _)| s.len > 0)
            .map(|(s, _)| u64::from(s.seq.wrapping_sub(self.iss)) / MSS)
            .collect()
    }

    /// The peer acknowledges up to segment `ack` and SACKs these, echoing our clock of `echo_ms`; what is sent then.
    fn ack(&mut self, now: Time, ack: u32, sack: &[(u32, u32)], echo_ms: u32) -> Vec<u64> {
        let wire = |segment: u32| self.iss.wrapping_add(segment * MSS as u32);
        let mut blocks = SackBlocks::default();
        for &(s, e) in sack {
            blocks.push(wire(s), wire(e));
        }
        let segment = Segment {
            seq: self.peer,
            ack: wire(ack),
            window: 2000,
            flags: Flags::ACK,
            timestamps: Some(Timestamps {
                val: now.as_ns() as u32 / 1_000_000,
                ecr: self.ts_base.wrapping_add(echo_ms),
            }),
            sack: blocks,
            ..Segment::default()
        };
        self.c.on_segment(now, &segment, Ecn::NotEct);
        self.send(now)
    }
}

/// By hand: of eight segments, all that was written, two are acknowledged. The authors of BBRv3 note at each
/// acknowledgement that there is nothing more to send; the others wait for the application to write.
#[test]
fn an_acknowledgement_that_finds_nothing_to_send_limits_the_authors_bbr3() {
    let mut authors = CongestionParams::default_of("bbr3").unwrap();
    let CongestionParams::Bbr3(params) = &mut authors else { panic!("a registry") };
    params.variant = haltere_congestion::bbr3::Variant::Linux;
    for (control, limited) in [(CongestionParams::default_of("bbr3").unwrap(), false), (authors, true)] {
        let mut b = Bench::opened(control, |_| ());
        b.c.write(Bytes::new(8 * MSS));
        assert_eq!(b.send(at(100_000)).len(), 8);
        b.ack(at(200_000), 2, &[], 100);
        assert_eq!(b.c.made_sender().delivery().is_app_limited(), limited);
    }
}

#[test]
fn prr_sends_in_proportion_while_too_much_is_in_flight() {
    // RFC 6937 section 3.1, in segments of 1: 20 in flight, to 10. After k deliveries ceil(k 10 / 20) may have been
    // sent.
    let mut prr_out = 0;
    for k in 1..=8_u64 {
        let in_flight = 20 - k + prr_out;
        let prr = Prr {
            mss: 1,
            ssthresh: 10,
            prior_cwnd: 20,
            prr_delivered: k,
            prr_out,
            in_flight,
            delivered: 1,
            good: false,
        };
        prr_out += prr.send_count();
        assert_eq!(prr_out, (k * 10).div_ceil(20), "after {k} deliveries");
    }
}

#[test]
fn prr_conserves_below_the_threshold_and_grows_by_one_on_clean_progress() {
    let prr = Prr {
        mss: 1,
        ssthresh: 10,
        prior_cwnd: 20,
        prr_delivered: 12,
        prr_out: 6,
        in_flight: 3,
        delivered: 1,
        good: false,
    };
    // Conservation: what was delivered and not yet made good, 12 - 6, bounded by the way to the threshold, 7.
    assert_eq!(prr.send_count(), 6);
    assert_eq!(Prr { good: true, ..prr }.send_count(), 7);
    assert_eq!(Prr { in_flight: 9, good: true, ..prr }.send_count(), 1);
}

#[test]
fn prr_lets_the_first_retransmission_go_in_any_case() {
    let prr = Prr {
        mss: 1,
        ssthresh: 10,
        prior_cwnd: 20,
        prr_delivered: 0,
        prr_out: 0,
        in_flight: 19,
        delivered: 0,
        good: false,
    };
    assert_eq!(prr.send_count(), 1);
}

#[test]
fn the_third_sacked_segment_begins_recovery_and_repeats_the_hole() {
    let mut b = Bench::new(|_| {});
    assert_eq!(b.send(at(100_000)), (0..10).collect::<Vec<_>>());
    assert_eq!(b.ack(at(200_000), 0, &[(1, 2)], 100), [10]); // limited transmit (RFC 3042)
    assert_eq!(b.ack(at(200_000), 0, &[(1, 3)], 100), [11]);
    assert_eq!(b.ack(at(200_000), 0, &[(1, 4)], 100), [0]);
    let i = b.c.info();
    assert_eq!((i.state, i.ssthresh, i.lost), (CaState::Recovery, Bytes::new(5 * MSS), Bytes::new(MSS)));
    // All of it is acknowledged: the window is the threshold, and grows by the nine segments that this delivered
    // (Linux).
    b.ack(at(300_000), 12, &[], 200);
    assert_eq!((b.c.info().state, b.c.info().cwnd), (CaState::Open, Bytes::new(6 * MSS)));
}

#[test]
fn rack_waits_a_quarter_of_the_least_round_trip_before_three_are_sacked() {
    let mut b = Bench::new(|_| {});
    b.send(at(100_000));
    assert_eq!(b.ack(at(200_000), 0, &[(1, 2)], 100), [10]);
    assert_eq!(b.c.info().state, CaState::Disorder);
    // RFC 8985 section 6.2: min RTT / 4 = 25 ms; two ticks of 4 ms more (Linux).
    assert_eq!(b.c.next_timeout(), Some(at(233_000)));
    b.c.on_timeout(at(233_000));
    assert_eq!(b.send(at(233_000)), [0]);
    assert_eq!(b.c.info().state, CaState::Recovery);
}

#[test]
fn rack_finds_a_retransmission_that_was_lost_too() {
    let mut b = Bench::new(|_| {});
    b.send(at(100_000));
    b.ack(at(200_000), 0, &[(1, 2)], 100);
    b.ack(at(201_000), 0, &[(1, 3)], 100);
    assert_eq!(b.ack(at(202_000), 0, &[(1, 4)], 100), [0]);
    // Segment 11, sent at 201 ms, before the retransmission: that it arrives says nothing of it.
    assert!(!b.ack(at(301_000), 0, &[(1, 12)], 201).contains(&0));
    // What is sent after the retransmission and arrives a round trip later says that it was lost.
    let sent = b.ack(at(303_000), 0, &[(1, 13)], 202);
    assert!(sent.contains(&0), "{sent:?}");
    assert_eq!(b.c.info().timeouts, 0);
}

#[test]
fn a_tail_loss_probe_goes_after_two_round_trips() {
    // RFC 8985 section 7.2: PTO = 2 SRTT, two ticks of 4 ms more (Linux). It carries new data if there is any.
    let mut b = Bench::new(|_| {});
    b.send(at(100_000));
    assert_eq!(b.c.next_timeout(), Some(at(308_000)));
    b.c.on_timeout(at(308_000));
    assert_eq!(b.send(at(308_000)), [10]);
    // One probe an episode; then the retransmission timeout runs from the oldest segment: RTO = 100 + 200 ms... but not
    // before now.
    b.c.on_timeout(b.c.next_timeout().unwrap());
    assert_eq!(b.c.info().timeouts, 1);
}

#[test]
fn repeated_timeouts_double_and_hold_ssthresh() {
    let mut b = Bench::new(|p| p.tlp = false);
    b.send(at(100_000));
    let mut last = at(100_000);
    // RTO after one sample of 100 ms: 100 + 4 * 50 = 300 ms.
    for (n, wait_ms) in [300_u64, 600, 1200, 2400].into_iter().enumerate() {
        let next = b.c.next_timeout().unwrap();
        assert_eq!(next - last, Dur::from_ms(wait_ms));
        b.c.on_timeout(next);
        assert_eq!(b.send(next), [0], "only the oldest");
        let i = b.c.info();
        assert_eq!((i.ssthresh, i.cwnd), (Bytes::new(5 * MSS), Bytes::new(MSS)), "after {} timeouts", n + 1);
        last = next;
    }
}

#[test]
fn frto_sends_new_data_and_undoes_a_spurious_timeout() {
    // RFC 5682 section 3.1, with a delay spike: all ten arrive, late. Timestamps off, or Eifel would find out sooner.
    let mut b = Bench::new(|p| p.tlp = false);
    b.send(at(100_000));
    b.c.on_timeout(at(400_000));
    assert_eq!(b.send(at(400_000)), [0]);
    assert_eq!(b.c.info().state, CaState::Loss);
    // The acknowledgement of the original (echo of 100 ms, before the retransmission at 400 ms).
    let sent = b.ack(at(450_000), 1, &[], 100);
    assert!(!sent.contains(&1), "nothing is repeated: {sent:?}");
    let i = b.c.info();
    assert_eq!((i.state, i.undone), (CaState::Open, 1));
    assert!(i.cwnd >= Bytes::new(10 * MSS) && i.ssthresh > Bytes::new(1 << 40), "{i:?}");
}

#[test]
fn frto_step_2b_new_data_then_the_original_acknowledged_is_spurious() {
    let mut b = Bench::new(|p| (p.tlp, p.undo) = (false, false));
    b.send(at(100_000));
    b.c.on_timeout(at(400_000));
    assert_eq!(b.send(at(400_000)), [0]);
    // Step 2b: the first acknowledgement covers the retransmitted segment: two new segments, none repeated.
    let sent = b.ack(at(450_000), 1, &[], 400);
    assert_eq!(sent, [10, 11]);
    // Step 3b: the second one covers segments never retransmitted.
    b.ack(at(451_000), 3, &[], 400);
    assert_eq!(b.c.info().state, CaState::Open);
}

#[test]
fn a_genuine_timeout_repairs_in_slow_start() {
    let mut b = Bench::new(|p| p.tlp = false);
    b.send(at(100_000));
    b.c.on_timeout(at(400_000));
    assert_eq!(b.send(at(400_000)), [0]);
    let first = b.ack(at(500_000), 1, &[], 400);
    assert_eq!(first, [10, 11], "F-RTO tries new data");
    // Both arrive: duplicates with SACK: the loss was real (step 3a).
    let then = b.ack(at(600_000), 1, &[(10, 11)], 500);
    assert_eq!(then[0], 1, "{then:?}");
}

#[test]
fn a_dsack_for_the_retransmission_takes_the_reduction_back() {
    // RFC 3708: only reordered, not lost. RACK's window does not save it: three were SACKed.
    let mut b = Bench::new(|_| {});
    b.send(at(100_000));
    b.ack(at(200_000), 0, &[(1, 2)], 100);
    b.ack(at(200_000), 0, &[(1, 3)], 100);
    assert_eq!(b.ack(at(200_000), 0, &[(1, 4)], 100), [0]);
    // The original arrives after all; the echo is newer than the retransmission here, so only DSACK can show it.
    b.ack(at(205_000), 4, &[], 200);
    b.ack(at(300_000), 4, &[(0, 1)], 200);
    let i = b.c.info();
    assert_eq!((i.state, i.undone, i.cwnd), (CaState::Open, 1, Bytes::new(10 * MSS)), "{i:?}");
}

/// A receiver with a control that counts marks; gives the ACKs for the marks of arriving segments.
fn echoes(marks: &[bool]) -> Vec<(u32, bool)> {
    let p = TcpParams { mss: Bytes::new(MSS), quick_acks: 0, timestamps: false, ..TcpParams::default() };
    let dctcp = CongestionParams::default_of("dctcp").unwrap();
    let mut c = Connection::new(Role::Server, p.clone(), dctcp.clone(), 7).unwrap();
    c.read_endless();
    let flags = Flags::SYN.with(Flags::ECE).with(Flags::CWR);
    let syn = Segment { seq: 99, window: 60_000, flags, mss: Some(1000), sack_permitted: true, ..Segment::default() };
    c.on_segment(Time::ZERO, &syn, Ecn::Ect0);
    let (answer, ecn) = c.poll_transmit(Time::ZERO).unwrap();
    assert_eq!(ecn, Ecn::Ect0, "all packets of such a control are ECT");
    let mut out = Vec::new();
    for (n, &ce) in marks.iter().enumerate() {
        let segment = Segment {
            seq: 100 + n as u32 * 1000,
            ack: answer.seq.wrapping_add(1),
            len: 1000,
            window: 60_000,
            flags: Flags::ACK,
            ..Segment::default()
        };
        c.on_segment(at(100 + n as u64), &segment, if ce { Ecn::Ce } else { Ecn::Ect0 });
        while let Some((ack, _)) = c.poll_transmit(at(100 + n as u64)) {
            out.push(((ack.ack - 100) / 1000, ack.flags.contains(Flags::ECE)));
        }
    }
    out
}

#[test]
fn the_packets_of_an_l4s_sender_carry_ect1() {
    let p = TcpParams { l4s: true, ..TcpParams::default() };
    let mut c = Connection::new(Role::Client, p, CongestionParams::default_of("dctcp").unwrap(), 7).unwrap();
    c.open(Time::ZERO);
    let (_, ecn) = c.poll_transmit(Time::ZERO).expect("a SYN");
    assert_eq!(ecn, Ecn::Ect1, "all packets of such a control are ECT");
}

#[test]
fn a_receiver_for_dctcp_acknowledges_at_once_when_the_mark_changes() {
    // RFC 8257 section 3.2, delayed acknowledgements of two.
    assert_eq!(echoes(&[false, false, false, false]), [(2, false), (4, false)]);
    assert_eq!(echoes(&[true, true, true, true])[1..], [(3, true)]);
    // The mark comes with one segment held back: that is acknowledged first, without echo, then the marked one with.
    assert_eq!(echoes(&[false, true]), [(1, false), (2, true)]);
    assert_eq!(echoes(&[false, false, true, false, false]), [(2, false), (3, true), (4, false)]);
}
