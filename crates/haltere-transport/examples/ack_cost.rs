//! What a segment and its share of an acknowledgement cost in both endpoints together:
//! `cargo run --release -p haltere-transport --example ack_cost`

use haltere_congestion::CongestionParams;
use haltere_transport::{Connection, Role, Segment, TcpParams};
use haltere_units::{Bytes, Dur, Ecn, Time};
use std::collections::VecDeque;

/// Processor time of this thread in ns (Linux), so that other programs do not count.
fn cpu_ns() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    text.split(' ').next().and_then(|first| first.parse().ok()).expect("schedstat")
}

/// Segments through a pipe of `window` segments; every `loss`-th is lost (0: none). Gives ns of processor time for
/// each.
fn run(control: &str, window: u64, loss: u64, segments: u64) -> f64 {
    let tcp = TcpParams {
        send_buffer: Some(Bytes::new(1448 * window)),
        recv_buffer: Some(Bytes::new(1448 * window * 2)),
        ..TcpParams::default()
    };
    let control = CongestionParams::default_of(control).expect("a control of that name");
    let mut client = Connection::new(Role::Client, tcp.clone(), control.clone(), 1).expect("parameters");
    let mut server = Connection::new(Role::Server, tcp.clone(), control.clone(), 2).expect("parameters");
    server.read_endless();
    client.write_endless();
    let gap = Dur::from_ns(1_200);
    let mut now = Time::ZERO;
    client.open(now);
    let mut forth: VecDeque<(Segment, Ecn)> = VecDeque::new();
    let mut back: VecDeque<(Segment, Ecn)> = VecDeque::new();
    let mut sent = 0;
    let start = cpu_ns();
    while client.segments_sent() < segments {
        now += gap;
        while let Some(packet) = client.poll_transmit(now) {
            sent += 1;
            if loss == 0 || sent % loss != 0 {
                forth.push_back(packet);
            }
        }
        match forth.pop_front() {
            Some((segment, ecn)) => server.on_segment(now, &segment, ecn),
            None => now = client.next_timeout().into_iter().chain(server.next_timeout()).min().unwrap_or(now).max(now),
        }
        if server.next_timeout().is_some_and(|t| t <= now) {
            server.on_timeout(now);
        }
        while let Some(packet) = server.poll_transmit(now) {
            back.push_back(packet);
        }
        if client.next_timeout().is_some_and(|t| t <= now) {
            client.on_timeout(now);
        }
        while let Some((segment, ecn)) = back.pop_front() {
            client.on_segment(now, &segment, ecn);
        }
    }
    (cpu_ns() - start) / segments as f64
}

fn main() {
    let tcp = TcpParams::default();
    println!("size_of Connection: {} bytes", size_of::<Connection>());
    println!("size_of Segment: {} bytes", size_of::<Segment>());
    let control = CongestionParams::default_of("cubic").expect("cubic");
    let idle = Connection::new(Role::Client, tcp.clone(), control.clone(), 1).expect("parameters");
    println!("idle connection with its heap: {} bytes", idle.memory());
    for control in ["reno", "cubic", "vegas", "dctcp", "bbr"] {
        for (window, loss) in [(100, 0), (4000, 0), (4000, 1000), (4000, 100)] {
            let segments = 500_000; // the clock of the scheduler ticks every 4 ms: 8 ns
            let best = (0..5).map(|_| run(control, window, loss, segments)).fold(f64::INFINITY, f64::min);
            println!("{control:6} window {window:5} loss 1/{loss:<5} {best:7.1} ns a segment with its acknowledgement");
        }
    }
}
