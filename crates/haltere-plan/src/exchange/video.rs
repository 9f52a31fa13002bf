//! A player of adaptive video: which bitrate it asks for, and what is in its buffer.
//! Source: T.-Y. Huang et al., "A buffer-based approach to rate adaptation", SIGCOMM 2014, algorithm 1 (BBA-0). Model:
//! the map f takes the playing time B in the buffer to a bitrate. Up to the reservoir r it is the lowest, from r plus
//! the cushion on the highest, and in between f(B) = lowest + (highest - lowest) (B - r) / cushion. The player keeps
//! its bitrate until f(B) passes the next higher or the next lower one of the ladder. It plays from the first segment
//! on; while the buffer is empty it stalls until the next segment is there. If the buffer has no room for a segment, it
//! waits. Segments come one after the other on one connection.

use super::{Answer, Client, Connections};
use crate::app::{is_over, positive_span};
use crate::plan::{FlowPlan, VideoPlan};
use crate::record::Record;
use crate::record::SegmentRecord;
use alloc::vec::Vec;
use haltere_units::{Bytes, Dur, ParamError, Rate, Time};

/// The port of an HTTPS server.
const SERVER_PORT: u16 = 443;
/// Bytes of a request.
const REQUEST: Bytes = Bytes::new(400);

/// A player: it fetches segments and plays them from its buffer.
#[derive(Debug)]
pub struct Player {
    plan: VideoPlan,
    stop: Option<Time>,
    connection: usize,
    /// Place in the ladder of the last segment's bitrate.
    rung: usize,
    /// What is in the buffer at `at`.
    buffered: Dur,
    at: Time,
    /// The first segment is there.
    playing: bool,
    /// How long it has stalled since the last segment was there.
    stalled: Dur,
    awaited: Option<SegmentRecord>,
    done: Vec<SegmentRecord>,
}

/// The place in the ladder of the next segment's bitrate, of algorithm 1. `last` is that of the segment before.
fn bba_0(plan: &VideoPlan, buffered: Dur, last: usize) -> usize {
    let ladder = &plan.ladder;
    let highest = ladder.len() - 1;
    if buffered <= plan.reservoir {
        return 0;
    }
    if buffered >= plan.reservoir + plan.cushion {
        return highest;
    }
    let part = (buffered - plan.reservoir).as_secs_f64() / plan.cushion.as_secs_f64();
    let (low, high) = (ladder[0].as_bps_f64(), ladder[highest].as_bps_f64());
    let map = low + (high - low) * part;
    let rate = |rung: usize| ladder[rung].as_bps_f64();
    if map >= rate((last + 1).min(highest)) {
        (0..=highest).rev().find(|&rung| rate(rung) < map).unwrap_or(0)
    } else if map <= rate(last.saturating_sub(1)) {
        (0..=highest).find(|&rung| rate(rung) > map).unwrap_or(highest)
    } else {
        last
    }
}

impl Player {
    /// The player of that flow.
    pub fn new(flow: &FlowPlan, plan: &VideoPlan) -> Result<Player, ParamError> {
        positive_span("segment", plan.segment)?;
        positive_span("cushion", plan.cushion)?;
        if plan.ladder.is_empty() {
            return Err(ParamError::new("ladder", "at least one bitrate", 0));
        }
        Ok(Player {
            plan: plan.clone(),
            stop: flow.stop,
            connection: 0,
            rung: 0,
            buffered: Dur::ZERO,
            at: Time::ZERO,
            playing: false,
            stalled: Dur::ZERO,
            awaited: None,
            done: Vec::new(),
        })
    }
    fn play(&mut self, now: Time) {
        let passed = now.since(self.at);
        self.at = now;
        if self.playing {
            self.stalled += passed.saturating_sub(self.buffered);
            self.buffered = self.buffered.saturating_sub(passed);
        }
    }
    /// Asks for the next segment, or waits until there is room for it.
    fn next(&mut self, on: &mut impl Connections) {
        if is_over(self.stop, on.now()) {
            return on.close();
        }
        let full = self.buffered + self.plan.segment;
        if full > self.plan.buffer {
            return on.wake(on.now() + (full - self.plan.buffer));
        }
        self.rung = bba_0(&self.plan, self.buffered, self.rung);
        let bitrate = self.plan.ladder[self.rung];
        let bytes = bytes_of(bitrate, self.plan.segment);
        self.awaited = Some(SegmentRecord {
            flow: 0,
            bitrate,
            bytes: bytes.as_u64(),
            start: on.now(),
            end: Time::NEVER,
            buffered: self.buffered,
            stalled: Dur::ZERO,
        });
        on.ask(self.connection, REQUEST, bytes);
    }
}

/// The bytes of a segment.
fn bytes_of(bitrate: Rate, segment: Dur) -> Bytes {
    Bytes::new((bitrate.as_bps_f64() * segment.as_secs_f64() / 8.0) as u64)
}

impl Client for Player {
    fn start(&mut self, on: &mut impl Connections) {
        self.connection = on.open(SERVER_PORT);
        self.wake(on);
    }
    fn wake(&mut self, on: &mut impl Connections) {
        self.play(on.now());
        self.next(on);
    }
    fn set_stop(&mut self, at: Time) {
        self.stop = Some(at);
    }
    fn answered(&mut self, _answer: Answer, on: &mut impl Connections) {
        self.play(on.now());
        self.playing = true;
        self.buffered += self.plan.segment;
        let stalled = core::mem::take(&mut self.stalled);
        if let Some(segment) = self.awaited.take() {
            self.done.push(SegmentRecord { end: on.now(), stalled, ..segment });
        }
        self.next(on);
    }
    /// The segments, the one that did not come as the last.
    fn finish(&mut self, at: Time, flow: u32, record: &mut Record) {
        self.play(self.stop.map_or(at, |stop| stop.min(at)).max(self.at));
        let stalled = self.stalled;
        let last = self.awaited.take().map(|segment| SegmentRecord { stalled, ..segment });
        record.segments.extend(self.done.drain(..).chain(last).map(|segment| SegmentRecord { flow, ..segment }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::TcpPlan;
    use haltere_congestion::CongestionParams;
    use haltere_transport::TcpParams;

    /// The paper's buffer: a reservoir of 90 s, a cushion of 126 s.
    fn plan() -> VideoPlan {
        let control = CongestionParams::default_of("cubic").expect("the registry holds cubic");
        VideoPlan {
            tcp: TcpPlan::alike(control, TcpParams::default()),
            segment: Dur::from_secs(4),
            ladder: [1, 2, 3, 5].map(Rate::from_mbps).into(),
            buffer: Dur::from_secs(240),
            reservoir: Dur::from_secs(90),
            cushion: Dur::from_secs(126),
        }
    }

    #[test]
    fn the_bitrate_follows_algorithm_1_of_the_paper() {
        let rung = |seconds, last| bba_0(&plan(), Dur::from_secs(seconds), last);
        assert_eq!([rung(0, 3), rung(90, 2)], [0, 0], "in the reservoir the lowest");
        assert_eq!([rung(216, 0), rung(240, 1)], [3, 3], "above the cushion the highest");
        // By hand: f(B) = 1 + 4 (B - 90) / 126 Mbit/s. f(100) = 1.32, f(122) = 2.02, f(160) = 3.22, f(200) = 4.49.
        assert_eq!(rung(100, 0), 0, "1.32 has not reached 2");
        assert_eq!(rung(122, 0), 1, "2.02 has: the highest below it");
        assert_eq!(rung(160, 0), 2, "a jump over a rung");
        assert_eq!(rung(160, 2), 2, "3.22 is between 2 and 5: it stays");
        assert_eq!(rung(160, 3), 3, "3.22 is above 3, the next lower: it stays");
        assert_eq!(rung(150, 3), 2, "2.90 is not: the lowest above it");
        assert_eq!(rung(122, 3), 2, "2.02 is below 3: the lowest above it");
        assert_eq!(rung(200, 3), 3);
    }
}
