//! Under random loss, reordering, duplication and marks the stream arrives complete, in order, once, and both sides
//! close.

use crate::pipe;
use crate::pipe::{Mishap, Pipe, Setup};
use haltere_transport::{AccurateEcn, RtoRule, TcpParams};
use haltere_units::{Bytes, Dur, Rate, Time};

struct Rng(u64);
impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }
}

fn random_tcp(rng: &mut Rng) -> TcpParams {
    let mut p = TcpParams {
        sack: !rng.chance(200),
        timestamps: !rng.chance(200),
        window_scaling: !rng.chance(100),
        rack: !rng.chance(200),
        tlp: !rng.chance(200),
        prr: !rng.chance(200),
        frto: !rng.chance(200),
        undo: !rng.chance(200),
        ecn: rng.chance(400),
        nagle: !rng.chance(300),
        ..TcpParams::default()
    };
    if rng.chance(200) {
        p.quick_acks = 0;
        p.delayed_ack = Dur::from_ms(200);
        p.delayed_ack_min = Dur::from_ms(200);
        p.rto_rule = RtoRule::Rfc6298;
        p.min_rto = Dur::from_secs(1);
    }
    if rng.chance(200) {
        p.delayed_ack = Dur::ZERO;
        p.delayed_ack_min = Dur::ZERO;
    }
    if rng.chance(300) {
        p.recv_buffer = Some(Bytes::new(1448 + rng.below(200_000)));
    }
    if rng.chance(300) {
        p.send_buffer = Some(Bytes::new(1448 + rng.below(200_000)));
    }
    p.accurate_ecn = [AccurateEcn::Off, AccurateEcn::Ace, AccurateEcn::Option][rng.below(3) as usize];
    p.mss = Bytes::new([1448, 1448, 536, 9000][rng.below(4) as usize]);
    p.recv_buffer = p.recv_buffer.map(|b| b.max(p.mss));
    p.send_buffer = p.send_buffer.map(|b| b.max(p.mss));
    p
}

fn script(seed: u64, loss: u64, delay: u64, duplicate: u64, mark: u64) -> pipe::Script {
    let mut rng = Rng(seed);
    // Loss comes in bursts half of the time; the network heals after 400 packets, so that every run ends.
    let mut burst = 0;
    Box::new(move |n, _, _| {
        if n > 400 {
            return Mishap::default();
        }
        if rng.chance(loss / 4) {
            burst = rng.below(8);
        }
        burst = u64::saturating_sub(burst, 1);
        Mishap {
            lose: burst > 0 || rng.chance(loss),
            mark: rng.chance(mark),
            duplicate: rng.chance(duplicate),
            extra: if rng.chance(delay) { Dur::from_us(rng.below(60_000)) } else { Dur::ZERO },
        }
    })
}

fn run(seed: u64) {
    let mut rng = Rng(seed);
    let mut s = Setup::new(["reno", "cubic", "vegas", "dctcp", "bbr"][rng.below(5) as usize]);
    s.tcp = [random_tcp(&mut rng), random_tcp(&mut rng)];
    s.seed = rng.next();
    let sack = s.tcp.iter().all(|t| t.sack);
    s.delay = Dur::from_us(rng.below(50_000));
    if rng.chance(500) {
        s.rate = Rate::from_bps(1_000_000 + rng.below(100_000_000));
        s.queue = 5 + rng.below(100) as usize;
        s.mark_at = 3 + rng.below(50) as usize;
    }
    for side in 0..2 {
        let (loss, delay, dup, mark) = (rng.below(150), rng.below(200), rng.below(100), rng.below(200));
        s.scripts[side] = Some(script(rng.next(), loss, delay, dup, mark));
    }
    let mut left = [1 + rng.below(400_000), if rng.chance(500) { 0 } else { rng.below(100_000) }];
    let total = left;
    let endless_reader = !rng.chance(300);
    let mut p = Pipe::new(s);
    if !endless_reader {
        p.slow_reader = Some(1 + rng.below(20_000));
    }
    p.open();
    let mut closed = [false; 2];
    let mut out = [0; 2];
    loop {
        for side in 0..2 {
            if left[side] > 0 {
                let chunk = 1 + rng.below(30_000);
                let taken = p.ends[side].write(Bytes::new(chunk.min(left[side]))).as_u64();
                left[side] -= taken;
                if taken > 0 {
                    p.flush(side);
                    let i = p.ends[side].info();
                    out[side] = i.acked + i.unacked.as_u64();
                }
            } else if !closed[side] {
                closed[side] = true;
                p.ends[side].close();
                p.flush(side);
            }
        }
        if p.ends[0].info().reset && !p.ends[0].is_established() && p.ends[0].info().segments_sent == 0 {
            assert!(p.now >= Time::from_ns(127_000_000_000), "seed {seed}: seven SYNs take 127 s");
            return;
        }
        if p.ends[0].is_closed() && p.ends[1].is_closed() {
            break;
        }
        if p.now > Time::from_ns(20_000_000_000_000) || !p.step() {
            // One end gave up, and its RST was lost: the other one waits for ever.
            let reset = p.ends.iter().any(|end| end.info().reset);
            assert!(reset, "seed {seed}: still open at {}: {:#?} {:#?}", p.now, p.ends[0], p.ends[1]);
            break;
        }
        for (side, out) in out.iter_mut().enumerate() {
            let i = p.ends[side].info();
            // Without SACK the duplicates are counted as full segments, which they may not be.
            assert!(!sack || i.sacked + i.lost <= i.unacked, "seed {seed}: {i:#?}");
            // New data goes only into the window; a timer may send one segment beyond it, as a tail or window probe.
            let end = i.acked + i.unacked.as_u64();
            let new = end.saturating_sub(*out); // an acknowledged FIN leaves the sum
            // The segment with the FIN ignores the congestion window, which BBR may have made smaller than what is in
            // flight.
            let beyond = if closed[side] { i.mss + Bytes::new(1) } else { Bytes::ZERO };
            if p.woken == Some(side) {
                assert!(
                    i.in_flight <= i.cwnd + beyond || new <= (i.mss + beyond).as_u64(),
                    "seed {seed}: {new} B by a timer, {i:#?}"
                );
            } else if new > beyond.as_u64() {
                assert!(i.in_flight <= i.cwnd + beyond, "seed {seed}: {new} B, {i:#?}");
            }
            *out = end;
        }
    }
    for (side, total) in total.into_iter().enumerate() {
        let (sent, here) = (p.ends[side].info(), p.ends[1 - side].info());
        if sent.reset || here.reset {
            assert!(sent.timeouts + here.timeouts > 10, "seed {seed}: reset without cause {sent:#?} {here:#?}");
            return;
        }
        assert_eq!(sent.acked, total, "seed {seed}: acknowledged");
        assert_eq!(here.received, total, "seed {seed}: received");
        assert_eq!(sent.in_flight, Bytes::ZERO, "seed {seed}");
        assert_eq!((sent.sacked, sent.lost, sent.retransmitting), Default::default(), "seed {seed}");
    }
}

#[test]
fn the_stream_arrives_complete_and_both_sides_close() {
    let (from, to) = match std::env::var("HALTERE_SEEDS").ok().and_then(|s| s.parse::<u64>().ok()) {
        Some(seed) => (seed, seed + 1),
        None => (0, 5000),
    };
    for seed in from..to {
        run(seed);
    }
}
