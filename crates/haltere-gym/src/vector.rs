//! Many environments, stepped together by a few threads.

use crate::env::Env;
use crate::spec::Spec;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Environments that are stepped together. What they show does not depend on the number of threads.
#[derive(Debug)]
pub struct Gym {
    spec: Spec,
    envs: Vec<Mutex<Env>>,
    threads: usize,
}

/// Where a step is written: arrays in the order environment, who decides, column.
#[derive(Debug)]
pub struct Shown<'a> {
    /// The fields of [`Spec::fields`].
    pub rows: &'a mut [f64],
    /// The counters of [`Spec::counters`].
    pub counters: &'a mut [i64],
    /// [`TERMINATED`](crate::TERMINATED), [`TRUNCATED`](crate::TRUNCATED) and [`BEGUN`](crate::BEGUN).
    pub flags: &'a mut [u8],
}

fn lock(env: &Mutex<Env>) -> MutexGuard<'_, Env> {
    env.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Gym {
    /// So many environments, on so many threads.
    pub fn new(spec: Spec, envs: usize, threads: usize) -> Gym {
        let envs = (0..envs).map(|index| Mutex::new(Env::new(index, &spec))).collect();
        Gym { spec, envs, threads: threads.max(1) }
    }
    /// What they have in common.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }
    /// How many environments there are.
    pub fn len(&self) -> usize {
        self.envs.len()
    }
    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.envs.is_empty()
    }
    /// A new run begins in the environments whose `which` is true. A seed makes it the first run of that seed.
    pub fn reset(&mut self, which: &[bool], seeds: &[Option<u64>]) -> Result<(), String> {
        self.each(|index, env, spec| if which[index] { env.reset(spec, seeds[index]) } else { Ok(()) })
    }
    /// One step of every environment. `values` has the decisions, environment after environment. With `restart` a run
    /// that is over is followed by the next; without, it stays as it is.
    pub fn step(&mut self, values: &[f64], restart: bool) -> Result<(), String> {
        let width = self.spec.agents * self.spec.action.spec().width;
        self.each(|index, env, spec| match env.is_over() {
            true if restart => env.reset(spec, None),
            true => Ok(()),
            false => env.step(spec, &values[index * width..(index + 1) * width]),
        })
    }
    /// Writes what the last step, or the last reset, showed.
    pub fn show(&self, shown: Shown<'_>) {
        let (agents, fields, counters) = (self.spec.agents, self.spec.fields().len(), self.spec.counters().len());
        let rows = shown.rows.chunks_mut(agents * fields);
        let counters = shown.counters.chunks_mut(agents * counters);
        for (((env, rows), counters), flags) in
            self.envs.iter().zip(rows).zip(counters).zip(shown.flags.chunks_mut(agents))
        {
            let env = lock(env);
            let values = env.rows.iter().flat_map(|row| row.values());
            rows.iter_mut().zip(values).for_each(|(place, value)| *place = *value);
            counters.iter_mut().zip(env.counters.iter().flatten()).for_each(|(place, value)| *place = *value);
            flags.copy_from_slice(&env.flags);
        }
    }
    /// Does `work` with every environment. The next thread that is free takes the next environment. Gives the first
    /// error in their order.
    fn each(&self, work: impl Fn(usize, &mut Env, &Spec) -> Result<(), String> + Sync) -> Result<(), String> {
        let (next, faults) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let run = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(env) = self.envs.get(index) else { break };
                if let Err(fault) = work(index, &mut lock(env), &self.spec) {
                    faults.lock().unwrap_or_else(PoisonError::into_inner).push((index, fault));
                }
            }
        };
        std::thread::scope(|scope| {
            (1..self.threads.min(self.envs.len())).for_each(|_| drop(scope.spawn(run)));
            run();
        });
        let faults = faults.into_inner().unwrap_or_else(PoisonError::into_inner);
        faults.into_iter().min().map_or(Ok(()), |(_, fault)| Err(fault))
    }
}
