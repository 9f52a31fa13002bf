//! Counts of marks (RFC 9768) between two endpoints: exact although acknowledgements are lost, overtaken and merged.

use crate::pipe::{Mishap, Pipe, Setup};
use haltere_transport::{AccurateEcn, TcpParams};
use haltere_units::{Bytes, Dur, Ecn, Rate, Time};
use std::cell::Cell;
use std::rc::Rc;

/// SplitMix64.
fn random(seed: u64) -> impl FnMut(u64) -> bool {
    let mut state = seed;
    move |per_mille| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % 1000 < per_mille
    }
}

fn seconds(n: u64) -> Time {
    Time::ZERO + Dur::from_secs(n)
}

/// Marks in 3 of 10 data segments; acknowledgements are lost and overtaken. Returns packets and bytes: marked, and
/// counted by the sender.
fn transfer(seed: u64, feedback: AccurateEcn, lost_acks: u64) -> [(u64, u64); 2] {
    let marked = Rc::new(Cell::new((0, 0)));
    let tcp = TcpParams { accurate_ecn: feedback, send_buffer: Some(Bytes::new(4_000_000)), ..TcpParams::default() };
    let mut setup = Setup::new("reno");
    setup.tcp = [tcp.clone(), tcp];
    setup.rate = Rate::from_mbps(20);
    setup.seed = seed;
    let (counted, mut draw) = (marked.clone(), random(seed));
    setup.scripts[0] = Some(Box::new(move |_, segment, ecn| {
        let mark = segment.len > 0 && ecn != Ecn::NotEct && draw(300);
        if mark {
            let (packets, bytes) = counted.get();
            counted.set((packets + 1, bytes + u64::from(segment.len)));
        }
        Mishap { mark, ..Mishap::default() }
    }));
    let mut draw = random(!seed);
    setup.scripts[1] = Some(Box::new(move |n, _, _| Mishap {
        lose: n > 2 && draw(lost_acks),
        extra: if draw(100) { Dur::from_ms(3) } else { Dur::ZERO },
        ..Mishap::default()
    }));
    let mut pipe = Pipe::new(setup);
    pipe.ends[0].write(Bytes::new(2_000_000));
    pipe.open();
    // Two acknowledgements of five are lost: eight in a row happen, and back the timer off for a minute.
    pipe.run_until(seconds(300));
    let info = pipe.ends[0].info();
    assert_eq!(info.acked, 2_000_000, "seed {seed}");
    [marked.get(), (info.delivered_ce, info.bytes_delivered_ce)]
}

#[test]
fn the_option_tells_all_bytes_whatever_happens_to_acknowledgements() {
    for seed in 0..20 {
        let [marked, counted] = transfer(seed, AccurateEcn::Option, 400);
        assert!(marked.0 > 300, "{marked:?}");
        assert_eq!(marked.1, counted.1, "seed {seed}");
    }
}

#[test]
fn without_the_option_the_field_is_exact_while_it_cannot_wrap() {
    for seed in 0..20 {
        let [marked, counted] = transfer(seed, AccurateEcn::Ace, 0);
        assert_eq!(marked.0, counted.0, "seed {seed}");
    }
}

#[test]
fn without_the_option_and_acknowledgements_marks_are_rather_counted_twice_than_missed() {
    for seed in 0..20 {
        let [marked, counted] = transfer(seed, AccurateEcn::Ace, 400);
        assert!(counted.0 >= marked.0 && counted.0 < 2 * marked.0, "seed {seed}: {marked:?} {counted:?}");
    }
}

/// Packets in a round trip of a Prague sender whose path marks with `marks(n)`, and the share of marks; no queue.
fn prague_window(rtt: Dur, marks: impl FnMut(u64) -> bool + 'static) -> (f64, f64) {
    let mut setup = Setup::new("prague");
    setup.delay = rtt / 2;
    let mut marks = marks;
    setup.scripts[0] =
        Some(Box::new(move |n, segment, _| Mishap { mark: segment.len > 0 && marks(n), ..Mishap::default() }));
    let mut pipe = Pipe::new(setup).bulk();
    pipe.run_until(seconds(60));
    let before = pipe.ends[0].info();
    pipe.run_until(seconds(180));
    let after = pipe.ends[0].info();
    let rate = (after.acked - before.acked) as f64 / 1448.0 / 120.0;
    let share = (after.delivered_ce - before.delivered_ce) as f64 / (after.delivered - before.delivered) as f64;
    (rate * after.srtt.as_ns() as f64 / 1e9, share)
}

/// The window W of a sender that adds 1 - p a round trip V, and takes p W / 2 at the first mark after V: with random
/// marks one comes 1 / (p W) round trips later, so (1 - p) (1 + 1 / n) = n / 2 for n = p W marks a round trip. (The
/// draft's two marks a round trip are those of a sender that reduces in each.) Only whole segments are sent: half a
/// segment less on average.
fn window_of_random_marks(p: f64) -> f64 {
    let a = 1.0 - p;
    (a + (a * a + 2.0 * a).sqrt()) / p - 0.5
}

fn assert_near(window: f64, oracle: f64) {
    assert!((window / oracle - 1.0).abs() < 0.05, "{window}, formula {oracle}");
}

#[test]
fn pragues_window_is_that_of_the_formula() {
    for per_mille in [10, 20, 50] {
        let mut draw = random(7);
        let (window, p) = prague_window(Dur::from_ms(40), move |_| draw(per_mille));
        assert_near(window, window_of_random_marks(p));
    }
}

#[test]
fn with_even_marks_there_are_two_in_each_round_trip() {
    // W = n / p with n = sqrt(2 m (1 - p)), if every m-th mark reduces: m = 2.
    let (window, p) = prague_window(Dur::from_ms(40), |n| n % 50 == 0);
    assert_near(window, (4.0 * (1.0 - p)).sqrt() / p - 0.5);
}

#[test]
fn a_short_path_has_the_rate_of_the_virtual_round_trip_time() {
    // 10 ms behave as 25 ms: the window is 10 / 25 of the formula's.
    let mut draw = random(7);
    let (window, p) = prague_window(Dur::from_ms(10), move |_| draw(50));
    assert_near(window, (window_of_random_marks(p) + 0.5) * 10.0 / 25.0 - 0.5);
}
