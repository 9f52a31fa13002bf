//! What an acknowledgement costs in each control, in ns, and over CUBIC's: `cargo run --release -p haltere-congestion
//! --example control_cost`.
//!
//! Acknowledgements of two segments come at a constant rate. The round-trip time goes up and down by a quarter, each
//! 2000th acknowledgement brings a loss and a recovery of one round trip, and window and pacing rate are asked after
//! each. The controls take turns, and the figure is the least of fifteen runs.
//!
//! `control_cost EVENTS NAME` plays so many acknowledgements to one control, `control_cost names` lists them: for
//! `benches/costs.py`, which counts instructions.
#![allow(clippy::print_stdout, reason = "it prints a table")]
#![allow(clippy::disallowed_methods, reason = "it measures time")]

use haltere_congestion::{
    AckEvent, CongestionControl, CongestionParams, Control, LossEvent, LossKind, LostSegment, RateSample, SenderContext,
};
use haltere_units::{Bytes, Dur, Time};
use std::hint::black_box;
use std::time::Instant;

const EVENTS: u64 = 200_000;
const RUNS: usize = 15;
const MSS: u64 = 1448;
/// Acknowledgements of a round trip: 100 segments, 20 ms.
const ROUND: u64 = 50;
const GAP: Dur = Dur::from_us(400);
/// Acknowledgements between losses.
const PERIOD: u64 = 2000;

/// The acknowledgement of that number.
fn ack(number: u64) -> AckEvent {
    let mut ev = AckEvent::at(Time::ZERO + GAP * number);
    let (bytes, delivered) = (Bytes::new(2 * MSS), number * 2 * MSS);
    // Up and down in 400 acknowledgements: 20 to 25 ms.
    let queue = GAP * (200 - (number % 400).abs_diff(200)) / 16;
    let rtt = Dur::from_ms(20) + queue;
    (ev.acked, ev.delivered, ev.rtt, ev.srtt, ev.min_rtt) = (bytes, bytes, Some(rtt), rtt, Dur::from_ms(20));
    (ev.prior_in_flight, ev.in_flight) = (Bytes::new(100 * MSS), Bytes::new(98 * MSS));
    (ev.snd_una, ev.snd_nxt, ev.cwnd_limited) = (delivered, delivered + 100 * MSS, true);
    (ev.round, ev.round_start) = (number / ROUND, number.is_multiple_of(ROUND));
    ev.in_recovery = number % PERIOD < ROUND && number >= PERIOD;
    let mut sample = RateSample::new(Bytes::new(100 * MSS), rtt);
    (sample.prior_delivered, sample.total_delivered) = (delivered.saturating_sub(100 * MSS), delivered);
    sample.tx_in_flight = ev.prior_in_flight;
    ev.rate = Some(sample);
    ev
}

/// Plays so many acknowledgements to a control.
fn play(name: &str, events: u64) {
    let sender =
        SenderContext { mss: Bytes::new(MSS), initial_window: Bytes::new(10 * MSS), seed: 1, ..Default::default() };
    let mut control = Control::new(&CongestionParams::default_of(name).expect("a name"), &sender).expect("defaults");
    control.on_established(Time::ZERO, Dur::from_ms(20));
    for number in 1..=events {
        let ev = ack(number);
        let loses = number.is_multiple_of(PERIOD);
        if loses {
            let mut lost = LostSegment::new(ev.snd_una, Bytes::new(MSS));
            (lost.tx_in_flight, lost.lost) = (ev.prior_in_flight, lost.bytes);
            (lost.prior_delivered, lost.total_delivered) = (number * 2 * MSS - 100 * MSS, number * 2 * MSS);
            control.on_segment_lost(&lost);
        }
        control.on_ack(&ev);
        if loses {
            control.on_loss(&LossEvent::at(ev.now, LossKind::Loss));
        } else if number % PERIOD == ROUND && number > PERIOD {
            control.on_recovered(ev.now);
        }
        black_box((control.cwnd(), control.pacing_rate()));
    }
}

/// Nanoseconds an acknowledgement.
fn cost(name: &str) -> f64 {
    let began = Instant::now();
    play(name, EVENTS);
    began.elapsed().as_nanos() as f64 / EVENTS as f64
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let names = CongestionParams::NAMES;
    match arguments.as_slice() {
        [] => {}
        [word] if word == "names" => return names.iter().for_each(|name| println!("{name}")),
        [events, name] => return play(name, events.parse().expect("a number of acknowledgements")),
        _ => panic!("no arguments, `names`, or a number of acknowledgements and a name"),
    }
    let mut least = vec![f64::INFINITY; names.len()];
    for _ in 0..RUNS {
        for (least, name) in least.iter_mut().zip(names) {
            *least = least.min(cost(name));
        }
    }
    let cubic = names.iter().zip(&least).find(|(name, _)| **name == "cubic").map_or(f64::NAN, |(_, ns)| *ns);
    for (name, ns) in names.iter().zip(least) {
        println!("{name:<14} {ns:6.1} ns  {:.2}", ns / cubic);
    }
}
