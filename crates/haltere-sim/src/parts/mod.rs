//! One run on several cores: its network is cut into parts, each with its own events.
//! Source: conservative execution in synchronous windows, D. M. Nicol, Journal of the ACM 40 (1993).
//! Model: what a link sends from time `t` on arrives elsewhere at `t + delay` or later. So parts between which every
//! link has at least the delay `w` can carry out the events of `[t, t + w)` without each other, if `t` is the time of the
//! first event of all. Then they exchange the packets that crossed, and meet for the next window.
//!
//! ```text
//!   part 0:  mail in ─> events of the window ─> mail out ──┐            ┌─> mail in ─> ...
//!   part 1:  mail in ─> events of the window ─> mail out ──┴─ barrier ──┴─> mail in ─> ...
//! ```
//!
//! Each part is a [`Run`] over the whole plan that has its own nodes only. The cut follows from the plan, and mail is
//! read in the order of the parts. So the record is the same with any number of threads. It is that of the whole
//! network, except for the number of events and for the order of events at the same nanosecond.
//! Cost: a barrier a window, and the copy of each packet that crosses.

pub(crate) mod cut;
mod gate;
mod merge;

use crate::control::{Capture, RunControl};
use crate::error::RunError;
use crate::net::border::Mail;
use crate::run::Run;
use cut::Cut;
use gate::Gate;
use haltere_plan::{Plan, Record};
use haltere_units::{Dur, Time};
use std::borrow::Cow;
use std::panic::resume_unwind;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// What the threads of a run share.
struct Shared<'a> {
    plan: &'a Plan,
    cut: &'a Cut,
    control: RunControl<'a>,
    gate: Gate,
    /// The mail of even and of odd windows, by receiver and sender: one is read while the other is written.
    mail: [Vec<Mutex<Mail>>; 2],
    /// The captures of each part.
    captures: Vec<Mutex<Vec<Capture>>>,
}

fn lock<T>(one: &Mutex<T>) -> MutexGuard<'_, T> {
    one.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the parts of `plan` to its end, on as many threads as `control` grants.
pub(crate) fn run(plan: &Plan, cut: &Cut, control: &RunControl, captures: Vec<Capture>) -> Result<Record, RunError> {
    let threads = control.threads.clamp(1, cut.parts);
    let shared = Shared {
        plan,
        cut,
        control: *control,
        gate: Gate::new(threads),
        mail: [(); 2].map(|()| (0..cut.parts * cut.parts).map(|_| Mutex::default()).collect()),
        captures: (0..cut.parts).map(|_| Mutex::default()).collect(),
    };
    for capture in captures {
        lock(&shared.captures[cut.part_of(plan.links[capture.link].from)]).push(capture);
    }
    let done: Vec<_> = thread::scope(|scope| {
        let shared = &shared;
        let others: Vec<_> = (1..threads).map(|thread| scope.spawn(move || shared.work(thread, threads))).collect();
        let own = shared.work(0, threads);
        let others = others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        std::iter::once(own).chain(others).collect()
    });
    let mut records = Vec::new();
    for of_thread in done {
        records.extend(of_thread?.into_iter().flatten());
    }
    records.sort_by_key(|(part, _)| *part);
    Ok(merge::merge(plan, cut, records.into_iter().map(|(_, record)| record).collect()))
}

impl Shared<'_> {
    /// Carries out every `threads`th part from that one on. Returns their records. `None`: another thread failed.
    fn work(&self, thread: usize, threads: usize) -> Result<Option<Vec<(usize, Record)>>, RunError> {
        let mut gate = self.gate.enter();
        let parts = (thread..self.cut.parts).step_by(threads);
        let mut runs = parts.map(|part| Ok((part, self.prepare(part)?))).collect::<Result<Vec<_>, RunError>>()?;
        let (mut start, mut received) = (Time::ZERO, Mail::default());
        loop {
            let last = start.checked_add(self.cut.window - Dur::from_ns(1));
            let until = last.map_or(self.plan.end, |last| last.min(self.plan.end));
            let odd = usize::from(gate.is_odd());
            let (written, read, mut next) = (&self.mail[odd], &self.mail[1 - odd], Time::NEVER);
            for (part, run) in &mut runs {
                let box_of = |to: usize, from: usize| to * self.cut.parts + from;
                for from in (0..self.cut.parts).filter(|from| from != part) {
                    core::mem::swap(&mut *lock(&read[box_of(*part, from)]), &mut received);
                    run.fabric.take_in(&mut received);
                }
                run.run_until(until, &self.control_of(*part))?;
                next = next.min(run.fabric.close_window());
                for (to, mail) in run.fabric.border.mail.iter_mut().enumerate().filter(|(_, mail)| !mail.is_empty()) {
                    core::mem::swap(&mut *lock(&written[box_of(to, *part)]), mail);
                }
            }
            if until == self.plan.end {
                break;
            }
            let Some(first) = gate.wait(next) else { return Ok(None) };
            start = first;
        }
        let ended = runs.into_iter().map(|(part, run)| Ok((part, run.end()?))).collect::<Result<_, RunError>>()?;
        gate.leave();
        Ok(Some(ended))
    }
    fn prepare(&self, part: usize) -> Result<Run<'_>, RunError> {
        let mut run = Run::part(Cow::Borrowed(self.plan), self.cut.part(part))?;
        let links = self.plan.links.iter().map(|link| (self.cut.part_of(link.from), self.cut.part_of(link.to)));
        let to = links.map(|(from, to)| (from == part && to != part).then_some(to as u32));
        run.fabric.set_border(self.cut.parts, to);
        run.prepare(core::mem::take(&mut lock(&self.captures[part])));
        Ok(run)
    }
    /// The first part alone shows the progress.
    fn control_of(&self, part: usize) -> RunControl<'_> {
        RunControl { progress: self.control.progress.filter(|_| part == 0), ..self.control }
    }
}

#[cfg(test)]
mod tests;
