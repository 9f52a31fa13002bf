//! One flow over one bottleneck, as small as it can be: what the controls are tried on here.
//!
//! Half a round trip before the queue, half after the receiver; a packet leaves the queue when its transmission begins
//! and blocks it for its own time (as Linux's htb does). The receiver acknowledges every second segment at once, every
//! one while there is a hole. The sender has selective acknowledgements, three-segment loss detection, proportional
//! rate reduction (RFC 6937), delivery rate samples and pacing; segments are counted whole.

use haltere_congestion::{
    AckEvent, CongestionControl, CongestionParams, Control, LossEvent, LossKind, LostSegment, RateSample, RestartEvent,
    RtoEvent, SenderContext,
};
use haltere_units::{Bytes, Dur, Probe, Rate, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

mod far;

pub const MSS: u64 = 1448;
const WIRE: u64 = 1514;

/// The path.
#[derive(Clone, Copy)]
pub struct Path {
    pub rate: Rate,
    pub rtt: Dur,
    /// Packets that may wait.
    pub limit: usize,
    /// Packets that wait at which arrivals are marked.
    pub mark: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrive(u64, u64),
    Transmit,
    Receive(u64, u64, bool),
    DelayedAck(u64),
    Ack(u64),
    Pace,
    Rto(u64),
}

#[derive(Clone, Copy, Default)]
struct Sent {
    order: u64,
    at: Time,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    tx_in_flight: u64,
    lost_then: u64,
    sacked: bool,
    lost: bool,
    retransmitted: bool,
    app_limited: bool,
}

#[derive(Clone, Default)]
struct AckInfo {
    upto: u64,
    received: Vec<(u64, bool)>,
}

pub struct Flow {
    path: Path,
    pub control: Control,
    pub now: Time,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    sequence: u64,
    queue: VecDeque<(u64, u64, bool)>,
    busy: bool,
    free: Time,
    // The receiver.
    expected: u64,
    beyond: BTreeMap<u64, ()>,
    pending: Vec<(u64, bool)>,
    acks: BTreeMap<u64, AckInfo>,
    ack_timer: u64,
    // The sender, in segments.
    /// What the application has written.
    written: u64,
    /// What is sent until so much is delivered counts as limited by the application. 0: nothing does.
    app_limited: u64,
    sent: BTreeMap<u64, Sent>,
    next: u64,
    una: u64,
    order: u64,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    max_delivered_order: u64,
    total_lost: u64,
    in_flight: u64,
    recovery: Option<(u64, LossKind)>,
    rto_recovery: Option<u64>,
    prr: Prr,
    srtt: Dur,
    min_rtt: Dur,
    rto_generation: u64,
    next_departure: Time,
    pace_armed: bool,
    max_in_flight: u64,
    limit_round: u64,
    limited: bool,
    // What is measured.
    pub drops: u64,
    pub marks: u64,
    pub first_drop: Option<(Time, u64)>,
    pub bytes_received: u64,
    pub queue_seconds: f64,
    last_queue_change: Time,
}

#[derive(Clone, Copy, Default)]
struct Prr {
    delivered: u64,
    out: u64,
    prior: u64,
    cwnd: u64,
}

impl Flow {
    /// The application always has more to send.
    pub fn new(path: Path, params: &CongestionParams) -> Flow {
        let mut flow = Flow::idle(path, params);
        flow.write(u64::MAX);
        flow
    }
    /// The application has written nothing.
    pub fn idle(path: Path, params: &CongestionParams) -> Flow {
        let sender =
            SenderContext { mss: Bytes::new(MSS), initial_window: Bytes::new(10 * MSS), seed: 1, ..Default::default() };
        let mut flow = Flow {
            path,
            control: Control::new(params, &sender).unwrap(),
            now: Time::ZERO,
            events: BinaryHeap::new(),
            sequence: 0,
            queue: VecDeque::new(),
            busy: false,
            free: Time::ZERO,
            expected: 0,
            beyond: BTreeMap::new(),
            pending: Vec::new(),
            acks: BTreeMap::new(),
            ack_timer: 0,
            written: 0,
            app_limited: 0,
            sent: BTreeMap::new(),
            next: 0,
            una: 0,
            order: 0,
            delivered: 0,
            delivered_at: Time::ZERO,
            first_sent: Time::ZERO,
            max_delivered_order: 0,
            total_lost: 0,
            in_flight: 0,
            recovery: None,
            rto_recovery: None,
            prr: Prr::default(),
            srtt: path.rtt,
            min_rtt: path.rtt,
            rto_generation: 0,
            next_departure: Time::ZERO,
            pace_armed: false,
            max_in_flight: 0,
            limit_round: 0,
            limited: false,
            drops: 0,
            marks: 0,
            first_drop: None,
            bytes_received: 0,
            queue_seconds: 0.0,
            last_queue_change: Time::ZERO,
        };
        flow.control.on_established(Time::ZERO, path.rtt);
        flow
    }
    /// The application writes so many segments.
    pub fn write(&mut self, segments: u64) {
        self.written = self.written.saturating_add(segments);
        self.send();
    }
    /// All that the application wrote was sent.
    pub fn has_sent_all(&self) -> bool {
        self.next >= self.written
    }
    /// All that the application wrote is acknowledged.
    #[allow(dead_code)]
    pub fn is_done(&self) -> bool {
        self.una >= self.written
    }

    pub fn cwnd(&self) -> u64 {
        match self.recovery {
            Some(_) if !self.control.owns_recovery() => self.prr.cwnd,
            _ => self.control.cwnd().as_u64() / MSS,
        }
    }
    pub fn probe(&self, name: &str) -> f64 {
        let mut row = Probe::new();
        self.control.probe(&mut row);
        row.get(name).unwrap_or_else(|| panic!("no probe {name}"))
    }
    /// An inner variable that time series do not have.
    pub fn state(&self, name: &str) -> f64 {
        let mut row = Probe::new();
        self.control.state(&mut row);
        row.get(name).unwrap_or_else(|| panic!("no variable {name}"))
    }
    pub fn srtt(&self) -> Dur {
        self.srtt
    }
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Runs to `end`.
    pub fn run_until(&mut self, end: Time) {
        while let Some(&Reverse((at, _, event))) = self.events.peek() {
            if at > end {
                break;
            }
            self.events.pop();
            self.now = at;
            self.handle(event);
        }
        self.now = end;
    }

    fn at(&mut self, time: Time, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((time, self.sequence, event)));
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrive(seq, order) => self.arrive(seq, order),
            Event::Transmit => {
                self.busy = false;
                self.transmit();
            }
            Event::Receive(seq, _, ce) => self.receive(seq, ce),
            Event::DelayedAck(timer) if timer == self.ack_timer && !self.pending.is_empty() => self.acknowledge(),
            Event::DelayedAck(_) => {}
            Event::Ack(id) => {
                let ack = self.acks.remove(&id).unwrap();
                self.on_ack(&ack);
                self.send();
            }
            Event::Pace => {
                self.pace_armed = false;
                self.send();
            }
            Event::Rto(generation) if generation == self.rto_generation => self.on_rto(),
            Event::Rto(_) => {}
        }
    }

    // The sender.

    fn on_ack(&mut self, ack: &AckInfo) {
        let prior_in_flight = self.in_flight;
        let prior_una = self.una;
        self.una = self.una.max(ack.upto);
        let (mut newly, mut ce, mut rtt, mut sample) = (0, 0, None, None::<Sent>);
        for &(seq, marked) in &ack.received {
            let Some(sent) = self.sent.get_mut(&seq) else { continue };
            if sent.sacked {
                continue;
            }
            sent.sacked = true;
            newly += 1;
            ce += u64::from(marked);
            let copy = *sent;
            if !copy.lost {
                self.in_flight -= 1;
            }
            if !copy.retransmitted {
                rtt = Some(self.now.since(copy.at));
            }
            self.max_delivered_order = self.max_delivered_order.max(copy.order);
            if sample.is_none_or(|s| copy.delivered > s.delivered || copy.order > s.order) {
                sample = Some(copy);
            }
        }
        self.delivered += newly;
        if self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        if newly > 0 {
            self.delivered_at = self.now;
        }
        self.measure(rtt);
        let lost = self.find_lost();
        let rate = sample.and_then(|s| self.rate_sample(&s, ce));
        while self.sent.first_key_value().is_some_and(|(&seq, _)| seq < self.una) {
            self.sent.pop_first();
        }
        let began = self.follow_recovery(lost, ce);
        let advanced = self.una - prior_una;
        let event = self.event(AckNumbers { advanced, newly, lost, ce, prior_in_flight }, rtt, rate);
        self.control.on_ack(&event);
        if let Some(kind) = began {
            self.begin_reduction(kind, lost);
        }
        if self.recovery.is_some() {
            self.reduce(newly, advanced > 0 && lost == 0);
        }
        self.arm_rto();
    }

    /// The rate of the path from now on.
    #[allow(dead_code)]
    pub fn set_rate(&mut self, rate: Rate) {
        self.path.rate = rate;
    }
    /// The round-trip time without a queue from now on.
    #[allow(dead_code)]
    pub fn set_rtt(&mut self, rtt: Dur) {
        self.path.rtt = rtt;
    }

    fn event(&self, n: AckNumbers, rtt: Option<Dur>, rate: Option<RateSample>) -> AckEvent {
        let segments = |count: u64| Bytes::new(count * MSS);
        let slow_start = self.control.cwnd() < self.control.ssthresh();
        let mut event = AckEvent::at(self.now);
        event.acked = segments(n.advanced);
        event.delivered = segments(n.newly);
        event.lost = segments(n.lost);
        event.ce = segments(n.ce);
        event.ece = n.ce > 0;
        event.rtt = rtt;
        event.srtt = self.srtt;
        event.min_rtt = self.min_rtt;
        event.prior_in_flight = segments(n.prior_in_flight);
        event.in_flight = segments(self.in_flight);
        event.snd_una = self.una * MSS;
        event.snd_nxt = self.next * MSS;
        event.cwnd_limited = self.limited || slow_start && self.control.cwnd() < segments(2 * self.max_in_flight);
        event.in_recovery = self.recovery.is_some();
        event.in_rto_recovery = self.rto_recovery.is_some();
        event.next_departure = self.next_departure;
        event.rate = rate;
        event
    }

    fn measure(&mut self, rtt: Option<Dur>) {
        if let Some(rtt) = rtt {
            self.srtt = self.srtt.mul_f64(0.875) + rtt / 8;
            self.min_rtt = self.min_rtt.min(rtt);
        }
    }

    /// Segments sent before one that arrived, with three delivered after them, are lost.
    fn find_lost(&mut self) -> u64 {
        let sacked = self.sent.iter().filter(|(seq, s)| **seq >= self.una && s.sacked).count();
        if sacked < 3 && self.recovery.is_none() && self.rto_recovery.is_none() {
            return 0;
        }
        let (una, order) = (self.una, self.max_delivered_order);
        let mut lost = Vec::new();
        for (&seq, s) in self.sent.range_mut(una..) {
            if !s.sacked && !s.lost && s.order < order {
                s.lost = true;
                lost.push((seq, *s));
            }
        }
        self.in_flight -= lost.len() as u64;
        self.tell_lost(&lost);
        lost.len() as u64
    }

    /// Tells the control of each.
    fn tell_lost(&mut self, lost: &[(u64, Sent)]) {
        for (seq, sent) in lost {
            self.total_lost += 1;
            let mut event = LostSegment::new(seq * MSS, Bytes::new(MSS));
            event.tx_in_flight = Bytes::new(sent.tx_in_flight * MSS);
            event.lost = Bytes::new((self.total_lost - sent.lost_then) * MSS);
            event.prior_delivered = sent.delivered * MSS;
            event.total_delivered = self.delivered * MSS;
            event.app_limited = sent.app_limited;
            self.control.on_segment_lost(&event);
        }
    }

    fn rate_sample(&self, sent: &Sent, ce: u64) -> Option<RateSample> {
        let send = sent.at.since(sent.first_sent);
        let ack = self.now.since(sent.delivered_at);
        let interval = send.max(ack);
        if interval < self.min_rtt {
            return None;
        }
        let mut sample = RateSample::new(Bytes::new((self.delivered - sent.delivered) * MSS), interval);
        sample.prior_delivered = sent.delivered * MSS;
        sample.total_delivered = self.delivered * MSS;
        sample.lost = Bytes::new((self.total_lost - sent.lost_then) * MSS);
        sample.total_lost = self.total_lost * MSS;
        sample.tx_in_flight = Bytes::new(sent.tx_in_flight * MSS);
        sample.delivered_ce = Bytes::new(ce * MSS);
        sample.app_limited = sent.app_limited;
        Some(sample)
    }

    /// Ends and begins episodes; returns what began.
    fn follow_recovery(&mut self, lost: u64, ce: u64) -> Option<LossKind> {
        if self.recovery.is_some_and(|(high, _)| self.una >= high) {
            self.recovery = None;
            self.control.on_recovered(self.now);
        }
        if self.rto_recovery.is_some_and(|high| self.una >= high) {
            self.rto_recovery = None;
            self.control.on_recovered(self.now);
        }
        let kind = match self.recovery {
            None if lost > 0 => LossKind::Loss,
            None if ce > 0 => LossKind::Ecn,
            _ => return None,
        };
        if self.rto_recovery.is_some() {
            return None;
        }
        self.recovery = Some((self.next, kind));
        Some(kind)
    }

    fn begin_reduction(&mut self, kind: LossKind, lost: u64) {
        self.prr = Prr { prior: self.control.cwnd().as_u64() / MSS, ..Prr::default() };
        let mut event = LossEvent::at(self.now, kind);
        event.in_flight = Bytes::new(self.in_flight * MSS);
        event.lost = Bytes::new(lost * MSS);
        event.snd_nxt = self.next * MSS;
        self.control.on_loss(&event);
    }

    fn reduce(&mut self, newly: u64, progress: bool) {
        let ssthresh = (self.control.ssthresh().as_u64() / MSS).min(u64::from(u32::MAX));
        let p = &mut self.prr;
        p.delivered += newly;
        let count = if self.in_flight > ssthresh {
            (p.delivered * ssthresh).div_ceil(p.prior.max(1)).saturating_sub(p.out)
        } else {
            let most = p.delivered.saturating_sub(p.out).max(newly) + u64::from(progress);
            most.min(ssthresh - self.in_flight)
        };
        p.cwnd = self.in_flight + count.max(u64::from(p.out == 0));
    }

    fn arm_rto(&mut self) {
        self.rto_generation += 1;
        if self.in_flight > 0 {
            let rto = self.srtt + Dur::from_ms(200);
            self.at(self.now + rto, Event::Rto(self.rto_generation));
        }
    }
    fn on_rto(&mut self) {
        let mut event = RtoEvent::at(self.now);
        event.in_flight = Bytes::new(self.in_flight * MSS);
        event.first = self.rto_recovery.is_none() && self.recovery.is_none();
        event.snd_nxt = self.next * MSS;
        let lost: Vec<_> = self.sent.iter().filter(|(_, s)| !s.sacked && !s.lost).map(|(&seq, s)| (seq, *s)).collect();
        for s in self.sent.values_mut().filter(|s| !s.sacked) {
            s.lost = true;
        }
        self.tell_lost(&lost);
        self.in_flight = 0;
        self.recovery = None;
        self.rto_recovery = Some(self.next);
        self.control.on_rto(&event);
        self.send();
        self.arm_rto();
    }

    fn send(&mut self) {
        while self.in_flight < self.cwnd() {
            if self.has_sent_all() && !self.sent.values().any(|s| s.lost && !s.sacked) {
                self.app_limited = (self.delivered + self.in_flight).max(1);
                break;
            }
            if self.control.pacing_rate().is_some() && self.next_departure > self.now {
                if !self.pace_armed {
                    self.pace_armed = true;
                    self.at(self.next_departure, Event::Pace);
                }
                break;
            }
            self.send_one();
        }
        self.judge_limit();
    }

    /// The window is the limit for the whole of a window when it was once (as Linux's tcp_cwnd_validate).
    fn judge_limit(&mut self) {
        let limited = self.in_flight >= self.cwnd();
        if self.una >= self.limit_round || limited && !self.limited || self.in_flight > self.max_in_flight {
            self.max_in_flight = self.in_flight;
            self.limited = limited || self.una < self.limit_round && self.limited;
            self.limit_round = self.next;
        }
    }

    fn send_one(&mut self) {
        let lost = self.sent.iter().find(|(_, s)| s.lost && !s.sacked).map(|(&seq, _)| seq);
        let seq = lost.unwrap_or(self.next);
        self.next = self.next.max(seq + 1);
        if self.in_flight == 0 {
            if self.order > 0 {
                let mut event = RestartEvent::at(self.now);
                event.idle = self.now.since(self.delivered_at);
                (event.rto, event.app_limited) = (self.srtt + Dur::from_ms(200), self.app_limited > 0);
                self.control.on_restart(&event);
            }
            self.first_sent = self.now;
            self.delivered_at = self.now;
        }
        self.order += 1;
        let sent = Sent {
            order: self.order,
            at: self.now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            tx_in_flight: self.in_flight + 1,
            lost_then: self.total_lost,
            sacked: false,
            lost: false,
            retransmitted: lost.is_some(),
            app_limited: self.app_limited > 0,
        };
        self.first_sent = self.now;
        self.sent.insert(seq, sent);
        self.in_flight += 1;
        self.prr.out += 1;
        self.at(self.now, Event::Arrive(seq, self.order));
        if let Some(rate) = self.control.pacing_rate() {
            // As Linux: time lost waiting for the window is made good by up to half of a segment's time.
            let span = rate.time_for(Bytes::new(MSS));
            let credit = self.now.since(self.next_departure).min(span / 2);
            self.next_departure = self.now + span.saturating_sub(credit);
        }
        if self.in_flight == 1 {
            self.arm_rto();
        }
    }
}

struct AckNumbers {
    advanced: u64,
    newly: u64,
    lost: u64,
    ce: u64,
    prior_in_flight: u64,
}
