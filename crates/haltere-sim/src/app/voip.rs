//! One direction of a telephone call: packets at a constant rate, and what the listener hears of them.
//! Source: ITU-T G.107 (2015) for the rating R, its loss term (equation 7-29, random loss) and the opinion score (annex B); R. Cole and
//! J. Rosenbluth, "Voice over IP performance monitoring", ACM SIGCOMM Computer Communication Review 31(2), 2001, for the delay term.
//! Model: R = 93.2 - Id - Ie_eff. Of the one-way delay d in ms, from mouth to ear: Id = 0.024 d + 0.11 (d - 177.3) H(d - 177.3). Of the
//! lost part P in per cent, late packets included: Ie_eff = Ie + (95 - Ie) P / (P + Bpl). The score is
//! MOS = 1 + 0.035 R + 7e-6 R (R - 60) (100 - R), at least 1 and at most 4.5. The playout buffer is fixed: the first packet
//! is played `playout` after it arrives, and each later one at its own time from there; who comes later is lost to the listener.
//! Units: ms inside of the formulas. Known problems: losses count as random, a burst as so many losses; echo is left out.

use super::{App, Place, is_over, payload, positive_span};
use crate::engine::event::Kind;
use crate::net::fabric::{Fabric, Port};
use crate::net::packet::{Body, Datagram, Packet, UDP_HEADER};
use haltere_plan::Record;
use haltere_plan::plan::{FlowPlan, VoipPlan};
use haltere_plan::record::{FlowRecord, VoiceRecord};
use haltere_queue::Ecn;
use haltere_units::{Dur, ParamError, Time};

/// A talker and a listener.
#[derive(Debug)]
pub(crate) struct Voip {
    index: usize,
    plan: VoipPlan,
    port: Port,
    payload: u32,
    start: Time,
    stop: Option<Time>,
    sent: u64,
    /// Of each packet, by number: its delay. [`LOST`]: it has not arrived.
    delays: Vec<Dur>,
    received: u64,
}

/// The delay of a packet that has not arrived.
const LOST: Dur = Dur::from_ns(u64::MAX);

impl Voip {
    pub fn new(flow: &FlowPlan, plan: &VoipPlan, place: Place) -> Result<Voip, ParamError> {
        positive_span("interval", plan.interval)?;
        let [port, _] = place.ports;
        Ok(Voip {
            index: place.index,
            port,
            payload: payload("packet", plan.packet, 1)?,
            plan: plan.clone(),
            start: flow.start,
            stop: flow.stop,
            sent: 0,
            delays: Vec::new(),
            received: 0,
        })
    }
    /// When the packet of that number left.
    fn left(&self, number: u64) -> Time {
        self.start + self.plan.interval * number
    }
    /// What the listener heard of the packets that left from `from` on and could arrive by `end`.
    fn heard(&self, from: Time, end: Time) -> VoiceRecord {
        let mut heard = VoiceRecord { flow: self.index as u32, ..VoiceRecord::default() };
        let mut known = self.delays.iter().enumerate().filter(|(_, delay)| **delay != LOST);
        // Playing begins with the first packet that arrives; from there on all have the same time from mouth to ear.
        let Some((_, &first)) = known.next() else { return self.silence(from, end) };
        let played = first + self.plan.playout;
        let (mut last, mut jitter, mut sum) = (None::<f64>, 0.0, 0.0);
        for (number, &delay) in self.delays.iter().enumerate() {
            let left = self.left(number as u64);
            // Of the last packets nobody knows whether they will arrive in time.
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
    /// Nothing arrived.
    fn silence(&self, from: Time, end: Time) -> VoiceRecord {
        let sent = (0..self.sent).filter(|&number| (from..end).contains(&self.left(number))).count() as u64;
        let rating = rating(&self.plan, self.plan.playout + self.plan.codec_delay, sent, sent);
        VoiceRecord { flow: self.index as u32, sent, lost: sent, rating, mos: score(rating), ..VoiceRecord::default() }
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

impl App for Voip {
    fn start(&mut self, fabric: &mut Fabric) {
        self.start = fabric.now;
        self.step(fabric);
    }
    fn set_stop(&mut self, at: Time, _fabric: &mut Fabric) {
        self.stop = Some(at);
    }
    /// Sends one packet and sets the time of the next.
    fn step(&mut self, fabric: &mut Fabric) {
        if is_over(self.stop, fabric.now) {
            return;
        }
        self.sent += 1;
        self.delays.push(LOST);
        let datagram = Datagram { sent: fabric.now, seq: self.sent as u32, payload: self.payload };
        self.port.send(UDP_HEADER + self.payload, Ecn::NotEct, Body::Udp(datagram), fabric);
        fabric.schedule(self.left(self.sent), Kind::App, self.index);
    }
    fn receive(&mut self, side: usize, packet: Packet, fabric: &mut Fabric) {
        if let (1, Body::Udp(datagram)) = (side, fabric.pool.open(&packet)) {
            let delay = fabric.now.since(datagram.sent);
            let known = &mut self.delays[datagram.seq as usize - 1];
            self.received += if *known == LOST { u64::from(datagram.payload) } else { 0 };
            *known = (*known).min(delay);
        }
    }
    fn received(&self) -> u64 {
        self.received
    }
    fn record(&self, record: &mut FlowRecord) {
        let arrived = self.delays.iter().filter(|delay| **delay != LOST).count() as u64;
        (record.packets_sent, record.packets_received) = (self.sent, arrived);
    }
    fn finish(&mut self, _at: Time, record: &mut Record) {
        let (from, to) = record.measured;
        record.voices.push(self.heard(from, to));
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
        // By hand: 93.2 - 0.024 * 100 = 90.8. With 1 % loss 95 / 26.1 = 3.640 less. At 277.3 ms 6.655 + 11 less than 93.2.
        close(r(100, 0, 100), 90.8);
        close(r(100, 1, 100), 90.8 - 3.6398);
        close(rating(&g711(), Dur::from_us(277_300), 0, 100), 93.2 - 6.6552 - 11.0);
        // MOS(90.8) = 1 + 3.178 + 7e-6 * 90.8 * 30.8 * 9.2 = 4.358; MOS(60) = 1 + 2.1; annex B: 93.2 is 4.41, 0 is 1.
        close(score(90.8), 4.3581);
        close(score(60.0), 3.1);
        close(score(93.2), 4.4093);
        assert_eq!([score(-5.0), score(100.0)], [1.0, 4.5]);
    }
}
