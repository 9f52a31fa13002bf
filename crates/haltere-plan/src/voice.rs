//! One direction of a telephone call: when its packets leave, and what the listener hears of them.
//!
//! Source: ITU-T G.107 (2015) for the rating R, its loss term (equation 7-29, random loss) and the opinion score (annex
//! B); R. Cole and J. Rosenbluth, "Voice over IP performance monitoring", ACM SIGCOMM Computer Communication Review 31(2),
//! 2001, for the delay term.
//!
//! Model: R = 93.2 - Id - Ie_eff. Id = 0.024 d + 0.11 (d - 177.3) H(d - 177.3), where d is the one-way delay from mouth to
//! ear in ms. Ie_eff = Ie + (95 - Ie) P / (P + Bpl), where P is the percentage of packets that are lost or late. The score
//! is MOS = 1 + 0.035 R + 7e-6 R (R - 60) (100 - R), at least 1 and at most 4.5. The playout buffer is fixed: the first
//! packet is played `playout` after it arrives, and each later one at its own time from there. A packet that arrives after
//! its time is lost to the listener.
//!
//! Units: ms in the formulas. Known problems: losses count as random, however bursty they are; echo is left out.

use crate::app::positive_span;
use crate::app::voip::VoipPlan;
use crate::record::{FlowRecord, VoiceRecord};
use alloc::vec::Vec;
use haltere_units::{Dur, ParamError, Time};

/// A call: what was sent and what has arrived.
#[derive(Debug)]
pub struct Voice {
    plan: VoipPlan,
    start: Time,
    /// Of each packet, by number: its delay. [`LOST`]: it has not arrived.
    delays: Vec<Dur>,
}

/// The delay of a packet that has not arrived.
const LOST: Dur = Dur::from_ns(u64::MAX);

impl Voice {
    /// A call that begins at `start`.
    pub fn new(plan: &VoipPlan, start: Time) -> Result<Voice, ParamError> {
        positive_span("interval", plan.interval)?;
        Ok(Voice { plan: plan.clone(), start, delays: Vec::new() })
    }
    /// The call begins at `start` instead.
    pub fn begin(&mut self, start: Time) {
        self.start = start;
    }
    /// The next packet is sent. Returns when the one after it leaves.
    pub fn send(&mut self) -> Time {
        self.delays.push(LOST);
        self.left(self.sent())
    }
    /// The packets that were sent. The last one has this number, less one.
    pub fn sent(&self) -> u64 {
        self.delays.len() as u64
    }
    /// The packet of that number arrives so long after it left. False: it had arrived before, or was not sent.
    pub fn arrive(&mut self, number: u64, delay: Dur) -> bool {
        let Some(known) = usize::try_from(number).ok().and_then(|number| self.delays.get_mut(number)) else {
            return false;
        };
        let is_first = *known == LOST;
        *known = (*known).min(delay);
        is_first
    }
    /// Adds the packets to the flow's line of the record.
    pub fn count(&self, record: &mut FlowRecord) {
        let arrived = self.delays.iter().filter(|delay| **delay != LOST).count() as u64;
        (record.packets_sent, record.packets_received) = (self.sent(), arrived);
    }
    /// When the packet of that number left.
    fn left(&self, number: u64) -> Time {
        self.start + self.plan.interval * number
    }
    /// What the listener heard of the packets that left from `from` on and could arrive by `end`.
    pub fn heard(&self, flow: u32, from: Time, end: Time) -> VoiceRecord {
        let mut heard = VoiceRecord { flow, ..VoiceRecord::default() };
        let mut known = self.delays.iter().enumerate().filter(|(_, delay)| **delay != LOST);
        // Playing begins with the first packet that arrives; from there on all have the same time from mouth to ear.
        let Some((_, &first)) = known.next() else { return self.silence(flow, from, end) };
        let played = first + self.plan.playout;
        let (mut last, mut jitter, mut sum) = (None::<f64>, 0.0, 0.0);
        for (number, &delay) in self.delays.iter().enumerate() {
            let left = self.left(number as u64);
            // It is not known whether the last packets would have arrived in time.
            if left < from || left + played > end {
                continue;
            }
            heard.sent += 1;
            if delay == LOST {
                heard.lost += 1;
                continue;
            }
            heard.late += u64::from(delay > played);
            let ms = delay.as_secs_f64() * 1e3;
            // RFC 3550, section 6.4.1: J += (|D| - J) / 16.
            jitter += last.map_or(0.0, |last| ((ms - last).abs() - jitter) / 16.0);
            (last, sum) = (Some(ms), sum + ms);
        }
        let arrived = heard.sent - heard.lost;
        heard.delay = Dur::from_secs_f64(if arrived > 0 { sum / arrived as f64 / 1e3 } else { 0.0 });
        heard.jitter = Dur::from_secs_f64(jitter / 1e3);
        heard.mouth_to_ear = played + self.plan.codec_delay;
        heard.rating = rating(&self.plan, heard.mouth_to_ear, heard.lost + heard.late, heard.sent);
        heard.mos = score(heard.rating);
        heard
    }
    fn silence(&self, flow: u32, from: Time, end: Time) -> VoiceRecord {
        let sent = (0..self.sent()).filter(|&number| (from..end).contains(&self.left(number))).count() as u64;
        let rating = rating(&self.plan, self.plan.playout + self.plan.codec_delay, sent, sent);
        VoiceRecord { flow, sent, lost: sent, rating, mos: score(rating), ..VoiceRecord::default() }
    }
}

/// The rating R of the E-model.
fn rating(plan: &VoipPlan, mouth_to_ear: Dur, lost: u64, sent: u64) -> f64 {
    let ms = mouth_to_ear.as_secs_f64() * 1e3;
    let delay = 0.024 * ms + 0.11 * (ms - 177.3).max(0.0);
    let percent = if sent > 0 { 100.0 * lost as f64 / sent as f64 } else { 0.0 };
    let equipment = plan.impairment + (95.0 - plan.impairment) * percent / (percent + plan.robustness);
    93.2 - delay - equipment
}

/// The mean opinion score of a rating.
fn score(rating: f64) -> f64 {
    match rating {
        r if r <= 0.0 => 1.0,
        r if r >= 100.0 => 4.5,
        r => (1.0 + 0.035 * r + 7e-6 * r * (r - 60.0) * (100.0 - r)).max(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_units::Bytes;

    fn g711() -> VoipPlan {
        VoipPlan {
            packet: Bytes::new(172),
            interval: Dur::from_ms(20),
            playout: Dur::from_ms(60),
            codec_delay: Dur::from_ms(20),
            impairment: 0.0,
            robustness: 25.1,
        }
    }

    #[test]
    fn the_rating_follows_its_formulas() {
        let r = |ms, lost, sent| rating(&g711(), Dur::from_ms(ms), lost, sent);
        let close = |got: f64, want: f64| assert!((got - want).abs() < 1e-3, "{got} for {want}");
        // By hand: 93.2 - 0.024 * 100 = 90.8. With 1 % loss 95 / 26.1 = 3.640 less. At 277.3 ms 6.655 + 11 less than
        // 93.2.
        close(r(100, 0, 100), 90.8);
        close(r(100, 1, 100), 90.8 - 3.6398);
        close(rating(&g711(), Dur::from_us(277_300), 0, 100), 93.2 - 6.6552 - 11.0);
        // MOS(90.8) = 1 + 3.178 + 7e-6 * 90.8 * 30.8 * 9.2 = 4.358; MOS(60) = 1 + 2.1; annex B: 93.2 is 4.41, 0 is 1.
        close(score(90.8), 4.3581);
        close(score(60.0), 3.1);
        close(score(93.2), 4.4093);
        assert_eq!([score(-5.0), score(100.0)], [1.0, 4.5]);
    }
    #[test]
    fn a_packet_counts_once_and_is_played_at_its_own_time() {
        let mut call = Voice::new(&g711(), Time::ZERO + Dur::from_ms(10)).expect("parameters");
        for number in 0..4 {
            assert_eq!(call.send(), Time::ZERO + Dur::from_ms(10 + 20 * (number + 1)));
        }
        // The first is played 60 ms after it arrives: 90 ms after each packet left. The third comes later, the fourth
        // never.
        assert!(
            call.arrive(0, Dur::from_ms(30)) && call.arrive(1, Dur::from_ms(89)) && call.arrive(2, Dur::from_ms(91))
        );
        assert!(!call.arrive(1, Dur::from_ms(95)) && !call.arrive(4, Dur::ZERO), "a copy, and one that was not sent");
        let heard = call.heard(7, Time::ZERO, Time::ZERO + Dur::from_ms(1000));
        assert_eq!((heard.flow, heard.sent, heard.lost, heard.late), (7, 4, 1, 1));
        assert_eq!((heard.delay, heard.mouth_to_ear), (Dur::from_ms(70), Dur::from_ms(110)));
        // Up to 155 ms three packets can be heard: the fourth, which left at 70 ms, is played at 160 ms.
        assert_eq!(call.heard(7, Time::ZERO, Time::ZERO + Dur::from_ms(155)).sent, 3);
        let mut line = FlowRecord::default();
        call.count(&mut line);
        assert_eq!((line.packets_sent, line.packets_received), (4, 3));
    }
}
