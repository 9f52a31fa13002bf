//! The pseudocode of the RFCs, written out plainly, against the disciplines over random traces.
#![allow(missing_docs, reason = "tests")]

use crate::common::{Recorder, TestPkt, link};
use crate::world;
use haltere_queue::{Backlog, DropReason, Ecn, Fate, MarkReason, Qdisc, codel, dualpi2, pie};
use haltere_units::{Bytes, Dur, Prob, Rate, Size, Time};
use proptest::prelude::*;
use std::collections::VecDeque;

/// CoDel as in RFC 8289 section 5, in seconds of floating point turned to whole nanoseconds.
struct CodelRfc {
    queue: VecDeque<(u64, TestPkt)>,
    bytes: u64,
    target: u64,
    interval: u64,
    maxpacket: u64,
    first_above_time: u64,
    drop_next: u64,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

impl CodelRfc {
    fn control_law(&self, t: u64, count: u32) -> u64 {
        t + (self.interval as f64 / f64::from(count).sqrt()) as u64
    }
    fn dodequeue(&mut self, now: u64) -> (Option<TestPkt>, bool) {
        let mut ok_to_drop = false;
        let Some((tstamp, p)) = self.queue.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        self.bytes -= u64::from(p.len);
        let sojourn = now - tstamp;
        if sojourn < self.target || self.bytes <= self.maxpacket {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + self.interval;
        } else if now >= self.first_above_time {
            ok_to_drop = true;
        }
        (Some(p), ok_to_drop)
    }
}

impl Qdisc<TestPkt> for CodelRfc {
    fn enqueue(&mut self, now: Time, pkt: TestPkt, _: &mut impl Fate<TestPkt>) {
        self.bytes += u64::from(pkt.len);
        self.queue.push_back((now.as_ns(), pkt));
    }
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<TestPkt>) -> Option<TestPkt> {
        let now = now.as_ns();
        let (mut p, mut ok_to_drop) = self.dodequeue(now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                fate.dropped(p.unwrap(), DropReason::Congestion);
                self.count += 1;
                (p, ok_to_drop) = self.dodequeue(now);
                if !ok_to_drop {
                    self.dropping = false;
                } else {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                }
            }
        } else if ok_to_drop {
            fate.dropped(p.unwrap(), DropReason::Congestion);
            (p, _) = self.dodequeue(now);
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            if delta > 1 && now - self.drop_next.min(now) < 16 * self.interval {
                self.count = delta;
            }
            self.drop_next = self.control_law(now, self.count);
            self.lastcount = self.count;
        }
        p
    }
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.queue.len() as u32, bytes: self.bytes }
    }
}

/// PIE as in RFC 8033 appendix A, in seconds, with the delay by timestamp. What the discipline does as Linux does is
/// marked LINUX.
struct PieRfc {
    queue: VecDeque<(Time, TestPkt)>,
    bytes: u64,
    drop_prob: f64,
    accu_prob: f64,
    qdelay: f64,
    qdelay_old: f64,
    burst_allowance: f64,
    last_departure: Option<Time>,
    next_update: Time,
}

const QDELAY_REF: f64 = 0.015;
const T_UPDATE: Dur = Dur::from_ms(15);
const MAX_BURST: f64 = 0.150;
const MEAN_PKTSIZE: u64 = 1500;

impl PieRfc {
    fn drop_early(&mut self, fate: &mut impl Fate<TestPkt>) -> bool {
        // LINUX: the delay of the last departure, where the RFC has the last update's; and `<` for two packets.
        if (self.qdelay < QDELAY_REF / 2.0 && self.drop_prob < 0.2) || self.bytes < 2 * MEAN_PKTSIZE {
            return false;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += self.drop_prob;
        if self.accu_prob < 0.85 {
            return false;
        }
        if self.accu_prob >= 8.5 {
            return true;
        }
        fate.uniform() < self.drop_prob
    }
    fn calculate_drop_prob(&mut self) {
        let mut p = 0.125 * (self.qdelay - QDELAY_REF) + 1.25 * (self.qdelay - self.qdelay_old);
        p /= if self.drop_prob < 0.000001 {
            2048.0
        } else if self.drop_prob < 0.00001 {
            512.0
        } else if self.drop_prob < 0.0001 {
            128.0
        } else if self.drop_prob < 0.001 {
            32.0
        } else if self.drop_prob < 0.01 {
            8.0
        } else if self.drop_prob < 0.1 {
            2.0
        } else {
            1.0
        };
        if self.drop_prob >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        if self.qdelay > 0.25 {
            p += 0.02;
        }
        self.drop_prob = (self.drop_prob + p).clamp(0.0, 1.0);
        // LINUX: 63/64 where the RFC has 0.98, and only over an empty queue.
        if self.qdelay == 0.0 && self.qdelay_old == 0.0 && self.bytes == 0 {
            self.drop_prob *= 63.0 / 64.0;
        }
        if self.drop_prob == 0.0 && self.qdelay < QDELAY_REF / 2.0 && self.qdelay_old < QDELAY_REF / 2.0 {
            self.burst_allowance = MAX_BURST;
            self.accu_prob = 0.0;
            self.last_departure = None;
        }
        self.qdelay_old = self.qdelay;
    }
}

impl Qdisc<TestPkt> for PieRfc {
    fn enqueue(&mut self, now: Time, pkt: TestPkt, fate: &mut impl Fate<TestPkt>) {
        if self.burst_allowance == 0.0 && self.drop_early(fate) {
            self.accu_prob = 0.0;
            return fate.dropped(pkt, DropReason::Congestion);
        }
        self.bytes += u64::from(pkt.len);
        self.queue.push_back((now, pkt));
    }
    fn dequeue(&mut self, now: Time, _: &mut impl Fate<TestPkt>) -> Option<TestPkt> {
        let (came, pkt) = self.queue.pop_front()?;
        self.bytes -= u64::from(pkt.len);
        self.qdelay = if self.queue.is_empty() { 0.0 } else { now.since(came).as_secs_f64() };
        // LINUX: the burst allowance runs down between departures, where the RFC takes T_UPDATE at each update.
        if let Some(before) = self.last_departure {
            let left = Dur::from_secs_f64(self.burst_allowance).saturating_sub(now.since(before));
            self.burst_allowance = left.as_secs_f64();
        }
        self.last_departure = Some(now);
        Some(pkt)
    }
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.queue.len() as u32, bytes: self.bytes }
    }
    fn next_timer(&self) -> Option<Time> {
        Some(self.next_update)
    }
    fn on_timer(&mut self, _: Time) {
        self.calculate_drop_prob();
        self.next_update += T_UPDATE;
    }
}

/// DualPI2 as in RFC 9332 appendix A, in seconds. What the discipline does as Linux does is marked LINUX.
struct Dualpi2Rfc {
    params: dualpi2::Params,
    lq: VecDeque<(Time, TestPkt)>,
    cq: VecDeque<(Time, TestPkt)>,
    /// How many waited in `lq` as each of its packets arrived.
    found: VecDeque<usize>,
    p: f64,
    prevq: f64,
    next_update: Time,
    /// Bytes sent while both queues had packets: of the L4S queue, of the classic queue.
    shared: (u64, u64),
}

impl Dualpi2Rfc {
    /// LINUX: the longer delay of the two queues, where the RFC has the classic queue's.
    fn curq(&self, now: Time) -> f64 {
        let waits = [&self.lq, &self.cq].map(|q| q.front().map_or(0.0, |(at, _)| now.since(*at).as_secs_f64()));
        waits[0].max(waits[1])
    }
    fn dualpi2_update(&mut self, now: Time) {
        let curq = self.curq(now);
        let (target, alpha, beta) = (self.params.target.as_secs_f64(), self.params.alpha, self.params.beta);
        let p = self.p + (alpha * (curq - target) + beta * (curq - self.prevq));
        self.p = p.clamp(0.0, 1.0);
        self.prevq = curq;
    }
    /// The ramp of the L4S queue; a step is a ramp of no width.
    fn laqm(&self, qdelay: Dur, found: usize) -> f64 {
        let (min, width) = (self.params.step.as_secs_f64(), self.params.ramp.as_secs_f64());
        let over = qdelay.saturating_sub(self.params.step).as_secs_f64();
        // LINUX: no mark for a packet that found a short queue.
        if qdelay.as_secs_f64() <= min || found < self.params.min_step_packets as usize {
            0.0
        } else if over >= width {
            1.0
        } else {
            over / width
        }
    }
    /// Weighted round robin: the classic queue has the turn while it had less than its eighth of the shared bytes.
    fn scheduler_is_classic(&self) -> bool {
        let (l, c) = self.shared;
        self.lq.is_empty() || (!self.cq.is_empty() && 8 * c < c + l)
    }
    /// LINUX: chances are drawn, where the RFC's `recur` spreads them.
    fn chance(p: f64, fate: &mut impl Fate<TestPkt>) -> bool {
        p > 0.0 && p > fate.uniform()
    }
    fn marked(mut pkt: TestPkt, reason: MarkReason, fate: &mut impl Fate<TestPkt>) -> TestPkt {
        if pkt.ecn != Ecn::Ce {
            pkt.ecn = Ecn::Ce;
            fate.marked(&pkt, reason);
        }
        pkt
    }
    /// LINUX: p' rests over a short queue.
    fn effective_p(&self) -> f64 {
        if self.backlog().bytes < self.params.min_backlog.as_u64() { 0.0 } else { self.p }
    }
    /// The packet if it is sent.
    fn l4s(&mut self, qdelay: Dur, pkt: TestPkt, fate: &mut impl Fate<TestPkt>) -> Option<TestPkt> {
        let (p, found) = (self.effective_p(), self.found.pop_front().unwrap());
        let (p_c, p_cl) = (p * p, self.params.coupling * p);
        if p_cl >= 1.0 && self.params.drop_overload && Self::chance(p_c, fate) {
            fate.dropped(pkt, DropReason::Congestion);
            return None;
        }
        let p_l = self.laqm(qdelay, found).max(p_cl).min(1.0);
        Some(if Self::chance(p_l, fate) { Self::marked(pkt, MarkReason::Congestion, fate) } else { pkt })
    }
    /// The packet if it is sent.
    fn classic(&self, pkt: TestPkt, fate: &mut impl Fate<TestPkt>) -> Option<TestPkt> {
        let p = self.effective_p();
        if !Self::chance(p * p, fate) {
            return Some(pkt);
        }
        if pkt.ecn == Ecn::NotEct || self.params.coupling * p >= 1.0 {
            fate.dropped(pkt, DropReason::Congestion);
            return None;
        }
        Some(Self::marked(pkt, MarkReason::Congestion, fate))
    }
}

impl Qdisc<TestPkt> for Dualpi2Rfc {
    fn enqueue(&mut self, now: Time, pkt: TestPkt, _: &mut impl Fate<TestPkt>) {
        match pkt.ecn {
            Ecn::Ect1 | Ecn::Ce => {
                self.found.push_back(self.lq.len());
                self.lq.push_back((now, pkt));
            }
            Ecn::NotEct | Ecn::Ect0 => self.cq.push_back((now, pkt)),
        }
    }
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<TestPkt>) -> Option<TestPkt> {
        loop {
            let both = !self.lq.is_empty() && !self.cq.is_empty();
            let classic = self.scheduler_is_classic();
            let (at, pkt) = if classic { self.cq.pop_front()? } else { self.lq.pop_front()? };
            if both {
                *(if classic { &mut self.shared.1 } else { &mut self.shared.0 }) += u64::from(pkt.len);
            }
            let sent = if classic { self.classic(pkt, fate) } else { self.l4s(now.since(at), pkt, fate) };
            if sent.is_some() {
                return sent;
            }
        }
    }
    fn backlog(&self) -> Backlog {
        let bytes = self.lq.iter().chain(&self.cq).map(|(_, pkt)| u64::from(pkt.len)).sum();
        Backlog { packets: (self.lq.len() + self.cq.len()) as u32, bytes }
    }
    fn next_timer(&self) -> Option<Time> {
        Some(self.next_update)
    }
    fn on_timer(&mut self, now: Time) {
        self.dualpi2_update(now);
        self.next_update = now + self.params.tupdate;
    }
}

/// Phases of some hundred packets, each between half and thrice the rate of the link.
fn arrivals() -> impl Strategy<Value = Vec<(Time, TestPkt)>> {
    let phase = (50..400u64, 400_000..2_400_000u64, 700..1501u32, 0..100_000_000u64);
    prop::collection::vec(phase, 1..20).prop_map(|phases| {
        let (mut now, mut out) = (Time::ZERO, Vec::new());
        for (packets, gap, len, pause) in phases {
            for _ in 0..packets {
                // A part that is never the same keeps arrivals and departures apart.
                now += Dur::from_ns(gap + now.as_ns() % 977);
                out.push((now, TestPkt::new(out.len() as u64, len)));
            }
            now += Dur::from_ns(pause);
        }
        out
    })
}

const RATE: Rate = Rate::from_mbps(10);

/// The ids sent and dropped, in order.
fn verdicts(q: &mut impl Qdisc<TestPkt>, arrivals: &[(Time, TestPkt)], seed: u64) -> (Vec<u64>, Vec<u64>) {
    let out = world::run(q, arrivals, RATE, seed);
    (out.sent.iter().map(|(_, p)| p.id).collect(), out.fate.dropped_ids())
}

fn codel_pair(target: Dur, interval: Dur) -> (codel::Codel<TestPkt>, CodelRfc) {
    let limit = Size::Packets(1_000_000);
    let law = codel::Law { root: codel::Root::Exact, target, interval, ..codel::Law::default() };
    let params = codel::Params { limit, law, ..codel::Params::default() };
    let rfc = CodelRfc {
        queue: VecDeque::new(),
        bytes: 0,
        target: target.as_ns(),
        interval: interval.as_ns(),
        maxpacket: 1500,
        first_above_time: 0,
        drop_next: 0,
        count: 0,
        lastcount: 0,
        dropping: false,
    };
    (codel::Codel::new(&params, &link()).unwrap(), rfc)
}

fn pie_pair() -> (pie::Pie<TestPkt>, PieRfc) {
    let params = pie::Params { limit: Size::Packets(1_000_000), ..pie::Params::default() };
    let rfc = PieRfc {
        queue: VecDeque::new(),
        bytes: 0,
        drop_prob: 0.0,
        accu_prob: 0.0,
        qdelay: 0.0,
        qdelay_old: 0.0,
        burst_allowance: MAX_BURST,
        last_departure: None,
        next_update: Time::ZERO + T_UPDATE,
    };
    (pie::Pie::new(&params, &link()).unwrap(), rfc)
}

fn dualpi2_pair(params: &dualpi2::Params) -> (dualpi2::Dualpi2<TestPkt>, Dualpi2Rfc) {
    // An eighth: shares of bytes are then exact in floating point.
    let params =
        dualpi2::Params { limit: Size::Packets(1_000_000), classic_protection: Prob::of(0.125), ..params.clone() };
    let rfc = Dualpi2Rfc {
        lq: VecDeque::new(),
        cq: VecDeque::new(),
        found: VecDeque::new(),
        p: 0.0,
        prevq: 0.0,
        next_update: Time::ZERO + params.tupdate,
        shared: (0, 0),
        params: params.clone(),
    };
    (dualpi2::Dualpi2::new(&params, &link()).unwrap(), rfc)
}

/// What was sent, with its ECN field, and what was dropped.
fn sent_and_dropped(
    q: &mut impl Qdisc<TestPkt>,
    arrivals: &[(Time, TestPkt)],
    seed: u64,
) -> (Vec<(u64, Ecn)>, Vec<u64>) {
    let out = world::run(q, arrivals, RATE, seed);
    (out.sent.iter().map(|(_, p)| (p.id, p.ecn)).collect(), out.fate.dropped_ids())
}

fn dualpi2_params() -> impl Strategy<Value = dualpi2::Params> {
    let times = (1..30_000u64, 200..5_000u64, 0..2_000u64);
    (times, 1.0..4.0, 0..4u32, 0..4_000u64, any::<bool>()).prop_map(
        |((target, step, ramp), coupling, min_step_packets, min_backlog, drop_overload)| {
            let (target, step, ramp) =
                (Dur::from_us(target), Dur::from_us(step), Dur::from_us(ramp / 1000 * (ramp % 1000)));
            dualpi2::Params {
                target,
                step,
                ramp,
                coupling,
                min_step_packets,
                min_backlog: Bytes::new(min_backlog),
                drop_overload,
                ..dualpi2::Params::default()
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn codel_with_the_exact_root_does_as_the_pseudocode(arrivals in arrivals(), target_us in 500..20_000u64) {
        let (mut ours, mut rfc) = codel_pair(Dur::from_us(target_us), Dur::from_us(target_us * 10));
        prop_assert_eq!(verdicts(&mut ours, &arrivals, 1), verdicts(&mut rfc, &arrivals, 1));
    }

    #[test]
    fn pie_does_as_the_pseudocode(arrivals in arrivals(), seed: u64) {
        let (mut ours, mut rfc) = pie_pair();
        prop_assert_eq!(verdicts(&mut ours, &arrivals, seed), verdicts(&mut rfc, &arrivals, seed));
    }

    #[test]
    fn dualpi2_does_as_the_pseudocode(
        arrivals in arrivals(), fields in "[nlce]{1,40}", params in dualpi2_params(), seed: u64,
    ) {
        let arrivals = coloured(&arrivals, &fields);
        let (mut ours, mut rfc) = dualpi2_pair(&params);
        prop_assert_eq!(sent_and_dropped(&mut ours, &arrivals, seed), sent_and_dropped(&mut rfc, &arrivals, seed));
    }
}

/// The packets with these ECN fields in turn: `n` for not ECN-capable, `l` for ECT(1), `c` for ECT(0), `e` for CE.
fn coloured(arrivals: &[(Time, TestPkt)], fields: &str) -> Vec<(Time, TestPkt)> {
    let field = |letter| match letter {
        'n' => Ecn::NotEct,
        'l' => Ecn::Ect1,
        'e' => Ecn::Ce,
        _ => Ecn::Ect0,
    };
    arrivals
        .iter()
        .zip(fields.chars().cycle())
        .map(|((at, pkt), letter)| (*at, pkt.clone().ecn(field(letter))))
        .collect()
}

/// Twice the rate of the link for 20 s.
fn overload() -> Vec<(Time, TestPkt)> {
    (0..33_000).map(|id| (Time::from_ns(id * 600_300), TestPkt::new(id, 1500))).collect()
}

#[test]
fn the_traces_make_codel_drop() {
    let (mut ours, _) = codel_pair(Dur::from_ms(5), Dur::from_ms(100));
    assert!(verdicts(&mut ours, &overload(), 1).1.len() > 1000);
}

#[test]
fn the_traces_make_dualpi2_mark_and_drop_in_both_queues() {
    let (mut ours, _) = dualpi2_pair(&dualpi2::Params::default());
    let out = world::run(&mut ours, &coloured(&overload(), "nlc"), RATE, 1);
    let count = |wanted: Ecn| out.fate.dropped.iter().filter(|(pkt, _)| pkt.ecn == wanted).count();
    assert!(out.fate.marked.len() > 1000, "{} marked", out.fate.marked.len());
    assert!([Ecn::NotEct, Ecn::Ect1, Ecn::Ect0].into_iter().all(|ecn| count(ecn) > 100), "dropped of each field");
}

#[test]
fn the_traces_make_pie_drop() {
    let (mut ours, mut rfc) = pie_pair();
    let verdicts_ours = verdicts(&mut ours, &overload(), 1);
    assert!(verdicts_ours.1.len() > 10_000);
    assert_eq!(verdicts_ours, verdicts(&mut rfc, &overload(), 1));
}

#[test]
fn pie_holds_half_of_a_double_load_off_at_its_target() {
    // In the second half p is near 0.5 and the packets that leave have waited about the target.
    let (mut ours, _) = pie_pair();
    let arrivals = overload();
    let out = world::run(&mut ours, &arrivals, RATE, 1);
    let late = out.sent.iter().filter(|(at, _)| (10.0..19.0).contains(&at.as_secs_f64()));
    let waits: Vec<f64> = late.map(|(at, p)| at.since(arrivals[p.id as usize].0).as_secs_f64()).collect();
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    assert!((0.010..0.020).contains(&mean), "mean wait {mean} s");
}

#[test]
fn the_recorder_s_chance_is_the_same_for_both() {
    let (mut a, mut b) = (Recorder::new(5), Recorder::new(5));
    assert_eq!([a.uniform(), a.uniform()], [b.uniform(), b.uniform()]);
}
