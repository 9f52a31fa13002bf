//! One environment: a run that is carried out in steps, one decision each.

use crate::agent::{Agent, ended};
use crate::fields::{Row, SENDER};
use crate::path::ObservedPath;
use crate::queue::DecidedQueue;
use crate::reading::{self, LinkReading};
use crate::spec::{Deciders, Spec};
use haltere_plan::Routes;
use haltere_plan::record::FlowRecord;
use haltere_plan::rng::Rng;
use haltere_sim::{Live, RunControl};
use haltere_units::{Dur, Time};
use std::any::Any;

/// The task is over: the flow is complete, or its connection is gone.
pub const TERMINATED: u8 = 1;
/// The time is over.
pub const TRUNCATED: u8 = 2;
/// This step began a new run.
pub const BEGUN: u8 = 4;

#[derive(Debug)]
pub struct Env {
    index: usize,
    /// The seed from which the seeds of all runs follow, and the number of the next run.
    base: u64,
    episode: u64,
    run: Option<Episode>,
    /// What the last step showed: one row for each that decides.
    pub(crate) rows: Vec<Row>,
    /// Exact whole numbers, one list for each that decides.
    pub(crate) counters: Vec<Vec<i64>>,
    /// `TERMINATED`, `TRUNCATED` and `BEGUN`, for each that decides.
    pub(crate) flags: Vec<u8>,
}

/// The run that is going on.
#[derive(Debug)]
struct Episode {
    live: Live,
    deciders: Deciders,
    paths: Vec<ObservedPath>,
    /// The end of the last interval.
    since: Time,
    /// What was known of each flow that decides then; of a queue, its counters.
    lines: Vec<FlowRecord>,
    link: LinkReading,
    decisions: u64,
    network: usize,
    seed: u64,
}

/// Seeds have 63 bits, so that whole numbers with a sign hold them.
const SEED_BITS: u64 = u64::MAX >> 1;

impl Env {
    pub(crate) fn new(index: usize, spec: &Spec) -> Env {
        let rows = vec![Row::new(spec.fields()); spec.agents];
        let counters = vec![vec![0; spec.counters().len()]; spec.agents];
        Env { index, base: index as u64, episode: 0, run: None, rows, counters, flags: vec![0; spec.agents] }
    }
    /// The run of the next episode begins. With a seed, it is the first of that seed.
    pub(crate) fn reset(&mut self, spec: &Spec, seed: Option<u64>) -> Result<(), String> {
        if let Some(seed) = seed {
            (self.base, self.episode) = (seed & SEED_BITS, 0);
        }
        let seed = match self.episode {
            0 => self.base,
            episode => Rng::seed(self.base, &format!("episode {episode}")) & SEED_BITS,
        };
        self.episode += 1;
        let count = spec.networks.len();
        let network = match spec.is_fixed {
            true => self.index % count,
            false => (Rng::new(seed, "network").bits() % count as u64) as usize,
        };
        let mut run = Episode::new(spec, network, seed)?;
        run.begin(spec)?;
        run.close(&mut self.rows);
        self.run = Some(run);
        self.read(spec, BEGUN);
        Ok(())
    }
    /// Makes one decision and runs the interval after it.
    pub(crate) fn step(&mut self, spec: &Spec, values: &[f64]) -> Result<(), String> {
        let Some(run) = &mut self.run else { return Err("gym: reset must come before step".into()) };
        run.decide(spec, values);
        if let Err(fault) = run.advance(spec) {
            self.run = None;
            return Err(fault);
        }
        run.close(&mut self.rows);
        self.read(spec, 0);
        Ok(())
    }
    /// All deciders are done.
    pub(crate) fn is_over(&self) -> bool {
        self.run.is_some() && self.flags.iter().all(|flags| flags & (TERMINATED | TRUNCATED) != 0)
    }
    fn read(&mut self, spec: &Spec, begun: u8) {
        let Some(run) = &self.run else { return };
        let truncated = if run.is_at_end() { TRUNCATED } else { 0 };
        for agent in 0..spec.agents {
            run.count(agent, &mut self.counters[agent]);
            let done = if run.is_done(agent) { TERMINATED } else { 0 };
            self.flags[agent] = done | truncated | begun;
        }
    }
}

/// The agent behind a control.
fn agent(live: &mut Live, flow: usize) -> Option<&mut Agent> {
    live.outside_control(flow)?.as_any_mut()?.downcast_mut()
}

impl Episode {
    fn new(spec: &Spec, network: usize, seed: u64) -> Result<Episode, String> {
        let (plan, deciders) = spec.plan(&spec.networks[network], seed)?;
        let mut routes = Routes::of(&plan);
        let paths = match &deciders {
            Deciders::Flows(flows) => {
                flows.iter().map(|&flow| ObservedPath::of_flow(&plan, flow, &mut routes)).collect()
            }
            Deciders::Link(link) => vec![ObservedPath::of_link(&plan, *link)],
        };
        let live = Live::new(plan).map_err(|error| error.to_string())?;
        let lines = vec![FlowRecord::default(); deciders.count()];
        let link = LinkReading::default();
        Ok(Episode { live, deciders, paths, since: Time::ZERO, lines, link, decisions: 0, network, seed })
    }
    /// Runs until the first decision is due.
    fn begin(&mut self, spec: &Spec) -> Result<(), String> {
        if let Deciders::Flows(flows) = &self.deciders {
            let starts = flows.iter().map(|&flow| self.live.plan().flows[flow].start);
            self.since = starts.max().unwrap_or(Time::ZERO).min(self.live.plan().end);
        }
        self.advance(spec)
    }
    /// Runs until the next decision is due.
    fn advance(&mut self, spec: &Spec) -> Result<(), String> {
        let (control, end) = (RunControl::default(), self.live.plan().end);
        let result = match &self.deciders {
            Deciders::Flows(flows) if flows.len() == 1 => {
                // One sender decides, so that an interval that ends is its own.
                let (flow, before) = (flows[0], ended());
                self.live.advance_while(end, &control, |live| !live.is_complete(flow) && ended() == before)
            }
            _ => self.live.advance(spec.interval.end(self.since, Dur::ZERO), &control),
        };
        result.map_err(|error| error.to_string())
    }
    /// Makes the decisions of one step.
    fn decide(&mut self, spec: &Spec, values: &[f64]) {
        if !spec.decides() {
            return;
        }
        self.decisions += 1;
        match &self.deciders {
            Deciders::Flows(flows) => {
                for (&flow, values) in flows.iter().zip(values.chunks(spec.action.spec().width)) {
                    if let Some(agent) = agent(&mut self.live, flow) {
                        agent.decide(values);
                    }
                }
            }
            Deciders::Link(link) => {
                if let Some(queue) = decided(&mut self.live, *link) {
                    queue.decide(values[0].clamp(0.0, 1.0));
                }
            }
        }
    }
    /// Ends the interval: a row of observations for each decider.
    fn close(&mut self, rows: &mut [Row]) {
        let (from, now) = (self.since, self.live.now());
        self.since = now;
        match &self.deciders {
            Deciders::Flows(flows) => {
                for (number, (&flow, row)) in flows.iter().zip(rows).enumerate() {
                    let before = std::mem::take(&mut self.lines[number]);
                    let line = self.live.flow_line(flow).unwrap_or_default();
                    if let Some(agent) = agent(&mut self.live, flow) {
                        agent.close_into(now, row);
                        reading::tcp_info(row, &line.sender.unwrap_or_default());
                        let received = line.received - before.received;
                        reading::network(row, received, (from, now), &self.paths[number]);
                    } else {
                        *row = Row::new(SENDER);
                    }
                    self.lines[number] = line;
                }
            }
            Deciders::Link(link) => {
                let decided = decided(&mut self.live, *link).map_or(0.0, |queue| queue.probability());
                let reading = LinkReading::of(&mut self.live, *link);
                rows[0] = reading::link_row(&self.link, &reading, decided, (from, now), &self.paths[0]);
                self.link = reading;
            }
        }
    }
    fn is_at_end(&self) -> bool {
        self.live.now() >= self.live.plan().end
    }
    fn is_done(&self, number: usize) -> bool {
        match &self.deciders {
            Deciders::Flows(flows) => {
                self.live.is_complete(flows[number]) || self.lines[number].sender.is_some_and(|info| info.reset)
            }
            Deciders::Link(_) => false,
        }
    }
    /// Writes the exact whole numbers of one that decides.
    fn count(&self, number: usize, into: &mut [i64]) {
        let begin = [self.network as u64, self.seed, self.live.now().as_ns(), self.decisions];
        let (of_flow, of_link);
        let rest: &[u64] = match &self.deciders {
            Deciders::Flows(_) => {
                of_flow = reading::sender_counters(&self.lines[number]);
                &of_flow
            }
            Deciders::Link(_) => {
                of_link = self.link.counters();
                &of_link
            }
        };
        for (place, &count) in into.iter_mut().zip(begin.iter().chain(rest)) {
            *place = i64::try_from(count).unwrap_or(i64::MAX);
        }
    }
}

/// The queue that decides, if the decisions come from outside.
fn decided(live: &mut Live, link: usize) -> Option<&mut DecidedQueue> {
    let any: &mut dyn Any = live.outside_queue(link)?.as_any_mut()?;
    any.downcast_mut()
}
