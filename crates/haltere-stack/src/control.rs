//! Haltere's congestion controls behind the interface of a stack.
//! Source: RFC 9002 (recovery periods begin and end by the time at which packets were sent; initial window),
//! draft-ietf-ccwg-bbr (delivery rate samples).
//! Deviations: a stack reports acknowledgements before the losses that they reveal, so the window may grow by the
//! acknowledgement that begins a recovery period. There is no proportional rate reduction: QUIC has none.
//! Units: times ns, sizes bytes of UDP payload.

use haltere_congestion::{
    AckEvent, CongestionControl, CongestionParams, Control, LossEvent, LossKind, LostSegment, RateSample, RtoEvent,
    SenderContext,
};
use haltere_stack_adapter::Ack;
use haltere_units::{Bytes, Dur, ParamError, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// Records of batches that are kept after the last packet that could refer to them.
const KEPT: u64 = 1_000_000_000;

/// Makes controls of one end.
#[derive(Debug)]
pub(crate) struct OursMaker {
    params: Arc<CongestionParams>,
    sender: SenderContext,
}

/// Packets that left at one time.
#[derive(Debug, Clone, Copy)]
struct Sent {
    at: u64,
    delivered: u64,
    delivered_at: u64,
    first_at: u64,
    in_flight: u64,
    lost: u64,
}

/// What one ACK frame acknowledged.
#[derive(Debug, Clone, Copy, Default)]
struct Batch {
    bytes: u64,
    /// When the packet that left last among them was sent.
    latest: Option<u64>,
    app_limited: bool,
}

/// A control of one end.
#[derive(Debug, Clone)]
pub(crate) struct Ours {
    control: Control,
    sent: VecDeque<Sent>,
    batch: Batch,
    in_flight: u64,
    sent_bytes: u64,
    delivered: u64,
    delivered_at: u64,
    /// When the first packet of the current flight was sent.
    first_at: u64,
    lost: u64,
    lost_told: u64,
    srtt: u64,
    min_rtt: u64,
    round: u64,
    /// The round ends when a packet is acknowledged that was sent with so many bytes delivered.
    round_end: u64,
    /// When the recovery period began.
    recovery: Option<u64>,
}

impl Ours {
    /// What makes the controls of an end; refuses parameters that the control does not take.
    pub fn maker(params: &Arc<CongestionParams>, sender: SenderContext) -> Result<OursMaker, ParamError> {
        Control::new(params, &sender)?;
        Ok(OursMaker { params: params.clone(), sender })
    }
    pub fn on_sent(&mut self, now: u64, bytes: u64) {
        if self.in_flight == 0 {
            (self.first_at, self.delivered_at) = (now, now);
        }
        self.in_flight += bytes;
        self.sent_bytes += bytes;
        let Ours { delivered, delivered_at, first_at, in_flight, lost, .. } = *self;
        match self.sent.back_mut().filter(|last| last.at == now) {
            Some(last) => last.in_flight = in_flight,
            None => self.sent.push_back(Sent { at: now, delivered, delivered_at, first_at, in_flight, lost }),
        }
    }
    pub fn on_ack(&mut self, packet: &Ack) {
        if self.srtt == 0 {
            self.control.on_established(Time::from_ns(packet.now), Dur::from_ns(packet.now - packet.sent));
        }
        (self.srtt, self.min_rtt) = (packet.srtt, packet.min_rtt);
        self.in_flight = self.in_flight.saturating_sub(packet.bytes);
        self.delivered += packet.bytes;
        self.delivered_at = packet.now;
        let latest = self.batch.latest.unwrap_or(0).max(packet.sent);
        self.batch = Batch {
            bytes: self.batch.bytes + packet.bytes,
            latest: Some(latest),
            app_limited: packet.app_limited != 0,
        };
    }
    fn found(&self, at: u64) -> Option<&Sent> {
        let place = self.sent.partition_point(|sent| sent.at < at);
        self.sent.get(place).filter(|sent| sent.at == at)
    }
    fn rate(&self, sent: &Sent, now: u64, app_limited: bool) -> RateSample {
        let interval = (sent.at - sent.first_at).max(now - sent.delivered_at).max(1);
        let mut rate = RateSample::new(Bytes::new(self.delivered - sent.delivered), Dur::from_ns(interval));
        rate.prior_delivered = sent.delivered;
        rate.total_delivered = self.delivered;
        rate.lost = Bytes::new(self.lost - sent.lost);
        rate.total_lost = self.lost;
        rate.tx_in_flight = Bytes::new(sent.in_flight);
        rate.app_limited = app_limited;
        rate
    }
    pub fn on_acks(&mut self, now: u64, in_flight: u64) {
        let batch = std::mem::take(&mut self.batch);
        self.in_flight = in_flight;
        let Some(latest) = batch.latest else { return };
        let sample = self.found(latest).copied();
        let round_start = sample.is_some_and(|sent| sent.delivered >= self.round_end);
        if round_start {
            (self.round, self.round_end) = (self.round + 1, self.delivered);
        }
        if let Some(sent) = sample {
            self.first_at = sent.at;
        }
        let was_in_recovery = self.recovery.is_some();
        let is_recovered = self.recovery.is_some_and(|began| latest > began);
        if is_recovered {
            self.recovery = None;
        }
        let mut ack = AckEvent::at(Time::from_ns(now));
        (ack.acked, ack.delivered) = (Bytes::new(batch.bytes), Bytes::new(batch.bytes));
        ack.lost = Bytes::new(self.lost - std::mem::replace(&mut self.lost_told, self.lost));
        ack.rtt = Some(Dur::from_ns(now - latest));
        (ack.srtt, ack.min_rtt) = (Dur::from_ns(self.srtt), Dur::from_ns(self.min_rtt));
        (ack.prior_in_flight, ack.in_flight) = (Bytes::new(in_flight + batch.bytes), Bytes::new(in_flight));
        (ack.snd_una, ack.snd_nxt) = (self.delivered, self.sent_bytes);
        (ack.round, ack.round_start) = (self.round, round_start);
        ack.cwnd_limited = !batch.app_limited;
        ack.in_recovery = self.recovery.is_some();
        ack.rate = sample.map(|sent| self.rate(&sent, now, batch.app_limited));
        if was_in_recovery && is_recovered {
            self.control.on_recovered(Time::from_ns(now));
        }
        self.control.on_ack(&ack);
        let old = latest.saturating_sub(KEPT);
        while self.sent.front().is_some_and(|sent| sent.at < old) {
            self.sent.pop_front();
        }
    }
    pub fn on_loss(&mut self, batch: &Ack) {
        let now = Time::from_ns(batch.now);
        self.in_flight = self.in_flight.saturating_sub(batch.bytes);
        self.lost += batch.bytes;
        if let (Some(sent), 1..) = (self.found(batch.sent).copied(), batch.bytes) {
            let mut lost = LostSegment::new(self.delivered, Bytes::new(batch.bytes));
            lost.tx_in_flight = Bytes::new(sent.in_flight);
            lost.lost = Bytes::new(self.lost - sent.lost);
            (lost.prior_delivered, lost.total_delivered) = (sent.delivered, self.delivered);
            self.control.on_segment_lost(&lost);
        }
        if self.recovery.is_none_or(|began| batch.sent > began) {
            self.recovery = Some(batch.now);
            let kind = if batch.ecn != 0 { LossKind::Ecn } else { LossKind::Loss };
            let mut loss = LossEvent::at(now, kind);
            (loss.in_flight, loss.snd_nxt) = (Bytes::new(self.in_flight), self.sent_bytes);
            loss.lost = Bytes::new(batch.bytes);
            self.control.on_loss(&loss);
        }
        if batch.persistent != 0 {
            let mut rto = RtoEvent::at(now);
            (rto.in_flight, rto.first, rto.snd_nxt) = (Bytes::new(self.in_flight), true, self.sent_bytes);
            self.control.on_rto(&rto);
        }
    }
    pub fn window(&self) -> u64 {
        self.control.cwnd().as_u64()
    }
    /// Bytes a second; 0: none.
    pub fn pacing_rate(&self) -> u64 {
        self.control.pacing_rate().map_or(0, |rate| (rate.as_bps() / 8).max(1))
    }
    pub fn ssthresh(&self) -> u64 {
        self.control.ssthresh().as_u64()
    }
}

impl OursMaker {
    /// A control for datagrams of so many bytes, at the initial window of RFC 9002 section 7.2.
    pub fn make(&self, max_datagram: u64) -> Ours {
        let mss = Bytes::new(max_datagram);
        let initial_window = Bytes::new((10 * max_datagram).min(14_720.max(2 * max_datagram)));
        let sender = SenderContext { mss, initial_window, ..self.sender.clone() };
        let control = Control::new(&self.params, &sender).expect("its parameters were checked");
        Ours {
            control,
            sent: VecDeque::new(),
            batch: Batch::default(),
            in_flight: 0,
            sent_bytes: 0,
            delivered: 0,
            delivered_at: 0,
            first_at: 0,
            lost: 0,
            lost_told: 0,
            srtt: 0,
            min_rtt: 0,
            round: 0,
            round_end: 0,
            recovery: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn ours(kind: &str) -> Ours {
        let params = Arc::new(CongestionParams::default_of(kind).expect("a control"));
        Ours::maker(&params, SenderContext::default()).expect("its defaults are right").make(1200)
    }
    fn acked(ours: &mut Ours, now: u64, sent: u64, in_flight: u64) {
        ours.on_ack(&Ack { now, sent, bytes: 1200, srtt: now - sent, min_rtt: now - sent, ..Ack::default() });
        ours.on_acks(now, in_flight);
    }

    #[test]
    fn the_initial_window_is_that_of_rfc_9002() {
        assert_eq!(ours("reno").window(), 12_000);
    }
    #[test]
    fn slow_start_grows_by_what_is_acknowledged() {
        let mut ours = ours("reno");
        (0..10).for_each(|at| ours.on_sent(at, 1200));
        acked(&mut ours, 40 * MS, 0, 10_800);
        acked(&mut ours, 41 * MS, 1, 9_600);
        assert_eq!(ours.window(), 12_000 + 2 * 1200);
    }
    #[test]
    fn losses_of_packets_sent_before_a_reduction_reduce_no_more() {
        let mut ours = ours("reno");
        (0..10).for_each(|at| ours.on_sent(at, 1200));
        let mut lose = |now: u64, sent: u64| {
            ours.on_loss(&Ack { now, sent, bytes: 1200, ..Ack::default() });
            let window = ours.window();
            ours.on_sent(now, 1200);
            window
        };
        let first = lose(40 * MS, 3);
        assert!(first < 12_000);
        assert_eq!(lose(41 * MS, 7), first);
        assert!(lose(80 * MS, 41 * MS) < first, "sent in the recovery period, and lost: another period");
    }
    #[test]
    fn a_rate_sample_is_what_was_delivered_since_the_packet_left() {
        let mut ours = ours("bbr");
        // A packet a millisecond, each acknowledged after 10 ms: 1200 bytes a millisecond.
        for at in 0..30 {
            ours.on_sent(at * MS, 1200);
            if at >= 10 {
                acked(&mut ours, at * MS, (at - 10) * MS, 12_000);
            }
        }
        let sent = *ours.found(19 * MS).expect("it was sent");
        let rate = ours.rate(&sent, 29 * MS, false).rate();
        assert_eq!(rate.as_bps(), 9_600_000);
    }
}
