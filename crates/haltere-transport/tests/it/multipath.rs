//! Under random loss, reordering, duplication, path cuts, joins and leaves the stream arrives complete, in order, once.

use crate::paths::{Line, Rng, Route, World};
use haltere_transport::TcpParams;
use haltere_transport::multipath::MultipathParams;
use haltere_transport::multipath::correlation::CorrelatorParams;
use haltere_transport::multipath::scheduler::SchedulerParams;
use haltere_units::{Bytes, Time};

const CONTROLS: [&str; 6] = ["reno", "cubic", "bbr", "lia", "olia", "balia"];

fn ms(ms: u64) -> Time {
    Time::from_ns(ms * 1_000_000)
}

fn random_route(rng: &mut Rng, first: bool) -> Route {
    let mut route = Route::new(rng.chance(700).then(|| rng.below(2) as usize), rng.below(80));
    (route.loss, route.duplicate, route.reorder) = (rng.below(120), rng.below(80), rng.below(150));
    route.heals = ms(8000);
    if !first && rng.chance(500) {
        let from = rng.below(3000);
        let to = if rng.chance(500) { Time::NEVER } else { ms(from + rng.below(5000)) };
        route.cut = Some((ms(from), to));
    }
    route
}

fn random_params(rng: &mut Rng) -> MultipathParams {
    let name = SchedulerParams::NAMES[rng.below(SchedulerParams::NAMES.len() as u64) as usize];
    let mut params = MultipathParams {
        scheduler: SchedulerParams::default_of(name).unwrap(),
        opportunistic: rng.chance(700),
        penalise: rng.chance(300),
        ..MultipathParams::default()
    };
    if rng.chance(500) {
        let name = CorrelatorParams::NAMES[rng.below(CorrelatorParams::NAMES.len() as u64) as usize];
        params.correlators.push(CorrelatorParams::default_of(name).unwrap());
    }
    if rng.chance(400) {
        params.recv_buffer = Bytes::new(1448 + rng.below(100_000));
    }
    if rng.chance(300) {
        params.send_buffer = Bytes::new(1448 + rng.below(100_000));
    }
    params.tune_send_buffer = rng.chance(300);
    params
}

fn run(seed: u64) {
    let mut rng = Rng(seed);
    let params = random_params(&mut rng);
    let tcp = TcpParams {
        sack: !rng.chance(150),
        timestamps: !rng.chance(150),
        rack: !rng.chance(150),
        tlp: !rng.chance(150),
        ..TcpParams::default()
    };
    let lines = (0..2).map(|_| Line::new(1 + rng.below(50), 5 + rng.below(60) as usize)).collect();
    let routes = (0..1 + rng.below(4)).map(|i| random_route(&mut rng, i == 0)).collect();
    let control = CONTROLS[rng.below(CONTROLS.len() as u64) as usize];
    let mut w = World::new(&params, &tcp, control, lines, routes, rng.next());
    if rng.chance(300) {
        w.slow_reader = Some(500 + rng.below(20_000));
    }
    let total = 1 + rng.below(300_000);
    let joins = rng.chance(300).then(|| (ms(rng.below(2000)), random_route(&mut rng, true)));
    let leaves = rng.chance(300).then(|| (ms(rng.below(2000)), rng.below(4) as usize));
    let (mut joins, mut leaves, mut left, mut closed) = (joins, leaves, total, false);
    w.open();
    loop {
        if left > 0 {
            left -= w.ends[0].write(Bytes::new(left.min(1 + rng.below(30_000)))).as_u64();
            w.flush(0);
        } else if !closed {
            closed = true;
            w.ends[0].close(w.now);
            w.flush(0);
        }
        if joins.as_ref().is_some_and(|(at, _)| *at <= w.now) {
            w.join(joins.take().unwrap().1);
        }
        // The first path stays, so that one is left.
        if leaves.is_some_and(|(at, _)| at <= w.now) {
            let path = leaves.take().unwrap().1;
            if path > 0 && path < w.routes.len() {
                w.ends[0].leave(path);
                w.flush(0);
            }
        }
        if w.ends[0].is_complete() && w.ends[1].is_finished() {
            break;
        }
        assert!(
            w.now < ms(2_000_000),
            "seed {seed}: {} of {total} after 2000 s: {:#?}",
            w.read,
            (0..w.routes.len()).map(|p| w.ends[0].path(p)).collect::<Vec<_>>()
        );
        assert!(w.read <= total, "seed {seed}: {} of {total}: a byte came twice", w.read);
        assert!(w.step(), "seed {seed}: nothing happens any more at {}: {:#?} {:#?}", w.now, w.ends[0], w.ends[1]);
    }
    assert_eq!((w.read, w.ends[0].acked()), (total, total), "seed {seed}");
}

#[test]
fn the_stream_arrives_complete_in_order_once() {
    let (from, to) = match std::env::var("HALTERE_SEEDS").ok().and_then(|s| s.parse::<u64>().ok()) {
        Some(seed) => (seed, seed + 1),
        None => (0, if cfg!(debug_assertions) { 2_000 } else { 10_000 }),
    };
    for seed in from..to {
        run(seed);
    }
}

/// Goodput in Mbit/s over the last `seconds` of a run, and the segments by path.
fn goodput(w: &mut World, warm: u64, seconds: u64) -> f64 {
    w.endless = true;
    w.open();
    w.run_until(ms(warm * 1000));
    let before = w.read;
    w.run_until(ms((warm + seconds) * 1000));
    (w.read - before) as f64 * 8.0 / seconds as f64 / 1e6
}

fn with(scheduler: &str) -> MultipathParams {
    MultipathParams { scheduler: SchedulerParams::default_of(scheduler).unwrap(), ..MultipathParams::default() }
}

#[test]
fn two_paths_add_up_and_the_redundant_one_gives_the_better() {
    for (scheduler, low, high) in [
        ("lowest_rtt", 13.0, 14.5),
        ("round_robin", 13.0, 14.5),
        ("redundant", 9.0, 9.7),
        ("blest", 9.0, 14.5),
        ("ecf", 9.0, 14.5),
    ] {
        let lines = vec![Line::new(10, 20), Line::new(5, 25)];
        let routes = vec![Route::new(Some(0), 10), Route::new(Some(1), 30)];
        let mut w = World::new(&with(scheduler), &TcpParams::default(), "cubic", lines, routes, 1);
        let rate = goodput(&mut w, 10, 30);
        assert!((low..high).contains(&rate), "{scheduler}: {rate} Mbit/s");
    }
}

#[test]
fn what_a_cut_path_held_goes_another_way_within_a_timeout() {
    let lines = vec![Line::new(10, 20), Line::new(10, 20)];
    let mut routes = vec![Route::new(Some(0), 10), Route::new(Some(1), 10)];
    routes[0].cut = Some((ms(5000), Time::NEVER));
    let mut w = World::new(&with("lowest_rtt"), &TcpParams::default(), "cubic", lines, routes, 1);
    w.endless = true;
    w.open();
    w.run_until(ms(6000));
    let before = w.read;
    w.run_until(ms(16_000));
    let rate = (w.read - before) as f64 * 8.0 / 10.0 / 1e6;
    assert!(rate > 9.0, "{rate} Mbit/s on the path that is left");
    assert!(w.ends[0].path(1).reinjected > 0);
}

#[test]
fn penalisation_and_opportunistic_retransmission_keep_the_fast_path_busy_behind_a_small_window() {
    // The slow path's 300 ms hold up a window of 60 kB as soon as it carries anything; the fast one's short queue keeps
    // its window below that, so that it does.
    let rate = |opportunistic: bool, penalise: bool| {
        let params = MultipathParams { opportunistic, penalise, recv_buffer: Bytes::new(60_000), ..with("lowest_rtt") };
        let lines = vec![Line::new(10, 10), Line::new(1, 40)];
        let routes = vec![Route::new(Some(0), 5), Route::new(Some(1), 150)];
        let mut w = World::new(&params, &TcpParams::default(), "cubic", lines, routes, 1);
        goodput(&mut w, 5, 30)
    };
    let (neither, both) = (rate(false, false), rate(true, true));
    assert!(both > 1.3 * neither, "{both} with, {neither} Mbit/s without");
}

#[test]
fn schedulers_that_replicate_choose_every_path_themselves() {
    // The first path is slow, and what is in flight on it fills the receive window.
    let reinjected = |scheduler: &str| {
        let params = MultipathParams { penalise: true, recv_buffer: Bytes::new(60_000), ..with(scheduler) };
        let lines = vec![Line::new(2, 30), Line::new(20, 60)];
        let routes = vec![Route::new(Some(0), 100), Route::new(Some(1), 10)];
        let mut w = World::new(&params, &TcpParams::default(), "cubic", lines, routes, 1);
        goodput(&mut w, 2, 18);
        (0..2).map(|p| w.ends[0].path(p).reinjected).sum::<u64>()
    };
    assert!(reinjected("lowest_rtt") > 0, "opportunistic retransmission is on");
    for scheduler in ["redundant", "red"] {
        assert_eq!(reinjected(scheduler), 0, "{scheduler}");
    }
}

#[test]
fn before_its_first_evaluation_red_sends_on_the_first_path_alone() {
    let params = MultipathParams { correlators: vec![CorrelatorParams::default_of("red_cpi").unwrap()], ..with("red") };
    let lines = vec![Line::new(20, 60), Line::new(10, 60)];
    let routes = vec![Route::new(Some(0), 10), Route::new(Some(1), 20), Route::new(Some(1), 30)];
    let mut w = World::new(&params, &TcpParams::default(), "cubic", lines, routes, 1);
    let given = |w: &World| -> Vec<bool> { (0..3).map(|p| w.ends[0].path(p).bytes > 0).collect() };
    goodput(&mut w, 1, 0);
    assert_eq!(given(&w), [true, false, false]);
    goodput(&mut w, 1, 29);
    assert!(given(&w)[1] || given(&w)[2], "later another one carries as well");
}

#[test]
fn linux_s_scheduler_carries_what_linux_does() {
    // Linux 6.1, default scheduler, Cubic, two paths of (Mbit/s, round-trip ms) with queues of one bandwidth-delay
    // product, at least 20 packets; goodput in Mbit/s over 30 s after 10 s, mean of three runs, which agree. A third
    // mix, 20 Mbit/s and 20 ms beside 5 Mbit/s and 100 ms, is not held here: Linux has 20.5 to 21.3, this 19 to 20
    // (docs/validation.md).
    let params = MultipathParams { tune_send_buffer: true, opportunistic: false, ..with("linux") };
    for (paths, linux, range) in
        [([(10, 20, 20), (5, 60, 25)], 14.11, 0.01 * 14.11), ([(10, 20, 20), (10, 20, 20)], 18.82, 0.01 * 18.82)]
    {
        let lines = paths.iter().map(|&(mbit, _, queue)| Line::new(mbit, queue)).collect();
        let routes = paths.iter().enumerate().map(|(i, &(_, rtt, _))| Route::new(Some(i), rtt / 2)).collect();
        let mut w = World::new(&params, &TcpParams::default(), "cubic_of_linux", lines, routes, 1);
        let rate = goodput(&mut w, 10, 30);
        println!("{paths:?}: {rate:.2} Mbit/s, Linux {linux}");
        assert!((rate - linux).abs() < range, "{paths:?}: {rate} Mbit/s, Linux {linux}");
    }
}

/// Shares of a line in Mbit/s: the multipath connection with two subflows over it, and one TCP (a connection with one
/// path).
fn beside_one_tcp(control: &str, seed: u64) -> (f64, f64) {
    // Two connections over one line: each has a world of its own, and they take turns by the millisecond with the line.
    // A little random loss, or the three keep step at the full queue.
    let lines = vec![Line::new(20, 60)];
    let route = Route { loss: 1, ..Route::new(Some(0), 20) };
    let world = |control: &str, routes, seed| {
        World::new(&with("lowest_rtt"), &TcpParams::default(), control, lines.clone(), routes, seed)
    };
    let mut a = world(control, vec![route.clone(), route.clone()], seed);
    let mut b = world("reno", vec![route.clone()], seed + 100);
    for w in [&mut a, &mut b] {
        w.endless = true;
        w.open();
    }
    let mut before = (0, 0);
    for tick in 0..120_000_u64 {
        a.run_until(ms(tick));
        std::mem::swap(&mut a.lines, &mut b.lines);
        b.run_until(ms(tick));
        std::mem::swap(&mut a.lines, &mut b.lines);
        if tick == 20_000 {
            before = (a.read, b.read);
        }
    }
    let rate = |bytes: u64| bytes as f64 * 8.0 / 100.0 / 1e6;
    (rate(a.read - before.0), rate(b.read - before.1))
}

/// The same, mean of three seeds.
fn mean_beside_one_tcp(control: &str) -> (f64, f64) {
    let all: Vec<(f64, f64)> = (1..=3).map(|seed| beside_one_tcp(control, seed)).collect();
    println!("{control}: {all:.2?} Mbit/s");
    (all.iter().map(|r| r.0).sum::<f64>() / 3.0, all.iter().map(|r| r.1).sum::<f64>() / 3.0)
}

#[test]
fn two_coupled_subflows_over_one_line_take_no_more_than_one_tcp() {
    // RFC 6356 section 2, goal 2: do no harm. Uncoupled, two subflows take about twice as much.
    let (two, one) = mean_beside_one_tcp("reno");
    assert!(two > 1.5 * one, "uncoupled: {two} and {one} Mbit/s");
    for control in ["lia", "olia", "balia"] {
        let (two, one) = mean_beside_one_tcp(control);
        assert!(two < 1.25 * one, "{control}: {two} and {one} Mbit/s");
        assert!(two > 0.5 * one, "{control}: {two} and {one} Mbit/s");
    }
}

#[test]
fn coupled_subflows_prefer_the_better_path() {
    // RFC 6356 section 2, goals 1 and 3: at least what one TCP would get on the best path, and traffic off the
    // congested one.
    for control in ["lia", "olia", "balia"] {
        let mut routes = vec![Route::new(None, 20), Route::new(None, 20)];
        (routes[0].loss, routes[1].loss) = (1, 10); // 0.1 % and 1 %
        let share = |routes: Vec<Route>, control: &str| {
            let mut w = World::new(&with("lowest_rtt"), &TcpParams::default(), control, vec![], routes, 5);
            let rate = goodput(&mut w, 20, 180);
            let bytes: Vec<u64> = (0..w.routes.len()).map(|p| w.ends[0].path(p).bytes).collect();
            (rate, bytes)
        };
        let (both, bytes) = share(routes.clone(), control);
        let (alone, _) = share(vec![routes[0].clone()], "reno");
        let (_, uncoupled) = share(routes, "reno");
        assert!(both > 0.8 * alone, "{control}: {both} Mbit/s, one TCP on the better path {alone}");
        let part = |b: &[u64]| b[1] as f64 / (b[0] + b[1]) as f64;
        assert!(
            part(&bytes) < part(&uncoupled),
            "{control}: {:.3} on the worse path, uncoupled {:.3}",
            part(&bytes),
            part(&uncoupled)
        );
    }
}

#[test]
fn every_correlator_says_of_two_paths_over_one_line_what_they_are() {
    // Two paths over one line, a third alone.
    let mut params = with("redundant");
    for name in CorrelatorParams::NAMES {
        params.correlators.push(CorrelatorParams::default_of(name).unwrap());
    }
    let lines = vec![Line::new(10, 60), Line::new(20, 60)];
    let routes = vec![Route::new(Some(0), 20), Route::new(Some(0), 30), Route::new(Some(1), 10)];
    let mut w = World::new(&params, &TcpParams::default(), "cubic", lines, routes, 1);
    goodput(&mut w, 1, 59);
    let log = w.ends[0].take_coefficients();
    assert!(log.iter().any(|c| c.correlator == 0 && c.coefficient.is_some()));
    assert!(log.iter().any(|c| c.correlator == 1 && c.coefficient.is_some()));
    assert!(log.iter().filter(|c| c.correlator == 2 && c.shares).all(|c| c.paths == (0, 1)), "the third is apart");
}

#[test]
fn a_join_waits_for_the_first_subflow_and_takes_its_part() {
    let lines = vec![Line::new(10, 20), Line::new(10, 20)];
    let mut w =
        World::new(&with("lowest_rtt"), &TcpParams::default(), "cubic", lines, vec![Route::new(Some(0), 10)], 1);
    w.endless = true;
    w.open();
    w.run_until(ms(5000));
    w.join(Route::new(Some(1), 10));
    w.run_until(ms(7000));
    let before = w.read;
    w.run_until(ms(17_000));
    let rate = (w.read - before) as f64 * 8.0 / 10.0 / 1e6;
    assert!(rate > 17.5, "{rate} Mbit/s on both");
    w.ends[0].leave(0);
    w.flush(0);
    w.run_until(ms(18_000));
    let before = (w.read, w.ends[0].path(0).bytes);
    w.run_until(ms(28_000));
    let rate = (w.read - before.0) as f64 * 8.0 / 10.0 / 1e6;
    assert!(rate > 9.0 && w.ends[0].path(0).bytes == before.1, "{rate} Mbit/s on the one that is left");
}
