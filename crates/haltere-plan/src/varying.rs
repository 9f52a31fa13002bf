//! Lines whose rate or delay changes in the course of a run.
//!
//! Source of the trace: Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015, section 4
//! (link emulation). Deviations: times are exact where Mahimahi acts on whole milliseconds.
//! Model: two kinds of capacity besides a constant rate.
//! - A *schedule*: a rate that is constant between steps. A packet of `b` bits that begins at `s` ends at the `e` for
//!   which the integral of the rate from `s` to `e` is `b`, to the nanosecond; what is cut off is carried to the next
//!   packet.
//! - A *trace*: instants, each of which delivers up to so many bytes of what waits then. A packet leaves the queue at
//!   the first instant that has bytes left and is delivered with its last byte; what an instant does not use is lost.
//!   After the last instant the trace begins again: that instant is its period.
//!
//! A link that is replayed from two traces is in [`replay`](crate::replay).
//!
//! With a *burst* an idle line saves up: at most the time of the burst at a constant rate; of a schedule the latest
//! time since when it could have carried the burst.
//!
//! Units: time ns, capacity in bits times 10^9 (rate in bit/s times ns). Cost: O(1) a packet between two changes, else
//! a binary search. Both worlds send through [`Line`].

use crate::jitter::Jitter;
use crate::replay::{Replay, TwoTraces};
use alloc::boxed::Box;
use alloc::sync::Arc;
use haltere_units::{Bytes, Dur, Prob, Rate, Serialisation, Time};
use serde::{Deserialize, Serialize};

/// What changes on one direction of a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Varying {
    /// What the line can carry.
    pub capacity: Capacity,
    /// Propagation time where it changes.
    pub delay: Option<Steps<Dur>>,
    /// Jitter where it changes, of packets that leave the line then.
    pub jitter: Option<Steps<Jitter>>,
    /// Probability of loss where it changes, of packets that leave the line then.
    pub loss: Option<Steps<Prob>>,
    /// Packets that may wait in the discipline where that changes: one that arrives then and finds so many is dropped.
    pub limit: Option<Steps<u32>>,
}

impl Varying {
    /// Nothing but the capacity changes.
    pub fn of(capacity: Capacity) -> Varying {
        Varying { capacity, delay: None, jitter: None, loss: None, limit: None }
    }
}

/// What a line can carry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Capacity {
    /// The link's own rate.
    Constant(Option<Rate>),
    /// A rate that changes in steps.
    Schedule(Steps<Rate>),
    /// Instants, each of which delivers some bytes.
    Trace(Trace),
    /// A trace of light and one of heavy load.
    TwoTraces(TwoTraces),
}

impl Capacity {
    /// What it carries from one instant to another in bits; `None` where packets take no time.
    pub fn bits(&self, from: Time, to: Time) -> Option<f64> {
        match self {
            Capacity::Constant(rate) => rate.map(|rate| rate.as_bps_f64() * to.since(from).as_secs_f64()),
            Capacity::Schedule(rates) => Some(rates.integral(from, to) as f64 * 1e-9),
            Capacity::Trace(trace) | Capacity::TwoTraces(TwoTraces { heavy: trace, .. }) => {
                let count = trace.first_after(to) - trace.first_after(from);
                Some(count as f64 * trace.opportunity.as_f64() * 8.0)
            }
        }
    }
    /// Its mean: over one period where it repeats, else over a run of that length.
    pub fn mean(&self, run: Dur) -> Option<Rate> {
        let span = match self {
            Capacity::Constant(rate) => return *rate,
            Capacity::Schedule(rates) => rates.repeat.unwrap_or(run),
            Capacity::Trace(trace) | Capacity::TwoTraces(TwoTraces { heavy: trace, .. }) => trace.period(),
        };
        let bits = self.bits(Time::ZERO, Time::ZERO + span)?;
        Some(Rate::from_bps(libm::round(bits / span.as_secs_f64()) as u64))
    }
}

/// A value that changes at certain times, once or over and over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Steps<T> {
    /// The value until the first step, of each round.
    pub first: T,
    /// From when on which value; in order of time, each after the one before.
    pub steps: Arc<[(Dur, T)]>,
    /// It all begins again after so long, later than the last step.
    pub repeat: Option<Dur>,
}

impl<T: Copy> Steps<T> {
    /// The value at `at`, and when it ends.
    pub(crate) fn at(&self, at: Time) -> (T, Time) {
        let (round, within) = match self.repeat {
            Some(repeat) => {
                let within = at.as_ns() % repeat.as_ns();
                (at.as_ns() - within, Dur::from_ns(within))
            }
            None => (0, at.since(Time::ZERO)),
        };
        let next = self.steps.partition_point(|(from, _)| *from <= within);
        let value = next.checked_sub(1).map_or(self.first, |last| self.steps[last].1);
        let until = self.steps.get(next).map(|(from, _)| *from).or(self.repeat);
        (value, until.and_then(|until| Time::from_ns(round).checked_add(until)).unwrap_or(Time::NEVER))
    }
}

/// What an idle line saves up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Burst {
    /// Bytes that take no time after an idle time.
    pub bytes: Bytes,
    /// Their time on the line at the link's rate.
    pub time: Dur,
}

impl Steps<Rate> {
    /// The rate just before `at`, which is not zero, and since when it holds.
    fn before(&self, at: Time) -> (Rate, Time) {
        let last = at.as_ns() - 1;
        let round = self.repeat.map_or(0, |repeat| last - last % repeat.as_ns());
        let within = Dur::from_ns(last - round);
        let value = self.steps.partition_point(|(from, _)| *from <= within).checked_sub(1).map(|i| self.steps[i]);
        let (from, rate) = value.unwrap_or((Dur::ZERO, self.first));
        (rate, Time::from_ns(round) + from)
    }
    /// The length of a round and what it carries, in bits times 10^9; `None`: nothing repeats. From any instant on, one
    /// round carries this.
    fn round(&self) -> Option<(Dur, u128)> {
        self.repeat.map(|repeat| (repeat, self.step_by_step(Time::ZERO, Time::ZERO + repeat)))
    }
    /// The latest instant from which on to `now` so much is carried, in bits times 10^9; not before `earliest`.
    fn back(&self, now: Time, work_needed: u128, earliest: Time, round: Option<(Dur, u128)>) -> Time {
        let (mut at, mut left) = (now, work_needed);
        if let Some((span, work)) = round.filter(|_| left > 0 && earliest < now) {
            let most = u128::from(now.since(earliest).as_ns() / span.as_ns());
            let rounds = (left - 1).checked_div(work).map_or(most, |rounds| rounds.min(most));
            at = now.saturating_sub(Dur::from_ns(span.as_ns() * rounds as u64));
            left -= work * rounds;
        }
        while left > 0 && at > earliest {
            let (rate, from) = self.before(at);
            let from = from.max(earliest);
            let room = work(rate, at.since(from));
            if room >= left {
                return at.saturating_sub(Dur::from_ns(left.div_ceil(u128::from(rate.as_bps())) as u64));
            }
            (at, left) = (from, left - room);
        }
        at
    }
    /// Bits times 10^9 from one instant to another.
    fn integral(&self, from: Time, to: Time) -> u128 {
        let Some((span, work)) = self.round() else { return self.step_by_step(from, to) };
        let rounds = to.since(from).as_ns() / span.as_ns();
        work * u128::from(rounds) + self.step_by_step(from + Dur::from_ns(span.as_ns() * rounds), to)
    }
    fn step_by_step(&self, from: Time, to: Time) -> u128 {
        let (mut sum, mut now) = (0, from);
        while now < to {
            let (rate, until) = self.at(now);
            sum += work(rate, until.min(to).since(now));
            now = until;
        }
        sum
    }
}

/// What a rate carries in a span, in bits times 10^9.
fn work(rate: Rate, span: Dur) -> u128 {
    u128::from(rate.as_bps()) * u128::from(span.as_ns())
}

/// Instants at which a line delivers, repeated for ever.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// The instants of one round, in order; the last is the period.
    pub instants: Arc<[Dur]>,
    /// Bytes that each of them delivers.
    pub opportunity: Bytes,
    /// The run begins so far into the trace.
    pub offset: Dur,
}

impl Trace {
    /// After so long it begins again.
    pub fn period(&self) -> Dur {
        self.instants.last().copied().unwrap_or(Dur::ZERO)
    }
    /// When instant `number` is, counted over all rounds.
    pub(crate) fn time_of(&self, number: u64) -> Time {
        let round = self.instants.len() as u64;
        let since = (number / round) * self.period().as_ns() + self.instants[(number % round) as usize].as_ns();
        Time::from_ns(since - self.offset.as_ns())
    }
    /// The number of the first instant at or after `at`.
    pub(crate) fn first_from(&self, at: Time) -> u64 {
        let since = at.as_ns() + self.offset.as_ns();
        let Some(before) = since.checked_sub(1) else { return 0 };
        // The end of a round belongs to it, not to the next.
        let round = before / self.period().as_ns();
        let within = Dur::from_ns(since - round * self.period().as_ns());
        round * self.instants.len() as u64 + self.instants.partition_point(|instant| *instant < within) as u64
    }
    /// The number of the first instant after `at`.
    fn first_after(&self, at: Time) -> u64 {
        self.first_from(at + Dur::from_ns(1))
    }
}

/// The line itself, packet after packet.
#[derive(Debug, Clone)]
pub struct Line {
    transmitter: Transmitter,
    delay: Delay,
    jitter: Option<Steps<Jitter>>,
    limit: Option<Steps<u32>>,
}

#[derive(Debug, Clone)]
enum Transmitter {
    Constant(Serialisation),
    Schedule {
        rates: Steps<Rate>,
        /// The length of a round and what it carries.
        round: Option<(Dur, u128)>,
        /// Bits times 10^9 of the packets so far that did not fill a nanosecond.
        owed: u128,
    },
    Trace {
        trace: Trace,
        /// The instant that delivers next.
        number: u64,
        /// Bytes that it still delivers, at least one.
        left: u64,
    },
    Replay(Box<Replay>),
}

#[derive(Debug, Clone)]
enum Delay {
    Constant(Dur),
    Steps(Steps<Dur>),
}

impl Line {
    /// A line that varies so, with the link's own delay where that does not change.
    pub fn new(varying: &Varying, delay: Dur) -> Line {
        let transmitter = match &varying.capacity {
            Capacity::Constant(rate) => Transmitter::Constant(Serialisation::new(*rate)),
            Capacity::Schedule(rates) => Transmitter::Schedule { rates: rates.clone(), round: rates.round(), owed: 0 },
            Capacity::Trace(trace) => Transmitter::Trace {
                number: trace.first_from(Time::ZERO),
                left: trace.opportunity.as_u64(),
                trace: trace.clone(),
            },
            Capacity::TwoTraces(traces) => Transmitter::Replay(Box::new(Replay::new(traces))),
        };
        let delay = varying.delay.clone().map_or(Delay::Constant(delay), Delay::Steps);
        Line { transmitter, delay, jitter: varying.jitter.clone(), limit: varying.limit.clone() }
    }
    /// A line of constant rate and delay.
    pub fn plain(rate: Option<Rate>, delay: Dur) -> Line {
        Line::new(&Varying::of(Capacity::Constant(rate)), delay)
    }
    /// When a line that is free at `at` takes a packet out of the queue. Times never go back.
    pub fn ready(&mut self, at: Time) -> Time {
        let (trace, number, left) = match &mut self.transmitter {
            Transmitter::Trace { trace, number, left } => (trace, number, left),
            Transmitter::Replay(replay) => return replay.ready(at),
            _ => return at,
        };
        let mut next = trace.time_of(*number);
        if next < at {
            *number = trace.first_from(at);
            *left = trace.opportunity.as_u64();
            next = trace.time_of(*number);
        }
        next
    }
    /// When the last of the `bytes` leaves that the line takes at `at`, which [`ready`](Line::ready) gave; never, where
    /// the rate stays zero.
    pub fn send(&mut self, at: Time, bytes: Bytes) -> Time {
        match &mut self.transmitter {
            Transmitter::Constant(line) => at + line.next(bytes),
            Transmitter::Schedule { rates, round, owed } => {
                let (mut now, mut left) = (at, u128::from(bytes.as_u64()) * 8_000_000_000 + *owed);
                if let Some((span, work)) = *round
                    && left > work
                {
                    let Some(rounds) = (left - 1).checked_div(work) else { return Time::NEVER };
                    let whole = u64::try_from(rounds).ok().and_then(|rounds| span.as_ns().checked_mul(rounds));
                    let Some(later) = whole.and_then(|whole| now.checked_add(Dur::from_ns(whole))) else {
                        return Time::NEVER;
                    };
                    (now, left) = (later, left - work * rounds);
                }
                loop {
                    let (rate, until) = rates.at(now);
                    if until == Time::NEVER && rate == Rate::ZERO {
                        return Time::NEVER;
                    }
                    let room = work(rate, until.since(now));
                    if room >= left {
                        *owed = left % u128::from(rate.as_bps());
                        return now + Dur::from_ns((left / u128::from(rate.as_bps())) as u64);
                    }
                    (left, now) = (left - room, until);
                }
            }
            Transmitter::Replay(replay) => replay.send(at, bytes),
            Transmitter::Trace { trace, number, left } => {
                let mut need = bytes.as_u64();
                loop {
                    let (now, take) = (*number, need.min(*left));
                    (need, *left) = (need - take, *left - take);
                    if *left == 0 {
                        (*number, *left) = (now + 1, trace.opportunity.as_u64());
                    }
                    if need == 0 {
                        return trace.time_of(now);
                    }
                }
            }
        }
    }
    /// From when on a line counts as free that has been idle since `free_at`: with a burst in the past, else `now`.
    #[inline]
    pub fn saved_since(&self, now: Time, free_at: Time, burst: Burst) -> Time {
        let since = match &self.transmitter {
            Transmitter::Schedule { rates, round, .. } if burst.bytes > Bytes::ZERO && free_at < now => {
                rates.back(now, u128::from(burst.bytes.as_u64()) * 8_000_000_000, free_at, *round)
            }
            Transmitter::Schedule { .. } => now,
            _ => now.saturating_sub(burst.time),
        };
        free_at.max(since)
    }
    /// True if so many packets that wait leave no room for one that arrives at `at`.
    #[inline]
    pub fn is_full(&self, at: Time, waiting: u32) -> bool {
        self.limit.as_ref().is_some_and(|limit| waiting >= limit.at(at).0)
    }
    /// How many packets may wait changes.
    pub fn has_limit(&self) -> bool {
        self.limit.is_some()
    }
    /// The jitter of what leaves at `at`, if it changes.
    #[inline]
    pub fn jitter(&self, at: Time) -> Option<Jitter> {
        self.jitter.as_ref().map(|steps| steps.at(at).0)
    }
    /// The delay of what leaves at `at`.
    pub fn delay(&self, at: Time) -> Dur {
        if let Transmitter::Replay(replay) = &self.transmitter {
            return replay.delay();
        }
        match &self.delay {
            Delay::Constant(delay) => *delay,
            Delay::Steps(steps) => steps.at(at).0,
        }
    }
    /// No packet has a shorter delay.
    pub fn least_delay(&self) -> Dur {
        match (&self.transmitter, &self.delay) {
            (Transmitter::Replay(_), _) | (_, Delay::Steps(_)) => Dur::ZERO, // not asked: it may change
            (_, Delay::Constant(delay)) => *delay,
        }
    }
    /// True if a packet that leaves the line after the next change of the delay may be delivered before `due`, when
    /// one that left at `leaves` is.
    pub fn is_overtaken(&self, leaves: Time, due: Time) -> bool {
        let Delay::Steps(steps) = &self.delay else { return false };
        let (_, until) = steps.at(leaves);
        until < due && until + steps.at(until).0 < due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(us: u64) -> Time {
        Time::from_ns(us * 1000)
    }
    fn steps(first: u64, steps: &[(u64, u64)], repeat: Option<u64>) -> Steps<Rate> {
        let steps = steps.iter().map(|(ms, bps)| (Dur::from_ms(*ms), Rate::from_bps(*bps)));
        Steps { first: Rate::from_bps(first), steps: steps.collect(), repeat: repeat.map(Dur::from_ms) }
    }
    fn line(capacity: Capacity) -> Line {
        Line::new(&Varying::of(capacity), Dur::ZERO)
    }
    fn trace(ms: &[u64], opportunity: u64) -> Trace {
        let instants = ms.iter().map(|ms| Dur::from_ms(*ms)).collect();
        Trace { instants, opportunity: Bytes::new(opportunity), offset: Dur::ZERO }
    }
    fn send(line: &mut Line, from: Time, bytes: u64) -> Time {
        let start = line.ready(from);
        line.send(start, Bytes::new(bytes))
    }

    #[test]
    fn a_packet_that_a_step_finds_on_the_line_goes_on_at_the_new_rate() {
        // 1250 bytes are 10 kbit: 4 ms at 1 Mbit/s carry 4 kbit, the other 6 kbit take 1 ms at 6 Mbit/s.
        let mut line = line(Capacity::Schedule(steps(1_000_000, &[(4, 6_000_000)], None)));
        assert_eq!(send(&mut line, Time::ZERO, 1250), at(5000));
        assert_eq!(send(&mut line, at(5000), 750), at(6000));
    }
    #[test]
    fn an_outage_holds_up_what_is_on_the_line() {
        let mut line = line(Capacity::Schedule(steps(1_000_000, &[(1, 0), (50, 1_000_000)], Some(100))));
        assert_eq!(send(&mut line, Time::ZERO, 250), at(51_000), "1 ms before, 1 ms after");
        assert_eq!(send(&mut line, at(98_000), 500), at(150_000 + 1000), "2 ms, and 1 ms of the next round, and 1 ms");
        let mut line = super::tests::line(Capacity::Schedule(steps(1_000_000, &[(1, 0)], None)));
        assert_eq!(send(&mut line, Time::ZERO, 250), Time::NEVER);
    }
    #[test]
    fn rounds_of_nanoseconds_take_no_longer_than_rounds_of_seconds() {
        // 1 kbit/s and 3 kbit/s for a nanosecond each: 2 kbit/s, so that 1250 bytes take 5 s in 2.5 * 10^9 rounds.
        let rates = Steps { repeat: Some(Dur::from_ns(2)), ..steps(1000, &[], None) };
        let rates = Steps { steps: [(Dur::from_ns(1), Rate::from_bps(3000))].into(), ..rates };
        assert_eq!(rates.integral(Time::ZERO, at(10_000_000)), 20_000 * 1_000_000_000);
        let mut line = line(Capacity::Schedule(rates));
        assert_eq!(send(&mut line, Time::ZERO, 1250), at(5_000_000));
        let burst = Burst { bytes: Bytes::new(250), time: Dur::ZERO };
        assert_eq!(line.saved_since(at(8_000_000), at(5_000_000), burst), at(7_000_000), "2 kbit in 1 s");
    }
    #[test]
    fn a_schedule_saves_up_what_it_could_have_carried() {
        // 1 Mbit/s to 4 ms, nothing to 6 ms, 2 Mbit/s to 10 ms, and again.
        let line = line(Capacity::Schedule(steps(1_000_000, &[(4, 0), (6, 2_000_000)], Some(10))));
        let since = |now, free, bytes| {
            line.saved_since(at(now), at(free), Burst { bytes: Bytes::new(bytes), time: Dur::from_ms(99) })
        };
        assert_eq!(since(8000, 0, 250), at(7000), "2 kbit at 2 Mbit/s");
        assert_eq!(since(7000, 0, 375), at(3000), "2 kbit since 6 ms, nothing, 1 kbit before 4 ms");
        assert_eq!(since(7000, 3500, 375), at(3500), "no more than since it is free");
        assert_eq!(since(11_000, 0, 250), at(9500), "over the end of a round");
        assert_eq!(since(3000, 0, 1_000_000), at(0));
        assert_eq!(since(7000, 0, 0), at(7000), "nothing to save");
        assert_eq!(since(7000, 9000, 250), at(9000), "a busy line");
    }
    #[test]
    fn what_is_cut_off_a_nanosecond_is_not_lost() {
        let mut plain = Serialisation::new(Some(Rate::from_bps(7_777_777)));
        let mut line = line(Capacity::Schedule(steps(7_777_777, &[(1, 7_777_777)], Some(3))));
        let (mut a, mut b) = (Time::ZERO, Time::ZERO);
        for bytes in (1..2000).map(|n| 40 + n * 13 % 1475) {
            a += plain.next(Bytes::new(bytes));
            b = send(&mut line, b, bytes);
            assert_eq!(a, b, "the same as a line of constant rate");
        }
    }
    #[test]
    fn each_instant_of_a_trace_delivers_its_bytes_and_the_last_is_the_period() {
        let mut line = line(Capacity::Trace(trace(&[2, 2, 5], 1500)));
        let ends: Vec<u64> = (0..7).map(|_| send(&mut line, Time::ZERO, 1500).as_ns() / MS).collect();
        assert_eq!(ends, [2, 2, 5, 7, 7, 10, 12]);
    }
    #[test]
    fn bytes_left_serve_what_waits_then_and_nothing_later() {
        let mut line = line(Capacity::Trace(trace(&[10, 20], 1500)));
        assert_eq!(send(&mut line, at(1000), 1000), at(10_000));
        assert_eq!(send(&mut line, at(10_000), 400), at(10_000), "of the 500 bytes left");
        assert_eq!(send(&mut line, at(10_000), 200), at(20_000), "100 bytes at once and 100 at the next instant");
        assert_eq!(send(&mut line, at(20_000), 1400), at(20_000));
        assert_eq!(send(&mut line, at(20_001), 1500), at(30_000), "an idle line saves nothing up");
        assert_eq!(send(&mut line, at(30_001), 3001), at(60_000), "a packet longer than two instants");
    }
    #[test]
    fn an_instant_at_zero_and_one_at_the_period_are_two() {
        let mut line = line(Capacity::Trace(trace(&[0, 4], 100)));
        let ends: Vec<u64> = (0..5).map(|_| send(&mut line, Time::ZERO, 100).as_ns() / MS).collect();
        assert_eq!(ends, [0, 4, 4, 8, 8]);
        assert_eq!(line.ready(at(16_000)), at(16_000));
        assert_eq!([send(&mut line, at(16_000), 100), send(&mut line, at(16_000), 100)], [at(16_000), at(16_000)]);
        assert_eq!(line.ready(at(16_000)), at(20_000), "both used");
    }
    #[test]
    fn an_offset_turns_the_trace() {
        let mut line = line(Capacity::Trace(Trace { offset: Dur::from_ms(3), ..trace(&[2, 2, 5], 1500) }));
        let ends: Vec<u64> = (0..4).map(|_| send(&mut line, Time::ZERO, 1500).as_ns() / MS).collect();
        assert_eq!(ends, [2, 4, 4, 7]);
    }
    #[test]
    fn capacity_counts_what_a_full_line_carries() {
        let capacity = Capacity::Trace(trace(&[2, 2, 5], 1500));
        assert_eq!(capacity.bits(Time::ZERO, at(5000)), Some(36_000.0));
        assert_eq!(capacity.bits(at(2000), at(6999)), Some(12_000.0), "after 2 ms up to 7 ms");
        assert_eq!(capacity.mean(Dur::from_secs(1)), Some(Rate::from_bps(7_200_000)));
        let capacity = Capacity::Schedule(steps(1_000_000, &[(4, 6_000_000)], Some(8)));
        assert_eq!(capacity.bits(at(3000), at(9000)), Some(1000.0 + 24_000.0 + 1000.0));
        assert_eq!(capacity.mean(Dur::from_secs(1)), Some(Rate::from_bps(3_500_000)));
        let once = Capacity::Schedule(steps(1_000_000, &[(500, 3_000_000)], None));
        assert_eq!(once.mean(Dur::from_secs(1)), Some(Rate::from_mbps(2)));
    }
    #[test]
    fn a_delay_that_changes_is_that_of_the_instant() {
        let delay = Steps { first: Dur::from_ms(5), steps: [(Dur::from_ms(10), Dur::from_ms(9))].into(), repeat: None };
        let line = Line::new(&Varying { delay: Some(delay), ..Varying::of(Capacity::Constant(None)) }, Dur::ZERO);
        assert_eq!([line.delay(at(9999)), line.delay(at(10_000))], [Dur::from_ms(5), Dur::from_ms(9)]);
    }
}
