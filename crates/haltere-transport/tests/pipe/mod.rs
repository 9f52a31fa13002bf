//! A small world for two connections: virtual time, a bottleneck with a FIFO one way, plain delay the other, scripted
//! or random mishaps.
#![allow(dead_code, reason = "each test file uses a part")]

use haltere_congestion::CongestionParams;
use haltere_transport::{Connection, Role, Segment, TcpParams};
use haltere_units::{Bytes, Dur, Ecn, Rate, Time};
use std::collections::{BTreeMap, VecDeque};

/// A frame of Ethernet, as shapers count it.
const FRAME: i64 = 1514;

/// What happens to the `n`-th packet in one direction (counted from 0, all packets).
#[derive(Debug, Clone, Copy, Default)]
pub struct Mishap {
    pub lose: bool,
    pub mark: bool,
    pub duplicate: bool,
    pub extra: Dur,
}

pub type Script = Box<dyn FnMut(u64, &Segment, Ecn) -> Mishap>;

enum Event {
    Arrive(usize, Segment, Ecn),
    LinkFree,
    Wake(usize),
    Read,
}

pub struct Setup {
    pub tcp: [TcpParams; 2],
    pub control: CongestionParams,
    /// Bottleneck from client to server; 0: none.
    pub rate: Rate,
    pub queue: usize,
    pub mark_at: usize,
    pub delay: Dur,
    /// Header bytes below TCP: IP and link.
    pub overhead: u64,
    /// The packet is handed on when its transmission starts (Linux's htb), instead of when it ends.
    pub early: bool,
    /// An idle line saves up a frame (htb's bucket of one frame): it may be empty, but not in debt. With `early`.
    pub bucket: bool,
    pub scripts: [Option<Script>; 2],
    pub seed: u64,
}

impl Setup {
    pub fn new(control: &str) -> Setup {
        Setup {
            tcp: [TcpParams::default(), TcpParams::default()],
            control: CongestionParams::default_of(control).unwrap(),
            rate: Rate::ZERO,
            queue: usize::MAX,
            mark_at: usize::MAX,
            delay: Dur::from_ms(10),
            overhead: 34,
            early: false,
            bucket: false,
            scripts: [None, None],
            seed: 1,
        }
    }
}

pub struct Pipe {
    pub now: Time,
    pub ends: [Connection; 2],
    setup: Setup,
    events: BTreeMap<(Time, u64), Event>,
    number: u64,
    counts: [u64; 2],
    fifo: VecDeque<(Segment, Ecn)>,
    busy: bool,
    /// Bytes in the bucket, and when.
    tokens: (i64, Time),
    wakes: [Option<Time>; 2],
    pub drops: u64,
    pub marks: u64,
    pub first_drop: Option<Time>,
    pub bytes_carried: u64,
    /// All segments as sent: time, side, segment, ECN.
    pub trace: Option<Vec<(Time, usize, Segment, Ecn)>>,
    pub steps: u64,
    /// The end whose timer was the last event.
    pub woken: Option<usize>,
    /// The applications read so much at most at a time, each time a segment arrives or a timer fires.
    pub slow_reader: Option<u64>,
}

impl Pipe {
    pub fn new(setup: Setup) -> Pipe {
        let client = Connection::new(Role::Client, setup.tcp[0].clone(), setup.control.clone(), setup.seed).unwrap();
        let server =
            Connection::new(Role::Server, setup.tcp[1].clone(), setup.control.clone(), setup.seed + 1000).unwrap();
        Pipe {
            now: Time::ZERO,
            ends: [client, server],
            setup,
            events: BTreeMap::new(),
            number: 0,
            counts: [0; 2],
            fifo: VecDeque::new(),
            busy: false,
            tokens: (FRAME, Time::ZERO),
            wakes: [None; 2],
            drops: 0,
            marks: 0,
            first_drop: None,
            bytes_carried: 0,
            trace: None,
            steps: 0,
            woken: None,
            slow_reader: None,
        }
    }

    /// Opens, and lets the client send without end.
    pub fn bulk(mut self) -> Pipe {
        self.ends[0].write_endless();
        self.open();
        self
    }

    pub fn open(&mut self) {
        if self.slow_reader.is_none() {
            self.ends[1].read_endless();
            self.ends[0].read_endless();
        } else {
            self.schedule(self.now + Dur::from_ms(5), Event::Read);
        }
        self.ends[0].open(self.now);
        self.flush(0);
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.number += 1;
        self.events.insert((at, self.number), event);
    }

    /// Takes what an end has to send.
    pub fn flush(&mut self, side: usize) {
        while let Some((segment, ecn)) = self.ends[side].poll_transmit(self.now) {
            if let Some(trace) = &mut self.trace {
                trace.push((self.now, side, segment, ecn));
            }
            self.send(side, segment, ecn);
        }
        let next = self.ends[side].next_timeout();
        if let Some(at) = next {
            let at = at.max(self.now);
            if self.wakes[side].is_none_or(|w| at < w) {
                self.wakes[side] = Some(at);
                self.schedule(at, Event::Wake(side));
            }
        }
    }

    fn send(&mut self, side: usize, segment: Segment, mut ecn: Ecn) {
        let n = self.counts[side];
        self.counts[side] += 1;
        let mishap = match &mut self.setup.scripts[side] {
            Some(script) => script(n, &segment, ecn),
            None => Mishap::default(),
        };
        if mishap.lose {
            self.dropped();
            return;
        }
        if mishap.mark && ecn.is_capable() {
            ecn = Ecn::Ce;
            self.marks += 1;
        }
        let copies = if mishap.duplicate { 2 } else { 1 };
        for _ in 0..copies {
            if side == 0 && self.setup.rate != Rate::ZERO {
                self.enqueue(segment, ecn);
            } else {
                let at = self.now + self.setup.delay + mishap.extra;
                self.schedule(at, Event::Arrive(1 - side, segment, ecn));
            }
        }
    }

    fn dropped(&mut self) {
        self.drops += 1;
        self.first_drop = self.first_drop.or(Some(self.now));
    }

    fn enqueue(&mut self, segment: Segment, mut ecn: Ecn) {
        if self.fifo.len() >= self.setup.queue {
            return self.dropped();
        }
        if self.fifo.len() >= self.setup.mark_at && ecn.is_capable() {
            ecn = Ecn::Ce;
            self.marks += 1;
        }
        self.fifo.push_back((segment, ecn));
        if !self.busy {
            self.serve();
        }
    }

    /// Passes on what the bucket has tokens for.
    fn serve_bucket(&mut self) {
        let rate = self.setup.rate;
        let (tokens, since) = self.tokens;
        let mut tokens = FRAME.min(tokens + rate.bytes_in(self.now.since(since)).as_u64() as i64);
        while tokens >= 0
            && let Some((segment, ecn)) = self.fifo.pop_front()
        {
            let size = u64::from(segment.len + segment.header_len()) + self.setup.overhead;
            self.bytes_carried += size;
            tokens -= size as i64;
            self.schedule(self.now + self.setup.delay, Event::Arrive(1, segment, ecn));
        }
        self.tokens = (tokens, self.now);
        self.busy = tokens < 0;
        if self.busy {
            let debt = rate.time_for(Bytes::new(tokens.unsigned_abs()));
            self.schedule(self.now + debt + Dur::from_ns(1), Event::LinkFree);
        }
    }

    fn serve(&mut self) {
        if self.setup.bucket {
            return self.serve_bucket();
        }
        let Some((segment, ecn)) = self.fifo.pop_front() else {
            self.busy = false;
            return;
        };
        self.busy = true;
        let size = u64::from(segment.len + segment.header_len()) + self.setup.overhead;
        self.bytes_carried += size;
        let time = self.setup.rate.time_for(Bytes::new(size));
        let at = self.now + self.setup.delay + if self.setup.early { Dur::ZERO } else { time };
        self.schedule(self.now + time, Event::LinkFree);
        self.schedule(at, Event::Arrive(1, segment, ecn));
    }

    /// One event; false where nothing is left.
    pub fn step(&mut self) -> bool {
        let Some(((at, _), event)) = self.events.pop_first() else { return false };
        assert!(at >= self.now, "time runs forward");
        self.now = at;
        self.steps += 1;
        self.woken = None;
        match event {
            Event::Arrive(side, segment, ecn) => {
                self.ends[side].on_segment(at, &segment, ecn);
                self.flush(side);
            }
            Event::LinkFree => self.serve(),
            Event::Read => {
                for side in 0..2 {
                    self.ends[side].read(self.slow_reader.unwrap_or(0));
                    self.flush(side);
                }
                if !(self.ends[0].is_closed() && self.ends[1].is_closed()) {
                    self.schedule(at + Dur::from_ms(5), Event::Read);
                }
            }
            Event::Wake(side) => {
                if self.wakes[side] == Some(at) {
                    self.wakes[side] = None;
                    self.woken = Some(side);
                    self.ends[side].on_timeout(at);
                    self.flush(side);
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

    /// Runs until both ends are closed; the time, or none where `limit` passes first.
    pub fn run_to_close(&mut self, limit: Time) -> Option<Time> {
        while !(self.ends[0].is_closed() && self.ends[1].is_closed()) {
            if self.now > limit || !self.step() {
                return None;
            }
        }
        Some(self.now)
    }
}
