//! Flows that are spawned while a run goes on: when, between whom and how large, as a function of plan and seed.

pub use crate::app::arrivals::FlowArrival;
use crate::app::arrivals::{ArrivalsPlan, Between, Pattern};
use crate::headers::{IPV4_HEADER, TCP_HEADER_WITH_TIMESTAMPS};
use crate::plan::Plan;
use crate::record::Completion;
use crate::rng::{DurationDistribution, Rng};
use crate::routes::Routes;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::vec::Vec;
use haltere_units::{Bytes, Dur, Rate, Time};

/// The flows of one traffic entry in order of time.
#[derive(Debug)]
pub struct FlowArrivals {
    plan: Box<ArrivalsPlan>,
    stop: Option<Time>,
    now: Time,
    gaps: Rng,
    ends: Rng,
    sizes: Rng,
    spawned: u64,
    /// Of a round of an incast: flows that are yet to begin.
    round: VecDeque<FlowArrival>,
    rounds: u64,
}

impl FlowArrivals {
    /// The flows of that plan from `start` on; `name` is the entry's, for its streams of randomness.
    pub fn new(plan: &ArrivalsPlan, name: &str, start: Time, stop: Option<Time>, seed: u64) -> FlowArrivals {
        let stream = |what: &str| Rng::new(seed, &format!("{name}/{what}"));
        FlowArrivals {
            plan: Box::new(plan.clone()),
            stop,
            now: start,
            gaps: stream("gaps"),
            ends: stream("ends"),
            sizes: stream("sizes"),
            spawned: 0,
            round: VecDeque::new(),
            rounds: 0,
        }
    }
    fn size(&mut self) -> Bytes {
        self.plan.sizes.draw(&mut self.sizes)
    }
    /// A sender and a receiver, each pair as likely as any other.
    fn pair(&mut self) -> (usize, usize) {
        match &self.plan.between {
            Between::Hosts(hosts) => {
                let (a, b) = (self.ends.below(hosts.len() as u64), self.ends.below(hosts.len() as u64 - 1));
                (hosts[a as usize], hosts[(b + u64::from(b >= a)) as usize])
            }
            Between::Pairs(pairs) => pairs[self.ends.below(pairs.len() as u64) as usize],
        }
    }
    /// Who may send to whom in the next round of an incast, in random order: the pairs, or all other hosts to one.
    fn senders(&mut self, to: Option<usize>) -> Vec<(usize, usize)> {
        let mut senders: Vec<(usize, usize)> = match &self.plan.between {
            Between::Hosts(hosts) => {
                let to = to.unwrap_or_else(|| hosts[self.ends.below(hosts.len() as u64) as usize]);
                hosts.iter().filter(|host| **host != to).map(|&host| (host, to)).collect()
            }
            Between::Pairs(pairs) => pairs.to_vec(),
        };
        self.ends.shuffle(&mut senders);
        senders
    }
    /// Fills the next round of an incast: senders are drawn without repetition.
    fn fill(&mut self, to: Option<usize>, senders: u32, interval: Dur, jitter: Dur) {
        let at = self.now + interval * self.rounds;
        self.rounds += 1;
        let mut flows: Vec<FlowArrival> = Vec::new();
        for (from, to) in self.senders(to).into_iter().cycle().take(senders as usize) {
            let at = at + self.gaps.span(DurationDistribution::Uniform(Dur::ZERO, jitter));
            let bytes = self.size();
            flows.push(FlowArrival { at, from, to, bytes });
        }
        flows.sort_by_key(|flow| flow.at);
        self.round.extend(flows);
    }
}

impl Iterator for FlowArrivals {
    type Item = FlowArrival;
    fn next(&mut self) -> Option<FlowArrival> {
        if self.plan.max_flows.is_some_and(|most| self.spawned >= most) {
            return None;
        }
        let arrival = match self.plan.pattern {
            Pattern::Replay(ref flows) => {
                let flow = flows.get(self.spawned as usize)?;
                FlowArrival { at: self.now + flow.at.since(Time::ZERO), ..*flow }
            }
            Pattern::Poisson { gap } => {
                self.now += self.gaps.span(DurationDistribution::Exponential(gap));
                let (from, to) = self.pair();
                FlowArrival { at: self.now, from, to, bytes: self.size() }
            }
            Pattern::Incast { to, senders, interval, jitter } => {
                if self.round.is_empty() {
                    self.fill(to, senders, interval, jitter);
                }
                self.round.pop_front()?
            }
        };
        self.spawned += 1;
        self.stop.is_none_or(|stop| arrival.at < stop).then_some(arrival)
    }
}

/// The propagation time of these links together.
pub fn delay(plan: &Plan, path: &[usize]) -> Dur {
    path.iter().fold(Dur::ZERO, |sum, &link| sum + plan.links[link].delay)
}

/// What so many bytes take at least after something came from the other end, see
/// [`Completion::ideal`](crate::record::Completion::ideal).
pub fn ideal(plan: &Plan, (there, back): (&[usize], &[usize]), bytes: Bytes, mss: Bytes) -> Dur {
    const HEADERS: u64 = (IPV4_HEADER + TCP_HEADER_WITH_TIMESTAMPS) as u64;
    let framing = u64::from(plan.framing);
    let packets = bytes.as_u64().div_ceil(mss.as_u64().max(1));
    let first = bytes.min(mss).as_u64() + HEADERS + framing;
    let whole = bytes.as_u64().saturating_add(packets.saturating_mul(HEADERS + framing));
    let rates = || there.iter().filter_map(|&link| plan.links[link].rate);
    let slowest = rates().min();
    let time = |bytes: u64, rate: Rate| rate.time_for(Bytes::new(bytes));
    // A transfer may need longer than any run lasts: 292 years, so that a caller can add to it.
    let add = |sum: Dur, more: Dur| sum.checked_add(more).map_or(Dur::MAX / 2, |sum| sum.min(Dur::MAX / 2));
    let hops = rates().map(|rate| time(first, rate)).fold(Dur::ZERO, add);
    let line = slowest.map_or(Dur::ZERO, |rate| time(whole, rate).saturating_sub(time(first, rate)));
    [delay(plan, back), hops, line].into_iter().fold(delay(plan, there), add)
}

/// What the responses to requests take at least: they have no handshake of their own.
pub fn set_ideals(plan: &Plan, routes: &mut Routes, completions: &mut [Completion]) {
    let mut known: BTreeMap<(u32, u32), [Vec<usize>; 2]> = BTreeMap::new();
    for completion in completions {
        let Completion { flow, from, to, .. } = *completion;
        let Some(tcp) = plan.flows[flow as usize].app.tcp() else { continue };
        let [there, back] = known.entry((from, to)).or_insert_with(|| {
            let (from, to) = (from as usize, to as usize);
            [routes.path(from, to).unwrap_or_default(), routes.path(to, from).unwrap_or_default()]
        });
        let mss = tcp.sender.mss.min(tcp.receiver.mss);
        completion.ideal = ideal(plan, (there, back), Bytes::new(completion.bytes), mss);
    }
}
