//! Against Linux 6.1: one flow over 20 Mbit/s, 40 ms, a FIFO of 67 packets; the kernel's own figures, measured in a
//! virtual machine with virtual time. Its shaper hands a packet on when its transmission starts.

mod pipe;
use haltere_units::{Dur, Rate, Time};
use pipe::{Pipe, Setup};

fn link(control: &str) -> Pipe {
    let mut s = Setup::new(control);
    (s.rate, s.queue, s.delay, s.early) = (Rate::from_mbps(20), 67, Dur::from_ms(20), true);
    Pipe::new(s).bulk()
}

/// Window, unacknowledged, state and retransmissions at a time in ms.
fn at(p: &mut Pipe, ms: u64) -> (u64, u64, u8, u64) {
    p.run_until(Time::from_ns(ms * 1_000_000 - 172_000)); // the samples' phase: the flow starts at 60.172 ms
    let i = p.ends[0].info();
    let mss = i.mss.as_u64();
    (i.cwnd.as_u64() / mss, i.unacked.as_u64() / mss, i.state as u8, i.retransmissions)
}

#[test]
#[ignore = "prints"]
fn print() {
    for control in ["reno", "cubic", "vegas", "dctcp", "bbr"] {
        let mut p = link(control);
        print!("{control}: ");
        for k in 1..=30 {
            let (c, u, s, r) = at(&mut p, k * 20);
            let i = p.ends[0].info();
            let ss = i.ssthresh.as_u64() / 1448;
            print!("{} {c} {u} {} {s} {r} {} | ", k * 20, if ss > 1 << 40 { 0 } else { ss }, i.srtt.as_us());
        }
        println!();
        let mut last = p.ends[0].info();
        for k in 31..1500 {
            at(&mut p, k * 20);
            let i = p.ends[0].info();
            if i.ssthresh != last.ssthresh && control != "vegas" {
                print!(
                    "({} {} {} {} {} {}) ",
                    k * 20,
                    last.cwnd.as_u64() / 1448,
                    i.cwnd.as_u64() / 1448,
                    i.ssthresh.as_u64() / 1448,
                    i.state as u8,
                    i.retransmissions
                );
            }
            last = i;
        }
        let i = p.ends[0].info();
        println!("\n  drops {} goodput {} {i:?}", p.drops, p.ends[1].info().received as f64 * 8.0 / 30e6);
    }
}

#[test]
#[ignore = "prints"]
fn trace() {
    let mut p = link("reno");
    p.trace = Some(Vec::new());
    let mut last = p.ends[0].info();
    let mut n = 0;
    while p.now < Time::from_ns(335_000_000) && n < 60 {
        p.step();
        let i = p.ends[0].info();
        if p.now > Time::from_ns(310_000_000)
            && (i.state as u8 != last.state as u8 || i.sacked != last.sacked || i.lost != last.lost)
        {
            println!(
                "{} state {:?} sacked {} lost {} cwnd {} inflight {} una {}",
                p.now,
                i.state,
                i.sacked.as_u64() / 1448,
                i.lost.as_u64() / 1448,
                i.cwnd.as_u64() / 1448,
                i.in_flight.as_u64() / 1448,
                i.acked / 1448
            );
            n += 1;
        }
        last = i;
    }
    for (t, side, s, _) in p.trace.unwrap().iter().filter(|t| t.1 == 1 && t.0 > Time::from_ns(295_000_000)).take(40) {
        println!("{t} {side} ack {} {:?}", s.ack, s.sack.as_slice());
    }
}
