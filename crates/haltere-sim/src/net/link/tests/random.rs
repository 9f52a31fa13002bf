//! Random links and random traffic through both forms of the link.
//!
//! `HALTERE_LINK_CASES=100000 cargo test -p haltere-sim --lib random` runs so many cases.

use super::*;
use haltere_plan::plan::{Failure, GilbertElliott, Impairments};
use haltere_plan::replay::{Train, TwoTraces};
use haltere_plan::varying::{Steps, Trace};
use serde_json::{Value, json};

/// Cases of the usual test run.
const CASES: u64 = 10_000;

/// Draws of one case.
struct Draw(Rng);

impl Draw {
    fn one_in(&mut self, n: u64) -> bool {
        self.0.below(n) == 0
    }
    fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }
    fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize].clone()
    }
    /// A number whose logarithm is uniform between those of the two.
    fn log(&mut self, least: f64, most: f64) -> f64 {
        least * libm::pow(most / least, self.0.uniform())
    }
    fn span(&mut self, least: Dur, most: Dur) -> Dur {
        Dur::from_secs_f64(self.log(least.as_secs_f64(), most.as_secs_f64()))
    }

    /// Parameters of that discipline: the default, of which each field is changed or not, as far as the discipline
    /// takes it.
    fn queue(&mut self, name: &str, plan: &LinkPlan) -> QueueParams {
        let default = QueueParams::default_of(name).expect("a name of the registry");
        let mut best = serde_json::to_value(&default).expect("parameters");
        let paths = leaves(&best);
        for path in paths {
            if self.one_in(2) {
                continue;
            }
            let mut changed = best.clone();
            if let Some(value) = changed.pointer_mut(&path) {
                *value = self.value(value);
            }
            let params = serde_json::from_value::<QueueParams>(changed.clone());
            if params.is_ok_and(|params| is_possible(&params, plan)) {
                best = changed;
            }
        }
        serde_json::from_value(best).expect("parameters that were read before")
    }
    fn value(&mut self, old: &Value) -> Value {
        match old {
            Value::Bool(_) => json!(self.one_in(2)),
            Value::Number(n) if n.is_u64() => json!((n.as_f64().unwrap_or(1.0) * self.log(0.02, 4.0)).ceil() as u64),
            Value::Number(n) => json!((n.as_f64().unwrap_or(1.0) * self.log(0.1, 10.0)).min(1.0)),
            Value::Object(_) => {
                let kinds = [
                    QueueParams::NAMES,
                    haltere_queue::classify::ClassifierParams::NAMES,
                    haltere_queue::service::ServiceParams::NAMES,
                ];
                json!({ "kind": self.pick(&kinds.concat()) })
            }
            _ => match self.below(8) {
                0 => json!(self.pick(&["auto", "paper", "exact", "five_tuple"])),
                1 => json!(self.0.uniform()),
                2 => json!(self.below(20)),
                3 | 4 => json!(format!("{}p", 1 + self.below(60))),
                5 if self.one_in(2) => json!(self.rate().to_string()),
                5 => json!(format!("{}B", 1 + self.below(40_000))),
                _ => json!(self.span(Dur::from_us(20), Dur::from_ms(200)).to_string()),
            },
        }
    }

    fn rate(&mut self) -> Rate {
        Rate::from_bps(self.log(2e5, 2e9) as u64)
    }
    /// A plan with tidy times, so that many events fall on one instant, or with odd ones.
    fn plan(&mut self, name: &str, tidy: bool) -> LinkPlan {
        let rate = if tidy { Rate::from_mbps(8) } else { self.rate() };
        let rate = (!self.one_in(20)).then_some(rate);
        let delay = match self.below(4) {
            0 => Dur::ZERO,
            _ if tidy => Dur::from_us(100) * self.below(100),
            _ => self.span(Dur::from_us(1), Dur::from_ms(50)),
        };
        let default = QueueParams::default_of(name).expect("a name of the registry");
        let mut plan = LinkPlan {
            rtt: (!self.one_in(3)).then(|| self.span(Dur::from_ms(1), Dur::from_ms(200))),
            ..LinkPlan::plain(0, 1, rate, delay, default)
        };
        if self.one_in(3) {
            plan.ring = Some(self.pick(&[1, 2, 10, 100]));
        }
        if self.one_in(3) {
            plan.burst = Bytes::new(self.log(10.0, 30_000.0) as u64);
        }
        if self.one_in(4) {
            plan.mpu = Bytes::new(self.log(40.0, 3000.0) as u64);
        }
        if self.one_in(4) {
            plan.jitter = self.jitter();
        }
        if self.one_in(3) {
            plan.loss = Prob::of(self.pick(&[0.01, 0.3, 0.9, 1.0]));
        }
        if self.one_in(3) {
            plan.impairments = Some(Box::new(self.impairments(tidy)));
        }
        plan.handover_at_start = self.one_in(3);
        plan.count_depths = self.one_in(3);
        if self.one_in(3) {
            plan.varying = Some(Box::new(self.varying(rate)));
        }
        if plan.queue.ours().is_ok_and(|queue| !is_possible(queue, &plan)) {
            (plan.rate, plan.rtt) = (Some(Rate::from_mbps(8)), Some(Dur::from_ms(10)));
        }
        plan.queue = self.queue(name, &plan).into();
        plan
    }
    fn impairments(&mut self, tidy: bool) -> Impairments {
        let mut number = 0;
        let lose = (0..self.below(10)).map(|_| {
            number += 1 + self.below(30);
            number
        });
        Impairments {
            lose: lose.collect(),
            reorder: Prob::of(self.pick(&[0.0, 0.01, 0.3, 1.0])),
            // A nanosecond off the grid: which of a packet held back and one that comes at that instant is first is
            // left open.
            reorder_by: if tidy {
                Dur::from_us(100) * self.below(30) + Dur::from_ns(1)
            } else {
                self.span(Dur::from_us(1), Dur::from_ms(20))
            },
            overtake: !tidy && self.one_in(2),
            duplicate: Prob::of(self.pick(&[0.0, 0.01, 0.3, 1.0])),
            gilbert_elliott: self.one_in(3).then(|| GilbertElliott {
                p: Prob::of(self.pick(&[0.01, 0.3])),
                r: Prob::of(self.pick(&[0.1, 0.5, 1.0])),
                loss_good: Prob::of(self.pick(&[0.0, 0.05])),
                loss_bad: Prob::of(self.pick(&[0.5, 1.0])),
            }),
            failures: if self.one_in(4) { self.failures() } else { Vec::new() },
        }
    }
    fn failures(&mut self) -> Vec<Failure> {
        let at = Time::ZERO + self.span(Dur::from_us(10), Dur::from_secs(1));
        vec![Failure { at, until: at + self.span(Dur::from_us(10), Dur::from_secs(1)) }]
    }
    fn varying(&mut self, rate: Option<Rate>) -> Varying {
        let capacity = match self.below(4) {
            0 => Capacity::Constant(rate),
            1 => {
                let rates = |draw: &mut Draw| if draw.one_in(4) { Rate::ZERO } else { draw.rate() };
                // A round in which the rate is always zero would never end.
                let first = self.rate();
                Capacity::Schedule(Steps { first, ..self.steps(rates) })
            }
            2 => Capacity::Trace(self.trace()),
            _ => Capacity::TwoTraces(self.two_traces()),
        };
        let delays = |draw: &mut Draw| draw.span(Dur::from_us(1), Dur::from_ms(30));
        let delay = self.one_in(2).then(|| self.steps(delays));
        let loss = self.one_in(3).then(|| self.steps(|draw| Prob::of(draw.pick(&[0.0, 0.01, 0.3]))));
        let limit = self.one_in(3).then(|| self.steps(|draw| draw.pick(&[0, 1, 10, 100])));
        let jitter = self.one_in(3).then(|| self.steps(Draw::jitter));
        Varying { capacity, delay, jitter, loss, limit }
    }
    fn jitter(&mut self) -> Jitter {
        let size = self.span(Dur::from_us(1), Dur::from_ms(20));
        if self.one_in(2) { Jitter::Uniform(size) } else { Jitter::Wifi(size) }
    }
    fn trace(&mut self) -> Trace {
        let mut at = 0;
        let instants = (0..1 + self.below(40)).map(|_| {
            at += self.pick(&[0, 1, 100_000, 1_000_000, 1_234_567, 30_000_000]);
            Dur::from_ns(at)
        });
        let mut instants: Vec<Dur> = instants.collect();
        instants.push(Dur::from_ns(at + 1_000_000));
        let offset = Dur::from_ns(self.below(at + 1_000_000));
        Trace { instants: instants.into(), opportunity: Bytes::new(1 + self.below(3000)), offset }
    }
    fn two_traces(&mut self) -> TwoTraces {
        let mut at = Dur::ZERO;
        let trains = (0..3 + self.below(5)).map(|_| {
            let train = Train {
                at,
                delay: self.span(Dur::from_us(1), Dur::from_ms(50)),
                opportunities: (0..self.below(6)).map(|i| Dur::from_us(700) * i).collect(),
            };
            at += self.span(Dur::from_ms(1), Dur::from_ms(300));
            train
        });
        let trains: Vec<Train> = trains.collect();
        let timer = self.pick(&[Dur::ZERO, Dur::from_ms(5)]);
        TwoTraces { trains: trains.into(), heavy: self.trace(), timer }
    }
    fn steps<T>(&mut self, value: impl Fn(&mut Draw) -> T) -> Steps<T> {
        let (first, mut at) = (value(self), Dur::ZERO);
        let steps = (0..self.below(20)).map(|_| {
            at += self.span(Dur::from_us(100), Dur::from_ms(50));
            (at, value(self))
        });
        let steps: Vec<(Dur, T)> = steps.collect();
        let repeat = (!self.one_in(4)).then_some(at + Dur::from_ms(1));
        Steps { first, steps: steps.into(), repeat }
    }

    /// Packets in bunches and with lulls, at a fifth of the rate to five times as much, and a few readings in between.
    fn steps_of(&mut self, plan: &LinkPlan, tidy: bool) -> Vec<(Time, Step)> {
        let load = self.log(0.2, 5.0);
        let rate = plan.rate.unwrap_or(Rate::from_mbps(10)).as_bps_f64();
        let (mut now, mut steps) = (Time::ZERO, Vec::new());
        let flows = 1 + self.below(12);
        let count = 20 + self.below(280);
        let warmup = self.below(count);
        for id in 0..count {
            let mean = 700.0 * 8.0 / rate / load * if self.one_in(60) { 200.0 } else { 1.5 };
            let gap = if self.one_in(3) { 0.0 } else { mean * -libm::log(1.0 - self.0.uniform()) };
            let gap = if tidy { Dur::from_us(100) * (gap * 1e4) as u64 } else { Dur::from_secs_f64(gap) };
            now += gap;
            let len = if tidy { self.pick(&[100, 500, 1000]) } else { self.pick(&[54, 66, 590, 1514, 9014]) };
            let flow = self.below(flows);
            // Half of the flows are ECN-capable, some packets come with CE, and some are short tasks by their DSCP.
            let ecn = if flow % 2 == 1 { Ecn::NotEct } else { self.pick(&[Ecn::Ect0, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]) };
            let dscp = [10, 8, 0][flow as usize % 3];
            steps.push((now, Step::Arrive(Header { dscp, ..header(id as u16, len, flow as u32, ecn) })));
            if id == warmup {
                steps.push((now, Step::EndWarmup));
            } else if self.one_in(20) {
                now += if tidy { Dur::from_us(100) } else { Dur::from_ns(self.below(1_000_000)) };
                steps.push((now, Step::Read));
            }
        }
        steps
    }
}

fn is_possible(params: &QueueParams, plan: &LinkPlan) -> bool {
    Queue::<Packet>::new(params, &haltere_plan::link::context(plan, FRAMING, &1.into())).is_ok()
}

/// Pointers to the values of an object, outer before inner, without the `kind` that names it.
fn leaves(value: &Value) -> Vec<String> {
    let Value::Object(fields) = value else { return Vec::new() };
    let mut all = Vec::new();
    for (name, value) in fields.iter().filter(|(name, _)| *name != "kind") {
        all.push(format!("/{name}"));
        all.extend(leaves(value).into_iter().map(|inner| format!("/{name}{inner}")));
    }
    all
}

#[test]
fn random_links_do_the_same_lazily_and_eagerly() {
    let cases = std::env::var("HALTERE_LINK_CASES").map_or(CASES, |n| n.parse().expect("a number of cases"));
    let mut totals = LinkCounters::default();
    for case in 0..cases {
        let name = QueueParams::NAMES[case as usize % QueueParams::NAMES.len()];
        let mut draw = Draw(Rng::new(case, "links"));
        let tidy = draw.one_in(3);
        let plan = draw.plan(name, tidy);
        let steps = draw.steps_of(&plan, tidy);
        let last = steps.last().expect("a packet").0;
        let end = if draw.one_in(3) { last } else { last + draw.span(Dur::from_us(1), Dur::from_secs(3)) };
        let got = lazy(&plan, case, &steps, end);
        for by_event in [false, true] {
            let want = eager(&plan, case, &steps, end, by_event);
            assert_eq!(got, want, "case {case}, {plan:?}");
        }
        let counters = got.readings.last().expect("one at the end").0;
        totals.arrived += counters.arrived;
        totals.sent += counters.sent;
        totals.lost += counters.lost;
        totals.duplicated += counters.duplicated;
        totals.marked += counters.marked;
        totals.emitted += counters.emitted;
        totals.dropped_overlimit += counters.dropped_overlimit;
        totals.dropped_congestion += counters.dropped_congestion;
    }
    println!("{cases} cases: {totals:?}");
    let LinkCounters { arrived, sent, lost, duplicated, marked, emitted, .. } = totals;
    let rare = [lost, duplicated, marked, emitted, totals.dropped_overlimit, totals.dropped_congestion];
    assert!(2 * sent > arrived && rare.iter().all(|n| *n > cases / 10), "too little happened: {totals:?}");
}
