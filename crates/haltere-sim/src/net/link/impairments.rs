//! Impairments of a line besides loss: it delivers some packets twice and holds some back.
//!
//! Packets that are held back have a flight of their own, in order of delivery. At one instant those in
//! order that are in flight already come first.

use super::SimLink;
use crate::net::flight::Flight;
use crate::net::packet::Pool;
use haltere_plan::link::Stream;
use haltere_plan::plan::{Impairments, LinkPlan};
use haltere_plan::rng::Rng;
use haltere_units::{Dur, Time};

/// State of a line that does such things.
#[derive(Debug)]
pub(super) struct ImpairedLine {
    duplicate: f64,
    pub duplicate_rng: Rng,
    pub duplicated: u64,
    reorder: f64,
    reorder_by: Dur,
    pub reorder_rng: Rng,
    pub overtake: bool,
    /// Packets in flight that later ones overtake.
    pub held_back: Flight,
}

impl ImpairedLine {
    pub fn new(impairments: &Impairments, plan: &LinkPlan, seed: u64) -> ImpairedLine {
        ImpairedLine {
            duplicate: impairments.duplicate.as_f64(),
            duplicate_rng: Stream::Duplicate.rng(seed, &plan.name),
            duplicated: 0,
            reorder: impairments.reorder.as_f64(),
            reorder_by: impairments.reorder_by,
            reorder_rng: Stream::Reorder.rng(seed, &plan.name),
            overtake: impairments.overtake,
            held_back: Flight::default(),
        }
    }
    /// Later packets may overtake earlier ones.
    pub fn reorders(&self) -> bool {
        self.reorder > 0.0 || self.overtake
    }
    /// The packet at that place, which is due then if nothing else happens to it, joins the packets in flight.
    pub fn launch(&mut self, flight: &mut Flight, place: u32, overtaken: bool, pool: &mut Pool) {
        let (&mut packet, due) = pool.flights.get_mut(place);
        let twice = self.duplicate > 0.0 && self.duplicate_rng.uniform() < self.duplicate;
        let copy = twice.then(|| pool.copy(&packet));
        let held = self.reorder > 0.0 && self.reorder_rng.uniform() < self.reorder;
        if held {
            pool.flights.set_due(place, due.checked_add(self.reorder_by).unwrap_or(Time::NEVER));
        }
        self.join(flight, place, held || overtaken, pool);
        if let Some(copy) = copy {
            self.duplicated += 1;
            let place = pool.flights.place(due, copy);
            self.join(flight, place, overtaken, pool);
        }
    }
    fn join(&mut self, flight: &mut Flight, place: u32, held: bool, pool: &mut Pool) {
        if held {
            pool.flights.insert(&mut self.held_back, place);
        } else {
            pool.flights.join(flight, place);
        }
    }
}

impl SimLink {
    /// What the line does to some packets, if anything.
    pub(super) fn impairments(&self) -> Option<&ImpairedLine> {
        self.extras.as_ref().and_then(|extras| extras.impairments.as_deref())
    }
    /// The place of the packet that was held back until `now`, if there is one.
    #[cold]
    pub(super) fn pop_held_back(&mut self, now: Time, pool: &mut Pool) -> Option<u32> {
        let impairments = self.extras.as_mut()?.impairments.as_mut()?;
        pool.flights.pop(&mut impairments.held_back, now)
    }
}
