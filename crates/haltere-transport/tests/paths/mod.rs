//! A small world for two ends of a multipath connection: paths with a rate, a queue, delay, loss, reordering and cuts.
#![allow(dead_code, reason = "each test file uses a part")]

use haltere_congestion::{CongestionParams, Hystart, cubic};
use haltere_transport::multipath::{Dss, Multipath, MultipathParams, Transmission};
use haltere_transport::{Role, Segment, TcpParams};
use haltere_units::{Bytes, Dur, Ecn, Rate, Time};
use std::collections::BTreeMap;

pub struct Rng(pub u64);
impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    pub fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }
}

/// A line from client to server with a first-in first-out queue; paths may share it.
#[derive(Clone)]
pub struct Line {
    pub rate: Rate,
    pub queue: usize,
    free_at: Time,
    waiting: std::collections::VecDeque<Time>,
}

impl Line {
    pub fn new(mbit: u64, queue: usize) -> Line {
        Line { rate: Rate::from_mbps(mbit), queue, free_at: Time::ZERO, waiting: Default::default() }
    }
    /// When the packet has left, unless the queue is full.
    fn take(&mut self, now: Time, bytes: u64) -> Option<Time> {
        while self.waiting.front().is_some_and(|at| *at <= now) {
            self.waiting.pop_front();
        }
        if self.waiting.len() >= self.queue {
            return None;
        }
        self.free_at = self.free_at.max(now) + self.rate.time_for(Bytes::new(bytes));
        self.waiting.push_back(self.free_at);
        Some(self.free_at)
    }
}

#[derive(Clone)]
pub struct Route {
    /// Index of the line; none: no rate.
    pub line: Option<usize>,
    pub delay: Dur,
    /// Chances of loss, duplication and extra delay of up to 60 ms, per mille, until `heals`.
    pub loss: u64,
    pub duplicate: u64,
    pub reorder: u64,
    pub heals: Time,
    /// Cut from then on until then.
    pub cut: Option<(Time, Time)>,
}

impl Route {
    pub fn new(line: Option<usize>, ms: u64) -> Route {
        let delay = Dur::from_ms(ms);
        Route { line, delay, loss: 0, duplicate: 0, reorder: 0, heals: Time::NEVER, cut: None }
    }
}

enum Event {
    Arrive(usize, usize, Segment, Ecn, Dss),
    Wake(usize),
    Read,
}

pub struct World {
    pub now: Time,
    pub ends: [Multipath; 2],
    pub routes: Vec<Route>,
    pub lines: Vec<Line>,
    events: BTreeMap<(Time, u64), Event>,
    number: u64,
    wakes: [Option<Time>; 2],
    rng: Rng,
    /// Bytes that the server reads at a time, every 5 ms; none: everything at once.
    pub slow_reader: Option<u64>,
    pub read: u64,
    /// The client always has more to write.
    pub endless: bool,
}

impl World {
    pub fn new(
        params: &MultipathParams,
        tcp: &TcpParams,
        control: &str,
        lines: Vec<Line>,
        routes: Vec<Route>,
        seed: u64,
    ) -> World {
        let control = match control {
            "cubic_of_linux" => CongestionParams::Cubic(
                cubic::Params {
                    hystart: Hystart::Linux613,
                    reno_friendly: cubic::RenoFriendly::Linux,
                    beta: 717.0 / 1024.0,
                    ..cubic::Params::default()
                }
                .into(),
            ),
            name => CongestionParams::default_of(name).unwrap(),
        };
        let end = |role, seed| Multipath::new(role, params, tcp, &control, seed).unwrap();
        let mut ends = [end(Role::Client, seed), end(Role::Server, seed + 1000)];
        for _ in &routes {
            ends.iter_mut().for_each(|e| {
                e.join().unwrap();
            });
        }
        World {
            now: Time::ZERO,
            ends,
            routes,
            lines,
            events: BTreeMap::new(),
            number: 0,
            wakes: [None; 2],
            rng: Rng(seed),
            slow_reader: None,
            read: 0,
            endless: false,
        }
    }

    pub fn open(&mut self) {
        if self.slow_reader.is_some() {
            self.schedule(self.now + Dur::from_ms(5), Event::Read);
        }
        self.ends[0].open(self.now);
        self.flush(0);
    }

    /// Adds a path at both ends.
    pub fn join(&mut self, route: Route) {
        self.routes.push(route);
        self.ends.iter_mut().for_each(|e| {
            e.join().unwrap();
        });
        self.ends[0].open(self.now);
        self.flush(0);
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.number += 1;
        self.events.insert((at, self.number), event);
    }

    pub fn flush(&mut self, side: usize) {
        if side == 0 && self.endless {
            self.ends[0].write(Bytes::new(1 << 30));
        }
        while let Some(t) = self.ends[side].poll_transmit(self.now) {
            self.send(side, &t);
        }
        if let Some(at) = self.ends[side].next_timeout() {
            let at = at.max(self.now);
            if self.wakes[side].is_none_or(|w| at < w) {
                self.wakes[side] = Some(at);
                self.schedule(at, Event::Wake(side));
            }
        }
    }

    fn send(&mut self, side: usize, t: &Transmission) {
        let route = self.routes[t.path].clone();
        let ill = self.now < route.heals;
        if route.cut.is_some_and(|(from, to)| from <= self.now && self.now < to) || (ill && self.rng.chance(route.loss))
        {
            return;
        }
        let copies = if ill && self.rng.chance(route.duplicate) { 2 } else { 1 };
        for _ in 0..copies {
            let extra = if ill && self.rng.chance(route.reorder) { self.rng.below(60_000) } else { 0 };
            let left = match route.line {
                Some(line) if side == 0 => {
                    let bytes = u64::from(t.segment.len + t.segment.header_len() + t.dss.option_len()) + 34;
                    self.lines[line].take(self.now, bytes)
                }
                _ => Some(self.now),
            };
            if let Some(left) = left {
                let at = left + route.delay + Dur::from_us(extra);
                self.schedule(at, Event::Arrive(1 - side, t.path, t.segment, t.ecn, t.dss));
            }
        }
    }

    pub fn step(&mut self) -> bool {
        let Some(((at, _), event)) = self.events.pop_first() else { return false };
        assert!(at >= self.now);
        self.now = at;
        match event {
            Event::Arrive(side, path, segment, ecn, dss) => {
                self.ends[side].on_segment(at, path, &segment, ecn, &dss);
                if side == 1 && self.slow_reader.is_none() {
                    self.read += self.ends[1].read(u64::MAX);
                }
                self.flush(side);
            }
            Event::Wake(side) => {
                if self.wakes[side] == Some(at) {
                    self.wakes[side] = None;
                    self.ends[side].on_timeout(at);
                    self.flush(side);
                }
            }
            Event::Read => {
                let most = self.slow_reader.unwrap_or(u64::MAX);
                self.read += self.ends[1].read(most);
                self.flush(1);
                if !self.ends[1].is_finished() {
                    self.schedule(at + Dur::from_ms(5), Event::Read);
                }
            }
        }
        true
    }

    pub fn run_until(&mut self, end: Time) {
        while self.events.first_key_value().is_some_and(|((at, _), _)| *at <= end) {
            self.step();
        }
        self.now = end;
    }
}
